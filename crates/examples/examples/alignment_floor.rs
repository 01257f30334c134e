//! Tight buffers that need more than the device gives them: a minimum alignment by the uses of a buffer.
//!
//! With tight alignment a buffer may begin at any multiple of 8 bytes, which is too little for some of its uses: raw
//! views need 16, shader tables 64 and constant buffers 256 bytes. From SDK 1.619.4 on, a description may ask for them
//! by its `Alignment`; Windows checks the value and then reports the alignment that it reports without it. The library
//! places the buffer at a multiple of the larger one, on every SDK.
//!
//! ```text
//! cargo run -p heapwright-examples --example alignment_floor                            a simulated GPU
//! cargo run -p heapwright-examples --example alignment_floor -- --device d3d12          Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::process::ExitCode;

use heapwright::{
    AlignmentWithTight, BufferUses, ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator,
    ResourceAllocatorDesc, ResourceDesc, buffer_desc,
};

use self::device::Argument;

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
    let gpu = device::open(device.or(Some("host:uma")))?;
    let desc = ResourceAllocatorDesc {
        // Not needed for the alignment, but it tells the device, too. Only for programs that require SDK 1.619.4.
        alignment_beside_tight: AlignmentWithTight::Floor,
        ..Default::default()
    };
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), desc)?;
    println!(
        "buffers of 1000 bytes; the device aligns small ones to {}",
        allocator.caps().buffer_alignment.get()
    );
    let mut held = Vec::new();
    for (what, uses) in [
        ("nothing", BufferUses::empty()),
        ("raw views", BufferUses::RAW_VIEW),
        ("shader tables", BufferUses::SHADER_TABLE),
        ("constant buffers", BufferUses::CONSTANT_BUFFER),
    ] {
        let allocation = ResourceAllocationDesc { uses, ..ResourceAllocationDesc::new(HeapType::Default) };
        let buffer = allocator.create(&allocation, ResourceDesc::new(&buffer_desc(ByteSize::new(1000))))?;
        // SAFETY: a live COM object.
        let address = unsafe { buffer.resource().GetGPUVirtualAddress() }.0;
        println!("for {what}: at offset {} of its heap", buffer.offset());
        assert!(address.is_multiple_of(uses.floor().get()), "{address:#x} for {what}");
        held.push(buffer);
    }
    Ok(())
}
