//! The device of a residency manager, the calls that the manager makes, and the objects that it pages: their sizes and
//! segment groups, and why any thread may page them.

use heapwright_core::{Alignment, ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::{HRESULT, IUnknown, Interface};

use super::desc::ResidencyHeapDesc;
use crate::caps::committed_info;
use crate::recording::HeapMemory;
use crate::request::{HeapFamily, implicit_heap_flags};
use crate::{Architecture, DeviceCaps, Error, SegmentGroup};

/// The device of a residency manager.
pub(super) struct ManagedDevice {
    device: ID3D12Device,
    /// The device that its objects return from `GetDevice`, if a layer's objects return the one behind it.
    behind: Option<ID3D12Device>,
    device1: Option<ID3D12Device1>,
    device3: Option<ID3D12Device3>,
    caps: DeviceCaps,
    /// Whether all memory counts as local on UMA.
    unifies_memory: bool,
}

/// Creates a fence.
pub(super) fn create_fence(device: &ID3D12Device, initial: FenceValue) -> Result<ID3D12Fence, Error> {
    // SAFETY: a live COM object, and a result of the interface that is asked for.
    let fence: Result<ID3D12Fence, _> = unsafe { device.CreateFence(initial.get(), D3D12_FENCE_FLAG_NONE) };
    fence.map_err(|error| Error::device("ID3D12Device::CreateFence", error.code()))
}

/// Returns the value that a fence has reached.
#[inline]
pub(super) fn completed(fence: &ID3D12Fence) -> FenceValue {
    // SAFETY: a live COM object.
    FenceValue::new(unsafe { fence.GetCompletedValue() })
}

/// Returns the value after `last`, unless that is the value of the fences of a removed device.
pub(super) fn next_value(last: FenceValue) -> Option<FenceValue> {
    last.next().filter(|&next| next != FenceValue::DEVICE_REMOVED)
}

/// Returns the device of an object.
pub(super) fn device_of(object: &ID3D12DeviceChild) -> Option<ID3D12Device> {
    let mut owner: Option<ID3D12Device> = None;
    // SAFETY: the object is a live COM object, and the result is of the interface that is asked for.
    unsafe { object.GetDevice(&mut owner) }.ok()?;
    owner
}

/// An object that is a heap, a resource, a descriptor heap or a query heap, as [`ManagedDevice::inspect`] has checked.
///
/// `ID3D12Pageable` is the base of these and of command allocators, which are not free-threaded; therefore it is not
/// `Send` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PagedObject(ID3D12Pageable);

// SAFETY: `inspect` is the only source of the object, and refuses every object of another kind than the four above.
// D3D12 documents each of them as free-threaded (`heapwright_d3d12::threading`).
unsafe impl Send for PagedObject {}
// SAFETY: as above.
unsafe impl Sync for PagedObject {}

impl PagedObject {
    pub(super) fn pageable(&self) -> &ID3D12Pageable {
        &self.0
    }

    /// Returns the number of references to the object.
    pub(super) fn references(&self) -> u32 {
        let object = self.0.clone();
        let (release, raw) = (object.vtable().base__.base__.base__.Release, object.into_raw());
        // SAFETY: releases the reference that was just added; `Release` returns the number of references that are left.
        unsafe { release(raw) }
    }
}

/// Objects for one call of `MakeResident`, `EnqueueMakeResident` or `Evict`.
#[derive(Default)]
pub(super) struct PagedObjects(Vec<Option<ID3D12Pageable>>);

// SAFETY: `set` is the only source of the objects, and each comes from a `PagedObject`, which is `Send`.
unsafe impl Send for PagedObjects {}

impl PagedObjects {
    /// Replaces the objects.
    pub(super) fn set(&mut self, objects: impl IntoIterator<Item = PagedObject>) {
        self.0.clear();
        self.0.extend(objects.into_iter().map(|PagedObject(pageable)| Some(pageable)));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[Option<ID3D12Pageable>] {
        &self.0
    }
}

/// Heap properties and flags of an object.
pub(super) type ObjectMemory = (D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS);

/// Properties of an object that can be paged.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageableInfo {
    pub(super) size: ByteSize,
    pub(super) alignment: Alignment,
    pub(super) segment_group: SegmentGroup,
    /// `None` for a descriptor heap or a query heap, which does not report it.
    pub(super) memory: Option<ObjectMemory>,
}

impl PageableInfo {
    /// Returns whether D3D12 created the object resident; `None` if unknown.
    pub(super) fn was_created_resident(&self) -> Option<bool> {
        self.memory.map(|(_, flags)| flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT == 0)
    }

    /// Returns the memory of the object, as recordings have it.
    #[inline]
    pub(super) fn recorded_memory(&self) -> HeapMemory {
        let (properties, flags) = self.memory.unwrap_or_default();
        HeapMemory { size: self.size.get(), alignment: self.alignment.get(), properties, flags }
    }
}

/// The properties of a pageable object that D3D12 reports.
struct Found {
    kind: &'static str,
    size_and_alignment: Option<(ByteSize, Alignment)>,
    memory: Option<ObjectMemory>,
}

impl ManagedDevice {
    /// Wraps a device; `object` is any object that it has created.
    #[inline]
    pub(super) fn new(
        device: &ID3D12Device,
        caps: DeviceCaps,
        unifies_memory: bool,
        object: &ID3D12DeviceChild,
    ) -> Self {
        Self {
            device: device.clone(),
            behind: device_of(object),
            device1: device.cast().ok(),
            device3: device.cast().ok(),
            caps,
            unifies_memory,
        }
    }

    /// Returns whether there are two segment groups although the GPU has one memory.
    pub(super) fn separates_groups(&self) -> bool {
        self.caps.architecture != Architecture::Discrete && !self.unifies_memory
    }

    pub(super) fn interface(&self) -> &ID3D12Device {
        &self.device
    }

    /// Checks that an argument belongs to this device.
    pub(super) fn check_owner(&self, field: &'static str, object: &ID3D12DeviceChild) -> Result<(), Error> {
        let identity = |device: &ID3D12Device| device.cast::<IUnknown>().ok();
        if let Some(owner) = device_of(object).as_ref().and_then(identity) {
            let own = [Some(&self.device), self.behind.as_ref()];
            if own.into_iter().flatten().any(|own| identity(own).as_ref() == Some(&owner)) {
                return Ok(());
            }
        }
        Err(Error::invalid_argument(field, "the object belongs to another device"))
    }

    /// Inspects an object, checks that `desc` agrees with it, and wraps it.
    ///
    /// O(1); a few calls of the object, and for a committed resource one of the device.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the reason: an object of another device, a reserved resource, an object that is never
    /// paged, a size that is less than the object's, or a size or segment group that is required and not given. A
    /// *placed* resource cannot be recognized (its heap properties and flags are those of a committed one of the same
    /// heap type), so it is taken for committed here; D3D12 refuses it when it is first paged.
    pub(super) fn inspect(
        &self,
        pageable: &ID3D12Pageable,
        desc: &ResidencyHeapDesc,
    ) -> Result<(PagedObject, PageableInfo), Error> {
        desc.check()?;
        self.check_owner("pageable", pageable)?;
        let found = self.find(pageable)?;
        let (size, alignment) = size_and_alignment(&found, desc)?;
        let segment_group = self.segment_group(&found, desc)?;
        let info = PageableInfo { size, alignment, segment_group, memory: found.memory };
        Ok((PagedObject(pageable.clone()), info))
    }

    fn find(&self, pageable: &ID3D12Pageable) -> Result<Found, Error> {
        if let Ok(heap) = pageable.cast::<ID3D12Heap>() {
            // SAFETY: the heap is a live COM object.
            let desc = unsafe { heap.GetDesc() };
            let alignment = Alignment::new(desc.Alignment).unwrap_or(Alignment::ONE);
            let size_and_alignment = Some((ByteSize::new(desc.SizeInBytes), alignment));
            return Ok(Found {
                kind: "heap",
                size_and_alignment,
                memory: Some((desc.Properties, desc.Flags)),
            });
        }
        if let Ok(resource) = pageable.cast::<ID3D12Resource>() {
            let (mut properties, mut flags) = Default::default();
            // SAFETY: the resource is a live COM object and both structures are writable.
            let hresult = unsafe { resource.GetHeapProperties(Some(&mut properties), Some(&mut flags)) };
            if hresult.is_err() {
                let rule = format!(
                    "GetHeapProperties failed with {:#}; for a reserved resource, manage the heaps that its tiles are mapped to",
                    hresult::Named(hresult)
                );
                return Err(Error::invalid_argument("pageable", rule));
            }
            // SAFETY: the resource is a live COM object.
            let desc = unsafe { resource.GetDesc() };
            // `D3D12_RESOURCE_DESC` does not describe every resource completely, for example sampler feedback.
            let size_and_alignment = committed_info(&self.device, &desc);
            let memory = Some((properties, flags | implicit_heap_flags(&desc)));
            return Ok(Found { kind: "committed resource", size_and_alignment, memory });
        }
        if let Ok(heap) = pageable.cast::<ID3D12DescriptorHeap>() {
            // SAFETY: the descriptor heap is a live COM object.
            let desc = unsafe { heap.GetDesc() };
            // SAFETY: the device is a live COM object.
            let increment = u64::from(unsafe { self.device.GetDescriptorHandleIncrementSize(desc.Type) });
            let size = ByteSize::new(u64::from(desc.NumDescriptors).saturating_mul(increment));
            // An increment need not be a power of two, but it is the distance of the descriptors.
            let alignment = Alignment::new(1 << increment.trailing_zeros().min(63)).unwrap_or(Alignment::ONE);
            let size_and_alignment = (!size.is_zero()).then_some((size, alignment));
            return Ok(Found { kind: "descriptor heap", size_and_alignment, memory: None });
        }
        if pageable.cast::<ID3D12QueryHeap>().is_ok() {
            return Ok(Found { kind: "query heap", size_and_alignment: None, memory: None });
        }
        let rule = "the object cannot be paged; only heaps, committed resources, descriptor heaps and query heaps can";
        Err(Error::invalid_argument("pageable", rule))
    }

    fn segment_group(&self, found: &Found, desc: &ResidencyHeapDesc) -> Result<SegmentGroup, Error> {
        let (kind, architecture) = (found.kind, self.caps.architecture);
        let family =
            found.memory.map(|(properties, _)| HeapFamily::try_from_d3d12(&properties)).transpose()?;
        if self.separates_groups() {
            // An application that separates the groups on UMA may decide which object belongs to which. The others are
            // where they would be on a discrete GPU.
            let found = family.map(|(family, _)| HeapFamily::Type(family.nearest_heap_type()));
            let found = found.map(|family| family.segment_group(Architecture::Discrete));
            return Ok(desc.segment_group.or(found).unwrap_or(SegmentGroup::Local));
        }
        let found = family.map(|(family, _)| family.segment_group(architecture));
        let is_uma = architecture != Architecture::Discrete;
        let known = found.or(is_uma.then_some(SegmentGroup::Local));
        if let (Some(known), Some(given)) = (known, desc.segment_group) {
            if given != known {
                tracing::warn!(
                    "ResidencyHeapDesc::segment_group: {given} is ignored: the {kind} is in {known} memory"
                );
            }
        }
        known.or(desc.segment_group).ok_or_else(|| {
            let rule = format!(
                "a segment group is required for a {kind}, because D3D12 does not report its segment group"
            );
            Error::invalid_argument("ResidencyHeapDesc::segment_group", rule)
        })
    }

    /// Sets an object's priority, if the device supports priorities.
    pub(super) fn set_priority(&self, pageable: &ID3D12Pageable, priority: D3D12_RESIDENCY_PRIORITY) {
        let Some(device) = &self.device1 else { return };
        let object = Some(pageable.clone());
        // SAFETY: one object and one priority, both readable; the object is alive.
        let hresult = unsafe { device.SetResidencyPriority(1, &object, &priority) };
        if hresult.is_err() {
            tracing::warn!("SetResidencyPriority failed: {:#}", hresult::Named(hresult));
        }
    }

    /// Evicts objects that the GPU no longer uses. Each was made resident once more often than evicted.
    pub(super) fn evict(&self, objects: &[Option<ID3D12Pageable>]) -> HRESULT {
        // SAFETY: live COM objects; the caller ensures that the GPU does not use them.
        unsafe { self.device.Evict(objects) }
    }

    /// Makes objects resident and then signals `value` on a fence. A device without `ID3D12Device3` does both before
    /// the call returns.
    ///
    /// # Errors
    ///
    /// Returns the call that failed, and its result.
    pub(super) fn make_resident(
        &self,
        objects: &PagedObjects,
        denies_over_budget: bool,
        fence: &ID3D12Fence,
        value: FenceValue,
    ) -> Result<(), (&'static str, HRESULT)> {
        let objects = objects.as_slice();
        let made = |call, hresult: HRESULT| if hresult.is_ok() { Ok(()) } else { Err((call, hresult)) };
        let Some(device) = &self.device3 else {
            // SAFETY: live COM objects of the device.
            made("ID3D12Device::MakeResident", unsafe { self.device.MakeResident(objects) })?;
            // SAFETY: a live COM object; values only go up.
            return made("ID3D12Fence::Signal", unsafe { fence.Signal(value.get()) });
        };
        let flags =
            if denies_over_budget { D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET } else { D3D12_RESIDENCY_FLAG_NONE };
        // SAFETY: live COM objects of the device.
        let hresult = unsafe { device.EnqueueMakeResident(flags, objects, fence, value.get()) };
        made("ID3D12Device3::EnqueueMakeResident", hresult)
    }

    /// Returns the error that states why the device was removed.
    #[cold]
    pub(super) fn removed(&self) -> Error {
        // SAFETY: a live COM object.
        let reason = unsafe { self.device.GetDeviceRemovedReason() };
        let reason = if reason.is_err() { reason } else { DXGI_ERROR_DEVICE_REMOVED };
        Error::device("ID3D12Device::GetDeviceRemovedReason", reason)
    }
}

fn size_and_alignment(found: &Found, desc: &ResidencyHeapDesc) -> Result<(ByteSize, Alignment), Error> {
    let kind = found.kind;
    let error = |rule| Err(Error::invalid_argument("ResidencyHeapDesc::size", rule));
    match found.size_and_alignment {
        Some((size, _)) if !desc.size.is_zero() && desc.size < size => {
            error(format!("{} are less than the size of the {kind}, which is {size}", desc.size))
        }
        Some((size, alignment)) => Ok((size.max(desc.size), desc.alignment.unwrap_or(alignment))),
        None if desc.size.is_zero() => {
            error(format!("a size is required for this {kind}, because D3D12 does not report its size"))
        }
        None => Ok((desc.size, desc.alignment.unwrap_or(Alignment::ONE))),
    }
}
