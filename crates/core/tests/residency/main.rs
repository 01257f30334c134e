//! Eviction policies, measured with scenarios against the bound that no policy can beat.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "numbers of scenarios are small"
)]

mod oracle;
mod random;
mod scenarios;
mod simulation;

use std::time::{Duration, Instant};

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::{Admission, HeapSlot, Moment, NextUse, PolicyKind};
use simulation::Scenario;

/// Bytes paged in over the least that is possible.
fn ratio(scenario: &Scenario, bytes_in: u64) -> f64 {
    bytes_in as f64 / scenario.sequence().lower_bound().bytes_in.get() as f64
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// Holds the default policy to what is asked of it: 1.25 in geometric mean, 1.6 at most.
fn check_default(scenarios: &[Scenario]) {
    let (mut default, mut lru) = (Vec::new(), Vec::new());
    for scenario in scenarios {
        let of_default = ratio(scenario, scenario.run(&mut *PolicyKind::default().create(), 0.0).bytes_in);
        // No figure below the bound could be right.
        assert!((1.0..1.6).contains(&of_default), "{}: {of_default}", scenario.name);
        default.push(of_default);
        lru.push(ratio(scenario, scenario.run(&mut *PolicyKind::Lru.create(), 0.0).bytes_in));
    }
    let (default, lru) = (geometric_mean(&default), geometric_mean(&lru));
    assert!(default < 1.2, "{default}");
    assert!(lru > 1.4, "the scenarios are no hard ones: {lru}");
}

#[test]
fn the_default_pages_in_little_more_than_the_bound() {
    check_default(&scenarios::quick());
}

#[test]
#[ignore = "half a minute without optimisation"]
fn the_default_pages_in_little_more_than_the_bound_in_every_scenario() {
    for seeds in [0, 100, 200] {
        check_default(&scenarios::all(seeds));
    }
}

#[test]
#[ignore = "half a minute without optimisation"]
fn what_goes_ahead_of_need_is_hardly_missed() {
    let mut ahead = 0;
    for scenario in scenarios::all(0) {
        let with = scenario.run(&mut NextUse::new(), 1.0 / 64.0);
        let without = scenario.run(&mut NextUse::new(), 0.0);
        let more = with.bytes_in as f64 / without.bytes_in as f64;
        assert!(more < 1.02, "{}: {more}", scenario.name);
        ahead += with.bytes_ahead;
    }
    assert!(ahead > 0, "nothing went ahead anywhere");
}

#[test]
#[ignore = "prints tables for people: cargo test --release -p heapwright-core --test residency -- --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn tables() {
    let seeds = std::env::var("SEEDS").map_or(0, |seeds| seeds.parse().expect("a number"));
    let mut all = scenarios::all(seeds);
    let counted = all.len();
    all.push(scenarios::popular(seeds + 19, 0.6));
    // A folder of traces as traces/ has them, unpacked.
    if let Some(folder) = std::env::var_os("HEAPWRIGHT_TRACES") {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let csv = std::fs::read_to_string(&path).expect("a text");
            all.extend([0.5, 0.6, 0.7].map(|room| scenarios::trace(&name, &csv, 1 << 16, room)));
        }
    }
    print!("{:64} {:>9} {:>6} {:>7} {:>7}", "", "bound MiB", "cold", "belady", "oracle");
    for kind in PolicyKind::all() {
        print!(" {:>8}", kind.name());
    }
    println!("    next-use ahead");
    let mut columns = vec![Vec::new(); PolicyKind::all().len()];
    for (number, scenario) in all.iter().enumerate() {
        let sequence = scenario.sequence();
        let bound = sequence.lower_bound();
        let ratio = |bytes: u64| bytes as f64 / bound.bytes_in.get() as f64;
        print!(
            "{:64} {:>9} {:>6.2} {:>7.3} {:>7.3}",
            scenario.name,
            bound.bytes_in.get() >> 20,
            ratio(bound.cold_bytes_in.get()),
            ratio(sequence.belady().bytes_in.get()),
            ratio(scenario.run(&mut oracle::Oracle::new(scenario), 0.0).bytes_in),
        );
        for (at, kind) in PolicyKind::all().iter().enumerate() {
            let ratio = ratio(scenario.run(&mut *kind.create(), 0.0).bytes_in);
            if number < counted {
                columns[at].push(ratio);
            }
            print!(" {ratio:>8.3}");
        }
        let with = scenario.run(&mut NextUse::new(), 1.0 / 64.0);
        println!(" {:>8.3} {:>8}", ratio(with.bytes_in), with.bytes_ahead >> 20);
    }
    print!("{:97}", "geometric mean of those that count");
    for column in &columns {
        print!(" {:>8.3}", geometric_mean(column));
    }
    print!("\n{:97}", "worst");
    for column in &columns {
        print!(" {:>8.3}", column.iter().copied().fold(0.0, f64::max));
    }
    println!();
    cost();
}

/// What a use costs: 10,000 heaps in every submission, of 10,000 and of 100,000 that are held.
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn cost() {
    const USED: u32 = 10_000;
    for held in [USED, 10 * USED] {
        for kind in PolicyKind::all() {
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
                    // In an order of its own, and another one in each round.
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
