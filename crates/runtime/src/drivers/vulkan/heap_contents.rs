//! The memory of a heap, and its movement between the device and the host.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::heap_buffer::{HeapBuffer, PartRange};
use super::host_memory::HostPart;
use super::memory::Memory;
use super::paging_engine::{PagingEngine, Submitted};
use super::reserved_addresses::ReservedPlace;
use crate::ddi::DriverError;

/// The memory of a heap.
///
/// # Invariants
///
/// The GPU uses the buffer, its memory and the copies in host memory only until `work` is done, and in commands of queues,
/// which keep the heap alive.
pub(super) struct HeapContents {
    // The memory is freed after the buffer that it is bound to: fields are dropped in order.
    buffer: HeapBuffer,
    memory: HeapMemory,
    memory_type: u32,
    size: ByteSize,
    priority: f32,
    /// Whether new memory is filled with zeros.
    zeroed: bool,
    /// The work of the paging engine on the heap.
    work: Submitted,
    /// The parts on their way to the host.
    leaving: VecDeque<Leaving>,
    engine: Arc<PagingEngine>,
    /// The reserved addresses that the heap occupies. Dropped last.
    _place: Option<ReservedPlace>,
}

/// How a heap has memory.
enum HeapMemory {
    /// Device memory that is bound once and can be freed only together with its buffer.
    Fixed { memory: Memory, is_evicted: bool },
    /// Parts, each of which may be in device memory, bound by sparse binding, or in host memory.
    Paged(Vec<Part>),
}

/// A part of a heap.
struct Part {
    range: PartRange,
    place: Place,
}

/// Where the bytes of a part are.
enum Place {
    /// In host memory; `None` before the heap is resident for the first time.
    Host(Option<HostPart>),
    /// In host memory, from which the GPU is to copy them to the device memory that is bound; or zeros to be written there. Nothing
    /// else writes to that memory before the part has arrived.
    Arriving(Memory, Option<HostPart>),
    /// In device memory.
    Device(Memory),
}

/// Number of parts that are copied to the host at once. The ones before are given back meanwhile.
const LEAVING_AT_ONCE: usize = 8;

/// A part on its way to the host: its index, the work that unbinds its memory, and the copy of its bytes, if it is new.
type Leaving = (usize, Submitted, Option<HostPart>);

impl HeapContents {
    /// Takes over memory that stays bound to a buffer.
    pub(super) fn fixed(
        (buffer, memory): (HeapBuffer, Memory),
        (memory_type, size, zeroed): (u32, ByteSize, bool),
        engine: &Arc<PagingEngine>,
    ) -> Result<Self, DriverError> {
        let mut contents = Self::new(
            buffer,
            HeapMemory::Fixed { memory, is_evicted: false },
            (memory_type, size, zeroed),
            engine,
        );
        if zeroed {
            let range = (contents.buffer.base(), size.get());
            contents.work = zero(engine, contents.buffer.handle(), range, Submitted::default())?;
        }
        Ok(contents)
    }

    /// Creates memory that can be paged out, which is nowhere yet.
    pub(super) fn pageable(
        buffer: HeapBuffer,
        (memory_type, size, zeroed): (u32, ByteSize, bool),
        engine: &Arc<PagingEngine>,
    ) -> Self {
        let parts =
            buffer.parts(engine.part()).into_iter().map(|range| Part { range, place: Place::Host(None) });
        let memory = HeapMemory::Paged(parts.collect());
        Self::new(buffer, memory, (memory_type, size, zeroed), engine)
    }

    fn new(
        buffer: HeapBuffer,
        memory: HeapMemory,
        (memory_type, size, zeroed): (u32, ByteSize, bool),
        engine: &Arc<PagingEngine>,
    ) -> Self {
        let (priority, work) = (super::memory::NORMAL_PRIORITY, Submitted::default());
        let engine = Arc::clone(engine);
        Self {
            buffer,
            memory,
            memory_type,
            size,
            priority,
            zeroed,
            work,
            leaving: VecDeque::new(),
            engine,
            _place: None,
        }
    }

    /// Keeps the heap's reserved addresses until its memory is freed.
    pub(super) fn at(mut self, place: Option<ReservedPlace>) -> Self {
        self._place = place;
        self
    }

    pub(super) fn address(&self) -> GpuVirtualAddress {
        self.buffer.address()
    }

    /// The buffer, and the offset of the heap's first byte in it. They never change.
    pub(super) fn buffer(&self) -> (vk::Buffer, u64) {
        (self.buffer.handle(), self.buffer.base())
    }

