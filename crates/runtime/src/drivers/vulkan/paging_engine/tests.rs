use super::*;
use crate::drivers::vulkan::VulkanDriver;
use crate::drivers::vulkan::fault_tests::or_skip;

#[test]
fn parts_have_few_sizes_and_cover_the_copy() {
    for size in [1, 4096, PARTS.0, PARTS.0 + 1, 3 << 20, PARTS.1 - 1, PARTS.1, 300 << 20, u64::MAX] {
        let part = part_size(size);
        assert!(part.is_power_of_two() && (PARTS.0..=PARTS.1).contains(&part), "{size}");
        assert!(part >= size.min(PARTS.1), "{size} is covered");
        assert!(part / 2 < size || part == PARTS.0, "{size}: no more than twice as large");
    }
}

/// Host memory of one copy serves the next, of another size, too, and is freed when nothing needs it.
#[test]
fn host_memory_is_reused_and_then_freed() {
    let Some(driver) = or_skip(VulkanDriver::open(0)) else { return };
    let engine = &driver.engine;
    let source = StagingBuffer::create(&engine.device, 3 << 20, engine.host_type).expect("3 MiB");
    let copy_out = |size| engine.copy_out(source.handle(), 0, size).expect("the device works");
    let (first, kept) = (copy_out(3 << 20), || engine.kept().bytes);
    assert_eq!(kept(), 0);
    drop(first);
    assert_eq!(kept(), 4 << 20);
    let second = copy_out((2 << 20) + 1);
    assert_eq!(kept(), 0, "reused");
    drop(second);
    let deadline = Instant::now() + 10 * KEPT_FOR;
    while kept() > 0 && Instant::now() < deadline {
        std::thread::sleep(KEPT_FOR / 10);
    }
    assert_eq!(kept(), 0, "freed");
}
