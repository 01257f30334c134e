//! `bench-tiles`: compares buffers in tiles with plain buffers, by the memory that is held, the bytes that are copied,
//! and the time of the CPU. `cargo lab bench-tiles` writes lab/TILES.md.
//!
//! Each rival has an allocator and a simulated GPU of its own. A frame of 16 ms changes sizes, and the GPU finishes it
//! before the next.
#![allow(clippy::print_stdout, reason = "it tells what it wrote")]

mod changes;
mod memory;
mod modelled;
mod workloads;

use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use heapwright::d3d12::*;
use heapwright::{
    ByteSize, EmptyHeapPolicy, FenceValue, PoolDesc, ResourceAllocator, ResourceAllocatorDesc, ResourceKind,
    buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_tiles::{GrowingBuffer, StreamingTexture, TileBox, TilePool};

use self::workloads::{Change, Workload, diffusion, kv_caches, virtual_texture};

type Answer<T> = Result<T, Box<dyn Error>>;

/// The figures of a rival with a workload.
#[derive(Default)]
struct Figures {
    peak: u64,
    peak_live: u64,
    held: u64,
    live: u64,
    /// The most that was held beyond 1.05 of what was live then.
    beyond: f64,
    copied: u64,
    time: Duration,
    /// The longest frame.
    longest: Duration,
    /// The number of bytes that are live after the last frame.
    live_now: u64,
}

impl Figures {
    /// Counts a frame that ends with these bytes held. `sizes` are those of the buffers before it.
    fn count(&mut self, changes: &[Change], sizes: &mut [u64], held: u64) {
        // What is freed in this frame is live until its end, for all rivals.
        let in_frame: u64 =
            changes.iter().filter(|change| change.size == 0).map(|change| sizes[change.buffer]).sum();
        for change in changes {
            self.live_now = self.live_now + change.size - sizes[change.buffer];
            sizes[change.buffer] = change.size;
        }
        let needed = self.live_now + in_frame;
        self.peak = self.peak.max(held);
        self.peak_live = self.peak_live.max(needed);
        self.held += held;
        self.live += needed;
        self.beyond = self.beyond.max(held as f64 - 1.05 * needed as f64);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Rival {
    /// With heaps of so many MiB.
    Tiles(EmptyHeapPolicy, u64),
    Plain(EmptyHeapPolicy, Option<u64>),
    /// The model of D3D12MA.
    D3d12Ma,
}

/// What a rival has for the buffers of a workload.
struct Buffers {
    allocator: ResourceAllocator,
    pool: Option<TilePool>,
    /// One for each buffer that exists.
    buffers: Vec<Option<GrowingBuffer>>,
    /// For tiles of a texture.
    texture: Option<StreamingTexture>,
    queue: ID3D12CommandQueue,
    fence: ID3D12Fence,
    frame: u64,
    copied: u64,
}

impl Buffers {
    fn new(gpu: &Instance, rival: Rival, workload: &Workload) -> Answer<Self> {
        let (empty_heap_policy, block) = match rival {
            Rival::Tiles(policy, _) => (policy, None),
            Rival::Plain(policy, block) => (policy, block),
            Rival::D3d12Ma => return Err("a model has no device".into()),
        };
        let preferred_heap_size = block.map(ByteSize::new);
        let desc = ResourceAllocatorDesc { empty_heap_policy, preferred_heap_size, ..Default::default() };
        let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc)?;
        let is_texture = workload.name == virtual_texture().name;
        let pool = match rival {
            Rival::Tiles(_, heap) => {
                let resources = if is_texture { ResourceKind::Textures } else { ResourceKind::Buffers };
                let desc =
                    PoolDesc { resources, heap_size: Some(ByteSize::from_mib(heap)), ..Default::default() };
                Some(TilePool::new(&allocator, desc)?)
            }
            Rival::Plain(..) | Rival::D3d12Ma => None,
        };
        let texture = match &pool {
            Some(pool) if is_texture => {
                Some(StreamingTexture::new(pool, &texture_desc(), D3D12_RESOURCE_STATE_COMMON, None)?)
            }
            _ => None,
        };
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
        // SAFETY: the device is a live COM object, and each result is of the interface asked for.
        let (queue, fence) = unsafe {
            (gpu.device.CreateCommandQueue(&desc)?, gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?)
        };
        let buffers = workload.max_sizes.iter().map(|_| None).collect();
        Ok(Self { allocator, pool, buffers, texture, queue, fence, frame: 0, copied: 0 })
    }

    fn change(&mut self, Change { buffer: number, size }: Change, max: u64) -> Answer<()> {
        let value = FenceValue::new(self.frame);
        if let Some(texture) = &mut self.texture {
            let at = u32::try_from(number)?;
            let tile = TileBox::tile(at % 128, at / 128);
            if size > 0 {
                texture.map(0, tile)?
            } else {
                texture.unmap(0, tile)?
            }
            return Ok(());
        }
        if size == 0 {
            if let Some(buffer) = self.buffers[number].take() {
                buffer.free_after(&self.fence, value);
            }
            return Ok(());
        }
        let desc = buffer_desc(ByteSize::new(max));
        let buffer = match &mut self.buffers[number] {
            Some(buffer) => buffer,
            none => none.insert(match &self.pool {
                Some(pool) => GrowingBuffer::in_tiles(pool, &desc)?,
                None => GrowingBuffer::plain(&self.allocator, &desc)?,
            }),
        };
        buffer.grow(ByteSize::new(size))?;
        // SAFETY: the queue signals the value at the end of the frame, and executes nothing else.
        if let Some(copy) = unsafe { buffer.update(&self.queue, &self.fence, value)? } {
            self.copied += copy.size.get();
        }
        Ok(())
    }

    /// Ends a frame, and returns what is held.
    fn end_frame(&mut self) -> Answer<u64> {
        let value = self.frame;
        // SAFETY: all objects are alive; the value is signaled at the end of the frame.
        unsafe {
            if let Some(texture) = &mut self.texture {
                texture.update(&self.queue, &self.fence, FenceValue::new(value))?;
            }
            self.queue.Signal(&self.fence, value).ok()?;
        }
        Ok(self.allocator.reserved().get())
    }

    /// Waits for the GPU, and frees what it is done with.
    fn begin_frame(&mut self) -> Answer<()> {
        // SAFETY: the fence is alive. Without an event, the call returns when the fence reaches the value.
        unsafe { self.fence.SetEventOnCompletion(self.frame, HANDLE::default()).ok()? };
        self.frame += 1;
        self.allocator.on_time(Duration::from_millis(16 * self.frame));
        Ok(())
    }

    fn collect(&self) {
        self.pool.as_ref().map(TilePool::collect);
        self.allocator.collect();
        self.allocator.end_frame();
    }
}

/// Returns the description of a texture of 128 by 128 tiles.
fn texture_desc() -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 128 * 128,
        Height: 128 * 128,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

fn run(rival: Rival, workload: &Workload) -> Answer<Figures> {
    if rival == Rival::D3d12Ma {
        return modelled::run(workload);
    }
    let gpu = Instance::open(HostProfile::default_profile())?;
    let mut buffers = Buffers::new(&gpu, rival, workload)?;
    let mut sizes = vec![0; workload.max_sizes.len()];
    let mut figures = Figures::default();
    for changes in &workload.frames {
        buffers.begin_frame()?;
        let start = Instant::now();
        buffers.collect();
        for &change in changes {
            buffers.change(change, workload.max_sizes[change.buffer])?;
        }
        let held = buffers.end_frame()?;
        let time = start.elapsed();
        figures.time += time;
        figures.longest = figures.longest.max(time);
        figures.count(changes, &mut sizes, held);
    }
    figures.copied = buffers.copied;
    Ok(figures)
}

fn main() -> Answer<()> {
    // For another machine, which does not have the repository.
    if std::env::args().any(|argument| argument == "--changes") {
        print!("{}", changes::table()?);
        return Ok(());
    }
    let rivals = [
        ("tiles, heaps of 16 MiB", Rival::Tiles(EmptyHeapPolicy::Default, 16)),
        ("tiles, 4 MiB", Rival::Tiles(EmptyHeapPolicy::Default, 4)),
        ("tiles, 2 MiB", Rival::Tiles(EmptyHeapPolicy::Default, 2)),
        ("tiles, 1 MiB", Rival::Tiles(EmptyHeapPolicy::Default, 1)),
        ("tiles, 4 MiB, UntilNextFree", Rival::Tiles(EmptyHeapPolicy::UntilNextFree, 4)),
        ("tiles, 2 MiB, UntilNextFree", Rival::Tiles(EmptyHeapPolicy::UntilNextFree, 2)),
        ("tiles, 1 MiB, UntilNextFree", Rival::Tiles(EmptyHeapPolicy::UntilNextFree, 1)),
        ("plain", Rival::Plain(EmptyHeapPolicy::Default, None)),
        ("plain, LeastMemory", Rival::Plain(EmptyHeapPolicy::LeastMemory, None)),
        (
            "plain, blocks of 64 MiB, UntilNextFree",
            Rival::Plain(EmptyHeapPolicy::UntilNextFree, Some(64 << 20)),
        ),
        ("plain, a model of D3D12MA", Rival::D3d12Ma),
    ];
    let mut text = String::from(INTRODUCTION);
    for workload in [kv_caches(), diffusion(), virtual_texture()] {
        let changes: usize = workload.frames.iter().map(Vec::len).sum();
        writeln!(text, "\n## {}: {} frames, {changes} changes\n", workload.name, workload.frames.len())?;
        text.push_str("| rival | peak held, MiB | peak held / live | mean held / live | beyond 1.05 of live, MiB | copied, MiB | CPU, µs a frame | longest frame, ms |\n");
        text.push_str("|---|---|---|---|---|---|---|---|\n");
        for (name, rival) in rivals {
            let figures = run(rival, &workload)?;
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            writeln!(
                text,
                "| {name} | {:.0} | {:.3} | {:.3} | {:.1} | {:.0} | {:.1} | {:.2} |",
                mib(figures.peak),
                figures.peak as f64 / figures.peak_live as f64,
                figures.held as f64 / figures.live as f64,
                figures.beyond.max(0.0) / f64::from(1 << 20),
                mib(figures.copied),
                figures.time.as_secs_f64() * 1e6 / workload.frames.len() as f64,
                figures.longest.as_secs_f64() * 1e3,
            )?;
        }
    }
    text.push_str(&changes::table()?);
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../TILES.md"), &text)?;
    print!("{text}");
    Ok(())
}

const INTRODUCTION: &str = "\
# Tiles beside plain buffers

Written by `cargo lab bench-tiles`, on the simulated GPU. The times are of the machine that it ran on, and include the simulated
driver's; everything else is the same on every machine. All allocators but the last are heapwright's. *Tiles* are a `TilePool` with heaps of the
given size; *plain* is `GrowingBuffer::plain`, which doubles and copies. The last rival has the same buffers in memory by D3D12MA's rules,
as [MEMORY.md](MEMORY.md) models them: blocks that grow to 64 MiB, committed buffers above 32 MiB, one empty block. It calls no device.

*Live* are the bytes that the workload needs in a frame, with those that the frame frees, as the GPU may use them until its end. *Beyond*
is the most that was held in a frame beyond 1.05 of what was live in it. Memory that is held includes empty heaps that the allocator
keeps for later (`EmptyHeapPolicy`).

Tiles copy nothing. With heaps of 1 or 2 MiB, of which one empty one is kept (`UntilNextFree`), they hold in every frame of each workload
at most 1.05 of what is live and a heap. With 4 MiB, the diffusion model is four heaps beyond it when its tensors are small. By default,
empty heaps stay for as long as that is cheaper than creating them again: so much is held where hundreds of MiB end in a frame.
";
