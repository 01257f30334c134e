//! Descriptions, flags and statistics of residency managers and residency heaps.

use std::fmt;
use std::time::Duration;

use bitflags::bitflags;
use heapwright_core::residency::PriorityLevel;
use heapwright_core::residency::policy::PolicyKind;
use heapwright_core::{Alignment, ByteSize, FenceValue};
use heapwright_d3d12::*;

use crate::{Error, RecordOptions, SegmentGroup};

bitflags! {
    /// Options of a residency manager: `RESIDENCY_MANAGER_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResidencyManagerFlags: u32 {
        /// Updates budgets on a thread that waits for the operating system's notifications. If they are not available,
        /// a warning is logged, and budgets are queried every
        /// [`refresh_interval`](crate::residency::ResidencyManagerDesc::refresh_interval) submissions, as without the
        /// flag.
        ///
        /// On devices with `ID3D12Device15` the thread also receives trim notifications. A periodic one evicts idle
        /// heaps that were not used since the one before, regardless of the budget. One that requests bytes evicts this
        /// many bytes of idle heaps.
        const ALLOW_BACKGROUND_BUDGET_UPDATES = 0x1;
        /// On UMA, still separates the segment groups, each with its budget: heaps are in the group in which they would
        /// be on a discrete GPU, so UPLOAD and READBACK are non-local. The operating system counts all memory as local
        /// there, so the non-local group is unbounded unless the manager's description has a budget for it; a warning
        /// says so. On other architectures it has no effect.
        const NEVER_USE_UNIFIED_MEMORY = 0x2;
        /// Fails with out of memory where usage would otherwise exceed the budget.
        const ALWAYS_IN_BUDGET = 0x4;
    }
}

bitflags! {
    /// Options of a residency heap's creation: `RESIDENCY_HEAP_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResidencyHeapFlags: u32 {
        /// Creates the heap within the budget, for which other heaps are evicted, or not at all. Has no effect for a
        /// heap that is created evicted.
        const CREATE_IN_BUDGET = 0x1;
        /// For a heap whose residency D3D12 does not report (a descriptor heap, a query heap): makes it resident before
        /// it is returned, and manages it from then on. Has no effect on other heaps; a heap that is created evicted
        /// stays so until it is used or locked.
        const CREATE_RESIDENT = 0x2;
        /// Creates the heap with one lock, which must be unlocked.
        const CREATE_LOCKED = 0x4;
    }
}

/// A budget for each segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupBudgets {
    /// Budget of the local group, in bytes; on UMA, of all memory.
    pub local: ByteSize,
    /// Budget of the non-local group, in bytes.
    pub non_local: ByteSize,
}

impl GroupBudgets {
    /// Returns the budget of a group.
    #[must_use]
    #[inline]
    pub const fn of(&self, group: SegmentGroup) -> ByteSize {
        match group {
            SegmentGroup::Local => self.local,
            SegmentGroup::NonLocal => self.non_local,
        }
    }
}

/// The budget of a segment group, set with
/// [`ResidencyManager::set_budget`](crate::residency::ResidencyManager::set_budget) while the manager is in use.
///
/// The reservation of the group is subtracted from it, as from the budget of the description.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ResidencyBudget {
    /// The budget that the manager's description determines.
    #[default]
    AsDescribed,
    /// A number of bytes in place of what the description determines. The operating system's budget is not exceeded,
    /// unless the description has a [`budget_override`](ResidencyManagerDesc::budget_override).
    Bytes(ByteSize),
    /// A fraction, 0 to 1, of the budget that the description determines. It follows the changes of the operating
    /// system's budget. An unbounded group stays unbounded, except with 0.
    Share(f64),
}

impl ResidencyBudget {
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        match *self {
            Self::Share(part) if !(0.0..=1.0).contains(&part) => {
                let rule = format!("{part} is out of range; 0 to 1 is allowed");
                Err(Error::invalid_argument("ResidencyBudget::Share", rule))
            }
            Self::AsDescribed | Self::Bytes(_) | Self::Share(_) => Ok(()),
        }
    }
}

