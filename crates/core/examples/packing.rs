//! Packs the instances of a folder of CSV files (id,lower,upper,size,...) and prints heights, bounds and times.
//!
//! `cargo run --release -p heapwright-core --example packing -- SECONDS|STEPS,steps CAPACITY|- FILE...`

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use heapwright_core::aliasing::{Buffer, Instance, Interval, SolveOptions, check, solve};
use heapwright_core::{Alignment, ByteSize};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let seconds: f64 = args.next().ok_or("SECONDS")?.parse()?;
    let capacity = args.next().ok_or("CAPACITY")?.parse().ok().map(ByteSize::new);
    let mut total = 0.0;
    for path in args {
        let text = std::fs::read_to_string(&path)?;
        let header: Vec<&str> = text.lines().next().ok_or("empty")?.split(',').collect();
        let column = |name: &str| header.iter().position(|&title| title == name);
        let (lower, upper) = (column("lower").ok_or("lower")?, column("upper").ok_or("upper")?);
        let (size, alignment) = (column("size").ok_or("size")?, column("alignment"));
        let (mut buffers, mut lives) = (Vec::new(), Vec::new());
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let mut buffer = Buffer::new(ByteSize::new(fields[size].parse()?));
            if let Some(alignment) = alignment {
                buffer.alignment = Alignment::new(fields[alignment].parse()?).ok_or("alignment")?;
            }
            buffers.push(buffer);
            lives.push(vec![Interval { lower: fields[lower].parse()?, upper: fields[upper].parse()? }]);
        }
        let start = Instant::now();
        let instance = Instance::with_intervals(buffers, lives)?;
        let built = start.elapsed();
        let options = SolveOptions { capacity, steps: u64::MAX };
        let packing = solve(&instance, &options, &mut || start.elapsed() > Duration::from_secs_f64(seconds));
        let took = start.elapsed();
        total += took.as_secs_f64();
        assert_eq!(check(&instance, &packing.offsets)?, packing.height);
        let (height, load) = (packing.height.get(), instance.load().size.get());
        println!(
            "{:40} n {:6} load {load:12} bound {:12} height {height:12} gap {:.3} % {} steps {:8} {:.4} s (tables {:.4} s)",
            path.rsplit('/').next().unwrap_or(&path),
            instance.buffers().len(),
            packing.lower_bound.get(),
            (height as f64 / load as f64 - 1.0) * 100.0,
            if packing.proved { "proved" } else { "      " },
            packing.steps,
            took.as_secs_f64(),
            built.as_secs_f64(),
        );
    }
    println!("total {total:.3} s");
    Ok(())
}
