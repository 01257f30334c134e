//! CPU access to buffers.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use crate::Error;
use crate::recording::{RecordedMapping, UNMAP};
use crate::source::KeptResident;

/// A mapped buffer. Dropping it unmaps the buffer and tells the device which bytes were written (`pWrittenRange`): from
/// the first to the last byte that [`write`](Self::write) wrote.
///
/// Bytes are copied in and out. No reference to them is returned, because the GPU may write the memory. Executing
/// commands that access the bytes is unsafe, in D3D12 and in a
/// [`ResidencyManager`](crate::residency::ResidencyManager::execute_command_lists); the caller orders such commands
/// with a fence.
///
/// No other mapping has the same bytes: a mapping borrows its allocation mutably, allocations do not overlap, and code
/// that [imports](crate::ResourceAllocator::import) a resource promises the same for it.
///
/// # Invariants
///
/// `start` points to `len` bytes that stay mapped until the drop, which happens before `resource` is released.
#[derive(Debug)]
pub struct Mapping<'a> {
    /// The resource to unmap at the end; `None` if it stays mapped.
    resource: Option<&'a ID3D12Resource>,
    start: NonNull<u8>,
    len: ByteSize,
    /// The range that may be read, as passed to the device, and the smallest range that covers all written bytes.
    readable: Range<u64>,
    written: Option<Range<u64>>,
    /// The mapping in the allocator's recording.
    recorded: Option<Box<RecordedMapping>>,
    /// Borrows the allocation mutably: one mapping at a time.
    _exclusive: PhantomData<&'a mut ()>,
    /// Dropped after `Drop::drop`, so that the memory is resident while it is unmapped.
    _kept: Option<KeptResident<'a>>,
}

impl<'a> Mapping<'a> {
    /// Maps a buffer of `len` bytes. `readable` is the range that may be read; `None` is the whole buffer.
    pub(crate) fn new(
        resource: &'a ID3D12Resource,
        len: ByteSize,
        readable: Option<Range<u64>>,
        kept: Option<KeptResident<'a>>,
    ) -> Result<Self, Error> {
        let range = readable.as_ref().map(d3d12_range).transpose()?;
        let start = map_buffer(resource, range.as_ref())?;
        let readable = readable.unwrap_or(0..len.get());
        let resource = Some(resource);
        Ok(Self {
            resource,
            start,
            len,
            readable,
            written: None,
            recorded: None,
            _exclusive: PhantomData,
            _kept: kept,
        })
    }

    /// Creates a mapping of a buffer that is already mapped and stays so.
    ///
    /// # Safety
    ///
    /// `start` points to `len` bytes that stay mapped for `'a`.
    pub(crate) unsafe fn of_mapped(
        start: NonNull<u8>,
        len: ByteSize,
        readable: Option<Range<u64>>,
        kept: Option<KeptResident<'a>>,
    ) -> Self {
        let readable = readable.unwrap_or(0..len.get());
        Self {
            resource: None,
            start,
            len,
            readable,
            written: None,
            recorded: None,
            _exclusive: PhantomData,
            _kept: kept,
        }
    }

    /// Sets the mapping in the allocator's recording.
    pub(crate) fn recorded(mut self, recorded: Option<RecordedMapping>) -> Self {
        self.recorded = recorded.map(Box::new);
        self
    }

    /// Returns the number of mapped bytes.
    #[must_use]
    pub fn len(&self) -> ByteSize {
        self.len
    }

