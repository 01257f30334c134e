//! Buffers that grow and shrink.

use std::ops::Range;

use heapwright::d3d12::*;
use heapwright::residency::OpenResidencyList;
use heapwright::{
    ByteSize, Error, FenceValue, GpuVirtualAddress, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocator, ResourceKind,
};

use crate::TilePool;
use crate::pool::TILE_SIZE;
use crate::reserved::{Reserved, Segment};

/// A buffer of which only a part has memory: it grows and shrinks at one address.
///
/// [`in_tiles`](Self::in_tiles) reserves addresses for the most that is ever needed, and gives memory to the 64 KiB
/// that are committed. Nothing is copied, and descriptors stay valid. [`plain`](Self::plain) is the same without tiles,
/// for devices that have none: the buffer is replaced by a larger one, into which the program copies.
///
/// [`commit`](Self::commit), [`grow`](Self::grow) and their opposites change what [`update`](Self::update) makes true
/// for a queue. Committed memory has the contents that its last user left, so write it before it is read.
///
/// Dropping it frees its memory; the GPU must be done with it, as with any resource, except for the last update, which
/// is waited for.
#[derive(Debug)]
pub struct GrowingBuffer {
    max: ByteSize,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Tiles(Reserved),
    Plain(Plain),
}

/// A buffer without tiles.
#[derive(Debug)]
struct Plain {
    allocator: ResourceAllocator,
    desc: D3D12_RESOURCE_DESC,
    current: ResourceAllocation,
    /// The buffer that replaces it in the next update.
    next: Option<ResourceAllocation>,
    /// The end of what is committed.
    end: u64,
    /// The end of what the current buffer holds: at most `end`.
    kept: u64,
}

/// The copy that a buffer without tiles needs when its memory was replaced.
///
/// For the residency list of the command list with the copy, call [`GrowingBuffer::add_to`] before and after the
/// update: for the source, and for the target.
#[derive(Debug)]
#[must_use = "the contents are lost unless they are copied"]
pub struct BufferCopy {
    /// The buffer to copy from. It is freed after the fence value of the update.
    pub source: ID3D12Resource,
    /// Number of bytes to copy, from the beginning to the beginning.
    pub size: ByteSize,
}

impl GrowingBuffer {
    /// Creates a reserved buffer, of which nothing is committed. `desc` is that of the largest size, as from
    /// [`buffer_desc`](heapwright::buffer_desc).
    ///
    /// O(1), and `CreateReservedResource`. Addresses are reserved for the whole size; 8 bytes of host memory are used
    /// for each 64 KiB up to the highest that was ever committed.
    ///
    /// # Errors
    ///
    /// Invalid argument: `desc` is not of a buffer, its size is zero or exceeds what the device can address, or the
    /// pool's heaps hold no buffers; the device's error.
    pub fn in_tiles(pool: &TilePool, desc: &D3D12_RESOURCE_DESC) -> Result<Self, Error> {
        let shared = &pool.shared;
        let max = check_buffer(&shared.allocator, desc)?;
        shared.check_holds(ResourceKind::Buffers)?;
        let count = tiles(0..max.get().div_ceil(TILE_SIZE.get())).end;
        let resource = shared.allocator.create_reserved(desc, D3D12_RESOURCE_STATE_COMMON, None)?;
        let row = Segment { subresource: 0, first: 0, count, extent: [count, 1, 1], is_packed: false };
        Ok(Self { max, memory: Memory::Tiles(Reserved::new(shared, resource, vec![row])) })
    }

    /// Creates a buffer without tiles, with the same interface: it has a resource of the committed size, or up to twice
    /// that.
    ///
    /// Where growing exceeds the resource, [`update`](Self::update) replaces it and returns the copy that is then
    /// needed. Memory in the middle cannot be decommitted: only the end of what is committed counts.
    ///
    /// # Errors
    ///
    /// As [`in_tiles`](Self::in_tiles), and those of [`ResourceAllocator::create`] for the first 64 KiB.
    pub fn plain(allocator: &ResourceAllocator, desc: &D3D12_RESOURCE_DESC) -> Result<Self, Error> {
        let max = check_buffer(allocator, desc)?;
        let (allocator, mut desc) = (allocator.clone(), *desc);
        desc.Width = TILE_SIZE.get().min(max.get());
        let current = allocator.create(&ResourceAllocationDesc::default(), desc)?;
        let plain = Plain { allocator, desc, current, next: None, end: 0, kept: 0 };
        Ok(Self { max, memory: Memory::Plain(plain) })
    }

