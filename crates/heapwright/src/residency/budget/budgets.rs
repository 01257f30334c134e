//! Budgets, usage and reservations of the segment groups.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use crate::adapter::Fraction;
use crate::adapter::ToDxgi as _;
use crate::residency::desc::{ResidencyBudget, ResidencyManagerDesc, ResidencyManagerFlags};
use crate::{Architecture, DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};

/// The segment groups of a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ManagedGroups {
    /// Those of the operating system.
    Both,
    /// The local one, because all memory is local on UMA.
    Local,
    /// Two on UMA, where the operating system counts the memory of both as local.
    BothOfOneMemory,
}

impl ManagedGroups {
    /// Returns the groups of a manager with these flags.
    #[inline]
    pub(crate) fn of(caps: &DeviceCaps, flags: ResidencyManagerFlags) -> Self {
        let never_unified = flags.contains(ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY);
        match caps.architecture {
            Architecture::Discrete => Self::Both,
            Architecture::Uma | Architecture::CacheCoherentUma if never_unified => {
                tracing::warn!(
                    architecture = %caps.architecture,
                    "NEVER_USE_UNIFIED_MEMORY on a UMA GPU; its non-local segment group usually has no budget"
                );
                Self::BothOfOneMemory
            }
            Architecture::Uma | Architecture::CacheCoherentUma => Self::Local,
        }
    }
}

/// The budgets of both segment groups.
///
/// # Threads
///
/// Reading is one atomic load. Queries of the operating system and changes of a reservation are serialized by a lock.
pub(crate) struct Budgets {
    adapter: Option<IDXGIAdapter3>,
    managed: ManagedGroups,
    reservation_cap: Fraction,
    refresh_interval: AtomicU64,
    groups: [Group; 2],
    state: Mutex<[GroupState; 2]>,
    /// The number of submissions at which the operating system is queried again.
    next_refresh: AtomicU64,
    refreshes: AtomicU64,
}

/// Values that are read without a lock.
struct Group {
    budget: AtomicU64,
    reservation: AtomicU64,
    /// The process's usage beyond the reservation, managed memory included.
    usage: AtomicU64,
}

struct GroupState {
    /// `None` if the operating system reports nothing.
    os: Option<VideoMemoryInfo>,
    /// Whether it ever reported something.
    is_counted: bool,
    /// The limit that the description determines.
    limit: Limit,
    /// What the program has set since.
    set: ResidencyBudget,
    reservation_wanted: ByteSize,
    /// The reservation that was last set with the operating system.
    reservation_set: ByteSize,
    /// Whether a warning was logged that the operating system reports nothing.
    is_warned: bool,
}

