//! The CPU memory that an allocator uses.
#![allow(missing_docs, reason = "a test")]

mod gpu;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gpu::*;
use heapwright::{HeapType, PoolDesc, ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags};

/// Counts the bytes that each thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // Does nothing while the thread ends.
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(sign * bytes)));
}

// SAFETY: every call is forwarded to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns what `make` made, which stays alive, and the bytes that this thread holds for it.
fn held<T>(make: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get();
    let made = make();
    (made, HELD.get() - before)
}

#[test]
fn an_allocator_takes_memory_for_what_is_used() {
    let gpu = open("discrete");
    let none = || with_flags(&gpu, ResourceAllocatorFlags::empty());
    drop(none());
    let (allocator, alone) = held(none);
    assert!(alone < 32 * 1024, "{alone} bytes for an allocator");
    let (nested, bytes) = held(|| allocator.create_nested(ResourceAllocatorDesc::default()).expect("sound"));
    assert!(bytes < 32 * 1024, "{bytes} bytes for one that is nested");
    // Statistics and reports keep no memory.
    let ((), looking) = held(|| {
        assert_eq!(allocator.stats(), nested.stats());
        drop(allocator.report());
        assert_eq!(allocator.release_empty_heaps(), ResourceAllocator::release_empty_heaps(&nested));
    });
    assert!(looking < 1024, "{looking} bytes to look");
    // The table of a heap takes at least 22 KiB, that of a lane 20 KiB.
    let (first, used) = held(|| local(&allocator, 1000));
    assert!(used < 112 * 1024, "{used} bytes for the first kind of heap");
    let (second, more) = held(|| local(&allocator, 1000));
    assert!(more < 1024, "{more} bytes for another buffer");
    drop((first, second));
}

#[test]
fn everything_comes_back() {
    let gpu = open("discrete");
    let flags = ResourceAllocatorFlags::empty();
    let use_it = || {
        let allocator = with_flags(&gpu, flags);
        let pool = allocator.create_pool(PoolDesc::default()).expect("sound");
        let nested = allocator.create_nested(ResourceAllocatorDesc::default()).expect("sound");
        for heap_type in [HeapType::Default, HeapType::Upload, HeapType::Readback] {
            drop(buffer(&nested, &heap_type.into_place(), 1000));
            drop(buffer(&allocator, &heap_type.into_place(), 100_000));
        }
        drop(pool);
    };
    use_it();
    let ((), left) = held(use_it);
    assert!(left < 4096, "{left} bytes are left");
}
