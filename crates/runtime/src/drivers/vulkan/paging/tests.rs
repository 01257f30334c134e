//! Priorities of memory that stays when its heap is evicted.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use ash::vk;
use heapwright_core::ByteSize;

use crate::ddi::umddi::D3D12DDI_HEAP_FLAG_NONE;
use crate::ddi::{CpuPageProperty, DeviceArgs, HeapArgs, MemoryPool};
use crate::drivers::KIB_64;
use crate::drivers::paging_work::PagingWork;
use crate::drivers::vulkan::VulkanBackend;
use crate::drivers::vulkan::fault_tests::{keep_open, open_alone_with};
use crate::residency::PageableKind;

/// The priorities that the device was told, in order.
static TOLD: Mutex<Vec<f32>> = Mutex::new(Vec::new());

unsafe extern "system" fn tell(_: vk::Device, _: vk::DeviceMemory, priority: f32) {
    TOLD.lock().expect("no panics").push(priority);
}

fn told() -> Vec<f32> {
    std::mem::take(&mut TOLD.lock().expect("no panics"))
}

/// `SetResidencyPriority` neither undoes the priority of an evicted heap, before it returns, nor waits while it is
/// being paged.
#[test]
fn the_priority_of_an_evicted_heap_is_set_when_it_returns() {
    let Some(mut device) = open_alone_with(|_, real| real) else { return };
    Arc::get_mut(&mut device).expect("the only reference").tell_priorities_to(tell);
    keep_open(&device);
    let driver = VulkanBackend::over(device).expect("a driver").driver();
    let args = HeapArgs {
        size: ByteSize::from_mib(8),
        alignment: KIB_64,
        cpu_page_property: CpuPageProperty::WriteCombine,
        memory_pool: MemoryPool::L0,
        flags: D3D12DDI_HEAP_FLAG_NONE,
        existing: None,
        zeroed: true,
        not_resident: false,
        pageable: PageableKind::Heap,
        create_at: None,
    };
    let device = driver.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
    let heap = driver.create_heap(&device, &args).expect("8 MiB");
    told();
    let run = |work: Option<PagingWork>| {
        PagingWork::run_all(work, Instant::now()).1.expect("the device works");
        told()
    };
    assert_eq!(run(heap.evict().expect("it is resident")), [0.0]);
    heap.set_priority(1.0);
    assert_eq!(told(), [] as [f32; 0], "the priority of Evict holds");
    {
        // As if it were being paged.
        let _memory = heap.memory();
        heap.set_priority(0.75);
    }
    let returned = run(heap.make_resident().expect("it is charged"));
    assert_eq!(returned.last(), Some(&0.75));
    heap.set_priority(0.25);
    assert_eq!(told(), [0.25]);
}
