//! `heap-times`: measures on a GPU what it takes to create and free device memory through Vulkan.
//!
//! The times by size are the prices of core's `HeapCosts`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ash::vk;
use clap::Parser;
use heapwright_lab::gpu::plain::Plain;

/// Measures what it takes to create and free device memory through Vulkan: prints the median times by kind of memory and size, as CSV.
#[derive(Parser)]
#[command(name = "heap-times")]
struct Args {
    /// Only this kind of memory.
    #[arg(long, value_parser = KINDS.map(|kind| kind.name))]
    kind: Option<String>,
}

fn main() -> ExitCode {
    match measure(Args::parse().kind.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the error cannot be reported anywhere.
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A kind of memory.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    is_device_local: bool,
    /// Whether each block is for one buffer only (`VkMemoryDedicatedAllocateInfo`).
    is_dedicated: bool,
    /// Base-2 logarithm of the largest size.
    largest: u32,
    /// Number of blocks of 1 GiB that the process holds during each pass. The first blocks of a process cost more: creating
    /// and freeing the only one takes two to four times as long as beside others.
    held: [usize; 3],
}

const DEVICE_LOCAL: Kind =
    Kind { name: "device-local", is_device_local: true, is_dedicated: false, largest: 32, held: [1, 8, 32] };
const DEDICATED: Kind = Kind { name: "dedicated", is_dedicated: true, ..DEVICE_LOCAL };
const HOST_VISIBLE: Kind =
    Kind { name: "host-visible", is_device_local: false, largest: 30, held: [1, 4, 8], ..DEVICE_LOCAL };
const KINDS: [Kind; 3] = [DEVICE_LOCAL, DEDICATED, HOST_VISIBLE];

/// Blocks that are created, and then freed, one after the other: allocators rarely free what they created last.
const BATCH: usize = 8;

fn measure(only: Option<&str>) -> Result<(), Box<dyn Error>> {
    let mut out = anstream::stdout();
    let kinds = KINDS.into_iter().filter(|kind| only.is_none_or(|only| only == kind.name));
    for (number, kind) in kinds.enumerate() {
        let gpu = Gpu::open(kind)?;
        if number == 0 {
            writeln!(out, "# {}\nkind,size_bytes,create_us,free_us", gpu.plain.name)?;
        }
        let mut times: BTreeMap<u64, [Vec<Duration>; 2]> = BTreeMap::new();
        for held in kind.held {
            let held = (0..held).map(|_| gpu.create(1 << 30, false)).collect::<Result<Vec<_>, _>>()?;
            for size in (16..=kind.largest).map(|shift| 1 << shift) {
                let batches = if size > 64 << 20 { 2 } else { 8 };
                for _ in 0..batches {
                    gpu.measure_batch(size, kind.is_dedicated, times.entry(size).or_default())?;
                }
            }
            held.into_iter().for_each(|block| gpu.free(block));
        }
        for (size, mut times) in times {
            let [create, free] = times.each_mut().map(|times| {
                times.sort();
                times[times.len() / 2].as_micros()
            });
            writeln!(out, "{},{size},{create},{free}", kind.name)?;
        }
    }
    Ok(())
}

/// A Vulkan device, and a type of its memory. All memory must be freed before it is dropped.
struct Gpu {
    plain: Plain,
    memory_type: u32,
}

impl Gpu {
    /// Opens the first device.
    fn open(kind: Kind) -> Result<Self, Box<dyn Error>> {
        let plain = Plain::open(0)?;
        // Where no memory is the GPU's alone, the CPU accesses it.
        let mut flags = vec![(true, false), (true, true)];
        if kind.is_device_local {
            flags.insert(0, (false, false));
        }
        let found = flags
            .into_iter()
            .find_map(|(visible, cached)| plain.memory_type(kind.is_device_local, visible, cached));
        let memory_type = found.ok_or_else(|| format!("{} has no {} memory", plain.name, kind.name))?;
        Ok(Self { plain, memory_type })
    }

    fn create(&self, size: u64, is_dedicated: bool) -> Result<Block, vk::Result> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let of_buffer = vk::BufferCreateInfo::default().size(size).usage(usage);
        let info =
            vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(self.memory_type);
        // SAFETY: the description is valid, the type exists, and the device is alive. Dedicated memory has the size that the
        // buffer requires: sizes are multiples of every alignment.
        unsafe {
            if !is_dedicated {
                return Ok(Block { memory: self.plain.device.allocate_memory(&info, None)?, buffer: None });
            }
            let buffer = self.plain.device.create_buffer(&of_buffer, None)?;
            let size = self.plain.device.get_buffer_memory_requirements(buffer).size;
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let info = info.allocation_size(size).push_next(&mut dedicated);
            let memory = self.plain.device.allocate_memory(&info, None)?;
            Ok(Block { memory, buffer: Some(buffer) })
        }
    }

    fn free(&self, block: Block) {
        // SAFETY: both are of this device, and nothing uses them.
        unsafe {
            if let Some(buffer) = block.buffer {
                self.plain.device.destroy_buffer(buffer, None);
            }
            self.plain.device.free_memory(block.memory, None);
        }
    }

    /// Adds the times to create and to free each block of a batch. Those of dedicated blocks include their buffer, less than a
    /// microsecond.
    fn measure_batch(
        &self,
        size: u64,
        is_dedicated: bool,
        times: &mut [Vec<Duration>; 2],
    ) -> Result<(), vk::Result> {
        let mut blocks = vec![];
        for _ in 0..BATCH {
            let start = Instant::now();
            blocks.push(self.create(size, is_dedicated)?);
            times[0].push(start.elapsed());
        }
        for block in blocks {
            let start = Instant::now();
            self.free(block);
            times[1].push(start.elapsed());
        }
        Ok(())
    }
}

/// Memory, and the buffer that it is dedicated to.
struct Block {
    memory: vk::DeviceMemory,
    buffer: Option<vk::Buffer>,
}