impl Budgets {
    /// Creates budgets, and queries the adapter for the first time. The description was
    /// [checked](ResidencyManagerDesc::check).
    ///
    /// # Errors
    ///
    /// Invalid argument with neither an adapter nor a budget; errors of the adapter.
    #[inline]
    pub(crate) fn new(
        adapter: Option<&IDXGIAdapter3>,
        managed: ManagedGroups,
        desc: &ResidencyManagerDesc,
    ) -> Result<Self, Error> {
        // A maximum is in addition to the usage at creation.
        let limit = |group: SegmentGroup, usage: ByteSize| match &desc.budget_override {
            Some(budgets) => Limit::Exactly(budgets.of(group)),
            None if desc.max_budget.is_zero() => Limit::FractionOfOs(Fraction::new(desc.max_pct())),
            None => Limit::AtMost(desc.max_budget.saturating_add(usage)),
        };
        if adapter.is_none() && desc.budget_override.is_none() && desc.max_budget.is_zero() {
            let rule = "the budgets are required without an adapter, unless max_budget is set";
            return Err(Error::invalid_argument("ResidencyManagerDesc::budget_override", rule));
        }
        if !desc.max_budget.is_zero() && desc.max_pct_of_video_memory_to_budget.is_some() {
            tracing::warn!("max_pct_of_video_memory_to_budget is ignored because max_budget is set");
        }
        let unbounded = || Group {
            budget: AtomicU64::new(u64::MAX),
            reservation: AtomicU64::new(0),
            usage: AtomicU64::new(0),
        };
        let interval = desc.effective_refresh_interval();
        let budgets = Self {
            adapter: adapter.cloned(),
            managed,
            reservation_cap: Fraction::new(desc.min_pct_of_budget_to_reserve.unwrap_or(0.5)),
            refresh_interval: AtomicU64::new(interval),
            groups: [unbounded(), unbounded()],
            state: Mutex::new(SegmentGroup::ALL.map(|group| GroupState {
                os: None,
                is_counted: false,
                limit: limit(group, ByteSize::ZERO),
                set: ResidencyBudget::AsDescribed,
                reservation_wanted: ByteSize::ZERO,
                reservation_set: ByteSize::ZERO,
                is_warned: false,
            })),
            next_refresh: AtomicU64::new(interval),
            refreshes: AtomicU64::new(0),
        };
        {
            let mut state = budgets.lock();
            for &group in budgets.groups_in_use() {
                let own = &mut state[group.index()];
                budgets.query(group, own)?;
                own.limit = limit(group, own.os.map_or(ByteSize::ZERO, |os| os.current_usage));
                budgets.apply(group, own);
            }
        }
        budgets.refreshes.store(1, Ordering::Relaxed);
        Ok(budgets)
    }

    /// Returns the segment group to which `group` is charged.
    pub(crate) fn effective_group(&self, group: SegmentGroup) -> SegmentGroup {
        if self.managed == ManagedGroups::Local { SegmentGroup::Local } else { group }
    }

    /// Returns how many of the bytes of both groups the operating system counts in one.
    pub(crate) fn counted_in(&self, group: SegmentGroup, [local, non_local]: [ByteSize; 2]) -> ByteSize {
        match (group, self.managed) {
            (SegmentGroup::Local, ManagedGroups::BothOfOneMemory) => local.saturating_add(non_local),
            (SegmentGroup::Local, _) => local,
            (SegmentGroup::NonLocal, _) => non_local,
        }
    }

    /// Returns the budget in force, less the reservation; [`ByteSize::MAX`] is no bound. O(1), one load.
    #[inline]
    pub(crate) fn budget(&self, group: SegmentGroup) -> ByteSize {
        ByteSize::new(self.groups[group.index()].budget.load(Ordering::Relaxed))
    }

    /// Returns the bytes that are reserved for memory that is not managed. O(1), one load.
    pub(crate) fn reservation(&self, group: SegmentGroup) -> ByteSize {
        ByteSize::new(self.groups[group.index()].reservation.load(Ordering::Relaxed))
    }

    /// Returns the external usage, which counts against the budget: what the process uses in addition to managed memory
    /// and beyond its reservation. It is known as a range, because so are the bytes of the manager's heaps that were
    /// resident when the operating system was queried. The start of the result does not exceed its end, also while
    /// another thread reports usage or sets the reservation. O(1).
    ///
    /// Usage and managed memory need not agree, because memory is created and released meanwhile.
    pub(crate) fn external_within(
        &self,
        group: SegmentGroup,
        managed: RangeInclusive<ByteSize>,
    ) -> RangeInclusive<ByteSize> {
        // Read once for both ends.
        let usage = ByteSize::new(self.groups[group.index()].usage.load(Ordering::Relaxed));
        usage.saturating_sub(*managed.end())..=usage.saturating_sub(*managed.start())
    }

    /// Queries the operating system after each submission from now on, because it sends no notifications.
    pub(crate) fn query_after_each_submission(&self) {
        self.refresh_interval.store(1, Ordering::Relaxed);
        self.next_refresh.store(0, Ordering::Relaxed);
    }

