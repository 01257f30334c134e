use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

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

/// A piece that says when it is being freed, and waits until it may be.
struct SlowPiece(mpsc::Sender<()>, mpsc::Receiver<()>, Arc<AtomicBool>);

impl Kept for SlowPiece {
    fn size(&self) -> u64 {
        1
    }
}

impl Drop for SlowPiece {
    fn drop(&mut self) {
        self.0.send(()).expect("the test waits");
        self.1.recv().expect("the test goes on");
        self.2.store(true, Ordering::SeqCst);
    }
}

/// Who needs the memory that another thread is freeing, waits for that.
#[test]
fn freeing_waits_for_pieces_that_others_free() {
    // Swept, and too much to be kept.
    for most in [1, 0] {
        let memory = KeptMemory::new(most, Duration::from_millis(1));
        let ((began, begins), (go_on, waits)) = (mpsc::channel(), mpsc::channel());
        let is_free = Arc::new(AtomicBool::new(false));
        let piece = SlowPiece(began, waits, Arc::clone(&is_free));
        std::thread::scope(|scope| {
            let own = &memory;
            scope.spawn(move || own.give_back(piece));
            begins.recv().expect("it is freed");
            let needs = scope.spawn(|| {
                memory.free();
                is_free.load(Ordering::SeqCst)
            });
            // Time for the thread to get to its wait, or not to wait.
            std::thread::sleep(Duration::from_millis(20));
            go_on.send(()).expect("it waits");
            assert!(needs.join().expect("no panics"), "freed before the memory is asked for again");
        });
    }
}
