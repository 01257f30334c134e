//! Devices that are wrong about heaps over existing memory.

use heapwright_d3d12::*;

use super::{KIB_64, wrong_devices};
use crate::lies::OfKind;

/// Whether a heap is one over existing memory.
fn is_existing(desc: &D3D12_HEAP_DESC) -> bool {
    desc.Flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0
}

fn is_shared_buffer(desc: &D3D12_RESOURCE_DESC) -> bool {
    desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
        && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0
}

wrong_devices! {
    "a heap over existing memory is one of 64 KiB": heap_desc = |desc| {
        if is_existing(desc) {
            desc.SizeInBytes = KIB_64;
        }
    } => "existing-heaps/size-of-the-region";
    "a heap over existing memory is in video memory": heap_desc = |desc| {
        if is_existing(desc) {
            desc.Properties.MemoryPoolPreference = D3D12_MEMORY_POOL_L1;
        }
    } => "existing-heaps/in-system-memory";
    "a heap over existing memory has type DEFAULT": heap_desc = |desc| {
        if is_existing(desc) {
            desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
        }
    } => "existing-heaps/in-system-memory";
    "a heap over existing memory is not shared": heap_desc = |desc| {
        if is_existing(desc) {
            desc.Flags = D3D12_HEAP_FLAG_NONE;
        }
    } => "existing-heaps/shared-across-adapters";
    "buffers for other adapters are one place further": of_kind = (is_shared_buffer, OfKind::AtTheNeighbour)
        => "existing-heaps/the-gpu-reads-the-memory", "existing-heaps/the-gpu-writes-the-memory";
    "copies to buffers for other adapters are lost": of_kind = (is_shared_buffer, OfKind::Dropped)
        => "existing-heaps/the-gpu-writes-the-memory";
    "the memory 64 KiB before an address is opened": existing = |address| address.wrapping_byte_sub(64 << 10)
        => "existing-heaps/inside-a-region-refused";
}
