//! The memory of a heap, and its movement between the device and the host.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::heap_buffer::HeapBuffer;
use super::memory::Memory;
use super::paging_engine::{HostCopy, PagingEngine};
use super::reserved_addresses::ReservedPlace;
use crate::ddi::DriverError;

/// The memory of a heap.
pub(super) struct HeapContents {
    // The memory is freed after the buffer that it is bound to: fields are dropped in order.
    buffer: HeapBuffer,
    memory: HeapMemory,
    memory_type: u32,
    size: ByteSize,
    priority: f32,
    /// Whether new memory is filled with zeros.
    zeroed: bool,
    engine: Arc<PagingEngine>,
    /// The reserved addresses that the heap occupies. Dropped last.
    _place: Option<ReservedPlace>,
}

/// Where the bytes of a heap are.
enum HeapMemory {
    /// In device memory that is bound once and can be freed only together with its buffer.
    Fixed(Memory),
    /// In device memory that is bound by sparse binding.
    Device(Vec<Memory>),
    /// In device memory that is not bound yet, and still in their former place.
    Arriving(Vec<Memory>, Option<HostCopy>),
    /// In host memory; `None` before the heap is resident for the first time.
    Away(Option<HostCopy>),
}

impl HeapContents {
    /// Takes over memory that stays bound to a buffer.
    pub(super) fn fixed(
        (buffer, memory): (HeapBuffer, Memory),
        (memory_type, size, zeroed): (u32, ByteSize, bool),
        engine: &Arc<PagingEngine>,
    ) -> Result<Self, DriverError> {
        let mut contents = Self::new(buffer, HeapMemory::Fixed(memory), (memory_type, size, zeroed), engine);
        contents.fill_with_zeros()?;
        Ok(contents)
    }

    /// Creates memory that can be paged out, which is nowhere yet.
    pub(super) fn pageable(
        buffer: HeapBuffer,
        (memory_type, size, zeroed): (u32, ByteSize, bool),
        engine: &Arc<PagingEngine>,
    ) -> Self {
        Self::new(buffer, HeapMemory::Away(None), (memory_type, size, zeroed), engine)
    }

    fn new(
        buffer: HeapBuffer,
        memory: HeapMemory,
        (memory_type, size, zeroed): (u32, ByteSize, bool),
        engine: &Arc<PagingEngine>,
    ) -> Self {
        let priority = super::memory::NORMAL_PRIORITY;
        Self { buffer, memory, memory_type, size, _place: None, priority, zeroed, engine: Arc::clone(engine) }
    }

    /// Keeps the heap's reserved addresses until its memory is freed.
    pub(super) fn at(self, place: Option<ReservedPlace>) -> Self {
        Self { _place: place, ..self }
    }

    pub(super) fn address(&self) -> GpuVirtualAddress {
        self.buffer.address()
    }

    /// The buffer, and the offset of the heap's first byte in it. They never change.
    pub(super) fn buffer(&self) -> (vk::Buffer, u64) {
        (self.buffer.handle(), self.buffer.base())
    }

    /// Returns whether the heap occupies device memory.
    pub(super) fn has_device_memory(&self) -> bool {
        !matches!(self.memory, HeapMemory::Away(_))
    }

    /// Returns the size of the heap's device memory, now or when it has any.
    pub(super) fn device_size(&self) -> ByteSize {
        ByteSize::new(match &self.memory {
            HeapMemory::Fixed(memory) => memory.size(),
            HeapMemory::Device(_) | HeapMemory::Arriving(..) | HeapMemory::Away(_) => {
                self.buffer.bound_size()
            }
        })
    }

    /// Returns a pointer to a byte of the heap in this process, for heaps that the CPU accesses.
    pub(super) fn map(&self, offset: u64) -> Result<NonNull<u8>, DriverError> {
        let HeapMemory::Fixed(memory) = &self.memory else { return Err(DriverError::NotCpuAccessible) };
        let outside = DriverError::HostOutOfMemory { requested: self.size };
        let within = offset.checked_add(self.buffer.base()).filter(|&within| within < memory.size());
        let within = within.and_then(|within| usize::try_from(within).ok()).ok_or(outside)?;
        // SAFETY: the offset is within the memory, all of which is mapped.
        Ok(unsafe { memory.map()?.add(within) })
    }

