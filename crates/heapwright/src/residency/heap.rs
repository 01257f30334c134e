//! Objects that can be resident or evicted.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use heapwright_core::residency::{ManagedHeapId, NewManagedHeap, Status};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::Interface;

use super::claim::HeldObject;
use super::desc::{ResidencyHeapDesc, ResidencyHeapFlags, ResidencyHeapInfo, ResidencyHeapStatus, level};
use super::device::{ManagedDevice, PageableInfo, device_of};
use super::pager::{Pager, PendingBytes};
use crate::recording::{CREATE_HEAP, Recorded, Recording, name_args};
use crate::{DeviceCaps, Error, SegmentGroup};

/// An object that can be resident or evicted: `IResidencyHeap` of GPGMM. It is a heap, a committed resource, a
/// descriptor heap or a query heap.
///
/// It is one entry of its [manager](Self::manager)'s books, and holds a reference to the object. Dropping it removes
/// the entry and releases the reference; lists that contain it can no longer be executed. As always in D3D12, the GPU
/// must have finished with the object when its last reference is released.
///
/// If there are other references, dropping it leaves the object resident and with D3D12's usual priority. One that the
/// manager has evicted is made resident again, beyond the budget if need be, and the calling thread waits for that, but
/// not for the GPU; release the other references first to spare this. Two objects stay evicted: one that D3D12 created
/// so (CREATE_NOT_RESIDENT), if the manager has not made it resident; and one for which the device has no memory, or,
/// with [`ALWAYS_IN_BUDGET`](super::ResidencyManagerFlags::ALWAYS_IN_BUDGET), the budget does not suffice: then a
/// warning is logged. A manager that manages the object again knows how it was left.
///
/// What the users of an allocator's heap set on it (locks, priority, name) ends with the last allocation in it and the
/// last reference to it.
///
/// Without a manager, the object keeps the residency that D3D12 gave it.
pub struct ResidencyHeap {
    object: HeldObject,
    /// Whether D3D12 created the object resident; `None` if unknown.
    created_resident: Option<bool>,
    size: ByteSize,
    alignment: Alignment,
    group: SegmentGroup,
    manager: Option<(Arc<Pager>, ManagedHeapId)>,
    /// The priority that it was created with.
    priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// Number of allocations and others that use the memory of an allocator's heap.
    users: AtomicUsize,
    set_by_users: Mutex<SetByUsers>,
    /// The heap in the manager's recording.
    recorded: Option<Recorded>,
    /// The last field, so that it is dropped after the reference to the object.
    released: Option<PendingBytes>,
}

/// What the users of a heap have set, which ends with the last of them.
#[derive(Default)]
struct SetByUsers {
    locks: u64,
    debug_name: Option<Arc<str>>,
    has_priority: bool,
}

impl ResidencyHeap {
    /// Creates a residency heap without a manager, which is never paged: `CreateResidencyHeap` of GPGMM. With a
    /// manager, see [`ResidencyManager::manage`](super::ResidencyManager::manage) and
    /// [`ResidencyManager::create_heap`](super::ResidencyManager::create_heap).
    ///
    /// # Errors
    ///
    /// Invalid argument: an object that is never paged, a description that contradicts it, any flag but
    /// [`CREATE_RESIDENT`](ResidencyHeapFlags::CREATE_RESIDENT), which has no effect and logs a warning.
    #[inline]
    pub fn unmanaged(desc: &ResidencyHeapDesc, pageable: &ID3D12Pageable) -> Result<Self, Error> {
        if desc.flags.contains(ResidencyHeapFlags::CREATE_RESIDENT) {
            tracing::warn!("CREATE_RESIDENT has no effect without a residency manager");
        }
        check_unmanaged(desc, desc.flags.difference(ResidencyHeapFlags::CREATE_RESIDENT))?;
        adopt_unmanaged(desc, pageable, true)
    }

