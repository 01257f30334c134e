//! `ID3D12GuidTextureLayoutDevice`: resources whose layout a GUID names (DirectX-Specs, *D3D12 GUID Texture Layout*).

use std::ffi::c_void;

use heapwright_d3d12::preview::*;
use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, Interface as _};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{CastableFormats, castable_to, in_layout, in_session, read_descs};
use crate::api::device::layouts::{FootprintOutputs, FootprintRange};
use crate::api::methods::calls;
use crate::rules::creation::Request;
use crate::rules::resource::layout_guid::{self, Support};
use crate::rules::resource::{self, Additions, Described, Resource};
use crate::rules::{Refusal, under};

/// Splits a description into what the rules take.
fn split(desc: &D3D12_RESOURCE_DESC2) -> Described {
    let additions = Additions { layout_guid: desc.LayoutGuid, ..Additions::default() };
    (without_layout_guid(desc), additions)
}

/// Reads a `D3D12_RESOURCE_DESC2`.
///
/// # Safety
///
/// `pointer` is null or points to a readable description.
unsafe fn read_desc2(pointer: *const D3D12_RESOURCE_DESC2) -> Result<Described, Refusal> {
    let null = D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLRESOURCEPROPERTIES;
    // SAFETY: guaranteed by the caller.
    unsafe { call::read(pointer, "pResourceDesc") }.map_err(under(null)).map(split)
}

/// Returns the creation request of a description of the fourth generation.
///
/// # Safety
///
/// As of [`in_layout`].
unsafe fn request<'a>(
    desc: Result<Described, Refusal>,
    layout: D3D12_BARRIER_LAYOUT,
    clear_value: *const D3D12_CLEAR_VALUE,
) -> Result<Request<'a>, Refusal> {
    let (desc, additions) = desc?;
    // SAFETY: guaranteed by the caller.
    unsafe { in_layout(Ok(desc), layout, clear_value) }.map(|request| Request { additions, ..request })
}

impl Device_Impl {
    /// Refuses the calls on a device without layout GUIDs.
    fn check_layout_guids(&self) -> Result<(), Refusal> {
        if layout_guid::is_supported(self.driver().caps(), &self.options()) {
            return Ok(());
        }
        Err(Refusal::not_implemented("layout GUIDs on this adapter, or before the preview of SDK 1.721"))
    }

    fn check_described(&self, (desc, additions): &Described) -> Result<Resource, Refusal> {
        resource::check_with(desc, additions, self.driver().caps(), &self.options())
    }

    /// Answers D3D12_FEATURE_GUID_TEXTURE_LAYOUT. Without a description, the support is left as it is.
    pub(in crate::api::device) fn guid_texture_layout(
        &self,
        data: &mut D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT,
    ) -> Result<(), Refusal> {
        let is_supported = layout_guid::is_supported(self.driver().caps(), &self.options());
        data.GuidTextureLayoutTier = if is_supported {
            D3D12_GUID_TEXTURE_LAYOUT_TIER_1
        } else {
            D3D12_GUID_TEXTURE_LAYOUT_TIER_NOT_SUPPORTED
        };
        data.GuidSupported = false.into();
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let Some(desc) = (unsafe { data.pDesc.as_ref() }) else { return Ok(()) };
        let support = self.layout_support(&split(desc));
        data.GuidSupported = support.is_some().into();
        (data.Support1, data.Support2) = support
            .map_or((D3D12_FORMAT_SUPPORT1_NONE, D3D12_FORMAT_SUPPORT2_NONE), |found| {
                (found.support1, found.support2)
            });
        Ok(())
    }

    /// Returns what a resource with a layout GUID supports, or `None` if it is invalid or has another layout.
    fn layout_support(&self, described: &Described) -> Option<Support> {
        if described.0.Layout != D3D12_TEXTURE_LAYOUT_GUID {
            return None;
        }
        self.check_described(described).ok().and_then(|resource| Support::of(&resource))
    }

