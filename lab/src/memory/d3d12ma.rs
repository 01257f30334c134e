//! D3D12MA's rules for heaps, as its version 3.1 has them by default.
//!
//! A model: D3D12MA itself needs a D3D12 device. It places buffers of up to half of the preferred block in blocks, and
//! gives larger ones committed resources. The first blocks have an eighth, a quarter and a half of the preferred size,
//! as long as they are larger than any block and hold the buffer twice. One empty block is kept. Blocks are searched
//! from the one with the least free memory, in an order that each free improves by one step. Each block is divided by a
//! TLSF, here core's.

use heapwright_core::suballoc::{SuballocationId, Tlsf};
use heapwright_core::{Alignment, ByteSize};

use super::allocators::{Failed, MemoryAllocator};
use super::meter::{Block, DeviceCall};
use super::prices::Prices;

/// D3D12MA with blocks of `BLOCK_MIB` MiB; its default is 64.
pub struct D3d12Ma<const BLOCK_MIB: u64> {
    blocks: Vec<HeapBlock>,
    next_id: u64,
    calls: Vec<DeviceCall>,
}

struct HeapBlock {
    id: u64,
    memory: Tlsf,
}

/// A buffer: in a block, or committed.
pub enum Buffer {
    /// The block's id, and the place in it.
    Placed(u64, SuballocationId),
    /// The size of its memory.
    Committed(ByteSize),
}

/// D3D12MA's alignment of placed buffers with tight alignment.
const ALIGNMENT: Option<Alignment> = Alignment::new(256);
/// The alignment of a committed buffer with tight alignment.
const COMMITTED_ALIGNMENT: Option<Alignment> = Alignment::new(4096);
/// So many times, the size of a new block is halved.
const MOST_HALVINGS: u32 = 3;

fn aligned(size: ByteSize, alignment: Option<Alignment>) -> Result<ByteSize, Failed> {
    alignment.and_then(|alignment| size.align_up(alignment)).ok_or_else(|| Failed::new("a size overflows"))
}

impl<const BLOCK_MIB: u64> D3d12Ma<BLOCK_MIB> {
    const BLOCK: ByteSize = ByteSize::from_mib(BLOCK_MIB);

    fn new_block_size(&self, size: ByteSize) -> ByteSize {
        let largest = self.blocks.iter().map(|block| block.memory.capacity()).max().unwrap_or_default();
        let mut block = Self::BLOCK.get();
        for _ in 0..MOST_HALVINGS {
            let smaller = block / 2;
            if smaller <= largest.get() || smaller < 2 * size.get() {
                break;
            }
            block = smaller;
        }
        ByteSize::new(block)
    }

    fn free_bytes(block: &HeapBlock) -> u64 {
        block.memory.capacity().get() - block.memory.used().get()
    }

    /// Improves the order by one step: D3D12MA's `IncrementallySortBlocks`.
    fn sort_a_little(&mut self) {
        let in_order = |pair: &[HeapBlock]| Self::free_bytes(&pair[0]) <= Self::free_bytes(&pair[1]);
        if let Some(first) = self.blocks.windows(2).position(|pair| !in_order(pair)) {
            self.blocks.swap(first, first + 1);
        }
    }

    fn release(&mut self, place: usize) {
        let block = self.blocks.remove(place);
        self.calls.push(DeviceCall::Free(Block::shared(block.memory.capacity())));
    }
}

impl<const BLOCK_MIB: u64> MemoryAllocator for D3d12Ma<BLOCK_MIB> {
    type Buffer = Buffer;

    fn new(_prices: &Prices) -> Result<Self, Failed> {
        Ok(Self { blocks: Vec::new(), next_id: 0, calls: Vec::new() })
    }

    fn allocate(&mut self, size: ByteSize) -> Result<Buffer, Failed> {
        if size.get() > Self::BLOCK.get() / 2 {
            let size = aligned(size, COMMITTED_ALIGNMENT)?;
            self.calls.push(DeviceCall::Create(Block { size, is_dedicated: true }));
            return Ok(Buffer::Committed(size));
        }
        let size = aligned(size, ALIGNMENT)?;
        let alignment = ALIGNMENT.unwrap_or(Alignment::ONE);
        for block in &mut self.blocks {
            if let Ok(placed) = block.memory.allocate(size, alignment) {
                return Ok(Buffer::Placed(block.id, placed.id));
            }
        }
        let capacity = self.new_block_size(size);
        let mut memory = Tlsf::new(capacity).map_err(Failed::new)?;
        let placed = memory.allocate(size, alignment).map_err(Failed::new)?;
        let id = self.next_id;
        self.next_id += 1;
        self.blocks.push(HeapBlock { id, memory });
        self.calls.push(DeviceCall::Create(Block::shared(capacity)));
        Ok(Buffer::Placed(id, placed.id))
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), Failed> {
        let (id, place) = match buffer {
            Buffer::Placed(id, place) => (id, place),
            Buffer::Committed(size) => {
                self.calls.push(DeviceCall::Free(Block { size, is_dedicated: true }));
                return Ok(());
            }
        };
        let had_empty = self.blocks.iter().any(|block| block.memory.is_empty());
        let found = self.blocks.iter().position(|block| block.id == id);
        let block = found.ok_or_else(|| Failed::new("a block is gone"))?;
        self.blocks[block].memory.free(place).map_err(Failed::new)?;
        if self.blocks[block].memory.is_empty() {
            if had_empty {
                self.release(block);
            }
        } else if had_empty && self.blocks.last().is_some_and(|last| last.memory.is_empty()) {
            self.release(self.blocks.len() - 1);
        }
        self.sort_a_little();
        Ok(())
    }

    fn take_calls(&mut self, calls: &mut Vec<DeviceCall>) {
        calls.clear();
        calls.append(&mut self.calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_and_one_empty_one_is_kept() {
        let mut allocator = D3d12Ma::<64>::new(&Prices::on_h200()).unwrap();
        let mib = ByteSize::from_mib;
        let buffers: Vec<Buffer> = (0..20).map(|_| allocator.allocate(mib(4)).unwrap()).collect();
        let mut calls = vec![];
        allocator.take_calls(&mut calls);
        let created = |size| DeviceCall::Create(Block::shared(mib(size)));
        assert_eq!(calls, [created(8), created(16), created(32), created(64)]);
        for buffer in buffers {
            allocator.free(buffer).unwrap();
        }
        allocator.take_calls(&mut calls);
        assert_eq!(calls.len(), 3, "one of four stays: {calls:?}");
        let large = allocator.allocate(mib(33)).unwrap();
        allocator.take_calls(&mut calls);
        let own = Block { size: mib(33), is_dedicated: true };
        assert_eq!(calls, [DeviceCall::Create(own)]);
        allocator.free(large).unwrap();
        allocator.take_calls(&mut calls);
        assert_eq!(calls, [DeviceCall::Free(own)]);
    }
}
