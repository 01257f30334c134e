//! Mapping of byte ranges and of textures.

use std::sync::Mutex;

use heapwright_intercept::{intercept, method};

use crate::gpu::*;

/// A call that a mapping made on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Map(u32, Option<(usize, usize)>),
    Unmap(u32, Option<(usize, usize)>),
}

/// # Safety
///
/// The pointer is null or points to a range.
unsafe fn range_of(range: *const D3D12_RANGE) -> Option<(usize, usize)> {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { range.as_ref() }.map(|range| (range.Begin, range.End))
}

/// Records how an allocation's resource is mapped from now on.
fn watch(allocation: &ResourceAllocation) -> &'static Mutex<Vec<Seen>> {
    let resource: ID3D12Resource2 =
        allocation.resource().cast().expect("simulated GPUs have the newest interface");
    let seen: &'static Mutex<Vec<Seen>> = Box::leak(Box::default());
    // SAFETY: this is the newest interface, nobody else uses a fresh resource, and the replacements pass on
    // what their callers promise.
    unsafe {
        intercept(&resource, seen, |methods| {
            let resource = methods.of::<ID3D12Resource>();
            resource.replace(method!(Map), |call, (subresource, range, data)| {
                call.data.lock().expect("no panic").push(Seen::Map(subresource, range_of(range)));
                (call.original.Map)(call.this, subresource, range, data)
            });
            resource.replace(method!(Unmap), |call, (subresource, range)| {
                call.data.lock().expect("no panic").push(Seen::Unmap(subresource, range_of(range)));
                (call.original.Unmap)(call.this, subresource, range);
            });
        });
    }
    seen
}

fn take(seen: &Mutex<Vec<Seen>>) -> Vec<Seen> {
    std::mem::take(&mut *seen.lock().expect("no panic"))
}

fn committed(heap_type: HeapType) -> ResourceAllocationDesc<'static> {
    place(heap_type, COMMITTED)
}

#[test]
fn the_device_hears_what_is_read_and_what_was_written() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let mut watched = buffer(&allocator, &committed(HeapType::Readback), 1000);
    let seen = watch(&watched);
    drop(watched.map().expect("mapped"));
    assert_eq!(take(seen), [Seen::Map(0, None), Seen::Unmap(0, Some((0, 0)))], "nothing was written");
    let mut mapping = watched.map().expect("mapped");
    mapping.write(100, &[1; 10]).expect("inside");
    mapping.write(500, &[]).expect("inside");
    mapping.write(20, &[2; 4]).expect("inside");
    mapping.write(999, &[3; 2]).expect_err("outside");
    drop(mapping);
    assert_eq!(take(seen), [Seen::Map(0, None), Seen::Unmap(0, Some((20, 110)))]);
    let mut mapping = watched.map_range(16..116).expect("mapped");
    let mut bytes = [0; 94];
    mapping.read(16, &mut bytes).expect("within the range");
    assert_eq!((&bytes[4..8], &bytes[84..94]), (&[2; 4][..], &[1; 10][..]));
    for (offset, len) in [(15, 1), (15, 94), (110, 7), (116, 1), (0, 1000), (u64::MAX, 1)] {
        refused(mapping.read(offset, &mut vec![0; len]), Error::is_invalid_argument);
    }
    mapping.read(999, &mut []).expect("nothing is read");
    mapping.write(0, &[9; 1000]).expect("all may be written");
    drop(mapping);
    assert_eq!(take(seen), [Seen::Map(0, Some((16, 116))), Seen::Unmap(0, Some((0, 1000)))]);
    // A range whose end is not behind its start is empty.
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is tested")]
    for empty in [0..0, 7..7, 1000..1000, 9..3, u64::MAX..0] {
        let mapping = watched.map_range(empty).expect("nothing is read");
        assert!(mapping.read(0, &mut [0]).is_err());
        drop(mapping);
        assert_eq!(take(seen), [Seen::Map(0, Some((0, 0))), Seen::Unmap(0, Some((0, 0)))]);
    }
    for beyond in [0..1001, 999..u64::MAX, 1000..1001] {
        invalid(watched.map_range(beyond), "read_range");
    }
    assert_eq!(take(seen), [], "the device is not asked what is wrong");
    assert_eq!(gpu.messages(), []);
}

#[test]
fn a_buffer_that_is_kept_mapped_is_mapped_once() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let mut watched = buffer(&allocator, &committed(HeapType::Readback), 1000);
    let seen = watch(&watched);
    for byte in [1, 2] {
        watched.keep_mapped().expect("mapped");
        watched.map().expect("mapped").write(999, &[byte]).expect("inside");
        watched.map().expect("mapped").write(999, &[0; 2]).expect_err("outside");
    }
    assert!(watched.map_range(0..10).expect("mapped").read(10, &mut [0]).is_err(), "not to be read");
    let mut byte = [0];
    watched.map().expect("mapped").read(999, &mut byte).expect("inside");
    assert_eq!((byte, take(seen)), ([2], vec![Seen::Map(0, None)]));
    drop(watched);
    assert_eq!(take(seen), [Seen::Unmap(0, None)], "all of it may have been written");

    let within = place(HeapType::Upload, WITHIN);
    let (mut first, mut second) = (buffer(&allocator, &within, 300), buffer(&allocator, &within, 300));
    first.keep_mapped().expect("mapped");
    first.map().expect("mapped").write(0, &[7; 300]).expect("inside");
    second.map().expect("mapped").write(0, &[8; 300]).expect("inside");
    let mut bytes = [0; 300];
    first.map().expect("mapped").read(0, &mut bytes).expect("inside");
    assert_eq!(bytes, [7; 300]);
    let mut unreachable = local(&allocator, 1000);
    refused(unreachable.keep_mapped(), Error::is_invalid_argument);
    assert!(unreachable.map().is_err());
    assert_eq!(gpu.messages(), []);
}

