//! Small heaps in system memory, as ranges of blocks: a driver allocates system memory in hundreds of microseconds,
//! whatever its size.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::vk::{self, Handle as _};
use heapwright_core::ByteSize;

use super::kept_memory::{Kept, KeptMemory};
use super::memory::{Buffer, DeviceAddress};
use super::paging_engine::PagingEngine;
use crate::ddi::DriverError;
use crate::drivers::KIB_4;
use crate::drivers::free_addresses::{FreeAddresses, Interval};
use crate::drivers::heap::{HeapMemory, NORMAL_PRIORITY, Usable};

/// The size of the largest heap that is a range of a block, and the size of a block.
pub(super) const SIZES: (u64, u64) = (4 << 20, 16 << 20);

/// Bytes of blocks without heaps that are kept, and for how long.
const KEPT: (u64, Duration) = (2 * SIZES.1, Duration::from_secs(1));

/// The blocks of one memory type, which the CPU accesses.
pub(super) struct Blocks {
    memory_type: u32,
    state: Mutex<State>,
    /// Blocks without heaps.
    kept: Arc<KeptMemory<Block>>,
    engine: Arc<PagingEngine>,
}

#[derive(Default)]
struct State {
    /// The blocks with heaps, by number.
    blocks: BTreeMap<u64, Block>,
    last: u64,
}

/// A buffer whose memory is mapped, and the ranges of it that are no heap's.
struct Block {
    buffer: Buffer,
    start: NonNull<u8>,
    free: FreeAddresses,
}

// SAFETY: the pointer is to memory that belongs to the buffer, and that only heaps give access to.
unsafe impl Send for Block {}

impl Kept for Block {
    fn size(&self) -> u64 {
        SIZES.1
    }
}

/// The memory of a heap: a range of a block until dropped. It stays when the heap is evicted, and its priority is the
/// block's.
pub(super) struct BlockRange {
    blocks: Arc<Blocks>,
    number: u64,
    buffer: vk::Buffer,
    start: NonNull<u8>,
    range: Interval,
    /// The value of the engine's timeline at which the range is zero.
    zeroed: u64,
}

// SAFETY: the range belongs to this value alone, and so do the pointers that are made from its start.
unsafe impl Send for BlockRange {}

impl Blocks {
    pub(super) fn new(memory_type: u32, engine: &Arc<PagingEngine>) -> Arc<Self> {
        let kept = KeptMemory::new(KEPT.0, KEPT.1);
        Arc::new(Self { memory_type, state: Mutex::default(), kept, engine: Arc::clone(engine) })
    }

    /// The memory type of the blocks.
    pub(super) fn memory_type(&self) -> u32 {
        self.memory_type
    }

    /// Allocates a range of `size` bytes, of zeros if that is wanted. O(blocks).
    pub(super) fn allocate(
        self: &Arc<Self>,
        size: ByteSize,
        zeroed: bool,
    ) -> Result<BlockRange, DriverError> {
        let mut state = self.state();
        let take = |(&number, block): (&u64, &mut Block)| Some((number, block.free.take(size, KIB_4)?));
        let (number, range) = match state.blocks.iter_mut().find_map(take) {
            Some(found) => found,
            None => {
                let mut block = self.kept.take(SIZES.1).map_or_else(|| self.create(), Ok)?;
                let none = DriverError::OutOfAddressSpace { requested: size };
                let range = block.free.take(size, KIB_4).ok_or(none)?;
                state.last += 1;
                let number = state.last;
                state.blocks.insert(number, block);
                (number, range)
            }
        };
        let block = &state.blocks[&number];
        let (buffer, start) = (block.buffer.handle(), block.start);
        drop(state);
        // From here on, the range is given back when dropped.
        let mut made = BlockRange { blocks: Arc::clone(self), number, buffer, start, range, zeroed: 0 };
        if zeroed {
            made.zeroed = self.engine.zero(buffer, range.start, range.len())?;
        }
        Ok(made)
    }

    fn create(&self) -> Result<Block, DriverError> {
        let size = SIZES.1;
        let buffer =
            self.engine.create_memory(size, self.memory_type, NORMAL_PRIORITY, DeviceAddress::None)?;
        let start = buffer.map()?;
        Ok(Block { buffer, start, free: FreeAddresses::of(Interval { start: 0, end: size }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of blocks with heaps.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.state().blocks.len()
    }
}

impl Drop for BlockRange {
    fn drop(&mut self) {
        // If the device is lost, nothing is in execution.
        let _ = self.blocks.engine.wait(self.zeroed);
        let mut state = self.blocks.state();
        let Some(block) = state.blocks.get_mut(&self.number) else { return };
        block.free.give_back(self.range);
        let is_empty = block.free.ranges().next().is_some_and(|range| range.len() == SIZES.1);
        let empty = is_empty.then(|| state.blocks.remove(&self.number)).flatten();
        drop(state);
        if let Some(block) = empty {
            self.blocks.kept.give_back(block);
        }
    }
}

impl HeapMemory for BlockRange {
    fn usable(&self) -> Option<Usable> {
        Some(Usable { handle: self.buffer.as_raw(), offset: self.range.start, from: self.zeroed })
    }

    fn is_charged(&self) -> bool {
        true
    }

    fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        self.blocks.engine.wait(self.zeroed)?;
        let outside = DriverError::HostOutOfMemory { requested: ByteSize::new(size) };
        let within = offset < self.range.len() && size <= self.range.len() - offset;
        let offset = usize::try_from(self.range.start + offset).ok().filter(|_| within).ok_or(outside)?;
        // SAFETY: the offset is within the block, all of which is mapped.
        Ok(unsafe { self.start.add(offset) })
    }

    fn end_return(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    fn end_leaving(&mut self) -> Result<(), DriverError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
