//! Room for new memory: which empty heaps are released for it, and when.
//!
//! Each limit (of a heap type, of a segment group, of a pool, and the budget) says how much is missing. Heaps are
//! released only if they count towards a limit in which something is missing, and only if nothing is missing
//! afterwards; otherwise nothing is released. The device does not say what it lacks. So heaps are released for it after
//! all other sources of memory were tried, those of the heap type first, then those of the segment group or any,
//! depending on whether the budget says that the segment group is full.
//!
//! The memory of slabs without used slots and of unused backing buffers comes after empty heaps, under the same
//! conditions.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{SharedPlacementId, VacatedHeap};

use super::heap_kinds::{HeapKinds, release_from};
use super::typed_heaps::TypedHeaps;
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::source::{Account, GivenBack, LimitKind, Limits, UnusedBuffer};

/// The memory that must be released for new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeededRelease {
    Nothing,
    EmptyHeaps,
    /// The memory of unused slabs and backing buffers, too.
    UnusedMemory,
    /// Empty heaps of other allocators of the process, too.
    HeapsOfOthers,
}

/// The heaps that are released when the device has no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nearness {
    /// Those of the heap type, in its segment group.
    HeapType,
    /// Those of the segment group, if its budget is exceeded.
    SegmentGroup,
    /// All of them, if it is not.
    Anywhere,
    /// Those of the segment group of other allocators of the process.
    Others,
}

impl HeapKinds {
    /// Returns whether a limit of this allocator for memory of an account counts other heaps.
    fn is_counted(&self, kind: LimitKind, account: Account, heaps: &TypedHeaps) -> bool {
        let is_own = Arc::ptr_eq(&heaps.source, &self.source);
        let is_in_group = heaps.desc.segment_group == account.group;
        match kind {
            LimitKind::HeapType => is_own && heaps.desc.heap_type == account.heap_type,
            LimitKind::SegmentGroup => is_own && is_in_group,
            LimitKind::Budget => is_in_group,
        }
    }

    /// Returns what may be released for more memory beside `heaps`: empty heaps, and with `with_unused` also those in
    /// which only slabs and backing buffers are that are not used. O(pools), also of allocators that are nested with
    /// it; with `with_unused`, and for pools, O(n log n) for n of these heaps, slabs and buffers.
    ///
    /// With `NEVER_OVER_ALLOCATE` nothing is released.
    pub(super) fn given_back(&self, heaps: &TypedHeaps, with_unused: bool) -> GivenBack {
        if self.source.never_over_allocates() {
            return GivenBack::default();
        }
        let unused = with_unused.then(|| self.unused_buffers());
        let releasable =
            |heaps: &TypedHeaps| heaps.releasable(unused.as_ref().map(|all| ids_in(all, heaps)).as_deref());
        let mut bytes = <[ByteSize; 3]>::default();
        for other in self.of_family() {
            let (_, of_other) = releasable(&other);
            for kind in LimitKind::ALL {
                if self.is_counted(kind, heaps.desc.account(), &other) {
                    bytes[kind as usize] = bytes[kind as usize].saturating_add(of_other);
                }
            }
        }
        GivenBack { bytes, heap_count: releasable(heaps).0, by_others: ByteSize::ZERO }
    }

    fn unused_buffers(&self) -> Vec<UnusedBuffer> {
        self.owners_of_family().iter().flat_map(|owner| owner.unused_buffers()).collect()
    }

    /// Checks whether `size` more bytes beside `heaps` are within limits, pool and budget after what may be released is
    /// released, and returns what must be. O(1) if that is nothing.
    pub(super) fn check_room(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        limits: &Limits<'_>,
    ) -> Result<NeededRelease, Obstacle> {
        let check = |given_back: &GivenBack| check(heaps, size, limits, given_back);
        let over_budget = limits.bytes_over(LimitKind::Budget, size);
        let now = check(&GivenBack::default());
        if self.source.never_over_allocates() || now.is_ok() && over_budget.is_zero() {
            return now.map(|()| NeededRelease::Nothing);
        }
        let empty = self.given_back(heaps, false);
        if check(&empty).is_ok() && over_budget <= empty.bytes_of(LimitKind::Budget) {
            return Ok(NeededRelease::EmptyHeaps);
        }
        let all = self.given_back(heaps, true);
        if check(&all).is_ok() {
            return Ok(if all == empty { NeededRelease::EmptyHeaps } else { NeededRelease::UnusedMemory });
        }
        let by_others = self.releasable_by_others(&limits.account, limits.constraints);
        check(&GivenBack { by_others, ..all })?;
        Ok(NeededRelease::HeapsOfOthers)
    }

