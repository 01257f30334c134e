//! The estimated time that a device takes for heaps.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapCosts;

use super::accounts::Accounts;
use crate::HeapType;

/// Returns what heaps of a type cost on a discrete GPU. With unified memory they cost less.
const fn costs_of(heap_type: HeapType) -> HeapCosts {
    match heap_type {
        HeapType::Upload | HeapType::Readback => HeapCosts::host_visible(),
        HeapType::Default | HeapType::GpuUpload => HeapCosts::device_local(),
    }
}

/// Adds the estimated time to create a heap to its accounts, and when dropped that to free it.
#[derive(Debug)]
pub(crate) struct HeapTime {
    accounts: Arc<Accounts>,
    heap_type: HeapType,
    size: ByteSize,
}

impl HeapTime {
    /// Records that a heap was created, implicitly or not.
    pub(crate) fn of_new(accounts: &Arc<Accounts>, heap_type: HeapType, size: ByteSize) -> Self {
        accounts.add_heap_time(costs_of(heap_type).of(size).create);
        Self { accounts: Arc::clone(accounts), heap_type, size }
    }
}

impl Drop for HeapTime {
    fn drop(&mut self) {
        self.accounts.add_heap_time(costs_of(self.heap_type).of(self.size).free);
    }
}