    /// As [`unmanaged`](Self::unmanaged) with a default description, for memory of an allocator, which has recorded it.
    ///
    /// # Errors
    ///
    /// As [`unmanaged`](Self::unmanaged).
    #[doc(hidden)]
    #[inline]
    pub fn of_memory(pageable: &ID3D12Pageable) -> Result<Self, Error> {
        adopt_unmanaged(&ResidencyHeapDesc::default(), pageable, false)
    }

    /// Creates a residency heap without a manager for an object that `create` creates. The description is checked
    /// first, so that nothing is created for one that is never valid.
    ///
    /// # Errors
    ///
    /// As [`unmanaged`](Self::unmanaged), any flag, and the callback's error.
    pub fn create_unmanaged(
        desc: &ResidencyHeapDesc,
        create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
    ) -> Result<Self, Error> {
        check_unmanaged(desc, desc.flags)?;
        adopt_unmanaged(desc, &create().map_err(callback_failed)?, true)
    }

    fn new(
        object: HeldObject,
        info: &PageableInfo,
        manager: Option<(Arc<Pager>, ManagedHeapId)>,
        recorded: Option<Recorded>,
    ) -> Self {
        let PageableInfo { size, alignment, segment_group: group, .. } = *info;
        let created_resident = info.was_created_resident();
        Self {
            object,
            created_resident,
            size,
            alignment,
            group,
            manager,
            priority: None,
            users: AtomicUsize::new(0),
            set_by_users: Mutex::default(),
            recorded,
            released: None,
        }
    }