#[test]
fn a_range_of_a_part_begins_at_its_own_first_byte() {
    let (_gpu, allocator) = with_allocator(any_device());
    let within = place(HeapType::Upload, WITHIN);
    let _first = buffer(&allocator, &within, 300);
    let mut part = buffer(&allocator, &within, 300);
    part.map().expect("mapped").write(0, &[5; 300]).expect("inside");
    let mapping = part.map_range(10..20).expect("mapped");
    let mut bytes = [0; 10];
    mapping.read(10, &mut bytes).expect("within the range");
    assert_eq!(bytes, [5; 10]);
    assert!(mapping.read(9, &mut bytes).is_err() && mapping.read(11, &mut bytes).is_err());
    drop(mapping);
    refused(part.map_range(0..301), Error::is_invalid_argument);
}

/// Returns textures that the CPU can access, each by another kind of placement.
fn reachable(profile: &HostProfile) -> Vec<(Instance, ResourceAllocator, ResourceAllocation)> {
    let desc = D3D12_RESOURCE_DESC { MipLevels: 3, DepthOrArraySize: 2, ..texture(20, 12) };
    let mut made = Vec::new();
    let mut add = |flags, place: &dyn Fn(&ResourceAllocator) -> Option<ResourceAllocation>| {
        let gpu = fresh(profile);
        let adapter = profile.has_adapter.then_some(&gpu.adapter);
        let allocator_desc = flagged(flags);
        let (allocator, _manager) =
            ResourceAllocator::with_new_residency(&gpu.device, adapter, allocator_desc, Default::default())
                .expect("sound");
        if let Some(texture) = place(&allocator) {
            made.push((gpu, allocator, texture));
        }
    };
    let none = NO_FLAGS;
    for flags in [NONE, COMMITTED] {
        add(none, &|allocator| {
            allocator.create_resource(&place(HeapType::GpuUpload, flags), &desc, COMMON, None).ok()
        });
    }
    if profile.name == "cache-coherent-uma" {
        add(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY, &|allocator| {
            allocator.create_resource(&in_default(), &desc, COMMON, None).ok()
        });
    }
    add(none, &|allocator| {
        let pool = allocator.create_pool(PoolDesc {
            heap_type: HeapType::Upload,
            custom_heap: Some((D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0)),
            resources: ResourceKind::Textures,
            ..Default::default()
        });
        let pool = pool.ok()?;
        let place = in_pool(&pool);
        allocator.create_resource(&place, &desc, COMMON, None).ok()
    });
    made
}

