//! The CPU memory that an allocator uses.

use crate::counting_allocator::held;
use crate::gpu::*;

#[test]
fn an_allocator_takes_memory_for_what_is_used() {
    let gpu = open("discrete");
    let none = || usual(&gpu);
    drop(none());
    let (allocator, alone) = held(none);
    assert!(alone < 32 * 1024, "{alone} bytes for an allocator");
    let (nested, bytes) = held(|| nested_in(&allocator, ResourceAllocatorDesc::default()));
    assert!(bytes < 32 * 1024, "{bytes} bytes for one that is nested");
    // Statistics and reports keep no memory.
    let ((), looking) = held(|| {
        assert_eq!(allocator.stats(), nested.stats());
        drop(allocator.report());
        assert_eq!(allocator.release_empty_heaps(), ResourceAllocator::release_empty_heaps(&nested));
    });
    assert!(looking < 1024, "{looking} bytes to look");
    // The bins of a heap take about 5 KiB, the table of a lane 20 KiB.
    let (first, used) = held(|| local(&allocator, 1000));
    assert!(used < 96 * 1024, "{used} bytes for the first kind of heap");
    let (second, more) = held(|| local(&allocator, 1000));
    assert!(more < 1024, "{more} bytes for another buffer");
    drop((first, second));
}

#[test]
fn what_went_takes_no_memory_however_much_there_was() {
    let gpu = open("discrete");
    let outer = usual(&gpu);
    let use_it = || {
        (0..50).for_each(|_| drop(new_pool(&outer, PoolDesc::default())));
        (0..50).for_each(|_| drop(local(&nested_in(&outer, Default::default()), 1000)));
    };
    use_it();
    let ((), left) = held(use_it);
    assert!(left < 32 * 1024, "{left} bytes are left");
}

#[test]
fn everything_comes_back() {
    let gpu = open("discrete");
    let flags = NO_FLAGS;
    let use_it = || {
        let allocator = with_flags(&gpu, flags);
        let pool = new_pool(&allocator, PoolDesc::default());
        let nested = nested_in(&allocator, ResourceAllocatorDesc::default());
        for heap_type in [HeapType::Default, HeapType::Upload, HeapType::Readback] {
            drop(buffer(&nested, &place(heap_type, NONE), 1000));
            drop(buffer(&allocator, &place(heap_type, NONE), 100_000));
        }
        drop(pool);
    };
    use_it();
    let ((), left) = held(use_it);
    assert!(left < 4096, "{left} bytes are left");
}
