//! Slabs by size: GPGMM's heap sizes, and each parameter.

use super::slab_sizing::KIB_64;
use super::*;
use crate::{Alignment, ByteSize};

fn set(sizing: SlabSizing) -> SharedHeapSet<ByteSize> {
    SharedHeapSet::new(&HeapSetDesc::new(PlacementRule::SlabBySize(sizing), HeapRetention::NONE))
}

fn request(bytes: u64) -> PlacementRequest {
    PlacementRequest::new(ByteSize::new(bytes), KIB_64)
}

fn allocate(
    set: &SharedHeapSet<ByteSize>,
    request: &PlacementRequest,
) -> Result<Placed<ByteSize>, PlacementError> {
    match set.allocate(request)? {
        Some(placed) => Ok(placed),
        None => {
            let size = set.new_heap_size(request)?;
            set.allocate_in_new(size, size, request)
        }
    }
}

/// Returns the sizes of the heaps for `count` requests of a size, in KiB, in order of creation.
fn heaps_of(sizing: SlabSizing, kib: u64, count: usize) -> Vec<u64> {
    let set = set(sizing);
    let mut heaps = Vec::new();
    for _ in 0..count {
        let before = set.totals().heap_count;
        let heap = allocate(&set, &request(kib << 10)).unwrap().heap;
        if set.totals().heap_count > before {
            heaps.push(heap.get() >> 10);
        }
    }
    set.audit().unwrap();
    heaps
}

/// Returns heap bytes divided by requested bytes, in hundredths, rounded.
fn overhead(bytes: u64, count: u64) -> u64 {
    let set = set(SlabSizing::default());
    for _ in 0..count {
        allocate(&set, &request(bytes)).unwrap();
    }
    let (reserved, used) = (set.totals().reserved.get(), set.totals().used.get());
    assert_eq!(used, bytes * count);
    (reserved * 100 + used / 2) / used
}

/// The heap bytes that GPGMM itself took, measured with its own sources (research/gpgmm.md, F.1).
#[test]
fn heap_sizes_equal_gpgmms() {
    let table = [
        (1, [51_200, 25_600, 17_067, 10_240, 7168]),
        (64, [100, 100, 133, 100, 126]),
        (65, [788, 394, 263, 315, 236]),
        (320, [160, 160, 213, 160, 150]),
        (1024 + 64, [188, 188, 251, 188, 117]),
        (3 << 10, [133, 133, 178, 133, 125]),
        (33 << 10, [194, 194, 259, 194, 120]),
        (65 << 10, [197, 197, 263, 197, 122]),
        (129 << 10, [198, 198, 265, 198, 123]),
    ];
    for (kib, expected) in table {
        assert_eq!([1, 2, 3, 10, 100].map(|count| overhead(kib << 10, count)), expected, "{kib} KiB");
    }
}

#[test]
fn different_sizes_do_not_share_a_heap() {
    // Sizes from 64 KiB to 4 MiB in steps of 64 KiB, equally frequent.
    let set = set(SlabSizing::default());
    for number in 0..1024_u64 {
        allocate(&set, &request((number % 64 + 1) << 16)).unwrap();
    }
    let each = |step: u64| heaps_of(SlabSizing::default(), step * 64, 16).iter().sum::<u64>();
    let expected: u64 = (1..=64).map(each).sum();
    assert_eq!(set.totals().reserved.get() >> 10, expected);
}

#[test]
fn heaps_grow_when_enough_of_a_size_are_full() {
    assert_eq!(heaps_of(SlabSizing::default(), 64, 30), [64, 64, 128, 128, 256, 256, 512, 512]);
    assert_eq!(heaps_of(SlabSizing::default(), 320, 12), [512, 512, 1024, 1024, 2048]);
}

#[test]
fn growth_factor() {
    let growing = |growth_factor| heaps_of(SlabSizing { growth_factor, ..Default::default() }, 64, 8);
    assert_eq!(growing(1.0), [64; 8]);
    assert_eq!(growing(1.25), [64, 64, 128, 128, 256]);
    assert_eq!(growing(2.0), growing(1.25));
    // Four times as large, once four heaps are full.
    assert_eq!(growing(2.5), [64, 64, 64, 64, 256]);
    for default in [0.0, -0.0, -3.0, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(growing(default), growing(1.25), "{default}");
    }
    assert_eq!(growing(f64::INFINITY), [64; 8]);
    assert_eq!(growing(1e300), [64; 8]);
}

#[test]
fn a_growth_factor_below_one_gives_each_request_a_heap_of_its_own() {
    let sizing = SlabSizing { growth_factor: 0.5, minimum: ByteSize::from_mib(4), ..Default::default() };
    assert_eq!(heaps_of(sizing, 64, 3), [64, 64, 64]);
    assert_eq!(heaps_of(sizing, 65, 2), [128, 128]);
    assert_eq!(heaps_of(sizing, 320, 2), [320, 320]);
    let fine = PlacementRequest::new(ByteSize::new(1), Alignment::ONE);
    let set = set(sizing);
    for count in 1..3 {
        assert_eq!(allocate(&set, &fine).unwrap().heap, ByteSize::from_kib(64));
        assert_eq!(set.totals().heap_count, count);
    }
}