    /// Returns the layouts that a filter selects.
    ///
    /// # Safety
    ///
    /// `filter` is null or points to a filter.
    unsafe fn layouts(&self, filter: *const D3D12_TEXTURE_LAYOUT_FILTER) -> Result<Vec<GUID>, Refusal> {
        self.removal().check_present()?;
        self.check_layout_guids()?;
        // SAFETY: guaranteed by the caller.
        let Some(filter) = (unsafe { filter.as_ref() }) else { return Ok(layout_guid::matching(|_| true)) };
        if filter.Flags != D3D12_TEXTURE_LAYOUT_FILTER_FLAG_NONE {
            return Err(Refusal::invalid(format!(
                "unknown texture layout filter flag bits {:#x}",
                filter.Flags
            )));
        }
        let asked = Support { support1: filter.Support1, support2: filter.Support2 };
        Ok(layout_guid::matching(|guid| {
            let described = split(&D3D12_RESOURCE_DESC2 { LayoutGuid: guid, ..filter.Desc });
            self.layout_support(&described).is_some_and(|support| support.has(asked))
        }))
    }
}

impl ID3D12GuidTextureLayoutDevice_Impl for Device_Impl {
    unsafe fn GetTextureLayoutCount(
        &self,
        filter: *const D3D12_TEXTURE_LAYOUT_FILTER,
        count: *mut u32,
    ) -> HRESULT {
        call::code(call::run(self.log(), "ID3D12GuidTextureLayoutDevice::GetTextureLayoutCount", || {
            // SAFETY: by the COM contract, pNumGuids is null or writable.
            let count = unsafe { count.as_mut() }.ok_or_else(|| Refusal::invalid("pNumGuids is null"))?;
            *count = 0;
            // SAFETY: by the COM contract, pFilter is null or points to a filter.
            let found = unsafe { self.layouts(filter) }?;
            *count = u32::try_from(found.len()).unwrap_or(u32::MAX);
            Ok(())
        }))
    }

    unsafe fn GetTextureLayouts(
        &self,
        filter: *const D3D12_TEXTURE_LAYOUT_FILTER,
        count: u32,
        guids: *mut GUID,
    ) -> HRESULT {
        call::code(call::run(self.log(), "ID3D12GuidTextureLayoutDevice::GetTextureLayouts", || {
            // SAFETY: by the COM contract, pFilter is null or points to a filter.
            let found = unsafe { self.layouts(filter) }?;
            let asked = usize::try_from(count).ok().and_then(|count| found.get(..count));
            let Some(asked) = asked else {
                return Err(Refusal::invalid(format!(
                    "NumGuids {count} exceeds the {} layouts",
                    found.len()
                )));
            };
            if asked.is_empty() {
                return Ok(());
            }
            if guids.is_null() {
                return Err(Refusal::invalid("pGuids is null"));
            }
            // SAFETY: by the COM contract, pGuids has NumGuids elements, which the copy does not overlap.
            unsafe { std::ptr::copy_nonoverlapping(asked.as_ptr(), guids, asked.len()) };
            Ok(())
        }))
    }

    calls! {
        unsafe ID3D12GuidTextureLayoutDevice:
        fn CreateCommittedResource4(
            properties: *const D3D12_HEAP_PROPERTIES, heap_flags: D3D12_HEAP_FLAGS,
            desc: *const D3D12_RESOURCE_DESC2, layout: D3D12_BARRIER_LAYOUT,
            clear_value: *const D3D12_CLEAR_VALUE, session: *mut c_void, format_count: u32,
            formats: *const DXGI_FORMAT, riid: *const GUID, ppv: *mut *mut c_void
        ) = create_committed(
            properties, heap_flags,
            castable_to(
                in_session(
                    request(read_desc2(desc), layout, clear_value),
                    ID3D12ProtectedResourceSession::from_raw_borrowed(&session)
                ),
                format_count, formats
            ),
            (riid, ppv)
        );
        fn CreatePlacedResource3(
            heap: *mut c_void, offset: u64, desc: *const D3D12_RESOURCE_DESC2, layout: D3D12_BARRIER_LAYOUT,
            clear_value: *const D3D12_CLEAR_VALUE, format_count: u32, formats: *const DXGI_FORMAT,
            riid: *const GUID, ppv: *mut *mut c_void
        ) = create_placed(
            ID3D12Heap::from_raw_borrowed(&heap), offset,
            castable_to(request(read_desc2(desc), layout, clear_value), format_count, formats), (riid, ppv)
        );
    }