/// The description of a residency manager: `RESIDENCY_MANAGER_DESC` of GPGMM, with additional fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResidencyManagerDesc {
    /// Flags; none by default.
    pub flags: ResidencyManagerFlags,
    /// The events to record.
    pub record_options: RecordOptions,
    /// Maximum fraction of the operating system's budget that may be used, above 0 and at most 1; `None` is 0.95.
    /// Ignored with a warning if `max_budget` is set.
    pub max_pct_of_video_memory_to_budget: Option<f64>,
    /// Maximum fraction of the operating system's budget that may be reserved, 0 to 1; `None` is 0.5. (GPGMM calls it a
    /// minimum; its code makes it a maximum.)
    pub min_pct_of_budget_to_reserve: Option<f64>,
    /// Maximum usage of each segment group, in bytes, in addition to the usage of the process when the manager is
    /// created. Zero is no limit other than the budget. Mutually exclusive with `budget_override`.
    pub max_budget: ByteSize,
    /// Minimum number of bytes to evict when the device is out of memory although the budget is not exceeded. Zero is
    /// 50 MiB.
    pub evict_size: ByteSize,
    /// Initial value of the manager's fences.
    pub initial_fence_value: FenceValue,
    /// Budgets, less the reservations, that replace the operating system's. Usage is still the operating system's.
    /// Without an adapter, either this or `max_budget` is required.
    pub budget_override: Option<GroupBudgets>,
    /// Number of submissions after which the operating system is queried again; zero is 1, and 32 with
    /// [`ALLOW_BACKGROUND_BUDGET_UPDATES`](ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES).
    ///
    /// External usage, the process's usage apart from the manager's heaps, may be out of date by this interval; budgets
    /// too, if there are no notifications. A segment group without resident heaps is queried only every 32 submissions.
    /// A query is a kernel call on Windows. With
    /// [`ALLOW_BACKGROUND_BUDGET_UPDATES`](ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) the thread makes it.
    pub refresh_interval: u64,
    /// Policy that selects the heaps that are evicted first.
    pub policy: PolicyKind,
    /// How long a thread waits for memory while the queue that it waits for makes no progress, before usage exceeds the
    /// budget (or, with [`ALWAYS_IN_BUDGET`](ResidencyManagerFlags::ALWAYS_IN_BUDGET), the call fails); zero is 2
    /// seconds. Time in which the whole process stands still does not count.
    ///
    /// It is also how long the thread waits in all for submissions that others made after its first wait, whatever
    /// progress they make, since they may never stop using the memory.
    ///
    /// Windows resets a GPU that makes no progress for 2 seconds. A queue that makes none for longer therefore waits
    /// for work that is not submitted yet, perhaps by the waiting thread.
    pub max_stall: Duration,
}

impl ResidencyManagerDesc {
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        let error = |field, rule: String| Err(Error::invalid_argument(field, rule));
        let unknown = self.flags.difference(ResidencyManagerFlags::all());
        if !unknown.is_empty() {
            return error(
                "ResidencyManagerDesc::flags",
                format!("the flag bits {:#x} are unknown", unknown.bits()),
            );
        }
        self.record_options.check("ResidencyManagerDesc::record_options")?;
        if let Some(part) =
            self.max_pct_of_video_memory_to_budget.filter(|&part| !(part > 0.0 && part <= 1.0))
        {
            let rule = format!("{part} is out of range; above 0 and at most 1 is allowed");
            return error("ResidencyManagerDesc::max_pct_of_video_memory_to_budget", rule);
        }
        if let Some(part) = self.min_pct_of_budget_to_reserve.filter(|part| !(0.0..=1.0).contains(part)) {
            let rule = format!("{part} is out of range; 0 to 1 is allowed");
            return error("ResidencyManagerDesc::min_pct_of_budget_to_reserve", rule);
        }
        if self.initial_fence_value == FenceValue::DEVICE_REMOVED {
            let rule = "UINT64_MAX is reserved for the fences of removed devices".to_owned();
            return error("ResidencyManagerDesc::initial_fence_value", rule);
        }
        if self.budget_override.is_some() && !self.max_budget.is_zero() {
            let rule = "max_budget and budget_override are mutually exclusive".to_owned();
            return error("ResidencyManagerDesc::max_budget", rule);
        }
        Ok(())
    }

    /// Returns the fraction of the operating system's budget that may be used; 1 with a `max_budget`.
    #[inline]
    pub(crate) fn max_pct(&self) -> f64 {
        if self.max_budget.is_zero() { self.max_pct_of_video_memory_to_budget.unwrap_or(0.95) } else { 1.0 }
    }

    /// Returns the number of submissions between two queries.
    #[inline]
    pub(crate) fn effective_refresh_interval(&self) -> u64 {
        let is_told = self.flags.contains(ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES);
        match (self.refresh_interval, is_told) {
            (0, false) => 1,
            (0, true) => 32,
            (interval, _) => interval,
        }
    }
}

