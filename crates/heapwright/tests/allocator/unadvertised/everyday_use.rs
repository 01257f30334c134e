//! Every use of an allocator, once: all placements, pools, parts, imports, deferred frees, moves,
//! statistics.

use crate::gpu::*;

/// Uses allocators of many kinds on a device, and returns the number of allocations made.
pub(crate) fn use_everything(device: &ID3D12Device, adapter: Option<&IDXGIAdapter3>) -> usize {
    let mut made = 0;
    for flags in [
        NO_FLAGS,
        ResourceAllocatorFlags::CREATE_NOT_ZEROED | ResourceAllocatorFlags::CREATE_NOT_RESIDENT,
        ResourceAllocatorFlags::ALLOW_PREFETCH | ResourceAllocatorFlags::NEVER_LEAK,
        ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY | ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
        ResourceAllocatorFlags::ALWAYS_COMMITTED,
    ] {
        let desc = flagged(flags);
        made += use_allocator(device, &ResourceAllocator::new(device, adapter, desc).expect("sound"));
    }
    for suballocation_algorithm in [Slab, BuddySystem, Dedicated] {
        let desc = with_algorithm(suballocation_algorithm);
        let allocator = ResourceAllocator::new(device, adapter, desc).expect("sound");
        made += use_allocator(device, &nested_in(&allocator, Default::default()));
        made += use_allocator(device, &allocator);
    }
    made
}

fn use_allocator(device: &ID3D12Device, allocator: &ResourceAllocator) -> usize {
    let mut held = buffers(allocator);
    held.extend(textures(allocator));
    held.extend(pools(allocator));
    held.push(import(device, allocator));
    let totals = allocator.report().totals;
    assert_eq!(totals.allocation_count + totals.committed.count + totals.imported.count, held.len() as u64);
    allocator.audit().expect("consistent");
    let mut made = held.len();
    free_later(device, allocator, &mut held);
    drop(held);
    made += move_some(allocator);
    allocator.audit().expect("consistent");
    allocator.release_empty_heaps();
    let stats = allocator.stats();
    assert_eq!((stats.used, stats.reserved, stats.allocation_count), (ByteSize::ZERO, ByteSize::ZERO, 0));
    made
}

/// Returns the heap types that the device has.
fn heap_types(allocator: &ResourceAllocator) -> impl Iterator<Item = HeapType> {
    let of = |heap_type| {
        let desc = ResourceDesc::new(&buffer_of(1));
        allocator.probe(&ResourceAllocationDesc::new(heap_type), desc).is_ok()
    };
    let found = HeapType::ALL.map(|heap_type| (heap_type, of(heap_type)));
    found.into_iter().filter_map(|(heap_type, has)| has.then_some(heap_type))
}

fn buffers(allocator: &ResourceAllocator) -> Vec<ResourceAllocation> {
    let is_resident = !allocator.desc().flags.contains(ResourceAllocatorFlags::CREATE_NOT_RESIDENT);
    let mut held = Vec::new();
    for heap_type in heap_types(allocator) {
        for flags in [
            NONE,
            WITHIN,
            OWN,
            COMMITTED,
            PREFER_COMMITTED,
            NEVER_RESIDENT,
            NEVER_FALLBACK,
            ALWAYS_PREFETCH_HEAP,
        ] {
            for size in [1, 100, 5000, 70 * KIB, 3 * MIB] {
                let mut made = buffer(allocator, &place(heap_type, flags), size);
                if made.heap_type().is_cpu_accessible() && is_resident {
                    let byte = held.len().to_le_bytes()[0];
                    made.map().expect("mappable").write(size - 1, &[byte]).expect("inside");
                    let mut read = [!byte];
                    made.map().expect("mappable").read(size - 1, &mut read).expect("inside");
                    assert_eq!(read, [byte]);
                }
                held.push(made);
            }
        }
        for uses in [BufferUses::CONSTANT_BUFFER, BufferUses::VERTEX_BUFFER | BufferUses::INDEX_BUFFER] {
            held.push(buffer(allocator, &ResourceAllocationDesc { uses, ..place(heap_type, NONE) }, 600));
        }
    }
    let preferred = ResourceAllocationDesc {
        heap_type: Some(HeapTypePreference::GPU_UPLOAD_OR_UPLOAD),
        ..Default::default()
    };
    held.push(buffer(allocator, &preferred, 1000));
    for (extra_required_heap_flags, flags) in
        pairs([D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED], [NONE, COMMITTED])
    {
        let place = ResourceAllocationDesc { extra_required_heap_flags, ..place(HeapType::Default, flags) };
        held.push(buffer(allocator, &place, 1000));
    }
    let padding = ByteSize::new(4096);
    let padded = ResourceAllocationDesc { extra_required_resource_padding: padding, ..in_default() };
    if !allocator.desc().flags.contains(ResourceAllocatorFlags::ALWAYS_COMMITTED) {
        held.push(buffer(allocator, &padded, 1000));
    }
    let unordered = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let desc = D3D12_RESOURCE_DESC { Flags: unordered, ..buffer_of(1000) };
    held.push(create(allocator, &in_default(), &desc));
    let aligned = D3D12_RESOURCE_DESC { Alignment: 64 * KIB, ..buffer_of(1000) };
    held.push(create(allocator, &in_default(), &aligned));
    for made in &mut held {
        made.set_debug_name("a buffer").expect("named");
    }
    held
}

