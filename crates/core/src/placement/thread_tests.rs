//! Threads that allocate and free in one set, also while a run empties its heaps.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::model_tests::{default_set, descs};
use super::tests::driven_set::Heap;
use super::*;
use crate::{Alignment, ByteSize};

/// A set, and what its threads share.
struct Scene {
    set: SharedHeapSet<Heap>,
    made: AtomicU32,
    /// The existing heaps, with their sizes.
    heaps: Mutex<BTreeMap<u32, ByteSize>>,
    /// The live allocations, which any thread may free. A thread removes an entry before it frees the allocation.
    live: Mutex<Vec<Placed<Heap>>>,
    placed: AtomicU32,
    moved: AtomicU32,
}

impl Scene {
    fn make(&self, size: ByteSize) -> Heap {
        let name = self.made.fetch_add(1, Ordering::Relaxed);
        self.heaps.lock().unwrap().insert(name, size);
        (name, size)
    }

    fn destroy(&self, heaps: impl IntoIterator<Item = Heap>) {
        for (name, size) in heaps {
            assert_eq!(self.heaps.lock().unwrap().remove(&name), Some(size), "released twice");
        }
    }

    fn allocate(&self, request: &PlacementRequest) -> Result<Placed<Heap>, PlacementError> {
        if let Some(placed) = self.set.allocate(request)? {
            return Ok(placed);
        }
        let size = self.set.new_heap_size(request)?;
        self.destroy(self.set.make_way(size));
        self.set.allocate_in_new(size, self.make(size), request)
    }

    fn free(&self, placed: &Placed<Heap>) {
        assert!(self.heaps.lock().unwrap().contains_key(&placed.heap.0), "released while in use");
        self.destroy(self.set.free(placed.id).unwrap());
    }

    fn assert_apart(&self) {
        let live = self.live.lock().unwrap();
        let mut sorted: Vec<_> =
            live.iter().map(|placed| (placed.heap.0, placed.range.start(), placed.range)).collect();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            assert!(pair[0].0 != pair[1].0 || !pair[0].2.overlaps(pair[1].2), "{pair:?}");
        }
    }

    /// Allocates and frees at random, with up to `most` live allocations, while `goes_on` returns true for the round.
    fn work(&self, seed: u64, most: usize, goes_on: impl Fn(u32) -> bool) {
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in (0..).take_while(|&round| goes_on(round)) {
            // Occasionally most are freed.
            let count = if random.u16(..1000) == 0 { most / 3 } else { 1 };
            if random.bool() || self.live.lock().unwrap().len() >= most {
                for _ in 0..count {
                    let victim = {
                        let mut live = self.live.lock().unwrap();
                        let at = (!live.is_empty()).then(|| random.usize(..live.len()));
                        at.map(|at| live.swap_remove(at))
                    };
                    victim.iter().for_each(|placed| self.free(placed));
                }
                continue;
            }
            match random.u8(..) {
                0 => {
                    self.destroy(self.set.take_empty(ByteSize::from_mib(1)).into_iter().map(|(_, heap)| heap))
                }
                1 => drop(self.set.reopen_closed()),
                2 => self.assert_apart(),
                _ => {}
            }
            let largest = random.choice([200, 5000, 64 << 10, 300_000]).unwrap();
            let alignment = Alignment::from_log2(random.u32(..9)).unwrap();
            match self.allocate(&PlacementRequest::new(ByteSize::new(random.u64(1..=largest)), alignment)) {
                Ok(placed) => {
                    self.placed.fetch_add(1, Ordering::Relaxed);
                    self.live.lock().unwrap().push(placed);
                }
                Err(PlacementError::OneHeapFull { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Runs an evacuation for up to 200 steps.
    fn evacuate(&self) {
        let mut run = Evacuation::new(&self.set);
        for count in 0..200_u32 {
            let budget = EvacuationBudget { moves: 1 + count % 17, ..EvacuationBudget::default() };
            let step = run.step(budget, &mut || true);
            self.destroy(step.release);
            for (at, planned) in (count..).zip(&step.moves) {
                // The table of places is updated before the source is freed. Another thread may have removed the entry
                // to free the allocation, or not have added it yet.
                let mut live = self.live.lock().unwrap();
                let source = live.iter_mut().find(|placed| placed.id == planned.source);
                let is_kept =
                    source.filter(|_| at % 97 != 96).map(|placed| *placed = planned.target).is_some();
                drop(live);
                if is_kept {
                    let completed = run.complete(planned);
                    assert!(completed.is_moved, "no other owner of this id");
                    self.destroy(completed.release);
                    self.moved.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.destroy(run.abandon(planned));
                }
            }
            if let Some(size) = step.create {
                run.supply(size, (count % 5 > 0).then(|| self.make(size))).unwrap();
            }
        }
    }
}

/// Threads allocate and free, also what others allocated; one more evacuates until they end, if it is to.
fn share(desc: &HeapSetDesc, most: usize, evacuates: bool) {
    let rounds = if cfg!(miri) { 20 } else { 4000 };
    let scene = Scene {
        set: SharedHeapSet::new(desc),
        made: AtomicU32::new(0),
        heaps: Mutex::default(),
        live: Mutex::default(),
        placed: AtomicU32::new(0),
        moved: AtomicU32::new(0),
    };
    // On a busy machine, the evacuations may come late.
    let is_due = || evacuates && !cfg!(miri) && scene.moved.load(Ordering::Relaxed) == 0;
    std::thread::scope(|threads| {
        let (scene, is_due) = (&scene, &is_due);
        let goes_on = move |round| round < rounds || is_due() && round < 100 * rounds;
        let work = |seed| threads.spawn(move || scene.work(seed, most, goes_on));
        let workers: Vec<_> = (1..=4).map(work).collect();
        while evacuates && !workers.iter().all(|worker| worker.is_finished()) {
            scene.evacuate();
        }
    });
    assert!(scene.placed.load(Ordering::Relaxed) > 10 && !is_due(), "nothing was placed or moved");
    scene.set.audit().unwrap();
    scene.assert_apart();
    let live = std::mem::take(&mut *scene.live.lock().unwrap());
    assert_eq!(scene.set.totals().allocation_count, live.len() as u64);
    live.iter().for_each(|placed| scene.free(placed));
    scene.destroy(scene.set.take_empty(ByteSize::MAX).into_iter().map(|(_, heap)| heap));
    assert!(scene.heaps.lock().unwrap().is_empty());
    assert_eq!(scene.set.totals(), HeapSetTotals::default(), "{desc:?}");
    scene.set.audit().unwrap();
}

/// Slabs are in lanes with locks of their own; `cargo xtask miri --short` runs this test.
#[test]
fn threads_share_slabs() {
    share(&descs()[0], 160, false);
}

#[test]
fn threads_share_a_set() {
    descs()[1..].iter().for_each(|desc| share(desc, 160, false));
}

#[test]
fn threads_allocate_and_free_during_a_run() {
    share(&default_set(ByteSize::from_kib(64), ByteSize::from_kib(16), 2, 64), 1500, true);
}