    /// Checks whether the buffer is reserved, so that it never moves.
    #[must_use]
    pub fn is_in_tiles(&self) -> bool {
        matches!(self.memory, Memory::Tiles(_))
    }

    /// Returns the resource. In tiles, it is the same for the buffer's lifetime; else until an update returns a
    /// [`BufferCopy`].
    #[must_use]
    pub fn resource(&self) -> &ID3D12Resource {
        match &self.memory {
            Memory::Tiles(reserved) => &reserved.resource,
            Memory::Plain(plain) => plain.current.resource(),
        }
    }

    /// Returns the address of the [resource](Self::resource), which is the same as long as that; `None` if the device
    /// has none.
    #[must_use]
    pub fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        // SAFETY: the resource is a live COM object, and a buffer.
        GpuVirtualAddress::new(unsafe { self.resource().GetGPUVirtualAddress() }.0)
    }

    /// Returns the largest size that may be committed, in bytes.
    #[must_use]
    pub fn max_size(&self) -> ByteSize {
        self.max
    }

    /// Returns the number of bytes that are committed, in whole tiles. Without tiles, it is the size of the resource,
    /// or of the one that replaces it.
    #[must_use]
    pub fn committed(&self) -> ByteSize {
        match &self.memory {
            Memory::Tiles(reserved) => reserved.committed(),
            Memory::Plain(plain) => plain.next.as_ref().unwrap_or(&plain.current).size(),
        }
    }

    /// Commits all bytes below `size`, as [`commit`](Self::commit).
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn grow(&mut self, size: ByteSize) -> Result<(), Error> {
        self.commit(0..size.get())
    }

    /// Decommits all bytes from `size` on, as [`decommit`](Self::decommit).
    ///
    /// # Errors
    ///
    /// As [`decommit`](Self::decommit).
    pub fn shrink(&mut self, size: ByteSize) -> Result<(), Error> {
        self.decommit(size.get().min(self.max.get())..self.max.get())
    }

    /// Commits the tiles that contain a byte of `range`, where they are not yet: from the next [`update`](Self::update)
    /// on they have memory, which is taken from the pool at once.
    ///
    /// O(tiles of the range), and `CreateHeap` if the pool has no free tiles.
    ///
    /// # Errors
    ///
    /// Invalid argument: the range exceeds the buffer, or ends before it begins; out of memory; the device's error.
    pub fn commit(&mut self, range: Range<u64>) -> Result<(), Error> {
        self.check_range(&range)?;
        if range.is_empty() {
            return Ok(());
        }
        match &mut self.memory {
            Memory::Tiles(reserved) => {
                let range = range.start / TILE_SIZE.get()..range.end.div_ceil(TILE_SIZE.get());
                reserved.commit(&[tiles(range)])
            }
            Memory::Plain(plain) => plain.resize(plain.end.max(range.end), self.max),
        }
    }

    /// Decommits the tiles whose bytes are all in `range`; the end of the buffer ends its last tile. The bytes lose
    /// their memory at the next [`update`](Self::update), which says when it is free.
    ///
    /// O(tiles of the range).
    ///
    /// # Errors
    ///
    /// Invalid argument: the range exceeds the buffer, or ends before it begins. Without tiles, out of memory for the
    /// smaller buffer.
    pub fn decommit(&mut self, range: Range<u64>) -> Result<(), Error> {
        self.check_range(&range)?;
        match &mut self.memory {
            Memory::Tiles(reserved) => {
                let rest = if range.end == self.max.get() { TILE_SIZE.get() - 1 } else { 0 };
                let range = range.start.div_ceil(TILE_SIZE.get())..(range.end + rest) / TILE_SIZE.get();
                reserved.decommit(&[tiles(range)]);
                Ok(())
            }
            Memory::Plain(plain) if range.end >= plain.end && range.start < plain.end => {
                plain.resize(range.start, self.max)
            }
            Memory::Plain(_) => Ok(()),
        }
    }

    /// Makes the changes since the last update true for the work that `queue` executes after this call: one
    /// `UpdateTileMappings` for each heap with tiles that changed, of which one also has the decommitted ranges.
    /// Decommitted memory is free once `fence` has reached `value`, in [`TilePool::collect`] or when the pool has no
    /// other tile.
    ///
    /// Without tiles, returns the copy from the previous resource, if it was replaced: record it into a list that runs
    /// before any other use of the new [`resource`](Self::resource), and before `fence` reaches `value`.
    ///
    /// O(n log n) for n changed ranges, and O(changed tiles).
    ///
    /// # Errors
    ///
    /// Invalid argument: `queue` or `fence` belong to another device; then nothing has changed. The reason for which
    /// the device was removed; then nothing is mapped any more.
    ///
    /// # Safety
    ///
    /// * `fence` reaches `value` only after `queue` has executed everything up to this call, and after all work on any
    ///   queue that uses bytes that were decommitted since the last update (or, without tiles, the previous resource).
    /// * The updates of one buffer are executed in the order of their calls: where `queue` is another than the last
    ///   update's, it waits for that one first, by a fence.
    pub unsafe fn update(
        &mut self,
        queue: &ID3D12CommandQueue,
        fence: &ID3D12Fence,
        value: FenceValue,
    ) -> Result<Option<BufferCopy>, Error> {
        match &mut self.memory {
            // SAFETY: the caller's promises.
            Memory::Tiles(reserved) => unsafe { reserved.update(queue, fence, value) }.map(|()| None),
            Memory::Plain(plain) => Ok(plain.update(fence, value)),
        }
    }

    /// Adds the heaps behind the committed tiles to a residency list, and those behind decommitted tiles that are still
    /// mapped. Call it for each list that uses the buffer, shortly before its submission: later commits are not in it.
    /// O(heaps).
    ///
    /// # Errors
    ///
    /// As [`OpenResidencyList::add`].
    pub fn add_to(&self, list: &mut OpenResidencyList<'_>) -> Result<(), Error> {
        match &self.memory {
            Memory::Tiles(reserved) => reserved.add_to(list),
            Memory::Plain(plain) => plain.current.memory().map_or(Ok(()), |memory| list.add(memory)),
        }
    }

    /// Frees the buffer once `fence` has reached `value`, which the GPU signals after its last use.
    pub fn free_after(self, fence: &ID3D12Fence, value: FenceValue) {
        match self.memory {
            Memory::Tiles(reserved) => reserved.free_after(fence, value),
            // The error is that of another allocator's buffer. If it occurred, a leak would be safe.
            Memory::Plain(Plain { allocator, current, .. }) => {
                allocator.free_after(current, fence, value).unwrap_or_else(std::mem::forget);
            }
        }
    }

    fn check_range(&self, range: &Range<u64>) -> Result<(), Error> {
        if range.start > range.end || range.end > self.max.get() {
            let rule = format!("bytes {range:?} are no range of a buffer of {}", self.max);
            return Err(Error::invalid_argument("range", rule));
        }
        Ok(())
    }
}

