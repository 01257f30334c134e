//! Comparison with a model that knows the owner of each page.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const PAGE: u64 = 64 * 1024;
/// Few enough bits to exhaust a whole space.
const BITS: u32 = 33;

fn address(address: u64) -> GpuVirtualAddress {
    GpuVirtualAddress::new(address).expect("not zero")
}

fn addresses(start: u64, size: u64) -> GpuVirtualAddressRange {
    GpuVirtualAddressRange { start: address(start), size: ByteSize::new(size) }
}

fn take(owners: &mut AddressOwners, size: u64) -> Option<Interval> {
    owners.take(ByteSize::new(size), Alignment::ONE)
}

#[test]
fn a_seed_determines_the_first_address() {
    let first = |seed| take(&mut AddressOwners::new(44, seed), 1).expect("the request fits").start;
    assert_eq!(first(0), BASE);
    let mut places: Vec<u64> = (0..1000).map(first).collect();
    assert_eq!(places, (0..1000).map(first).collect::<Vec<_>>(), "the same seed gives the same place");
    places.sort_unstable();
    assert!(places.iter().all(|place| place.is_multiple_of(PAGE) && *place < 1 << 43));
    // As even as with the golden ratio: no two of 1,000 seeds are closer than a quarter of the mean distance.
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] > (1 << 43) / 4000));
}

/// Every address can be allocated, whatever the start address.
#[test]
fn the_whole_address_space_can_be_allocated() {
    for seed in [0, 1, 2, u64::MAX] {
        let mut owners = AddressOwners::new(BITS, seed);
        let all = owners.free_size();
        assert_eq!(all.get(), (1 << BITS) - BASE);
        let mut taken = Vec::new();
        while let Some(range) = take(&mut owners, 1 << 28).or_else(|| take(&mut owners, 1)) {
            taken.push(range);
        }
        assert_eq!(owners.free_size(), ByteSize::ZERO, "seed {seed}");
        assert_eq!(merge(taken.clone()), [owners.whole]);
        for range in taken {
            owners.give_back(range, None);
        }
        assert_eq!(owners.free_size(), all);
    }
}

#[test]
fn refusals_state_the_reason() {
    let mut owners = AddressOwners::new(BITS, 0);
    let id = owners
        .reserve(&[addresses(BASE, 2 * PAGE), addresses(BASE + 4 * PAGE, 1)])
        .expect("the range is free");
    let without = owners.reserve(&[]).expect("no range");
    let mut at = |id, start, size, alignment| {
        let alignment = Alignment::new(alignment).expect("a power of two");
        owners.take_at(id, address(start), ByteSize::new(size), alignment)
    };
    let misaligned = |alignment| {
        Err(CreateAtFault::Misaligned { alignment: Alignment::new(alignment).expect("a power of two") })
    };
    assert_eq!(at(id, BASE + 8, 1, 1), misaligned(PAGE));
    assert_eq!(at(id, BASE + PAGE, 1, 4 << 20), misaligned(4 << 20));
    let outside = Err(CreateAtFault::OutsideAddressSpace);
    assert_eq!(at(id, PAGE, 1, 1), outside);
    assert_eq!(at(id, 1 << BITS, 1, 1), outside);
    assert_eq!(at(id, (1 << BITS) - PAGE, PAGE + 1, 1), outside);
    assert_eq!(at(id, u64::MAX - PAGE + 1, PAGE, 1), outside);
    assert_eq!(at(id, BASE, u64::MAX, 1), outside);
    let not_reserved = |start| Err(CreateAtFault::NotReserved { address: address(start) });
    assert_eq!(at(without, BASE, 1, 1), not_reserved(BASE));
    assert_eq!(at(id, BASE, 2 * PAGE + 1, 1), not_reserved(BASE + 2 * PAGE));
    assert_eq!(at(id, BASE + 5 * PAGE, 1, 1), not_reserved(BASE + 5 * PAGE));
    at(id, BASE + PAGE, 1, 1).expect("the range is reserved and free");
    assert_eq!(at(id, BASE, 2 * PAGE, 1), Err(CreateAtFault::InUse { address: address(BASE + PAGE) }));
    at(id, BASE, PAGE, 1).expect("the range is reserved and free");
}

/// The owner of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Object,
    Device(ReservationId),
    ObjectOf(ReservationId),
}

#[derive(Debug, Clone)]
enum Step {
    Take { pages: u64, alignment: u32 },
    Reserve(Vec<(u64, u64)>),
    TakeAt { device: prop::sample::Index, page: u64, pages: u64 },
    GiveBack(prop::sample::Index),
    Release(prop::sample::Index),
}

