//! Tests that need private state. `tests/suballoc` tests the public behaviour.

use super::super::SuballocationId;
use super::super::private_state_tests::*;
use super::class::SizeClass;
use super::slabs::SlabIndex;
use super::suballocator::Slabs;
use crate::{Alignment, ByteSize};

fn slabs() -> Slabs {
    Slabs::new(ByteSize::from_mib(1)).unwrap()
}

fn allocate(heap: &mut Slabs, size: u64) -> SuballocationId {
    put(heap, size).id
}

#[test]
fn a_class_gets_larger_slabs_as_it_grows() {
    let mut heap = slabs();
    let mut counts = Vec::new();
    for _ in 0..1000 {
        allocate(&mut heap, 100);
        counts.push(heap.table.totals().slab_count);
    }
    // New slabs have 8 slots while the class has no more than 32.
    assert_eq!(counts[..9], [1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert!(*counts.last().unwrap() < 30, "{counts:?}");
    heap.audit().unwrap();
}

#[test]
fn one_empty_slab_is_kept_while_others_exist() {
    let mut heap = slabs();
    let others: Vec<_> = (0..64).map(|_| allocate(&mut heap, 1000)).collect();
    let one = allocate(&mut heap, 100);
    let count = heap.table.totals().slab_count;
    heap.free(one).unwrap();
    assert_eq!(heap.table.totals().slab_count, count, "kept");
    for id in others {
        heap.free(id).unwrap();
        heap.audit().unwrap();
    }
    assert_eq!(heap.table.totals(), Default::default());
    assert_eq!(heap.tlsf.largest_free_range(), heap.capacity());
}

#[test]
fn places_of_slabs_are_used_again() {
    let mut heap = slabs();
    for _ in 0..10 {
        let all: Vec<_> = (0..500).map(|size| allocate(&mut heap, size + 1)).collect();
        for id in all {
            heap.free(id).unwrap();
        }
    }
    let numbers = heap.table.slots.len();
    heap.clear();
    for size in 0..500 {
        allocate(&mut heap, size + 1);
    }
    heap.audit().unwrap();
    heap.clear();
    assert_eq!(heap.table.slots.len(), numbers);
    heap.audit().unwrap();
}

/// Violates one invariant at a time, to test that the audit detects it.
mod audit_finds {
    use super::*;

    const SIZE: u64 = 100;

    /// Creates a full slab, a partly free slab, a slab without a used slot, and a large suballocation.
    fn heap() -> Slabs {
        let mut heap = slabs();
        let all: Vec<_> = (0..24).map(|_| allocate(&mut heap, SIZE)).collect();
        allocate(&mut heap, 200_000);
        for _ in 0..16 {
            allocate(&mut heap, 2000);
        }
        heap.free(all[8]).unwrap();
        for &id in &all[16..] {
            heap.free(id).unwrap();
        }
        heap.audit().unwrap();
        heap
    }

    fn class() -> SizeClass {
        SizeClass::of(ByteSize::new(SIZE), Alignment::ONE).unwrap()
    }

    #[test]
    fn each_violation() {
        let violations: [Violation<Slabs>; 10] = [
            ("does not belong there", |heap| heap.table.slabs[SlabIndex::of(1)].free = 0),
            ("counted", |heap| heap.table.slabs[SlabIndex::of(1)].free |= 2),
            ("slabs in rings", |heap| heap.table.slabs.unlink(SlabIndex::of(1))),
            ("an empty slab precedes", |heap| {
                let index = heap.table.slabs.first(class());
                heap.table.slabs.unlink(index);
                heap.table.slabs.link_last(index);
            }),
            ("invalid shape", |heap| heap.table.slabs[SlabIndex::of(0)].slot_size += 1),
            ("recorded", |heap| heap.table.totals.used += 1),
            ("recorded", |heap| heap.table.totals.empty_slab_bytes += 1),
            ("records parent", |heap| heap.table.parents.swap(0, 1)),
            ("slabs in the heap", |heap| heap.slab_in.iter_mut().for_each(|slab| *slab = 0)),
            ("have a gap", |heap| heap.table.slabs[SlabIndex::of(0)].start += 8),
        ];
        check_audit(heap, &violations);
    }
}