#[test]
fn fragmentation_limit() {
    let first = |fragmentation_limit, kib| {
        let sizing = SlabSizing { fragmentation_limit, ..Default::default() };
        sizing.first_heap_size(ByteSize::from_kib(kib), KIB_64).map(|size| size.get() >> 10)
    };
    // 63 KiB of the block are unused.
    assert_eq!(first(0.125, 1), Some(512));
    assert_eq!(first(0.25, 1), Some(256));
    assert_eq!(first(0.5, 1), Some(128));
    assert_eq!(first(1.0, 1), Some(64));
    assert_eq!(first(f64::INFINITY, 1), Some(64));
    assert_eq!(first(0.01, 1), Some(8192));
    assert_eq!(first(f64::MIN_POSITIVE, 1), None, "no heap of this size");
    assert_eq!(first(f64::MIN_POSITIVE, 64), Some(64), "no unused bytes");
    for default in [0.0, -1.0, f64::NAN] {
        assert_eq!(first(default, 1), Some(512), "{default}");
    }
}

#[test]
fn minimum() {
    let first = |minimum, kib| {
        let sizing = SlabSizing { minimum: ByteSize::from_kib(minimum), ..Default::default() };
        sizing.first_heap_size(ByteSize::from_kib(kib), KIB_64).map(|size| size.get() >> 10)
    };
    assert_eq!(first(0, 64), Some(64));
    assert_eq!(first(4096, 64), Some(4096));
    assert_eq!(first(4096, 4097), Some(8192));
    // Doubled from the requested minimum, then rounded up.
    assert_eq!(first(3000, 64), Some(4096));
    assert_eq!(first(3000, 3100), Some(8192));
    assert_eq!(
        heaps_of(SlabSizing { minimum: ByteSize::from_mib(4), ..Default::default() }, 1024, 9),
        [4096, 4096, 8192]
    );
}

#[test]
fn maximum() {
    let sizing = SlabSizing { maximum: ByteSize::from_kib(1000), ..Default::default() };
    // Half a mebibyte is the largest power of two.
    assert_eq!(heaps_of(sizing, 128, 18), [128, 128, 256, 256, 512, 512, 512]);
    let set = set(sizing);
    let refused = |size| {
        let requested = ByteSize::from_kib(size);
        let refused = PlacementError::NeedsOwnHeap { requested, largest: ByteSize::from_kib(512) };
        assert_eq!(set.allocate(&request(size << 10)), Err(refused));
        assert_eq!(set.new_heap_size(&request(size << 10)), Err(refused));
    };
    refused(513);
    assert_eq!(set.totals(), Default::default());
    // The block fits, but would leave too much of the largest heap unused.
    let quarter = SlabSizing { maximum: ByteSize::from_kib(256), ..Default::default() };
    assert_eq!(quarter.first_heap_size(ByteSize::from_kib(1), KIB_64), None);
    let none = SlabSizing { maximum: ByteSize::ZERO, ..Default::default() };
    assert_eq!(none.first_heap_size(ByteSize::new(1), Alignment::ONE), None);
}

/// GPGMM creates a tenth heap here, because it examines only the slab that became empty last (F.1).
#[test]
fn any_slab_with_room_serves_before_a_new_heap() {
    let sizing = SlabSizing { minimum: ByteSize::from_kib(256), growth_factor: 1.0, ..Default::default() };
    let set = set(sizing);
    let placed: Vec<_> = (0..40).map(|_| allocate(&set, &request(1 << 16)).unwrap()).collect();
    assert_eq!(set.totals().heap_count, 10);
    for (number, placed) in placed.iter().enumerate() {
        if number % 4 > 0 || number >= 36 {
            let gone = set.free(placed.id).unwrap();
            assert_eq!(gone.len(), usize::from(number == 39), "block {number}");
        }
    }
    assert_eq!(set.totals().heap_count, 9);
    for _ in 0..27 {
        assert!(set.allocate(&request(1 << 16)).unwrap().is_some());
    }
    assert!(set.allocate(&request(1 << 16)).unwrap().is_none());
    set.audit().unwrap();
}

#[test]
fn the_block_that_was_freed_last_is_used_first() {
    let set = set(SlabSizing { minimum: ByteSize::from_mib(1), ..Default::default() });
    let placed: Vec<_> = (0..5).map(|_| allocate(&set, &request(1 << 16)).unwrap()).collect();
    for at in [1, 3] {
        set.free(placed[at].id).unwrap();
    }
    let starts: Vec<_> =
        (0..3).map(|_| allocate(&set, &request(1 << 16)).unwrap().range.start().get() >> 16).collect();
    assert_eq!(starts, [3, 1, 5]);
}

