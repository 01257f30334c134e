//! Counts the allocations of a thread, and the bytes that it holds.
#![allow(dead_code, reason = "each test that includes it uses a part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(allocations: u64, bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // Does nothing while the thread ends.
    let _ = COUNT.try_with(|count| count.set(count.get() + allocations));
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(sign * bytes)));
}

// SAFETY: every call is forwarded to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 1);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size(), -1);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size, 1);
        count(0, layout.size(), -1);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Returns the number of allocations that this thread makes in `act`.
pub(crate) fn allocations(act: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    act();
    COUNT.get() - before
}

/// Returns what `make` made, which stays alive, and the bytes that this thread holds for it.
pub(crate) fn held<T>(make: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get();
    let made = make();
    (made, HELD.get() - before)
}
