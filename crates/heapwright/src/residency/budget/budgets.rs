//! What may be used, what is used, what is reserved.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::arithmetic::{InForce, Limit, OsMemory, Part, external, in_force};
use crate::adapter::ToDxgi as _;
use crate::residency::desc::{BudgetOverride, BudgetStep, ResidencyManagerDesc, ResidencyManagerFlags};
use crate::{Architecture, DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};

/// Whether all memory counts as local: on UMA, unless the flag is against it.
pub(crate) fn unifies_memory(caps: &DeviceCaps, flags: ResidencyManagerFlags) -> bool {
    let is_uma = caps.architecture != Architecture::Discrete;
    let never = flags.contains(ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY);
    if is_uma && never {
        tracing::warn!(
            architecture = %caps.architecture,
            "segment groups are kept apart on a GPU with one memory, whose non-local group has no budget as a rule"
        );
    }
    is_uma && !never
}

/// The budgets of both segment groups.
///
/// # Threads
///
/// Reading is one atomic load. Asking the operating system and changing a reservation happen one at a time, under a lock that nothing
/// else takes; the operating system calls nobody back.
#[derive(Debug)]
pub(crate) struct Budgets {
    adapter: Option<IDXGIAdapter3>,
    unifies_memory: bool,
    source: Source,
    reservation_cap: Part,
    refresh_interval: u64,
    groups: [Group; 2],
    state: Mutex<[GroupState; 2]>,
    /// The number of submissions at which the operating system is to be asked again.
    next_refresh: AtomicU64,
    /// The number of submissions at which the next step of a schedule begins; the maximum without one.
    next_step: AtomicU64,
    submissions: AtomicU64,
    refreshes: AtomicU64,
}

/// Where budgets come from.
#[derive(Debug)]
enum Source {
    Os {
        max_pct: Part,
    },
    /// At most, beside what was used at the beginning.
    Max(ByteSize),
    Fixed([ByteSize; 2]),
    Schedule {
        steps: Vec<BudgetStep>,
        max_pct: Part,
    },
}

/// What is read without a lock.
#[derive(Debug)]
struct Group {
    budget: AtomicU64,
    reservation: AtomicU64,
    os_usage: AtomicU64,
}

#[derive(Debug, Default)]
struct GroupState {
    /// `None`: the operating system does not say.
    os: Option<OsMemory>,
    usage_at_creation: ByteSize,
    reservation_asked: ByteSize,
    /// What the operating system was told.
    reservation_told: ByteSize,
    /// That it does not say was logged.
    is_warned: bool,
}

impl Budgets {
    /// Asks the adapter for the first time. The description has been [checked](ResidencyManagerDesc::check).
    ///
    /// # Errors
    ///
    /// Invalid argument when there is neither an adapter nor a budget; what the adapter answers.
    pub(crate) fn new(
        adapter: Option<&IDXGIAdapter3>,
        unifies_memory: bool,
        desc: &ResidencyManagerDesc,
    ) -> Result<Self, Error> {
        let max_pct = Part::new(desc.max_pct());
        let source = match &desc.budget_override {
            None if desc.max_budget.is_zero() => Source::Os { max_pct },
            None => Source::Max(desc.max_budget),
            Some(BudgetOverride::Fixed(budgets)) => {
                Source::Fixed(SegmentGroup::ALL.map(|group| budgets.of(group)))
            }
            Some(BudgetOverride::Fraction(part)) => Source::Os { max_pct: Part::new(*part) },
            Some(BudgetOverride::Schedule(steps)) => Source::Schedule { steps: steps.clone(), max_pct },
        };
        if adapter.is_none() && matches!(source, Source::Os { .. }) {
            let rule = "is needed without an adapter, which says what the budget is: fixed or a schedule";
            return Err(Error::invalid_argument("ResidencyManagerDesc::budget_override", rule));
        }
        if !desc.max_budget.is_zero() && desc.max_pct_of_video_memory_to_budget.is_some() {
            tracing::warn!("max_pct_of_video_memory_to_budget is ignored beside a max_budget");
        }
        let unbounded = || Group {
            budget: AtomicU64::new(u64::MAX),
            reservation: AtomicU64::new(0),
            os_usage: AtomicU64::new(0),
        };
        let interval = desc.effective_refresh_interval();
        let budgets = Self {
            adapter: adapter.cloned(),
            unifies_memory,
            next_step: AtomicU64::new(source.next_step(0)),
            source,
            reservation_cap: Part::new(desc.reservation_cap()),
            refresh_interval: interval,
            groups: [unbounded(), unbounded()],
            state: Mutex::default(),
            next_refresh: AtomicU64::new(interval),
            submissions: AtomicU64::new(0),
            refreshes: AtomicU64::new(0),
        };
        {
            let mut state = budgets.lock();
            for &group in budgets.groups_in_use() {
                let own = &mut state[group.index()];
                budgets.ask(group, own)?;
                own.usage_at_creation = own.os.map_or(ByteSize::ZERO, |os| os.usage);
                budgets.take_over(group, own);
            }
        }
        budgets.refreshes.store(1, Ordering::Relaxed);
        Ok(budgets)
    }

