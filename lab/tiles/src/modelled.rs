//! Plain buffers that double, with memory by D3D12MA's rules.

use heapwright::ByteSize;

use crate::memory::allocators::MemoryAllocator;
use crate::memory::d3d12ma::{Buffer, D3d12Ma};
use crate::memory::meter::DeviceCall;
use crate::memory::prices::Prices;
use crate::workloads::{Change, Workload};
use crate::{Answer, Figures};

const TILE: u64 = 64 << 10;

/// D3D12MA's blocks and committed resources, and what they hold.
struct Model {
    allocator: D3d12Ma<64>,
    held: u64,
    calls: Vec<DeviceCall>,
}

impl Model {
    fn allocate(&mut self, size: u64) -> Answer<(Buffer, u64)> {
        let buffer = self.allocator.allocate(ByteSize::new(size))?;
        self.follow();
        Ok((buffer, size))
    }

    fn free(&mut self, buffer: Buffer) -> Answer<()> {
        self.allocator.free(buffer)?;
        self.follow();
        Ok(())
    }

    fn follow(&mut self) {
        self.allocator.take_calls(&mut self.calls);
        for call in &self.calls {
            match call {
                DeviceCall::Create(block) => self.held += block.size.get(),
                DeviceCall::Free(block) => self.held -= block.size.get(),
            }
        }
    }
}

/// Makes the same changes as `GrowingBuffer::plain`: sizes are powers of two, the old buffer is copied, and it is freed
/// when the frame is over.
pub(crate) fn run(workload: &Workload) -> Answer<Figures> {
    let mut model = Model { allocator: D3d12Ma::new(&Prices::on_h200())?, held: 0, calls: Vec::new() };
    let mut buffers: Vec<Option<(Buffer, u64)>> = workload.max_sizes.iter().map(|_| None).collect();
    let mut sizes = vec![0; workload.max_sizes.len()];
    let (mut figures, mut old) = (Figures::default(), Vec::new());
    for changes in &workload.frames {
        std::mem::take(&mut old).into_iter().try_for_each(|buffer| model.free(buffer))?;
        for &Change { buffer, size } in changes {
            let wanted =
                size.next_multiple_of(TILE).next_power_of_two().min(workload.max_sizes[buffer]).max(TILE);
            let is_enough = buffers[buffer].as_ref().is_some_and(|(_, held)| size > 0 && size <= *held);
            if is_enough {
                continue;
            }
            let replaced = buffers[buffer].take();
            if size > 0 {
                figures.copied += if replaced.is_some() { sizes[buffer] } else { 0 };
                buffers[buffer] = Some(model.allocate(wanted)?);
            }
            old.extend(replaced.map(|(buffer, _)| buffer));
        }
        figures.count(changes, &mut sizes, model.held);
    }
    Ok(figures)
}
