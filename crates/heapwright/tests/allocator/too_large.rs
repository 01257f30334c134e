//! Requests larger than any memory are reported as out of memory.

use crate::gpu::*;

const PIB: u64 = 1 << 50;

/// Checks that a probe and a create refuse the request with the same error.
#[track_caller]
fn refused(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    desc: &D3D12_RESOURCE_DESC,
) -> Error {
    let resource = ResourceDesc::new(desc);
    let probed = allocator.probe(place, resource).expect_err("no memory holds it");
    let error = allocator.create(place, resource).expect_err("no memory holds it");
    assert_eq!(probed.hresult(), error.hresult(), "{probed} / {error}");
    assert!(allocator.create(place, resource).is_err());
    error
}

#[track_caller]
fn assert_out_of_memory(error: &Error) {
    assert!(error.is_out_of_memory() && !error.is_invalid_argument(), "{error}");
    assert_eq!(error.hresult(), E_OUTOFMEMORY, "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}

#[test]
fn a_buffer_that_no_memory_could_hold_is_out_of_memory() {
    for profile in HostProfile::all() {
        let gpu = fresh(profile);
        let adapter = profile.has_adapter.then_some(&gpu.adapter);
        for desc in [
            ResourceAllocatorDesc::default(),
            flagged(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT),
            flagged(ResourceAllocatorFlags::ALWAYS_COMMITTED),
            flagged(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY),
            with_algorithm(Slab),
            with_algorithm(BuddySystem),
            with_algorithm(Dedicated),
        ] {
            let allocator = ResourceAllocator::new(&gpu.device, adapter, desc).expect("sound");
            let pool = new_pool(&allocator, PoolDesc::default());
            let linear = new_pool(&allocator, PoolDesc { algorithm: Linear, ..Default::default() });
            for width in [
                (1 << 40) + 1,
                (1 << 44) - 1,
                PIB,
                PIB - 1,
                1 << 63,
                u64::MAX - 65_536,
                u64::MAX - 65_535,
                u64::MAX - 255,
                u64::MAX - 1,
                u64::MAX,
            ] {
                let buffer = buffer_of(width);
                for (flags, heap_type) in pairs(
                    [NONE, OWN, COMMITTED, PREFER_COMMITTED, NEVER_ALLOCATE_HEAP, WITHIN],
                    [HeapType::Default, HeapType::Upload, HeapType::Readback],
                ) {
                    assert_out_of_memory(&refused(&allocator, &place(heap_type, flags), &buffer));
                }
                for pool in [&pool, &linear] {
                    let place = ResourceAllocationDesc { pool: Some(pool), ..Default::default() };
                    assert_out_of_memory(&refused(&allocator, &place, &buffer));
                }
                let uses = BufferUses::CONSTANT_BUFFER;
                let place = ResourceAllocationDesc { uses, ..in_default() };
                assert_out_of_memory(&refused(&allocator, &place, &buffer));
                let aligned = D3D12_RESOURCE_DESC { Alignment: 65_536, ..buffer };
                assert_out_of_memory(&refused(&allocator, &in_default(), &aligned));
            }
            for padding in [1 << 44, PIB, 1 << 63, u64::MAX - 1024, u64::MAX] {
                let place = ResourceAllocationDesc {
                    extra_required_resource_padding: ByteSize::new(padding),
                    ..in_default()
                };
                let small = buffer_of(1000);
                assert_out_of_memory(&refused(&allocator, &place, &small));
            }
            assert_returns_everything(&allocator, &gpu);
        }
    }
}

#[test]
fn a_texture_that_no_memory_could_hold_is_out_of_memory() {
    let large = D3D12_RESOURCE_DESC {
        DepthOrArraySize: 2048,
        Format: DXGI_FORMAT_R32G32B32A32_FLOAT,
        ..texture(16_384, 16_384)
    };
    for (profile, flags) in
        pairs(HostProfile::all(), [NO_FLAGS, ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT])
    {
        let gpu = fresh(profile);
        let adapter = profile.has_adapter.then_some(&gpu.adapter);
        let allocator = ResourceAllocator::new(&gpu.device, adapter, flagged(flags)).expect("sound");
        for desc in [
            large,
            D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, ..large },
            D3D12_RESOURCE_DESC { MipLevels: 0, ..large },
            D3D12_RESOURCE_DESC {
                SampleDesc: DXGI_SAMPLE_DESC { Count: 8, Quality: 0 },
                Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
                ..large
            },
        ] {
            for flags in [NONE, OWN, COMMITTED] {
                let error = refused(&allocator, &place(HeapType::Default, flags), &desc);
                assert_out_of_memory(&error);
            }
        }
        assert_returns_everything(&allocator, &gpu);
    }
}
