//! The CPU's view of a buffer.

use std::marker::PhantomData;
use std::ptr::NonNull;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::residency::KeptResident;
use super::within::WithinRange;
use crate::Error;

/// The bytes of a mapped buffer. Dropping it unmaps.
///
/// Bytes are copied in and out; no reference to them is handed out, because memory that the GPU may write is no place for
/// one. Submitting work that touches the bytes is unsafe in D3D12, and whoever does it orders it with a fence.
///
/// # Invariants
///
/// `start` points to `len` bytes that stay mapped until the drop, which happens before `resource` is released.
#[derive(Debug)]
pub struct Mapping<'a> {
    /// What to unmap at the end; `None` of what stays mapped.
    resource: Option<&'a ID3D12Resource>,
    start: NonNull<u8>,
    len: ByteSize,
    /// The allocation is borrowed mutably: one mapping at a time.
    _exclusive: PhantomData<&'a mut ()>,
    /// Dropped after the drop below: it is unmapped while it is resident.
    _kept: Option<KeptResident<'a>>,
}

impl<'a> Mapping<'a> {
    pub(super) fn new(
        resource: &'a ID3D12Resource,
        len: ByteSize,
        kept: Option<KeptResident<'a>>,
    ) -> Result<Self, Error> {
        let mut start = std::ptr::null_mut();
        // SAFETY: the resource is a live COM object, a buffer, whose only subresource is 0; the pointer is writable. No
        // read range means that the CPU may read everything.
        let hresult = unsafe { resource.Map(0, None, &mut start) };
        if hresult.is_err() {
            return Err(Error::device("ID3D12Resource::Map", hresult));
        }
        match NonNull::new(start.cast()) {
            Some(start) => {
                Ok(Self { resource: Some(resource), start, len, _exclusive: PhantomData, _kept: kept })
            }
            None => {
                // SAFETY: the resource was mapped by the call above.
                unsafe { resource.Unmap(0, None) };
                Err(Error::device("ID3D12Resource::Map", E_POINTER))
            }
        }
    }

    /// The bytes of a part of a resource, which is mapped as long as the part lives. `len` is at most the part's size.
    pub(super) fn of_mapped(range: &'a WithinRange, len: ByteSize, kept: Option<KeptResident<'a>>) -> Self {
        let len = len.min(range.range().size());
        Self { resource: None, start: range.mapped(), len, _exclusive: PhantomData, _kept: kept }
    }

    /// Bytes that are mapped.
    #[must_use]
    pub fn len(&self) -> ByteSize {
        self.len
    }

    /// Never: a buffer has at least one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len.is_zero()
    }

    /// Copies `bytes` to byte `offset` of the buffer.
    ///
    /// # Errors
    ///
    /// Invalid argument when they reach beyond the end; nothing is written then.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let target = self.at(offset, bytes.len())?;
        // SAFETY: `at` checked that the target has as many bytes, which are mapped (type invariant). A slice of the
        // program cannot overlap them, since they are handed out by no reference, and `&mut self` keeps other writers of
        // this program away.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies from byte `offset` of the buffer into `bytes`.
    ///
    /// # Errors
    ///
    /// Invalid argument when that reaches beyond the end; `bytes` is untouched then.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let source = self.at(offset, bytes.len())?;
        // SAFETY: as in `write`, with source and target exchanged.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Where byte `offset` is, when `len` bytes from there are inside.
    fn at(&self, offset: u64, len: usize) -> Result<NonNull<u8>, Error> {
        let end = ByteSize::from_usize(len).checked_add(ByteSize::new(offset));
        let is_inside = end.is_some_and(|end| end <= self.len);
        let offset_in_memory = usize::try_from(offset).ok().filter(|_| is_inside).ok_or_else(|| {
            Error::invalid_argument(
                "offset",
                format!("{len} bytes from {offset:#x} leave a mapping of {:#x} bytes", self.len.get()),
            )
        })?;
        // SAFETY: the offset is at most the length of the mapped bytes.
        Ok(unsafe { self.start.add(offset_in_memory) })
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        if let Some(resource) = self.resource {
            // SAFETY: the resource is live and was mapped by `new`; every mapping is unmapped once.
            unsafe { resource.Unmap(0, None) };
        }
    }
}
