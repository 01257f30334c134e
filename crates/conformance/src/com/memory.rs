//! Heaps' and resources' descriptions, and mapped memory as bytes.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::{Result, done};

/// `ID3D12Heap::GetDesc`.
pub(crate) fn heap_desc(heap: &ID3D12Heap) -> D3D12_HEAP_DESC {
    // SAFETY: the heap is live.
    unsafe { heap.GetDesc() }
}

/// `ID3D12Resource::GetDesc`.
pub(crate) fn desc(resource: &ID3D12Resource) -> D3D12_RESOURCE_DESC {
    // SAFETY: the resource is live.
    unsafe { resource.GetDesc() }
}

/// `ID3D12Resource2::GetDesc1`.
pub(crate) fn desc1(resource: &ID3D12Resource2) -> D3D12_RESOURCE_DESC1 {
    // SAFETY: the resource is live.
    unsafe { resource.GetDesc1() }
}

/// `GetGPUVirtualAddress`.
pub(crate) fn address(resource: &ID3D12Resource) -> u64 {
    // SAFETY: the resource is live.
    unsafe { resource.GetGPUVirtualAddress() }.0
}

/// `GetHeapProperties`.
pub(crate) fn heap_properties(
    resource: &ID3D12Resource,
) -> Result<(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS)> {
    let (mut properties, mut flags) = (D3D12_HEAP_PROPERTIES::default(), 0);
    // SAFETY: both pointers are to room for their type.
    done(unsafe { resource.GetHeapProperties(Some(&raw mut properties), Some(&raw mut flags)) })?;
    Ok((properties, flags))
}

/// `Map` for the pointer, which is not used; `Unmap` is the caller's.
pub(crate) fn map_raw(
    resource: &ID3D12Resource,
    subresource: u32,
    range: Option<D3D12_RANGE>,
) -> Result<usize> {
    let mut start: *mut c_void = null_mut();
    let range = range.as_ref().map(std::ptr::from_ref);
    // SAFETY: the range is valid, start takes one pointer.
    done(unsafe { resource.Map(subresource, range, &mut start) })?;
    Ok(start.addr())
}

/// `Map` without a pointer.
pub(crate) fn map_without_pointer(resource: &ID3D12Resource, subresource: u32) -> Result<()> {
    // SAFETY: D3D12 takes a null pointer for what has no address.
    done(unsafe { resource.Map(subresource, None, null_mut()) })
}

/// `Unmap` with the whole resource written.
pub(crate) fn unmap(resource: &ID3D12Resource, subresource: u32) {
    // SAFETY: the resource is live; Unmap of what is not mapped has no effect.
    unsafe { resource.Unmap(subresource, None) };
}

/// Bytes that are copied at a time.
const CHUNK: usize = 256;

/// A mapped buffer, or mapped tiles of a texture. Dropping it unmaps.
pub(crate) struct Mapping {
    resource: ID3D12Resource,
    subresource: u32,
    start: *mut u8,
    len: usize,
}

impl Mapping {
    /// Maps all of a buffer. A mapping without an address counts as `E_POINTER`.
    pub(crate) fn of(resource: &ID3D12Resource) -> Result<Self> {
        Self::with_range(resource, None)
    }

    /// Maps a buffer whose `range` the CPU may read.
    pub(crate) fn with_range(resource: &ID3D12Resource, range: Option<D3D12_RANGE>) -> Result<Self> {
        let mut start: *mut c_void = null_mut();
        let range = range.as_ref().map(std::ptr::from_ref);
        // SAFETY: the range is valid, start takes one pointer.
        done(unsafe { resource.Map(0, range, &mut start) })?;
        if start.is_null() {
            return Err(E_POINTER);
        }
        let len = usize::try_from(desc(resource).Width).map_err(|_| E_OUTOFMEMORY)?;
        Ok(Self { resource: resource.clone(), subresource: 0, start: start.cast(), len })
    }

    /// Maps a subresource of a texture of layout 64KB_STANDARD_SWIZZLE, which takes `tiles` tiles.
    ///
    /// # Panics
    ///
    /// For a texture of another layout.
    pub(crate) fn of_tiles(resource: &ID3D12Resource, subresource: u32, tiles: usize) -> Result<Self> {
        assert_eq!(desc(resource).Layout, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, "a layout with tiles");
        let mut start: *mut c_void = null_mut();
        // SAFETY: start takes one pointer.
        done(unsafe { resource.Map(subresource, None, &mut start) })?;
        if start.is_null() {
            return Err(E_POINTER);
        }
        Ok(Self { resource: resource.clone(), subresource, start: start.cast(), len: tiles * 65_536 })
    }