#[test]
fn texels_are_copied_in_and_out_of_each_subresource() {
    let mut count = 0;
    for profile in HostProfile::all().iter().filter(|profile| profile.has_adapter) {
        for (gpu, allocator, mut texture) in reachable(profile) {
            count += 1;
            refused(texture.map(), Error::is_invalid_argument);
            // Two array slices, each of 20 x 12, 10 x 6 and 5 x 3 texels of 4 bytes.
            for (subresource, (width, height)) in (0..).zip([(20, 12), (10, 6), (5, 3)].repeat(2)) {
                let fill = |index: usize| u8::try_from((index * 7 + 1) % 251).expect("a byte");
                let bytes: Vec<u8> = (0..width * height * 4).map(fill).collect();
                let row = u32::try_from(width * 4).expect("small");
                let pitches = TexelPitches { row, slice: 0 };
                let mut mapping = texture.map_texture(subresource).expect("the CPU reaches it");
                mapping.write(None, &bytes, pitches).expect("all of it");
                let mut read = vec![0; bytes.len()];
                mapping.read(None, &mut read, pitches).expect("all of it");
                assert_eq!(read, bytes, "{} {subresource}", profile.name);
                // A box whose rows in memory are further apart.
                let at = D3D12_BOX { left: 1, top: 1, front: 0, right: 4, bottom: 3, back: 1 };
                let mut part = [0; 32 + 12];
                mapping.read(Some(&at), &mut part, TexelPitches { row: 32, slice: 0 }).expect("inside");
                let from = |x: usize, y: usize| (y * width + x) * 4;
                assert_eq!(part[..12], bytes[from(1, 1)..from(4, 1)]);
                assert_eq!(part[32..], bytes[from(1, 2)..from(4, 2)]);
                // Never reads or writes beyond the slice that the caller passed.
                let short = bytes.len() - 1;
                for error in [
                    mapping.write(None, &bytes[..short], pitches),
                    mapping.read(None, &mut vec![0; short], pitches),
                    mapping.read(Some(&at), &mut part[..43], TexelPitches { row: 32, slice: 0 }),
                    mapping.read(None, &mut part, TexelPitches { row: u32::MAX, slice: u32::MAX }),
                    mapping.write(None, &[], TexelPitches { row: 0, slice: 0 }),
                ] {
                    invalid(error, "bytes");
                }
                // Nor beyond the texels; an empty box copies nothing.
                let far = u32::MAX;
                for (right, bottom, back) in [(far, 3, 1), (4, far, 1), (4, 3, 2), (far, far, far)] {
                    let beyond = D3D12_BOX { right, bottom, back, ..at };
                    invalid(mapping.write(Some(&beyond), &bytes, pitches), "texels");
                }
                mapping.write(Some(&D3D12_BOX { right: 1, ..at }), &[], pitches).expect("nothing");
                mapping.read(Some(&D3D12_BOX { bottom: 0, ..at }), &mut [], pitches).expect("nothing");
            }
            for beyond in [6, 7, u32::MAX] {
                invalid(texture.map_texture(beyond), "subresource");
            }
            assert_eq!(gpu.messages(), [], "{}", profile.name);
            assert_returned(texture, &allocator, &gpu);
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn blocks_of_texels_are_counted_as_blocks() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let desc = D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_BC1_UNORM, MipLevels: 0, ..texture(16, 8) };
    let mut texture = create(&allocator, &in_gpu_upload(), &desc);
    // 4 x 2 blocks of 8 bytes, then 2 x 1, then one block for each further mip level.
    for (subresource, blocks, row) in [(0, 8, 32), (1, 2, 16), (2, 1, 8), (3, 1, 8), (4, 1, 8)] {
        let bytes = vec![9; blocks * 8];
        let pitches = TexelPitches { row, slice: 0 };
        let mut mapping = texture.map_texture(subresource).expect("the CPU reaches it");
        mapping.write(None, &bytes, pitches).expect("all of it");
        assert!(mapping.write(None, &bytes[1..], pitches).is_err());
        let mut read = vec![0; bytes.len()];
        mapping.read(None, &mut read, pitches).expect("all of it");
        assert_eq!(read, bytes);
    }
    let at = D3D12_BOX { left: 4, top: 4, front: 0, right: 12, bottom: 8, back: 1 };
    let mapping = texture.map_texture(0).expect("the CPU reaches it");
    let pitches = TexelPitches { row: 16, slice: 0 };
    mapping.read(Some(&at), &mut [0; 16], pitches).expect("two blocks");
    assert!(mapping.read(Some(&at), &mut [0; 15], pitches).is_err());
    assert_eq!(gpu.messages(), []);
}

#[test]
fn slices_of_a_volume_are_as_far_apart_as_is_said() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: 4,
        ..texture(8, 8)
    };
    let mut volume = create(&allocator, &in_gpu_upload(), &desc);
    let bytes: Vec<u8> = (0..4 * 300).map(|index| u8::try_from(index % 253).expect("a byte")).collect();
    let mut mapping = volume.map_texture(0).expect("the CPU reaches it");
    let pitches = TexelPitches { row: 32, slice: 300 };
    mapping.write(None, &bytes, pitches).expect("all of it");
    // The last slice needs only the bytes of its texels.
    let needed = 3 * 300 + 256;
    mapping.write(None, &bytes[..needed], pitches).expect("enough");
    assert!(mapping.write(None, &bytes[..needed - 1], pitches).is_err());
    let at = D3D12_BOX { left: 0, top: 0, front: 2, right: 8, bottom: 8, back: 3 };
    let mut slice = [0; 256];
    mapping.read(Some(&at), &mut slice, TexelPitches { row: 32, slice: 0 }).expect("one slice");
    assert_eq!(slice, bytes[600..856]);
}

#[test]
fn a_mapped_texture_is_resident_and_what_cannot_be_mapped_is_refused() {
    let gpu = open("discrete");
    let (allocator, manager) = managed(&gpu, ResourceAllocatorDesc::default(), Default::default());
    let mut reached = create(&allocator, &in_gpu_upload(), &texture(16, 16));
    manager.evict_at_least(LOCAL, gib(1));
    let status = |made: &ResourceAllocation| made.memory().expect("managed").info();
    assert_eq!(status(&reached).status, ResidencyHeapStatus::Evicted);
    drop(reached.map_texture(0).expect("paged in"));
    assert_eq!(status(&reached).status, ResidencyHeapStatus::Resident);
    assert!(!status(&reached).is_locked, "as often unlocked as locked");
    let mut far = create(&allocator, &in_default(), &texture(16, 16));
    let mut bytes = buffer(&allocator, &in_upload(), 100);
    for error in [far.map_texture(0).err(), bytes.map_texture(0).err(), far.map_range(0..1).err()] {
        assert!(error.expect("cannot be mapped").is_invalid_argument());
    }
    assert!(!status(&far).is_locked && !status(&bytes).is_locked);
}
