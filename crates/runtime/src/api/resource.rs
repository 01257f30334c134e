//! `ID3D12Resource2`.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(feature = "preview")]
use heapwright_d3d12::preview::*;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, implement};

use super::call;
use super::device::Device;
use super::heap::{self, HeapInner};
use super::object::{Child, implement_pageable, implement_pageable_tools, own};
use super::shared_handle::SharedObjectRelease;
use crate::aliasing::{CreatedResource, Identity, Label, ResourcePart};
use crate::ddi::{GpuVirtualAddressRange, ResourceArgs, TextureArgs};
use crate::debug::ObjectKind;
use crate::drivers::heap::DriverHeap;
use crate::drivers::resource::DriverResource;
use crate::drivers::texels::{TexelRegion, TexelRows};
use crate::rules::creation::{Home, Plan, Request};
use crate::rules::initial::Initial;
use crate::rules::operand::Operand;
use crate::rules::{self, Refusal, clear_value, under};
#[allow(unused_imports, reason = "`#[implement]` names the table")]
use crate::write_tracking::{self, TrackedResource, TrackedResource_Vtbl, TrackedWrite, WrittenRange};

/// The COM object of a placed, committed or reserved resource.
#[cfg_attr(
    not(feature = "preview"),
    implement(ID3D12Resource2, TrackedResource, ID3D12PageableTools, ID3DDestructionNotifier)
)]
#[cfg_attr(
    feature = "preview",
    implement(
        ID3D12Resource2,
        TrackedResource,
        ID3D12PageableTools,
        ID3DDestructionNotifier,
        ID3D12GuidTextureLayoutResource
    )
)]
pub(super) struct Resource {
    child: Child,
    facts: Facts,
    /// Number of `Map` calls without a matching `Unmap`.
    map_count: AtomicU32,
    _shared: Option<SharedObjectRelease>,
}

/// The properties of a resource that never change, and its part in the driver.
#[derive(Clone)]
struct Facts {
    /// The application's description, with the effective alignment and number of mip levels.
    desc: D3D12_RESOURCE_DESC1,
    /// The description in the form that the rules use.
    resource: rules::resource::Resource,
    driver: Arc<DriverResource>,
    placement: Placement,
    /// Formats that views may have besides those of the resource's family.
    castable_formats: Box<[DXGI_FORMAT]>,
    #[cfg(feature = "preview")]
    layout_guid: GUID,
}

impl Facts {
    /// Registers the resource with the aliasing tracker, which is on, and returns the label that it is known by.
    fn track(
        &self,
        device: &Device,
        home: Home<'_>,
        args: &ResourceArgs,
        state: Initial,
        clear_value: Option<(DXGI_FORMAT, [u32; 4])>,
    ) -> Arc<Label> {
        let label = Arc::<Label>::default();
        let Self { desc, driver, placement, .. } = self;
        let heap_label = match placement {
            Placement::Placed(heap, _) => Some(heap.label()),
            Placement::Committed(_) | Placement::Reserved => None,
        };
        device.aliasing().resource_created(CreatedResource {
            driver,
            args,
            allocation: driver.existing_allocation_info(),
            identity: Identity { desc: *desc, clear_value },
            label: &label,
            home,
            heap_label,
            state,
        });
        label
    }
}

/// The kind of resource, by the location of its memory.
#[derive(Clone)]
pub(super) enum Placement {
    /// At an offset in a heap of the application, whose memory the resource keeps alive.
    Placed(Arc<HeapInner>, u64),
    /// In an implicit heap with these properties and flags.
    Committed(Box<(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS)>),
    /// At an address range of its own, whose tiles queues map to heaps.
    Reserved,
}

impl Placement {
    /// Returns the memory in the form that the rules use.
    pub(super) fn home(&self) -> Home<'_> {
        match self {
            Self::Placed(heap, offset) => {
                let (desc, memory, has_address) = (heap.desc(), heap.memory(), heap.has_address());
                Home::Placed { heap: desc, memory, has_address, offset: *offset }
            }
            Self::Committed(heap) => Home::Committed { properties: &heap.0, flags: heap.1 },
            Self::Reserved => Home::Reserved,
        }
    }

    /// Returns the properties and flags of the heap, or `None` for a reserved resource.
    fn heap(&self) -> Option<(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS)> {
        match self {
            Self::Placed(heap, _) => Some((heap.desc().Properties, heap.desc().Flags)),
            Self::Committed(heap) => Some((heap::with_nodes(&heap.0), heap.1)),
            Self::Reserved => None,
        }
    }
}

