//! A limit that is a share of the budget of each segment group.

use crate::gpu::*;

fn share(share_of_budget: f64) -> ResourceAllocatorDesc {
    with_limits(HeapLimits { share_of_budget: Some(share_of_budget), ..Default::default() })
}

/// Allocates pieces of 4 MiB until none is left, and returns them with the last error.
fn fill(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
) -> (Vec<ResourceAllocation>, Error) {
    let mut held = Vec::new();
    loop {
        match try_buffer(allocator, place, 4 * MIB) {
            Ok(made) => held.push(made),
            Err(error) => return (held, error),
        }
    }
}

#[test]
fn a_refusal_names_the_share_the_budget_and_what_is_held() {
    let gpu = with_budget(mib(64));
    let allocator = allocator(&gpu, share(0.5));
    let (held, error) = fill(&allocator, &in_default());
    assert_eq!(held.len(), 8);
    assert_eq!(allocator.reserved(), mib(32));
    assert!(error.is_out_of_memory() && error.is_over_budget(), "{error}");
    let says = "would exceed 0.5 of the local budget of 64.00 MiB (32.00 MiB reserved)";
    assert!(error.to_string().contains(says), "{error}");
    // The budget is said once.
    assert_eq!(error.to_string().matches("64.00 MiB").count(), 1, "{error}");
    let committed = try_buffer(&allocator, &place(HeapType::Default, COMMITTED), 64 * KIB);
    assert!(refused(committed, Error::is_over_budget).to_string().contains(says));
    refused(allocator.probe(&in_default(), buffer_desc(mib(4))), Error::is_over_budget);
    // System memory has a budget of its own.
    buffer(&allocator, &in_upload(), 64 * MIB);
    // It is the budget at that time.
    set_local_budget(&gpu, mib(128));
    let more = fill(&allocator, &in_default()).0;
    assert_eq!(allocator.reserved().get() - held_in(&allocator, HeapType::Upload).get(), 64 * MIB);
    set_local_budget(&gpu, mib(8));
    refused(try_buffer(&allocator, &in_default(), 4 * MIB), Error::is_over_budget);
    assert_returned((held, more), &allocator, &gpu);
}

#[test]
fn what_the_share_refuses_is_not_held_for_the_limit() {
    let gpu = with_budget(mib(64));
    let limits = HeapLimits { default: Some(mib(48)), share_of_budget: Some(0.5), ..Default::default() };
    let flags = ResourceAllocatorFlags::NEVER_OVER_ALLOCATE;
    let allocator = allocator(&gpu, ResourceAllocatorDesc { flags, ..with_limits(limits) });
    let place = in_default();
    refused(try_buffer(&allocator, &place, 40 * MIB), Error::is_over_budget);
    set_local_budget(&gpu, mib(128));
    buffer(&allocator, &place, 40 * MIB);
}

#[test]
fn the_heap_types_of_a_segment_group_share_it() {
    let gpu = open("uma");
    set_local_budget(&gpu, mib(64));
    let allocator = allocator(&gpu, share(0.75));
    let (uploads, _) = fill(&allocator, &in_upload());
    assert_eq!(uploads.len(), 12);
    refused(try_buffer(&allocator, &in_default(), 64 * KIB), Error::is_over_budget);
    // Empty heaps of another type make way.
    drop(uploads);
    assert!(!allocator.reserved().is_zero());
    assert_eq!(fill(&allocator, &in_default()).0.len(), 12);
}

#[test]
fn each_of_nested_allocators_has_a_share() {
    let gpu = with_budget(mib(64));
    let parent = allocator(&gpu, ResourceAllocatorDesc { empty_heap_policy: SegmentedPool, ..share(0.5) });
    let child = nested_in(&parent, share(0.25));
    let of_child = fill(&child, &in_default()).0;
    assert_eq!((of_child.len(), child.reserved()), (4, mib(16)));
    let of_parent = fill(&parent, &in_default()).0;
    assert_eq!(parent.reserved(), mib(32));
    drop(of_parent);
    // An empty heap of the parent would exceed the child's share.
    refused(try_buffer(&child, &in_default(), 4 * MIB), Error::is_over_budget);
    drop(of_child);
    assert_eq!(fill(&child, &in_default()).0.len(), 4);
}

#[test]
fn with_a_residency_manager_the_share_is_of_its_budget() {
    let gpu = open("discrete");
    let manager = ResidencyManagerDesc { max_budget: mib(64), ..Default::default() };
    let made = ResourceAllocator::with_new_residency(&gpu.device, Some(&gpu.adapter), share(0.5), manager);
    let (allocator, _manager) = made.expect("sound");
    let (held, error) = fill(&allocator, &in_default());
    assert_eq!(held.len(), 8, "{error}");
}

#[test]
fn a_share_is_a_number_above_0_and_up_to_1_of_a_known_budget() {
    let gpu = open("discrete");
    for part in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
        let made = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), share(part));
        invalid(made, "HeapLimits::share_of_budget");
    }
    let error = invalid(ResourceAllocator::new(&gpu.device, None, share(0.5)), "HeapLimits::share_of_budget");
    assert!(error.to_string().contains("requires an adapter or a residency manager"), "{error}");
    allocator(&gpu, share(1.0));
}
