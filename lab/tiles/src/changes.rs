//! Measures the CPU time of frames that change 1,000 tiles.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use heapwright::d3d12::*;
use heapwright::{ByteSize, FenceValue, PoolDesc, ResourceAllocator, ResourceKind, buffer_desc};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use heapwright_tiles::{GrowingBuffer, StreamingTexture, TileBox, TilePool};

use crate::{Answer, texture_desc};

const CHANGES: u64 = 1000;
const FRAMES: u64 = 400;
/// Frames before those that are measured.
const WARM_UP: u64 = 40;

/// Times of a frame: of `map`, `unmap`, `grow` and `collect`, and of `update`.
#[derive(Clone, Copy, Default)]
struct Times {
    decide: Duration,
    update: Duration,
}

struct Frames {
    queue: ID3D12CommandQueue,
    fence: ID3D12Fence,
    pool: TilePool,
    times: Vec<Times>,
}

impl Frames {
    fn new(gpu: &Instance, resources: ResourceKind) -> Answer<(ResourceAllocator, Self)> {
        let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
        let pool = TilePool::new(&allocator, PoolDesc { resources, ..Default::default() })?;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_DIRECT, ..Default::default() };
        // SAFETY: the device is a live COM object, and each result is of the interface asked for.
        let (queue, fence) = unsafe {
            (gpu.device.CreateCommandQueue(&desc)?, gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?)
        };
        Ok((allocator, Self { queue, fence, pool, times: Vec::new() }))
    }

    /// Runs frames, each of which decides and then updates. The GPU finishes one before the next.
    fn run<T>(
        &mut self,
        it: &mut T,
        decide: impl Fn(&mut T, u64) -> Answer<()>,
        update: impl Fn(&mut T, &ID3D12CommandQueue, &ID3D12Fence, FenceValue) -> Answer<()>,
    ) -> Answer<()> {
        for frame in 1..=WARM_UP + FRAMES {
            let start = Instant::now();
            self.pool.collect();
            decide(it, frame)?;
            let decided = Instant::now();
            update(it, &self.queue, &self.fence, FenceValue::new(frame))?;
            let times = Times { decide: decided - start, update: decided.elapsed() };
            self.times.extend((frame > WARM_UP).then_some(times));
            // SAFETY: the objects are alive. Without an event, the second call waits.
            unsafe {
                self.queue.Signal(&self.fence, frame).ok()?;
                self.fence.SetEventOnCompletion(frame, HANDLE::default()).ok()?;
            }
        }
        Ok(())
    }
}

/// 500 tiles of a texture of 128 by 128 tiles are mapped and 500 unmapped, at random places.
fn scattered(gpu: &Instance) -> Answer<Vec<Times>> {
    let (_allocator, mut frames) = Frames::new(gpu, ResourceKind::Textures)?;
    let mut texture =
        StreamingTexture::new(&frames.pool, &texture_desc(), D3D12_RESOURCE_STATE_COMMON, None)?;
    let mut random = fastrand::Rng::with_seed(7);
    let mut order: Vec<u32> = (0..128 * 128).collect();
    random.shuffle(&mut order);
    let tile = |number: u64| {
        let at = order[usize::try_from(number).unwrap_or(0) % order.len()];
        TileBox::tile(at % 128, at / 128)
    };
    let half = CHANGES / 2;
    frames.run(
        &mut texture,
        |texture, frame| {
            // A window of 16 frames over the order.
            for number in frame * half..(frame + 1) * half {
                texture.map(0, tile(number))?;
                if frame > 16 {
                    texture.unmap(0, tile(number - 16 * half))?;
                }
            }
            Ok(())
        },
        // SAFETY: the queue signals the value at the end of the frame, and executes nothing else.
        |texture, queue, fence, value| Ok(unsafe { texture.update(queue, fence, value) }?),
    )?;
    Ok(frames.times)
}

/// Each of 20 buffers grows by 50 tiles, or is replaced by a new one after 16 frames.
fn buffers(gpu: &Instance) -> Answer<Vec<Times>> {
    let (_allocator, mut frames) = Frames::new(gpu, ResourceKind::Buffers)?;
    let pool = frames.pool.clone();
    let new = || GrowingBuffer::in_tiles(&pool, &buffer_desc(ByteSize::from_mib(64)));
    let buffers: Result<Vec<GrowingBuffer>, _> = (0..20).map(|_| new()).collect();
    frames.run(
        &mut buffers?,
        |buffers, frame| {
            for (number, buffer) in (0..).zip(buffers) {
                let age = (frame + number) % 16;
                // A buffer begins again at its first tile.
                buffer.shrink(ByteSize::from_kib(64 * 50 * age))?;
                buffer.grow(ByteSize::from_kib(64 * 50 * (age + 1)))?;
            }
            Ok(())
        },
        |buffers, queue, fence, value| {
            // SAFETY: as above.
            buffers
                .iter_mut()
                .try_for_each(|buffer| unsafe { buffer.update(queue, fence, value) }.map(drop))?;
            Ok(())
        },
    )?;
    Ok(frames.times)
}

/// Returns a table of the times on the simulated GPU, and on a GPU with Vulkan if there is one.
pub(crate) fn table() -> Answer<String> {
    let mut text = format!(
        "\n## {CHANGES} tiles a frame\n\n\
         CPU time of a frame, over {FRAMES} frames. *Decide* is `map`, `unmap`, `grow`, `shrink` and `collect`; *update* is `update`, with \
         the\nruntime's and the driver's part of `UpdateTileMappings`. *Vulkan* is the first device of its loader: here lavapipe, which runs on the\nsame CPU. Other programs ran meanwhile.\n\n\
         | device | workload | decide, µs | update, µs | median frame, µs | 99 %, µs |\n|---|---|---|---|---|---|\n"
    );
    let mut devices = vec![("simulated GPU", Instance::open(HostProfile::default_profile())?)];
    match Instance::open_vulkan(0, DeviceOptions::default(), &[]) {
        Ok(gpu) => devices.push(("Vulkan", gpu)),
        Err(error) => eprintln!("no Vulkan: {error}"),
    }
    for (device, gpu) in &devices {
        for (workload, times) in [("scattered tiles", scattered(gpu)?), ("20 buffers", buffers(gpu)?)] {
            let count = times.len() as f64;
            let mean = |of: fn(&Times) -> Duration| {
                times.iter().map(of).sum::<Duration>().as_secs_f64() * 1e6 / count
            };
            let mut frames: Vec<Duration> = times.iter().map(|times| times.decide + times.update).collect();
            frames.sort_unstable();
            let at = |part: usize| frames[(frames.len() - 1) * part / 100].as_secs_f64() * 1e6;
            let (decide, update) = (mean(|times| times.decide), mean(|times| times.update));
            writeln!(
                text,
                "| {device} | {workload} | {decide:.0} | {update:.0} | {:.0} | {:.0} |",
                at(50),
                at(99)
            )?;
        }
    }
    Ok(text)
}