/// A committed resource as referenced by shared handles, which keep its memory alive.
pub(super) struct SharedResource {
    facts: Facts,
    memory: Arc<DriverHeap>,
    /// The flags of the resource's implicit heap.
    pub(super) heap_flags: D3D12_HEAP_FLAGS,
}

impl Resource {
    /// Creates a resource that satisfies the rules, and its implicit heap.
    ///
    /// # Safety
    ///
    /// The union member of the clear value for its format is initialised.
    pub(super) unsafe fn create(
        device: ComObject<Device>,
        request: &Request<'_>,
        plan: &Plan,
        placement: Placement,
    ) -> Result<Self, Refusal> {
        let (driver, of_device) = (device.driver(), device.driver_device());
        let own = plan.implicit_heap.as_ref().map(|args| driver.create_heap(of_device, args)).transpose()?;
        let (args, allocation) = (&plan.args, plan.allocation);
        let heap = match (&placement, &own) {
            (Placement::Placed(heap, offset), _) => Some((heap.memory(), *offset)),
            (_, own) => own.as_ref().map(|heap| (heap, 0)),
        };
        let driver = Arc::new(match heap {
            Some((heap, offset)) => DriverResource::placed(args, allocation, Arc::clone(heap), offset)?,
            None => {
                let memory = driver.reserve(of_device, allocation, args.create_at)?;
                DriverResource::reserved(args, allocation, memory)
            }
        });
        let mip_levels = match plan.resource.texture() {
            Some(texture) => u16::try_from(texture.args.mip_levels).unwrap_or(request.desc.MipLevels),
            None => request.desc.MipLevels,
        };
        let alignment = plan.described_alignment.get();
        let desc = D3D12_RESOURCE_DESC1 { Alignment: alignment, MipLevels: mip_levels, ..request.desc };
        let facts = Facts {
            desc,
            resource: plan.resource,
            driver,
            placement,
            castable_formats: request.additions.castable_formats.into(),
            #[cfg(feature = "preview")]
            layout_guid: rules::resource::layout_guid::described(desc.Layout, &request.additions),
        };
        // SAFETY: guaranteed by the caller.
        let clear_value = || request.clear_value.map(|value| unsafe { clear_value::bits(value) });
        let is_tracked = device.aliasing().is_on();
        let label = is_tracked.then(|| {
            facts.track(&device, facts.placement.home(), &plan.args, request.initial, clear_value())
        });
        Ok(Self::of(device, own, label, facts))
    }

    /// Returns the information that another device needs to open the resource, or `None` unless it is committed with
    /// the SHARED heap flag.
    pub(super) fn shared(&self) -> Option<SharedResource> {
        self._shared.as_ref()?;
        let (memory, heap) = (Arc::clone(self.child.memory.as_ref()?), self.facts.placement.heap()?);
        Some(SharedResource { facts: self.facts.clone(), memory, heap_flags: heap.1 })
    }

    /// Creates a resource of `device` over the memory that `shared` refers to.
    pub(super) fn opened(device: ComObject<Device>, shared: &SharedResource) -> Self {
        let facts = shared.facts.clone();
        let label = device.aliasing().is_on().then(|| {
            let minimum = rules::allocation_info::COMMITTED_MINIMUM;
            let args = rules::allocation_info::args(&facts.resource, minimum, None);
            // What another device created has contents.
            let home = Home::Committed { properties: &Default::default(), flags: D3D12_HEAP_FLAG_NONE };
            facts.track(&device, home, &args, Initial::State(D3D12_RESOURCE_STATE_COMMON), None)
        });
        Self::of(device, Some(Arc::clone(&shared.memory)), label, facts)
    }

    fn of(
        device: ComObject<Device>,
        own: Option<Arc<DriverHeap>>,
        label: Option<Arc<Label>>,
        facts: Facts,
    ) -> Self {
        let is_shared =
            matches!(&facts.placement, Placement::Committed(heap) if heap.1 & D3D12_HEAP_FLAG_SHARED != 0);
        Self {
            child: Child { memory: own, label, ..Child::new(device).counted(ObjectKind::Resource) },
            facts,
            map_count: AtomicU32::new(0),
            _shared: SharedObjectRelease::of(is_shared),
        }
    }

