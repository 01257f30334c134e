//! The frame loop of a small renderer whose meshes exceed the memory. A residency manager keeps the meshes of each
//! frame resident.
//!
//! Each frame adds the heaps that its commands use to a `ResidencyList`, and passes both to the manager. The manager
//! makes missing heaps resident and evicts the least recently used ones. Three frames are in flight; the manager's own
//! fence for the queue reports when one has finished. Drawing a mesh copies a part of it, so that the CPU can compare
//! what the GPU read.
//!
//! ```text
//! cargo run -p heapwright-examples --example frame_loop                    a simulated GPU
//! cargo run -p heapwright-examples --example frame_loop -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::process::ExitCode;

use heapwright::d3d12::*;
use heapwright::residency::{GroupBudgets, ResidencyList, ResidencyManager, ResidencyManagerDesc};
use heapwright::{
    ByteSize, FenceValue, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocator, buffer_desc,
};

use self::device::Argument;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Not all meshes fit: 24 MiB with a budget of 16 MiB.
const MESHES: usize = 24;
const MESH: ByteSize = ByteSize::from_mib(1);
const BUDGET: ByteSize = ByteSize::from_mib(16);
const FRAMES: usize = 60;
/// Number of frames that the CPU may be ahead of the GPU.
const IN_FLIGHT: usize = 3;
/// Number of meshes that a frame draws. Every fourth frame, one of them changes.
const SEEN: usize = 8;
/// Number of bytes that are drawn of a mesh.
const PART: usize = 16 << 10;

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

pub(crate) fn run(device: Option<&str>) -> Answer<()> {
    let gpu = device::open(device)?;
    let budgets = GroupBudgets { local: BUDGET, non_local: BUDGET };
    let desc = ResidencyManagerDesc {
        // A renderer leaves the budget to the operating system. This example must behave the same everywhere.
        budget_override: Some(budgets),
        ..Default::default()
    };
    // Without the adapter, which a renderer passes, other memory of the process does not count.
    let manager = ResidencyManager::new(&gpu.device, None, desc)?;
    let allocator =
        ResourceAllocator::with_residency(&gpu.device, gpu.adapter.as_ref(), Default::default(), &manager)?;
    // A renderer would free memory here that it can recreate. Dropping the registration ends it.
    let _told = manager.on_pressure(|change| {
        println!("pressure   {}: {} of {} in use", change.level, change.usage, change.budget);
    });

    let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_DIRECT, ..Default::default() };
    // SAFETY: the device is alive, and the result is of the interface asked for.
    let queue: ID3D12CommandQueue = unsafe { gpu.device.CreateCommandQueue(&desc)? };
    // `execute_command_lists` returns values of this fence.
    let fence = manager.queue_fence(&queue)?;
    let mut frames = Vec::new();
    for _ in 0..IN_FLIGHT {
        frames.push(Frame::new(&gpu.device, &allocator)?);
    }

    let meshes = load(&allocator, &manager, &queue, &fence, &mut frames[0])?;
    let loaded = manager.stats();
    println!("loaded     {MESHES} meshes, {} of them are resident", loaded.local.resident);

    let drawn = draw_frames(&manager, &queue, &fence, &mut frames, &meshes);
    // Also after an error, because the GPU may be drawing, and meshes and frames are dropped when this returns.
    for frame in &frames {
        frame.wait(&fence)?;
    }
    let mut compared = drawn?;
    for frame in &mut frames {
        compared += frame.compare()?;
    }

    let stats = manager.stats();
    println!("resident   {}, evicted {}", stats.local.resident, stats.local.evicted);
    println!(
        "paged      {} in, {} out, in {} calls; the CPU waited {} times",
        stats.local.bytes_paged_in, stats.local.bytes_paged_out, stats.paging_operations, stats.cpu_stalls
    );
    println!("compared   {}, all the same", ByteSize::from_usize(compared));
    if stats.submissions_over_budget > 0 {
        return Err("a frame went out above the budget".into());
    }
    if stats.local.bytes_paged_in < MESH {
        return Err("nothing was paged in, so nothing was shown".into());
    }
    Ok(())
}

/// Draws all frames. Returns how many bytes of finished frames were compared.
fn draw_frames(
    manager: &ResidencyManager,
    queue: &ID3D12CommandQueue,
    fence: &ID3D12Fence,
    frames: &mut [Frame],
    meshes: &[ResourceAllocation],
) -> Answer<usize> {
    let (mut before, mut compared) = (manager.stats(), 0);
    for number in 0..FRAMES {
        let frame = &mut frames[number % IN_FLIGHT];
        // Waits if the GPU still draws the frame that used the same objects.
        frame.wait(fence)?;
        compared += frame.compare()?;
        frame.begin()?;
        for at in 0..SEEN {
            frame.draw(meshes, (number / 4 + at) % MESHES, (number % 64 * PART) as u64)?;
        }
        frame.submit(manager, queue)?;

        let stats = manager.stats();
        let paged_in = stats.local.bytes_paged_in.saturating_sub(before.local.bytes_paged_in);
        let paged_out = stats.local.bytes_paged_out.saturating_sub(before.local.bytes_paged_out);
        if !(paged_in.is_zero() && paged_out.is_zero()) {
            println!("frame {number:<4} {paged_in} in, {paged_out} out");
        }
        before = stats;
    }
    Ok(compared)
}

