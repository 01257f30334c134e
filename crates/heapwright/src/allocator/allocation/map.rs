//! Mapping of allocations, and recording of their bytes.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::{KeptMapped, MappedAddress, ResourceAllocation};
use crate::allocator::mapping::{Mapping, map_buffer, map_subresource};
use crate::allocator::texture_mapping::TextureMapping;
use crate::recording::{MAP, RecordedAllocation, RecordedMapping, Recording, UNMAP};
use crate::source::KeptResident;
use crate::{Error, RecordFlags};

impl ResourceAllocation {
    /// Maps the buffer for the CPU until the mapping is dropped. For a part of a resource, the mapping begins at the
    /// part's first byte.
    ///
    /// With a residency manager, the memory is resident until then; the call waits for it if necessary.
    ///
    /// # Errors
    ///
    /// Invalid argument for a texture, and for a heap type without CPU access; out of memory if the memory cannot be
    /// made resident; otherwise the device's error.
    #[inline]
    pub fn map(&mut self) -> Result<Mapping<'_>, Error> {
        self.map_bytes(None)
    }

    /// Maps the buffer, and tells the device which bytes the CPU may read (`pReadRange`). All bytes may be written.
    ///
    /// An empty range means that nothing is read, which is faster where the CPU's caches are not coherent. The range is
    /// relative to the allocation's first byte.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map); invalid argument for a range that exceeds the buffer.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_COPY_DEST;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let readback = ResourceAllocationDesc::new(HeapType::Readback);
    /// let desc = buffer_desc(ByteSize::from_kib(64));
    /// let mut buffer = allocator.create_resource(&readback, &desc, D3D12_RESOURCE_STATE_COPY_DEST, None)?;
    /// let mapping = buffer.map_range(0..256)?;
    /// let mut bytes = [0; 256];
    /// mapping.read(0, &mut bytes)?;
    /// assert!(mapping.read(1, &mut bytes).is_err(), "byte 256 was not to be read");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn map_range(&mut self, read_range: Range<u64>) -> Result<Mapping<'_>, Error> {
        if read_range.end > self.width && read_range.start < read_range.end && self.width != 0 {
            let rule = format!("{read_range:#x?} exceeds the buffer's size of {:#x} bytes", self.width);
            return Err(Error::invalid_argument("read_range", rule));
        }
        // A range that ends before it begins is empty, as in D3D12.
        let is_empty = read_range.start >= read_range.end;
        self.map_bytes(Some(if is_empty { 0..0 } else { read_range }))
    }

    /// Keeps the buffer mapped: [`map`](Self::map) then calls neither the device nor the residency manager. Use it for
    /// buffers that the CPU writes or reads in each frame. A second call has no effect.
    ///
    /// The buffer is unmapped when the allocation is dropped. It is also unmapped when a move of a defragmentation
    /// completes; the next `map` then keeps it mapped at its new place. With a residency manager, the memory stays
    /// resident and counts against the budget.
    ///
    /// # Errors
    ///
    /// The errors of `map`.
    ///
    /// ```
    /// use heapwright::{ByteSize, HeapType, buffer_desc};
    /// use heapwright::{ResourceAllocation, ResourceAllocationDesc, ResourceAllocator};
    /// # use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// struct Camera {
    ///     constants: ResourceAllocation,
    /// }
    /// let upload = ResourceAllocationDesc::new(HeapType::Upload);
    /// let desc = buffer_desc(ByteSize::new(256));
    /// let constants = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
    /// let mut camera = Camera { constants };
    /// camera.constants.keep_mapped()?;
    /// for frame in 0..3_u32 {
    ///     camera.constants.map()?.write(0, &frame.to_ne_bytes())?; // no call of the device
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_mapped(&mut self) -> Result<(), Error> {
        if self.is_kept_mapped() {
            return Ok(());
        }
        if self.width == 0 {
            return Err(Error::invalid_argument("resource", "is a texture; use map_texture"));
        }
        let start = RecordedMapping::traced(self.recorded_mapping(0).as_ref(), MAP, || {
            let kept = self.keep_mappable()?;
            let start = match self.part() {
                Some(range) => range.mapped(),
                None => map_buffer(self.resource(), None)?,
            };
            // The lock is kept until `unmap_kept`.
            std::mem::forget(kept);
            Ok::<_, Error>(start)
        })?;
        self.extras_mut().kept_mapped = KeptMapped::At(MappedAddress(start));
        Ok(())
    }

    fn is_kept_mapped(&self) -> bool {
        self.extras.as_deref().is_some_and(|extras| matches!(extras.kept_mapped, KeptMapped::At(_)))
    }

    /// Undoes [`keep_mapped`](Self::keep_mapped) until the next mapping.
    pub(super) fn unmap_kept(&mut self) {
        let Some(extras) = self.extras.as_deref_mut() else { return };
        let KeptMapped::At(_) = extras.kept_mapped else { return };
        extras.kept_mapped = KeptMapped::Requested;
        RecordedMapping::traced(self.recorded_mapping(0).as_ref(), UNMAP, || {
            if self.part().is_none() {
                // SAFETY: the resource is a live COM object, which `keep_mapped` mapped once. All of it may have been
                // written.
                unsafe { self.resource().Unmap(0, None) };
            }
            drop(self.memory().map(KeptResident::of_locked));
        });
    }

    fn map_bytes(&mut self, readable: Option<Range<u64>>) -> Result<Mapping<'_>, Error> {
        let recorded = self.recorded_mapping(0);
        let mapped = RecordedMapping::traced(recorded.as_ref(), MAP, || self.map_unrecorded(readable));
        mapped.map(|mapping| mapping.recorded(recorded))
    }

    /// Returns a mapping in the allocator's recording, if one is made.
    fn recorded_mapping(&self, subresource: u32) -> Option<RecordedMapping> {
        let recording = Arc::clone(self.source().recording.as_ref()?);
        Some(RecordedMapping {
            recording,
            args: format!("{}\"Subresource\":{subresource}", self.recorded_args()),
        })
    }

    fn map_unrecorded(&mut self, readable: Option<Range<u64>>) -> Result<Mapping<'_>, Error> {
        if self.width == 0 {
            return Err(Error::invalid_argument("resource", "is a texture; use map_texture"));
        }
        let width = ByteSize::new(self.width);
        if self.extras.as_deref().is_some_and(|extras| matches!(extras.kept_mapped, KeptMapped::Requested)) {
            self.keep_mapped()?;
        }
        if let Some(KeptMapped::At(start)) = self.extras.as_deref().map(|extras| &extras.kept_mapped) {
            // SAFETY: `keep_mapped` mapped the whole buffer, which stays mapped while this is borrowed.
            return Ok(unsafe { Mapping::of_mapped(start.0, width, readable, None) });
        }
        let kept = self.keep_mappable()?;
        match self.part() {
            Some(range) => {
                let len = width.min(range.range().size());
                // SAFETY: the bytes of a part are mapped as long as it lives.
                Ok(unsafe { Mapping::of_mapped(range.mapped(), len, readable, kept) })
            }
            None => Mapping::new(self.resource(), width, readable, kept),
        }
    }

    /// Maps a subresource of a texture for the CPU until the mapping is dropped.
    ///
    /// The CPU can access textures in GPU_UPLOAD heaps, in CUSTOM heaps of pools, and in unified memory. Their layout
    /// is usually opaque, so the device copies texels in and out.
    ///
    /// # Errors
    ///
    /// Invalid argument for a buffer, for a subresource that the texture does not have, and for a heap type without CPU
    /// access; out of memory if the memory cannot be made resident; otherwise the device's error.
    #[inline]
    pub fn map_texture(&mut self, subresource: u32) -> Result<TextureMapping<'_>, Error> {
        if self.width != 0 {
            return Err(Error::invalid_argument("resource", "is a buffer; use map"));
        }
        let recorded = self.recorded_mapping(subresource);
        let mapped = RecordedMapping::traced(recorded.as_ref(), MAP, || {
            let kept = self.keep_mappable()?;
            TextureMapping::new(self.resource(), subresource, kept)
        });
        mapped.map(|mapping| mapping.recorded(recorded))
    }

    /// Maps a subresource as `ID3D12Resource::Map` does, and returns the address of its first byte. [`map`](Self::map)
    /// and [`map_texture`](Self::map_texture) check and unmap by themselves; this is for callers that cannot borrow the
    /// allocation.
    ///
    /// `read_range` is relative to the allocation's first byte, `None` is everything. The address is `None` if
    /// `wants_address` is `false`, which a texture of opaque layout requires. With a residency manager, the memory is
    /// resident until it is unmapped as often as it was mapped.
    ///
    /// # Errors
    ///
    /// Invalid argument for a heap type without CPU access, and for a part of a resource with a subresource other than
    /// zero; out of memory if the memory cannot be made resident; otherwise the device's error.
    ///
    /// # Safety
    ///
    /// Accesses through the address are the caller's: within the subresource, ordered with the GPU and with each
    /// [`Mapping`], and before the matching [`unmap_subresource`](Self::unmap_subresource). The allocation is neither
    /// moved by a defragmentation nor dropped before that.
    #[inline]
    pub unsafe fn map_subresource(
        &self,
        subresource: u32,
        read_range: Option<D3D12_RANGE>,
        wants_address: bool,
    ) -> Result<Option<NonNull<u8>>, Error> {
        let recorded = self.recorded_mapping(subresource);
        RecordedMapping::traced(recorded.as_ref(), MAP, || {
            self.map_subresource_unrecorded(subresource, read_range, wants_address)
        })
    }

    #[inline]
    fn map_subresource_unrecorded(
        &self,
        subresource: u32,
        read_range: Option<D3D12_RANGE>,
        wants_address: bool,
    ) -> Result<Option<NonNull<u8>>, Error> {
        let kept = self.keep_mappable()?;
        let address = match self.part() {
            Some(_) if subresource != 0 => {
                let rule = format!("{subresource} is out of range; a buffer has one subresource");
                return Err(Error::invalid_argument("subresource", rule));
            }
            // Backing buffers stay mapped.
            Some(range) => Some(range.mapped()),
            None => map_subresource(self.resource(), subresource, read_range.as_ref(), wants_address)?,
        };
        // Unlocked by `unmap_subresource`.
        std::mem::forget(kept);
        Ok(address.filter(|_| wants_address))
    }

    /// Undoes one [`map_subresource`](Self::map_subresource). `written_range` is relative to the allocation's first
    /// byte; `None` is everything.
    ///
    /// # Safety
    ///
    /// This subresource was mapped by `map_subresource`, once for each call.
    #[inline]
    pub unsafe fn unmap_subresource(&self, subresource: u32, written_range: Option<D3D12_RANGE>) {
        RecordedMapping::traced(self.recorded_mapping(subresource).as_ref(), UNMAP, || {
            if self.part().is_none() {
                // SAFETY: the resource is a live COM object, and the caller's promise. The range outlives the call.
                unsafe { self.resource().Unmap(subresource, written_range.as_ref().map(std::ptr::from_ref)) };
            }
            drop(self.memory().map(KeptResident::of_locked));
        });
    }

    /// Makes up for `count` calls of [`unmap_subresource`](Self::unmap_subresource) that will not follow, because the
    /// resource is being released.
    #[doc(hidden)]
    #[inline]
    pub fn release_mappings(&self, count: u32) {
        for _ in 0..count {
            drop(self.memory().map(KeptResident::of_locked));
        }
    }

    /// Keeps memory resident that the CPU can access.
    fn keep_mappable(&self) -> Result<Option<KeptResident<'_>>, Error> {
        if !self.is_cpu_accessible {
            return Err(Error::invalid_argument(
                "heap_type",
                format!("resources in {} heaps cannot be mapped", self.heap_type),
            ));
        }
        self.memory().map(KeptResident::new).transpose()
    }
}

