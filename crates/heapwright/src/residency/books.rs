//! The books: the planner, the objects that it plans for, and the memory that others use.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::budget::Budgets;
use super::desc::{ResidencyGroupStats, ResidencyManagerStats};
use super::device::PagedObject;
use crate::{Error, SegmentGroup};
use heapwright_core::residency::{
    GroupMemory, ManagedHeapId, NewManagedHeap, PlanError, PriorityLevel, ResidencyPlanner, Status,
};
use heapwright_core::{ByteSize, FenceValue};

/// The books of a manager, under one lock, and the budgets that they are checked against.
pub(super) struct Books {
    pub(super) budgets: Budgets,
    state: Mutex<BooksState>,
    /// Whether the last report of the operating system was applied as a whole.
    is_report_applied: AtomicBool,
}

/// The books while they are locked.
pub(super) struct BooksState {
    pub(super) planner: ResidencyPlanner,
    /// The object of each heap, by slot.
    objects: Vec<Option<PagedObject>>,
    /// External usage as of the last report, without pending bytes and without bytes that turned out to be the
    /// manager's since.
    external: [ByteSize; 2],
    /// The external usage that the planner was given last. The planner subtracts bytes that turn out to be its own.
    external_given: [ByteSize; 2],
    /// Bytes of heaps that exist, or are being created, and are not in the books.
    pending: [ByteSize; 2],
    /// The bytes that were ever added to `pending`.
    ever_pending: [ByteSize; 2],
    /// Bytes that are being paged in, each with the value that the paging fence reaches afterwards, in order.
    paging: VecDeque<(FenceValue, [ByteSize; 2])>,
    pub(super) counters: Counters,
    /// Usage, resident heaps and budgets at the last call of [`has_changed`](Self::has_changed).
    seen: [[ByteSize; 2]; 3],
}

/// The state of the books before the operating system is queried.
struct BeforeQuery {
    pending: [ByteSize; 2],
    ever_pending: [ByteSize; 2],
    /// Bytes that may be in the books as resident although the device has not made them resident yet.
    paging_in: [ByteSize; 2],
}

/// Bytes and operations since the manager was created.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) bytes_in: [ByteSize; 2],
    pub(super) bytes_out: [ByteSize; 2],
    pub(super) operations: u64,
    pub(super) over_budget: u64,
    /// Objects that the device refused to evict.
    pub(super) refused: u64,
}

impl Books {
    #[inline]
    pub(super) fn new(budgets: Budgets, planner: ResidencyPlanner) -> Self {
        let zero = [ByteSize::ZERO; 2];
        let state = BooksState {
            planner,
            objects: Vec::new(),
            external: zero,
            external_given: zero,
            pending: zero,
            ever_pending: zero,
            paging: VecDeque::new(),
            counters: Counters::default(),
            seen: [zero; 3],
        };
        let books = Self { budgets, state: Mutex::new(state), is_report_applied: AtomicBool::new(true) };
        // The budgets have just been queried, and nothing is managed yet.
        books.apply_report(&SegmentGroup::ALL, &books.before_query(FenceValue::ZERO));
        books
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, BooksState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the books, and passes the current budgets and external usage to the planner. Cost: O(1), a few loads.
    #[inline]
    pub(super) fn lock_updated(&self) -> MutexGuard<'_, BooksState> {
        let mut state = self.lock();
        state.update_memory(&self.budgets);
        state
    }

    /// Adds a heap. `pending` are the bytes that were set aside for it, of which none is left then.
    pub(super) fn add_heap(
        &self,
        new: NewManagedHeap,
        object: &PagedObject,
        pending: Option<(SegmentGroup, &mut ByteSize)>,
    ) -> Result<ManagedHeapId, Error> {
        let mut state = self.lock();
        let id = state.planner.add(new).map_err(heap_error)?;
        let slot = id.slot().index();
        if state.objects.len() <= slot {
            state.objects.resize(slot + 1, None);
        }
        state.objects[slot] = Some(object.clone());
        if let Some((group, bytes)) = pending {
            state.subtract_pending(group, std::mem::take(bytes));
            state.update_memory(&self.budgets);
        }
        Ok(id)
    }

    /// Removes a heap. Returns its status, and the bytes that stay pending until the device has released them.
    pub(super) fn remove_heap(&self, id: ManagedHeapId) -> (Option<Status>, SegmentGroup, ByteSize) {
        let mut state = self.lock();
        let heap = state.planner.heap(id);
        let removed = state.planner.remove(id);
        debug_assert!(removed.is_ok(), "heap removed twice");
        let resident = heap.filter(|heap| heap.status != Status::Evicted);
        let (group, bytes) =
            resident.map_or((SegmentGroup::Local, ByteSize::ZERO), |heap| (heap.group, heap.size));
        state.add_pending(group, bytes);
        state.update_memory(&self.budgets);
        let object = state.objects.get_mut(id.slot().index()).and_then(Option::take);
        drop(state);
        // Without the lock: this may be the last reference.
        drop(object);
        (heap.map(|heap| heap.status), group, bytes)
    }

