//! Descriptions of residency managers.

use std::time::Duration;

use heapwright_core::residency::policy::PolicyKind;
use heapwright_core::{ByteSize, FenceValue};

use super::{GroupBudgets, ResidencyManagerFlags};
use crate::{Error, RecordOptions};

/// The description of a residency manager: `RESIDENCY_MANAGER_DESC` of GPGMM, with additional fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResidencyManagerDesc {
    /// Flags; none by default.
    pub flags: ResidencyManagerFlags,
    /// The events to record.
    pub record_options: RecordOptions,
    /// Maximum fraction of the operating system's budget that may be used, above 0 and at most 1; `None` is 0.95. Ignored with a warning if
    /// `max_budget` is set.
    pub max_pct_of_video_memory_to_budget: Option<f64>,
    /// Maximum fraction of the operating system's budget that may be reserved, 0 to 1; `None` is 0.5. (GPGMM calls it a minimum; its code
    /// makes it a maximum.)
    pub min_pct_of_budget_to_reserve: Option<f64>,
    /// Maximum usage of each segment group, in bytes, in addition to the usage of the process when the manager is
    /// created. Zero is no limit other than the budget. Mutually exclusive with `budget_override`.
    pub max_budget: ByteSize,
    /// Minimum number of bytes to evict when the device is out of memory although the budget is not exceeded. Zero is
    /// 50 MiB.
    pub evict_size: ByteSize,
    /// Initial value of the manager's fences.
    pub initial_fence_value: FenceValue,
    /// Budgets, less the reservations, that replace the operating system's. Usage is still the operating system's. Without an adapter, either this or `max_budget` is required.
    pub budget_override: Option<GroupBudgets>,
    /// Number of submissions after which the operating system is queried again; zero is 1, and 32 with
    /// [`ALLOW_BACKGROUND_BUDGET_UPDATES`](ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES).
    ///
    /// External usage, the process's usage apart from the manager's heaps, may be out of date by this interval; budgets
    /// too, if there are no notifications. A segment group without resident heaps is queried only every 32 submissions. A
    /// query is a kernel call on Windows. With
    /// [`ALLOW_BACKGROUND_BUDGET_UPDATES`](ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) the thread makes it.
    pub refresh_interval: u64,
    /// Policy that selects the heaps that are evicted first.
    pub policy: PolicyKind,
    /// How long a thread waits for memory while the queue that it waits for makes no progress, before usage exceeds the
    /// budget (or, with [`ALWAYS_IN_BUDGET`](ResidencyManagerFlags::ALWAYS_IN_BUDGET), the call fails); zero is 2
    /// seconds. Time in which the whole process stands still does not count.
    ///
    /// It is also how long the thread waits in all for submissions that others made after its first wait, whatever progress
    /// they make, since they may never stop using the memory.
    ///
    /// Windows resets a GPU that makes no progress for 2 seconds. A queue that makes none for longer therefore waits
    /// for work that is not submitted yet, perhaps by the waiting thread.
    pub max_stall: Duration,
}

impl ResidencyManagerDesc {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let error = |field, rule: String| Err(Error::invalid_argument(field, rule));
        let unknown = self.flags.difference(ResidencyManagerFlags::all());
        if !unknown.is_empty() {
            return error("ResidencyManagerDesc::flags", format!("unknown flag bits {:#x}", unknown.bits()));
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
    pub(crate) fn max_pct(&self) -> f64 {
        if self.max_budget.is_zero() { self.max_pct_of_video_memory_to_budget.unwrap_or(0.95) } else { 1.0 }
    }

    /// Returns the fraction of the operating system's budget that may be reserved.
    pub(crate) fn reservation_cap(&self) -> f64 {
        self.min_pct_of_budget_to_reserve.unwrap_or(0.5)
    }

    /// Returns the minimum number of bytes to evict when the device is out of memory.
    pub(crate) fn effective_evict_size(&self) -> ByteSize {
        if self.evict_size.is_zero() { ByteSize::from_mib(50) } else { self.evict_size }
    }

    /// Returns how long the GPU may make no progress.
    pub(crate) fn effective_max_stall(&self) -> Duration {
        if self.max_stall.is_zero() { Duration::from_secs(2) } else { self.max_stall }
    }

    /// Returns the number of submissions between two queries.
    pub(crate) fn effective_refresh_interval(&self) -> u64 {
        let is_told = self.flags.contains(ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES);
        match (self.refresh_interval, is_told) {
            (0, false) => 1,
            (0, true) => 32,
            (interval, _) => interval,
        }
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
        assert_eq!((desc.max_pct(), desc.reservation_cap()), (0.95, 0.5));
        assert_eq!(desc.effective_evict_size(), ByteSize::from_mib(50));
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
            "ResidencyManagerDesc::flags: unknown flag bits 0x10"
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
            "ResidencyManagerDesc::record_options: unknown flag bits 0x100"
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
        let percentage = ResidencyManagerDesc {
            max_budget,
            max_pct_of_video_memory_to_budget: Some(0.5),
            ..Default::default()
        };
        percentage.check().expect("ignored percentage");
        assert_eq!(percentage.max_pct(), 1.0);
    }
}