impl Plain {
    /// Replaces the buffer if the committed bytes exceed it, or are less than a quarter of it.
    fn resize(&mut self, end: u64, max: ByteSize) -> Result<(), Error> {
        let size = self.next.as_ref().unwrap_or(&self.current).size().get();
        let wanted = end.max(1).next_multiple_of(TILE_SIZE.get()).next_power_of_two().min(max.get());
        if end > size || wanted < size / 4 {
            self.desc.Width = wanted;
            let is_current = wanted == self.current.size().get();
            let create = || self.allocator.create(&ResourceAllocationDesc::default(), self.desc);
            self.next = if is_current { None } else { Some(create()?) };
        }
        self.kept = self.kept.min(end);
        self.end = end;
        Ok(())
    }

    fn update(&mut self, fence: &ID3D12Fence, value: FenceValue) -> Option<BufferCopy> {
        let size = ByteSize::new(self.kept);
        self.kept = self.end;
        let old = std::mem::replace(&mut self.current, self.next.take()?);
        let source = old.resource().clone();
        // As in `GrowingBuffer::free_after`.
        self.allocator.free_after(old, fence, value).unwrap_or_else(std::mem::forget);
        (!size.is_zero()).then_some(BufferCopy { source, size })
    }
}

/// Returns the size of a buffer.
fn check_buffer(allocator: &ResourceAllocator, desc: &D3D12_RESOURCE_DESC) -> Result<ByteSize, Error> {
    if desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
        return Err(Error::invalid_argument("D3D12_RESOURCE_DESC::Dimension", "must be BUFFER"));
    }
    let (size, addressable) = (ByteSize::new(desc.Width), allocator.caps().max_resource_size());
    let most = addressable.min(ByteSize::new(u64::from(u32::MAX) * TILE_SIZE.get()));
    if size.is_zero() || size > most {
        let rule = format!("{size} is not between 1 byte and {most}, the most of the device and the crate");
        return Err(Error::invalid_argument("D3D12_RESOURCE_DESC::Width", rule));
    }
    Ok(size)
}

/// Converts tile numbers of a resource, which has fewer than 2^32.
fn tiles(range: Range<u64>) -> Range<u32> {
    let narrow = |tile| u32::try_from(tile).unwrap_or(u32::MAX);
    narrow(range.start)..narrow(range.end)
}