    unsafe fn GetResourceAllocationInfo4(
        &self,
        result: *mut D3D12_RESOURCE_ALLOCATION_INFO,
        visible_mask: u32,
        count: u32,
        descs: *const D3D12_RESOURCE_DESC2,
        format_counts: *const u32,
        formats: *const *const DXGI_FORMAT,
        infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
        let name = "ID3D12GuidTextureLayoutDevice::GetResourceAllocationInfo4";
        let castable = CastableFormats { counts: format_counts, lists: formats };
        // SAFETY: by the COM contract, the arrays are null or have as many elements as are counted.
        let info = unsafe {
            self.allocation_info(name, visible_mask, read_descs(count, descs, split), castable, infos)
        };
        // SAFETY: by the COM contract, the result is null or points to writable space.
        if let Some(result) = unsafe { result.as_mut() } {
            *result = info;
        }
        result
    }

    unsafe fn GetCopyableFootprints2(
        &self,
        desc: *const D3D12_RESOURCE_DESC2,
        first: u32,
        count: u32,
        base_offset: u64,
        layouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        row_counts: *mut u32,
        row_sizes: *mut u64,
        total: *mut u64,
    ) {
        let name = "ID3D12GuidTextureLayoutDevice::GetCopyableFootprints2";
        let range = FootprintRange { first, count, base_offset };
        let outputs = FootprintOutputs { layouts, row_counts, row_sizes, total };
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { self.copyable_footprints(name, read_desc2(desc), range, outputs) };
    }

    unsafe fn GetRowMajorTextureLayoutInfo(
        &self,
        desc: *const D3D12_RESOURCE_DESC2,
        first: u32,
        count: u32,
        infos: *mut D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO,
    ) -> HRESULT {
        call::code(call::run(
            self.log(),
            "ID3D12GuidTextureLayoutDevice::GetRowMajorTextureLayoutInfo",
            || {
                self.check_layout_guids()?;
                // SAFETY: by the COM contract, pResourceDesc is null or points to a description.
                let described = unsafe { read_desc2(desc) }?;
                if described.0.Layout != D3D12_TEXTURE_LAYOUT_GUID {
                    return Err(Refusal::invalid("pResourceDesc must have D3D12_TEXTURE_LAYOUT_GUID"));
                }
                let checked = self.check_described(&described)?;
                let texture = checked.texture().map(|texture| texture.args);
                let texture = texture.ok_or_else(|| Refusal::invalid("pResourceDesc is not a texture"))?;
                let available = texture.subresource_count();
                if first.checked_add(count).is_none_or(|end| end > available) {
                    return Err(Refusal::invalid(format!(
                        "FirstSubresource {first} plus NumSubresources {count} exceeds the number of subresources, {available}"
                    )));
                }
                if infos.is_null() {
                    return Ok(());
                }
                for (index, subresource) in (first..first + count).enumerate() {
                    let info = layout_guid::info(&texture, subresource)
                        .ok_or_else(|| Refusal::invalid("the row pitch exceeds 32 bits"))?;
                    // SAFETY: by the COM contract, pLayoutInfo has NumSubresources elements.
                    unsafe { infos.add(index).write(info) };
                }
                Ok(())
            },
        ))
    }
}
