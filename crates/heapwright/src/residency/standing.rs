//! How much is used, and how much could not be evicted: what an allocator asks before it creates anything.

use heapwright_core::ByteSize;
use heapwright_d3d12::ID3D12Device;

use super::ResidencyManager;
use crate::{Error, SegmentGroup};

impl ResidencyManager {
    /// Whether usage never exceeds the budget.
    #[inline]
    pub(crate) fn is_always_in_budget(&self) -> bool {
        self.shared().is_always_in_budget()
    }

    /// That `device` is the manager's.
    pub(crate) fn check_device(&self, device: &ID3D12Device) -> Result<(), Error> {
        use windows_core::{IUnknown, Interface};

        let identity = |device: &ID3D12Device| device.cast::<IUnknown>().ok();
        let ours = identity(self.device());
        if ours.is_some() && ours == identity(device) {
            return Ok(());
        }
        Err(Error::invalid_argument("residency manager", "belongs to another device"))
    }

    /// What counts against the budget of a segment group, and the budget. Nobody is asked. O(1), under the manager's lock.
    pub(crate) fn usage_and_budget(&self, group: SegmentGroup) -> (ByteSize, ByteSize) {
        let shared = self.shared();
        let mut state = shared.lock();
        state.apply_memory(&shared.budgets);
        let group = state.planner.effective_group(group);
        (state.planner.usage(group), state.planner.memory(group).budget)
    }

    /// What would still count when everything was evicted that is not locked, and the budget. O(1), under the manager's lock.
    pub(crate) fn needed_and_budget(&self, group: SegmentGroup) -> (ByteSize, ByteSize) {
        let shared = self.shared();
        let mut state = shared.lock();
        state.apply_memory(&shared.budgets);
        let group = state.planner.effective_group(group);
        let memory = state.planner.memory(group);
        (state.planner.totals(group).locked.saturating_add(memory.external), memory.budget)
    }
}
