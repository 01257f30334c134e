//! The GPU virtual addresses of the driver's objects.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use heapwright_core::GpuVirtualAddress;

use super::heap::VulkanHeap;
use crate::drivers::page_fault::{FaultCause, PageFault};
use crate::drivers::tiles::TileTable;

/// The objects of an adapter by their first address.
#[derive(Default)]
pub(super) struct AddressMap {
    objects: RwLock<BTreeMap<u64, (u64, Target)>>,
}

/// The owner of a range of addresses. It is weak, so that accesses fault once the owner is gone.
#[derive(Clone)]
pub(super) enum Target {
    Heap(Weak<VulkanHeap>),
    Tiles(Weak<TileTable>),
}

/// The memory at an address.
pub(super) enum Located {
    /// A heap.
    Heap(Arc<VulkanHeap>),
    /// The tiles of a reserved resource from an offset on, and the number of bytes to the end of the resource.
    Tiles { tiles: Arc<TileTable>, offset: u64, left: u64 },
}

impl AddressMap {
    /// Adds an object.
    pub(super) fn insert(&self, start: GpuVirtualAddress, size: u64, target: Target) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.insert(start.get(), (size, target));
    }

    /// Removes an object.
    pub(super) fn remove(&self, start: GpuVirtualAddress) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&start.get());
    }

    /// Returns what is at an address. O(log objects).
    pub(super) fn locate(&self, address: u64) -> Result<Located, PageFault> {
        let fault = || PageFault::new(address, FaultCause::Unmapped);
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let (&start, (size, target)) = objects.range(..=address).next_back().ok_or_else(fault)?;
        let offset = address - start;
        let left = size.checked_sub(offset).filter(|&left| left > 0).ok_or_else(fault)?;
        match target {
            Target::Heap(heap) => heap.upgrade().map(Located::Heap),
            Target::Tiles(tiles) => tiles.upgrade().map(|tiles| Located::Tiles { tiles, offset, left }),
        }
        .ok_or_else(fault)
    }

    /// Returns the first address of a range at which an object exists. O(log objects).
    pub(super) fn first_used(&self, start: u64, end: u64) -> Option<u64> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let before = objects.range(..=start).next_back();
        if before.is_some_and(|(&at, (size, _))| start - at < *size) {
            return Some(start);
        }
        objects.range(start..end).next().map(|(&at, _)| at)
    }
}
