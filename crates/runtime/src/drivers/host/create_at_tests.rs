//! Objects of the simulated GPU at addresses that the application chooses (Recreate-at-GPUVA specification).

use heapwright_core::GpuVirtualAddress;
use proptest::prelude::*;

use super::tests::{FIRST, MakeHeap as _, addresses, device, driver, usage, video};
use super::*;
use crate::ddi::umddi::D3D12DDI_HEAP_FLAG_0115_IMPLICIT;
use crate::drivers::heap::DriverHeap;

const PAGE: u64 = 64 * 1024;

fn at(args: HeapArgs, address: u64) -> HeapArgs {
    HeapArgs { create_at: GpuVirtualAddress::new(address), ..args }
}

fn pages(count: u64) -> HeapArgs {
    video(ByteSize::new(count * PAGE))
}

/// A heap of 4 KiB has a page of its own, so its recorded range reserves the whole page.
#[test]
fn a_recorded_range_below_a_page_reserves_whole_pages() {
    let driver = driver("discrete");
    let device = device(&driver, &[addresses(FIRST, 4096)]).expect("the range is free");
    let small = HeapArgs { flags: D3D12DDI_HEAP_FLAG_0115_IMPLICIT, ..video(ByteSize::new(1000)) };
    let heap = driver.create_heap(&device, &at(small, FIRST)).expect("the range is reserved");
    assert_eq!(heap.size().get(), 4096);
    drop(heap);
    driver.create_heap(&device, &at(pages(1), FIRST)).expect("all of the page is reserved");
}

#[test]
fn gpus_without_a_seed_start_at_different_addresses() {
    let first = || {
        let driver = super::driver(HostProfile::default_profile());
        driver.make_heap(&pages(1)).expect("the request fits").gpu_virtual_address()
    };
    let places: std::collections::BTreeSet<_> = (0..8).map(|_| first()).collect();
    assert!(places.len() > 1, "{places:?}");
}

/// As many ranges as in a large capture: reserving and using them must not be quadratic.
#[test]
fn a_hundred_thousand_ranges_are_reserved_and_used() {
    let driver = driver("discrete");
    let count = 100_000;
    let start = |index: u64| FIRST + 2 * index * PAGE;
    let ranges: Vec<_> = (0..count).rev().map(|index| addresses(start(index), PAGE)).collect();
    let device = device(&driver, &ranges).expect("all addresses are free");
    let make =
        |index| driver.create_heap(&device, &at(HeapArgs { not_resident: true, ..pages(1) }, start(index)));
    for index in (0..count).step_by(97) {
        let heap = make(index).expect("the range is reserved and free");
        assert_eq!(heap.gpu_virtual_address().get(), start(index));
    }
    let between = driver.make_heap(&pages(1)).expect("the request fits");
    assert_eq!(between.gpu_virtual_address().get(), FIRST + PAGE);
}

#[derive(Debug, Clone)]
enum Step {
    Heap { page: u64, pages: u64, skew: u64, alignment: u32, is_huge: bool },
    Release(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let skew = prop_oneof![9 => Just(0), 1 => 1..PAGE];
    prop_oneof![
        4 => (0_u64..40, 1_u64..6, skew, 0_u32..3, prop::bool::weighted(0.1)).prop_map(
            |(page, pages, skew, alignment, is_huge)| Step::Heap { page, pages, skew, alignment, is_huge }
        ),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
    ]
}

proptest! {
    /// A failed creation holds nothing: no memory of a segment group, no address, no entry in the residency ledger.
    #[test]
    fn refused_creations_leave_nothing_behind(
        reserved in prop::collection::vec((0_u64..40 * PAGE, 1_u64..8 * PAGE), 0..8),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let driver = driver("discrete-2gib");
        let ranges: Vec<_> = reserved.iter().map(|&(at, size)| addresses(FIRST + at, size)).collect();
        let device = device(&driver, &ranges).expect("all addresses are free");
        let is_reserved = |page: u64| {
            reserved.iter().any(|&(at, size)| (at / PAGE..(at + size).div_ceil(PAGE)).contains(&page))
        };
        let mut live: Vec<(u64, u64, Arc<DriverHeap>)> = Vec::new();
        for step in steps {
            match step {
                Step::Heap { page, pages: count, skew, alignment, is_huge } => {
                    let alignment = Alignment::new(PAGE << alignment).expect("a power of two");
                    // More than the segment group has: fails after the addresses were allocated, if they could be.
                    let size = if is_huge { 4 << 30 } else { count * PAGE };
                    let address = FIRST + page * PAGE + skew;
                    let args = HeapArgs { alignment, ..at(video(ByteSize::new(size)), address) };
                    let covered = page..page + count;
                    let expected = address.is_multiple_of(alignment.get())
                        && !is_huge
                        && covered.clone().all(is_reserved)
                        && live.iter().all(|(start, end, _)| covered.end <= *start || *end <= covered.start);
                    let before = (usage(&driver), driver.residency().report());
                    match driver.create_heap(&device, &args) {
                        Ok(heap) => {
                            prop_assert!(expected, "created at {address:#x}");
                            prop_assert_eq!(heap.gpu_virtual_address().get(), address);
                            live.push((covered.start, covered.end, heap));
                        }
                        Err(error) => {
                            prop_assert!(!expected, "{}", error);
                            prop_assert_eq!((usage(&driver), driver.residency().report()), before);
                        }
                    }
                }
                Step::Release(index) => {
                    if !live.is_empty() {
                        live.swap_remove(index.index(live.len()));
                    }
                }
            }
            let bytes: u64 = live.iter().map(|(start, end, _)| (end - start) * PAGE).sum();
            prop_assert_eq!(usage(&driver), (bytes, 0));
        }
        drop(live);
        drop(device);
        let whole = driver.make_heap(&pages(64)).expect("the request fits");
        prop_assert_eq!(whole.gpu_virtual_address().get(), FIRST, "every address was freed");
    }
}
