//! Budgets of the simulated GPU, and of an adapter that reports rare values.

use std::sync::atomic::AtomicBool;

use heapwright_runtime::{HostProfile, Instance};

use super::super::faulty_adapter::FaultyAdapter;
use super::*;
use crate::residency::desc::GroupBudgets;

const LOCAL: SegmentGroup = SegmentGroup::Local;
const NON_LOCAL: SegmentGroup = SegmentGroup::NonLocal;

const fn mib(mib: u64) -> ByteSize {
    ByteSize::from_mib(mib)
}

fn open(profile: &str) -> Instance {
    Instance::open(HostProfile::find(profile).expect("the profile exists")).expect("the instance opens")
}

/// Uses the whole budget, so that numbers are round.
fn whole() -> ResidencyManagerDesc {
    ResidencyManagerDesc { max_pct_of_video_memory_to_budget: Some(1.0), ..Default::default() }
}

fn budgets(gpu: &Instance, desc: &ResidencyManagerDesc) -> Budgets {
    desc.check().expect("sound");
    let caps = DeviceCaps::query(&gpu.device).expect("answered");
    Budgets::new(Some(&gpu.adapter), unifies_memory(&caps, desc.flags), desc).expect("answered")
}

fn of_script(adapter: &FaultyAdapter, desc: &ResidencyManagerDesc) -> Result<Budgets, Error> {
    desc.check()?;
    Budgets::new(Some(&adapter.to_interface()), false, desc)
}

fn heap(gpu: &Instance, size: ByteSize) -> ID3D12Heap {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: size.get(),
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        ..Default::default()
    };
    let mut heap = None;
    // SAFETY: the device is live, the description outlives the call, and the result is of the interface asked for.
    unsafe { gpu.device.CreateHeap(&desc, &mut heap) }.expect("enough memory");
    heap.expect("S_OK implies a heap")
}

#[test]
fn a_refresh_reads_the_operating_systems_budget() {
    let gpu = open("discrete");
    let budgets = budgets(&gpu, &whole());
    let system = |group| VideoMemoryInfo::query(&gpu.adapter, group).expect("answered");
    for group in SegmentGroup::ALL {
        assert_eq!(budgets.budget(group), system(group).budget);
        assert_eq!(budgets.usage_sample(group), ByteSize::ZERO);
    }
    assert_eq!(budgets.refreshes(), 1);
    let _heap = heap(&gpu, mib(16));
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(500));
    gpu.set_budget(heapwright_runtime::SegmentGroup::NonLocal, mib(100));
    assert_eq!(budgets.usage_sample(LOCAL), ByteSize::ZERO, "no refresh since");
    budgets.refresh().expect("answered");
    assert_eq!((budgets.budget(LOCAL), budgets.budget(NON_LOCAL)), (mib(500), mib(100)));
    assert_eq!((budgets.usage_sample(LOCAL), budgets.usage_sample(NON_LOCAL)), (mib(16), mib(0)));
    assert_eq!(budgets.external(LOCAL, mib(10)), mib(6), "unmanaged memory counts, too");
    assert_eq!(budgets.refreshes(), 2);
}

#[test]
fn the_default_is_95_percent() {
    let gpu = open("discrete");
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(1000));
    let budget = budgets(&gpu, &ResidencyManagerDesc::default()).budget(LOCAL);
    assert!(budget <= mib(950) && budget > mib(949), "{budget}");
}

