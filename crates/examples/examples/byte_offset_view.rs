//! Reads parts of one buffer through views by byte offsets.
//!
//! A view by elements begins at a whole element: a part with elements of 12 bytes must begin at a multiple of 12, and
//! one with elements of 20 bytes at a multiple of 20, so parts of one buffer had to be padded until they did. A view by
//! a byte offset (SDK 1.619, `CreateByteOffsetViewsSupported`) begins at any multiple of the power of two that divides
//! the element, at most 16. The allocator aligns parts to no more than that where the device has such views.
//!
//! ```text
//! cargo run -p heapwright-examples --example byte_offset_view                           a simulated GPU
//! cargo run -p heapwright-examples --example byte_offset_view -- --device d3d12         Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::process::ExitCode;

use heapwright::d3d12::sdk_619::{D3D12_BUFFER_SRV_BYTE_OFFSET, D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET};
use heapwright::d3d12::trim::ID3D12Device15;
use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator, ResourceDesc,
    buffer_desc,
};

use self::device::Argument;

/// Structures in the buffer: their number and their size in bytes.
const PARTS: [(u64, u32); 4] = [(10, 12), (7, 20), (100, 4), (3, 36)];

fn main() -> ExitCode {
    let device = match device::from_arguments(std::env::args().skip(1)) {
        Ok(Argument::Device(device)) => Ok(device),
        Ok(Argument::Help) => {
            println!("{}", device::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(error.into()),
    };
    match device.and_then(|device| run(device.as_deref())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn run(device: Option<&str>) -> Result<(), Box<dyn Error>> {
    let gpu = device::open(device)?;
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;
    if !allocator.caps().byte_offset_views {
        println!("the device has no views by byte offsets; parts are aligned to 256 bytes");
        return Ok(());
    }
    let device: ID3D12Device15 = gpu.device.cast()?;
    let heap = D3D12_DESCRIPTOR_HEAP_DESC {
        Type: D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        NumDescriptors: u32::try_from(PARTS.len())?,
        Flags: D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
        NodeMask: 0,
    };
    // SAFETY: live COM objects, and a description that outlives the call.
    let (heap, increment): (ID3D12DescriptorHeap, usize) = unsafe {
        let increment = gpu.device.GetDescriptorHandleIncrementSize(heap.Type);
        (gpu.device.CreateDescriptorHeap(&heap)?, increment as usize)
    };
    // SAFETY: a live COM object.
    let first = unsafe { heap.GetCPUDescriptorHandleForHeapStart() };

    let allocation = ResourceAllocationDesc {
        flags: ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ..ResourceAllocationDesc::new(HeapType::Upload)
    };
    let mut parts = Vec::new();
    for (index, (count, stride)) in PARTS.into_iter().enumerate() {
        let desc = buffer_desc(ByteSize::new(count * u64::from(stride)));
        let mut part =
            allocator.create(&allocation, ResourceDesc::in_state(&desc, D3D12_RESOURCE_STATE_COMMON))?;
        part.map()?.write(0, &vec![u8::try_from(index)?; usize::try_from(desc.Width)?])?;
        let range = D3D12_BUFFER_SRV_BYTE_OFFSET {
            Offset: part.offset_from_resource().get(),
            Size: desc.Width,
            StructureByteStride: stride,
            Flags: D3D12_BUFFER_SRV_FLAG_NONE,
        };
        let view = D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET::new(DXGI_FORMAT_UNKNOWN, range);
        let handle = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: first.ptr + index * increment };
        // SAFETY: live COM objects, a description of the size that its dimension says, and a handle of the heap above.
        unsafe { device.TryCreateShaderResourceView(part.resource().as_raw(), view.as_desc(), handle) }
            .ok()?;
        let by_elements = if range.Offset.is_multiple_of(u64::from(stride)) { "also" } else { "not" };
        println!(
            "{count} structures of {stride} bytes at {}, {by_elements} by whole elements",
            part.offset_from_resource()
        );
        parts.push(part);
    }
    Ok(())
}