    /// Reports a CPU access to a part of the resource by the call `name` to the aliasing tracker.
    fn track_cpu(&self, name: &'static str, part: ResourcePart<'_>, is_read: bool) {
        let aliasing = self.child.device.aliasing();
        if aliasing.is_on() {
            aliasing.cpu_accesses(name, &self.facts.driver, part, is_read);
        }
    }

    /// Returns the part of a subresource that a range of `Map` or `Unmap` selects: everything without a range, `None`
    /// if the range is empty.
    fn mapped_part(&self, subresource: u32, range: Option<&D3D12_RANGE>) -> Option<ResourcePart<'static>> {
        let bytes = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        match range {
            Some(range) if range.End <= range.Begin => None,
            Some(range) if self.facts.resource.texture().is_none() => {
                Some(ResourcePart::Bytes(bytes(range.Begin), bytes(range.End - range.Begin)))
            }
            // Byte offsets in a texture's subresource do not identify texels.
            _ if self.facts.resource.texture().is_none() => Some(ResourcePart::Bytes(0, u64::MAX)),
            _ => Some(ResourcePart::Subresource(subresource)),
        }
    }

    /// Returns the description in the form that the rules use.
    pub(super) fn rules(&self) -> &rules::resource::Resource {
        &self.facts.resource
    }

    /// Returns the resource as the rules of views and commands see it.
    pub(super) fn operand(&self) -> Operand<'_> {
        let Facts { desc, resource, driver, placement, castable_formats, .. } = &self.facts;
        let heap_type = placement.heap().map(|(properties, _)| properties.Type);
        let is_committed = matches!(placement, Placement::Committed(_));
        Operand { desc, resource, heap_type, is_committed, castable_formats, driver }
    }

    /// Returns the texture's parameters, or an error for a buffer.
    pub(super) fn texture(&self) -> Result<&TextureArgs, Refusal> {
        let texture = self.facts.resource.texture().map(|texture| &texture.args);
        texture.ok_or_else(|| Refusal::invalid("the resource is a buffer, not a texture"))
    }

    /// Returns the driver's part of the resource. Commands hold it.
    pub(super) fn driver(&self) -> &Arc<DriverResource> {
        &self.facts.driver
    }

    /// Returns the address range of the resource: for a committed resource, that of its heap; for a placed one, as much
    /// of its heap as `GetResourceAllocationInfo` reports; for a reserved one, that of all its tiles.
    ///
    /// Textures have a range as well. They cannot be recreated at an address, but tools may query it.
    fn allocation(&self) -> GpuVirtualAddressRange {
        match &self.child.memory {
            Some(memory) => {
                GpuVirtualAddressRange { start: memory.gpu_virtual_address(), size: memory.size() }
            }
            None => self.facts.driver.allocation(),
        }
    }

    /// Returns the type of the resource's heap, or `None` for a reserved resource.
    pub(super) fn heap_type(&self) -> Option<D3D12_HEAP_TYPE> {
        Some(self.facts.placement.heap()?.0.Type)
    }

    /// Checks whether the resource is reserved: queues map its tiles to heaps.
    pub(super) fn is_reserved(&self) -> bool {
        self.heap_type().is_none()
    }

    /// Returns the part to which residency applies, or `None` unless the resource is committed.
    pub(super) fn pageable_child(&self) -> Option<&Child> {
        matches!(self.facts.placement, Placement::Committed(_)).then_some(&self.child)
    }

    /// Maps a subresource. Without `wants_pointer`, the mapping is counted but no pointer is returned; textures of
    /// opaque layout support nothing else.
    ///
    /// # Safety
    ///
    /// `read_range` is null or points to a range.
    unsafe fn map(
        &self,
        subresource: u32,
        read_range: *const D3D12_RANGE,
        wants_pointer: bool,
    ) -> Result<*mut c_void, Refusal> {
        self.child.device.removal().check_present()?;
        if matches!(self.facts.placement, Placement::Reserved) {
            return Err(Refusal::invalid("reserved resources cannot be mapped")
                .with_id(D3D12_MESSAGE_ID_MAP_INVALIDRESOURCE));
        }
        self.check_subresource(subresource).map_err(under(D3D12_MESSAGE_ID_MAP_INVALIDSUBRESOURCE))?;
        // SAFETY: by the COM contract, pReadRange is null or points to a range.
        if let Some(range) = unsafe { read_range.as_ref() } {
            self.check_range(range, "pReadRange").map_err(under(D3D12_MESSAGE_ID_MAP_INVALIDRANGE))?;
        }
        let start = self
            .facts
            .driver
            .map(subresource)
            .map_err(|error| Refusal::from(error).or_id(D3D12_MESSAGE_ID_MAP_INVALIDHEAP))?;
        // vkd3d-proton's test_map_texture_validation records this for Windows, for every layout.
        let is_volume = self.facts.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
        if is_volume && self.facts.desc.MipLevels > 1 && !wants_pointer {
            return Err(Refusal::invalid("ppData must not be null for a TEXTURE3D with several mip levels")
                .with_id(D3D12_MESSAGE_ID_MAP_INVALIDDATAPOINTER));
        }
        if start.is_none() && wants_pointer {
            return Err(Refusal::invalid("ppData must be null for a texture with an opaque layout")
                .with_id(D3D12_MESSAGE_ID_MAP_INVALIDDATAPOINTER));
        }
        let counted = self.map_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
        if counted.is_err() {
            return Err(Refusal::invalid("Map has been called 2^32 - 1 times without Unmap"));
        }
        // SAFETY: same as above. A null range says nothing about what the application reads.
        if let Some(range) = unsafe { read_range.as_ref() } {
            if let Some(part) = self.mapped_part(subresource, Some(range)) {
                self.track_cpu("ID3D12Resource::Map", part, true);
            }
        }
        self.child.device.aliasing().cpu_maps(&self.facts.driver, true);
        Ok(start.map_or(std::ptr::null_mut(), |start| start.as_ptr().cast()))
    }

    fn check_subresource(&self, subresource: u32) -> Result<(), Refusal> {
        let count = self.facts.resource.texture().map_or(1, |texture| texture.args.subresource_count());
        if subresource >= count {
            return Err(Refusal::invalid(format!(
                "Subresource {subresource} is out of range; the resource has {count}"
            )));
        }
        Ok(())
    }

    /// Returns the region of a subresource that a box selects, or the whole subresource for a null box. Returns `None`
    /// for an empty box.
    ///
    /// # Safety
    ///
    /// `texel_box` is null or points to a box.
    unsafe fn region(
        &self,
        subresource: u32,
        texel_box: *const D3D12_BOX,
        ids: &TexelAccessIds,
    ) -> Result<Option<TexelRegion>, Refusal> {
        let texture = self.texture().map_err(under(ids.resource))?;
        self.check_subresource(subresource).map_err(under(ids.subresource))?;
        if texture.is_multisampled() {
            return Err(Refusal::invalid("the CPU cannot access the texels of a multisampled texture")
                .with_id(ids.resource));
        }
        let at = texture
            .subresource(subresource)
            .ok_or_else(|| Refusal::invalid(format!("Subresource {subresource} is out of range")))?;
        let extent = texture.mip_extent(at.mip, at.plane);
        // SAFETY: by the COM contract, the box is null or readable.
        let Some(wanted) = (unsafe { texel_box.as_ref() }) else {
            let size = [extent.width, extent.height, extent.depth];
            return Ok(Some(TexelRegion { start: [0; 3], size }));
        };
        rules::texel_box::check(wanted, extent, texture.format).map_err(under(ids.texel_box))
    }

    /// Checks a range of `Map` or `Unmap`. A range may be empty (End at or before Begin); otherwise it must not exceed
    /// the resource.
    fn check_range(&self, range: &D3D12_RANGE, name: &str) -> Result<(), Refusal> {
        let end = u64::try_from(range.End).unwrap_or(u64::MAX);
        // Applications cannot know the byte layout of a texture's subresource.
        if self.facts.resource.texture().is_none() && range.End > range.Begin && end > self.facts.desc.Width {
            return Err(Refusal::invalid(format!(
                "{name} ends at {end:#x}, but the resource has {:#x} bytes",
                self.facts.desc.Width
            )));
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `written_range` is null or points to a range.
    unsafe fn unmap(&self, subresource: u32, written_range: *const D3D12_RANGE) -> Result<(), Refusal> {
        self.check_subresource(subresource).map_err(under(D3D12_MESSAGE_ID_UNMAP_INVALIDSUBRESOURCE))?;
        // SAFETY: by the COM contract, pWrittenRange is null or points to a range.
        if let Some(range) = unsafe { written_range.as_ref() } {
            self.check_range(range, "pWrittenRange").map_err(under(D3D12_MESSAGE_ID_UNMAP_INVALIDRANGE))?;
        }
        self.map_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).map_err(
            |_| {
                Refusal::invalid("the resource is not mapped")
                    .with_id(D3D12_MESSAGE_ID_RESOURCE_UNMAP_NOTMAPPED)
            },
        )?;
        self.child.device.aliasing().cpu_maps(&self.facts.driver, false);
        // SAFETY: same as above.
        if let Some(part) = self.mapped_part(subresource, unsafe { written_range.as_ref() }) {
            self.track_cpu("ID3D12Resource::Unmap", part, false);
        }
        Ok(())
    }
}

