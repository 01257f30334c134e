//! A ring of upload memory. Each frame writes its uploads after those of the previous frame, while the GPU still copies
//! from there.
//!
//! One buffer in an UPLOAD heap stays mapped. `suballoc::Linear` allocates its offsets in order, records the fence
//! value of each frame, and frees a frame's bytes when the GPU has reached the value. Nothing is created or destroyed
//! in the steady state.
//!
//! ```text
//! cargo run --release -p heapwright-examples --example upload_ring                    a simulated GPU
//! cargo run --release -p heapwright-examples --example upload_ring -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;
use heapwright::suballoc::{Linear, SuballocError, Suballocation};
use heapwright::{
    Alignment, ByteSize, FenceValue, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    buffer_desc,
};

use self::device::Argument;

const FRAMES: u64 = 300;
/// Number of frames that the CPU may be ahead of the GPU.
const IN_FLIGHT: usize = 3;
/// Large enough for any single frame, but not for three of the largest: sometimes the ring is full.
const RING: ByteSize = ByteSize::from_mib(3);
/// Size of the buffer that each frame writes from its start.
const TARGET: ByteSize = ByteSize::from_mib(2);
const UPLOADS_PER_FRAME: usize = 24;
const LARGEST_UPLOAD: u64 = 80 << 10;

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
    let mut memory = buffer(&allocator, "ring", HeapType::Upload, RING, D3D12_RESOURCE_STATE_GENERIC_READ)?;
    let target = buffer(&allocator, "target", HeapType::Default, TARGET, D3D12_RESOURCE_STATE_COMMON)?;
    let mut readback =
        buffer(&allocator, "readback", HeapType::Readback, TARGET, D3D12_RESOURCE_STATE_COPY_DEST)?;

    // A reference of its own, because the mapping borrows the allocation for its lifetime, which is all frames.
    let ring_buffer = memory.resource().clone();
    let mut mapped = memory.map()?;
    let mut ring = Linear::new(RING)?;
    let mut queue = Queue::new(&gpu.device)?;

    let alignment = Alignment::new(16).ok_or("no power of two")?;
    let mut random = fastrand::Rng::with_seed(1);
    // The expected contents of the target, as far as any frame has written. The rest is not known to be zero.
    let mut expected = vec![0; usize::try_from(TARGET.get())?];
    let mut written = 0;
    let (mut uploads, mut bytes, mut waits, mut wraps) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut peak, mut newest) = (ByteSize::ZERO, 0);
    let start = Instant::now();

    for _ in 0..FRAMES {
        // Waits if the frame that used the same command allocator has not finished.
        queue.begin_frame()?;
        ring.retire(queue.completed());

        let mut at = 0;
        for _ in 0..UPLOADS_PER_FRAME {
            let size = ByteSize::new(1 + random.u64(..LARGEST_UPLOAD));
            let upload: Suballocation = loop {
                match ring.allocate(size, alignment) {
                    Ok(upload) => break upload,
                    // Frames in flight fill the ring: wait for the oldest. A single frame always fits.
                    Err(SuballocError::OutOfSpace { .. }) => {
                        let oldest = ring.oldest_fence().ok_or("the ring is too small for one frame")?;
                        queue.wait_for(oldest)?;
                        ring.retire(oldest);
                        waits += 1;
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            let offset = upload.range.start().get();
            wraps += u64::from(offset < newest);
            newest = offset;

            let end = at + usize::try_from(size.get())?;
            let data = &mut expected[at..end];
            random.fill(data);
            mapped.write(offset, data)?;
            // SAFETY: both ranges are within their buffers; the ring does not reuse this range until the GPU has
            // signaled the frame's fence value. The copy promotes buffers from COMMON to COPY_DEST, and they decay to
            // COMMON at the end of the frame.
            unsafe {
                queue.list.CopyBufferRegion(target.resource(), at as u64, &ring_buffer, offset, size.get())
            };
            at = end;
            uploads += 1;
            bytes += size.get();
        }
        written = written.max(at);
        peak = peak.max(ring.used());
        // All bytes of this frame are in use until the fence reaches this value.
        let fence = queue.end_frame()?;
        ring.submit(fence)?;
    }

    queue.begin_frame()?;
    // SAFETY: both buffers are large enough, and alive until the wait below.
    unsafe {
        queue.list.CopyBufferRegion(readback.resource(), 0, target.resource(), 0, TARGET.get());
    }
    let last = queue.end_frame()?;
    queue.wait_for(last)?;
    let seconds = start.elapsed().as_secs_f64();
    let retired = ring.retire(last);

    expected.truncate(written);
    let mut seen = vec![0; written];
    readback.map()?.read(0, &mut seen)?;
    if seen != expected {
        return Err("the target holds something else than what was uploaded".into());
    }
    if !ring.is_empty() {
        return Err("the GPU is done, and the ring is not empty".into());
    }

    println!(
        "uploaded   {uploads} times, {} in {FRAMES} frames, through a ring of {RING}",
        ByteSize::new(bytes)
    );
    println!(
        "ring       at most {peak} in use; it wrapped {wraps} times, and the CPU waited for room {waits} times"
    );
    println!("retired    {} uploads of the last frames, {}", retired.suballocations, retired.bytes);
    println!(
        "speed      {:.0} MiB/s, {:.2} ms a frame",
        bytes as f64 / 1048576.0 / seconds,
        seconds * 1e3 / FRAMES as f64
    );
    println!("compared   {}, all the same", ByteSize::from_usize(written));
    Ok(())
}

fn buffer(
    allocator: &ResourceAllocator,
    name: &str,
    heap_type: HeapType,
    size: ByteSize,
    state: D3D12_RESOURCE_STATES,
) -> Result<ResourceAllocation, heapwright::Error> {
    let desc = ResourceAllocationDesc::new(heap_type);
    let mut buffer = allocator.create_resource(&desc, &buffer_desc(size), state, None)?;
    buffer.set_debug_name(name)?;
    Ok(buffer)
}

/// A queue that may be some frames behind: a command allocator for each frame in flight, and a fence that counts them.
struct Queue {
    queue: ID3D12CommandQueue,
    list: ID3D12GraphicsCommandList,
    fence: ID3D12Fence,
    /// Each with the fence value of the last frame that it recorded.
    commands: [(ID3D12CommandAllocator, FenceValue); IN_FLIGHT],
    /// Index of the current command allocator.
    slot: usize,
    /// The fence value of the current or next frame.
    frame: u64,
}

impl Queue {
    fn new(device: &ID3D12Device) -> Result<Self, Box<dyn Error>> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: the device is alive, and each result is of the interface asked for.
        unsafe {
            let allocator = || device.CreateCommandAllocator::<ID3D12CommandAllocator>(kind);
            let commands = [allocator()?, allocator()?, allocator()?].map(|made| (made, FenceValue::ZERO));
            let list: ID3D12GraphicsCommandList = device.CreateCommandList(0, kind, &commands[0].0, None)?;
            list.Close().ok()?;
            let queue = device.CreateCommandQueue(&desc)?;
            let fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?;
            Ok(Self { queue, list, fence, commands, slot: 0, frame: 1 })
        }
    }

    /// Opens the list for a frame, once the GPU has finished the frame that used the same command allocator.
    fn begin_frame(&mut self) -> Result<(), Box<dyn Error>> {
        let (commands, last) = &self.commands[self.slot];
        self.wait_for(*last)?;
        // SAFETY: the GPU has finished the commands of the allocator, and the list is closed.
        unsafe {
            commands.Reset().ok()?;
            self.list.Reset(commands, None).ok()?;
        }
        Ok(())
    }

    /// Submits the frame to the GPU, and returns the fence value that is reached when it has finished.
    fn end_frame(&mut self) -> Result<FenceValue, Box<dyn Error>> {
        // SAFETY: all objects are alive, and belong to one device.
        unsafe {
            self.list.Close().ok()?;
            self.queue.ExecuteCommandLists(&[Some(self.list.cast()?)]);
            self.queue.Signal(&self.fence, self.frame).ok()?;
        }
        let value = FenceValue::new(self.frame);
        self.commands[self.slot].1 = value;
        self.slot = (self.slot + 1) % IN_FLIGHT;
        self.frame += 1;
        Ok(value)
    }

    /// Returns the fence value that the GPU has reached.
    fn completed(&self) -> FenceValue {
        // SAFETY: the fence is alive.
        FenceValue::new(unsafe { self.fence.GetCompletedValue() })
    }

    fn wait_for(&self, value: FenceValue) -> Result<(), Box<dyn Error>> {
        if self.completed() < value {
            // SAFETY: the fence is alive. Without an event, the call returns when the fence reaches the value.
            unsafe { self.fence.SetEventOnCompletion(value.get(), HANDLE::default()).ok()? };
        }
        Ok(())
    }
}
