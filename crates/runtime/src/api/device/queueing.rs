//! Children of a device, waiting for multiple fences, and creation and copies of descriptors.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::*;
use windows_core::{ComObject, ComObjectInner, GUID, IUnknownImpl};

use super::{Device, Device_Impl};
use crate::api::call;
use crate::api::command_list::read_array;
use crate::api::command_queue::{self, CommandQueue};
use crate::api::descriptor_heap;
use crate::api::fence::{self, Fence};
use crate::api::object::own;
use crate::api::query_heap::{self, QueryHeap};
use crate::api::resource::operand;
use crate::rules::operand::Operand;
use crate::rules::views::{self, Descriptor, Slices, View};
use crate::rules::{Refusal, byte_offset_views};

/// Evaluates to the resource dimension for a view's `ViewDimension` and to the slices in the matching union member. The
/// three kinds of views have separate constants and unions with the same members, except that depth stencil views have
/// neither planes, volumes nor buffers.
macro_rules! texture_slices {
    (
        $desc:ident, $name:literal, $($plane:ident)?,
        $d1:ident, $d1_array:ident, $d2:ident, $d2_array:ident, $d2_ms:ident, $d2_ms_array:ident
        $(; $d3:ident, $buffer:ident)?
    ) => {{
        let view = &$desc.Anonymous;
        let (d1, d2) = (D3D12_RESOURCE_DIMENSION_TEXTURE1D, D3D12_RESOURCE_DIMENSION_TEXTURE2D);
        match $desc.ViewDimension {
            $d1 => (d1, (view.Texture1D.MipSlice, 0, 1, 0)),
            $d1_array => {
                let v = view.Texture1DArray;
                (d1, (v.MipSlice, v.FirstArraySlice, v.ArraySize, 0))
            }
            $d2 => (d2, (view.Texture2D.MipSlice, 0, 1, 0 $(+ view.Texture2D.$plane)?)),
            $d2_array => {
                let v = view.Texture2DArray;
                (d2, (v.MipSlice, v.FirstArraySlice, v.ArraySize, 0 $(+ v.$plane)?))
            }
            $d2_ms => (d2, (0, 0, 1, 0)),
            $d2_ms_array => {
                let v = view.Texture2DMSArray;
                (d2, (0, v.FirstArraySlice, v.ArraySize, 0))
            }
            $($d3 => {
                let v = view.Texture3D;
                (D3D12_RESOURCE_DIMENSION_TEXTURE3D, (v.MipSlice, v.FirstWSlice, v.WSize, 0))
            }
            $buffer => (D3D12_RESOURCE_DIMENSION_BUFFER, (0, 0, 1, 0)),)?
            other => return Err(Refusal::invalid(format!("ViewDimension {other} is not a valid {}", $name))),
        }
    }};
}

impl Device_Impl {
    /// Creates a child of the device. Fails if the device was removed.
    ///
    /// # Safety
    ///
    /// `riid` is null or points to a GUID, `ppv` is null or points to writable space for one pointer.
    pub(super) unsafe fn create_child<P, T: ComObjectInner>(
        &self,
        name: &'static str,
        riid: *const GUID,
        ppv: *mut *mut c_void,
        check: impl FnOnce() -> Result<P, Refusal>,
        make: impl FnOnce(ComObject<Device>, P) -> Result<T, Refusal>,
    ) -> windows_core::Result<()> {
        let check = || self.removal().check_present().and_then(|()| check());
        let make = |plan| Ok(ComObject::new(make(self.to_object(), plan)?));
        // SAFETY: guaranteed by the caller.
        unsafe { call::create(self.log(), name, riid, ppv, check, make) }
    }