/// Returns the resource that the application passed as `name`, as the rules of commands and views see it.
///
/// # Errors
///
/// The errors of [`own`].
pub(super) fn operand<'a>(
    device: &Device,
    resource: Option<&'a ID3D12Resource>,
    name: impl fmt::Display,
) -> Result<Operand<'a>, Refusal> {
    own::<Resource>(device, resource, name).map(|resource| resource.operand())
}

/// The message ids that a call which accesses texels reports for its parameters.
struct TexelAccessIds {
    resource: D3D12_MESSAGE_ID,
    subresource: D3D12_MESSAGE_ID,
    texel_box: D3D12_MESSAGE_ID,
}

const WRITE_IDS: TexelAccessIds = TexelAccessIds {
    resource: D3D12_MESSAGE_ID_WRITETOSUBRESOURCE_INVALIDRESOURCE,
    subresource: D3D12_MESSAGE_ID_WRITETOSUBRESOURCE_INVALIDSUBRESOURCE,
    texel_box: D3D12_MESSAGE_ID_WRITETOSUBRESOURCE_INVALIDBOX,
};

const READ_IDS: TexelAccessIds = TexelAccessIds {
    resource: D3D12_MESSAGE_ID_READFROMSUBRESOURCE_INVALIDRESOURCE,
    subresource: D3D12_MESSAGE_ID_READFROMSUBRESOURCE_INVALIDSUBRESOURCE,
    texel_box: D3D12_MESSAGE_ID_READFROMSUBRESOURCE_INVALIDBOX,
};

