//! Residency lists of resources with tiles.

use heapwright::d3d12::*;
use heapwright::residency::{GroupBudgets, ResidencyList, ResidencyManager, ResidencyManagerDesc};
use heapwright::{ByteSize, FenceValue, HeapType, ResourceAllocator};
use heapwright_tiles::GrowingBuffer;
use windows_core::Interface;

use crate::gpu::*;

/// Twice as much as the budget is committed in buffers that are used by turns: their heaps are paged in and out, and
/// the contents stay.
#[test]
fn the_heaps_behind_tiles_are_resident_when_a_list_uses_them() {
    let gpu = open("discrete");
    let budget = ByteSize::from_mib(8);
    let budgets = GroupBudgets { local: budget, non_local: budget };
    let desc = ResidencyManagerDesc { budget_override: Some(budgets), ..Default::default() };
    let manager = ResidencyManager::new(&gpu.device, None, desc).expect("a manager");
    let allocator =
        ResourceAllocator::with_residency(&gpu.device, Some(&gpu.adapter), Default::default(), &manager);
    let allocator = allocator.expect("an allocator");
    let pool = pool(&allocator);
    let mut queue = Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    let mut upload = plain_buffer(&allocator, HeapType::Upload, STAMP as u64);
    let readback = plain_buffer(&allocator, HeapType::Readback, 64 * STAMP as u64);
    let mut execute = |uses: &ResidencyList, record: &dyn Fn(&ID3D12GraphicsCommandList)| {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        unsafe {
            let commands: ID3D12CommandAllocator =
                gpu.device.CreateCommandAllocator(kind).expect("an allocator");
            let list: ID3D12GraphicsCommandList =
                gpu.device.CreateCommandList(0, kind, &commands, None).expect("a list");
            record(&list);
            list.Close().ok().expect("a valid list");
            let list: ID3D12CommandList = list.cast().expect("a list");
            manager.execute_command_lists(&queue.queue, &[uses.of(&list)]).expect("executed");
            queue.submit(|_| ());
            queue.finish();
        }
    };
    let target = Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    let mut buffers = Vec::new();
    for number in 0..16_u64 {
        let mut buffer = GrowingBuffer::in_tiles(&pool, &buffer_of(32)).expect("reserved");
        // Half of a heap for each, and one that grows into the next.
        buffer.grow(ByteSize::new((12 + number % 8) * TILE)).expect("there is memory");
        let value = FenceValue::new(number + 1);
        unsafe {
            buffer.update(&target.queue, &target.fence, value).expect("mapped");
            target.queue.Signal(&target.fence, value.get()).ok().expect("signaled");
            target.fence.SetEventOnCompletion(value.get(), HANDLE::default()).ok().expect("reached");
        }
        upload.map().expect("mapped").write(0, &number.to_le_bytes()).expect("in bounds");
        let uses = ResidencyList::new();
        {
            let mut open = uses.open().expect("closed");
            buffer.add_to(&mut open).expect("of one manager");
            if let Some(memory) = upload.memory() {
                open.add(memory).expect("of one manager");
            }
        }
        assert!(!uses.is_empty().expect("closed"));
        let last = buffer.committed().get() - STAMP as u64;
        execute(&uses, &|list| {
            write(list, (buffer.resource(), Place::Byte(last)), (upload.resource(), 0));
        });
        buffers.push((buffer, last));
    }
    assert!(pool.stats().reserved > budget, "{:?}", pool.stats());
    for (number, (buffer, last)) in buffers.iter().enumerate() {
        let uses = ResidencyList::new();
        {
            let mut open = uses.open().expect("closed");
            buffer.add_to(&mut open).expect("of one manager");
            if let Some(memory) = readback.memory() {
                open.add(memory).expect("of one manager");
            }
        }
        let to = (number * STAMP) as u64;
        execute(&uses, &|list| {
            read(list, (buffer.resource(), Place::Byte(*last)), (readback.resource(), to))
        });
    }
    let stats = manager.stats();
    assert!(!stats.local.bytes_paged_out.is_zero() && !stats.local.bytes_paged_in.is_zero(), "{stats:?}");
    assert_eq!(stats.submissions_over_budget, 0);
    let mut readback = readback;
    let mut seen = [0; 16 * STAMP];
    readback.map().expect("mapped").read(0, &mut seen).expect("in bounds");
    let expected: Vec<u8> = (0..16_u64).flat_map(u64::to_le_bytes).collect();
    assert_eq!(seen[..], expected);
}