    /// Releases the empty heaps that would exceed limits, pool and budget together with `size` more bytes beside
    /// `heaps`. If that does not suffice, nothing is released.
    ///
    /// A budget that may be exceeded is if what is released does not suffice.
    fn make_room(&self, heaps: &TypedHeaps, size: ByteSize, limits: &Limits<'_>) -> Result<(), Obstacle> {
        let needed = self.check_room(heaps, size, limits)?;
        if needed == NeededRelease::Nothing {
            return Ok(());
        }
        let (family, account) = (self.of_family(), limits.account);
        let now;
        let mut limits = limits;
        if needed != NeededRelease::EmptyHeaps {
            let lacking = LimitKind::ALL.map(|kind| !limits.bytes_over(kind, size).is_zero());
            let is_lacking = |heaps: &TypedHeaps| {
                let mut kinds = LimitKind::ALL.into_iter().zip(lacking).filter(|&(_, is_lacking)| is_lacking);
                kinds.any(|(kind, _)| self.is_counted(kind, account, heaps))
            };
            self.return_unused_memory(&is_lacking, false);
            now = self.source.limits_of_now(limits);
            limits = &now;
        }
        // The other limits count the heaps of this moment.
        let mut released_of_budget = ByteSize::ZERO;
        if heaps.check_heap_count(0).is_err() {
            released_of_budget = heaps.release(ByteSize::new(1));
        }
        for kind in LimitKind::ALL {
            let mut over = limits.bytes_over(kind, size);
            if kind == LimitKind::Budget {
                over = over.saturating_sub(released_of_budget);
            }
            if over.is_zero() {
                continue;
            }
            let mut missing = over.max(self.source.desc.release_size);
            for heaps in family.iter().filter(|heaps| self.is_counted(kind, account, heaps)) {
                // Nothing, once nothing is missing.
                let released = heaps.release(missing);
                missing = missing.saturating_sub(released);
                if heaps.desc.segment_group == account.group {
                    released_of_budget = released_of_budget.saturating_add(released);
                }
            }
        }
        tracing::debug!(%size, released = %released_of_budget, "released empty heaps before allocating more memory");
        if needed == NeededRelease::HeapsOfOthers {
            let missing = self.source.limits_of_now(limits).bytes_over_hard_budget(size);
            self.release_of_others(account.group, missing);
        }
        Ok(())
    }

    /// Calls `create` after the empty heaps were released that stand in the way of `size` more bytes beside `heaps`.
    pub(super) fn with_room<T>(
        &self,
        heaps: &TypedHeaps,
        what: MemorySource,
        size: ByteSize,
        limits: &Limits<'_>,
        create: impl Fn() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let refuse = |obstacle| Refusal::of(what, obstacle);
        self.make_room(heaps, size, limits).map_err(refuse)?;
        match create() {
            // Another thread took what was left.
            Err(refusal) if refusal.is_by_limit(self.source.residency.is_none()) => {
                self.make_room(heaps, size, &self.source.limits_of_now(limits)).map_err(refuse)?;
                create()
            }
            made => made,
        }
    }

    /// Calls `attempt`, and again after empty heaps of the heap type, and of the segment group if its memory is what is
    /// missing, were released because the device has no memory.
    pub(crate) fn with_device_room<T>(
        &self,
        account: Account,
        mut attempt: impl FnMut() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let made = attempt();
        let made = self.again_with(Nearness::HeapType, account, made, &mut attempt);
        self.again_with(Nearness::SegmentGroup, account, made, &mut attempt)
    }

    /// Calls `attempt`, and again after any empty heaps were released because the device has no memory, although the
    /// segment group's budget says that there is some; and again after those of other allocators of the process were.
    /// This is the last resort, because other requests need those heaps.
    pub(crate) fn with_any_room<T>(
        &self,
        account: Account,
        mut attempt: impl FnMut() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let made = attempt();
        let made = self.again_with(Nearness::Anywhere, account, made, &mut attempt);
        self.again_with(Nearness::Others, account, made, &mut attempt)
    }