/// Converts rows in the application's memory, as passed to the calls.
fn texel_rows<P>(start: P, row_pitch: u32, slice_pitch: u32) -> Result<TexelRows<P>, Refusal> {
    let pitch = |value: u32| {
        usize::try_from(value)
            .map_err(|_| Refusal::invalid("the row or depth pitch exceeds the address space"))
    };
    Ok(TexelRows { start, row_pitch: pitch(row_pitch)?, slice_pitch: pitch(slice_pitch)? })
}

implement_pageable!(Resource_Impl);
implement_pageable_tools!(Resource_Impl);

impl ID3D12Resource_Impl for Resource_Impl {
    fn Map(
        &self,
        subresource: u32,
        preadrange: *const D3D12_RANGE,
        ppdata: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource::Map", || {
            // SAFETY: by the COM contract, ppData is null or points to space for one pointer. Null requests a mapping
            // without a pointer.
            let out = unsafe { ppdata.as_mut() };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            let start = unsafe { self.map(subresource, preadrange, out.is_some()) }?;
            // A failed call leaves the previous value.
            if let Some(out) = out {
                *out = start;
            }
            Ok(())
        })
    }

    fn Unmap(&self, subresource: u32, pwrittenrange: *const D3D12_RANGE) {
        // The method returns nothing; `run` has already logged the error.
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        let _ = call::run(self.log(), "ID3D12Resource::Unmap", || unsafe {
            self.unmap(subresource, pwrittenrange)
        });
    }

    fn GetDesc(&self) -> D3D12_RESOURCE_DESC {
        rules::resource::downgrade(&self.facts.desc)
    }

    fn GetGPUVirtualAddress(&self) -> D3D12_GPU_VIRTUAL_ADDRESS {
        // Only buffers expose their address.
        let address = match self.facts.resource.texture() {
            None => self.facts.driver.gpu_virtual_address().get(),
            Some(_) => 0,
        };
        D3D12_GPU_VIRTUAL_ADDRESS(address)
    }

    fn WriteToSubresource(
        &self,
        dstsubresource: u32,
        pdstbox: *const D3D12_BOX,
        psrcdata: *const c_void,
        srcrowpitch: u32,
        srcdepthpitch: u32,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource::WriteToSubresource", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            let region = unsafe { self.region(dstsubresource, pdstbox, &WRITE_IDS) }?;
            let Some(region) = region else { return Ok(()) };
            if psrcdata.is_null() {
                return Err(Refusal::invalid("pSrcData is null"));
            }
            let rows = texel_rows(psrcdata.cast::<u8>(), srcrowpitch, srcdepthpitch)?;
            let part = ResourcePart::Texels(dstsubresource, region);
            self.track_cpu("ID3D12Resource::WriteToSubresource", part, false);
            // SAFETY: by the COM contract, the source is readable for the whole region at its pitches.
            Ok(unsafe { self.facts.driver.write_subresource(dstsubresource, region, rows) }?)
        })
    }

    fn ReadFromSubresource(
        &self,
        pdstdata: *mut c_void,
        dstrowpitch: u32,
        dstdepthpitch: u32,
        srcsubresource: u32,
        psrcbox: *const D3D12_BOX,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource::ReadFromSubresource", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            let region = unsafe { self.region(srcsubresource, psrcbox, &READ_IDS) }?;
            let Some(region) = region else { return Ok(()) };
            if pdstdata.is_null() {
                return Err(Refusal::invalid("pDstData is null"));
            }
            let rows = texel_rows(pdstdata.cast::<u8>(), dstrowpitch, dstdepthpitch)?;
            let part = ResourcePart::Texels(srcsubresource, region);
            self.track_cpu("ID3D12Resource::ReadFromSubresource", part, true);
            // SAFETY: by the COM contract, the target is writable for the whole region at its pitches.
            Ok(unsafe { self.facts.driver.read_subresource(srcsubresource, region, rows) }?)
        })
    }

    fn GetHeapProperties(
        &self,
        pheapproperties: *mut D3D12_HEAP_PROPERTIES,
        pheapflags: *mut D3D12_HEAP_FLAGS,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource::GetHeapProperties", || {
            let heap = self.facts.placement.heap();
            let (properties, flags) =
                heap.ok_or_else(|| Refusal::invalid("reserved resources have no heap properties"))?;
            // SAFETY: by the COM contract, both pointers are null or point to writable space of their type.
            unsafe {
                if let Some(out) = pheapproperties.as_mut() {
                    *out = properties;
                }
                if let Some(out) = pheapflags.as_mut() {
                    *out = flags;
                }
            }
            Ok(())
        })
    }
}

