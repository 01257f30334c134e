//! Recording of the contents of allocations.

use std::sync::Arc;

use heapwright_core::ByteSize;

use super::ResourceAllocation;
use crate::recording::Recording;
use crate::{Error, RecordFlags};

impl ResourceAllocation {
    /// Records the contents of a buffer that the CPU can access, for `heapwright recreate`. Does nothing if calls are not
    /// [recorded](crate::recording).
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
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

    /// Records these bytes as the contents of a buffer from `offset` on, for memory that the CPU cannot access: what was uploaded,
    /// or what has been read back. `heapwright recreate` uploads them with a copy by the GPU. Does nothing if calls are not
    /// [recorded](crate::recording).
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
        let recorded = self.recorded().filter(|it| it.recording().records(RecordFlags::CAPTURE))?;
        Some((Arc::clone(recorded.recording()), recorded.id(), recorded.size()))
    }
}