/// Totals of the heaps of one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyGroupStats {
    /// Number of heaps that are resident or being made resident, including locked ones.
    pub resident_count: u64,
    /// Bytes of resident heaps.
    pub resident: ByteSize,
    /// Number of heaps with a lock.
    pub locked_count: u64,
    /// Bytes of locked heaps.
    pub locked: ByteSize,
    /// Number of evicted heaps.
    pub evicted_count: u64,
    /// Bytes of evicted heaps.
    pub evicted: ByteSize,
    /// Bytes made resident since creation.
    pub bytes_paged_in: ByteSize,
    /// Bytes evicted since creation.
    pub bytes_paged_out: ByteSize,
}

/// Statistics of a residency manager: `RESIDENCY_MANAGER_STATS` of GPGMM, with additional fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyManagerStats {
    /// Bytes of resident heaps: `CurrentHeapUsage`.
    pub current_heap_usage: ByteSize,
    /// Number of resident heaps: `CurrentHeapCount`.
    pub current_heap_count: u64,
    /// Totals of the local segment group; on UMA, of all memory.
    pub local: ResidencyGroupStats,
    /// Totals of the non-local segment group.
    pub non_local: ResidencyGroupStats,
    /// Number of calls of Evict, MakeResident and EnqueueMakeResident since creation.
    pub paging_operations: u64,
    /// Number of times that a thread waited for the GPU so that heaps could be evicted.
    pub cpu_stalls: u64,
    /// Number of submissions for which heaps were paged in although usage then exceeded the budget of their segment
    /// group, since nothing more could be evicted. A submission that is executed in several parts counts once for each
    /// such part. One whose heaps are all resident adds nothing and does not count, even while usage is above the
    /// budget.
    pub submissions_over_budget: u64,
    /// Number of objects that the device refused to evict, which are placed resources, or were evicted by other code.
    /// They are locked from then on.
    pub refused_evictions: u64,
    /// Number of times that the operating system was queried for budgets and usage. A segment group without resident
    /// heaps is queried only every 32 submissions.
    pub budget_refreshes: u64,
}

impl ResidencyManagerStats {
    /// Returns the totals of a segment group.
    #[must_use]
    #[inline]
    pub const fn of(&self, group: SegmentGroup) -> &ResidencyGroupStats {
        match group {
            SegmentGroup::Local => &self.local,
            SegmentGroup::NonLocal => &self.non_local,
        }
    }
}

