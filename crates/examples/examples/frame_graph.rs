//! A frame graph whose resources share memory: data goes from stage to stage, each a pass with a buffer of its own.
//!
//! ```text
//! cargo run -p heapwright-examples --example frame_graph                    a simulated GPU
//! cargo run -p heapwright-examples --example frame_graph -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::process::ExitCode;

use heapwright::d3d12::windows_core::Interface;
use heapwright::d3d12::*;
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright_transient::{QueueKind, TransientFrame, TransientHeaps, Use};

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

/// Each stage is a buffer that is filled from the one before it. The first and the third stage share memory, and so do
/// the second and the fourth.
const STAGES: usize = 4;
const SIZE: ByteSize = ByteSize::from_mib(1);

pub(crate) fn run(device: Option<&str>) -> Result<(), Box<dyn Error>> {
    let gpu = device::open(device)?;
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;
    let buffer = |heap_type, state| {
        allocator.create_resource(&ResourceAllocationDesc::new(heap_type), &buffer_desc(SIZE), state, None)
    };
    let mut input = buffer(HeapType::Upload, D3D12_RESOURCE_STATE_GENERIC_READ)?;
    let mut output = buffer(HeapType::Readback, D3D12_RESOURCE_STATE_COPY_DEST)?;
    input.set_debug_name("input")?;
    output.set_debug_name("output")?;

    // The graph: which pass uses which resource, and how.
    let mut frame = TransientFrame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let stages = [(); STAGES].map(|()| frame.add_resource(&buffer_desc(SIZE), None));
    let mut passes = Vec::new();
    for number in 0..=STAGES {
        let pass = frame.add_pass(queue)?;
        if let Some(&written) = stages.get(number) {
            frame.add_use(pass, written, Use::CopyAll, D3D12_RESOURCE_STATE_COPY_DEST)?;
        }
        if number > 0 {
            frame.add_use(pass, stages[number - 1], Use::Read, D3D12_RESOURCE_STATE_COPY_SOURCE)?;
        }
        passes.push(pass);
    }
    let mut heaps = TransientHeaps::new(&allocator);
    let resources = heaps.prepare(&frame)?;
    println!("{STAGES} stages of {SIZE} in {}", resources.size());

    let executor = Executor::new(&gpu.device)?;
    for number in 0..3_u8 {
        input.map()?.write(0, &vec![number + 1; SIZE.to_usize().ok_or("too large")?])?;
        // The same resources each time: the frame has not changed.
        let resources = heaps.prepare(&frame)?;
        let list = executor.begin()?;
        for (number, &pass) in passes.iter().enumerate() {
            let source =
                if number == 0 { input.resource() } else { resources.resource(stages[number - 1])? };
            let target =
                if number == STAGES { output.resource() } else { resources.resource(stages[number])? };
            // SAFETY: the list is open; the passes are recorded in their order, with the uses that they declared, and
            // are executed by one call. Everything lives until `execute` has waited for the GPU.
            unsafe {
                resources.begin_pass(list, pass)?;
                list.CopyBufferRegion(target, 0, source, 0, SIZE.get());
                resources.end_pass(list, pass)?;
            }
        }
        executor.execute()?;
        let mut seen = [0; 4];
        output.map()?.read(SIZE.get() - 4, &mut seen)?;
        if seen != [number + 1; 4] {
            return Err(format!("frame {number} ended with {seen:?}").into());
        }
    }
    println!("3 frames, all as expected");
    Ok(())
}

/// A queue with one command list, which it executes and waits for.
struct Executor {
    queue: ID3D12CommandQueue,
    commands: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    fence: ID3D12Fence,
}

impl Executor {
    fn new(device: &ID3D12Device) -> Result<Self, Box<dyn Error>> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: the device is alive, and each result is of the interface asked for.
        unsafe {
            let commands: ID3D12CommandAllocator = device.CreateCommandAllocator(kind)?;
            let list: ID3D12GraphicsCommandList = device.CreateCommandList(0, kind, &commands, None)?;
            list.Close().ok()?;
            Ok(Self {
                queue: device.CreateCommandQueue(&desc)?,
                commands,
                list,
                fence: device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?,
            })
        }
    }

    fn begin(&self) -> Result<&ID3D12GraphicsCommandList, Box<dyn Error>> {
        // SAFETY: the GPU has finished what the allocator holds, and the list is closed.
        unsafe {
            self.commands.Reset().ok()?;
            self.list.Reset(&self.commands, None).ok()?;
        }
        Ok(&self.list)
    }

    fn execute(&self) -> Result<(), Box<dyn Error>> {
        // SAFETY: the list is open and of the queue's type. Without an event, the call waits.
        unsafe {
            self.list.Close().ok()?;
            self.queue.ExecuteCommandLists(&[Some(self.list.cast()?)]);
            let value = self.fence.GetCompletedValue() + 1;
            self.queue.Signal(&self.fence, value).ok()?;
            self.fence.SetEventOnCompletion(value, HANDLE::default()).ok()?;
        }
        Ok(())
    }
}