    /// Whether all memory counts as local.
    pub(crate) fn unifies_memory(&self) -> bool {
        self.unifies_memory
    }

    /// Returns the segment group that stands for `group`.
    pub(crate) fn effective_group(&self, group: SegmentGroup) -> SegmentGroup {
        if self.unifies_memory { SegmentGroup::Local } else { group }
    }

    /// The budget in force; [`ByteSize::MAX`] is no bound. The reservation is taken off. O(1), one load.
    #[inline]
    pub(crate) fn budget(&self, group: SegmentGroup) -> ByteSize {
        ByteSize::new(self.groups[group.index()].budget.load(Ordering::Relaxed))
    }

    /// What the process used when the operating system was asked last, all in all. O(1), one load.
    #[inline]
    pub(crate) fn usage_sample(&self, group: SegmentGroup) -> ByteSize {
        ByteSize::new(self.groups[group.index()].os_usage.load(Ordering::Relaxed))
    }

    /// What is reserved for what is not managed. O(1), one load.
    pub(crate) fn reservation(&self, group: SegmentGroup) -> ByteSize {
        ByteSize::new(self.groups[group.index()].reservation.load(Ordering::Relaxed))
    }

    /// What the process uses beside `managed` bytes, beyond what is reserved for that: it counts against the budget.
    ///
    /// `managed` is what was resident of the manager's heaps when the operating system was asked. O(1).
    pub(crate) fn external(&self, group: SegmentGroup, managed: ByteSize) -> ByteSize {
        external(self.usage_sample(group), managed, self.reservation(group))
    }

    /// How often the operating system was asked.
    pub(crate) fn refreshes(&self) -> u64 {
        self.refreshes.load(Ordering::Relaxed)
    }