#[test]
fn sizes_are_known_while_they_are_live_or_are_to_be_remembered() {
    let set = set(SlabSizing::default());
    let counts = |hits, misses| SizeCacheCounts { hits, misses };
    let first = allocate(&set, &request(1 << 16)).unwrap();
    assert_eq!(set.size_cache(), counts(0, 1));
    // Both requests have the same block.
    let second = allocate(&set, &request((1 << 16) - 5)).unwrap();
    assert_eq!(set.size_cache(), counts(1, 1));
    assert!(set.allocate(&request(0)).is_err());
    assert_eq!(set.size_cache(), counts(1, 1), "an impossible request is not counted");
    set.free(first.id).unwrap();
    set.free(second.id).unwrap();
    let remembered = PlacementRequest { cache_size: true, ..request(1 << 16) };
    let third = allocate(&set, &remembered).unwrap();
    assert_eq!(set.size_cache(), counts(1, 2));
    assert_eq!(set.free(third.id).unwrap().len(), 1, "the size is remembered without a heap");
    allocate(&set, &request(1 << 16)).unwrap();
    assert_eq!(set.size_cache(), counts(2, 2));
    set.audit().unwrap();
}

#[test]
fn growth_is_forgotten_with_the_size() {
    let set = set(SlabSizing::default());
    let grow = |cache_size| {
        let request = PlacementRequest { cache_size, ..request(1 << 16) };
        let placed: Vec<_> = (0..10).map(|_| allocate(&set, &request).unwrap()).collect();
        for placed in placed {
            set.free(placed.id).unwrap();
        }
        set.new_heap_size(&request).unwrap()
    };
    assert_eq!(grow(false), ByteSize::from_kib(64));
    assert_eq!(grow(true), ByteSize::from_kib(256));
}

#[test]
fn the_smallest_empty_heap_that_is_large_enough_is_used_or_else_the_largest_that_holds_the_block() {
    let set = set(SlabSizing { minimum: ByteSize::from_mib(1), ..Default::default() });
    for kib in [192, 512, 2048, 4096] {
        set.insert(ByteSize::from_kib(kib), ByteSize::from_kib(kib)).unwrap();
    }
    let taken = |kib: u64| {
        let set = &set;
        allocate(set, &request(kib << 10)).unwrap().heap.get() >> 10
    };
    assert_eq!([taken(64), taken(128), taken(320), taken(256)], [2048, 4096, 512, 1024]);
    assert_eq!(taken(192), 192);
    set.audit().unwrap();
}

#[test]
fn a_heap_that_is_fetched_in_advance_is_the_one_that_is_wanted() {
    let set = set(SlabSizing { minimum: ByteSize::from_kib(256), ..Default::default() });
    let request = request(1 << 16);
    let (mut waited, mut fetched) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        match set.allocate(&request).unwrap() {
            Some(_) => {}
            None => {
                let size = set.new_heap_size(&request).unwrap();
                waited.push(size.get() >> 10);
                set.allocate_in_new(size, size, &request).unwrap();
            }
        }
        if let Some(size) = set.next_heap(&request) {
            fetched.push(size.get() >> 10);
            set.insert(size, size).unwrap();
            assert_eq!(set.next_heap(&request), None, "a heap of that size exists");
        }
    }
    // The heaps are the same as without prefetching, and only the first is waited for.
    assert_eq!(waited, [256]);
    assert_eq!(fetched, [256, 512, 512, 1024, 1024, 2048, 2048]);
    set.audit().unwrap();
}

#[test]
fn heaps_are_not_fetched_in_advance_for_few_or_for_much() {
    let next = |minimum, kib: u64, count| {
        let sizing =
            SlabSizing { minimum: ByteSize::from_kib(minimum), growth_factor: 1.0, ..Default::default() };
        let set = set(sizing);
        for _ in 0..count {
            allocate(&set, &request(kib << 10)).unwrap();
        }
        set.next_heap(&request(kib << 10)).map(|size| size.get() >> 10)
    };
    assert_eq!(next(256, 64, 0), None, "new size");
    assert_eq!((next(256, 64, 1), next(256, 64, 2)), (None, Some(256)));
    assert_eq!(next(256, 128, 2), None, "a heap has room for two");
    assert_eq!((next(1024, 192, 2), next(1024, 192, 3)), (None, Some(1024)), "of five blocks");
    assert_eq!((next(64 << 10, 1024, 64), next(128 << 10, 1024, 128)), (Some(64 << 10), None));
    // Two heaps are half full.
    let set = set(SlabSizing { minimum: ByteSize::from_kib(256), growth_factor: 1.0, ..Default::default() });
    let placed: Vec<_> = (0..8).map(|_| allocate(&set, &request(1 << 16)).unwrap()).collect();
    for placed in placed.iter().step_by(2) {
        set.free(placed.id).unwrap();
    }
    assert_eq!(set.next_heap(&request(1 << 16)), None);
    let other: SharedHeapSet<()> = SharedHeapSet::new(&HeapSetDesc::default());
    assert_eq!(other.next_heap(&request(1 << 16)), None);
}