/// Pages around the start address, so that calls conflict often.
const NEAR: u64 = 48;

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => (1_u64..6, 0_u32..3).prop_map(|(pages, alignment)| Step::Take { pages, alignment }),
        2 => prop::collection::vec((0..NEAR * PAGE, 0..4 * PAGE), 0..5).prop_map(Step::Reserve),
        4 => (index(), 0..NEAR, 1_u64..5).prop_map(|(device, page, pages)| Step::TakeAt { device, page, pages }),
        3 => index().prop_map(Step::GiveBack),
        1 => index().prop_map(Step::Release),
    ]
}

proptest! {
    #[test]
    fn every_page_has_the_expected_owner(steps in prop::collection::vec(step(), 1..60)) {
        let mut owners = AddressOwners::new(BITS, 7);
        let whole = owners.free_size();
        let near = owners.place - NEAR / 2 * PAGE;
        let mut model: BTreeMap<u64, Owner> = BTreeMap::new();
        // One device has reserved nothing.
        let mut devices = vec![owners.reserve(&[]).expect("no range")];
        let mut objects: Vec<(Interval, Option<ReservationId>)> = Vec::new();
        let pages = |range: Interval| (range.start..range.end).step_by(64 * 1024);
        for step in steps {
            match step {
                Step::Take { pages: count, alignment } => {
                    let alignment = Alignment::new(PAGE << alignment).expect("a power of two");
                    let taken = owners.take(ByteSize::new(count * PAGE - 1), alignment).expect("the request fits");
                    prop_assert_eq!((taken.len(), taken.start % alignment.get()), (count * PAGE, 0));
                    for page in pages(taken) {
                        prop_assert_eq!(model.insert(page, Owner::Object), None);
                    }
                    objects.push((taken, None));
                }
                Step::Reserve(wanted) => {
                    let wanted: Vec<_> = wanted.iter().map(|&(at, size)| addresses(near + at, size)).collect();
                    let covered = |range: &GpuVirtualAddressRange| {
                        let (start, size) = (range.start.get(), range.size.get());
                        // An empty range has no addresses.
                        pages(Interval { start: if size == 0 { start } else { start - start % PAGE }, end: start + size })
                    };
                    // The first conflicting range determines the error.
                    let error = wanted.iter().find_map(|range| {
                        let is_free = covered(range).all(|page| !model.contains_key(&page));
                        (!is_free).then_some(DriverError::AddressesInUse { range: *range })
                    });
                    let reserved = owners.reserve(&wanted);
                    prop_assert_eq!(reserved.err(), error);
                    if let Ok(id) = reserved {
                        devices.push(id);
                        model.extend(wanted.iter().flat_map(covered).map(|page| (page, Owner::Device(id))));
                    }
                }
                Step::TakeAt { device, page, pages: count } if !devices.is_empty() => {
                    let id = devices[device.index(devices.len())];
                    let start = near + page * PAGE;
                    let size = ByteSize::new(count * PAGE);
                    let wanted = Interval { start, end: start + size.get() };
                    let owner = |page| model.get(&page).copied();
                    let is_ones_own = |page| {
                        [Some(Owner::Device(id)), Some(Owner::ObjectOf(id))].contains(&owner(page))
                    };
                    let fault = pages(wanted)
                        .find(|&page| !is_ones_own(page))
                        .map(|page| CreateAtFault::NotReserved { address: address(page) })
                        .or_else(|| {
                            let used = pages(wanted).find(|&page| owner(page) == Some(Owner::ObjectOf(id)));
                            used.map(|page| CreateAtFault::InUse { address: address(page) })
                        });
                    let taken = owners.take_at(id, address(start), size, Alignment::ONE);
                    prop_assert_eq!(taken.err(), fault);
                    if let Ok(taken) = taken {
                        prop_assert_eq!(taken, wanted);
                        model.extend(pages(taken).map(|page| (page, Owner::ObjectOf(id))));
                        objects.push((taken, Some(id)));
                    }
                }
                Step::TakeAt { .. } => {}
                Step::GiveBack(index) => {
                    if !objects.is_empty() {
                        let (range, id) = objects.swap_remove(index.index(objects.len()));
                        owners.give_back(range, id);
                        for page in pages(range) {
                            model.remove(&page);
                            if let Some(id) = id.filter(|id| devices.contains(id)) {
                                model.insert(page, Owner::Device(id));
                            }
                        }
                    }
                }
                Step::Release(index) => {
                    if !devices.is_empty() {
                        let id = devices.swap_remove(index.index(devices.len()));
                        owners.release(id);
                        model.retain(|_, owner| *owner != Owner::Device(id));
                    }
                }
            }
            let owned = u64::try_from(model.len()).expect("the count fits in 64 bits") * PAGE;
            prop_assert_eq!(owners.free_size().get(), whole.get() - owned);
        }
        for (range, id) in objects {
            owners.give_back(range, id);
        }
        for id in devices {
            owners.release(id);
        }
        prop_assert_eq!(owners.free_size(), whole);
    }
}