    /// Returns how often the operating system was queried.
    pub(crate) fn refreshes(&self) -> u64 {
        self.refreshes.load(Ordering::Relaxed)
    }

    /// Queries the operating system, with one call for each group.
    ///
    /// # Errors
    ///
    /// Errors of the adapter; the previous report stays in force.
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        let mut state = self.lock();
        self.refreshes.fetch_add(1, Ordering::Relaxed);
        for &group in self.groups_in_use() {
            let own = &mut state[group.index()];
            self.query(group, own)?;
            self.apply(group, own);
        }
        Ok(())
    }

    /// Returns whether the operating system must be queried again after this number of submissions: `true` once for
    /// each interval, to one of the callers.
    ///
    /// O(1), usually one load.
    #[inline]
    pub(crate) fn refresh_due(&self, submissions: u64) -> bool {
        let due = self.next_refresh.load(Ordering::Relaxed);
        submissions >= due && {
            let next = submissions.saturating_add(self.refresh_interval.load(Ordering::Relaxed));
            self.next_refresh.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        }
    }

    /// Returns DXGI's four numbers as the manager sees them, if these bytes of its heaps are resident. They are zero
    /// for a group that it does not use.
    #[inline]
    pub(crate) fn video_memory_info(&self, group: SegmentGroup, resident: [ByteSize; 2]) -> VideoMemoryInfo {
        if !self.is_in_use(group) {
            let none = ByteSize::ZERO;
            return VideoMemoryInfo {
                budget: none,
                current_usage: none,
                available_for_reservation: none,
                current_reservation: none,
            };
        }
        let available = {
            let state = self.lock();
            let GroupState { os, limit, .. } = state[group.index()];
            effective_budget(os, limit, self.reservation_cap, ByteSize::MAX).reservation
        };
        let counted = self.counted_in(group, resident);
        let external = *self.external_within(group, counted..=counted).start();
        VideoMemoryInfo {
            budget: self.budget(group),
            current_usage: resident[group.index()].saturating_add(external),
            available_for_reservation: available,
            current_reservation: self.reservation(group),
        }
    }

    /// Returns whether the operating system never reported anything about a segment group, so that its budget is not
    /// known.
    #[inline]
    pub(crate) fn is_unreported(&self, group: SegmentGroup) -> bool {
        self.adapter.is_some() && self.is_in_use(group) && !self.lock()[group.index()].is_counted
    }

    /// Reserves memory that is not managed, also with the operating system, and returns the reserved bytes.
    ///
    /// The result is less than `asked` if the operating system or the cap does not allow more, and changes with the
    /// budget. It is zero for the non-local group where all memory is local.
    ///
    /// # Errors
    ///
    /// Errors of the adapter; the previous reservation stays in force.
    #[inline]
    pub(crate) fn set_reservation(&self, group: SegmentGroup, asked: ByteSize) -> Result<ByteSize, Error> {
        if !self.is_in_use(group) {
            return Ok(ByteSize::ZERO);
        }
        let mut state = self.lock();
        let own = &mut state[group.index()];
        self.query(group, own)?;
        let before = std::mem::replace(&mut own.reservation_wanted, asked);
        let wanted = self.effective_budget(own);
        if let Err(error) = self.reserve_with_os(group, own, wanted.reservation) {
            own.reservation_wanted = before;
            return Err(error);
        }
        self.publish(group, own, wanted);
        Ok(wanted.reservation)
    }

    /// Sets the budget of a group, which was [checked](ResidencyBudget::check), from the last report of the operating
    /// system. Where all memory is local, the non-local group has none.
    #[inline]
    pub(crate) fn set_budget(&self, group: SegmentGroup, budget: ResidencyBudget) {
        if self.is_in_use(group) {
            let mut state = self.lock();
            let own = &mut state[group.index()];
            own.set = budget;
            self.apply(group, own);
        }
    }

    /// Returns the groups of which the manager has memory: not the non-local one where all memory is local.
    pub(crate) fn groups_in_use(&self) -> &'static [SegmentGroup] {
        if self.managed == ManagedGroups::Local { &[SegmentGroup::Local] } else { &SegmentGroup::ALL }
    }

    /// Returns whether the manager has memory of this group.
    pub(crate) fn is_in_use(&self, group: SegmentGroup) -> bool {
        self.groups_in_use().contains(&group)
    }

    /// Queries the operating system for one group.
    fn query(&self, group: SegmentGroup, state: &mut GroupState) -> Result<(), Error> {
        let Some(adapter) = &self.adapter else { return Ok(()) };
        state.os = report(adapter, group, &mut state.is_counted)?;
        if state.os.is_none() && !std::mem::replace(&mut state.is_warned, true) {
            tracing::warn!(%group, "the adapter reports no budget for this segment group; it is unbounded");
        }
        Ok(())
    }

    /// Queries the operating system about the segment groups in which it counts any of these `resident` bytes, so that
    /// something can be evicted, and returns whether it reports the same as before. If not, and if it fails, nothing is
    /// applied, and [`refresh`](Self::refresh) must follow, which counts.
    #[inline]
    pub(crate) fn is_unchanged(&self, resident: [ByteSize; 2]) -> bool {
        let Some(adapter) = &self.adapter else { return true };
        let mut state = self.lock();
        let has_heaps = |&group: &SegmentGroup| !self.counted_in(group, resident).is_zero();
        let mut is_queried = false;
        let is_unchanged = self.groups_in_use().iter().copied().filter(has_heaps).all(|group| {
            is_queried = true;
            let own = &mut state[group.index()];
            report(adapter, group, &mut own.is_counted).is_ok_and(|os| os == own.os)
        });
        if is_unchanged && is_queried {
            self.refreshes.fetch_add(1, Ordering::Relaxed);
        }
        is_unchanged
    }

    /// Applies the last query, the limit and the requested reservation.
    fn apply(&self, group: SegmentGroup, state: &mut GroupState) {
        let mut wanted = self.effective_budget(state);
        if let Err(error) = self.reserve_with_os(group, state, wanted.reservation) {
            tracing::warn!(%group, %error, "SetVideoMemoryReservation failed; keeping the last reservation");
            wanted.reservation = state.reservation_set;
        }
        self.publish(group, state, wanted);
    }

    fn publish(
        &self,
        group: SegmentGroup,
        state: &GroupState,
        EffectiveBudget { budget, reservation }: EffectiveBudget,
    ) {
        let shown = &self.groups[group.index()];
        let usage = state.os.map_or(ByteSize::ZERO, |os| os.current_usage.saturating_sub(reservation));
        shown.budget.store(budget.get(), Ordering::Relaxed);
        shown.reservation.store(reservation.get(), Ordering::Relaxed);
        shown.usage.store(usage.get(), Ordering::Relaxed);
    }

    fn effective_budget(&self, state: &GroupState) -> EffectiveBudget {
        effective_budget(state.os, state.limit, self.reservation_cap, state.reservation_wanted).set_to(
            state.set,
            state.os,
            state.limit,
        )
    }

    /// Reserves memory with the operating system, if the reservation has changed.
    fn reserve_with_os(
        &self,
        group: SegmentGroup,
        state: &mut GroupState,
        reservation: ByteSize,
    ) -> Result<(), Error> {
        let Some(adapter) = self.adapter.as_ref().filter(|_| state.reservation_set != reservation) else {
            return Ok(());
        };
        // SAFETY: the adapter is a live COM object.
        let hresult = unsafe { adapter.SetVideoMemoryReservation(0, group.to_dxgi(), reservation.get()) };
        if hresult.is_err() {
            return Err(Error::device("IDXGIAdapter3::SetVideoMemoryReservation", hresult));
        }
        state.reservation_set = reservation;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, [GroupState; 2]> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Queries an adapter about the memory of a segment group. Returns `None` if the operating system does not count it:
/// some implementations other than Windows' report zeros, always. Once it reported something, zeros are a report, too.
fn report(
    adapter: &IDXGIAdapter3,
    group: SegmentGroup,
    is_counted: &mut bool,
) -> Result<Option<VideoMemoryInfo>, Error> {
    let info = VideoMemoryInfo::query(adapter, group)?;
    *is_counted |= info.is_report();
    // What the manager has reserved itself is no news.
    Ok(is_counted.then_some(VideoMemoryInfo { current_reservation: ByteSize::ZERO, ..info }))
}

impl Drop for Budgets {
    fn drop(&mut self) {
        let mut state = self.lock();
        for &group in self.groups_in_use() {
            if let Err(error) = self.reserve_with_os(group, &mut state[group.index()], ByteSize::ZERO) {
                tracing::debug!(%group, %error, "SetVideoMemoryReservation failed; the reservation outlives its manager");
            }
        }
    }
}

/// The limit of a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// A fraction of the operating system's budget.
    FractionOfOs(Fraction),
    /// These bytes, or the operating system's budget if that is less.
    AtMost(ByteSize),
    /// These bytes, whatever the operating system reports.
    Exactly(ByteSize),
}

