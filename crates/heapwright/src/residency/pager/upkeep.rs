//! Work besides paging for submissions: queries of the operating system, evictions that no submission needs, and
//! pressure callbacks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{OnceLock, Weak};

use heapwright_core::ByteSize;
use heapwright_core::residency::{Plan, PlanRequest, ResidencyPlanner};
use heapwright_d3d12::IDXGIAdapter3;

use super::{CurrentPlan, Pager, PlanGuard};
use crate::SegmentGroup;
use crate::residency::ResidencyBudget;
use crate::residency::budget::{BackgroundUpdates, PressureMonitor, TrimRequest};

/// Number of submissions between two attempts to evict heaps ahead of need.
const AHEAD_INTERVAL: u64 = 32;

/// When memory is trimmed and pressure callbacks are called.
#[derive(Default)]
pub(in crate::residency) struct Upkeep {
    pub(in crate::residency) pressure: PressureMonitor,
    /// The thread that does it in the background, if there is one.
    background: OnceLock<BackgroundUpdates>,
    submissions: AtomicU64,
    /// The number of submissions from which heaps are evicted ahead of need again.
    next_ahead: AtomicU64,
    refreshes_soon: AtomicBool,
    /// Whether usage or a budget may have changed since the operating system's report was last applied.
    has_changed: AtomicBool,
}

impl Pager {
    /// Starts the thread that trims after notifications. Returns whether the adapter sends them.
    #[inline]
    pub(super) fn start_background_updates(&self, adapter: Option<&IDXGIAdapter3>) -> bool {
        if adapter.is_none() {
            tracing::warn!("ALLOW_BACKGROUND_BUDGET_UPDATES without an adapter; no budget notifications");
        }
        let this = Weak::clone(&self.this);
        let on_change = move |request| {
            if let Some(pager) = this.upgrade() {
                pager.trim_as_requested(request);
            }
        };
        let updates = BackgroundUpdates::start(adapter, Some(self.device.interface()), on_change);
        let is_started = updates.is_some();
        if let Some(updates) = updates {
            let _ = self.upkeep.background.set(updates);
        }
        adapter.is_some() && is_started
    }

    /// Requests a query of the operating system after the next successful submission.
    #[inline]
    pub(in crate::residency) fn refresh_soon(&self) {
        self.upkeep.refreshes_soon.store(true, Ordering::Relaxed);
    }

    /// Counts a submission, and requests a query of the operating system after it if one is due.
    #[inline]
    pub(in crate::residency) fn count_submission(&self) {
        let before = self.upkeep.submissions.fetch_add(1, Ordering::Relaxed);
        if self.books.budgets.refresh_due(before) {
            self.refresh_soon();
        }
    }

    /// Records that usage or a budget has changed.
    #[inline]
    pub(in crate::residency) fn usage_changed(&self) {
        self.upkeep.has_changed.store(true, Ordering::Relaxed);
        self.tell_pressure();
    }

    /// After a submission: queries the operating system if that was requested, and trims if usage was above a budget.
    #[inline]
    pub(in crate::residency) fn after_submission(&self, is_over_budget: bool) {
        let refreshes = self.upkeep.refreshes_soon.load(Ordering::Relaxed);
        if is_over_budget || (refreshes && !self.is_unchanged()) {
            self.look_after_memory(refreshes);
            self.tell_pressure();
        }
    }

    /// Queries the operating system. Returns whether nothing has changed on either side, so that there is nothing to
    /// look after. This is the usual case.
    #[inline]
    fn is_unchanged(&self) -> bool {
        let is_unchanged = !self.upkeep.has_changed.load(Ordering::Relaxed)
            && self.upkeep.submissions.load(Ordering::Relaxed)
                < self.upkeep.next_ahead.load(Ordering::Relaxed)
            && self.upkeep.background.get().is_none()
            && self.books.is_report_applied()
            && {
                let resident = self.books.lock().resident();
                self.books.budgets.is_unchanged(resident)
            };
        if is_unchanged {
            self.upkeep.refreshes_soon.store(false, Ordering::Relaxed);
        }
        is_unchanged
    }

    #[cold]
    #[inline]
    fn look_after_memory(&self, refreshes: bool) {
        if refreshes {
            self.upkeep.refreshes_soon.store(false, Ordering::Relaxed);
            if let Some(updates) = self.upkeep.background.get().filter(|updates| updates.is_healthy()) {
                updates.request();
                return;
            }
        }
        // A thread that holds the lock evicts heaps anyway.
        let Some(mut current) = self.try_lock() else { return };
        if refreshes {
            // Before the query: a change from now on may not be in the report.
            self.upkeep.has_changed.store(false, Ordering::Relaxed);
            self.refresh();
        }
        // With each submission, because heaps that were in use may be idle now.
        if self.books.is_over_budget() {
            self.evict_bytes(&mut current, [ByteSize::ZERO; 2]);
        }
        let submissions = self.upkeep.submissions.load(Ordering::Relaxed);
        if submissions >= self.upkeep.next_ahead.load(Ordering::Relaxed) {
            self.upkeep.next_ahead.store(submissions.saturating_add(AHEAD_INTERVAL), Ordering::Relaxed);
            self.evict_ahead(&mut current);
        }
    }

