//! Work other than paging: queries of the operating system, trimming, and pressure callbacks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use heapwright_core::ByteSize;

use super::budget::{BackgroundUpdates, PressureLevel, PressureMonitor, TrimRequest};
use super::pager::Pager;
use crate::SegmentGroup;

/// Number of submissions between two attempts to evict heaps ahead of need.
const AHEAD_INTERVAL: u64 = 32;

/// Decides when memory is trimmed and when pressure callbacks are called.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    pub(super) pressure: PressureMonitor,
    /// The thread that does it in the background, if there is one.
    pub(super) background: OnceLock<BackgroundUpdates>,
    submissions: AtomicU64,
    /// The number of submissions from which heaps are evicted ahead of need again.
    next_ahead: AtomicU64,
    refreshes_soon: AtomicBool,
    /// Whether usage or a budget may have changed since the operating system's report was last applied.
    has_changed: AtomicBool,
}

impl Upkeep {
    /// Requests a query of the operating system after the next successful submission.
    pub(super) fn refresh_soon(&self) {
        self.refreshes_soon.store(true, Ordering::Relaxed);
    }

    /// Counts a submission, and requests a query of the operating system after it if one is due.
    #[inline]
    pub(super) fn count_submission(&self, pager: &Pager) {
        let before = self.submissions.fetch_add(1, Ordering::Relaxed);
        if pager.books.budgets.refresh_due(before) {
            self.refresh_soon();
        }
    }

    /// Records that usage or a budget has changed, and that usage is known.
    pub(super) fn usage_changed(&self, pager: &Pager, usage: [ByteSize; 2]) {
        self.has_changed.store(true, Ordering::Relaxed);
        self.tell_pressure_at(pager, usage);
    }

    /// After a submission: queries the operating system if that was requested, and trims while usage is above a budget.
    #[inline]
    pub(super) fn after_submission(&self, pager: &Pager) {
        let refreshes = self.refreshes_soon.load(Ordering::Relaxed);
        let is_over =
            SegmentGroup::ALL.into_iter().any(|group| self.pressure.level(group) == PressureLevel::Over);
        if is_over || (refreshes && !self.is_unchanged(pager)) {
            self.look_after_memory(pager, refreshes);
            self.tell_pressure(pager);
        }
    }

    /// Queries the operating system. Returns whether nothing has changed on either side, so that there is nothing to look
    /// after. This is the usual case.
    fn is_unchanged(&self, pager: &Pager) -> bool {
        let is_unchanged = !self.has_changed.load(Ordering::Relaxed)
            && self.submissions.load(Ordering::Relaxed) < self.next_ahead.load(Ordering::Relaxed)
            && self.background.get().is_none()
            && pager.books.is_report_applied()
            && pager.books.budgets.is_unchanged();
        if is_unchanged {
            self.refreshes_soon.store(false, Ordering::Relaxed);
        }
        is_unchanged
    }

    #[cold]
    fn look_after_memory(&self, pager: &Pager, refreshes: bool) {
        if refreshes {
            self.refreshes_soon.store(false, Ordering::Relaxed);
            if let Some(updates) = self.background.get().filter(|updates| updates.is_healthy()) {
                updates.request();
                return;
            }
        }
        // A thread that holds the lock evicts heaps anyway.
        let Some(mut current) = pager.try_lock() else { return };
        if refreshes {
            // Before the query: a change from now on may not be in the report.
            self.has_changed.store(false, Ordering::Relaxed);
            pager.refresh();
        }
        // With each submission, because heaps that were in use may be idle now.
        if pager.books.is_over_budget() {
            pager.trim_to_budget(&mut current);
        }
        let submissions = self.submissions.load(Ordering::Relaxed);
        if submissions >= self.next_ahead.load(Ordering::Relaxed) {
            self.next_ahead.store(submissions.saturating_add(AHEAD_INTERVAL), Ordering::Relaxed);
            pager.evict_ahead(&mut current);
        }
    }

    /// Queries the operating system, and evicts idle heaps above the budgets.
    pub(super) fn trim(&self, pager: &Pager) {
        pager.refresh_and_trim(&mut pager.lock());
        self.tell_pressure(pager);
    }

    /// Like [`trim`](Self::trim), after notifications.
    pub(super) fn trim_as_requested(&self, pager: &Pager, request: TrimRequest) {
        let mut current = pager.lock();
        pager.trim_as_requested(&mut current, request);
        pager.refresh_and_trim(&mut current);
        drop(current);
        self.tell_pressure(pager);
    }

    /// Calls the callbacks if the pressure level of a segment group has changed. No lock is held during the calls.
    #[inline]
    pub(super) fn tell_pressure(&self, pager: &Pager) {
        let usage = pager.books.lock().usage();
        self.tell_pressure_at(pager, usage);
    }

    /// Like [`tell_pressure`](Self::tell_pressure), with known usage.
    #[inline]
    pub(super) fn tell_pressure_at(&self, pager: &Pager, usage: [ByteSize; 2]) {
        let budgets = &pager.books.budgets;
        for group in SegmentGroup::ALL {
            // The non-local group does not exist where all memory is local.
            if budgets.effective_group(group) == group {
                self.pressure.update(group, usage[group.index()], budgets.budget(group));
            }
        }
    }
}
