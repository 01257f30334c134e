//! The frame loop of a small renderer that has more meshes than memory: a residency manager keeps what each frame draws in memory.
//!
//! Each frame says in a `ResidencyList` what its commands use, and hands both to the manager, which pages in what is missing and out what
//! was not used for longest. Three frames are in flight; the manager's own fence for the queue tells when one is done. To draw a mesh is to
//! copy a part of it, so that the CPU can compare what the GPU saw.
//!
//! ```text
//! cargo run -p heapwright --example frame_loop                    a simulated GPU, on any operating system
//! cargo run -p heapwright --example frame_loop -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;

use std::error::Error;
use std::process::ExitCode;

use heapwright::d3d12::*;
use heapwright::residency::{
    BudgetOverride, GroupBudgets, ResidencyList, ResidencyManager, ResidencyManagerDesc,
};
use heapwright::{
    ByteSize, FenceValue, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocator, buffer_desc,
};

type Answer<T> = Result<T, Box<dyn Error>>;

/// Not all of them fit: 24 MiB of meshes beside a budget of 16 MiB.
const MESHES: usize = 24;
const MESH: ByteSize = ByteSize::from_mib(1);
const BUDGET: ByteSize = ByteSize::from_mib(16);
const FRAMES: usize = 60;
/// Frames that the CPU may be ahead of the GPU.
const IN_FLIGHT: usize = 3;
/// Meshes that a frame sees; each fourth frame one of them is another.
const SEEN: usize = 8;
/// What is drawn of a mesh.
const PART: usize = 16 << 10;

fn main() -> ExitCode {
    let device = device::from_arguments(std::env::args().skip(1));
    match device.map_err(Into::into).and_then(|device| run(device.as_deref())) {
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
        // A renderer leaves it to the operating system. This one is to show the same wherever it runs.
        budget_override: Some(BudgetOverride::Fixed(budgets)),
        ..Default::default()
    };
    // Without the adapter, which a renderer names, what else is in memory does not count.
    let manager = ResidencyManager::new(&gpu.device, None, desc)?;
    let allocator =
        ResourceAllocator::with_residency(&gpu.device, gpu.adapter.as_ref(), Default::default(), &manager)?;
    // Here a renderer drops what it can make again. The registration ends when it is dropped.
    let _told = manager.on_pressure(|change| {
        println!("pressure   {}: {} of {} in use", change.level, change.usage, change.budget);
    });

    let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_DIRECT, ..Default::default() };
    // SAFETY: the device is alive, and the result is of the interface asked for.
    let queue: ID3D12CommandQueue = unsafe { gpu.device.CreateCommandQueue(&desc)? };
    // What `execute_command_lists` answers are values of this one.
    let fence = manager.queue_fence(&queue)?;
    let mut frames = Vec::new();
    for _ in 0..IN_FLIGHT {
        frames.push(Frame::new(&gpu.device, &allocator)?);
    }

    let meshes = load(&allocator, &manager, &queue, &fence, &mut frames[0])?;
    let loaded = manager.stats();
    println!("loaded     {MESHES} meshes, {} of them are resident", loaded.local.resident);

    let drawn = draw_frames(&manager, &queue, &fence, &mut frames, &meshes);
    // After an error, too: the GPU may be drawing, and meshes and frames are dropped when this returns.
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

/// Draws all frames; how many bytes of those that are done were compared.
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

/// The meshes, with their bytes. Those that come late push out those that came early, as nobody needs these yet.
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
    // What shares a heap is paged together: here each mesh is paged by itself.
    let by_itself = ResourceAllocationDesc {
        flags: ResourceAllocationFlags::ALWAYS_COMMITTED,
        ..ResourceAllocationDesc::new(HeapType::Default)
    };
    let mut meshes = Vec::new();
    for number in 0..MESHES {
        let mesh =
            allocator.create_resource(&by_itself, &buffer_desc(MESH), D3D12_RESOURCE_STATE_COMMON, None)?;
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

/// What a frame in flight has for itself.
struct Frame {
    commands: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    /// What the list uses.
    uses: ResidencyList,
    /// Where it draws to: part after part.
    target: ResourceAllocation,
    /// The mesh of each part, and where in the mesh it begins.
    drawn: Vec<(usize, u64)>,
    /// What the fence comes to when the GPU is done with it.
    done: FenceValue,
}

impl Frame {
    fn new(device: &ID3D12Device, allocator: &ResourceAllocator) -> Answer<Self> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let target = allocator.create_resource(
            &ResourceAllocationDesc::new(HeapType::Readback),
            &buffer_desc(ByteSize::from_usize(PART * SEEN)),
            D3D12_RESOURCE_STATE_COPY_DEST,
            None,
        )?;
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
        // SAFETY: both ranges lie in their buffers, which live longer than the frame. The mesh is promoted from COMMON by the copy, and goes
        // back with the frame.
        unsafe {
            self.list.CopyBufferRegion(self.target.resource(), to, mesh.resource(), from, PART as u64);
        }
        self.drawn.push((number, from));
        Ok(())
    }

    /// Hands the frame to the manager, which has the queue execute it once all that it uses is resident.
    fn submit(&mut self, manager: &ResidencyManager, queue: &ID3D12CommandQueue) -> Answer<()> {
        // SAFETY: the list is alive and open.
        unsafe { self.list.Close().ok()? };
        let list: &ID3D12CommandList = &self.list;
        // SAFETY: the list is closed and of the queue's type, this thread alone has it, and what it uses is in `uses`. Meshes and frames live
        // until the queue is done, as every frame is waited for before it is recorded anew, compared or dropped; there is no other queue.
        self.done = unsafe { manager.execute_command_lists(queue, &[(list, &self.uses)])? };
        Ok(())
    }

    fn wait(&self, fence: &ID3D12Fence) -> Answer<()> {
        // SAFETY: the fence is alive. Without an event, the call returns when the fence is there.
        unsafe { fence.SetEventOnCompletion(self.done.get(), HANDLE::default()).ok()? };
        Ok(())
    }

    /// Whether the GPU saw what was loaded; how many bytes those are.
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