    /// Sets bytes aside for a heap that is to be created. `state` is the locked books.
    pub(super) fn reserve_pending(&self, state: &mut BooksState, group: SegmentGroup, bytes: ByteSize) {
        state.add_pending(group, bytes);
        state.update_memory(&self.budgets);
    }

    /// Releases pending bytes.
    pub(super) fn release_pending(&self, group: SegmentGroup, bytes: ByteSize) {
        let mut state = self.lock();
        state.subtract_pending(group, bytes);
        state.update_memory(&self.budgets);
    }

    pub(super) fn unlock_heap(&self, id: ManagedHeapId) -> Result<u32, Error> {
        self.lock().planner.unlock(id).map_err(heap_error)
    }

    pub(super) fn set_level(&self, id: ManagedHeapId, level: PriorityLevel) -> Result<(), Error> {
        self.lock().planner.set_level(id, level).map_err(heap_error)
    }

    /// Queries the operating system for budgets and usage. The pager must be locked, so that nothing is paged
    /// meanwhile; `paged` is the value that the paging fence has reached.
    pub(super) fn refresh(&self, paged: FenceValue) {
        let before = self.before_query(paged);
        self.is_report_applied.store(true, Ordering::Relaxed);
        match self.budgets.refresh() {
            Ok(()) => self.apply_report(&SegmentGroup::ALL, &before),
            // An old report says nothing about what is resident now.
            Err(error) => {
                tracing::warn!(%error, "QueryVideoMemoryInfo failed; keeping the last budget and usage");
                self.is_report_applied.store(false, Ordering::Relaxed);
                drop(self.lock_updated());
            }
        }
    }

    /// Reserves memory that is not managed, and returns the reserved bytes. This queries the operating system about the
    /// segment group, so that the same holds as for [`refresh`](Self::refresh).
    #[inline]
    pub(super) fn set_reservation(
        &self,
        group: SegmentGroup,
        bytes: ByteSize,
        paged: FenceValue,
    ) -> Result<ByteSize, Error> {
        let before = self.before_query(paged);
        let reserved = self
            .budgets
            .set_reservation(group, bytes)
            .inspect_err(|_| self.is_report_applied.store(false, Ordering::Relaxed))?;
        self.apply_report(&[group], &before);
        Ok(reserved)
    }

    /// Returns whether the last report of the operating system was applied as a whole. Otherwise another query must
    /// follow, even if the report stays the same.
    #[inline]
    pub(super) fn is_report_applied(&self) -> bool {
        self.is_report_applied.load(Ordering::Relaxed)
    }

    fn before_query(&self, paged: FenceValue) -> BeforeQuery {
        let mut state = self.lock();
        let paging_in = state.paging_in(paged);
        BeforeQuery { pending: state.pending, ever_pending: state.ever_pending, paging_in }
    }

    /// Applies the usage that the operating system has reported: bytes that are not the manager's are external.
    ///
    /// Other threads create and release heaps during the query. Whether the report includes these is not known, so
    /// external usage is not changed by more than the report proves. Nor is it known whether the report includes heaps
    /// that are being paged in.
    fn apply_report(&self, groups: &[SegmentGroup], before: &BeforeQuery) {
        // First apply what was found to be the manager's since the last report, which includes it.
        let mut state = self.lock_updated();
        let resident = state.resident();
        let in_transit = SegmentGroup::ALL.map(|group| {
            let index = group.index();
            let since = state.ever_pending[index].saturating_sub(before.ever_pending[index]);
            before.pending[index].saturating_add(since)
        });
        for &group in groups {
            if self.budgets.is_in_use(group) {
                let counted = |bytes| self.budgets.counted_in(group, bytes);
                let (managed, in_transit) = (counted(resident), counted(in_transit));
                let least = managed.saturating_sub(in_transit).saturating_sub(counted(before.paging_in));
                let managed = least..=managed.saturating_add(in_transit);
                let proved = self.budgets.external_within(group, managed);
                let external = &mut state.external[group.index()];
                *external = (*external).clamp(*proved.start(), *proved.end());
            }
        }
        state.update_memory(&self.budgets);
        if before.paging_in != [ByteSize::ZERO; 2] {
            self.is_report_applied.store(false, Ordering::Relaxed);
        }
    }

    /// Returns whether the budgets suffice for heaps, whatever else is in use now.
    #[inline]
    pub(super) fn may_hold(&self, heaps: &[ManagedHeapId]) -> bool {
        let state = self.lock_updated();
        SegmentGroup::ALL.into_iter().all(|group| {
            let of_group =
                heaps.iter().filter_map(|&id| state.planner.heap(id)).filter(|heap| heap.group == group);
            let sum = of_group.fold(ByteSize::ZERO, |sum, heap| sum.saturating_add(heap.size));
            sum.is_zero() || sum <= state.planner.memory(group).budget
        })
    }