    /// The work after which queues may use the heap.
    pub(super) fn work(&self) -> Submitted {
        self.work
    }

    /// Returns whether the heap occupies device memory.
    pub(super) fn has_device_memory(&self) -> bool {
        match &self.memory {
            HeapMemory::Fixed { .. } => true,
            HeapMemory::Paged(parts) => parts.iter().any(|part| !matches!(part.place, Place::Host(_))),
        }
    }

    /// Returns the size of the heap's device memory, now or when it has any.
    pub(super) fn device_size(&self) -> ByteSize {
        ByteSize::new(match &self.memory {
            HeapMemory::Fixed { memory, .. } => memory.size(),
            HeapMemory::Paged(_) => self.buffer.bound_size(),
        })
    }

    /// Returns a pointer to a byte of the heap in this process, for heaps that the CPU accesses.
    pub(super) fn map(&self, offset: u64) -> Result<NonNull<u8>, DriverError> {
        let HeapMemory::Fixed { memory, .. } = &self.memory else {
            return Err(DriverError::NotCpuAccessible);
        };
        // The memory may not be zero yet.
        self.engine.wait(self.work)?;
        let outside = DriverError::HostOutOfMemory { requested: self.size };
        let within = offset.checked_add(self.buffer.base()).filter(|&within| within < memory.size());
        let within = within.and_then(|within| usize::try_from(within).ok()).ok_or(outside)?;
        // SAFETY: the offset is within the memory, all of which is mapped.
        Ok(unsafe { memory.map()?.add(within) })
    }

    /// Begins to bring the heap to device memory: allocates it, and has the GPU bind it and copy the bytes, or write zeros
    /// to a new heap. On error, the bytes remain where they were.
    pub(super) fn begin_return(&mut self) -> Result<(), DriverError> {
        self.end_leaving()?;
        let start = Instant::now();
        let begun = self.return_parts();
        match &begun {
            Ok(()) => tracing::trace!(size = self.size.get(), time = ?start.elapsed(), "return begun"),
            Err(_) => self.undo_return(),
        }
        begun
    }

    fn return_parts(&mut self) -> Result<(), DriverError> {
        if let HeapMemory::Fixed { is_evicted, .. } = &mut self.memory {
            *is_evicted = false;
        }
        self.set_priority(self.priority);
        let HeapMemory::Paged(parts) = &mut self.memory else { return Ok(()) };
        let (engine, buffer) = (&self.engine, self.buffer.handle());
        for part in parts {
            if let Place::Host(copy) = &mut part.place {
                let memory = match engine.take_spare(part.range.size, self.priority) {
                    Some(memory) => memory,
                    // On this thread: one that only allocates delays the binding, which the operating system's driver excludes
                    // meanwhile.
                    None => engine.allocate(part.range.size, self.memory_type, self.priority)?,
                };
                // A new heap is not used beside a copy, and on the queue of its zeros its memory is bound sooner.
                let binds = [part.range.bound_to(&memory)];
                let whole = self.buffer.whole_buffer();
                let bound = engine.bind(whole, &binds, Submitted::default(), copy.is_some())?;
                self.work = self.work.and(bound);
                part.place = Place::Arriving(memory, copy.take());
            }
            // Also of a part that is arriving already: the return before may have failed between its binding and its copy.
            let Place::Arriving(_, copy) = &part.place else { continue };
            let (at, size) = part.range.bytes;
            let written = match copy {
                Some(copy) => {
                    let region = vk::BufferCopy { src_offset: 0, dst_offset: at, size };
                    copy_range(engine, copy.handle(), buffer, region, self.work)
                }
                None if self.zeroed => zero(engine, buffer, (at, size), self.work),
                // The memory is there when this is done.
                None => engine.submit(self.work, |_, _| {}),
            };
            self.work = self.work.and(written?);
        }
        Ok(())
    }

    /// Frees the device memory of parts that have not arrived. What cannot be unbound cannot be freed either, and stays.
    fn undo_return(&mut self) {
        let HeapMemory::Paged(parts) = &mut self.memory else { return };
        let arriving = parts.iter().filter(|part| matches!(part.place, Place::Arriving(..)));
        let binds: Vec<_> = arriving.map(|part| part.range.unbound()).collect();
        if binds.is_empty() {
            return;
        }
        let unbound = self.engine.bind(self.buffer.whole_buffer(), &binds, self.work, false);
        match unbound.and_then(|unbound| {
            self.work = self.work.and(unbound);
            self.engine.wait(self.work)
        }) {
            Ok(()) => parts.iter_mut().for_each(|part| part.place.retreat()),
            Err(DriverError::DeviceLost { .. }) => self.lose_memory(),
            Err(error) => tracing::warn!(%error, "the memory of a failed return stays"),
        }
    }

