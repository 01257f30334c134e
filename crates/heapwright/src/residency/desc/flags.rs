//! GPGMM's flags under GPGMM's numbers.

use bitflags::bitflags;

bitflags! {
    /// How a residency manager behaves: `RESIDENCY_MANAGER_FLAGS` (document GPGMM).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResidencyManagerFlags: u32 {
        /// A thread waits for the operating system's notifications and takes over what they say. Where they cannot be had, a warning is
        /// logged, and budgets are asked for every [`refresh_interval`](crate::residency::ResidencyManagerDesc::refresh_interval) submissions, as
        /// without the flag.
        ///
        /// On devices with `ID3D12Device15` it also hears trim notifications: a periodic one evicts what is idle and was not used since the one
        /// before, however much room there is; one that asks for bytes evicts so many of what is idle.
        const ALLOW_BACKGROUND_BUDGET_UPDATES = 0x1;
        /// On UMA the segment groups are kept apart all the same, and a warning is logged: the non-local one has no budget there as a
        /// rule. Elsewhere it has no effect.
        const NEVER_USE_UNIFIED_MEMORY = 0x2;
        /// What does not fit into the budget is refused as out of memory, where usage would exceed the budget otherwise.
        const ALWAYS_IN_BUDGET = 0x4;
    }
}

bitflags! {
    /// How a residency heap begins: `RESIDENCY_HEAP_FLAGS` (document GPGMM).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResidencyHeapFlags: u32 {
        /// The heap is created within the budget, for which others are evicted, or not at all. Nothing is to be done for a heap that
        /// is created evicted.
        const CREATE_IN_BUDGET = 0x1;
        /// A heap of which D3D12 does not tell whether it is resident (a descriptor heap, a query heap) is resident when it is handed out,
        /// and managed from then on. Without effect on others: what was created evicted stays so until it is used or locked.
        const CREATE_RESIDENT = 0x2;
        /// The heap is handed out with one lock, which wants its unlock.
        const CREATE_LOCKED = 0x4;
    }
}