/// Creates and uploads the meshes. The first ones are evicted for later ones, because no frame uses them yet.
fn load(
    allocator: &ResourceAllocator,
    manager: &ResidencyManager,
    queue: &ID3D12CommandQueue,
    fence: &ID3D12Fence,
    frame: &mut Frame,
) -> Answer<Vec<ResourceAllocation>> {
    let mut upload = allocator.create_resource(
        &ResourceAllocationDesc::new(HeapType::Upload),
        &buffer_desc(MESH),
        D3D12_RESOURCE_STATE_GENERIC_READ,
        None,
    )?;
    upload.set_debug_name("upload")?;
    // Resources that share a heap are paged together. Here each mesh must be paged individually.
    let by_itself = ResourceAllocationDesc {
        flags: ResourceAllocationFlags::ALWAYS_COMMITTED,
        ..ResourceAllocationDesc::new(HeapType::Default)
    };
    let mut meshes = Vec::new();
    for number in 0..MESHES {
        let mut mesh =
            allocator.create_resource(&by_itself, &buffer_desc(MESH), D3D12_RESOURCE_STATE_COMMON, None)?;
        mesh.set_debug_name(&format!("mesh {number}"))?;
        let bytes: Vec<u8> = (0..MESH.get()).map(|at| byte_of(number, at)).collect();
        upload.map()?.write(0, &bytes)?;
        frame.begin()?;
        frame.uses.add_allocation(&upload)?;
        frame.uses.add_allocation(&mesh)?;
        let (from, at) = (upload.resource(), upload.offset_from_resource());
        // SAFETY: both buffers are alive until the wait below, and as large as that.
        unsafe { frame.list.CopyBufferRegion(mesh.resource(), 0, from, at.get(), MESH.get()) };
        frame.submit(manager, queue)?;
        frame.wait(fence)?;
        meshes.push(mesh);
    }
    Ok(meshes)
}

fn byte_of(mesh: usize, at: u64) -> u8 {
    ((at * 7 + at / 256 + mesh as u64 * 31) % 251) as u8
}

/// The objects of a frame in flight.
struct Frame {
    commands: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    /// The heaps that the list uses.
    uses: ResidencyList,
    /// The target of the copies, one part after the other.
    target: ResourceAllocation,
    /// The mesh of each part, and the offset of the part in the mesh.
    drawn: Vec<(usize, u64)>,
    /// The fence value that the GPU reaches when it has finished the frame.
    done: FenceValue,
}

impl Frame {
    fn new(device: &ID3D12Device, allocator: &ResourceAllocator) -> Answer<Self> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let mut target = allocator.create_resource(
            &ResourceAllocationDesc::new(HeapType::Readback),
            &buffer_desc(ByteSize::from_usize(PART * SEEN)),
            D3D12_RESOURCE_STATE_COPY_DEST,
            None,
        )?;
        target.set_debug_name("drawn parts")?;
        // SAFETY: the device is alive, and each result is of the interface asked for.
        let (commands, list) = unsafe {
            let commands: ID3D12CommandAllocator = device.CreateCommandAllocator(kind)?;
            let list: ID3D12GraphicsCommandList = device.CreateCommandList(0, kind, &commands, None)?;
            list.Close().ok()?;
            (commands, list)
        };
        let (uses, done) = (ResidencyList::new(), FenceValue::ZERO);
        Ok(Self { commands, list, uses, target, drawn: Vec::new(), done })
    }

    fn begin(&mut self) -> Answer<()> {
        // SAFETY: the GPU is done with what the allocator holds, and the list is closed.
        unsafe {
            self.commands.Reset().ok()?;
            self.list.Reset(&self.commands, None).ok()?;
        }
        self.uses.reset()?;
        self.drawn.clear();
        Ok(())
    }

    fn draw(&mut self, meshes: &[ResourceAllocation], number: usize, from: u64) -> Answer<()> {
        let mesh = &meshes[number];
        self.uses.add_allocation(mesh)?;
        self.uses.add_allocation(&self.target)?;
        let to = self.target.offset_from_resource().get() + (self.drawn.len() * PART) as u64;
        // SAFETY: both ranges are within their buffers, which live longer than the frame. The copy promotes the mesh
        // from COMMON, and it decays at the end of the frame.
        unsafe {
            self.list.CopyBufferRegion(self.target.resource(), to, mesh.resource(), from, PART as u64);
        }
        self.drawn.push((number, from));
        Ok(())
    }

    /// Submits the frame through the manager. The queue executes it once all its heaps are resident.
    fn submit(&mut self, manager: &ResidencyManager, queue: &ID3D12CommandQueue) -> Answer<()> {
        // SAFETY: the list is alive and open.
        unsafe { self.list.Close().ok()? };
        // SAFETY: the list is closed and of the queue's type, only this thread uses it, and its heaps are in `uses`.
        // Meshes and frames live until the queue has finished, because every frame is waited for before it is recorded
        // again, compared or dropped; there is no other queue.
        self.done = unsafe { manager.execute_command_lists(queue, &[self.uses.of(&self.list)])? };
        Ok(())
    }

    fn wait(&self, fence: &ID3D12Fence) -> Answer<()> {
        // SAFETY: the fence is alive. Without an event, the call returns when the fence reaches the value.
        unsafe { fence.SetEventOnCompletion(self.done.get(), HANDLE::default()).ok()? };
        Ok(())
    }

    /// Compares what the GPU copied with what was loaded. Returns the number of bytes.
    fn compare(&mut self) -> Answer<usize> {
        let mut seen = vec![0; self.drawn.len() * PART];
        self.target.map()?.read(0, &mut seen)?;
        for (part, &(mesh, from)) in seen.chunks(PART).zip(&self.drawn) {
            if !part.iter().copied().eq((from..from + PART as u64).map(|at| byte_of(mesh, at))) {
                return Err(format!("mesh {mesh} is not what was loaded").into());
            }
        }
        Ok(seen.len())
    }
}
