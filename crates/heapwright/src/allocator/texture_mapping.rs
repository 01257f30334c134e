//! CPU access to textures.

use std::marker::PhantomData;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::mapping::map_subresource;
use crate::Error;
use crate::recording::{RecordedMapping, UNMAP};
use crate::request::{Block, texel_block};
use crate::source::KeptResident;

/// A subresource of a mapped texture. Dropping it unmaps the subresource.
///
/// The device copies texels in and out (`WriteToSubresource`, `ReadFromSubresource`), whatever the texture's layout. No
/// reference to them is returned. Executing commands that access the texture is unsafe; the caller orders such commands
/// with a fence.
///
/// No other mapping has the same texels: a mapping borrows its allocation mutably, allocations do not overlap, and code
/// that [imports](crate::ResourceAllocator::import) a texture promises the same for it.
///
/// # Invariants
///
/// The subresource stays mapped until the drop, which happens before `resource` is released.
#[derive(Debug)]
pub struct TextureMapping<'a> {
    resource: &'a ID3D12Resource,
    subresource: u32,
    extent: Extent,
    has_written: bool,
    /// The mapping in the allocator's recording.
    recorded: Option<Box<RecordedMapping>>,
    /// Borrows the allocation mutably: one mapping at a time.
    _exclusive: PhantomData<&'a mut ()>,
    /// Dropped after `Drop::drop`, so that the memory is resident while it is unmapped.
    _kept: Option<KeptResident<'a>>,
}

/// The layout of texels in the program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TexelPitches {
    /// Bytes from one row to the next.
    pub row: u32,
    /// Bytes from one slice of a volume to the next.
    pub slice: u32,
}

/// The extent of a subresource, as `GetCopyableFootprints` returns it.
#[derive(Debug, Clone, Copy)]
struct Extent {
    format: DXGI_FORMAT,
    /// In texels, rounded up to whole blocks.
    width: u32,
    height: u32,
    depth: u32,
    rows: u32,
    row_bytes: u64,
}

impl<'a> TextureMapping<'a> {
    #[inline]
    pub(crate) fn new(
        resource: &'a ID3D12Resource,
        subresource: u32,
        kept: Option<KeptResident<'a>>,
    ) -> Result<Self, Error> {
        let extent = Extent::of(resource, subresource)?;
        // A texture may be mapped without an address.
        map_subresource(resource, subresource, None, false)?;
        Ok(Self {
            resource,
            subresource,
            extent,
            has_written: false,
            recorded: None,
            _exclusive: PhantomData,
            _kept: kept,
        })
    }

    /// Sets the mapping in the allocator's recording.
    #[inline]
    pub(crate) fn recorded(mut self, recorded: Option<RecordedMapping>) -> Self {
        self.recorded = recorded.map(Box::new);
        self
    }

    /// Copies texels from `bytes` to a box of the subresource, or to all of it.
    ///
    /// # Errors
    ///
    /// Invalid argument if the box exceeds the subresource, or if `bytes` is too short for its texels; otherwise the
    /// device's error. Nothing is written then.
    #[inline]
    pub fn write(
        &mut self,
        texels: Option<&D3D12_BOX>,
        bytes: &[u8],
        pitches: TexelPitches,
    ) -> Result<(), Error> {
        if self.extent.check(texels, bytes.len(), pitches)? {
            return Ok(());
        }
        let source = bytes.as_ptr().cast();
        let (at, TexelPitches { row, slice }) = (texels.map(std::ptr::from_ref), pitches);
        // SAFETY: the resource is live and mapped (type invariant), the box is readable, and the source has bytes for
        // all its texels at these pitches, as was checked.
        let hresult = unsafe { self.resource.WriteToSubresource(self.subresource, at, source, row, slice) };
        if hresult.is_err() {
            return Err(Error::device("ID3D12Resource::WriteToSubresource", hresult));
        }
        self.has_written = true;
        Ok(())
    }

    /// Copies the texels of a box of the subresource, or of all of it, into `bytes`.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write). After an error of the device, the contents of `bytes` are unspecified.
    #[inline]
    pub fn read(
        &self,
        texels: Option<&D3D12_BOX>,
        bytes: &mut [u8],
        pitches: TexelPitches,
    ) -> Result<(), Error> {
        if self.extent.check(texels, bytes.len(), pitches)? {
            return Ok(());
        }
        let target = bytes.as_mut_ptr().cast();
        let (at, TexelPitches { row, slice }) = (texels.map(std::ptr::from_ref), pitches);
        // SAFETY: as in `write`, with source and target exchanged; the target is borrowed mutably.
        let hresult = unsafe { self.resource.ReadFromSubresource(target, row, slice, self.subresource, at) };
        if hresult.is_err() {
            return Err(Error::device("ID3D12Resource::ReadFromSubresource", hresult));
        }
        Ok(())
    }
}