/// The description of a residency heap: `RESIDENCY_HEAP_DESC` of GPGMM.
///
/// Properties that the object itself reports need not be given. A property that contradicts the object is an error.
///
/// ```
/// use heapwright::{ByteSize, SegmentGroup};
/// use heapwright::residency::ResidencyHeapDesc;
///
/// // A heap or a committed resource tells everything; a query heap neither its size nor where it is.
/// let heap = ResidencyHeapDesc::default();
/// let queries = ResidencyHeapDesc {
///     segment_group: Some(SegmentGroup::Local),
///     size: ByteSize::from_kib(64),
///     ..Default::default()
/// };
/// assert_eq!(heap.segment_group, None);
/// assert!(!queries.size.is_zero());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyHeapDesc {
    /// Segment group of the memory, for objects whose D3D12 interface does not report it: required for descriptor heaps
    /// and query heaps on a discrete GPU. That of a heap or a committed resource follows from its heap properties, and
    /// all memory is local on UMA; another one given here is logged and ignored.
    pub segment_group: Option<SegmentGroup>,
    /// Size of the object in bytes; zero takes the object's own. A larger value is accepted (driver overhead); a
    /// smaller one is an error. Required for query heaps.
    pub size: ByteSize,
    /// Alignment of the object in bytes, for information only. `None` takes the object's own.
    pub alignment: Option<Alignment>,
    /// Initial state of the heap.
    pub flags: ResidencyHeapFlags,
    /// One of D3D12's five levels; the lower 16 bits are ignored. Heaps of a lower level are evicted before those of a
    /// higher one. `None` is NORMAL, D3D12's default.
    pub priority: Option<D3D12_RESIDENCY_PRIORITY>,
}

/// The residency of a heap: `RESIDENCY_HEAP_STATUS` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum ResidencyHeapStatus {
    /// The residency is unknown, because D3D12 does not report it: a descriptor heap or a query heap before its first
    /// use.
    #[default]
    Unknown = 0,
    /// The heap must be made resident before the GPU uses it.
    Evicted = 1,
    /// The heap is resident, or the device is making it resident.
    Resident = 2,
}

/// Size and status of a residency heap: `RESIDENCY_HEAP_INFO` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidencyHeapInfo {
    /// Size of the heap, in bytes.
    pub size: ByteSize,
    /// Alignment of the heap, in bytes.
    pub alignment: Alignment,
    /// Whether a lock keeps the heap from being evicted.
    pub is_locked: bool,
    /// The residency of the heap.
    pub status: ResidencyHeapStatus,
}

impl ResidencyHeapDesc {
    /// Checks the rules between the fields.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        let unknown = self.flags.difference(ResidencyHeapFlags::all());
        if !unknown.is_empty() {
            let rule = format!("the flag bits {:#x} are unknown", unknown.bits());
            return Err(Error::invalid_argument("ResidencyHeapDesc::flags", rule));
        }
        if let Some(other) = self.priority {
            if level(other).is_none() {
                let rule = format!("{other:#x} is not a D3D12_RESIDENCY_PRIORITY value");
                return Err(Error::invalid_argument("ResidencyHeapDesc::priority", rule));
            }
        }
        Ok(())
    }

    /// Returns the level of the priority.
    #[inline]
    pub(crate) fn level(&self) -> PriorityLevel {
        self.priority.and_then(level).unwrap_or_default()
    }
}

/// Returns the level of a priority: its upper 16 bits. The lower ones rank within a level.
#[inline]
pub(crate) fn level(priority: D3D12_RESIDENCY_PRIORITY) -> Option<PriorityLevel> {
    let levels = [
        (D3D12_RESIDENCY_PRIORITY_MINIMUM, PriorityLevel::Minimum),
        (D3D12_RESIDENCY_PRIORITY_LOW, PriorityLevel::Low),
        (D3D12_RESIDENCY_PRIORITY_NORMAL, PriorityLevel::Normal),
        (D3D12_RESIDENCY_PRIORITY_HIGH, PriorityLevel::High),
        (D3D12_RESIDENCY_PRIORITY_MAXIMUM, PriorityLevel::Maximum),
    ];
    levels.into_iter().find(|(number, _)| number >> 16 == priority >> 16).map(|(_, level)| level)
}

impl fmt::Display for ResidencyHeapStatus {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Evicted => "evicted",
            Self::Resident => "resident",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordFlags;

    fn refused(desc: ResidencyManagerDesc) -> String {
        desc.check().expect_err("invalid description").to_string()
    }

