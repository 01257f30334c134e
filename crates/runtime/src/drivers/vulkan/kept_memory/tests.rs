use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Counts its bytes while it exists.
struct Piece(u64, Arc<AtomicU64>);

impl Piece {
    fn new(size: u64, live: &Arc<AtomicU64>) -> Self {
        live.fetch_add(size, Ordering::SeqCst);
        Self(size, Arc::clone(live))
    }
}

impl Kept for Piece {
    fn size(&self) -> u64 {
        self.0
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.1.fetch_sub(self.0, Ordering::SeqCst);
    }
}

fn wait_until_freed(live: &AtomicU64) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while live.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(live.load(Ordering::SeqCst), 0, "freed");
}

/// What is given back serves the next request of its size, up to a limit.
#[test]
fn memory_is_reused() {
    let (memory, live) = (KeptMemory::new(100, Duration::from_secs(3600)), Arc::new(AtomicU64::new(0)));
    assert!(memory.take(40).is_none());
    memory.give_back(Piece::new(40, &live));
    memory.give_back(Piece::new(60, &live));
    assert_eq!((memory.bytes(), live.load(Ordering::SeqCst)), (100, 100));
    memory.give_back(Piece::new(1, &live));
    assert_eq!((memory.bytes(), live.load(Ordering::SeqCst)), (100, 100), "the limit");
    let taken = memory.take(60).expect("kept");
    assert_eq!((taken.0, memory.bytes()), (60, 40));
    assert!(memory.take(60).is_none(), "there was one");
}

#[test]
fn memory_that_nothing_needs_is_freed_after_a_while() {
    let (memory, live) = (KeptMemory::new(100, Duration::from_millis(20)), Arc::new(AtomicU64::new(0)));
    memory.give_back(Piece::new(40, &live));
    wait_until_freed(&live);
    assert_eq!(memory.bytes(), 0);
    // The thread has ended or goes on, and the next pieces are served in both cases.
    memory.give_back(Piece::new(7, &live));
    wait_until_freed(&live);
}

#[test]
fn all_is_freed_at_once_on_demand() {
    let (memory, live) = (KeptMemory::new(100, Duration::from_secs(3600)), Arc::new(AtomicU64::new(0)));
    memory.free();
    memory.give_back(Piece::new(40, &live));
    memory.give_back(Piece::new(40, &live));
    memory.free();
    assert_eq!((memory.bytes(), live.load(Ordering::SeqCst)), (0, 0));
    memory.give_back(Piece::new(100, &live));
    drop(memory.take(100).expect("kept"));
}
