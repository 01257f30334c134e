//! Tests of a table of slabs whose memory is that of one heap.

use super::super::private_state_tests::*;
use super::super::{AuditError, SuballocError, Suballocation, SuballocationId, Tlsf};
use super::class::SizeClass;
use super::slabs::SlabIndex;
use super::table::SlabTable;
use crate::{Alignment, ByteSize, HeapRange};

/// A heap with slabs. Requests that are too large for slots get ranges.
struct Slabs {
    tlsf: Tlsf,
    table: SlabTable<SuballocationId>,
}

impl Suballocator for Slabs {
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let Some(class) = SizeClass::of(size, alignment) else { return self.tlsf.allocate(size, alignment) };
        if let Some((slot, _)) = self.table.allocate(class, size) {
            return Ok(slot);
        }
        let shape = self.table.shape(class);
        let memory = self.tlsf.allocate(shape.bytes(), shape.alignment())?;
        let (_, slot) = self.table.insert(shape, memory.range.start(), memory.id, size).unwrap();
        Ok(slot)
    }

    fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        if !SlabTable::<SuballocationId>::is_slot(id) {
            return self.tlsf.free(id);
        }
        let range = self.table.free(id)?;
        while let Some(memory) = self.table.take_surplus() {
            self.tlsf.free(memory).unwrap();
        }
        Ok(range)
    }

    fn audit(&self) -> Result<(), AuditError> {
        self.table.audit().map_err(AuditError::new)
    }
}

fn slabs() -> Slabs {
    Slabs { tlsf: Tlsf::new(ByteSize::from_mib(1)).unwrap(), table: SlabTable::default() }
}

fn allocate(heap: &mut Slabs, size: u64) -> SuballocationId {
    put(heap, size).id
}

#[test]
fn a_freed_slot_is_the_next_to_be_used() {
    let mut heap = slabs();
    let all: Vec<_> = (0..100).map(|_| put(&mut heap, 100)).collect();
    heap.free(all[40].id).unwrap();
    assert_eq!(put(&mut heap, 97).range.start(), all[40].range.start());
}

#[test]
fn of_slabs_with_free_slots_the_one_that_was_full_last_is_used_first() {
    let mut heap = slabs();
    let all: Vec<_> = (0..24).map(|_| put(&mut heap, 100)).collect();
    for freed in [0, 8, 1] {
        heap.free(all[freed].id).unwrap();
    }
    assert_eq!(put(&mut heap, 100).range.start(), all[8].range.start());
}

#[test]
fn a_slot_that_is_free_here_has_no_id() {
    let (mut one, mut other) = (slabs(), slabs());
    allocate(&mut one, 1);
    let second = [1, 1].map(|size| allocate(&mut other, size))[1];
    assert!(one.free(second).is_err());
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
    let largest = SizeClass::of(ByteSize::new(SizeClass::MAX_SIZE), Alignment::ONE).unwrap();
    assert_eq!(heap.table.shape(largest).bytes(), ByteSize::from_kib(256), "at most");
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
    assert_eq!(heap.tlsf.largest_free_range(), heap.tlsf.capacity());
}

#[test]
fn empty_slabs_are_kept_up_to_a_quarter_of_the_others_and_the_larger_ones() {
    let mut heap = slabs();
    let [_others, large, small] = [(1000, 512), (4096, 32), (500, 32)]
        .map(|(size, count)| (0..count).map(|_| allocate(&mut heap, size)).collect::<Vec<_>>());
    for id in large.into_iter().chain(small) {
        heap.free(id).unwrap();
    }
    let kept = heap.table.totals().empty_slab_bytes;
    assert!((128 << 10..160 << 10).contains(&kept), "{kept}");
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
        let violations: [Violation<Slabs>; 7] = [
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
        ];
        check_audit(heap, &violations);
    }
}
