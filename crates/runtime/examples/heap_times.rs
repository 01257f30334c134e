//! Prints what heaps that the CPU accesses cost on the first Vulkan device, through D3D12: the medians of creation and
//! release.
//!
//! ```sh
//! cargo run --release -p heapwright-runtime --features vulkan --example heap_times
//! ```

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, Instance};

/// Heaps of a size that are alive at once.
const HEAPS: usize = 32;

/// Times that as many are created and released; the first time is not counted.
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gpu = Instance::open_vulkan(0, DeviceOptions::default(), &[])?;
    println!("type      KiB  create us  release us");
    for (name, kind) in [("UPLOAD", D3D12_HEAP_TYPE_UPLOAD), ("READBACK", D3D12_HEAP_TYPE_READBACK)] {
        for size in [4, 64, 256, 1024, 4096, 4160, 16384].map(|kib: u64| kib << 10) {
            let [created, released] = measure(&gpu.device, kind, size)?;
            println!("{name:8} {:>5} {:>10.1} {:>11.1}", size >> 10, micros(created), micros(released));
        }
    }
    Ok(())
}

/// Returns the medians of the creations and of the releases.
fn measure(device: &ID3D12Device, kind: D3D12_HEAP_TYPE, size: u64) -> windows_core::Result<[Duration; 2]> {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: size,
        Properties: D3D12_HEAP_PROPERTIES { Type: kind, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
        ..Default::default()
    };
    let (mut created, mut released) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut heaps = Vec::with_capacity(HEAPS);
        for _ in 0..HEAPS {
            let start = Instant::now();
            let mut heap: Option<ID3D12Heap> = None;
            // SAFETY: a live device, a readable description and a writable result.
            unsafe { device.CreateHeap(&desc, &mut heap) }?;
            created.push((round, start.elapsed()));
            heaps.push(heap);
        }
        for heap in heaps {
            let start = Instant::now();
            drop(heap);
            released.push((round, start.elapsed()));
        }
    }
    Ok([created, released].map(|times| {
        let mut times: Vec<_> =
            times.into_iter().filter(|(round, _)| *round > 0).map(|(_, time)| time).collect();
        times.sort_unstable();
        times[times.len() / 2]
    }))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
