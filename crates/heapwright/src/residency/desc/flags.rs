//! Flags with GPGMM's names and values.

use bitflags::bitflags;

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
        /// On UMA, still separates the segment groups, and logs a warning: the non-local group usually has no budget
        /// there. On other architectures it has no effect.
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
