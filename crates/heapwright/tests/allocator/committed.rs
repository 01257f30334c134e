//! The allocator accounts a committed resource with the memory that the device charges for it, on every
//! simulated GPU and for every kind of resource.

use crate::faulty_device::{Call, Faults, faulty_first, inject_first};
use crate::gpu::*;

/// Returns a description of each kind of resource, small and large.
fn kinds() -> Vec<D3D12_RESOURCE_DESC> {
    let mut kinds: Vec<_> = [1, 1000, 4096, 65_536, 100_001].map(buffer_of).into();
    kinds.push(D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..buffer_of(300) });
    let samples = DXGI_SAMPLE_DESC { Count: 4, Quality: 0 };
    for side in [1, 16, 64, 200, 1024] {
        let plain = texture(u64::from(side), side);
        kinds.extend([
            plain,
            D3D12_RESOURCE_DESC { MipLevels: 0, ..plain },
            D3D12_RESOURCE_DESC { DepthOrArraySize: 3, ..plain },
            D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_R8_UNORM, ..plain },
            D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, Height: 1, ..plain },
            D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..plain },
            target(u64::from(side), side, 1),
            target(u64::from(side), side, 4),
            D3D12_RESOURCE_DESC { SampleDesc: samples, ..depth_buffer(u64::from(side), side) },
        ]);
        if side % 4 == 0 {
            kinds.push(D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_BC1_UNORM, ..plain });
        }
        if side <= 64 {
            kinds.push(D3D12_RESOURCE_DESC {
                Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
                DepthOrArraySize: 8,
                ..plain
            });
        }
    }
    // Small textures that request the small placement alignment.
    kinds.push(D3D12_RESOURCE_DESC { Alignment: 4096, ..texture(16, 16) });
    kinds.push(D3D12_RESOURCE_DESC { Alignment: 65_536, ..target(16, 16, 4) });
    kinds
}

/// Creates an allocator and, if `managed`, its residency manager. The adapter is passed only if the profile
/// has one.
fn open_allocator(
    gpu: &Instance,
    profile: &HostProfile,
    desc: ResourceAllocatorDesc,
    managed: bool,
) -> (ResourceAllocator, Option<ResidencyManager>) {
    let adapter = profile.has_adapter.then_some(&gpu.adapter);
    if managed && profile.has_adapter {
        let (allocator, manager) = self::managed(gpu, desc, Default::default());
        return (allocator, Some(manager));
    }
    (ResourceAllocator::new(&gpu.device, adapter, desc).expect("sound"), None)
}

#[test]
fn the_books_are_what_the_adapter_counts() {
    for profile in HostProfile::all() {
        let tight = [NO_FLAGS, ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT];
        for (managed, flags) in tight.into_iter().flat_map(|flags| [(false, flags), (true, flags)]) {
            let gpu = fresh(profile);
            let (allocator, manager) = open_allocator(&gpu, profile, flagged(flags), managed);
            let place = place(HeapType::Default, COMMITTED);
            for kind in kinds() {
                let name = format!("{kind:?} on {}, managed: {managed}, {flags:?}", profile.name);
                let resource = ResourceDesc::new(&kind);
                let probe = allocator.probe(&place, resource).expect(&name);
                let made = create(&allocator, &place, &kind);
                let stats = allocator.stats();
                assert_eq!(placement(&made), Placement::Committed, "{name}");
                assert_eq!((stats.reserved, stats.committed), (made.size(), made.size()), "{name}");
                assert_eq!(allocator.reserved(), made.size(), "{name}");
                assert_eq!((probe.size, probe.alignment), (made.size(), made.alignment()), "{name}");
                assert_eq!(probe.memory, PredictedMemory::NewHeap(made.size()), "{name}");
                assert_eq!(usage(&gpu), made.size(), "what the adapter counts: {name}");
                let least = if desc_of(&made).Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0 {
                    4 * KIB
                } else if kind.SampleDesc.Count > 1 {
                    4 * MIB
                } else {
                    64 * KIB
                };
                assert!(made.alignment().get() >= least, "{name}: {:?}", made.alignment());
                if let Some(manager) = &manager {
                    let managed = made.memory().expect("it is the manager's");
                    assert_eq!(managed.size(), made.size(), "{name}");
                    assert_eq!(manager.stats().current_heap_usage, made.size(), "{name}");
                }
                assert_returned(made, &allocator, &gpu);
            }
            assert!(gpu.messages().is_empty(), "{:?} on {}", gpu.messages(), profile.name);
        }
    }
}

