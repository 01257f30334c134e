//! Something that can be resident.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::residency::{ManagedHeapId, Status};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::Interface;

use super::desc::{ResidencyHeapDesc, ResidencyHeapInfo, ResidencyHeapStatus};
use super::paged_object::PagedObject;
use super::shared::{Leaving, Shared};
use super::{ResidencyManager, creation};
use crate::{Error, SegmentGroup};

/// An object that can be resident or evicted: `IResidencyHeap` (document GPGMM). A heap, a committed resource, a descriptor heap, a
/// query heap.
///
/// It is one entry of its [manager](Self::manager)'s books, and holds a reference to the object. Dropping it takes the object out of the books and
/// gives the reference back; lists that name it are refused from then on. As always in D3D12, the GPU must be done with the object when
/// its last reference goes.
///
/// Without a manager it is what D3D12 made it, and nobody pages it.
pub struct ResidencyHeap {
    object: PagedObject,
    size: ByteSize,
    alignment: Alignment,
    group: SegmentGroup,
    manager: Option<(Arc<Shared>, ManagedHeapId)>,
    debug_name: Mutex<Option<Arc<str>>>,
    /// The last: dropped when the object's reference is given back.
    leaving: Option<Leaving>,
}

impl ResidencyHeap {
    pub(super) fn from_parts(
        object: PagedObject,
        (size, alignment): (ByteSize, Alignment),
        group: SegmentGroup,
        manager: Option<(Arc<Shared>, ManagedHeapId)>,
    ) -> Self {
        Self { object, size, alignment, group, manager, debug_name: Mutex::default(), leaving: None }
    }

    /// Makes a residency heap of an object that exists: the simpler `CreateResidencyHeap` (document GPGMM).
    ///
    /// With a manager this is [`ResidencyManager::manage`]; without one nobody pages the object.
    ///
    /// # Errors
    ///
    /// As [`ResidencyManager::manage`]. Without a manager: invalid argument for any flag but
    /// [`CREATE_RESIDENT`](super::ResidencyHeapFlags::CREATE_RESIDENT), which has no effect, and a warning says so.
    pub fn new(
        desc: &ResidencyHeapDesc,
        manager: Option<&ResidencyManager>,
        pageable: &ID3D12Pageable,
    ) -> Result<Self, Error> {
        creation::adopt(desc, manager.map(ResidencyManager::shared), pageable)
    }

    /// Creates an object and makes a residency heap of it: `CreateResidencyHeap` with a callback (document GPGMM).
    ///
    /// `create` is called once room has been made, and not at all when something is wrong before.
    ///
    /// # Errors
    ///
    /// As [`ResidencyManager::create_heap`]. Without a manager: invalid argument for any flag.
    pub fn create_with(
        desc: &ResidencyHeapDesc,
        manager: Option<&ResidencyManager>,
        create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
    ) -> Result<Self, Error> {
        creation::create(desc, manager.map(ResidencyManager::shared), create)
    }

    /// The object.
    #[must_use]
    pub fn pageable(&self) -> &ID3D12Pageable {
        self.object.pageable()
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.size
    }

    /// Where its memory is.
    #[must_use]
    pub fn segment_group(&self) -> SegmentGroup {
        self.group
    }

    /// Its manager: `GetResidencyManager`.
    #[must_use]
    pub fn manager(&self) -> Option<ResidencyManager> {
        self.manager.as_ref().map(|(shared, _)| ResidencyManager::from_shared(Arc::clone(shared)))
    }

    /// What is known of it: `GetInfo`. O(1), under the manager's lock.
    #[must_use]
    pub fn info(&self) -> ResidencyHeapInfo {
        let state = self.manager.as_ref().and_then(|(shared, id)| shared.lock().planner.heap(*id));
        let (is_locked, status) = match state {
            None => (false, ResidencyHeapStatus::Unknown),
            Some(state) => (
                state.locks > 0,
                match state.status {
                    Status::Unknown => ResidencyHeapStatus::Unknown,
                    Status::Evicted | Status::Arriving => ResidencyHeapStatus::Evicted,
                    Status::Resident => ResidencyHeapStatus::Resident,
                },
            ),
        };
        ResidencyHeapInfo { size: self.size, alignment: self.alignment, is_locked, status }
    }

    /// Makes it resident, and keeps it so until it is unlocked as often as it was locked: `Lock`.
    ///
    /// Waits until it is resident, and for the GPU if nothing can be evicted before; no lock of the manager is held meanwhile.
    ///
    /// # Errors
    ///
    /// Invalid argument without a manager; out of memory; what the device answers. Nothing is locked then.
    pub fn lock(&self) -> Result<(), Error> {
        let (shared, id) = self.require_manager()?;
        shared.lock_heap(id)
    }

    /// Takes one lock away, and answers how many are left: `Unlock`. O(1), under the manager's lock.
    ///
    /// # Errors
    ///
    /// Invalid argument without a lock, or without a manager.
    pub fn unlock(&self) -> Result<u32, Error> {
        let (shared, id) = self.require_manager()?;
        shared.unlock_heap(id)
    }

    /// Changes its priority, one of D3D12's five levels, for the manager and, where the device has them, for D3D12.
    ///
    /// # Errors
    ///
    /// Invalid argument for any other number, or without a manager.
    pub fn set_residency_priority(&self, priority: D3D12_RESIDENCY_PRIORITY) -> Result<(), Error> {
        let (shared, id) = self.require_manager()?;
        shared.set_priority(id, self.pageable(), priority)
    }

    /// Gives it a name, which the object gets too: `SetDebugName`.
    pub fn set_debug_name(&self, name: &str) {
        *self.debug_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::from(name));
        if let Ok(object) = self.pageable().cast::<ID3D12Object>() {
            let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
            // SAFETY: a live COM object, and a terminated string that outlives the call. Whether it takes the name changes nothing.
            let _ = unsafe { object.SetName(PCWSTR(wide.as_ptr())) };
        }
    }

    /// The name that it was given.
    #[must_use]
    pub fn debug_name(&self) -> Option<Arc<str>> {
        self.debug_name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of its manager, and what the manager knows it by.
    #[inline]
    pub(super) fn managed(&self) -> Option<(u64, ManagedHeapId)> {
        self.manager.as_ref().map(|(shared, id)| (shared.number(), *id))
    }

    fn require_manager(&self) -> Result<(&Arc<Shared>, ManagedHeapId), Error> {
        match &self.manager {
            Some((shared, id)) => Ok((shared, *id)),
            None => Err(Error::invalid_argument("residency heap", "has no residency manager")),
        }
    }
}

impl Drop for ResidencyHeap {
    fn drop(&mut self) {
        // First out of the books, then back to the device. Until then it counts: usage is never taken for less than it is.
        self.leaving = self.manager.take().map(|(shared, id)| shared.remove_heap(id));
    }
}

impl fmt::Debug for ResidencyHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidencyHeap")
            .field("size", &self.size)
            .field("alignment", &self.alignment)
            .field("segment_group", &self.group)
            .field("managed", &self.managed())
            .field("debug_name", &self.debug_name())
            .finish_non_exhaustive()
    }
}