#[test]
fn reservations_are_set_and_restored() {
    let gpu = open("discrete");
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(1000));
    let system = || VideoMemoryInfo::query(&gpu.adapter, LOCAL).expect("answered").current_reservation;
    let budgets = budgets(&gpu, &whole());
    assert_eq!(budgets.set_reservation(LOCAL, mib(200)).expect("answered"), mib(200));
    assert_eq!((system(), budgets.reservation(LOCAL), budgets.budget(LOCAL)), (mib(200), mib(200), mib(800)));
    assert_eq!(
        budgets.budget(NON_LOCAL),
        VideoMemoryInfo::query(&gpu.adapter, NON_LOCAL).expect("answered").budget
    );
    // At most half of the budget.
    assert_eq!(budgets.set_reservation(LOCAL, mib(900)).expect("answered"), mib(500));
    assert_eq!((system(), budgets.budget(LOCAL)), (mib(500), mib(500)));
    // The reservation follows the budget down and up again.
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(400));
    budgets.refresh().expect("answered");
    assert_eq!((system(), budgets.reservation(LOCAL), budgets.budget(LOCAL)), (mib(200), mib(200), mib(200)));
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(4000));
    budgets.refresh().expect("answered");
    assert_eq!((system(), budgets.budget(LOCAL)), (mib(900), mib(3100)));
    let info = budgets.video_memory_info(LOCAL, mib(7));
    assert_eq!((info.budget, info.current_reservation), (mib(3100), mib(900)));
    assert_eq!((info.current_usage, info.available_for_reservation), (mib(7), mib(2000)));
    drop(budgets);
    assert_eq!(system(), ByteSize::ZERO);
}

#[test]
fn reservations_are_for_unmanaged_memory() {
    let gpu = open("discrete");
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(1000));
    let budgets = budgets(&gpu, &whole());
    budgets.set_reservation(LOCAL, mib(300)).expect("answered");
    let _of_others = heap(&gpu, mib(100));
    budgets.refresh().expect("answered");
    // In GPGMM 100 - 300 wraps, and everything is over budget.
    assert_eq!(budgets.video_memory_info(LOCAL, ByteSize::ZERO).current_usage, ByteSize::ZERO);
    let _of_others = heap(&gpu, mib(250));
    budgets.refresh().expect("answered");
    assert_eq!(budgets.external(LOCAL, ByteSize::ZERO), mib(50), "beyond the reservation");
}

/// The range is the limits of a `clamp`, which panics if they are in the wrong order.
#[test]
fn external_usage_is_a_range_while_other_threads_report_usage() {
    let gpu = open("discrete");
    let budgets = budgets(&gpu, &whole());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let usages = [mib(10), mib(90)].into_iter().cycle();
            for usage in usages.take_while(|_| !is_done.load(Ordering::Relaxed)) {
                budgets.groups[LOCAL.index()].os_usage.store(usage.get(), Ordering::Relaxed);
            }
        });
        // Many changes are seen, so the other thread runs meanwhile.
        let (mut change_count, mut last) = (0, mib(0));
        let wrong = loop {
            let found = budgets.external_within(LOCAL, mib(4)..=mib(5));
            change_count += u32::from(*found.start() != last);
            last = *found.start();
            if found.is_empty() || change_count == 1000 {
                break Some(found).filter(|found| found.is_empty());
            }
        };
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}

#[test]
fn max_budget_excludes_earlier_usage() {
    let gpu = open("discrete");
    let _before = heap(&gpu, mib(64));
    let desc = ResidencyManagerDesc { max_budget: mib(100), ..Default::default() };
    let budgets = budgets(&gpu, &desc);
    assert_eq!((budgets.budget(LOCAL), budgets.budget(NON_LOCAL)), (mib(164), mib(100)));
    let _after = heap(&gpu, mib(32));
    budgets.refresh().expect("answered");
    assert_eq!(budgets.budget(LOCAL), mib(164), "kept until dropped");
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(150));
    budgets.refresh().expect("answered");
    assert_eq!(budgets.budget(LOCAL), mib(150), "at most the operating system's budget");
}

#[test]
fn overrides_replace_the_operating_systems_budget() {
    let gpu = open("discrete");
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(1000));
    let with = |budget_override| {
        budgets(&gpu, &ResidencyManagerDesc { budget_override: Some(budget_override), ..whole() })
    };
    let fixed = GroupBudgets { local: mib(5), non_local: mib(6) };
    let of_fixed = with(fixed);
    assert_eq!((of_fixed.budget(LOCAL), of_fixed.budget(NON_LOCAL)), (mib(5), mib(6)));

    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(7));
    of_fixed.refresh().expect("answered");
    assert_eq!(of_fixed.budget(LOCAL), mib(5), "independent of the operating system's budget");
}

