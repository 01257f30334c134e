//! External usage, from what an adapter reports while heaps come and go.

use std::sync::atomic::AtomicU64;

use heapwright_core::residency::policy::PolicyKind;
use heapwright_core::residency::{Plan, PlanOutcome, PlanRequest};
use heapwright_d3d12::*;
use heapwright_intercept::{intercept, method};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface;

use super::*;
use crate::residency::budget::ManagedGroups;
use crate::residency::desc::ResidencyManagerDesc;

const LOCAL: SegmentGroup = SegmentGroup::Local;
const MIB: u64 = 1 << 20;

/// The report of an adapter, and what happens once, right after it was made.
struct Report {
    usage: AtomicU64,
    afterwards: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// Returns books, and the report that their adapter makes. The adapter may outlive the test.
fn books() -> (&'static Books, &'static Report) {
    let adapter = Instance::open(HostProfile::default_profile()).expect("a fresh instance").adapter;
    let report: &'static Report =
        Box::leak(Box::new(Report { usage: AtomicU64::new(0), afterwards: Mutex::default() }));
    let newest: IDXGIAdapter4 = adapter.cast().expect("the newest interface");
    // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh adapter. The callers give a
    // writable structure.
    unsafe {
        intercept(&newest, report, |methods| {
            let adapter = methods.of::<IDXGIAdapter3>();
            adapter.replace(method!(QueryVideoMemoryInfo), |call, (.., out)| {
                *out = DXGI_QUERY_VIDEO_MEMORY_INFO {
                    Budget: 100 * MIB,
                    CurrentUsage: call.data.usage.load(Ordering::Relaxed),
                    ..Default::default()
                };
                if let Some(afterwards) = call.data.afterwards.lock().expect("no panic").take() {
                    afterwards();
                }
                S_OK
            });
        });
    }
    let budgets = Budgets::new(Some(&adapter), ManagedGroups::Local, &ResidencyManagerDesc::default())
        .expect("answered");
    let planner = ResidencyPlanner::new(true, || PolicyKind::Lru.create());
    (Box::leak(Box::new(Books::new(budgets, planner))), report)
}

fn add(books: &Books, mib: u64, status: Status) -> ManagedHeapId {
    let size = ByteSize::from_mib(mib);
    let heap = NewManagedHeap { group: LOCAL, size, level: PriorityLevel::Normal, status };
    books.lock().planner.add(heap).expect("small")
}

fn usage(books: &Books) -> u64 {
    books.lock_updated().planner.usage(LOCAL).get() / MIB
}

#[test]
fn heaps_that_are_released_during_a_query_are_not_external() {
    for sets_reservation in [false, true] {
        let (books, report) = books();
        let heap = add(books, 4, Status::Resident);
        report.usage.store(4 * MIB, Ordering::Relaxed);
        let release = move || {
            let (_, group, bytes) = books.remove_heap(heap);
            books.release_pending(group, bytes);
        };
        *report.afterwards.lock().expect("no panic") = Some(Box::new(release));
        if sets_reservation {
            books.set_reservation(LOCAL, ByteSize::ZERO, FenceValue::ZERO).expect("answered");
        } else {
            books.refresh(FenceValue::ZERO);
        }
        assert_eq!(usage(books), 0, "sets_reservation: {sets_reservation}");
    }
}

#[test]
fn external_usage_does_not_lack_what_is_being_paged_in() {
    let (books, report) = books();
    let refresh = |mib: u64, paged| {
        report.usage.store(mib * MIB, Ordering::Relaxed);
        books.refresh(FenceValue::new(paged));
        usage(books)
    };
    assert_eq!(refresh(4, 0), 4, "all of it is external");
    let heap = add(books, 2, Status::Evicted);
    let mut plan = Plan::default();
    let request = PlanRequest { heaps: &[heap], list_ends: &[1], ..Default::default() };
    {
        let planner = &mut books.lock().planner;
        assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
        planner.paged_in(&plan, FenceValue::new(1));
    }
    books.lock().pages_in(plan.bytes_in, FenceValue::new(1), FenceValue::ZERO);
    // MakeResident may not have begun, so the report need not include the heap.
    assert_eq!(refresh(4, 0), 6);
    assert!(!books.is_report_applied(), "external usage may have gone down");
    assert_eq!(refresh(7, 0), 7, "at least 5 are external");
    assert_eq!(refresh(3, 0), 5, "at most 3 are external, and 2 are being paged in");
    assert_eq!(refresh(3, 1), 3, "the heap is included: 1 is external");
    assert!(books.is_report_applied());
}

#[test]
fn what_has_been_paged_in_is_forgotten_without_a_query() {
    let (books, _) = books();
    let mut state = books.lock();
    for value in 1..=100 {
        state.pages_in([ByteSize::ZERO; 2], FenceValue::new(value), FenceValue::new(value - 1));
    }
    assert_eq!(state.paging.len(), 1);
}