    /// Queries the operating system, and evicts idle heaps above the budgets, and those that the policy does not want
    /// to keep.
    #[inline]
    pub(in crate::residency) fn trim(&self) {
        self.refresh_and_trim(self.lock());
    }

    /// Sets the budget of a segment group, and evicts the idle heaps that exceed it.
    #[inline]
    pub(in crate::residency) fn set_budget(&self, group: SegmentGroup, budget: ResidencyBudget) {
        self.books.budgets.set_budget(group, budget);
        self.trim();
    }

    /// Like [`trim`](Self::trim), after notifications. Evicts what they request, first: heaps that were not used for a
    /// whole period, and a number of bytes that includes these. Local memory is evicted first, because notifications do
    /// not name a segment group.
    #[inline]
    fn trim_as_requested(&self, request: TrimRequest) {
        let mut current = self.lock();
        let mut left = request.bytes;
        if request.restarts {
            self.books.lock().planner.begin_period();
        } else if request.is_periodic {
            let ([local, non_local], _) = self.evict_planned(&mut current, ResidencyPlanner::plan_unused);
            left = left.saturating_sub(local).saturating_sub(non_local);
        }
        for group in 0..2 {
            if !left.is_zero() {
                let mut bytes = [ByteSize::ZERO; 2];
                bytes[group] = left;
                left = left.saturating_sub(self.evict_bytes(&mut current, bytes));
            }
        }
        self.refresh_and_trim(current);
    }

    #[inline]
    fn refresh_and_trim(&self, mut current: PlanGuard<'_>) {
        self.refresh();
        self.evict_bytes(&mut current, [ByteSize::ZERO; 2]);
        self.evict_ahead(&mut current);
        drop(current);
        self.tell_pressure();
    }

    /// Evicts at least `bytes` bytes of idle heaps, or all of them if they are fewer, and returns the number of evicted
    /// bytes.
    #[inline]
    pub(in crate::residency) fn evict_at_least(&self, bytes: [ByteSize; 2]) -> ByteSize {
        self.evict_bytes(&mut self.lock(), bytes)
    }

    /// Evicts idle heaps above the budget, and at least `bytes` bytes.
    #[inline]
    fn evict_bytes(&self, current: &mut CurrentPlan, mut bytes: [ByteSize; 2]) -> ByteSize {
        let mut sum = ByteSize::ZERO;
        loop {
            let (evicted, is_done) = self.evict_planned(current, |planner, plan| {
                let request = PlanRequest { at_least: bytes, may_exceed: true, ..Default::default() };
                // The request has no heaps, so none can be unknown.
                let _ = planner.plan(&request, plan);
            });
            for (left, evicted) in bytes.iter_mut().zip(evicted) {
                *left = left.saturating_sub(evicted);
                sum = sum.saturating_add(evicted);
            }
            // Those that the device refused to evict are no candidates any more.
            if is_done {
                return sum;
            }
        }
    }

    /// Evicts idle heaps that the policy does not want to keep.
    #[inline]
    fn evict_ahead(&self, current: &mut CurrentPlan) {
        let limit = [self.evict_size; 2];
        self.evict_planned(current, |planner, plan| planner.plan_ahead(limit, plan));
    }

    /// Carries out a plan that only evicts. Returns the evicted bytes of each segment group, and whether the device
    /// refused none of the plan's heaps.
    fn evict_planned(
        &self,
        current: &mut CurrentPlan,
        plan: impl FnOnce(&mut ResidencyPlanner, &mut Plan),
    ) -> ([ByteSize; 2], bool) {
        const NOTHING: ([ByteSize; 2], bool) = ([ByteSize::ZERO; 2], true);
        if self.poll(current).is_err() {
            return NOTHING;
        }
        {
            let mut state = self.books.lock_updated();
            plan(&mut state.planner, &mut current.plan);
            current.collect_objects(&state);
        }
        match self.evict(current) {
            Ok(is_done) => (current.plan.bytes_out, is_done),
            Err(error) => {
                tracing::warn!(%error, "Evict failed");
                self.books.lock().planner.evict_failed(&current.plan);
                NOTHING
            }
        }
    }

    /// Calls the callbacks if the pressure level of a segment group has changed. No lock is held during the calls.
    #[inline]
    pub(in crate::residency) fn tell_pressure(&self) {
        let usage = self.books.lock().usage();
        let budgets = &self.books.budgets;
        for &group in budgets.groups_in_use() {
            self.upkeep.pressure.update(group, usage[group.index()], budgets.budget(group));
        }
    }
}