#[test]
fn a_report_is_unchanged_where_nothing_changed_that_matters() {
    let adapter = FaultyAdapter::new(mib(100), mib(100));
    let budgets = of_script(&adapter, &whole()).expect("answered");
    assert!(budgets.is_unchanged());
    assert_eq!(adapter.script().queries, 2, "no heap is resident, so only the first queries were made");
    assert_eq!(budgets.refreshes(), 1);
    budgets.set_has_heaps(LOCAL, true);
    assert!(budgets.is_unchanged());
    assert_eq!((adapter.script().queries, budgets.refreshes()), (3, 2));
    adapter.change(|script| script.info[1].Budget = mib(50).get());
    assert!(budgets.is_unchanged(), "no heap is resident there");
    budgets.set_has_heaps(NON_LOCAL, true);
    assert!(!budgets.is_unchanged());
    assert_eq!(budgets.budget(NON_LOCAL), mib(100), "a comparison applies nothing");
    budgets.refresh().expect("answered");
    assert_eq!(budgets.budget(NON_LOCAL), mib(50));
    assert!(budgets.is_unchanged());
    adapter.change(|script| script.info[0].CurrentUsage = 1);
    assert!(!budgets.is_unchanged());
    adapter.change(|script| script.info[0].CurrentUsage = 0);
    assert!(budgets.is_unchanged());
    adapter.change(|script| script.query = E_FAIL);
    assert!(!budgets.is_unchanged(), "what is not known may have changed");
    assert!(budgets.refresh().is_err());
    assert_eq!((budgets.budget(LOCAL), budgets.budget(NON_LOCAL)), (mib(100), mib(50)), "as before");
}

#[test]
fn one_of_many_threads_queries() {
    let adapter = FaultyAdapter::new(mib(100), mib(100));
    let seldom = ResidencyManagerDesc { refresh_interval: 32, ..whole() };
    let budgets = of_script(&adapter, &seldom).expect("answered");
    let told: usize = std::thread::scope(|scope| {
        let ask = || (0..1000).filter(|&submissions| budgets.refresh_due(submissions)).count();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    // Each thread has 31 intervals of its own; together they have no more than that either.
    assert!((1..=31).contains(&told), "{told}");
}

#[test]
fn a_segment_group_without_budget_and_usage_is_unbounded() {
    let adapter = FaultyAdapter::new(mib(100), ByteSize::ZERO);
    let budgets = of_script(&adapter, &whole()).expect("answered");
    assert_eq!((budgets.budget(LOCAL), budgets.budget(NON_LOCAL)), (mib(100), ByteSize::MAX));
    adapter.change(|script| script.info[1].CurrentUsage = 1);
    budgets.refresh().expect("answered");
    assert_eq!(budgets.budget(NON_LOCAL), ByteSize::ZERO, "external usage exhausts the budget");
}

#[test]
fn a_failed_reservation_changes_nothing() {
    let adapter = FaultyAdapter::new(mib(100), mib(50));
    let budgets = of_script(&adapter, &whole()).expect("answered");
    assert_eq!(budgets.set_reservation(LOCAL, mib(10)).expect("taken"), mib(10));
    adapter.change(|script| script.reserve = E_INVALIDARG);
    let error = budgets.set_reservation(LOCAL, mib(20)).expect_err("refused");
    assert!(error.to_string().starts_with("IDXGIAdapter3::SetVideoMemoryReservation failed"), "{error}");
    assert_eq!((budgets.reservation(LOCAL), budgets.budget(LOCAL)), (mib(10), mib(90)));
    assert_eq!(adapter.script().reserved, [mib(10).get(), 0]);
    // A refresh whose reservation cannot be set keeps the previous one.
    adapter.change(|script| script.info[0].AvailableForReservation = mib(4).get());
    budgets.refresh().expect("answered");
    assert_eq!(budgets.reservation(LOCAL), mib(10));
    adapter.change(|script| script.reserve = S_OK);
    budgets.refresh().expect("answered");
    assert_eq!((budgets.reservation(LOCAL), budgets.budget(LOCAL)), (mib(4), mib(96)));
    // An unchanged reservation is not set again.
    let before = adapter.script().reservations;
    budgets.refresh().expect("answered");
    assert_eq!(adapter.script().reservations, before);
}