    /// Allocates device memory for a heap that is away. It is bound by [`restore`](Self::restore).
    pub(super) fn allocate(&mut self) -> Result<(), DriverError> {
        if let HeapMemory::Away(copy) = &mut self.memory {
            let start = Instant::now();
            let memory = self.buffer.allocate(self.memory_type, self.priority)?;
            tracing::trace!(size = self.size.get(), time = ?start.elapsed(), "allocated");
            self.memory = HeapMemory::Arriving(memory, copy.take());
        }
        Ok(())
    }

    /// Binds allocated memory and copies the bytes into it. On error, the bytes remain where they were.
    pub(super) fn restore(&mut self) -> Result<(), DriverError> {
        let start = Instant::now();
        let HeapMemory::Arriving(memory, copy) = &mut self.memory else {
            self.set_priority(self.priority);
            return Ok(());
        };
        self.engine.bind(&self.buffer, Some(memory))?;
        let bound = start.elapsed();
        let copied = match copy {
            Some(copy) => self.engine.copy_in(copy, self.buffer.handle(), self.buffer.base()),
            None if self.zeroed => {
                self.engine.zero(self.buffer.handle(), self.buffer.base(), self.size.get())
            }
            None => Ok(()),
        };
        if let Err(error) = copied {
            // What cannot be unbound cannot be freed either, and stays.
            self.engine.bind(&self.buffer, None)?;
            return Err(error);
        }
        tracing::trace!(size = self.size.get(), ?bound, total = ?start.elapsed(), "paged in");
        self.memory = HeapMemory::Device(std::mem::take(memory));
        Ok(())
    }

    /// Copies the bytes to host memory and frees the device memory. Returns false if the heap's memory cannot be freed.
    /// On error, the bytes remain where they were.
    pub(super) fn page_out(&mut self) -> Result<bool, DriverError> {
        match &mut self.memory {
            HeapMemory::Fixed(memory) => {
                // All that can be done is to let the operating system take this memory first.
                memory.set_priority(LOWEST_PRIORITY);
                Ok(false)
            }
            HeapMemory::Device(_) => {
                let start = Instant::now();
                let (handle, base) = (self.buffer.handle(), self.buffer.base());
                let copy = self.engine.copy_out(handle, base, self.size.get())?;
                let copied = start.elapsed();
                self.engine.bind(&self.buffer, None)?;
                let unbound = start.elapsed();
                self.memory = HeapMemory::Away(Some(copy));
                tracing::trace!(size = self.size.get(), ?copied, ?unbound, total = ?start.elapsed(), "paged out");
                Ok(true)
            }
            HeapMemory::Arriving(_, copy) => {
                self.memory = HeapMemory::Away(copy.take());
                Ok(true)
            }
            HeapMemory::Away(_) => Ok(true),
        }
    }

    /// Sets the priority of the memory, now and when it is allocated again.
    pub(super) fn set_priority(&mut self, priority: f32) {
        self.priority = priority;
        let parts = match &self.memory {
            HeapMemory::Fixed(memory) => std::slice::from_ref(memory),
            HeapMemory::Device(parts) | HeapMemory::Arriving(parts, _) => parts,
            HeapMemory::Away(_) => &[],
        };
        parts.iter().for_each(|part| part.set_priority(priority));
    }

    fn fill_with_zeros(&mut self) -> Result<(), DriverError> {
        if !self.zeroed {
            return Ok(());
        }
        self.engine.zero(self.buffer.handle(), self.buffer.base(), self.size.get())
    }
}

/// The priority of memory that is evicted but cannot be freed.
const LOWEST_PRIORITY: f32 = 0.0;