impl ID3D12ManualWriteTrackingResource_Impl for Resource_Impl {
    fn TrackWrite(&self, subresource: u32, pwrittenrange: *const D3D12_RANGE) {
        call::run_infallible(self.log(), "ID3D12ManualWriteTrackingResource::TrackWrite", (), || {
            // SAFETY: by the COM contract, pWrittenRange is null or points to a range.
            let range = WrittenRange::new(unsafe { pwrittenrange.as_ref() });
            write_tracking::report(&TrackedWrite {
                resource: self.facts.driver.gpu_virtual_address(),
                name: self.child.private_data.name(),
                subresource,
                range,
            });
        });
    }
}

impl ID3D12Resource1_Impl for Resource_Impl {
    fn GetProtectedResourceSession(
        &self,
        _riid: *const GUID,
        _ppprotectedsession: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource1::GetProtectedResourceSession", || {
            Err(Refusal::new(DXGI_ERROR_NOT_FOUND, "the resource has no protected resource session"))
        })
    }
}

impl ID3D12Resource2_Impl for Resource_Impl {
    fn GetDesc1(&self) -> D3D12_RESOURCE_DESC1 {
        self.facts.desc
    }
}

#[cfg(feature = "preview")]
impl ID3D12GuidTextureLayoutResource_Impl for Resource_Impl {
    unsafe fn GetDesc2(&self, result: *mut D3D12_RESOURCE_DESC2) -> *mut D3D12_RESOURCE_DESC2 {
        // SAFETY: by the COM contract, the result is null or points to writable space.
        if let Some(result) = unsafe { result.as_mut() } {
            *result = with_layout_guid(&self.facts.desc, self.facts.layout_guid);
        }
        result
    }
}
