//! Objects that can be resident: their sizes and segment groups, and why any thread may page them.

use std::fmt;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use super::desc::ResidencyHeapDesc;
use crate::caps::committed_info;
use crate::request::HeapFamily;
use crate::{Architecture, DeviceCaps, Error, SegmentGroup};

/// The kinds of objects that can be paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PageableKind {
    Heap,
    CommittedResource,
    DescriptorHeap,
    QueryHeap,
}

/// Properties of an object that can be paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageableInfo {
    pub(crate) kind: PageableKind,
    pub(crate) size: ByteSize,
    pub(crate) alignment: Alignment,
    pub(crate) segment_group: SegmentGroup,
    /// Whether D3D12 created the object resident; `None` if unknown.
    pub(crate) was_created_resident: Option<bool>,
}

/// The properties that an object reports.
#[derive(Debug, Clone, Copy)]
struct Found {
    kind: PageableKind,
    /// `None` if the object does not report them.
    size_and_alignment: Option<(ByteSize, Alignment)>,
    segment_group: Option<SegmentGroup>,
    was_created_resident: Option<bool>,
}

/// Inspects an object, checks that `desc` agrees with it, and wraps it. `unifies_memory` is whether all memory counts as local on
/// UMA.
///
/// O(1); a few calls of the object, and for a committed resource one of the device.
///
/// # Errors
///
/// Invalid argument, with the reason: an object of another device, a reserved resource, an object that is never paged,
/// a size that is less than the object's, or a size or segment group that is required and not given. A *placed* resource
/// cannot be recognized (its heap properties and flags are those of a committed one of the same heap type), so it is
/// taken for committed here; D3D12 refuses it when it is first paged.
pub(crate) fn inspect(
    device: DeviceNames<'_>,
    caps: &DeviceCaps,
    unifies_memory: bool,
    pageable: &ID3D12Pageable,
    desc: &ResidencyHeapDesc,
) -> Result<(PagedObject, PageableInfo), Error> {
    desc.check()?;
    check_device(device, pageable)?;
    let found = find(device.shown, caps, pageable)?;
    let (size, alignment) = size_and_alignment(&found, desc)?;
    let segment_group = segment_group(&found, caps.architecture, unifies_memory, desc)?;
    let was_created_resident = found.was_created_resident;
    let info = PageableInfo { kind: found.kind, size, alignment, segment_group, was_created_resident };
    Ok((PagedObject(pageable.clone()), info))
}

/// An object that is a heap, a resource, a descriptor heap or a query heap, as [`inspect`] has checked.
///
/// `ID3D12Pageable` is the base of these and of command allocators, which are not free-threaded; therefore it is not
/// `Send` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagedObject(ID3D12Pageable);

// SAFETY: `inspect` is the only source of the object, and refuses every object of another kind than the four above.
// D3D12 documents each of them as free-threaded (`heapwright_d3d12::threading`).
unsafe impl Send for PagedObject {}
// SAFETY: as above.
unsafe impl Sync for PagedObject {}

impl PagedObject {
    pub(super) fn pageable(&self) -> &ID3D12Pageable {
        &self.0
    }
}

/// Objects for one call of `MakeResident`, `EnqueueMakeResident` or `Evict`.
#[derive(Debug, Default)]
pub(super) struct PagedObjects(Vec<Option<ID3D12Pageable>>);

// SAFETY: `extend` is the only source of the objects, and each comes from a `PagedObject`, which is `Send`.
unsafe impl Send for PagedObjects {}

impl PagedObjects {
    pub(super) fn extend(&mut self, objects: impl IntoIterator<Item = PagedObject>) {
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

/// A device, and the device that its objects return from `GetDevice`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceNames<'a> {
    /// The device that is called.
    pub(crate) shown: &'a ID3D12Device,
    /// The device behind a layer, if the layer's objects return it instead of the layer.
    pub(crate) behind: Option<&'a ID3D12Device>,
}

/// Returns the device of an object.
pub(crate) fn device_of(object: &ID3D12DeviceChild) -> Option<ID3D12Device> {
    let mut owner: Option<ID3D12Device> = None;
    // SAFETY: the object is a live COM object, and the result is of the interface that is asked for.
    unsafe { object.GetDevice(&mut owner) }.ok()?;
    owner
}

/// Checks that an object belongs to a device.
pub(crate) fn check_device(device: DeviceNames<'_>, pageable: &ID3D12Pageable) -> Result<(), Error> {
    let identity = |device: &ID3D12Device| device.cast::<IUnknown>().ok();
    if let Some(owner) = device_of(pageable).as_ref().and_then(identity) {
        let names = [Some(device.shown), device.behind];
        if names.into_iter().flatten().any(|name| identity(name).as_ref() == Some(&owner)) {
            return Ok(());
        }
    }
    Err(Error::invalid_argument("pageable", "the object belongs to another device"))
}

fn find(device: &ID3D12Device, caps: &DeviceCaps, pageable: &ID3D12Pageable) -> Result<Found, Error> {
    if let Ok(heap) = pageable.cast::<ID3D12Heap>() {
        return of_heap(caps, &heap);
    }
    if let Ok(resource) = pageable.cast::<ID3D12Resource>() {
        return of_resource(device, caps, &resource);
    }
    if let Ok(heap) = pageable.cast::<ID3D12DescriptorHeap>() {
        return of_descriptor_heap(device, &heap);
    }
    if pageable.cast::<ID3D12QueryHeap>().is_ok() {
        return Ok(Found::silent(PageableKind::QueryHeap, None));
    }
    let rule =
        "the object cannot be paged; only heaps, committed resources, descriptor heaps and query heaps can";
    Err(Error::invalid_argument("pageable", rule))
}

impl Found {
    fn of(
        kind: PageableKind,
        caps: &DeviceCaps,
        properties: &D3D12_HEAP_PROPERTIES,
        flags: D3D12_HEAP_FLAGS,
        size_and_alignment: Option<(ByteSize, Alignment)>,
    ) -> Result<Self, Error> {
        let (family, _) = HeapFamily::try_from_d3d12(properties)?;
        Ok(Self {
            kind,
            size_and_alignment,
            segment_group: Some(family.segment_group(caps.architecture)),
            was_created_resident: Some(flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT == 0),
        })
    }

