//! The connection of the allocator with a residency manager.
//!
//! Every heap of the allocator and every committed resource is a residency heap of the manager, for its lifetime. The
//! manager makes memory available before the device is called, lists refer to the heap by
//! [`ResourceAllocation::memory`](crate::ResourceAllocation::memory), and mappings lock it. Placing a resource in a
//! heap does not involve the manager.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use crate::Error;
use crate::residency::ResidencyHeap;

/// Resources with memory of their own, by the address of the object. A resource that is imported twice, or created here
/// and then imported, is one residency heap.
#[derive(Debug, Default)]
pub(crate) struct OwnMemory {
    known: Mutex<HashMap<usize, Weak<ResidencyHeap>>>,
}

/// The residency heap of a resource with memory of its own.
#[derive(Debug, Clone)]
pub(crate) struct OwnHeap {
    /// `None` only while it is dropped.
    heap: Option<Arc<ResidencyHeap>>,
    key: usize,
    registry: Arc<OwnMemory>,
}

impl OwnMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Weak<ResidencyHeap>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(resource: &ID3D12Resource) -> Result<usize, Error> {
        let identity: IUnknown =
            resource.cast().map_err(|error| Error::device("QueryInterface for IUnknown", error.code()))?;
        Ok(identity.as_raw() as usize)
    }

    /// Adds a resource that was just created.
    pub(crate) fn enter(
        self: &Arc<Self>,
        resource: &ID3D12Resource,
        heap: ResidencyHeap,
    ) -> Result<OwnHeap, Error> {
        let key = Self::key(resource)?;
        let heap = Arc::new(heap);
        self.lock().insert(key, Arc::downgrade(&heap));
        Ok(OwnHeap { heap: Some(heap), key, registry: Arc::clone(self) })
    }

    /// Returns the residency heap of a resource. `manage` creates it if there is none.
    ///
    /// The lock is held meanwhile, so that two threads create only one.
    pub(crate) fn find_or_manage(
        self: &Arc<Self>,
        resource: &ID3D12Resource,
        manage: impl FnOnce() -> Result<ResidencyHeap, Error>,
    ) -> Result<OwnHeap, Error> {
        let key = Self::key(resource)?;
        let mut known = self.lock();
        let heap = match known.get(&key).and_then(Weak::upgrade) {
            Some(heap) => heap,
            None => {
                let heap = Arc::new(manage()?);
                known.insert(key, Arc::downgrade(&heap));
                heap
            }
        };
        drop(known);
        Ok(OwnHeap { heap: Some(heap), key, registry: Arc::clone(self) })
    }
}

impl OwnHeap {
    pub(crate) fn heap(&self) -> Option<&ResidencyHeap> {
        self.heap.as_deref()
    }

    pub(crate) fn reference(&self) -> Option<MemoryReference> {
        Some(MemoryReference { heap: self.heap.clone()?, own: Some(self.clone()) })
    }
}

/// The memory of an allocation as the residency manager knows it, kept alive.
///
/// While one exists, the heap stays in the manager's books and is not released to the device, even after the allocation
/// and its allocator were dropped. The allocator no longer counts it then.
#[derive(Debug)]
pub struct MemoryReference {
    /// Dropped first, so that the last `OwnHeap` finds itself to be the last.
    heap: Arc<ResidencyHeap>,
    own: Option<OwnHeap>,
}

impl MemoryReference {
    /// Creates a reference to a heap, which is a user of it.
    pub(crate) fn of_heap(heap: Arc<ResidencyHeap>) -> Self {
        heap.add_user();
        Self { heap, own: None }
    }
}

impl Clone for MemoryReference {
    fn clone(&self) -> Self {
        match &self.own {
            None => Self::of_heap(Arc::clone(&self.heap)),
            Some(_) => Self { heap: Arc::clone(&self.heap), own: self.own.clone() },
        }
    }
}

impl Drop for MemoryReference {
    fn drop(&mut self) {
        if self.own.is_none() {
            self.heap.remove_user();
        }
    }
}

impl Deref for MemoryReference {
    type Target = ResidencyHeap;

    fn deref(&self) -> &ResidencyHeap {
        &self.heap
    }
}

impl Drop for OwnHeap {
    fn drop(&mut self) {
        let Some(heap) = self.heap.take() else { return };
        // Dropped without the lock.
        let _last = {
            let mut known = self.registry.lock();
            // Under the lock, so that no other thread finds it while it is being dropped, or finds the resource still
            // managed.
            let mut last = Arc::into_inner(heap);
            if let Some(last) = &mut last {
                known.remove(&self.key);
                last.end();
            }
            last
        };
    }
}

/// Keeps memory resident until it is dropped.
#[derive(Debug)]
pub(crate) struct KeptResident<'a>(&'a ResidencyHeap);

impl<'a> KeptResident<'a> {
    /// Makes the memory resident if it is not.
    pub(crate) fn new(heap: &'a ResidencyHeap) -> Result<Self, Error> {
        heap.keep_resident()?;
        Ok(Self(heap))
    }

    /// Takes over a lock from before, which is unlocked when this is dropped.
    pub(crate) fn of_locked(heap: &'a ResidencyHeap) -> Self {
        Self(heap)
    }
}

impl Drop for KeptResident<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.let_go() {
            // Every holder of the heap may unlock it.
            tracing::warn!(%error, "residency heap unlocked more often than it was locked");
        }
    }
}