fn some_textures() -> [D3D12_RESOURCE_DESC; 8] {
    [
        texture(16, 16),
        texture(64, 64),
        texture(1024, 512),
        D3D12_RESOURCE_DESC { MipLevels: 0, Format: DXGI_FORMAT_BC1_UNORM, ..texture(512, 512) },
        target(64, 64, 1),
        target(64, 64, 4),
        target(512, 512, 4),
        depth_buffer(64, 64),
    ]
}

fn textures(allocator: &ResourceAllocator) -> Vec<ResourceAllocation> {
    let mut held = Vec::new();
    for (desc, flags) in pairs(some_textures(), [NONE, OWN, COMMITTED]) {
        held.push(create(allocator, &place(HeapType::Default, flags), &desc));
    }
    held
}

fn pools(allocator: &ResourceAllocator) -> Vec<ResourceAllocation> {
    let mut held = Vec::new();
    let pools = [
        (PoolDesc::default(), buffer_of(1000)),
        (
            PoolDesc {
                extra_heap_flags: D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
                residency_priority: Some(D3D12_RESIDENCY_PRIORITY_HIGH),
                min_heap_count: 1,
                ..pool_of(mib(1))
            },
            buffer_of(5000),
        ),
        (PoolDesc { resources: ResourceKind::Textures, ..Default::default() }, texture(256, 256)),
        (
            PoolDesc { resources: ResourceKind::RenderTargets, multisampled: true, ..Default::default() },
            target(256, 256, 4),
        ),
        (PoolDesc { algorithm: Linear, ..pool_of(mib(1)) }, buffer_of(5000)),
    ];
    for (desc, resource) in pools {
        held.push(create(allocator, &in_pool(&new_pool(allocator, desc)), &resource));
    }
    held
}

fn import(device: &ID3D12Device, allocator: &ResourceAllocator) -> ResourceAllocation {
    let theirs = committed_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 3000);
    // SAFETY: nobody maps it but this allocation.
    unsafe { allocator.import(&ResourceAllocationDesc::default(), &theirs) }.expect("it is this device's")
}

fn free_later(device: &ID3D12Device, allocator: &ResourceAllocator, held: &mut Vec<ResourceAllocation>) {
    let fence = fence_of(device);
    let count = held.len().min(20);
    for (made, value) in held.drain(..count).zip(1..) {
        allocator.free_after(made, &fence, FenceValue::new(value)).expect("its own");
    }
    assert_eq!(allocator.collect(), 0);
    signal(&fence, u64::MAX - 1);
    assert_eq!(allocator.collect(), count);
}

/// Moves allocations without copying, as contents are tested elsewhere. Returns the number of allocations.
fn move_some(allocator: &ResourceAllocator) -> usize {
    let descs = [buffer_of(40_000), texture(128, 128), target(128, 128, 1)];
    let mut held: Vec<_> = (0..240_u64)
        .map(|number| {
            let place = ResourceAllocationDesc { user_data: number, ..in_default() };
            let desc = &descs[usize::try_from(number % 3).expect("small")];
            Some(create(allocator, &place, desc))
        })
        .collect();
    held.iter_mut().enumerate().filter(|(number, _)| number % 7 != 0).for_each(|(_, made)| *made = None);
    let Ok(mut run) = allocator.defragment(DefragmentationDesc::default()) else { return held.len() };
    for _ in 0..100 {
        let step = run.step(without_time_limit());
        for mut planned in step.moves {
            let index = usize::try_from(planned.user_data()).expect("small");
            let made = held[index].as_mut().expect("it lives");
            planned.create_resource(made, InitialState::default(), None, &[]).expect("created");
            planned.complete(made).expect("it is the one");
        }
        if step.state == DefragmentationState::Finished {
            return held.len();
        }
    }
    panic!("defragmentation does not end");
}
