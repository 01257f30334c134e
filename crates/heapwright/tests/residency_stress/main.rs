//! Random submissions with real copies, over queues, threads, lists, budgets, locks and deletions.
//!
//! On the simulated GPU a copy from an evicted heap is a page fault, and the device is lost. The tests
//! check that every byte is right, that the device is alive at the end, that `MakeResident` and `Evict`
//! balance, and that usage exceeds the budget only where the working set does.
//!
//! `HEAPWRIGHT_STRESS_SUBMISSIONS` sets the number of submissions, 100,000 by default.

#[path = "../gpu/mod.rs"]
mod gpu;
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};

use heapwright_runtime::SegmentGroup::Local;

use self::gpu::*;
use self::worker::{ALWAYS_RESIDENT, LARGEST_SET, Shared, Worker};

const THREADS: usize = 4;

fn submissions() -> u64 {
    let asked = std::env::var("HEAPWRIGHT_STRESS_SUBMISSIONS").ok();
    asked.map_or(100_000, |number| number.parse().expect("a number"))
}

/// The number of submissions from which each test is certain to page in something. With fewer, bytes and
/// books are checked all the same.
const ENOUGH: u64 = 40_000;

/// The least budget in which nothing has to exceed it: one submission beside all that is always resident.
fn least_budget(threads: usize) -> ByteSize {
    let always = ALWAYS_RESIDENT.checked_mul(u64::try_from(threads).expect("few")).expect("small");
    LARGEST_SET.saturating_add(always)
}

fn check_end(gpu: &Instance, manager: &ResidencyManager) {
    manager.audit().expect("the books agree");
    // SAFETY: a live COM object.
    let reason = unsafe { gpu.device.GetDeviceRemovedReason() };
    assert!(reason.is_ok(), "{reason:?}: {:?}", gpu.messages().last());
    gpu.residency().check_balance().expect("evicted as often as made resident");
}

fn threads(profile: &str, desc: ResidencyManagerDesc, submissions: u64) {
    let gpu = OwnGpu::open(profile, DeviceOptions::default());
    let manager = ResidencyManager::new(&gpu.device, Some(&gpu.adapter), desc).expect("a sound description");
    let shared = Shared::new(&gpu, &manager);
    let least = least_budget(THREADS);
    let each = submissions / THREADS as u64;
    let is_done = AtomicBool::new(false);
    gpu.set_budget(Local, least);
    manager.trim();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|number| {
                let (gpu, manager, shared) = (&gpu, &manager, &shared);
                scope.spawn(move || {
                    let mut worker = Worker::new(gpu, manager, shared, number);
                    (0..each).for_each(|_| worker.step());
                    worker.finish();
                })
            })
            .collect();
        // The budget changes as if other programs came and went.
        let budgets = scope.spawn(|| {
            let mut random = fastrand::Rng::with_seed(7);
            while !is_done.load(Ordering::Relaxed) {
                let extra = random.u64(..least.get());
                gpu.set_budget(Local, least.saturating_add(ByteSize::new(extra)));
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let failed: Vec<_> = workers.into_iter().filter_map(|worker| worker.join().err()).collect();
        is_done.store(true, Ordering::Relaxed);
        budgets.join().expect("no panic");
        if let Some(panic) = failed.into_iter().next() {
            let why = panic.downcast_ref::<String>().map_or("a worker panicked", String::as_str);
            panic!("{why}; the device said {:?}", gpu.messages().last());
        }
    });
    let stats = manager.stats();
    assert_eq!(stats.submissions_over_budget, 0, "what is used at the same time fits: {stats:?}");
    let has_paged = stats.local.bytes_paged_in > ByteSize::ZERO;
    assert!(has_paged || crate::submissions() < ENOUGH, "there was something to page: {stats:?}");
    drop(shared);
    check_end(&gpu, &manager);
}

#[test]
fn threads_and_queues_with_every_byte_right() {
    let desc = ResidencyManagerDesc {
        flags: ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES,
        max_pct_of_video_memory_to_budget: Some(1.0),
        ..Default::default()
    };
    threads("discrete", desc, submissions());
}

#[test]
fn on_one_memory_and_without_notifications() {
    let desc = ResidencyManagerDesc {
        max_pct_of_video_memory_to_budget: Some(1.0),
        policy: PolicyKind::Lru,
        refresh_interval: 4,
        ..Default::default()
    };
    threads("uma", desc, submissions() / 10);
}

#[test]
fn where_the_device_does_not_enqueue() {
    let desc = ResidencyManagerDesc { max_pct_of_video_memory_to_budget: Some(1.0), ..Default::default() };
    threads("first-generation", desc, submissions() / 10);
}

#[test]
fn where_paging_takes_time() {
    let desc = ResidencyManagerDesc { max_pct_of_video_memory_to_budget: Some(1.0), ..Default::default() };
    threads("slow-paging", desc, submissions() / 200);
}

/// With one thread, usage can be compared with the budget after each submission.
#[test]
fn usage_is_over_the_budget_only_where_the_working_set_is() {
    let gpu = OwnGpu::open("discrete", DeviceOptions::default());
    let desc = ResidencyManagerDesc {
        max_pct_of_video_memory_to_budget: Some(1.0),
        refresh_interval: 1,
        ..Default::default()
    };
    let manager = ResidencyManager::new(&gpu.device, Some(&gpu.adapter), desc).expect("a sound description");
    let shared = Shared::new(&gpu, &manager);
    let mut worker = Worker::new(&gpu, &manager, &shared, 0);
    let mut random = fastrand::Rng::with_seed(11);
    let largest = LARGEST_SET.checked_mul(2).expect("small");
    let mut over = 0;
    for _ in 0..submissions() / 20 {
        if random.u64(..50) == 0 {
            gpu.set_budget(Local, ByteSize::new(random.u64(..largest.get())));
            manager.trim();
        }
        worker.step();
        let info = VideoMemoryInfo::query(&gpu.adapter, SegmentGroup::Local).expect("answered");
        let bound = worker.used_at_the_same_time().max(info.budget);
        assert!(info.current_usage <= bound, "{info:?} with {:?}", worker.used_at_the_same_time());
        over += u64::from(info.current_usage > info.budget);
    }
    assert!(over > 0 || submissions() < ENOUGH, "some budgets are below what a submission uses");
    worker.finish();
    drop(shared);
    check_end(&gpu, &manager);
}
