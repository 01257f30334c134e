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

use heapwright_core::residency::policy::PolicyKind;

#[test]
#[ignore = "prints a table for people: cargo test --release --test residency -- --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn table() {
    let mut all = scenarios::all();
    if let Some(folder) = std::env::var_os("HEAPWRIGHT_TRACES") {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let csv = std::fs::read_to_string(&path).unwrap();
            for room in [0.5, 0.6, 0.7] {
                all.push(scenarios::trace(&name, &csv, 1 << 16, room));
            }
        }
    }
    let mut logs = vec![0.0; PolicyKind::all().len()];
    let only = std::env::var("ONLY").ok();
    print!("{:64} {:>9} {:>6} {:>7} {:>7}", "", "bound MiB", "cold", "belady", "oracle");
    for kind in PolicyKind::all() {
        print!(" {:>9}", kind.name());
    }
    println!();
    for scenario in &all {
        if only.as_ref().is_some_and(|only| !scenario.name.contains(only.as_str())) {
            continue;
        }
        let sequence = scenario.sequence();
        let bound = sequence.lower_bound();
        let ratio = |bytes: u64| bytes as f64 / bound.bytes_in.get() as f64;
        print!(
            "{:64} {:>9} {:>6.2} {:>7.3}",
            scenario.name,
            bound.bytes_in.get() >> 20,
            ratio(bound.cold_bytes_in.get()),
            ratio(sequence.belady().bytes_in.get())
        );
        print!(" {:>7.3}", ratio(scenario.run(&mut oracle::Oracle::new(&scenario)).bytes_in));
        for (at, kind) in PolicyKind::all().iter().enumerate() {
            let outcome = scenario.run(&mut *kind.create());
            let ratio = ratio(outcome.bytes_in);
            logs[at] += ratio.ln();
            print!(" {ratio:>6.3}/{:<2}", outcome.stalls);
        }
        println!();
    }
    print!("{:97}", "geometric mean");
    for log in logs {
        print!(" {:>9.3}", (log / all.len() as f64).exp());
    }
    println!();
}