    /// Returns whether the usage of a segment group exceeds its budget.
    #[inline]
    pub(super) fn is_over_budget(&self) -> bool {
        self.lock_updated().is_over_budget()
    }

    /// Returns the statistics. `cpu_stalls` is counted elsewhere.
    #[inline]
    pub(super) fn stats(&self, cpu_stalls: u64) -> ResidencyManagerStats {
        let state = self.lock();
        let of = |group: SegmentGroup| {
            if !self.budgets.is_in_use(group) {
                return ResidencyGroupStats::default();
            }
            let totals = state.planner.totals(group);
            ResidencyGroupStats {
                resident_count: totals.resident_count,
                resident: totals.resident,
                locked_count: totals.locked_count,
                locked: totals.locked,
                evicted_count: totals.evicted_count,
                evicted: totals.evicted,
                bytes_paged_in: state.counters.bytes_in[group.index()],
                bytes_paged_out: state.counters.bytes_out[group.index()],
            }
        };
        let [local, non_local] = SegmentGroup::ALL.map(of);
        ResidencyManagerStats {
            current_heap_usage: local.resident.saturating_add(non_local.resident),
            current_heap_count: local.resident_count.saturating_add(non_local.resident_count),
            local,
            non_local,
            paging_operations: state.counters.operations,
            cpu_stalls,
            submissions_over_budget: state.counters.over_budget,
            refused_evictions: state.counters.refused,
            budget_refreshes: self.budgets.refreshes(),
        }
    }
}

impl BooksState {
    /// Passes budgets and external usage to the planner. O(1), a few loads.
    #[inline]
    fn update_memory(&mut self, budgets: &Budgets) {
        // Where all memory is local, the other group would overwrite the values.
        for &group in budgets.groups_in_use() {
            let index = group.index();
            let own = self.external_given[index].saturating_sub(self.planner.memory(group).external);
            self.external[index] = self.external[index].saturating_sub(own);
            let external = self.external[index].saturating_add(self.pending[index]);
            self.external_given[index] = external;
            self.planner.set_memory(group, GroupMemory { budget: budgets.budget(group), external });
        }
    }

    /// Records that bytes are paged in when the paging fence reaches `value`. `paged` is the value that it has reached.
    pub(super) fn pages_in(&mut self, bytes: [ByteSize; 2], value: FenceValue, paged: FenceValue) {
        self.paging_in(paged);
        self.paging.push_back((value, bytes));
    }

    /// Returns the bytes that are being paged in while the paging fence has the value `paged`.
    fn paging_in(&mut self, paged: FenceValue) -> [ByteSize; 2] {
        while self.paging.front().is_some_and(|(value, _)| *value <= paged) {
            self.paging.pop_front();
        }
        let mut sums = [ByteSize::ZERO; 2];
        for (_, bytes) in &self.paging {
            for (sum, bytes) in sums.iter_mut().zip(bytes) {
                *sum = sum.saturating_add(*bytes);
            }
        }
        sums
    }

    fn add_pending(&mut self, group: SegmentGroup, bytes: ByteSize) {
        for sum in [&mut self.pending, &mut self.ever_pending] {
            sum[group.index()] = sum[group.index()].saturating_add(bytes);
        }
    }

    fn subtract_pending(&mut self, group: SegmentGroup, bytes: ByteSize) {
        let pending = &mut self.pending[group.index()];
        *pending = pending.saturating_sub(bytes);
    }

    /// Returns the usage of the segment groups.
    #[inline]
    pub(super) fn usage(&self) -> [ByteSize; 2] {
        SegmentGroup::ALL.map(|group| self.planner.usage(group))
    }

    /// Returns the bytes of resident heaps in the segment groups.
    #[inline]
    pub(super) fn resident(&self) -> [ByteSize; 2] {
        SegmentGroup::ALL.map(|group| self.planner.totals(group).resident)
    }

    /// Returns whether the usage of a segment group exceeds the budget that the planner was given last.
    #[inline]
    pub(super) fn is_over_budget(&self) -> bool {
        let planner = &self.planner;
        let is_over = |&group: &SegmentGroup| planner.usage(group) > planner.memory(group).budget;
        SegmentGroup::ALL.iter().any(is_over)
    }

    /// Returns whether usage, the resident heaps or a budget have changed since the last call. O(1).
    #[inline]
    pub(super) fn has_changed(&mut self, budgets: &Budgets) -> bool {
        let now = [self.usage(), self.resident(), SegmentGroup::ALL.map(|group| budgets.budget(group))];
        std::mem::replace(&mut self.seen, now) != now
    }

    /// Returns the objects of heaps that are in the books.
    pub(super) fn objects(&self, ids: &[ManagedHeapId]) -> impl Iterator<Item = PagedObject> {
        ids.iter().filter_map(|id| self.objects.get(id.slot().index())?.clone())
    }
}

/// Returns the error for a call that the state of a heap does not allow.
pub(super) fn heap_error(error: PlanError) -> Error {
    Error::invalid_argument("residency heap", error.to_string())
}

#[cfg(test)]
mod tests;