    /// Where the CPU sees the first byte.
    pub(crate) fn start(&self) -> usize {
        self.start.addr()
    }

    /// Writes `bytes` from `offset` on.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.len, "a write within the buffer");
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        let end = offset + bytes.len() - rest.len();
        // SAFETY: buffer or tiles are mapped as long as self lives and have len bytes; arrays of bytes need no alignment; volatile,
        // because the GPU may look.
        unsafe {
            for (index, chunk) in chunks.iter().enumerate() {
                self.start.add(offset + index * CHUNK).cast::<[u8; CHUNK]>().write_volatile(*chunk);
            }
            for (place, &byte) in rest.iter().enumerate() {
                self.start.add(end + place).write_volatile(byte);
            }
        }
    }

    /// Reads `len` bytes from `offset` on.
    pub(crate) fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        assert!(offset + len <= self.len, "a read within the buffer");
        let mut bytes = vec![0; len];
        let (chunks, rest) = bytes.as_chunks_mut::<CHUNK>();
        let end = offset + len - rest.len();
        // SAFETY: as in write.
        unsafe {
            for (index, chunk) in chunks.iter_mut().enumerate() {
                *chunk = self.start.add(offset + index * CHUNK).cast::<[u8; CHUNK]>().read_volatile();
            }
            for (place, byte) in rest.iter_mut().enumerate() {
                *byte = self.start.add(end + place).read_volatile();
            }
        }
        bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        unmap(&self.resource, self.subresource);
    }
}

/// `WriteToSubresource` of a whole subresource.
pub(crate) fn write_to_subresource(
    resource: &ID3D12Resource,
    subresource: u32,
    bytes: &[u8],
    row_pitch: u32,
) -> Result<()> {
    let depth_pitch = u32::try_from(bytes.len()).expect("small");
    // SAFETY: the caller passes all rows of the subresource.
    done(unsafe {
        resource.WriteToSubresource(subresource, None, bytes.as_ptr().cast(), row_pitch, depth_pitch)
    })
}

/// `ReadFromSubresource` of a whole subresource of `len` bytes.
pub(crate) fn read_from_subresource(
    resource: &ID3D12Resource,
    subresource: u32,
    len: usize,
    row_pitch: u32,
) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let depth_pitch = u32::try_from(len).expect("small");
    // SAFETY: the caller's len is that of all rows of the subresource.
    let hresult = unsafe {
        resource.ReadFromSubresource(bytes.as_mut_ptr().cast(), row_pitch, depth_pitch, subresource, None)
    };
    done(hresult).map(|()| bytes)
}

/// `WriteToSubresource` and `ReadFromSubresource` of a box that begins and ends at `place` in each direction: what they answer, and the
/// bytes that were to be read, which were 0xee.
pub(crate) fn access_nothing(resource: &ID3D12Resource, place: u32) -> (Result<()>, Result<()>, [u8; 16]) {
    let nothing = D3D12_BOX { left: place, top: place, front: 0, right: place, bottom: place, back: 1 };
    let mut bytes = [0xee; 16];
    // SAFETY: the box has no texels, and the bytes are room for some.
    let (written, read) = unsafe {
        let start = bytes.as_mut_ptr();
        (
            resource.WriteToSubresource(0, Some(&raw const nothing), start.cast(), 16, 16),
            resource.ReadFromSubresource(start.cast(), 16, 16, 0, Some(&raw const nothing)),
        )
    };
    (done(written), done(read), bytes)
}

/// `Map` into a pointer of the address `before`: the answer, and the address that the pointer has then. Unmaps what was mapped.
pub(crate) fn map_over(resource: &ID3D12Resource, subresource: u32, before: usize) -> (Result<()>, usize) {
    let mut start: *mut c_void = std::ptr::without_provenance_mut(before);
    // SAFETY: start takes one pointer.
    let result = done(unsafe { resource.Map(subresource, None, &mut start) });
    if result.is_ok() {
        unmap(resource, subresource);
    }
    (result, start.addr())
}

/// `Map` of what must be refused: the HRESULT as it came. Unmaps where it succeeds.
pub(crate) fn map_hresult(
    resource: &ID3D12Resource,
    subresource: u32,
    range: Option<D3D12_RANGE>,
) -> HRESULT {
    match map_raw(resource, subresource, range) {
        Ok(_) => {
            unmap(resource, subresource);
            S_OK
        }
        Err(hresult) => hresult,
    }
}
