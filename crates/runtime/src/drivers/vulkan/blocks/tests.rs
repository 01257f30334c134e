//! Small heaps: their places in blocks, and their contents.

use super::*;
use crate::ddi::umddi::D3D12DDI_HEAP_FLAG_NONE;
use crate::ddi::{CpuPageProperty, DeviceArgs, HeapArgs, MemoryPool, SegmentGroup};
use crate::drivers::KIB_64;
use crate::drivers::driver::Driver;
use crate::drivers::heap::DriverHeap;
use crate::drivers::vulkan::VulkanBackend;
use crate::drivers::vulkan::fault_tests::or_skip;
use crate::residency::PageableKind;

/// Creates UPLOAD heaps of a size.
fn upload_heap(driver: &Driver, size: u64, zeroed: bool) -> Arc<DriverHeap> {
    let args = HeapArgs {
        size: ByteSize::new(size),
        alignment: KIB_64,
        cpu_page_property: CpuPageProperty::WriteCombine,
        memory_pool: MemoryPool::L0,
        flags: D3D12DDI_HEAP_FLAG_NONE,
        existing: None,
        zeroed,
        not_resident: false,
        pageable: PageableKind::Heap,
        create_at: None,
    };
    let device = driver.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
    driver.create_heap(&device, &args).expect("it is small")
}

/// The address of a heap's first word in this process, and their number.
fn words(heap: &DriverHeap) -> (*mut u64, usize) {
    let size = heap.size().get();
    let start = heap.map(0, size).expect("the CPU accesses it");
    (start.as_ptr().cast(), usize::try_from(size / 8).expect("small"))
}

fn fill(heap: &DriverHeap, word: u64) {
    let (start, len) = words(heap);
    // SAFETY: the memory of the heap, which nothing else uses.
    unsafe { std::slice::from_raw_parts_mut(start, len) }.fill(word);
}

fn has_only(heap: &DriverHeap, word: u64) -> bool {
    let (start, len) = words(heap);
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(start, len) }.iter().all(|&own| own == word)
}

#[test]
fn small_heaps_share_blocks_and_larger_ones_do_not() {
    let Some(backend) = or_skip(VulkanBackend::open(0)) else { return };
    let driver = Arc::clone(&backend).driver();
    let blocks = backend.blocks_of(backend.types.upload).expect("the type of UPLOAD heaps");
    let (small, block) = SIZES;
    let whole: Vec<_> = (0..block / small).map(|_| upload_heap(&driver, small, true)).collect();
    assert_eq!(blocks.len(), 1);
    let more = [upload_heap(&driver, 1, true), upload_heap(&driver, KIB_64.get(), true)];
    assert_eq!(blocks.len(), 2);
    let large = upload_heap(&driver, small + 1, true);
    assert_eq!(blocks.len(), 2);
    let group = if backend.caps.architecture.is_uma() { SegmentGroup::Local } else { SegmentGroup::NonLocal };
    let usage = || driver.video_memory(group).current_usage.get();
    let with_large = usage();
    drop(large);
    assert_eq!(usage(), block + 2 * KIB_64.get(), "each heap is charged for itself");
    assert!(with_large > usage() + small);
    drop(more);
    assert_eq!(blocks.len(), 1);
    drop(whole);
    assert_eq!((blocks.len(), usage()), (0, 0));
    // A block that is kept serves again.
    let kept = blocks.kept.bytes();
    assert!(kept == 0 || kept == SIZES.1 || kept == 2 * SIZES.1, "{kept}");
}

/// Heaps come and go in random order. Each keeps its contents, and new ones are zero.
#[test]
fn heaps_in_blocks_have_contents_of_their_own() {
    let Some(backend) = or_skip(VulkanBackend::open(0)) else { return };
    let driver = Arc::clone(&backend).driver();
    let mut random = 1_u64;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let mut heaps: Vec<(Arc<DriverHeap>, u64)> = Vec::new();
    for step in 0_u64..300 {
        if heaps.len() < 24 && below(5) < 3 {
            let size = if below(4) == 0 { 1 + below(SIZES.0) } else { 1 + below(256 << 10) };
            let zeroed = below(2) == 0;
            let heap = upload_heap(&driver, size, zeroed);
            assert!(!zeroed || has_only(&heap, 0), "step {step}");
            fill(&heap, step);
            heaps.push((heap, step));
        } else if !heaps.is_empty() {
            let index = usize::try_from(below(heaps.len() as u64)).expect("small");
            let (heap, word) = heaps.swap_remove(index);
            assert!(has_only(&heap, word), "step {step}");
        }
    }
    for (heap, word) in heaps {
        assert!(has_only(&heap, word), "the heap of step {word}");
    }
}