#[test]
fn a_limit_lets_no_more_through_than_the_device_takes() {
    for (profile, (kind, limit)) in
        pairs(HostProfile::all(), [(texture(16, 16), 4 * MIB), (target(16, 16, 4), 64 * MIB)])
    {
        let gpu = fresh(profile);
        let limit = ByteSize::new(limit);
        let (allocator, _) = open_allocator(&gpu, profile, limited_to(limit), false);
        let place = place(HeapType::Default, COMMITTED);
        let mut held = Vec::new();
        let error = loop {
            match allocator.create(&place, ResourceDesc::new(&kind)) {
                Ok(made) => held.push(made),
                Err(error) => break error,
            }
        };
        assert!(error.is_over_budget(), "{error}");
        assert_eq!(usage(&gpu), allocator.reserved(), "{}", profile.name);
        assert_eq!(usage(&gpu), limit, "{}: the limit is used to the full", profile.name);
    }
}

/// PREFER_COMMITTED falls back to a placed resource whatever the device returns, not only when it is out of
/// memory.
#[test]
fn what_is_only_preferred_is_placed_where_it_cannot_be() {
    let gpu = open("old-ddi");
    for hresult in [E_OUTOFMEMORY, E_INVALIDARG, E_NOTIMPL, E_FAIL] {
        let faults = Faults::new(Some(Call::CreateCommittedResource), hresult);
        inject_first(&gpu.device, &faults);
        let allocator = allocator(&gpu, Default::default());
        faults.fail_all();
        for (more, expected) in
            [(NONE, Placement::SharedHeap), (OWN, Placement::OwnHeap), (NEVER_RESIDENT, Placement::OwnHeap)]
        {
            let place = place(HeapType::Default, PREFER_COMMITTED | more);
            let made = create(&allocator, &place, &texture(16, 16));
            assert_eq!(placement(&made), expected, "{hresult:?} {more:?}");
            assert_ne!(made.info().decision.reason, PlacementReason::OutOfMemory);
        }
        // An error in the resource's own description is returned without a second attempt.
        let state = InitialState::State(D3D12_RESOURCE_STATE_RENDER_TARGET);
        let resource = ResourceDesc { initial_state: state, ..ResourceDesc::new(&texture(16, 16)) };
        let prefer = place(HeapType::Default, PREFER_COMMITTED);
        refused(allocator.create(&prefer, resource), Error::is_invalid_argument);
        assert!(allocator.create(&place(HeapType::Default, COMMITTED), texture(16, 16)).is_err());
        assert_returns_everything(&allocator, &gpu);
    }
}

#[test]
fn what_the_device_said_of_a_preferred_one_is_the_error_where_nothing_else_has_memory() {
    let (gpu, faults) = faulty_first(Some(Call::CreateCommittedResource), E_NOTIMPL);
    let allocator = allocator(&gpu, Default::default());
    let pool = new_pool(&allocator, PoolDesc { max_heap_count: Some(1), ..pool_of(mib(1)) });
    let _full = buffer(&allocator, &in_pool(&pool), MIB);
    faults.fail_all();
    let prefer = ResourceAllocationDesc { flags: PREFER_COMMITTED, ..in_pool(&pool) };
    fails(try_buffer(&allocator, &prefer, MIB), "CreateCommittedResource failed with E_NOTIMPL");
}

/// The result of `GetResourceAllocationInfo` for a tightly aligned buffer applies to placed resources; a
/// committed one occupies whole pages.
#[test]
fn an_imported_committed_resource_takes_what_it_was_created_with() {
    for (profile, managed) in pairs(HostProfile::all(), [false, true]) {
        let gpu = fresh(profile);
        let (creator, _) = open_allocator(&gpu, profile, Default::default(), false);
        let (allocator, _manager) = open_allocator(&gpu, profile, Default::default(), managed);
        let commit = place(HeapType::Default, COMMITTED);
        for kind in kinds() {
            let made = create(&creator, &commit, &kind);
            // SAFETY: neither allocation of the resource is mapped.
            let imported = unsafe { allocator.import(&Default::default(), made.resource()) };
            let imported = imported.expect("a committed resource");
            let [taken, expected] = [&imported, &made].map(|one| (one.size(), one.alignment()));
            assert_eq!(taken, expected, "{kind:?} on {}", profile.name);
            assert_eq!(allocator.stats().imported, usage(&gpu), "{kind:?} on {}", profile.name);
            let managed = imported.memory().map(ResidencyHeap::size);
            assert!(managed.is_none_or(|size| size == made.size()), "{kind:?} on {}", profile.name);
        }
    }
}