    /// Asks the operating system: one call for each group.
    ///
    /// # Errors
    ///
    /// What the adapter answers; what it said before stays in force.
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        let mut state = self.lock();
        self.refreshes.fetch_add(1, Ordering::Relaxed);
        for &group in self.groups_in_use() {
            let own = &mut state[group.index()];
            self.ask(group, own)?;
            self.take_over(group, own);
        }
        Ok(())
    }

    /// Whether the operating system is to be asked again after so many submissions: one of the callers is told so, once for each
    /// interval. A step of a schedule that has begun takes effect here.
    ///
    /// O(1), two loads as a rule.
    #[inline]
    pub(crate) fn refresh_due(&self, submissions: u64) -> bool {
        if submissions >= self.next_step.load(Ordering::Relaxed) {
            self.take_step(submissions);
        }
        let due = self.next_refresh.load(Ordering::Relaxed);
        submissions >= due && {
            let next = submissions.saturating_add(self.refresh_interval);
            self.next_refresh.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        }
    }

    #[cold]
    fn take_step(&self, submissions: u64) {
        let mut state = self.lock();
        let submissions = self.submissions.fetch_max(submissions, Ordering::Relaxed).max(submissions);
        self.next_step.store(self.source.next_step(submissions), Ordering::Relaxed);
        for &group in self.groups_in_use() {
            self.take_over(group, &mut state[group.index()]);
        }
    }

    /// DXGI's four numbers as the manager sees them, with so many bytes of its heaps resident: the budget in force, what counts against
    /// it, what may be reserved, what is reserved.
    pub(crate) fn video_memory_info(&self, group: SegmentGroup, managed: ByteSize) -> VideoMemoryInfo {
        let available = {
            let state = self.lock();
            let whole = in_force(
                state[group.index()].os,
                self.limit(group, &state[group.index()]),
                self.reservation_cap,
                ByteSize::MAX,
            );
            if self.is_in_use(group) { whole.reservation } else { ByteSize::ZERO }
        };
        VideoMemoryInfo {
            budget: self.budget(group),
            current_usage: managed.saturating_add(self.external(group, managed)),
            available_for_reservation: available,
            current_reservation: self.reservation(group),
        }
    }

    /// Reserves memory for what is not managed, tells the operating system, and answers how much it is.
    ///
    /// That is less than what was asked for when the operating system or the cap does not allow more, and changes with the budget. Zero
    /// for the non-local group where all memory is local.
    ///
    /// # Errors
    ///
    /// What the adapter answers; what was reserved before stays so.
    pub(crate) fn set_reservation(&self, group: SegmentGroup, asked: ByteSize) -> Result<ByteSize, Error> {
        if !self.is_in_use(group) {
            return Ok(ByteSize::ZERO);
        }
        let mut state = self.lock();
        let own = &mut state[group.index()];
        self.ask(group, own)?;
        let before = std::mem::replace(&mut own.reservation_asked, asked);
        let wanted = self.in_force(group, own);
        if let Err(error) = self.tell(group, own, wanted.reservation) {
            own.reservation_asked = before;
            return Err(error);
        }
        self.publish(group, wanted);
        Ok(wanted.reservation)
    }

    fn groups_in_use(&self) -> &'static [SegmentGroup] {
        if self.unifies_memory { &[SegmentGroup::Local] } else { &SegmentGroup::ALL }
    }

    fn is_in_use(&self, group: SegmentGroup) -> bool {
        self.groups_in_use().contains(&group)
    }

    /// Takes over what the operating system says.
    fn ask(&self, group: SegmentGroup, state: &mut GroupState) -> Result<(), Error> {
        let Some(adapter) = &self.adapter else { return Ok(()) };
        let info = VideoMemoryInfo::query(adapter, group)?;
        let os = OsMemory {
            budget: info.budget,
            usage: info.current_usage,
            available_for_reservation: info.available_for_reservation,
        };
        state.os = os.is_counted().then_some(os);
        if state.os.is_none() && !std::mem::replace(&mut state.is_warned, true) {
            tracing::warn!(%group, "the adapter has no budget for this segment group: nothing bounds it");
        }
        self.groups[group.index()].os_usage.store(info.current_usage.get(), Ordering::Relaxed);
        Ok(())
    }

    /// Has what is known take effect.
    fn take_over(&self, group: SegmentGroup, state: &mut GroupState) {
        let mut wanted = self.in_force(group, state);
        if let Err(error) = self.tell(group, state, wanted.reservation) {
            tracing::warn!(%group, %error, "the reservation stays as it was");
            let part = InForce { reservation: state.reservation_told, ..wanted };
            wanted = part;
        }
        self.publish(group, wanted);
    }

    fn publish(&self, group: SegmentGroup, in_force: InForce) {
        let shown = &self.groups[group.index()];
        shown.budget.store(in_force.budget.get(), Ordering::Relaxed);
        shown.reservation.store(in_force.reservation.get(), Ordering::Relaxed);
    }

    fn in_force(&self, group: SegmentGroup, state: &GroupState) -> InForce {
        in_force(state.os, self.limit(group, state), self.reservation_cap, state.reservation_asked)
    }

    fn limit(&self, group: SegmentGroup, state: &GroupState) -> Limit {
        match &self.source {
            Source::Os { max_pct } => Limit::PartOfOs(*max_pct),
            Source::Max(bytes) => Limit::AtMost(bytes.saturating_add(state.usage_at_creation)),
            Source::Fixed(budgets) => Limit::Exactly(budgets[group.index()]),
            Source::Schedule { steps, max_pct } => {
                let begun = steps
                    .partition_point(|step| step.from_submission <= self.submissions.load(Ordering::Relaxed));
                match begun.checked_sub(1).and_then(|last| steps.get(last)) {
                    Some(step) => Limit::Exactly(step.budgets.of(group)),
                    None => Limit::PartOfOs(*max_pct),
                }
            }
        }
    }

    /// Tells the operating system of a reservation, if that is news.
    fn tell(&self, group: SegmentGroup, state: &mut GroupState, reservation: ByteSize) -> Result<(), Error> {
        let Some(adapter) = self.adapter.as_ref().filter(|_| state.reservation_told != reservation) else {
            return Ok(());
        };
        // SAFETY: the adapter is a live COM object.
        let hresult = unsafe { adapter.SetVideoMemoryReservation(0, group.to_dxgi(), reservation.get()) };
        if hresult.is_err() {
            return Err(Error::device("IDXGIAdapter3::SetVideoMemoryReservation", hresult));
        }
        state.reservation_told = reservation;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, [GroupState; 2]> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Budgets {
    fn drop(&mut self) {
        let mut state = self.lock();
        for &group in self.groups_in_use() {
            // What the operating system holds for this manager is nobody's any more.
            if let Err(error) = self.tell(group, &mut state[group.index()], ByteSize::ZERO) {
                tracing::debug!(%group, %error, "the reservation is not taken back");
            }
        }
    }
}

impl Source {
    /// The number of submissions at which the next step begins.
    fn next_step(&self, submissions: u64) -> u64 {
        let Self::Schedule { steps, .. } = self else { return u64::MAX };
        let begun = steps.partition_point(|step| step.from_submission <= submissions);
        steps.get(begun).map_or(u64::MAX, |step| step.from_submission)
    }
}

#[cfg(test)]
mod tests;