/// The budget and the reservation in force for a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EffectiveBudget {
    /// Upper bound of managed memory and of external usage beyond the reservation, in bytes. [`ByteSize::MAX`] is no
    /// bound.
    budget: ByteSize,
    /// Bytes that are set aside for memory that is not managed.
    reservation: ByteSize,
}

impl EffectiveBudget {
    /// Replaces the budget by one that the program has set.
    fn set_to(self, set: ResidencyBudget, os: Option<VideoMemoryInfo>, limit: Limit) -> Self {
        let budget = match set {
            ResidencyBudget::AsDescribed => self.budget,
            ResidencyBudget::Bytes(bytes) => {
                let os = os.filter(|_| !matches!(limit, Limit::Exactly(_)));
                let most = os.map_or(ByteSize::MAX, |os| os.budget);
                bytes.min(most).saturating_sub(self.reservation)
            }
            ResidencyBudget::Share(part) if part > 0.0 && self.budget == ByteSize::MAX => ByteSize::MAX,
            ResidencyBudget::Share(part) => Fraction::new(part).of(self.budget),
        };
        Self { budget, ..self }
    }
}

/// Returns budget and reservation, from the operating system's report (`None` if there is none), the limit, and the
/// requested reservation.
///
/// A reservation is at most `reservation_cap` of the budget, and at most what the operating system allows. It is
/// subtracted from the budget before a fraction of the rest is taken.
fn effective_budget(
    os: Option<VideoMemoryInfo>,
    limit: Limit,
    reservation_cap: Fraction,
    asked: ByteSize,
) -> EffectiveBudget {
    let whole = match (os, limit) {
        (Some(os), _) => Some(os.budget),
        (None, Limit::AtMost(bytes) | Limit::Exactly(bytes)) => Some(bytes),
        (None, Limit::FractionOfOs(_)) => None,
    };
    let cap = whole.map_or(ByteSize::MAX, |whole| reservation_cap.of(whole));
    let available = os.map_or(ByteSize::MAX, |os| os.available_for_reservation);
    let reservation = asked.min(cap).min(available);
    let os_budget = os.map_or(ByteSize::MAX, |os| os.budget);
    let less = |bytes: ByteSize| bytes.saturating_sub(reservation);
    let budget = match limit {
        Limit::FractionOfOs(_) if os.is_none() => ByteSize::MAX,
        Limit::FractionOfOs(part) => part.of(less(os_budget)),
        Limit::AtMost(bytes) => less(bytes.min(os_budget)),
        Limit::Exactly(bytes) => less(bytes),
    };
    EffectiveBudget { budget, reservation }
}

#[cfg(test)]
pub(super) mod tests;
