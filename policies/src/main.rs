//! Prints the ratio of the bytes that every policy pages in to the lower bound, and the cost of a use.
//!
//! `cargo run --release -p heapwright-policies [-- SEEDS [TRACE]...]`: `SEEDS` varies the sizes, routes and
//! orders of the generated workloads. The built-in scenarios and the traces are listed after them, and do not
//! count in the mean.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints ratios")]

use std::error::Error;
use std::time::{Duration, Instant};

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::{Admission, HeapSlot, Moment};
use heapwright_policies::{kinds, workloads};
use heapwright_simulation::{EVICT_AHEAD, built_in, expand, from_trace, offline_bound, simulate};
use heapwright_trace::Trace;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let seeds = args.next().map_or(Ok(0), |seeds| seeds.parse())?;
    let mut all = workloads::all(seeds);
    let counted = all.len();
    all.push(workloads::popular(seeds + 19, 0.6));
    for scenario in built_in::names().chain(built_in::controls()).filter_map(built_in::find) {
        all.push(expand(&scenario)?);
    }
    for path in args {
        all.push(from_trace(&Trace::read(path)?)?);
    }
    print!("{:64} {:>9} {:>6} {:>7}", "", "bound MiB", "cold", "belady");
    let kinds = kinds();
    for kind in &kinds {
        print!(" {:>8}", kind.name());
    }
    println!("    {} without eviction ahead of need", kinds[0].name());
    let mut columns = vec![Vec::new(); kinds.len()];
    for (number, workload) in all.iter().enumerate() {
        let bound = offline_bound(workload);
        let ratio = |bytes: ByteSize| bytes.get() as f64 / bound.bytes_in.get() as f64;
        print!(
            "{:64} {:>9} {:>6.2} {:>7.3}",
            workload.name,
            bound.bytes_in.get() >> 20,
            ratio(bound.cold_bytes),
            ratio(bound.belady_bytes)
        );
        for (column, kind) in columns.iter_mut().zip(&kinds) {
            let ratio = ratio(simulate(workload, kind, EVICT_AHEAD, &mut |_| {})?.bytes_in);
            if number < counted {
                column.push(ratio);
            }
            print!(" {ratio:>8.3}");
        }
        let without = simulate(workload, &kinds[0], ByteSize::ZERO, &mut |_| {})?;
        println!(" {:>8.3}", ratio(without.bytes_in));
    }
    print!("{:88}", "geometric mean of those that count");
    for column in &columns {
        print!(" {:>8.3}", workloads::geometric_mean(column));
    }
    print!("\n{:88}", "worst");
    for column in &columns {
        print!(" {:>8.3}", column.iter().copied().fold(0.0, f64::max));
    }
    println!();
    cost();
    Ok(())
}

/// Prints the cost of a use: 10,000 heaps in every submission, of 10,000 and of 100,000 that are held.
fn cost() {
    const USED: u32 = 10_000;
    for held in [USED, 10 * USED] {
        for kind in kinds() {
            let mut policy = kind.create();
            let mut submission = 0;
            let mut now = || {
                submission += 1;
                Moment { submission, time: Duration::from_micros(submission * 16_667) }
            };
            let begin = now();
            for heap in 0..held {
                policy.admit(HeapSlot::new(heap), ByteSize::from_mib(1), Admission::Created, begin);
            }
            let mut best = Duration::MAX;
            for round in 0..200 {
                let now = now();
                let start = Instant::now();
                for number in 0..USED {
                    // In an order that differs in each round.
                    let heap = (number * 7_919 + round * 31) % USED * (held / USED);
                    policy.touch(HeapSlot::new(heap), now);
                }
                best = best.min(start.elapsed());
            }
            println!(
                "{:>9}: {:5.2} ns a touch, {held} held",
                kind.name(),
                best.as_nanos() as f64 / f64::from(USED)
            );
        }
    }
}
