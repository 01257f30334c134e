//! Budgets of the simulated GPU, and of an adapter that reports rare values.

pub(crate) mod faulty_adapter;

use std::sync::atomic::AtomicBool;

use heapwright_runtime::{HostProfile, Instance};

use self::faulty_adapter::FaultyAdapter;
use super::*;

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
    Budgets::new(Some(&gpu.adapter), ManagedGroups::of(&caps, desc.flags), desc).expect("answered")
}

fn of_script(adapter: &FaultyAdapter, desc: &ResidencyManagerDesc) -> Result<Budgets, Error> {
    desc.check()?;
    Budgets::new(Some(&adapter.to_interface()), ManagedGroups::Both, desc)
}

/// Returns the process's usage as of the last report, without a reservation.
fn usage(budgets: &Budgets, group: SegmentGroup) -> ByteSize {
    *budgets.external_within(group, ByteSize::ZERO..=ByteSize::ZERO).start()
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
        assert_eq!(usage(&budgets, group), ByteSize::ZERO);
    }
    assert_eq!(budgets.refreshes(), 1);
    let _heap = heap(&gpu, mib(16));
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(500));
    gpu.set_budget(heapwright_runtime::SegmentGroup::NonLocal, mib(100));
    assert_eq!(usage(&budgets, LOCAL), ByteSize::ZERO, "no refresh since");
    budgets.refresh().expect("answered");
    assert_eq!((budgets.budget(LOCAL), budgets.budget(NON_LOCAL)), (mib(500), mib(100)));
    assert_eq!((usage(&budgets, LOCAL), usage(&budgets, NON_LOCAL)), (mib(16), mib(0)));
    let info = budgets.video_memory_info(LOCAL, [mib(10), ByteSize::ZERO]);
    assert_eq!(info.current_usage, mib(16), "unmanaged memory counts, too");
    assert_eq!(budgets.refreshes(), 2);
}

