//! Runs the workloads of `bench-table` through criterion, which compares with the previous run.
#![allow(missing_docs, reason = "a bench")]

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use heapwright_rivals::rivals::{self, Entrant};
use heapwright_rivals::workload::full::Fullness;
use heapwright_rivals::workload::script::{Script, Time, Timing};
use heapwright_rivals::workload::shapes::SHAPES;
use heapwright_rivals::workload::threads::{COUNTS, Threads};
use heapwright_rivals::workload::traces::Traces;
use heapwright_rivals::workload::{Effort, in_order};

/// Runs a benchmark for each rival that fits. The time of an iteration is `nanoseconds` of its outcome times
/// `operations`.
fn group<J, O>(
    criterion: &mut Criterion,
    name: &str,
    operations: usize,
    job: &J,
    entrants: &[Entrant<J, O>],
    nanoseconds: fn(&O) -> f64,
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements(operations as u64));
    for entrant in entrants {
        if (entrant.run)(job).is_err() {
            continue;
        }
        group.bench_function(entrant.name, |bencher| {
            bencher.iter_custom(|iterations| {
                let outcomes = (0..iterations).filter_map(|_| (entrant.run)(job).ok());
                let each = outcomes.map(|outcome| nanoseconds(&outcome) * operations as f64);
                Duration::from_secs_f64(each.sum::<f64>() / 1e9)
            });
        });
    }
    group.finish();
}

/// Measures the last pass of a script, which is the longest.
fn script<'a>(criterion: &mut Criterion, script: &'a Script, entrants: &[Entrant<Time<'a>, Timing>]) {
    let operations = script.passes.last().map_or(0, Vec::len);
    group(criterion, &script.name, operations, &Time(script), entrants, Timing::last_nanoseconds);
}

fn suballoc(criterion: &mut Criterion) {
    // With the quick effort, an iteration takes a few milliseconds; criterion repeats it.
    let effort = Effort::Quick;
    for shape in &SHAPES {
        script(criterion, &shape.churn(effort), &rivals::any_order());
        let full = shape.full(effort);
        let name = format!("{}, full", shape.name);
        group(criterion, &name, full.steps.len(), &full, &rivals::any_order(), Fullness::nanoseconds);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces");
    for trace in Traces::read(&[folder]).expect("the repository's traces are sound").scripts {
        script(criterion, &trace, &rivals::any_order());
    }
    script(criterion, &in_order::upload_ring(effort), &rivals::oldest_first());
    for count in COUNTS {
        let job = Threads::new(count, effort);
        group(criterion, &format!("{count} threads"), job.pairs(), &job, &rivals::threads(), |throughput| {
            throughput.nanoseconds
        });
    }
}

criterion_group!(benches, suballoc);
criterion_main!(benches);
