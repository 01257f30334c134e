//! Totals of the traces in the repository, as stated in traces/README.md.

use heapwright_trace::{EventKind, Trace};

use crate::support::repository;

fn recorded(name: &str) -> Trace {
    Trace::read(repository().join(format!("traces/{name}.csv.gz"))).unwrap()
}

/// Returns the numbers of events and allocations, the peak of live bytes, and the number of allocations live at the
/// end.
fn totals(trace: &Trace) -> (usize, usize, u64, usize) {
    let frees = trace.events().iter().filter(|event| event.kind == EventKind::Free).count();
    let allocs = trace.allocation_count();
    (trace.events().len(), allocs, trace.peak_live().get(), allocs - frees)
}

#[test]
fn vision_serving() {
    let trace = recorded("vision_serving");
    assert_eq!(trace.name(), "vision_serving");
    assert_eq!(totals(&trace), (19_100, 10_004, 547_181_424, 908));
}

#[test]
fn unet_diffusion() {
    assert_eq!(totals(&recorded("unet_diffusion")), (19_701, 9_893, 63_554_960, 85));
}
