//! Objects of the simulated GPU at addresses that the application chooses (Recreate-at-GPUVA specification).

use heapwright_core::GpuVirtualAddress;
use proptest::prelude::*;

use super::tests::{FIRST, MakeHeap as _, addresses, device, driver, usage, video};
use super::*;
use crate::ddi::CreateAtFault;

const PAGE: u64 = 64 * 1024;

fn at(args: HeapArgs, address: u64) -> HeapArgs {
    HeapArgs { create_at: GpuVirtualAddress::new(address), ..args }
}

fn address(address: u64) -> GpuVirtualAddress {
    GpuVirtualAddress::new(address).expect("not zero")
}

fn pages(count: u64) -> HeapArgs {
    video(ByteSize::new(count * PAGE))
}

fn buffer(width: u64, address: Option<u64>) -> ResourceArgs {
    ResourceArgs {
        kind: ResourceKind::Buffer { width: ByteSize::new(width) },
        tight_alignment: false,
        alignment_restriction: Alignment::ONE,
        create_at: address.and_then(GpuVirtualAddress::new),
    }
}

fn fault<T>(result: Result<T, DriverError>) -> Option<CreateAtFault> {
    match result.err() {
        Some(DriverError::CannotCreateAt { fault, .. }) => Some(fault),
        _ => None,
    }
}

#[test]
fn a_heap_is_recreated_at_its_address() {
    let recording =
        HostDriver::new(&HostProfile { address_seed: Some(1), ..*HostProfile::default_profile() });
    let heaps: Vec<_> =
        (1..20).map(|count| recording.make_heap(&pages(count)).expect("the request fits")).collect();
    let recorded: Vec<_> =
        heaps.iter().map(|heap| addresses(heap.gpu_virtual_address().get(), heap.size().get())).collect();
    let replaying = driver("discrete");
    let device = device(&replaying, &recorded).expect("all addresses are free");
    for range in recorded.iter().rev() {
        let args = HeapArgs { size: range.size, create_at: Some(range.start), ..pages(1) };
        let heap = replaying.create_heap(&*device, &args).expect("the range is reserved and free");
        assert_eq!((heap.gpu_virtual_address(), heap.size()), (range.start, range.size));
        let other =
            replaying.create_heap(&*device, &HeapArgs { create_at: None, ..args }).expect("the request fits");
        assert!(recorded.iter().all(|range| range.start != other.gpu_virtual_address()));
    }
}

/// A heap of 4 KiB has a page of its own, so its recorded range reserves the whole page.
#[test]
fn a_recorded_range_below_a_page_reserves_whole_pages() {
    let driver = driver("discrete");
    let device = device(&driver, &[addresses(FIRST, 4096)]).expect("the range is free");
    let small = HeapArgs { implicit: true, ..video(ByteSize::new(1000)) };
    let heap = driver.create_heap(&*device, &at(small, FIRST)).expect("the range is reserved");
    assert_eq!(heap.size().get(), 4096);
    drop(heap);
    driver.create_heap(&*device, &at(pages(1), FIRST)).expect("all of the page is reserved");
}

#[test]
fn a_placed_buffers_address_follows_from_heap_and_offset() {
    let driver = driver("discrete");
    let device = device(&driver, &[addresses(FIRST, 4 * PAGE)]).expect("the range is free");
    let heap = driver.create_heap(&*device, &at(pages(4), FIRST)).expect("the range is reserved");
    let place = |address| {
        let placement = ResourcePlacement::Heap { heap: Arc::clone(&heap), offset: PAGE };
        driver.create_resource(&*device, &buffer(1000, address), placement)
    };
    for address in [None, Some(FIRST + PAGE)] {
        let placed = place(address).expect("the heap's current address");
        assert_eq!(placed.gpu_virtual_address().get(), FIRST + PAGE);
        assert_eq!(placed.allocation(), addresses(FIRST + PAGE, PAGE), "whole multiples of its alignment");
    }
    let elsewhere = CreateAtFault::Elsewhere { address: address(FIRST + PAGE) };
    for address in [FIRST, FIRST + PAGE + 1, FIRST + 2 * PAGE, 1, u64::MAX] {
        assert_eq!(fault(place(Some(address))), Some(elsewhere));
    }
}

