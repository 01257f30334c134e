//! Checks of the suballocators' private state, which their own tests call.

use std::fmt::Debug;

use proptest::prelude::*;

use super::{AuditError, Linear, SuballocError, Suballocation, SuballocationId, Tlsf};
use crate::{Alignment, ByteSize, HeapRange};

/// A suballocator without values.
pub(super) trait Suballocator {
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError>;
    fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError>;
    fn audit(&self) -> Result<(), AuditError>;
}

macro_rules! suballocators {
    ($($type:ty)*) => {$(
        impl Suballocator for $type {
            fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
                self.allocate(size, alignment)
            }

            fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
                self.free(id)
            }

            fn audit(&self) -> Result<(), AuditError> {
                self.audit()
            }
        }
    )*};
}
suballocators! { Tlsf Linear }

pub(super) fn put(heap: &mut impl Suballocator, size: u64) -> Suballocation {
    heap.allocate(ByteSize::new(size), Alignment::ONE).unwrap()
}

/// The number of random cases of a property of the state, which Miri needs minutes for.
pub(super) fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 64 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Generates sizes and alignments of requests.
pub(super) fn requests() -> impl Strategy<Value = Vec<(ByteSize, Alignment)>> {
    let request = (1_u64..400, 0_u32..8);
    prop::collection::vec(
        request.prop_map(|(size, log2)| (ByteSize::new(size), Alignment::from_log2(log2).unwrap())),
        1..40,
    )
}

/// Frees in a random order.
pub(super) fn free_all(
    heap: &mut impl Suballocator,
    mut live: Vec<Suballocation>,
    order: prop::sample::Index,
) {
    while !live.is_empty() {
        heap.free(live.swap_remove(order.index(live.len())).id).unwrap();
        heap.audit().unwrap();
    }
}

/// Checks that no refused call changes the state, in a heap of 1,000 bytes.
pub(super) fn check_refusals<A: Suballocator, S: PartialEq + Debug>(
    heap: &mut A,
    mut state: impl FnMut(&A) -> S,
) {
    let kept = put(heap, 500);
    let gone = put(heap, 100);
    heap.free(gone.id).unwrap();
    let before = state(heap);
    // No free range holds a multiple of 1,024.
    for (size, alignment) in [(0, 1), (501, 1), (1001, 1), (u64::MAX, 1), (1, 1024), (u64::MAX, 1 << 63)] {
        heap.allocate(ByteSize::new(size), Alignment::new(alignment).unwrap()).unwrap_err();
        heap.free(gone.id).unwrap_err();
        assert_eq!(state(heap), before, "{size} at {alignment}");
    }
    heap.free(kept.id).unwrap();
}

/// Replaces suballocations by others of random sizes.
pub(super) fn churn(heap: &mut impl Suballocator, live: &mut Vec<Suballocation>) {
    for step in 0..if cfg!(miri) { 100 } else { 2000_usize } {
        heap.free(live.swap_remove(step * 7919 % live.len()).id).unwrap();
        let size = ByteSize::from_usize(1 + step * 31 % 200);
        live.push(heap.allocate(size, Alignment::new(16).unwrap()).unwrap());
    }
}

/// A part of the audit's message, and a change of a sound heap that violates one invariant.
pub(super) type Violation<A> = (&'static str, fn(&mut A));

/// Checks that the audit finds each violation.
pub(super) fn check_audit<A: Suballocator>(sound: impl Fn() -> A, violations: &[Violation<A>]) {
    for (finding, violate) in violations {
        let mut heap = sound();
        heap.audit().unwrap();
        violate(&mut heap);
        let error = heap.audit().unwrap_err().to_string();
        assert!(error.contains(finding), "{finding:?} is missing: {error}");
    }
}