    /// Takes note of the end of a return whose zeros, if any, queues wait for.
    pub(super) fn end_return(&mut self) {
        if let HeapMemory::Paged(parts) = &mut self.memory {
            parts.iter_mut().for_each(|part| part.place.arrive());
        }
    }

    /// Waits until the heap is in device memory, after [`begin_return`](Self::begin_return).
    pub(super) fn finish_return(&mut self) -> Result<(), DriverError> {
        self.engine.wait(self.work)?;
        self.end_return();
        Ok(())
    }

    /// Begins to copy the bytes to host memory and to give the device memory back, if the heap's memory can be freed. Both are done
    /// after [`end_leaving`](Self::end_leaving).
    ///
    /// On error, the heap keeps its memory; if that happens midway, some parts are in host memory, and a return brings them
    /// back. The memory of a lost device is freed with its bytes.
    pub(super) fn begin_leaving(&mut self) -> Result<(), DriverError> {
        let start = Instant::now();
        if let HeapMemory::Fixed { memory, is_evicted } = &mut self.memory {
            // All that can be done is to let the operating system take this memory first.
            *is_evicted = true;
            memory.set_priority(LOWEST_PRIORITY);
            return Ok(());
        }
        let begun = self.send_parts_away();
        tracing::trace!(size = self.size.get(), time = ?start.elapsed(), ?begun, "paging out begun");
        begun.map_err(|error| {
            let error = self.end_leaving().err().unwrap_or(error);
            if matches!(error, DriverError::DeviceLost { .. }) {
                self.lose_memory();
            }
            error
        })
    }

    /// Waits until the bytes are in host memory, and gives the device memory back. Without a beginning, there is nothing to do.
    pub(super) fn end_leaving(&mut self) -> Result<(), DriverError> {
        let mut ended = Ok(());
        while let Some(part) = self.leaving.pop_front() {
            ended = ended.and(self.end_part(part));
        }
        // The only reason is the loss of the device.
        ended.inspect_err(|_| self.lose_memory())
    }

    fn send_parts_away(&mut self) -> Result<(), DriverError> {
        // Of an eviction that was taken back before its end.
        self.end_leaving()?;
        let HeapMemory::Paged(parts) = &self.memory else { return Ok(()) };
        // A lost device needs no copies, whose allocation may fail for another reason.
        self.engine.check_present()?;
        let (mut arriving, mut sizes) = (Vec::new(), Vec::new());
        for (index, part) in parts.iter().enumerate() {
            match part.place {
                Place::Device(_) => sizes.push((index, part.range.bytes.1)),
                // The bytes are in host memory as well.
                Place::Arriving(..) => arriving.push(index),
                Place::Host(_) => {}
            }
        }
        let (engine, before) = (Arc::clone(&self.engine), self.work);
        let mut send = |index, copy| {
            let sent = self.send_away(index, copy, before)?;
            self.leaving.extend(sent);
            if self.leaving.len() <= LEAVING_AT_ONCE {
                return Ok(());
            }
            self.leaving.pop_front().map_or(Ok(()), |part| self.end_part(part))
        };
        arriving.into_iter().try_for_each(|index| send(index, None))?;
        engine.host_parts(sizes, |index, copy| send(index, Some(copy)))
    }

    /// Has the GPU copy a part to the host, after the work `before` the eviction, and unbind its memory. The copy does not wait
    /// for the unbinding of other parts.
    fn send_away(
        &mut self,
        index: usize,
        copy: Option<HostPart>,
        before: Submitted,
    ) -> Result<Option<Leaving>, DriverError> {
        let HeapMemory::Paged(parts) = &mut self.memory else { return Ok(None) };
        let Some(part) = parts.get(index) else { return Ok(None) };
        let (engine, buffer) = (&self.engine, self.buffer.whole_buffer());
        if matches!(part.place, Place::Host(_)) {
            return Ok(None);
        }
        if let Some(copy) = &copy {
            let (at, size) = part.range.bytes;
            let region = vk::BufferCopy { src_offset: at, dst_offset: 0, size };
            let copied = copy_range(engine, buffer.handle(), copy.handle(), region, before)?;
            self.work = self.work.and(copied);
        }
        match engine.bind(buffer, &[part.range.unbound()], self.work, true) {
            Ok(unbound) => {
                self.work = self.work.and(unbound);
                Ok(Some((index, unbound, copy)))
            }
            Err(error) => {
                // The copy is dropped when the GPU is done with it.
                engine.wait(self.work)?;
                Err(error)
            }
        }
    }

