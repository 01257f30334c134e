//! What the allocator and a residency manager have to do with each other.
//!
//! Every heap of the allocator and every committed resource is a residency heap of the manager, for as long as it lives: room is made
//! for it in the budget before the device is asked, lists name it by [`ResourceAllocation::memory`](crate::ResourceAllocation::memory),
//! mappings lock it. Placing a resource in a heap asks the manager nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use super::device_resource::Refused;
use super::heap::Heap;

use super::refusal::Refusal;
use crate::error::{MemorySource, Obstacle};
use crate::residency::{
    ResidencyHeap, ResidencyHeapDesc, ResidencyHeapFlags, ResidencyHeapStatus, ResidencyManager,
};
use crate::{Error, SegmentGroup};

/// Memory that is to be created, as a manager hears of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewMemory {
    pub(crate) group: SegmentGroup,
    pub(crate) size: ByteSize,
    /// Those that it is created with.
    pub(crate) flags: D3D12_HEAP_FLAGS,
    pub(crate) within_budget: bool,
    pub(crate) priority: Option<D3D12_RESIDENCY_PRIORITY>,
}

/// Why there is no memory.
#[derive(Debug)]
pub(crate) enum NotCreated<E> {
    /// The device refused it.
    Device(E),
    /// The manager could not make room.
    NoRoom(Obstacle),
    /// The manager met with something else.
    Failed(Error),
}

impl<E> NotCreated<E> {
    /// As a refusal of `source`; `of_device` says what the device's answer means.
    pub(crate) fn into_refusal(self, source: MemorySource, of_device: impl FnOnce(E) -> Refusal) -> Refusal {
        match self {
            Self::Device(answer) => of_device(answer),
            Self::NoRoom(obstacle) => Refusal::of(source, obstacle),
            Self::Failed(error) => error.into(),
        }
    }
}

/// Creates memory that a manager knows, after it has made room.
///
/// What is created evicted needs no room.
pub(crate) fn create_managed<T, E>(
    manager: &ResidencyManager,
    new: NewMemory,
    create: impl FnOnce() -> Result<T, E>,
) -> Result<(T, ResidencyHeap), NotCreated<E>>
where
    T: Clone + Into<ID3D12Pageable>,
{
    let begins_evicted = begins_evicted(new.flags);
    let desc = ResidencyHeapDesc {
        // With group and size the manager makes room before the device is asked. Nothing is needed for what begins evicted.
        segment_group: (!begins_evicted).then_some(new.group),
        size: if begins_evicted { ByteSize::ZERO } else { new.size },
        flags: if new.within_budget {
            ResidencyHeapFlags::CREATE_IN_BUDGET
        } else {
            ResidencyHeapFlags::empty()
        },
        // What is none of D3D12's levels, the device has refused with a warning.
        priority: new.priority.filter(|&priority| crate::residency::level(priority).is_some()),
        ..Default::default()
    };
    let mut made = None;
    let managed = manager.create_heap(&desc, || {
        let object = made.insert(create()).as_ref().map(|object| object.clone().into());
        // What it was is in `made`.
        object.map_err(|_| E_FAIL.into())
    });
    match (made, managed) {
        (Some(Err(answer)), _) => Err(NotCreated::Device(answer)),
        (Some(Ok(object)), Ok(managed)) => Ok((object, managed)),
        (_, Err(error)) if error.is_out_of_memory() => {
            let (usage, budget) = manager.usage_and_budget(new.group);
            Err(NotCreated::NoRoom(Obstacle::Budget { group: new.group, budget, usage }))
        }
        (_, Err(error)) => Err(NotCreated::Failed(error)),
        (None, Ok(_)) => Err(NotCreated::Failed(Error::device("ResidencyManager::create_heap", E_FAIL))),
    }
}

/// Whether memory with these heap flags is evicted when it is created, and needs no room then.
pub(crate) const fn begins_evicted(flags: D3D12_HEAP_FLAGS) -> bool {
    flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0
}

/// Resources that are memory of their own, by the address of the object: one that is imported twice, or made here and then imported, is
/// one residency heap.
#[derive(Debug, Default)]
pub(crate) struct OwnMemory {
    known: Mutex<BTreeMap<usize, Weak<ResidencyHeap>>>,
}

/// The residency heap of a resource that is memory of its own.
#[derive(Debug)]
pub(crate) struct OwnHeap {
    /// `None` only while it is dropped.
    heap: Option<Arc<ResidencyHeap>>,
    key: usize,
    registry: Arc<OwnMemory>,
}

impl OwnMemory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Weak<ResidencyHeap>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(resource: &ID3D12Resource) -> Result<usize, Error> {
        let identity: IUnknown =
            resource.cast().map_err(|error| Error::device("QueryInterface for IUnknown", error.code()))?;
        Ok(identity.as_raw() as usize)
    }

    /// Enters a resource that was just made.
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

    /// The residency heap of a resource, which `manage` makes if it has none.
    ///
    /// The lock is held meanwhile, so that two threads make one. Nothing waits under it: the object is only asked what it is.
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
}

impl Drop for OwnHeap {
    fn drop(&mut self) {
        let Some(heap) = self.heap.take() else { return };
        let mut known = self.registry.lock();
        // Under the lock, so that nobody finds it on its way out.
        let last = Arc::into_inner(heap);
        if last.is_some() {
            known.remove(&self.key);
        }
        drop(known);
        drop(last);
    }
}

/// Places a resource in a heap; in one that is evicted again once it is resident, if the device refused it.
///
/// D3D12 does not say whether a heap must be resident for that, and devices are known that want it. A shortage and a removed
/// device are no such refusal.
pub(crate) fn place_resident(
    heap: &Heap,
    place: impl Fn() -> Result<ID3D12Resource, Refused>,
) -> Result<ID3D12Resource, Refused> {
    let refused = match place() {
        Err(refused) if refused.hresult == E_INVALIDARG => refused,
        other => return other,
    };
    let Some(memory) = heap.residency() else { return Err(refused) };
    if memory.info().status == ResidencyHeapStatus::Resident {
        return Err(refused);
    }
    match KeptResident::new(memory) {
        Ok(_kept) => place(),
        Err(_) => Err(refused),
    }
}

/// Keeps memory resident until it is dropped.
#[derive(Debug)]
pub(crate) struct KeptResident<'a>(&'a ResidencyHeap);

impl<'a> KeptResident<'a> {
    /// Makes it resident if it is not.
    pub(crate) fn new(heap: &'a ResidencyHeap) -> Result<Self, Error> {
        heap.lock()?;
        Ok(Self(heap))
    }

    /// Memory that was locked before, which is unlocked when this is dropped.
    pub(crate) fn of_locked(heap: &'a ResidencyHeap) -> Self {
        Self(heap)
    }
}

impl Drop for KeptResident<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            // Everybody who has the heap may unlock it.
            tracing::warn!(%error, "a residency heap was unlocked more often than it was locked");
        }
    }
}