#[test]
fn reservations_are_set_and_restored() {
    let gpu = open("discrete");
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, mib(1000));
    let info = |group| VideoMemoryInfo::query(&gpu.adapter, group).expect("answered");
    let system = || info(LOCAL).current_reservation;
    let budgets = budgets(&gpu, &whole());
    assert_eq!(budgets.set_reservation(LOCAL, mib(200)).expect("answered"), mib(200));
    assert_eq!((system(), budgets.reservation(LOCAL), budgets.budget(LOCAL)), (mib(200), mib(200), mib(800)));
    assert_eq!(budgets.budget(NON_LOCAL), info(NON_LOCAL).budget);
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
    let info = budgets.video_memory_info(LOCAL, [mib(7), ByteSize::ZERO]);
    assert_eq!((info.budget, info.current_reservation), (mib(3100), mib(900)));
    assert_eq!((info.current_usage, info.available_for_reservation), (mib(7), mib(2000)));
    drop(budgets);
    assert_eq!(system(), ByteSize::ZERO);
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
                budgets.groups[LOCAL.index()].usage.store(usage.get(), Ordering::Relaxed);
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
fn a_report_is_unchanged_where_nothing_changed_that_matters() {
    let adapter = FaultyAdapter::new(mib(100), mib(100));
    let budgets = of_script(&adapter, &whole()).expect("answered");
    assert!(budgets.is_unchanged([mib(0); 2]));
    assert_eq!(adapter.script().queries, 2, "no heap is resident, so only the first queries were made");
    assert_eq!(budgets.refreshes(), 1);
    assert!(budgets.is_unchanged([mib(1), mib(0)]));
    assert_eq!((adapter.script().queries, budgets.refreshes()), (3, 2));
    adapter.change(|script| script.info[1].Budget = mib(50).get());
    assert!(budgets.is_unchanged([mib(1), mib(0)]), "no heap is resident there");
    assert!(!budgets.is_unchanged([mib(1); 2]));
    assert_eq!(budgets.budget(NON_LOCAL), mib(100), "a comparison applies nothing");
    budgets.refresh().expect("answered");
    assert_eq!(budgets.budget(NON_LOCAL), mib(50));
    assert!(budgets.is_unchanged([mib(1); 2]));
    adapter.change(|script| script.info[0].CurrentUsage = 1);
    assert!(!budgets.is_unchanged([mib(1); 2]));
    adapter.change(|script| script.info[0].CurrentUsage = 0);
    assert!(budgets.is_unchanged([mib(1); 2]));
    adapter.change(|script| script.query = E_FAIL);
    assert!(!budgets.is_unchanged([mib(1); 2]), "what is not known may have changed");
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
    // It is counted, so a budget of zero is one from then on.
    adapter.change(|script| script.info[1].CurrentUsage = 0);
    budgets.refresh().expect("answered");
    assert_eq!(budgets.budget(NON_LOCAL), ByteSize::ZERO);
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

#[test]
fn a_reservation_above_usage_does_not_wrap() {
    let adapter = FaultyAdapter::new(mib(1000), mib(0));
    let budgets = of_script(&adapter, &whole()).expect("answered");
    // GPGMM computes usage - reservation, which wraps to a number far above every budget.
    for (usage, managed, reservation, external) in
        [(100, 0, 300, 0), (100, 200, 0, 0), (500, 200, 100, 200), (500, 0, 500, 0)]
    {
        adapter.change(|script| {
            script.info[0].CurrentUsage = mib(usage).get();
            script.info[0].AvailableForReservation = mib(500).get();
        });
        assert_eq!(budgets.set_reservation(LOCAL, mib(reservation)).expect("taken"), mib(reservation));
        let found = budgets.external_within(LOCAL, mib(managed)..=mib(managed));
        assert_eq!(found, mib(external)..=mib(external), "{usage} {managed} {reservation}");
    }
}

/// Effective budgets, as pure functions.
mod effective {
    use proptest::prelude::*;

    use super::super::*;

    const fn mib(mib: u64) -> ByteSize {
        ByteSize::from_mib(mib)
    }

    fn os(budget: ByteSize, current_usage: ByteSize) -> Option<VideoMemoryInfo> {
        Some(reserving(budget, current_usage, Fraction::new(0.5).of(budget)))
    }

    fn reserving(
        budget: ByteSize,
        current_usage: ByteSize,
        available_for_reservation: ByteSize,
    ) -> VideoMemoryInfo {
        let current_reservation = ByteSize::ZERO;
        VideoMemoryInfo { budget, current_usage, available_for_reservation, current_reservation }
    }

    #[test]
    fn budgets_equal_gpgmms() {
        let (limit, half) = (Limit::FractionOfOs(Fraction::new(0.95)), Fraction::new(0.5));
        let holds = effective_budget(os(mib(1000), mib(10)), limit, half, ByteSize::ZERO);
        // 0.95 as a double is slightly less, so a byte is lost.
        let most = mib(950);
        assert!(holds.budget <= most && most.saturating_sub(holds.budget) <= ByteSize::new(1), "{holds:?}");
        assert_eq!(holds.reservation, ByteSize::ZERO);

        let (usual, little) = (os(mib(1000), mib(10)), Some(reserving(mib(1000), mib(1), mib(100))));
        for (system, asked, expected, why) in [
            (usual, mib(200), (mib(400), mib(200)), "as asked"),
            (usual, mib(800), (mib(250), mib(500)), "capped"),
            (little, mib(800), (mib(450), mib(100)), "at most the reservation of the operating system"),
        ] {
            let holds = effective_budget(system, Limit::FractionOfOs(half), half, asked);
            assert_eq!((holds.budget, holds.reservation), expected, "{why}");
        }
    }

    #[test]
    fn max_budget_is_limited_by_the_operating_system() {
        let none = ByteSize::ZERO;
        for (system, limit, reserved, expected) in [
            (os(mib(1000), none), Limit::AtMost(mib(300)), none, (mib(300), none)),
            (os(mib(100), none), Limit::AtMost(mib(300)), none, (mib(100), none)),
            (os(mib(100), none), Limit::Exactly(mib(300)), none, (mib(300), none)),
            (None, Limit::AtMost(mib(300)), none, (mib(300), none)),
            // A percentage of the video memory without other bounds.
            (None, Limit::Exactly(mib(300)), mib(200), (mib(150), mib(150))),
        ] {
            let holds = effective_budget(system, limit, Fraction::new(0.5), reserved);
            assert_eq!((holds.budget, holds.reservation), expected, "{system:?} {limit:?}");
        }
    }

    #[test]
    fn a_budget_may_be_set() {
        let (half, none) = (Fraction::new(0.5), ByteSize::ZERO);
        let bytes = |bytes| ResidencyBudget::Bytes(mib(bytes));
        let share = ResidencyBudget::Share;
        for (system, limit, reserved, set, expected) in [
            (os(mib(1000), none), Limit::FractionOfOs(half), none, ResidencyBudget::AsDescribed, mib(500)),
            (os(mib(1000), none), Limit::FractionOfOs(half), none, bytes(700), mib(700)),
            (os(mib(1000), none), Limit::FractionOfOs(half), none, bytes(0), none),
            (os(mib(1000), none), Limit::FractionOfOs(half), none, bytes(1001), mib(1000)),
            (os(mib(1000), none), Limit::FractionOfOs(half), mib(200), bytes(700), mib(500)),
            (os(mib(1000), none), Limit::FractionOfOs(half), mib(200), bytes(100), none),
            (os(mib(1000), none), Limit::FractionOfOs(half), mib(200), share(0.5), mib(200)),
            (os(mib(1000), none), Limit::FractionOfOs(half), none, share(0.0), none),
            (os(mib(1000), none), Limit::AtMost(mib(300)), none, bytes(700), mib(700)),
            (os(mib(1000), none), Limit::AtMost(mib(300)), none, share(1.0), mib(300)),
            (os(mib(1000), none), Limit::Exactly(mib(300)), none, bytes(1001), mib(1001)),
            (os(mib(1000), none), Limit::Exactly(mib(300)), none, share(0.5), mib(150)),
            // A system without budgets.
            (None, Limit::FractionOfOs(half), none, share(0.5), ByteSize::MAX),
            (None, Limit::FractionOfOs(half), none, share(0.0), none),
            (None, Limit::FractionOfOs(half), none, bytes(700), mib(700)),
        ] {
            let described = effective_budget(system, limit, half, reserved);
            let found = described.set_to(set, system, limit);
            let found = (found.budget, found.reservation);
            assert_eq!(found, (expected, reserved), "{system:?} {limit:?} {set:?}");
        }
    }

    #[test]
    fn an_unknown_budget_is_unbounded() {
        let limit = Limit::FractionOfOs(Fraction::new(0.95));
        let holds = effective_budget(None, limit, Fraction::new(0.5), mib(5));
        assert_eq!((holds.budget, holds.reservation), (ByteSize::MAX, mib(5)));
    }

    proptest! {
        #[test]
        fn fractions_are_exact(bytes: u64, seed: u64, log2 in 0_u32..=60) {
            // Every such number is a double: 53 bits, and a small exponent.
            let denominator = 1_u64 << log2;
            let numerator = seed % (denominator.min(1 << 53) + 1);
            #[allow(clippy::cast_precision_loss, reason = "a power of two is exact in 53 bits")]
            let part = Fraction::new(numerator as f64 / denominator as f64);
            let exact = u128::from(bytes) * u128::from(numerator) / u128::from(denominator);
            prop_assert_eq!(u128::from(part.of(ByteSize::new(bytes)).get()), exact);
        }

        #[test]
        fn any_number_is_a_valid_fraction(bytes: u64, number: f64) {
            let part = Fraction::new(number).of(ByteSize::new(bytes));
            prop_assert!(part.get() <= bytes);
            if number >= 1.0 {
                prop_assert_eq!(part.get(), bytes);
            }
            if number <= 0.0 || number.is_nan() {
                prop_assert!(part.is_zero());
            }
        }

        #[test]
        fn effective_budgets_are_within_their_limits(
            budget: u64, usage: u64, available: u64, asked: u64, bound: u64, kind in 0_u8..3,
            part in 0.0_f64..=1.0, cap in 0.0_f64..=1.0,
        ) {
            let [budget, usage, available_for_reservation, asked, bound] =
                [budget, usage, available, asked, bound].map(ByteSize::new);
            let os = reserving(budget, usage, available_for_reservation);
            let limit = match kind {
                0 => Limit::FractionOfOs(Fraction::new(part)),
                1 => Limit::AtMost(bound),
                _ => Limit::Exactly(bound),
            };
            let holds = effective_budget(Some(os), limit, Fraction::new(cap), asked);
            prop_assert!(holds.reservation <= asked);
            prop_assert!(holds.reservation <= available_for_reservation);
            prop_assert!(holds.reservation <= Fraction::new(cap).of(budget));
            match limit {
                Limit::FractionOfOs(_) => {
                    let both = u128::from(holds.budget.get()) + u128::from(holds.reservation.get());
                    prop_assert!(both <= u128::from(budget.get()));
                }
                Limit::AtMost(_) => prop_assert!(holds.budget <= bound.min(budget)),
                Limit::Exactly(_) => prop_assert!(holds.budget <= bound),
            }
        }
    }
}