    /// Calls `attempt` again after empty heaps were released, if the device had no memory for what was `made`. With
    /// `NEVER_OVER_ALLOCATE` nothing is released.
    fn again_with<T>(
        &self,
        nearness: Nearness,
        account: Account,
        made: Result<T, Refusal>,
        attempt: &mut impl FnMut() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let Some(size) = made.as_ref().err().and_then(Refusal::bytes_refused_by_device) else { return made };
        let may_help = match (nearness, self.source.exceeds_budget(account.group, size)) {
            (Nearness::HeapType | Nearness::Others, _) | (_, None) => true,
            (Nearness::SegmentGroup, Some(is_missing)) => is_missing,
            (Nearness::Anywhere, Some(is_missing)) => !is_missing,
        };
        if self.source.never_over_allocates() || !may_help {
            return made;
        }
        let is_near = |heaps: &TypedHeaps| {
            let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
            match nearness {
                Nearness::HeapType => (group, heap_type) == (account.group, account.heap_type),
                Nearness::SegmentGroup => group == account.group,
                Nearness::Anywhere | Nearness::Others => true,
            }
        };
        let released = match nearness {
            Nearness::Others => self.release_of_others(account.group, size),
            _ => self.release_of(&is_near, size.max(self.source.desc.release_size)),
        };
        if released.is_zero() {
            return made;
        }
        tracing::debug!(%size, %released, "the device has no memory; released empty heaps to retry");
        attempt()
    }

    /// Releases empty heaps of some kinds, also of nested allocators, until at least `bytes` are released, and returns
    /// their bytes.
    pub(super) fn release_of(&self, is_of: &dyn Fn(&TypedHeaps) -> bool, bytes: ByteSize) -> ByteSize {
        let family: Vec<_> = self.of_family().into_iter().filter(|heaps| is_of(heaps)).collect();
        let reserved =
            || family.iter().fold(ByteSize::ZERO, |sum, heaps| sum.saturating_add(heaps.totals().reserved));
        let before = reserved();
        self.return_unused_memory(is_of, false);
        // Heaps that are empty then and not kept were released.
        let returned = before.saturating_sub(reserved());
        returned.saturating_add(release_from(family.iter(), bytes.saturating_sub(returned)))
    }

    /// Returns the memory of unused backing buffers and slabs in heaps of some kinds to them. `keeps_heaps` says
    /// whether heaps that are empty then stay even if they are not worth keeping.
    fn return_unused_memory(&self, is_of: &dyn Fn(&TypedHeaps) -> bool, keeps_heaps: bool) {
        let family: Vec<_> = self.of_family().into_iter().filter(|heaps| is_of(heaps)).collect();
        let is_in = |number| family.iter().any(|heaps| heaps.desc.number == number);
        for owner in self.owners_of_family() {
            owner.release_unused_buffers(&is_in, keeps_heaps);
        }
        for set in family.iter().filter_map(|heaps| heaps.shared.as_default()) {
            set.give_up_unused_slabs();
        }
    }

    /// Returns the memory of unused backing buffers and slabs in `heaps` to them, if `serves` says so of one of the
    /// heaps, as it would then be. Returns whether it did; the caller then releases the heaps that are not worth
    /// keeping.
    pub(super) fn reclaim(
        &self,
        heaps: &TypedHeaps,
        serves: impl Fn(&VacatedHeap<ByteSize>) -> bool,
    ) -> bool {
        let Some(set) = heaps.shared.as_default() else { return false };
        let unused = ids_in(&self.unused_buffers(), heaps);
        if !set.vacated(&unused, |heap| heap.size()).iter().any(serves) {
            return false;
        }
        self.return_unused_memory(&|other| std::ptr::eq(other, heaps), true);
        true
    }
}

/// Returns whether `size` more bytes beside `heaps` are within limits, pool and budget although nothing is released.
/// O(1).
pub(super) fn has_room(heaps: &TypedHeaps, size: ByteSize, limits: &Limits<'_>) -> bool {
    check(heaps, size, limits, &GivenBack::default()).is_ok()
        && limits.bytes_over(LimitKind::Budget, size).is_zero()
}

/// Checks whether `size` more bytes beside `heaps` are within limits and pool after something is given back.
fn check(
    heaps: &TypedHeaps,
    size: ByteSize,
    limits: &Limits<'_>,
    given_back: &GivenBack,
) -> Result<(), Obstacle> {
    limits.check(size, given_back)?;
    heaps.check_heap_count(given_back.heap_count)
}

/// Returns the ranges of the backing buffers that are in the shared engine of `heaps`.
pub(super) fn ids_in(unused: &[UnusedBuffer], heaps: &TypedHeaps) -> Vec<SharedPlacementId> {
    unused.iter().filter(|buffer| buffer.is_in(heaps.desc.number, false)).map(|buffer| buffer.id).collect()
}
