//! Descriptions of heaps and resources, and mapped memory as bytes.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::*;

use super::done;
use crate::answer::Answer;

pub(crate) fn heap_desc(heap: &ID3D12Heap) -> D3D12_HEAP_DESC {
    // SAFETY: the heap is live.
    unsafe { heap.GetDesc() }
}

pub(crate) fn desc(resource: &ID3D12Resource) -> D3D12_RESOURCE_DESC {
    // SAFETY: the resource is live.
    unsafe { resource.GetDesc() }
}

pub(crate) fn desc1(resource: &ID3D12Resource2) -> D3D12_RESOURCE_DESC1 {
    // SAFETY: the resource is live.
    unsafe { resource.GetDesc1() }
}

pub(crate) fn address(resource: &ID3D12Resource) -> u64 {
    // SAFETY: the resource is live.
    unsafe { resource.GetGPUVirtualAddress() }.0
}

pub(crate) fn heap_properties(
    resource: &ID3D12Resource,
) -> Answer<(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS)> {
    let (mut properties, mut flags) = (D3D12_HEAP_PROPERTIES::default(), 0);
    // SAFETY: both pointers are to room for their type.
    done("GetHeapProperties", unsafe {
        resource.GetHeapProperties(Some(&raw mut properties), Some(&raw mut flags))
    })
    .map(|()| (properties, flags))
}

/// `Map` with a pointer, which is returned as an address. The caller unmaps.
pub(crate) fn map_raw(
    resource: &ID3D12Resource,
    subresource: u32,
    range: Option<D3D12_RANGE>,
) -> Answer<usize> {
    let mut start: *mut c_void = null_mut();
    let range = range.as_ref().map(std::ptr::from_ref);
    // SAFETY: the range is valid, start takes one pointer.
    done("Map", unsafe { resource.Map(subresource, range, &mut start) }).map(|()| start.addr())
}

/// `Map` with a null result pointer.
pub(crate) fn map_without_pointer(resource: &ID3D12Resource, subresource: u32) -> Answer<()> {
    // SAFETY: D3D12 takes a null pointer for what has no address.
    done("Map", unsafe { resource.Map(subresource, None, null_mut()) })
}

/// `Unmap` with a null range, which stands for the whole subresource.
pub(crate) fn unmap(resource: &ID3D12Resource, subresource: u32) {
    // SAFETY: the resource is live; Unmap of what is not mapped has no effect.
    unsafe { resource.Unmap(subresource, None) };
}

/// Number of bytes that are copied at a time.
const CHUNK: usize = 256;

/// A mapped buffer, or mapped tiles of a texture. Dropping it unmaps.
pub(crate) struct Mapping {
    resource: ID3D12Resource,
    subresource: u32,
    start: *mut u8,
    len: usize,
}

impl Mapping {
    /// Maps a buffer. A null pointer counts as `E_POINTER`.
    pub(crate) fn of(resource: &ID3D12Resource) -> Answer<Self> {
        Self::with_range(resource, None)
    }

    /// Maps a buffer, of which the CPU reads `range`.
    pub(crate) fn with_range(resource: &ID3D12Resource, range: Option<D3D12_RANGE>) -> Answer<Self> {
        let len = usize::try_from(desc(resource).Width).expect("a width that the CPU can map");
        Self::new(resource, 0, range, len)
    }

    /// Maps a subresource of a texture of layout 64KB_STANDARD_SWIZZLE that has `tiles` tiles.
    ///
    /// # Panics
    ///
    /// Panics if the texture has another layout.
    pub(crate) fn of_tiles(resource: &ID3D12Resource, subresource: u32, tiles: usize) -> Answer<Self> {
        assert_eq!(desc(resource).Layout, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, "a layout with tiles");
        Self::new(resource, subresource, None, tiles * 65_536)
    }

    fn new(
        resource: &ID3D12Resource,
        subresource: u32,
        range: Option<D3D12_RANGE>,
        len: usize,
    ) -> Answer<Self> {
        let mut start: *mut c_void = null_mut();
        let range = range.as_ref().map(std::ptr::from_ref);
        // SAFETY: the range is valid, and start takes one pointer.
        let hresult = unsafe { resource.Map(subresource, range, &mut start) };
        let hresult = if hresult.is_ok() && start.is_null() { E_POINTER } else { hresult };
        done("Map", hresult).map(|()| Self {
            resource: resource.clone(),
            subresource,
            start: start.cast(),
            len,
        })
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> usize {
        self.start.addr()
    }

    /// Writes `bytes` at `offset`.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.len, "a write within the buffer");
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        let end = offset + bytes.len() - rest.len();
        // SAFETY: the buffer or the tiles have len bytes and stay mapped while self lives; arrays of bytes need no
        // alignment; volatile, because the GPU accesses the same memory.
        unsafe {
            for (index, chunk) in chunks.iter().enumerate() {
                self.start.add(offset + index * CHUNK).cast::<[u8; CHUNK]>().write_volatile(*chunk);
            }
            for (place, &byte) in rest.iter().enumerate() {
                self.start.add(end + place).write_volatile(byte);
            }
        }
    }

    /// Reads `len` bytes at `offset`.
    pub(crate) fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        assert!(offset + len <= self.len, "a read within the buffer");
        #[cfg(test)]
        crate::answer::bytes::note_read();
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
) -> Answer<()> {
    let depth_pitch = u32::try_from(bytes.len()).expect("the size fits in 32 bits");
    // SAFETY: the caller passes all rows of the subresource.
    done("WriteToSubresource", unsafe {
        resource.WriteToSubresource(subresource, None, bytes.as_ptr().cast(), row_pitch, depth_pitch)
    })
}

/// `ReadFromSubresource` of a whole subresource of `len` bytes.
pub(crate) fn read_from_subresource(
    resource: &ID3D12Resource,
    subresource: u32,
    len: usize,
    row_pitch: u32,
) -> Answer<Vec<u8>> {
    #[cfg(test)]
    crate::answer::bytes::note_read();
    let mut bytes = vec![0; len];
    let depth_pitch = u32::try_from(len).expect("the size fits in 32 bits");
    // SAFETY: the caller's len is that of all rows of the subresource.
    let hresult = unsafe {
        resource.ReadFromSubresource(bytes.as_mut_ptr().cast(), row_pitch, depth_pitch, subresource, None)
    };
    done("ReadFromSubresource", hresult).map(|()| bytes)
}

/// `WriteToSubresource` and `ReadFromSubresource` with an empty box at `place`. Returns the results of both, and the
/// destination of the read, which is filled with 0xee before.
pub(crate) fn access_nothing(resource: &ID3D12Resource, place: u32) -> (Answer<()>, Answer<()>, [u8; 16]) {
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
    (done("WriteToSubresource", written), done("ReadFromSubresource", read), bytes)
}

/// `Map` to a pointer that is `before`. Returns the result and the pointer after the call; unmaps on success.
pub(crate) fn map_over(resource: &ID3D12Resource, subresource: u32, before: usize) -> (Answer<()>, usize) {
    let mut start: *mut c_void = std::ptr::without_provenance_mut(before);
    // SAFETY: start takes one pointer.
    let result = unsafe { resource.Map(subresource, None, &mut start) };
    if result.is_ok() {
        unmap(resource, subresource);
    }
    (done("Map", result), start.addr())
}