impl Drop for TextureMapping<'_> {
    #[inline]
    fn drop(&mut self) {
        // An empty range: nothing was written. No range of bytes describes the texels that were written.
        let nothing = D3D12_RANGE::default();
        let written = if self.has_written { None } else { Some(std::ptr::from_ref(&nothing)) };
        RecordedMapping::traced(self.recorded.as_deref(), UNMAP, || {
            // SAFETY: the resource is live and was mapped by `new`; every mapping is unmapped once. The range outlives
            // the call.
            unsafe { self.resource.Unmap(self.subresource, written) };
        });
    }
}

impl Extent {
    #[inline]
    fn of(resource: &ID3D12Resource, subresource: u32) -> Result<Self, Error> {
        let mut device: Option<ID3D12Device> = None;
        // SAFETY: the resource is a live COM object, and the result is of the interface that is asked for.
        let answered = unsafe { resource.GetDevice(&mut device) };
        let device = device.filter(|_| answered.is_ok());
        let device = device.ok_or_else(|| Error::device("ID3D12DeviceChild::GetDevice", E_POINTER))?;
        // SAFETY: the resource is a live COM object.
        let found = unsafe { resource.GetDesc() };
        // The alignment that `GetDesc` returns is the actual one, which may be illegal in a request. It changes no
        // footprint.
        let flags = found.Flags & !D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        let desc = D3D12_RESOURCE_DESC { Alignment: 0, Flags: flags, ..found };
        let count = subresource_count(&device, &desc);
        if u64::from(subresource) >= count {
            let rule = format!("{subresource} is out of range; the texture has {count} subresources");
            return Err(Error::invalid_argument("subresource", rule));
        }
        let (mut layout, mut rows, mut row_bytes, mut total) = Default::default();
        // SAFETY: the device is a live COM object; the description is readable, and the results are writable, one of
        // each.
        unsafe {
            device.GetCopyableFootprints(
                &desc,
                subresource,
                1,
                0,
                Some(&mut layout),
                Some(&mut rows),
                Some(&mut row_bytes),
                Some(&mut total),
            );
        }
        if total == u64::MAX {
            let rule = "GetCopyableFootprints returned no layout for the resource";
            return Err(Error::invalid_argument("resource", rule));
        }
        let D3D12_PLACED_SUBRESOURCE_FOOTPRINT { Footprint: footprint, .. } = layout;
        Ok(Self {
            format: footprint.Format,
            width: footprint.Width,
            height: footprint.Height,
            depth: footprint.Depth.max(1),
            rows,
            row_bytes,
        })
    }

    /// Checks that a box is within the subresource and that its texels need at most `len` bytes. Returns `true` if it
    /// is empty.
    #[inline]
    fn check(&self, texels: Option<&D3D12_BOX>, len: usize, pitches: TexelPitches) -> Result<bool, Error> {
        let (mut rows, mut row_bytes, mut slices) = (self.rows, self.row_bytes, self.depth);
        if let Some(&D3D12_BOX { left, top, front, right, bottom, back }) = texels {
            if right > self.width || bottom > self.height || back > self.depth {
                let (width, height, depth) = (self.width, self.height, self.depth);
                let rule = format!(
                    "the end ({right}, {bottom}, {back}) exceeds the subresource's {width} x {height} x {depth} texels"
                );
                return Err(Error::invalid_argument("texels", rule));
            }
            if left >= right || top >= bottom || front >= back {
                return Ok(true);
            }
            // In other formats, each row is taken to be a whole one.
            if let Some(Block { side, bytes }) = texel_block(self.format) {
                let blocks = |begin: u32, end: u32| u64::from(end).div_ceil(side) - u64::from(begin) / side;
                row_bytes = blocks(left, right).saturating_mul(u64::from(bytes));
                rows = u32::try_from(blocks(top, bottom)).unwrap_or(self.rows);
            }
            slices = back - front;
        }
        let steps = |count: u32, pitch: u32| u64::from(count.saturating_sub(1)) * u64::from(pitch);
        let needed =
            steps(slices, pitches.slice).saturating_add(steps(rows, pitches.row)).saturating_add(row_bytes);
        if needed > ByteSize::from_usize(len).get() {
            let rule = format!("has {len} bytes, but the texels need {needed} at these pitches");
            return Err(Error::invalid_argument("bytes", rule));
        }
        Ok(false)
    }
}

/// Returns the number of subresources of a texture, in all planes of its format.
#[inline]
fn subresource_count(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> u64 {
    let slices = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE3D => 1,
        _ => u64::from(desc.DepthOrArraySize.max(1)),
    };
    // Formats whose blocks are known have one plane; the device is asked about the others.
    let planes = if texel_block(desc.Format).is_some() { 1 } else { plane_count(device, desc) };
    u64::from(desc.MipLevels.max(1)) * slices * planes
}

#[inline]
fn plane_count(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> u64 {
    let mut format = D3D12_FEATURE_DATA_FORMAT_INFO { Format: desc.Format, PlaneCount: 1 };
    let size = u32::try_from(size_of_val(&format)).unwrap_or(0);
    // SAFETY: the device is a live COM object; the data is the feature's structure, writable, with its size.
    let answered =
        unsafe { device.CheckFeatureSupport(D3D12_FEATURE_FORMAT_INFO, (&raw mut format).cast(), size) };
    if answered.is_ok() { u64::from(format.PlaneCount.max(1)) } else { 1 }
}