    fn set_by_users(&self) -> MutexGuard<'_, SetByUsers> {
        self.set_by_users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the object.
    #[must_use]
    pub fn pageable(&self) -> &ID3D12Pageable {
        self.object.object().pageable()
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
        let state = self.manager.as_ref().and_then(|(manager, id)| manager.books.lock().planner.heap(*id));
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

    pub(crate) fn is_resident(&self) -> bool {
        self.info().status == ResidencyHeapStatus::Resident
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
        manager.traced("ResidencyHeap.Lock", || self.recorded_args(), || manager.lock_heap(id))?;
        self.set_by_users().locks += 1;
        Ok(())
    }

    /// Removes one lock, and returns how many are left: `Unlock`. O(1), under the manager's lock.
    ///
    /// # Errors
    ///
    /// Invalid argument without a lock, or without a manager.
    pub fn unlock(&self) -> Result<u32, Error> {
        let (manager, id) = self.require_manager()?;
        let unlock = || manager.books.unlock_heap(id);
        let left = manager.traced("ResidencyHeap.Unlock", || self.recorded_args(), unlock)?;
        let mut set = self.set_by_users();
        set.locks = set.locks.saturating_sub(1);
        Ok(left)
    }

    /// Locks the heap like [`lock`](Self::lock), for the library: the lock does not end with the users of the heap.
    pub(crate) fn keep_resident(&self) -> Result<(), Error> {
        let (manager, id) = self.require_manager()?;
        manager.lock_heap(id)
    }

    /// Undoes [`keep_resident`](Self::keep_resident).
    pub(crate) fn let_go(&self) -> Result<(), Error> {
        let (manager, id) = self.require_manager()?;
        manager.books.unlock_heap(id).map(drop)
    }

    /// Counts one more user of the memory.
    #[inline]
    pub(crate) fn add_user(&self) {
        // Relaxed: a user that sets something locks `set_by_users` for it.
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one user less. Without users, the heap loses the locks, the priority and the name that they set, so that
    /// those who get the memory next find it as new.
    #[inline]
    pub(crate) fn remove_user(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.forget_users();
        }
    }

    fn forget_users(&self) {
        let mut set = self.set_by_users();
        if self.users.load(Ordering::Acquire) != 0 {
            // Another user came meanwhile, and may have set something.
            return;
        }
        let SetByUsers { locks, debug_name, has_priority } = std::mem::take(&mut *set);
        for _ in 0..locks {
            if self.let_go().is_err() {
                break;
            }
        }
        if has_priority {
            // It is one of D3D12's, and the heap has a manager.
            let _ = self.apply_priority(self.priority.unwrap_or(D3D12_RESIDENCY_PRIORITY_NORMAL));
        }
        if debug_name.is_some() {
            self.name_object("");
        }
    }

    /// Sets the priority, one of D3D12's five levels, for the manager and, if the device has `ID3D12Device1`, for
    /// D3D12.
    ///
    /// # Errors
    ///
    /// Invalid argument for any other number, or without a manager.
    pub fn set_residency_priority(&self, priority: D3D12_RESIDENCY_PRIORITY) -> Result<(), Error> {
        let (manager, _) = self.require_manager()?;
        let mut set = self.set_by_users();
        let args = || format!("{},\"Priority\":{priority}", self.recorded_args());
        manager.traced("ResidencyHeap.SetResidencyPriority", args, || self.apply_priority(priority))?;
        set.has_priority = true;
        Ok(())
    }

    fn apply_priority(&self, priority: D3D12_RESIDENCY_PRIORITY) -> Result<(), Error> {
        let (manager, id) = self.require_manager()?;
        let level = level(priority).ok_or_else(|| {
            Error::invalid_argument(
                "priority",
                format!("{priority:#x} is not a D3D12_RESIDENCY_PRIORITY value"),
            )
        })?;
        manager.books.set_level(id, level)?;
        manager.device.set_priority(self.pageable(), priority);
        Ok(())
    }

    /// Sets the name of the heap and of its object: `SetDebugName`.
    #[inline]
    pub fn set_debug_name(&self, name: &str) {
        let recording = self.pager().and_then(|manager| manager.recording());
        let args = || format!("{},{}", self.recorded_args(), name_args(name));
        Recording::traced(recording, "ResidencyHeap.SetDebugName", args, || self.name(name));
    }

    /// Returns the heap in the arguments of a recorded call.
    pub(super) fn recorded_args(&self) -> String {
        format!("\"Heap\":{{\"id_ref\":\"{:#x}\"}}", self.recorded.as_ref().map_or(u64::MAX, Recorded::id))
    }

    #[inline]
    fn name(&self, name: &str) {
        self.set_by_users().debug_name = Some(Arc::from(name));
        self.name_object(name);
    }

    fn name_object(&self, name: &str) {
        if let Ok(object) = self.pageable().cast::<ID3D12Object>() {
            let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
            // SAFETY: a live COM object, and a terminated string that outlives the call. Whether it takes the name
            // changes nothing.
            let _ = unsafe { object.SetName(PCWSTR(wide.as_ptr())) };
        }
    }

    /// Returns the name that was set.
    #[must_use]
    #[inline]
    pub fn debug_name(&self) -> Option<Arc<str>> {
        self.set_by_users().debug_name.clone()
    }

    /// Returns the heap in the manager's recording.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_ref()
    }

    /// Returns the manager's number, and the id of the heap in its books.
    #[inline]
    pub(super) fn managed(&self) -> Option<(u64, ManagedHeapId)> {
        self.manager.as_ref().map(|(manager, id)| (manager.number, *id))
    }

    /// Returns the parts of the manager.
    pub(super) fn pager(&self) -> Option<&Arc<Pager>> {
        self.manager.as_ref().map(|(manager, _)| manager)
    }

    fn require_manager(&self) -> Result<(&Pager, ManagedHeapId), Error> {
        match &self.manager {
            Some((manager, id)) => Ok((manager, *id)),
            None => Err(Error::invalid_argument("residency heap", "the heap has no residency manager")),
        }
    }
}