    /// Returns `false` for every mapping, because a buffer has at least one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len.is_zero()
    }

    /// Copies `bytes` to byte `offset` of the buffer.
    ///
    /// # Errors
    ///
    /// Invalid argument if they exceed the buffer; nothing is written then.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let target = self.at(offset, bytes.len())?;
        // SAFETY: `at` checked that the target has as many bytes, which are mapped (type invariant). A slice of the
        // program cannot overlap them, because no reference to them exists. Other mappings have other bytes (see the
        // type), and `&mut self` excludes other users of this one.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len()) };
        if !bytes.is_empty() {
            // `at` checked that this does not overflow.
            let end = offset.saturating_add(ByteSize::from_usize(bytes.len()).get());
            let before = self.written.take().unwrap_or(offset..end);
            self.written = Some(before.start.min(offset)..before.end.max(end));
        }
        Ok(())
    }

    /// Copies from byte `offset` of the buffer into `bytes`.
    ///
    /// # Errors
    ///
    /// Invalid argument if the range exceeds the buffer, or the range that was [mapped for
    /// reading](crate::ResourceAllocation::map_range); `bytes` is unchanged then.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let source = self.at(offset, bytes.len())?;
        let end = offset.saturating_add(ByteSize::from_usize(bytes.len()).get());
        let Range { start: first, end: last } = self.readable;
        if !bytes.is_empty() && (offset < first || end > last) {
            let rule = format!(
                "{} bytes at {offset:#x} exceed the readable range {first:#x}..{last:#x}",
                bytes.len()
            );
            return Err(Error::invalid_argument("offset", rule));
        }
        // SAFETY: as in `write`, with source and target exchanged.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies plain values to byte `offset` of the buffer, like [`write`](Self::write).
    ///
    /// # Errors
    ///
    /// The errors of `write`.
    #[cfg(feature = "bytemuck")]
    pub fn write_slice<T: bytemuck::NoUninit>(&mut self, offset: u64, values: &[T]) -> Result<(), Error> {
        self.write(offset, bytemuck::cast_slice(values))
    }

    /// Copies from byte `offset` of the buffer into plain values, like [`read`](Self::read). The offset needs no
    /// alignment.
    ///
    /// # Errors
    ///
    /// The errors of `read`.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let upload = ResourceAllocationDesc::new(HeapType::Upload);
    /// let desc = buffer_desc(ByteSize::new(256));
    /// let mut buffer = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
    /// let mut mapping = buffer.map()?;
    /// mapping.write_slice(4, &[[1.0_f32, 2.0], [3.0, 4.0]])?;
    /// let mut last = [0.0_f32; 2];
    /// mapping.read_slice(12, &mut last)?;
    /// assert_eq!(last, [3.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "bytemuck")]
    pub fn read_slice<T: bytemuck::Pod>(&self, offset: u64, values: &mut [T]) -> Result<(), Error> {
        self.read(offset, bytemuck::cast_slice_mut(values))
    }

    /// Returns the address of byte `offset` after checking that `len` bytes from there are within the mapping.
    fn at(&self, offset: u64, len: usize) -> Result<NonNull<u8>, Error> {
        let end = ByteSize::from_usize(len).checked_add(ByteSize::new(offset));
        let is_inside = end.is_some_and(|end| end <= self.len);
        let offset_in_memory = usize::try_from(offset).ok().filter(|_| is_inside).ok_or_else(|| {
            Error::invalid_argument(
                "offset",
                format!(
                    "{len} bytes at {offset:#x} exceed the mapping's size of {:#x} bytes",
                    self.len.get()
                ),
            )
        })?;
        // SAFETY: the offset is at most the length of the mapped bytes.
        Ok(unsafe { self.start.add(offset_in_memory) })
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        let unmap = || {
            let Some(resource) = self.resource else { return };
            // An empty range: nothing was written.
            let written = self.written.take().unwrap_or(0..0);
            // A mapped range fits into the address space. Otherwise `None` reports everything as written.
            let range = d3d12_range(&written).ok();
            // SAFETY: the resource is live and was mapped by `new`; every mapping is unmapped once. The range outlives
            // the call.
            unsafe { resource.Unmap(0, range.as_ref().map(std::ptr::from_ref)) };
        };
        RecordedMapping::traced(self.recorded.as_deref(), UNMAP, unmap);
    }
}

/// Maps a buffer. `readable` is the range that may be read; `None` is the whole buffer.
pub(crate) fn map_buffer(
    buffer: &ID3D12Resource,
    readable: Option<&D3D12_RANGE>,
) -> Result<NonNull<u8>, Error> {
    map_subresource(buffer, 0, readable, true)?.ok_or_else(|| {
        // SAFETY: the resource was mapped by the call above.
        unsafe { buffer.Unmap(0, None) };
        Error::device("ID3D12Resource::Map", E_POINTER)
    })
}

/// Maps a subresource, with or without an address. `readable` is the range that may be read; `None` is all of it.
pub(crate) fn map_subresource(
    resource: &ID3D12Resource,
    subresource: u32,
    readable: Option<&D3D12_RANGE>,
    wants_address: bool,
) -> Result<Option<NonNull<u8>>, Error> {
    let mut start = std::ptr::null_mut();
    let out = if wants_address { &raw mut start } else { std::ptr::null_mut() };
    // SAFETY: the resource is a live COM object, which checks the subresource; the pointer is null or writable, and the
    // range outlives the call.
    let hresult = unsafe { resource.Map(subresource, readable.map(std::ptr::from_ref), out) };
    if hresult.is_err() {
        return Err(Error::device("ID3D12Resource::Map", hresult));
    }
    Ok(NonNull::new(start.cast()))
}

/// Converts a range of bytes to D3D12's structure.
fn d3d12_range(range: &Range<u64>) -> Result<D3D12_RANGE, Error> {
    match (usize::try_from(range.start), usize::try_from(range.end)) {
        (Ok(begin), Ok(end)) => Ok(D3D12_RANGE { Begin: begin, End: end }),
        _ => Err(Error::invalid_argument("read_range", format!("{range:#x?} exceeds the address space"))),
    }
}