impl ResourceAllocation {
    /// Records the contents of a buffer that the CPU can access, for `heapwright recreate`. Does nothing if objects and
    /// calls are not both [recorded](crate::recording).
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
    #[inline]
    pub fn record_contents(&mut self) -> Result<(), Error> {
        let Some((recording, allocation, recorded_size)) = self.recorded_contents() else { return Ok(()) };
        let mapping = self.map()?;
        // A move may end with a larger buffer. The file has the size of the first one.
        let size = mapping.len().get().min(recorded_size);
        recording.contents(allocation, 0, size, |offset, len| {
            let mut bytes = vec![0; len];
            mapping.read(offset, &mut bytes)?;
            Ok(bytes)
        })
    }

    /// Records these bytes as the contents of a buffer from `offset` on, for memory that the CPU cannot access: what
    /// was uploaded, or what has been read back. `heapwright recreate` uploads them with a copy by the GPU. Does
    /// nothing if objects and calls are not both [recorded](crate::recording).
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let (local, desc) = (ResourceAllocationDesc::new(HeapType::Default), buffer_desc(ByteSize::from_kib(4)));
    /// let buffer = allocator.create_resource(&local, &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// // After the copy from an upload buffer:
    /// buffer.record_bytes(0, b"vertices")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Invalid argument if the bytes exceed the buffer, or for a texture.
    #[inline]
    pub fn record_bytes(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let size = ByteSize::from_usize(bytes.len()).get();
        let Some(end) = offset.checked_add(size).filter(|&end| end <= self.width) else {
            let rule = match self.width {
                0 => "only buffers have recorded contents".to_owned(),
                width => format!("{size} bytes from {offset} on exceed the buffer of {width} bytes"),
            };
            return Err(Error::invalid_argument("record_bytes", rule));
        };
        let Some((recording, allocation, recorded_size)) = self.recorded_contents() else { return Ok(()) };
        let size = end.min(recorded_size).saturating_sub(offset);
        recording.contents(allocation, offset, size, |at, len| {
            // The range is in the slice.
            let start = usize::try_from(at - offset).unwrap_or(usize::MAX);
            Ok(bytes[start..start + len].to_vec())
        })
    }

    /// Returns the recording of contents, and the id and the size of this allocation there.
    fn recorded_contents(&self) -> Option<(Arc<Recording>, u64, u64)> {
        let &RecordedAllocation { ref object, size, .. } = self.recorded()?;
        let recording = object.recording();
        recording.records(RecordFlags::CAPTURE).then(|| (Arc::clone(recording), object.id(), size))
    }
}
