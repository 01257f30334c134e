//! One step of a diffusion model: tensors go down and up through the levels of a U-Net, and those for the skip
//! connections stay longer. Each tensor has an address of its own, and memory only while it is used.
//!
//! ```text
//! cargo run -p heapwright-examples --example diffusion_plan                    a simulated GPU
//! cargo run -p heapwright-examples --example diffusion_plan -- --device d3d12  Windows' D3D12
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells what it does")]

mod device;
mod queue;

use std::error::Error;
use std::process::ExitCode;

use heapwright::{ByteSize, HeapType, PoolDesc, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright_tiles::{GrowingBuffer, TilePool};

use self::device::Argument;
use self::queue::Queue;

type Answer<T> = Result<T, Box<dyn Error>>;

const LEVELS: usize = 4;
/// Tensors that follow each other in a level.
const BLOCKS: usize = 3;
/// Size of a tensor at the first level. Each level halves width and height, and doubles the channels.
const TENSOR: u64 = 3 << 20;
/// What is written to a tensor and read from it: the GPU has no kernels here.
const SAMPLE: u64 = BYTES as u64;
const BYTES: usize = 256;
const STEPS: usize = 3;

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

/// A tensor of the plan.
struct Tensor {
    size: u64,
    /// The layer that writes it, and the last one that reads it.
    used: (usize, usize),
}

/// Returns the tensors of a U-Net, in the order of the layers that write them.
fn plan() -> Vec<Tensor> {
    let mut tensors = Vec::new();
    let mut skips = Vec::new();
    let mut add = |level: usize| {
        let layer = tensors.len();
        tensors.push(Tensor { size: TENSOR >> level, used: (layer, layer + 1) });
        layer
    };
    for level in 0..LEVELS {
        let last = (0..BLOCKS).map(|_| add(level)).last();
        skips.extend(last);
    }
    let mut readers = Vec::new();
    for level in (0..LEVELS).rev() {
        let first = (0..BLOCKS).map(|_| add(level)).next();
        readers.extend(first.zip(skips.pop()));
    }
    for (reader, skip) in readers {
        tensors[skip].used.1 = reader;
    }
    tensors
}

pub(crate) fn run(device: Option<&str>) -> Answer<()> {
    let gpu = device::open(device)?;
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;
    let desc =
        PoolDesc { name: "tensors".into(), heap_size: Some(ByteSize::from_mib(1)), ..Default::default() };
    let pool = match TilePool::new(&allocator, desc) {
        Err(error) if error.is_unsupported() => {
            println!("nothing    {error}");
            return Ok(());
        }
        pool => pool?,
    };
    let mut queue = Queue::new(&gpu.device)?;
    let plan = plan();
    let mut upload = allocator
        .create(&ResourceAllocationDesc::new(HeapType::Upload), buffer_desc(ByteSize::new(SAMPLE)))?;
    let results = buffer_desc(ByteSize::new(SAMPLE * plan.len() as u64));
    let mut readback = allocator.create(&ResourceAllocationDesc::new(HeapType::Readback), results)?;
    // The addresses stay for all steps, so that descriptors and recorded lists do, too.
    let tensors =
        plan.iter().map(|tensor| GrowingBuffer::in_tiles(&pool, &buffer_desc(ByteSize::new(tensor.size))));
    let mut tensors = tensors.collect::<Result<Vec<_>, _>>()?;
    let (mut peak, mut peak_live) = (ByteSize::ZERO, 0);
    for step in 0..STEPS {
        for layer in 0..plan.len() {
            queue.wait()?;
            pool.collect();
            let mut live = 0;
            for (tensor, buffer) in plan.iter().zip(&mut tensors) {
                // What the previous layer read for the last time goes, and what this one writes comes.
                let (first, last) = tensor.used;
                if last + 1 == layer {
                    buffer.shrink(ByteSize::ZERO)?;
                } else if first == layer {
                    buffer.grow(ByteSize::new(tensor.size))?;
                }
                if (first..=last).contains(&layer) {
                    live += tensor.size;
                }
                // SAFETY: the queue signals the value after the list below, and the lists that used the tensors have
                // finished.
                let copy = unsafe { buffer.update(&queue.queue, &queue.fence, queue.next())? };
                debug_assert!(copy.is_none());
            }
            peak = peak.max(pool.stats().reserved);
            peak_live = peak_live.max(live);
            upload.map()?.write(0, &[byte_of(step, layer); BYTES])?;
            let ends = |layer: usize| tensors[layer].max_size().get() - SAMPLE;
            let is_last_reader = |tensor: &Tensor| tensor.used.1 == layer && tensor.used.0 < layer;
            queue.execute(|list| {
                // SAFETY: the tensors have memory, and live longer than the list is executed.
                unsafe {
                    let written = tensors[layer].resource();
                    list.CopyBufferRegion(written, ends(layer), upload.resource(), 0, SAMPLE);
                    for (read, _) in plan.iter().enumerate().filter(|(_, tensor)| is_last_reader(tensor)) {
                        let at = read as u64 * SAMPLE;
                        list.CopyBufferRegion(
                            readback.resource(),
                            at,
                            tensors[read].resource(),
                            ends(read),
                            SAMPLE,
                        );
                    }
                }
            })?;
        }
        queue.wait()?;
        // The last tensor, whose reader would be the next step, is not read.
        let mut seen = vec![0; BYTES * (plan.len() - 1)];
        readback.map()?.read(0, &mut seen)?;
        for (layer, seen) in seen.chunks(BYTES).enumerate() {
            if seen.iter().any(|&byte| byte != byte_of(step, layer)) {
                return Err(format!("the tensor of layer {layer} is not what was written").into());
            }
        }
        if let Some(last) = tensors.last_mut() {
            last.shrink(ByteSize::ZERO)?;
        }
    }
    let all: u64 = plan.iter().map(|tensor| tensor.size).sum();
    println!(
        "tensors    {}, {} together, at most {} live",
        plan.len(),
        ByteSize::new(all),
        ByteSize::new(peak_live)
    );
    println!("held       at most {peak}");
    println!("compared   {} tensors in each of {STEPS} steps, all the same", plan.len() - 1);
    Ok(())
}

fn byte_of(step: usize, layer: usize) -> u8 {
    u8::try_from(1 + (step * 83 + layer * 7) % 251).unwrap_or(u8::MAX)
}