    /// Runs the body of the method `name`.
    pub(in crate::api) fn run<T>(
        &self,
        name: &'static str,
        body: impl FnOnce(&Self) -> Result<T, Refusal>,
    ) -> windows_core::Result<T> {
        call::run(self.log(), name, || body(self))
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description; `riid` is null or points to a GUID; `ppv` is null or points to
    /// writable space for one pointer.
    pub(super) unsafe fn create_query_heap(
        &self,
        name: &'static str,
        desc: *const D3D12_QUERY_HEAP_DESC,
        flags: D3D12_QUERY_HEAP_FLAGS,
        riid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        // SAFETY: guaranteed by the caller.
        let desc = unsafe { call::read(desc, "pDesc") };
        let check = || query_heap::check_flags(flags).and(desc).and_then(query_heap::check_desc);
        let make = |device, desc: &_| QueryHeap::new(device, desc, flags);
        // SAFETY: guaranteed by the caller.
        unsafe { self.create_child(name, riid, ppv, check, make) }
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description; `riid` is null or points to a GUID; `ppv` is null or points to
    /// writable space for one pointer.
    pub(super) unsafe fn create_command_queue(
        &self,
        name: &'static str,
        desc: *const D3D12_COMMAND_QUEUE_DESC,
        riid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        // SAFETY: guaranteed by the caller.
        let check = || unsafe { call::read(desc, "pDesc") }.and_then(command_queue::check_desc);
        // SAFETY: guaranteed by the caller.
        unsafe { self.create_child(name, riid, ppv, check, CommandQueue::new) }
    }

    /// # Safety
    ///
    /// `fences` and `values` are null or have `count` elements; `event` is null or refers to an event.
    pub(super) unsafe fn set_event_on_multiple_fence_completion(
        &self,
        fences: *const Option<ID3D12Fence>,
        values: *const u64,
        count: u32,
        flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
        event: HANDLE,
    ) -> Result<(), Refusal> {
        // SAFETY: by the COM contract, both arrays have that many elements.
        let (fences, values) =
            unsafe { (read_array(count, fences, "ppFences")?, read_array(count, values, "pFenceValues")?) };
        if fences.is_empty() {
            return Err(Refusal::invalid("NumFences is 0"));
        }
        if flags & !D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY != 0 {
            return Err(Refusal::invalid(format!(
                "Flags {flags:#x} is not a valid D3D12_MULTIPLE_FENCE_WAIT_FLAGS"
            ))
            .with_id(D3D12_MESSAGE_ID_SETEVENTONMULTIPLEFENCECOMPLETION_INVALIDFLAGS));
        }
        let waits = fences
            .iter()
            .zip(values)
            .enumerate()
            .map(|(index, (fence, &value))| {
                let fence = own::<Fence>(self, fence.as_ref(), &format!("ppFences[{index}]"))?;
                Ok((fence.value().clone(), value))
            })
            .collect::<Result<Vec<_>, Refusal>>()?;
        let any = flags & D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY != 0;
        let seen = self.aliasing().cpu_wait_for_several(&waits, any);
        // SAFETY: guaranteed by the caller.
        unsafe { fence::complete_several(&waits, any, event)? };
        self.aliasing().cpu_awaits(seen);
        Ok(())
    }

    pub(super) fn descriptor_increment(&self, heap_type: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
        let name = "ID3D12Device::GetDescriptorHandleIncrementSize";
        let checked = call::run(self.log(), name, || descriptor_heap::check_type(heap_type));
        if checked.is_ok() { descriptor_heap::INCREMENT } else { 0 }
    }

    /// Runs the body of a method that writes a descriptor, in a heap of type `heap_type`.
    pub(super) fn write_descriptor(
        &self,
        name: &'static str,
        handle: D3D12_CPU_DESCRIPTOR_HANDLE,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
        body: impl FnOnce(&Self) -> Result<Descriptor, Refusal>,
    ) -> windows_core::Result<()> {
        self.run(name, |device| {
            let (table, index) = device.descriptor_heaps().find_in(handle, heap_type, "DestDescriptor")?;
            table.set(index, Some(body(device)?));
            Ok(())
        })
    }

    /// Same as [`write_descriptor`](Self::write_descriptor), for methods that return nothing: errors are only logged.
    pub(super) fn create_view(
        &self,
        name: &'static str,
        handle: &D3D12_CPU_DESCRIPTOR_HANDLE,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
        body: impl FnOnce(&Self) -> Result<Descriptor, Refusal>,
    ) {
        let _ = self.write_descriptor(name, *handle, heap_type, body);
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description whose union member selected by `ViewDimension` is initialised.
    pub(super) unsafe fn render_target_view(
        &self,
        resource: Option<&ID3D12Resource>,
        desc: *const D3D12_RENDER_TARGET_VIEW_DESC,
    ) -> Result<Descriptor, Refusal> {
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let desc = unsafe { desc.as_ref() };
        let Some(resource) = viewed(self, resource, desc.is_some())? else {
            return Ok(Descriptor::Null);
        };
        views::check_flag(resource, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, "ALLOW_RENDER_TARGET")?;
        let Some(desc) = desc else { return whole(resource) };
        // SAFETY: ViewDimension determines which member of the union the application wrote.
        let (dimension, slices) = unsafe {
            if desc.ViewDimension == D3D12_RTV_DIMENSION_BUFFER
                && resource.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
            {
                return views::buffer_rtv(resource, desc.Format, &desc.Anonymous.Buffer);
            }
            texture_slices!(
                desc, "D3D12_RTV_DIMENSION", PlaneSlice,
                D3D12_RTV_DIMENSION_TEXTURE1D, D3D12_RTV_DIMENSION_TEXTURE1DARRAY, D3D12_RTV_DIMENSION_TEXTURE2D,
                D3D12_RTV_DIMENSION_TEXTURE2DARRAY, D3D12_RTV_DIMENSION_TEXTURE2DMS,
                D3D12_RTV_DIMENSION_TEXTURE2DMSARRAY;
                D3D12_RTV_DIMENSION_TEXTURE3D, D3D12_RTV_DIMENSION_BUFFER
            )
        };
        texture_view(resource, dimension, desc.Format, slices)
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description whose union member selected by `ViewDimension` is initialised.
    pub(super) unsafe fn depth_stencil_view(
        &self,
        resource: Option<&ID3D12Resource>,
        desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
    ) -> Result<Descriptor, Refusal> {
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let desc = unsafe { desc.as_ref() };
        let Some(resource) = viewed(self, resource, desc.is_some())? else {
            return Ok(Descriptor::Null);
        };
        views::check_flag(resource, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, "ALLOW_DEPTH_STENCIL")?;
        let Some(desc) = desc else { return whole(resource) };
        let flags = D3D12_DSV_FLAG_READ_ONLY_DEPTH | D3D12_DSV_FLAG_READ_ONLY_STENCIL;
        if desc.Flags & !flags != 0 {
            return Err(Refusal::invalid(format!("Flags {:#x} is not a valid D3D12_DSV_FLAGS", desc.Flags)));
        }
        // SAFETY: ViewDimension determines which member of the union the application wrote.
        let (dimension, slices) = unsafe {
            texture_slices!(
                desc, "D3D12_DSV_DIMENSION", ,
                D3D12_DSV_DIMENSION_TEXTURE1D, D3D12_DSV_DIMENSION_TEXTURE1DARRAY, D3D12_DSV_DIMENSION_TEXTURE2D,
                D3D12_DSV_DIMENSION_TEXTURE2DARRAY, D3D12_DSV_DIMENSION_TEXTURE2DMS,
                D3D12_DSV_DIMENSION_TEXTURE2DMSARRAY
            )
        };
        let mut descriptor = texture_view(resource, dimension, desc.Format, slices)?;
        if let Descriptor::View(view) = &mut descriptor {
            view.read_only = desc.Flags;
        }
        Ok(descriptor)
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description whose union member selected by `ViewDimension` is initialised; with
    /// BUFFER_BYTE_OFFSET, to the larger description that has this member.
    pub(super) unsafe fn unordered_access_view(
        &self,
        resource: Option<&ID3D12Resource>,
        counter: Option<&ID3D12Resource>,
        desc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
    ) -> Result<Descriptor, Refusal> {
        let pointer = desc;
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let desc = unsafe { desc.as_ref() };
        let Some(resource) = viewed(self, resource, desc.is_some())? else {
            return Ok(Descriptor::Null);
        };
        views::check_flag(resource, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, "ALLOW_UNORDERED_ACCESS")?;
        let counter = viewed(self, counter, true)?;
        if let Some(counter) = counter {
            views::check_flag(counter, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, "ALLOW_UNORDERED_ACCESS")?;
        }
        let is_buffer = resource.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
        let Some(desc) = desc else {
            return if is_buffer {
                Err(Refusal::invalid("pDesc is null; a view of a buffer requires it"))
            } else {
                whole(resource)
            };
        };
        let with_counter = |mut made: Descriptor, offset| {
            if let (Descriptor::View(made), Some(counter)) = (&mut made, counter) {
                made.counter = Some((Arc::downgrade(counter.driver), offset));
            }
            made
        };
        if desc.ViewDimension == D3D12_UAV_DIMENSION_BUFFER_BYTE_OFFSET {
            // SAFETY: guaranteed by the caller for this dimension, whose member makes the description larger.
            let desc = unsafe { &*pointer.cast::<D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET>() };
            let (caps, options) = (self.driver().caps(), self.options());
            let made = byte_offset_views::unordered_access_view(resource, counter, desc, caps, &options)?;
            return Ok(with_counter(made, desc.BufferByteOffset.CounterOffsetInBytes));
        }
        // SAFETY: ViewDimension determines which member of the union the application wrote.
        let (dimension, slices) = unsafe {
            if desc.ViewDimension == D3D12_UAV_DIMENSION_BUFFER && is_buffer {
                let buffer = &desc.Anonymous.Buffer;
                let made = views::buffer_uav(resource, desc.Format, buffer)?;
                return Ok(with_counter(made, buffer.CounterOffsetInBytes));
            }
            texture_slices!(
                desc, "D3D12_UAV_DIMENSION", PlaneSlice,
                D3D12_UAV_DIMENSION_TEXTURE1D, D3D12_UAV_DIMENSION_TEXTURE1DARRAY, D3D12_UAV_DIMENSION_TEXTURE2D,
                D3D12_UAV_DIMENSION_TEXTURE2DARRAY, D3D12_UAV_DIMENSION_TEXTURE2DMS,
                D3D12_UAV_DIMENSION_TEXTURE2DMSARRAY;
                D3D12_UAV_DIMENSION_TEXTURE3D, D3D12_UAV_DIMENSION_BUFFER
            )
        };
        texture_view(resource, dimension, desc.Format, slices)
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description of the SDK in use: with ViewDimension BUFFER_BYTE_OFFSET, its member
    /// `BufferByteOffset` is initialised.
    pub(super) unsafe fn shader_resource_view(
        &self,
        resource: Option<&ID3D12Resource>,
        desc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
    ) -> Result<Descriptor, Refusal> {
        let Some(resource) = viewed(self, resource, !desc.is_null())? else {
            return Ok(Descriptor::ShadersOnly);
        };
        if resource.desc.Flags & D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE != 0 {
            return Err(Refusal::invalid(
                "pResource has DENY_SHADER_RESOURCE and cannot have shader resource views",
            ));
        }
        // SAFETY: by the COM contract, pDesc is null or points to a description. The dimension is a member of each.
        let dimension = unsafe { desc.as_ref() }.map(|desc| desc.ViewDimension);
        if dimension != Some(D3D12_SRV_DIMENSION_BUFFER_BYTE_OFFSET) {
            // Nothing is shaded, so that other views are not read.
            return Ok(Descriptor::ShadersOnly);
        }
        // SAFETY: guaranteed by the caller for this dimension.
        let desc = unsafe { &*desc.cast::<D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET>() };
        byte_offset_views::shader_resource_view(resource, desc, self.driver().caps(), &self.options())
    }

    /// # Safety
    ///
    /// `desc` is null or points to a description.
    pub(super) unsafe fn constant_buffer_view(
        &self,
        desc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
    ) -> Result<Descriptor, Refusal> {
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let desc = unsafe { call::read(desc, "pDesc") }?;
        let alignment = D3D12_CONSTANT_BUFFER_DATA_PLACEMENT_ALIGNMENT.cast_unsigned();
        if !desc.BufferLocation.0.is_multiple_of(alignment.into()) {
            return Err(Refusal::invalid(format!(
                "BufferLocation {:#x} is not a multiple of {alignment}",
                desc.BufferLocation.0
            )));
        }
        let limit = D3D12_REQ_CONSTANT_BUFFER_ELEMENT_COUNT.cast_unsigned() * 16;
        if !desc.SizeInBytes.is_multiple_of(alignment) || desc.SizeInBytes > limit {
            return Err(Refusal::invalid(format!(
                "SizeInBytes {} is not a multiple of {alignment} or exceeds {limit}",
                desc.SizeInBytes
            )));
        }
        Ok(Descriptor::ShadersOnly)
    }

    /// Copies descriptors. The ranges on each side are concatenated and must have the same total number of descriptors.
    /// Errors are only logged.
    ///
    /// # Safety
    ///
    /// The arrays of each side are null or have as many elements as its count.
    pub(super) unsafe fn copy_descriptors(
        &self,
        name: &'static str,
        targets: DescriptorArrays,
        sources: DescriptorArrays,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    ) {
        // SAFETY: guaranteed by the caller.
        let _ = self.run(name, |device| unsafe { device.check_and_copy(targets, sources, heap_type) });
    }

    /// # Safety
    ///
    /// The arrays of each side are null or have as many elements as its count.
    unsafe fn check_and_copy(
        &self,
        targets: DescriptorArrays,
        sources: DescriptorArrays,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    ) -> Result<(), Refusal> {
        descriptor_heap::check_type(heap_type)?;
        // SAFETY: guaranteed by the caller.
        let (targets, sources) = unsafe {
            (
                DescriptorRange::read(targets, "pDestDescriptorRangeStarts")?,
                DescriptorRange::read(sources, "pSrcDescriptorRangeStarts")?,
            )
        };
        let invalid = |message: String| {
            Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_COPY_DESCRIPTORS_INVALID_RANGES)
        };
        let total =
            |ranges: &[DescriptorRange]| ranges.iter().map(|range| u64::from(range.count)).sum::<u64>();
        if total(&targets) != total(&sources) {
            return Err(invalid(format!(
                "the source ranges have {} descriptors, but the destination ranges have {}",
                total(&sources),
                total(&targets)
            )));
        }
        let find = |range: &DescriptorRange, is_source: bool| {
            let name = if is_source { "a source range" } else { "a destination range" };
            let (table, first) = self.descriptor_heaps().find(range.start, name)?;
            let end = u64::from(first) + u64::from(range.count);
            if end > u64::from(table.desc().NumDescriptors) || table.desc().Type != heap_type {
                return Err(invalid(format!(
                    "{name} is not within a single descriptor heap of type {heap_type}"
                )));
            }
            if is_source && table.is_shader_visible() {
                return Err(invalid(format!(
                    "{name} is in a shader-visible heap, which the CPU cannot read"
                ))
                .with_id(D3D12_MESSAGE_ID_COPY_DESCRIPTORS_WRITE_ONLY_DESCRIPTOR));
            }
            Ok((table, first, range.count))
        };
        let found = |ranges: &[DescriptorRange], is_source| {
            let found = ranges.iter().filter(|range| range.count != 0).map(|range| find(range, is_source));
            let found = found.collect::<Result<Vec<_>, _>>()?;
            Ok::<_, Refusal>(found.into_iter().flat_map(|(table, first, count)| {
                (first..first + count).map(move |index| (Arc::clone(&table), index))
            }))
        };
        let (targets, sources) = (found(&targets, false)?, found(&sources, true)?);
        for ((to, index), (from, from_index)) in targets.zip(sources) {
            to.set(index, from.get(from_index));
        }
        Ok(())
    }
}

/// Returns the resource of a view, or `None` for a null view, which requires a description.
fn viewed<'a>(
    device: &Device,
    resource: Option<&'a ID3D12Resource>,
    has_desc: bool,
) -> Result<Option<Operand<'a>>, Refusal> {
    match resource {
        None if has_desc => Ok(None),
        None => Err(Refusal::invalid("pResource and pDesc are both null")),
        Some(resource) => operand(device, Some(resource), "pResource").map(Some),
    }
}

/// A range of consecutive descriptors.
struct DescriptorRange {
    start: D3D12_CPU_DESCRIPTOR_HANDLE,
    count: u32,
}

/// The ranges of descriptors that an application passes: their number, starts and sizes. Without sizes, each range has
/// one descriptor.
type DescriptorArrays = (u32, *const D3D12_CPU_DESCRIPTOR_HANDLE, *const u32);

impl DescriptorRange {
    /// # Safety
    ///
    /// The arrays are null or have as many elements as the count.
    unsafe fn read((count, starts, sizes): DescriptorArrays, name: &str) -> Result<Vec<Self>, Refusal> {
        // SAFETY: guaranteed by the caller.
        let starts = unsafe { read_array(count, starts, name) }?;
        let count = if sizes.is_null() { 0 } else { count };
        // SAFETY: guaranteed by the caller.
        let sizes = unsafe { read_array(count, sizes, name) }?;
        let size = |index| sizes.get(index).copied().unwrap_or(1);
        Ok(starts.iter().enumerate().map(|(index, &start)| Self { start, count: size(index) }).collect())
    }
}

/// Creates the view that a null description requests: the first mip level of all slices.
fn whole(resource: Operand<'_>) -> Result<Descriptor, Refusal> {
    texture_view(resource, resource.desc.Dimension, DXGI_FORMAT_UNKNOWN, (0, 0, u32::MAX, 0))
}

fn texture_view(
    resource: Operand<'_>,
    dimension: D3D12_RESOURCE_DIMENSION,
    format: DXGI_FORMAT,
    slices: Slices,
) -> Result<Descriptor, Refusal> {
    let actual = resource.desc.Dimension;
    if actual != dimension || actual == D3D12_RESOURCE_DIMENSION_BUFFER {
        return Err(Refusal::invalid(format!(
            "ViewDimension requires a resource of dimension {dimension}, but pResource has dimension {actual}"
        )));
    }
    View::of_texture(resource, format, slices).map(Descriptor::View)
}