impl ResidencyHeap {
    /// Ends the management of the object.
    pub(crate) fn end(&mut self) {
        /// The references of this and of the books.
        const OWN_REFERENCES: u32 = 2;
        let Some((manager, id)) = self.manager.take() else { return };
        if self.object.object().references() > OWN_REFERENCES {
            self.give_back(&manager, id);
            if self.priority.is_some() || self.set_by_users().has_priority {
                manager.device.set_priority(self.pageable(), D3D12_RESIDENCY_PRIORITY_NORMAL);
            }
        }
        // Removed from the books first, then released. The bytes count until then, so that usage is never
        // underestimated.
        let (status, group, bytes) = manager.books.remove_heap(id);
        self.object.leave(status, self.created_resident);
        self.released = Some(PendingBytes { pager: manager, group, bytes });
    }

    /// Makes the object resident again for those who use it without the manager, unless D3D12 created it evicted.
    #[cold]
    fn give_back(&self, manager: &Pager, id: ManagedHeapId) {
        // The object counts as external usage from now on.
        manager.refresh_soon();
        let status = manager.books.lock().planner.heap(id).map(|heap| heap.status);
        let stays = match status {
            None | Some(Status::Unknown) => true,
            Some(Status::Evicted) => self.created_resident == Some(false),
            Some(Status::Arriving | Status::Resident) => false,
        };
        if !stays {
            if let Err(error) = manager.give_back(id) {
                tracing::warn!(%error, "an object that is not managed any more stays evicted");
            }
        }
    }
}

