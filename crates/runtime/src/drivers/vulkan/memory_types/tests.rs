//! Memory types of devices as they are sold.

use super::*;

const LOCAL: u32 = 1;
const VISIBLE: u32 = 2;
const COHERENT: u32 = 4;
const CACHED: u32 = 8;
const GIB: u64 = 1 << 30;

/// Describes a device by its heaps (size, whether local) and types (heap, flags).
fn memory(heaps: &[(u64, bool)], types: &[(u32, u32)]) -> vk::PhysicalDeviceMemoryProperties {
    let mut memory = vk::PhysicalDeviceMemoryProperties::default();
    for (slot, &(size, is_local)) in memory.memory_heaps.iter_mut().zip(heaps) {
        let flags = if is_local { vk::MemoryHeapFlags::DEVICE_LOCAL } else { vk::MemoryHeapFlags::empty() };
        *slot = vk::MemoryHeap { size, flags };
    }
    for (slot, &(heap_index, flags)) in memory.memory_types.iter_mut().zip(types) {
        *slot = vk::MemoryType { property_flags: vk::MemoryPropertyFlags::from_raw(flags), heap_index };
    }
    memory.memory_heap_count = u32::try_from(heaps.len()).expect("few");
    memory.memory_type_count = u32::try_from(types.len()).expect("few");
    memory
}

#[test]
fn a_discrete_gpu_with_all_memory_visible() {
    let types = [
        (1, 0),
        (0, LOCAL),
        (1, VISIBLE | COHERENT),
        (1, VISIBLE | COHERENT | CACHED),
        (0, LOCAL | VISIBLE | COHERENT),
    ];
    let memory = memory(&[(140 * GIB, true), (100 * GIB, false)], &types);
    let found = MemoryTypes::of(&memory, false, u32::MAX).expect("usable");
    let expected = MemoryTypes {
        architecture: Architecture::Discrete,
        video: 1,
        upload: 2,
        readback: 3,
        gpu_upload: Some(4),
    };
    assert_eq!(found, expected);
    assert!(found.video_is_cpu_accessible(&memory));
    use CpuPageProperty::{NotAvailable, WriteBack, WriteCombine};
    let of = |pool, page| found.of_heap(pool, page);
    assert_eq!(of(MemoryPool::L1, NotAvailable), 1);
    assert_eq!(of(MemoryPool::L0, WriteCombine), 2);
    assert_eq!(of(MemoryPool::L0, WriteBack), 3);
    assert_eq!(of(MemoryPool::L1, WriteCombine), 4);
}

/// A heap of 256 MiB through which the CPU sees a part of video memory is not all of it.
#[test]
fn a_small_window_gives_no_gpu_upload_heaps() {
    let types = [(0, LOCAL), (1, VISIBLE | COHERENT), (2, LOCAL | VISIBLE | COHERENT)];
    let memory = memory(&[(8 * GIB, true), (16 * GIB, false), (GIB / 4, true)], &types);
    let found = MemoryTypes::of(&memory, false, u32::MAX).expect("usable");
    assert_eq!((found.video, found.upload, found.readback, found.gpu_upload), (0, 1, 1, Some(2)));
    assert!(!found.video_is_cpu_accessible(&memory));
}

#[test]
fn uma_is_coherent_if_its_memory_is_cached_and_coherent() {
    let all = LOCAL | VISIBLE | COHERENT;
    let coherent = memory(&[(16 * GIB, true)], &[(0, all | CACHED)]);
    let found = MemoryTypes::of(&coherent, true, u32::MAX).expect("usable");
    assert_eq!(found.architecture, Architecture::CacheCoherentUma);
    assert_eq!((found.video, found.upload, found.readback), (0, 0, 0));
    let uncached = memory(&[(16 * GIB, true)], &[(0, all)]);
    let found = MemoryTypes::of(&uncached, true, u32::MAX).expect("usable");
    assert_eq!(found.architecture, Architecture::Uma);
}

/// Types with further flags (protected, lazily allocated, uncached on the device) are not used, and without coherent
/// memory that the CPU sees, the device is not used.
#[test]
fn special_types_are_left_alone() {
    let memory = |types: &[(u32, u32)]| memory(&[(GIB, true), (GIB, false)], types);
    let special = [(0, LOCAL | 0x10), (0, LOCAL), (1, VISIBLE | COHERENT | 0x80), (1, VISIBLE | COHERENT)];
    let found = MemoryTypes::of(&memory(&special), false, u32::MAX).expect("usable");
    assert_eq!((found.video, found.upload), (1, 3));
    assert_eq!(MemoryTypes::of(&memory(&[(0, LOCAL), (1, VISIBLE)]), false, u32::MAX), None);
}

/// A type that buffers cannot have is not chosen, although it is the best one otherwise.
#[test]
fn types_that_buffers_cannot_have_are_left_alone() {
    let types = [(0, LOCAL), (0, LOCAL), (1, VISIBLE | COHERENT), (1, VISIBLE | COHERENT)];
    let memory = memory(&[(8 * GIB, true), (16 * GIB, false)], &types);
    let found = MemoryTypes::of(&memory, false, 0b1010).expect("usable");
    assert_eq!((found.video, found.upload, found.readback, found.gpu_upload), (1, 3, 3, None));
    assert_eq!(MemoryTypes::of(&memory, false, 0b0011), None, "no memory that the CPU can access");
}