    #[test]
    fn the_default_is_gpgmms() {
        let desc = ResidencyManagerDesc::default();
        desc.check().expect("sound");
        assert_eq!(desc.max_pct(), 0.95);
        assert_eq!(desc.effective_refresh_interval(), 1);
        let flags = ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES;
        assert_eq!(ResidencyManagerDesc { flags, ..desc }.effective_refresh_interval(), 32);
        assert_eq!(ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES.bits(), 1);
        assert_eq!(ResidencyManagerFlags::NEVER_USE_UNIFIED_MEMORY.bits(), 2);
        assert_eq!(ResidencyManagerFlags::ALWAYS_IN_BUDGET.bits(), 4);
    }

    #[test]
    fn invalid_fields_are_named() {
        let base = ResidencyManagerDesc::default;
        let flags = ResidencyManagerFlags::from_bits_retain(0x10);
        assert_eq!(
            refused(ResidencyManagerDesc { flags, ..base() }),
            "ResidencyManagerDesc::flags: the flag bits 0x10 are unknown"
        );
        for part in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
            let max = Some(part);
            let message = refused(ResidencyManagerDesc { max_pct_of_video_memory_to_budget: max, ..base() });
            assert!(message.contains("max_pct_of_video_memory_to_budget"), "{part}: {message}");
        }
        for part in [-0.1, 1.01, f64::NAN] {
            let message =
                refused(ResidencyManagerDesc { min_pct_of_budget_to_reserve: Some(part), ..base() });
            assert!(message.contains("min_pct_of_budget_to_reserve"), "{part}: {message}");
        }
        let flags = RecordFlags::from_bits_retain(0x100);
        let record_options = RecordOptions { flags, ..Default::default() };
        assert_eq!(
            refused(ResidencyManagerDesc { record_options, ..base() }),
            "ResidencyManagerDesc::record_options: the flag bits 0x100 are unknown"
        );
        let initial_fence_value = FenceValue::DEVICE_REMOVED;
        assert!(refused(ResidencyManagerDesc { initial_fence_value, ..base() }).contains("removed"));
    }

    #[test]
    fn max_budget_excludes_budget_override() {
        let budgets = GroupBudgets { local: ByteSize::from_mib(1), non_local: ByteSize::from_mib(2) };
        let budget_override = Some(budgets);
        let max_budget = ByteSize::from_mib(100);
        let both = ResidencyManagerDesc { budget_override, max_budget, ..Default::default() };
        assert!(refused(both).starts_with("ResidencyManagerDesc::max_budget: "));
        // In the reference the percentage is ignored if a maximum is set. GPGMM's code rejects both together.
        let half = Some(0.5);
        let percentage = ResidencyManagerDesc {
            max_budget,
            max_pct_of_video_memory_to_budget: half,
            ..Default::default()
        };
        percentage.check().expect("ignored percentage");
        assert_eq!(percentage.max_pct(), 1.0);
    }

    #[test]
    fn invalid_fields_of_heaps_are_named() {
        let flags = ResidencyHeapFlags::from_bits_retain(0x18);
        let unknown = ResidencyHeapDesc { flags, ..Default::default() };
        let none = ResidencyHeapDesc { priority: Some(7), ..Default::default() };
        for (desc, says) in [
            (unknown, "ResidencyHeapDesc::flags: the flag bits 0x18 are unknown"),
            (none, "ResidencyHeapDesc::priority: 0x7 is not a D3D12_RESIDENCY_PRIORITY value"),
        ] {
            assert_eq!(desc.check().expect_err("invalid").to_string(), says);
        }
        for (priority, level) in [
            (None, PriorityLevel::Normal),
            (Some(D3D12_RESIDENCY_PRIORITY_MINIMUM), PriorityLevel::Minimum),
            (Some(D3D12_RESIDENCY_PRIORITY_LOW + 7), PriorityLevel::Low),
            (Some(D3D12_RESIDENCY_PRIORITY_HIGH), PriorityLevel::High),
            (Some(D3D12_RESIDENCY_PRIORITY_MAXIMUM), PriorityLevel::Maximum),
        ] {
            let desc = ResidencyHeapDesc { priority, ..Default::default() };
            desc.check().expect("a D3D12 priority");
            assert_eq!(desc.level(), level);
        }
    }
}