    /// Creates the result for an object that does not report its segment group.
    fn silent(kind: PageableKind, size_and_alignment: Option<(ByteSize, Alignment)>) -> Self {
        Self { kind, size_and_alignment, segment_group: None, was_created_resident: None }
    }
}

fn of_heap(caps: &DeviceCaps, heap: &ID3D12Heap) -> Result<Found, Error> {
    // SAFETY: the heap is a live COM object.
    let desc = unsafe { heap.GetDesc() };
    let alignment = Alignment::new(desc.Alignment).unwrap_or(Alignment::ONE);
    let size = (ByteSize::new(desc.SizeInBytes), alignment);
    Found::of(PageableKind::Heap, caps, &desc.Properties, desc.Flags, Some(size))
}

fn of_resource(device: &ID3D12Device, caps: &DeviceCaps, resource: &ID3D12Resource) -> Result<Found, Error> {
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
    let info = committed_info(device, &desc);
    Found::of(PageableKind::CommittedResource, caps, &properties, flags, info)
}

fn of_descriptor_heap(device: &ID3D12Device, heap: &ID3D12DescriptorHeap) -> Result<Found, Error> {
    // SAFETY: the descriptor heap is a live COM object.
    let desc = unsafe { heap.GetDesc() };
    // SAFETY: the device is a live COM object.
    let increment = u64::from(unsafe { device.GetDescriptorHandleIncrementSize(desc.Type) });
    let size = ByteSize::new(u64::from(desc.NumDescriptors).saturating_mul(increment));
    // An increment need not be a power of two, but it is the distance of the descriptors.
    let alignment = Alignment::new(1 << increment.trailing_zeros().min(63)).unwrap_or(Alignment::ONE);
    let known = (!size.is_zero()).then_some((size, alignment));
    Ok(Found::silent(PageableKind::DescriptorHeap, known))
}

fn size_and_alignment(found: &Found, desc: &ResidencyHeapDesc) -> Result<(ByteSize, Alignment), Error> {
    let field = "ResidencyHeapDesc::size";
    let kind = found.kind;
    match found.size_and_alignment {
        Some((size, _)) if !desc.size.is_zero() && desc.size < size => {
            let rule = format!("{} are less than the size of the {kind}, which is {size}", desc.size);
            Err(Error::invalid_argument(field, rule))
        }
        Some((size, alignment)) => Ok((size.max(desc.size), desc.alignment.unwrap_or(alignment))),
        None if desc.size.is_zero() => Err(Error::invalid_argument(
            field,
            format!("a size is required for this {kind}, because D3D12 does not report its size"),
        )),
        None => Ok((desc.size, desc.alignment.unwrap_or(Alignment::ONE))),
    }
}

fn segment_group(
    found: &Found,
    architecture: Architecture,
    unifies_memory: bool,
    desc: &ResidencyHeapDesc,
) -> Result<SegmentGroup, Error> {
    let kind = found.kind;
    let is_uma = architecture != Architecture::Discrete;
    if is_uma && !unifies_memory {
        // An application that separates the groups on UMA decides which object belongs to which.
        return Ok(desc.segment_group.or(found.segment_group).unwrap_or(SegmentGroup::Local));
    }
    let known = found.segment_group.or(is_uma.then_some(SegmentGroup::Local));
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

impl fmt::Display for PageableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Heap => "heap",
            Self::CommittedResource => "committed resource",
            Self::DescriptorHeap => "descriptor heap",
            Self::QueryHeap => "query heap",
        })
    }
}

#[cfg(test)]
mod tests;