#[test]
fn a_reserved_buffer_can_be_created_at_an_address() {
    let driver = driver("discrete");
    let device = device(&driver, &[addresses(FIRST + PAGE, 3 * PAGE)]).expect("the range is free");
    let reserve = |address| {
        driver.create_resource(&*device, &buffer(2 * PAGE + 1, Some(address)), ResourcePlacement::Reserved)
    };
    let resource = reserve(FIRST + PAGE).expect("reserved by the device");
    assert_eq!(resource.allocation(), addresses(FIRST + PAGE, 3 * PAGE));
    assert_eq!(fault(reserve(FIRST + PAGE)), Some(CreateAtFault::InUse { address: address(FIRST + PAGE) }));
    drop(resource);
    assert_eq!(fault(reserve(FIRST)), Some(CreateAtFault::NotReserved { address: address(FIRST) }));
    reserve(FIRST + PAGE).expect("free again");
}

#[test]
fn devices_cannot_use_each_others_reservations() {
    let driver = driver("discrete");
    let first = device(&driver, &[addresses(FIRST, PAGE)]).expect("the range is free");
    let second = device(&driver, &[addresses(FIRST + PAGE, PAGE)]).expect("the range is free");
    let not_reserved = |start| Some(CreateAtFault::NotReserved { address: address(start) });
    assert_eq!(fault(driver.create_heap(&*second, &at(pages(1), FIRST))), not_reserved(FIRST));
    assert_eq!(fault(driver.create_heap(&*first, &at(pages(2), FIRST))), not_reserved(FIRST + PAGE));
    driver.create_heap(&*first, &at(pages(1), FIRST)).expect("its own reservation");
}

/// A heap shared with another device may outlive the device that reserved its addresses.
#[test]
fn a_heap_outlives_the_device_that_reserved_its_addresses() {
    let driver = driver("discrete");
    let reserving = device(&driver, &[addresses(FIRST, 4 * PAGE)]).expect("the range is free");
    let heap = driver.create_heap(&*reserving, &at(pages(1), FIRST + PAGE)).expect("the range is reserved");
    drop(reserving);
    let others: Vec<_> = (0..8).map(|_| driver.make_heap(&pages(1)).expect("the request fits")).collect();
    assert!(others.iter().all(|other| other.gpu_virtual_address() != heap.gpu_virtual_address()));
    assert_eq!(others[0].gpu_virtual_address().get(), FIRST, "freed with the device");
    drop((heap, others));
    assert_eq!(driver.make_heap(&pages(4)).expect("the request fits").gpu_virtual_address().get(), FIRST);
}

#[test]
fn recreate_at_is_supported_from_ddi_0111_on() {
    for (ddi_version, tier, has_it) in
        [(88, 0, false), (109, 1, false), (110, 1, false), (111, 1, true), (115, 1, true)]
    {
        let caps = *HostDriver::new(&HostProfile { ddi_version, ..*HostProfile::default_profile() }).caps();
        assert_eq!((caps.recreate_at_tier, caps.has_recreate_at()), (tier, has_it), "DDI {ddi_version}");
    }
}

#[test]
fn gpus_without_a_seed_start_at_different_addresses() {
    let first = || {
        let driver = HostDriver::new(HostProfile::default_profile());
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
        |index| driver.create_heap(&*device, &at(HeapArgs { not_resident: true, ..pages(1) }, start(index)));
    for index in (0..count).step_by(97) {
        assert_eq!(
            make(index).expect("the range is reserved and free").gpu_virtual_address().get(),
            start(index)
        );
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
        let mut live: Vec<(u64, u64, Arc<dyn DriverHeap>)> = Vec::new();
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
                    match driver.create_heap(&*device, &args) {
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