    /// Waits until the memory of a part is unbound, and gives it back.
    fn end_part(&mut self, (index, unbound, copy): Leaving) -> Result<(), DriverError> {
        let waited = self.engine.wait(unbound);
        let HeapMemory::Paged(parts) = &mut self.memory else { return waited };
        let Some(part) = parts.get_mut(index) else { return waited };
        let left = std::mem::replace(&mut part.place, Place::Host(None));
        let (memory, copy) = match left {
            Place::Device(memory) => (memory, copy),
            Place::Arriving(memory, own) => (memory, own),
            Place::Host(own) => {
                part.place = Place::Host(own);
                return waited;
            }
        };
        part.place = Place::Host(copy);
        if waited.is_ok() {
            self.engine.give_back(memory);
        }
        waited
    }

    /// Frees the memory of a lost device, which does not use it any more.
    fn lose_memory(&mut self) {
        let _ = self.engine.wait(self.work);
        if let HeapMemory::Paged(parts) = &mut self.memory {
            for part in parts {
                part.place.retreat();
                if let Place::Device(_) = part.place {
                    part.place = Place::Host(None);
                }
            }
        }
    }

    /// Sets the priority of the memory, now and when it is allocated again.
    pub(super) fn set_priority(&mut self, priority: f32) {
        self.priority = priority;
        match &self.memory {
            // Of an evicted heap that cannot be freed, the return sets it.
            HeapMemory::Fixed { is_evicted: true, .. } => {}
            HeapMemory::Fixed { memory, .. } => memory.set_priority(priority),
            HeapMemory::Paged(parts) => {
                parts
                    .iter()
                    .filter_map(|part| part.place.memory())
                    .for_each(|own| own.set_priority(priority));
            }
        }
    }
}

impl Drop for HeapContents {
    fn drop(&mut self) {
        // If the device is lost, nothing is in execution.
        let _ = self.engine.wait(self.work);
    }
}

impl Place {
    fn memory(&self) -> Option<&Memory> {
        match self {
            Self::Host(_) => None,
            Self::Arriving(memory, _) | Self::Device(memory) => Some(memory),
        }
    }

    /// Ends the arrival of a part.
    fn arrive(&mut self) {
        *self = match std::mem::replace(self, Self::Host(None)) {
            Self::Arriving(memory, _) => Self::Device(memory),
            place @ (Self::Host(_) | Self::Device(_)) => place,
        };
    }

    /// Ends the arrival of a part whose memory is unbound.
    fn retreat(&mut self) {
        *self = match std::mem::replace(self, Self::Host(None)) {
            Self::Arriving(_, copy) => Self::Host(copy),
            place @ (Self::Host(_) | Self::Device(_)) => place,
        };
    }
}

/// Has the GPU fill a range, of a multiple of 4 bytes, with zeros.
fn zero(
    engine: &PagingEngine,
    buffer: vk::Buffer,
    (offset, size): (u64, u64),
    after: Submitted,
) -> Result<Submitted, DriverError> {
    engine.submit(after, |functions, commands| {
        // SAFETY: the command buffer is being recorded; the range is in the buffer; the heap waits for the work before it
        // destroys the buffer.
        unsafe { functions.cmd_fill_buffer(commands, buffer, offset, size, 0) };
    })
}

/// Has the GPU copy a range between a heap's buffer and host memory.
fn copy_range(
    engine: &PagingEngine,
    source: vk::Buffer,
    target: vk::Buffer,
    region: vk::BufferCopy,
    after: Submitted,
) -> Result<Submitted, DriverError> {
    engine.submit(after, |functions, commands| {
        // SAFETY: the command buffer is being recorded; the range is in both buffers, which do not overlap; the heap waits
        // for the work before it drops either.
        unsafe { functions.cmd_copy_buffer(commands, source, target, &[region]) };
    })
}

/// The priority of memory that is evicted but cannot be freed.
const LOWEST_PRIORITY: f32 = 0.0;
