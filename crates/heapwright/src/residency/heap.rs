//! Objects that can be resident or evicted.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::residency::{ManagedHeapId, Status};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::Interface;

use super::desc::{ResidencyHeapInfo, ResidencyHeapStatus, level};
use super::paged_object::PagedObject;
use super::parts::ManagerParts;
use super::recorded::ManagerRecording;
use crate::recording::{RecordedHeap, name_args};
use crate::{Error, SegmentGroup};

/// An object that can be resident or evicted: `IResidencyHeap` of GPGMM. It is a heap, a committed resource, a
/// descriptor heap or a query heap.
///
/// It is one entry of its [manager](Self::manager)'s books, and holds a reference to the object. Dropping it removes
/// the entry and releases the reference; lists that contain it can no longer be executed. As always in D3D12, the GPU
/// must have finished with the object when its last reference is released.
///
/// Without a manager, the object keeps the residency that D3D12 gave it.
pub struct ResidencyHeap {
    object: PagedObject,
    size: ByteSize,
    alignment: Alignment,
    group: SegmentGroup,
    manager: Option<(Arc<ManagerParts>, ManagedHeapId)>,
    debug_name: Mutex<Option<Arc<str>>>,
    /// The heap in the manager's recording.
    recorded: Option<RecordedHeap>,
    /// The last field, so that it is dropped after the reference to the object.
    released: Option<ReleasedBytes>,
}

/// Bytes that count as used after a heap was removed from the books, until this is dropped.
struct ReleasedBytes {
    manager: Arc<ManagerParts>,
    group: SegmentGroup,
    bytes: ByteSize,
}

impl Drop for ReleasedBytes {
    fn drop(&mut self) {
        if !self.bytes.is_zero() {
            self.manager.pager.books.release_pending(self.group, self.bytes);
        }
    }
}

impl ResidencyHeap {
    pub(super) fn from_parts(
        object: PagedObject,
        (size, alignment): (ByteSize, Alignment),
        group: SegmentGroup,
        manager: Option<(Arc<ManagerParts>, ManagedHeapId)>,
    ) -> Self {
        Self {
            object,
            size,
            alignment,
            group,
            manager,
            debug_name: Mutex::default(),
            recorded: None,
            released: None,
        }
    }

    /// Returns the object.
    #[must_use]
    pub fn pageable(&self) -> &ID3D12Pageable {
        self.object.pageable()
    }

    /// Returns the size, in bytes.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.size
    }

    /// Returns the segment group that the memory is in.
    #[must_use]
    pub fn segment_group(&self) -> SegmentGroup {
        self.group
    }

    /// Returns size, alignment, locks and status: `GetInfo`. O(1), under the manager's lock.
    #[must_use]
    pub fn info(&self) -> ResidencyHeapInfo {
        let state =
            self.manager.as_ref().and_then(|(manager, id)| manager.pager.books.lock().planner.heap(*id));
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

    /// Makes the heap resident, and keeps it resident until it is unlocked as often as it was locked: `Lock`.
    ///
    /// Waits until it is resident, and for the GPU if nothing can be evicted before. No lock of the manager is held
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// Invalid argument without a manager; out of memory; otherwise the device's error. Nothing is locked then.
    pub fn lock(&self) -> Result<(), Error> {
        let (manager, id) = self.require_manager()?;
        manager.traced("ResidencyHeap.Lock", || self.recorded_args(), || manager.pager.lock_heap(id))
    }

    /// Removes one lock, and returns how many are left: `Unlock`. O(1), under the manager's lock.
    ///
    /// # Errors
    ///
    /// Invalid argument without a lock, or without a manager.
    pub fn unlock(&self) -> Result<u32, Error> {
        let (manager, id) = self.require_manager()?;
        manager.traced(
            "ResidencyHeap.Unlock",
            || self.recorded_args(),
            || manager.pager.books.unlock_heap(id),
        )
    }

    /// Sets the priority, one of D3D12's five levels, for the manager and, if the device has `ID3D12Device1`, for D3D12.
    ///
    /// # Errors
    ///
    /// Invalid argument for any other number, or without a manager.
    pub fn set_residency_priority(&self, priority: D3D12_RESIDENCY_PRIORITY) -> Result<(), Error> {
        let (manager, id) = self.require_manager()?;
        let level = level(priority).ok_or_else(|| {
            Error::invalid_argument(
                "priority",
                format!("{priority:#x} is not a D3D12_RESIDENCY_PRIORITY value"),
            )
        })?;
        manager.pager.books.set_level(id, level)?;
        manager.pager.device.set_priority(self.pageable(), priority);
        Ok(())
    }

    /// Sets the name of the heap and of its object: `SetDebugName`.
    pub fn set_debug_name(&self, name: &str) {
        let recording = self.manager_parts().and_then(|manager| manager.pager.recording.as_ref());
        let args = || format!("{},{}", self.recorded_args(), name_args(name));
        ManagerRecording::traced(recording, "ResidencyHeap.SetDebugName", args, || self.name(name));
    }

    /// Returns the heap in the arguments of a recorded call.
    fn recorded_args(&self) -> String {
        format!(
            "\"Heap\":{{\"id_ref\":\"{:#x}\"}}",
            self.recorded.as_ref().map_or(u64::MAX, RecordedHeap::id)
        )
    }

    fn name(&self, name: &str) {
        *self.debug_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::from(name));
        if let Ok(object) = self.pageable().cast::<ID3D12Object>() {
            let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
            // SAFETY: a live COM object, and a terminated string that outlives the call. Whether it takes the name changes nothing.
            let _ = unsafe { object.SetName(PCWSTR(wide.as_ptr())) };
        }
    }

    /// Returns the name that was set.
    #[must_use]
    pub fn debug_name(&self) -> Option<Arc<str>> {
        self.debug_name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the heap in the manager's recording.
    pub(super) fn set_recorded(&mut self, recorded: Option<RecordedHeap>) {
        self.recorded = recorded;
    }

    /// Returns the heap in the manager's recording.
    pub(crate) fn recorded(&self) -> Option<&RecordedHeap> {
        self.recorded.as_ref()
    }

    /// Returns the manager's number, and the id of the heap in its books.
    #[inline]
    pub(super) fn managed(&self) -> Option<(u64, ManagedHeapId)> {
        self.manager.as_ref().map(|(manager, id)| (manager.number, *id))
    }

    /// Returns the parts of the manager.
    pub(super) fn manager_parts(&self) -> Option<&Arc<ManagerParts>> {
        self.manager.as_ref().map(|(manager, _)| manager)
    }

    fn require_manager(&self) -> Result<(&ManagerParts, ManagedHeapId), Error> {
        match &self.manager {
            Some((manager, id)) => Ok((manager, *id)),
            None => Err(Error::invalid_argument("residency heap", "has no residency manager")),
        }
    }
}

impl Drop for ResidencyHeap {
    fn drop(&mut self) {
        // Removed from the books first, then released. The bytes count until then, so that usage is never
        // underestimated.
        self.released = self.manager.take().map(|(manager, id)| {
            let (group, bytes) = manager.pager.books.remove_heap(id);
            ReleasedBytes { manager, group, bytes }
        });
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
