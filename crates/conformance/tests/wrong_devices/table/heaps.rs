//! Devices that create, refuse or fill heaps wrongly.

use heapwright_d3d12::*;

use super::{KIB_64, wrong_devices};
use crate::lies::Dirt;

/// The flags that deny a kind of resources.
const DENY_ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_DENY_BUFFERS
    | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
    | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;

wrong_devices! {
    "the DENY flags of heaps have no effect": heap = |desc| desc.Flags &= !DENY_ALL
        => "heap/buffer-in-a-texture-heap-refused", "heap/buffer-in-a-render-target-heap-refused",
           "texture/in-a-buffer-heap-refused", "texture/in-a-render-target-heap-refused";
    "heaps that deny one family of resources are refused on tier 2":
        refused_heap = |desc| (desc.Flags & DENY_ALL).count_ones() == 1 => "heap/tier-2-two-categories";
    "heaps for render targets and depth buffers alone are refused":
        refused_heap = |desc| desc.Flags & DENY_ALL == D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES
        => "heap/only-render-targets";
    "GPU_UPLOAD is taken without GPUUploadHeapSupported, as an UPLOAD heap" on "discrete-2gib":
        heap = |desc| {
            if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                desc.Properties.Type = D3D12_HEAP_TYPE_UPLOAD;
            }
        } => "upload/unsupported-heap-refused", "features/gpu-upload-means-the-heaps";
    "a heap of 0 bytes is made": heap = |desc| desc.SizeInBytes = desc.SizeInBytes.max(1)
        => "heap/size-0-refused", "device/heap-null-result-only-checks";
    "heap alignments below 64 KiB are taken": heap = |desc| {
        if desc.Alignment < KIB_64 {
            desc.Alignment = 0;
        }
    } => "heap/alignment-4-kib-refused", "heap/alignment-small-refused";
    "heaps of 4 MiB alignment are aligned to 64 KiB":
        heap = |desc| desc.Alignment = 0,
        heap_desc = |desc| desc.Alignment = 4 << 20
        => "heap/address-is-aligned-to-4-mib", "heap/alignment-large-refused";
    "a heap that denies every kind of resource is made": heap = |desc| {
        let all = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS;
        if desc.Flags & all == all {
            desc.Flags &= !D3D12_HEAP_FLAG_DENY_BUFFERS;
        }
    } => "heap/denying-everything-refused";
    "a device of heap tier 1 makes heaps for everything" on "heap-tier-1": heap = |desc| {
        if desc.Flags & D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS == 0 {
            desc.Flags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
        }
    } => "heap/tier-1-everything-refused", "features/heap-tier-is-what-heaps-do";
    "GPU_UPLOAD heaps are UPLOAD heaps": heap = |desc| {
        if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
            desc.Properties.Type = D3D12_HEAP_TYPE_UPLOAD;
        }
    } => "upload/all-of-video-memory", "upload/charged-to-local";
    "evicted memory does not become resident again": make_resident = E_OUTOFMEMORY
        => "upload/falls-back-when-made-resident";
    "GPUUploadHeapSupported is FALSE on UMA" on "uma": field = (D3D12_FEATURE_D3D12_OPTIONS16, 1, 0)
        => "upload/uma-has-gpu-upload-heaps";
    "SHARED is taken for GPU_UPLOAD heaps": heap = |desc| {
        if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
            desc.Flags &= !(D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
        }
    } => "upload/shared-refused", "upload/shared-cross-adapter-refused";
    "ALLOW_DISPLAY is taken for GPU_UPLOAD resources" on "uma":
        resource = |request| request.flags &= !D3D12_HEAP_FLAG_ALLOW_DISPLAY => "upload/display-refused";
    "TOOLS_USE_MANUAL_WRITE_TRACKING is taken although no tool provides it":
        heap = |desc| desc.Flags &= !D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING
        => "heap/write-tracking-refused", "upload/write-tracking-refused";
    "heap flags that do not exist are ignored": heap = |desc| desc.Flags &= 0x3fff & !0x12
        => "heap/undefined-flags-refused";
    "new heaps hold what somebody else wrote": dirt = Dirt::Heaps
        => "heap/new-upload-heap-is-zero", "heap/new-readback-heap-is-zero";
    "new committed resources hold what somebody else wrote" on "cache-coherent-uma": dirt = Dirt::Committed
        => "heap/new-committed-resource-is-zero", "upload/new-heap-is-zero";
    "ID3D12Heap::GetDesc answers no flags": heap_desc = |desc| desc.Flags = 0
        => "heap/desc-round-trip", "heap/only-buffers", "heap/only-textures";
    "ID3D12Heap::GetDesc answers a size that is twice as large": heap_desc = |desc| desc.SizeInBytes *= 2
        => "heap/size-64-kib", "heap/desc-round-trip", "device/heap1-by-the-newer-call";
    "heaps of alignment 4 MiB are refused": refused_heap = |desc| desc.Alignment == 4 << 20
        => "heap/alignment-4-mib", "heap/address-is-aligned-to-4-mib";
    "heaps of any size are made, of at most 1 MiB":
        heap = |desc| desc.SizeInBytes = desc.SizeInBytes.min(1 << 20)
        => "heap/size-of-everything-refused", "heap/size-64-mib";
    "a device of heap tier 1 makes heaps for two of the three categories" on "heap-tier-1": heap = |desc| {
        if (desc.Flags & (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS)).count_ones()
            == 1
        {
            desc.Flags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
            desc.Flags &= !D3D12_HEAP_FLAG_DENY_BUFFERS;
        }
    } => "heap/tier-1-two-categories-refused";
    "a device of heap tier 2 refuses heaps for everything":
        refused_heap = |desc| desc.Flags & DENY_ALL == 0
        => "heap/tier-2-everything", "features/heap-tier-is-what-heaps-do";
    "SHARED is taken for UPLOAD and READBACK heaps": heap = |desc| {
        if desc.Properties.Type != D3D12_HEAP_TYPE_DEFAULT {
            desc.Flags &= !D3D12_HEAP_FLAG_SHARED;
        }
    } => "heap/shared-with-cpu-access-refused", "upload/custom-equivalent-shared-refused";
    "CreateHeap ignores ALLOW_SHADER_ATOMICS": heap = |desc| {
        desc.Flags &= !D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS;
    } => "heap/shader-atomics-with-cpu-access-refused";
    "ID3D12Heap::GetDesc answers DEFAULT for custom heaps": heap_desc = |desc| {
        if desc.Properties.Type == D3D12_HEAP_TYPE_CUSTOM {
            desc.Properties =
                D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        }
    } => "heap/desc-keeps-custom-properties";
}
