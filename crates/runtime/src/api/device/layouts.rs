//! `GetCopyableFootprints` and `GetResourceTiling`: the layout of texels in buffers and tiles.

use heapwright_d3d12::*;
use windows_core::{Interface, Ref};

use super::Device_Impl;
use crate::api::call;
use crate::api::resource::Resource;
use crate::rules::footprints::{self, CopyableFootprint};
use crate::rules::resource::Described;
use crate::rules::tiling::Tiling;
use crate::rules::{self, Refusal};

/// The subresources and the base offset of a `GetCopyableFootprints` call.
#[derive(Clone, Copy)]
pub(super) struct FootprintRange {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) base_offset: u64,
}

/// The output arrays of `GetCopyableFootprints`. Each is null or has one element per subresource; `total` is a single
/// value.
#[derive(Clone, Copy)]
pub(super) struct FootprintOutputs {
    pub(super) layouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    pub(super) row_counts: *mut u32,
    pub(super) row_sizes: *mut u64,
    pub(super) total: *mut u64,
}

impl FootprintOutputs {
    /// Writes the footprint at `index`.
    ///
    /// # Safety
    ///
    /// Each array is null or has more than `index` elements.
    unsafe fn write(&self, index: usize, footprint: &CopyableFootprint) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if !self.layouts.is_null() {
                self.layouts.add(index).write(footprint.placed);
            }
            if !self.row_counts.is_null() {
                self.row_counts.add(index).write(footprint.row_count);
            }
            if !self.row_sizes.is_null() {
                self.row_sizes.add(index).write(footprint.row_size);
            }
        }
    }

    /// Returns whether there is an array to write to.
    fn has_array(&self) -> bool {
        !(self.layouts.is_null() && self.row_counts.is_null() && self.row_sizes.is_null())
    }

    /// # Safety
    ///
    /// `total` is null or writable.
    unsafe fn write_total(&self, total: u64) {
        // SAFETY: guaranteed by the caller.
        if let Some(out) = unsafe { self.total.as_mut() } {
            *out = total;
        }
    }
}

impl Device_Impl {
    /// Fills the arrays. If anything is invalid, sets all bits of each element, as D3D12 does.
    ///
    /// # Safety
    ///
    /// Each output array is null or has as many elements as the range.
    pub(super) unsafe fn copyable_footprints(
        &self,
        name: &'static str,
        desc: Result<Described, Refusal>,
        range: FootprintRange,
        outputs: FootprintOutputs,
    ) {
        let total = call::run(self.log(), name, || {
            // Descriptions returned by GetDesc have an effective alignment, on which footprints do not depend.
            let (desc, additions) = desc?;
            let desc = D3D12_RESOURCE_DESC1 { Alignment: 0, ..desc };
            let resource =
                rules::resource::check_with(&desc, &additions, self.driver().caps(), &self.options())?;
            let FootprintRange { first, count, base_offset } = range;
            let mut index = 0;
            footprints::copyable_footprints(&resource, first, count, base_offset, |footprint| {
                // SAFETY: guaranteed by the caller; there is one footprint for each subresource of the range.
                unsafe { outputs.write(index, &footprint) };
                index += 1;
            })
        });
        // The method returns nothing; `run` has already logged the error.
        if total.is_err() && outputs.has_array() {
            for index in 0..usize::try_from(range.count).unwrap_or(0) {
                // SAFETY: guaranteed by the caller.
                unsafe { outputs.write(index, &CopyableFootprint::INVALID) };
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { outputs.write_total(total.unwrap_or(u64::MAX)) };
    }

    /// Returns the tiling of a reserved resource.
    pub(super) fn tiling(&self, resource: Ref<'_, ID3D12Resource>) -> Result<Tiling, Refusal> {
        let resource = resource.as_ref().ok_or_else(|| Refusal::invalid("pTiledResource is null"))?;
        let resource = resource
            .cast_object_ref::<Resource>()
            .map_err(|_| Refusal::invalid("pTiledResource was not created by this runtime"))?;
        if !resource.is_reserved() {
            return Err(Refusal::invalid("pTiledResource is not a reserved resource"));
        }
        Tiling::new(resource.rules()).ok_or_else(|| Refusal::invalid("pTiledResource has no tiles"))
    }
}