impl Drop for ResidencyHeap {
    fn drop(&mut self) {
        self.end();
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

/// Checks a description of a heap without a manager, before there is an object.
#[inline]
fn check_unmanaged(desc: &ResidencyHeapDesc, flags: ResidencyHeapFlags) -> Result<(), Error> {
    desc.check()?;
    if !flags.is_empty() {
        let rule = format!("{flags:?} requires a residency manager");
        return Err(Error::invalid_argument("ResidencyHeapDesc::flags", rule));
    }
    Ok(())
}

#[inline]
fn adopt_unmanaged(
    desc: &ResidencyHeapDesc,
    pageable: &ID3D12Pageable,
    is_recorded: bool,
) -> Result<ResidencyHeap, Error> {
    let start = Instant::now();
    let interface =
        device_of(pageable).ok_or_else(|| Error::device("ID3D12DeviceChild::GetDevice", E_POINTER))?;
    let device = ManagedDevice::new(&interface, DeviceCaps::query(&interface)?, true, pageable);
    let (object, info) = device.inspect(pageable, desc)?;
    // It belongs to no instance of its own.
    let recording = if is_recorded { Recording::of_device(&interface) } else { None };
    let recorded = recording.and_then(|recording| {
        let recorded = recording.heap(&info.recorded_memory());
        recording.ended(CREATE_HEAP, start);
        recorded
    });
    Ok(ResidencyHeap::new(HeldObject::unclaimed(object), &info, None, recorded))
}

fn callback_failed(error: windows_core::Error) -> Error {
    Error::device("the callback that creates the heap", error.code())
}

/// Creates a residency heap for an existing object.
#[inline]
pub(super) fn adopt(
    desc: &ResidencyHeapDesc,
    manager: &Arc<Pager>,
    pageable: &ID3D12Pageable,
) -> Result<ResidencyHeap, Error> {
    desc.check()?;
    if desc.flags.contains(ResidencyHeapFlags::CREATE_IN_BUDGET) {
        let rule = "CREATE_IN_BUDGET is not allowed for an existing object";
        return Err(Error::invalid_argument("ResidencyHeapDesc::flags", rule));
    }
    let adopted = Adopted::new(desc, manager, pageable)?;
    // The object counts as external usage until the operating system is queried again.
    manager.refresh_soon();
    finish(desc, manager, adopted, None)
}

/// Creates an object. Boxed, so that [`create`] exists once.
pub(super) type CreatePageable<'a> = Box<dyn FnOnce() -> Result<ID3D12Pageable, windows_core::Error> + 'a>;

/// Makes memory available, and creates a residency heap for an object that `create` creates.
pub(super) fn create(
    desc: &ResidencyHeapDesc,
    manager: &Arc<Pager>,
    create: CreatePageable<'_>,
) -> Result<ResidencyHeap, Error> {
    desc.check()?;
    let is_bound = desc.flags.contains(ResidencyHeapFlags::CREATE_IN_BUDGET) || manager.always_in_budget;
    // If group and size are known in advance, memory is made available first, so that usage never exceeds the budget.
    let known = desc.segment_group.filter(|_| !desc.size.is_zero());
    // Held until the heap is in the books, so that two concurrent creations do not share the memory.
    let mut room = known.map(|group| manager.make_room(group, desc.size, is_bound)).transpose()?;
    let adopted = Adopted::new(desc, manager, &create().map_err(callback_failed)?)?;
    let Adopted { info, status, .. } = adopted;
    let is_resident = status != Status::Evicted;
    let was_foreseen = known.is_some_and(|group| group == info.segment_group) && info.size <= desc.size;
    if is_resident && !was_foreseen {
        drop(room.take());
        if status == Status::Resident {
            // The object exists already. Count it as the manager's, so that the operating system's report does not
            // count it a second time, and lock it, so that it is not evicted for itself.
            let unlocked = ResidencyHeapDesc { flags: ResidencyHeapFlags::empty(), ..*desc };
            let heap = finish(&unlocked, manager, adopted, None)?;
            heap.lock()?;
            drop(manager.make_room(info.segment_group, ByteSize::ZERO, is_bound)?);
            if is_bound {
                manager.check_first_report(info.segment_group)?;
            }
            if !desc.flags.contains(ResidencyHeapFlags::CREATE_LOCKED) {
                heap.unlock()?;
            }
            return Ok(heap);
        }
        room = Some(manager.make_room(info.segment_group, info.size, is_bound)?);
    }
    if status == Status::Unknown {
        // The object counts as external usage until it is used.
        manager.refresh_soon();
    }
    let heap = finish(desc, manager, adopted, room)?;
    if is_bound && is_resident {
        manager.check_first_report(info.segment_group)?;
    }
    Ok(heap)
}

/// An object that a manager is given.
struct Adopted {
    object: HeldObject,
    info: PageableInfo,
    status: Status,
}

impl Adopted {
    fn new(desc: &ResidencyHeapDesc, manager: &Pager, pageable: &ID3D12Pageable) -> Result<Self, Error> {
        let (object, info) = manager.device.inspect(pageable, desc)?;
        let (object, status) = HeldObject::claimed(object, info.was_created_resident())?;
        Ok(Self { object, info, status })
    }
}

fn finish(
    desc: &ResidencyHeapDesc,
    manager: &Arc<Pager>,
    Adopted { object, info, status }: Adopted,
    mut room: Option<PendingBytes>,
) -> Result<ResidencyHeap, Error> {
    let new = NewManagedHeap { group: info.segment_group, size: info.size, level: desc.level(), status };
    let pending = room.as_mut().map(|room| (room.group, &mut room.bytes));
    let id = manager.books.add_heap(new, object.object(), pending)?;
    let recorded = manager.recording.as_ref().and_then(|to| to.heap(id, &info));
    let mut heap = ResidencyHeap::new(object, &info, Some((Arc::clone(manager), id)), recorded);
    if let Some(priority) = desc.priority {
        heap.apply_priority(priority)?;
        heap.priority = Some(priority);
    }
    let wants = |flag| desc.flags.contains(flag);
    if wants(ResidencyHeapFlags::CREATE_LOCKED) {
        heap.lock()?;
    } else if wants(ResidencyHeapFlags::CREATE_RESIDENT) && status == Status::Unknown {
        heap.lock()?;
        heap.unlock()?;
    }
    Ok(heap)
}
