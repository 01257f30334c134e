//! Buffers: descriptions, placement, initial states and GPU addresses.

use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::*;

use crate::answer::{Verdict, each, ensure, require, require_address, require_eq, skipped};
use crate::check::{Check, Need, check, documented, validation};
use crate::com::device::{self, Home, upgrade};
use crate::com::memory;
use crate::context::{Context, state_of};
use crate::desc::*;

const DESC: &str = "Learn, D3D12_RESOURCE_DESC, buffers";
const PLACED: &str = "Learn, ID3D12Device::CreatePlacedResource";
const STATES: &str = "Learn, D3D12_HEAP_TYPE, states that each heap type requires";
const ADDRESS: &str = "Learn, ID3D12Resource::GetGPUVirtualAddress";
const VKD3D_PROTON: &str = "vkd3d-proton, test_create_committed_resource, as on Windows";
const HEAP_FLAGS: &str = "Learn, ID3D12Device::CreateCommittedResource, HeapFlags";
const SMALL_HEAP: &str = "vkd3d-proton, tests of placed resources, 1,024 bytes in 1,024";
const IN_THE_HEAP: &str = "Learn, ID3D12Device::CreatePlacedResource, the resource lies in the heap";
const INITIAL_LAYOUT: &str = "Learn, ID3D12Device10::CreateCommittedResource3, InitialLayout";
const CASTABLE: &str = "Learn, ID3D12Device10::CreateCommittedResource3, NumCastableFormats";
const WRITE_STATES: &str = "Learn, D3D12_RESOURCE_STATES, write states are exclusive";
const OBSERVED: &str = "observed on Windows, readback buffers of many programs";
const CLEAR_VALUE: &str = "Learn, ID3D12Device::CreateCommittedResource, pOptimizedClearValue";
const OFFSET: &str = "Learn, ID3D12Device::CreatePlacedResource, HeapOffset";
const BOUNDS: &str = "Learn, ID3D12Device::CreatePlacedResource, bounds";
const COMMITTED_CALLS: &str =
    "Learn, ID3D12Device8::CreateCommittedResource2 and ID3D12Device10::CreateCommittedResource3";
const PLACED_CALLS: &str =
    "Learn, ID3D12Device8::CreatePlacedResource1 and ID3D12Device10::CreatePlacedResource2";
const PARTS_OF_STATES: &str = "Agility SDK 606 release notes, initial states";
const FLAGS: &str = "Learn, D3D12_RESOURCE_FLAGS";
const LARGEST: &str = "Learn, D3D12_FEATURE_DATA_D3D12_OPTIONS, MaxGPUVirtualAddressBitsPerResource";

/// Who differs for buffers that the CPU accesses. The only source is a change of Microsoft's to onnxruntime.
const BELOW_4_GIB: &str = "Windows up to Agility SDK 1.614.1 at least, which refuses UPLOAD and READBACK buffers above 0xFFFF0000 bytes \
                           (onnxruntime, pull request 22680)";

pub(super) const CHECKS: &[Check] = &[
    check("buffer/width-0-refused", DESC, &[], |ctx| ctx.refuses(&[buffer(0)])),
    documented("buffer/cpu-accessible-above-4-gib", LARGEST, BELOW_4_GIB, &[], |ctx| {
        // Nothing is created: without a result pointer the call only validates, which is where Windows refuses.
        let width = 0xffff_0000 + 1;
        if ctx.caps().gpu_va_bits_per_resource <= 32 {
            return skipped("MaxGPUVirtualAddressBitsPerResource allows no larger buffer");
        }
        each([UPLOAD, READBACK], |heap_type| {
            let (home, state) = (properties(heap_type), state_of(heap_type));
            let found = device::check_committed(ctx.device(), Some(&home), Some(&buffer(width)), state);
            require(found.is_ok(), || {
                format!("heap type {heap_type}, {width:#x} bytes: expected S_FALSE, found {}", Named(found))
            })
        })
    }),
    check("buffer/width-beyond-all-memory-refused", DESC, &[], |ctx| {
        each([u64::MAX, 1 << 63, u64::MAX - 64 * KIB + 2], |width| {
            let what = format!("Width {width:#x}");
            ctx.commit(DEFAULT, &buffer(width)).refused_with(&[E_INVALIDARG, E_OUTOFMEMORY], &what)?;
            let found = ctx.allocation(&[buffer(width)]).size;
            require(found == u64::MAX, || {
                format!("GetResourceAllocationInfo, {what}: expected UINT64_MAX, found {found:#x}")
            })
        })
    }),
    check("buffer/height-refused", DESC, &[], |ctx| {
        ctx.refuses(&[0, 2, u32::MAX].map(|height| D3D12_RESOURCE_DESC { Height: height, ..buffer(256) }))
    }),
    check("buffer/depth-refused", DESC, &[], |ctx| {
        ctx.refuses(&[0, 2, u16::MAX].map(|depth| with_slices(buffer(256), depth)))
    }),
    check("buffer/mip-levels-refused", DESC, &[], |ctx| {
        ctx.refuses(&[0, 2, u16::MAX].map(|levels| with_mips(buffer(256), levels)))
    }),
    check("buffer/format-refused", DESC, &[], |ctx| {
        ctx.refuses(
            &[DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_R32_FLOAT, DXGI_FORMAT_R32_TYPELESS]
                .map(|format| with_format(buffer(256), format)),
        )
    }),
    check("buffer/sample-count-refused", DESC, &[], |ctx| {
        ctx.refuses(&[0, 2, 4].map(|count| with_samples(buffer(256), count, 0)))
    }),
    check("buffer/sample-quality-refused", DESC, &[], |ctx| ctx.refuses(&[with_samples(buffer(256), 1, 1)])),
    check("buffer/layout-refused", DESC, &[], |ctx| {
        ctx.refuses(
            &[
                D3D12_TEXTURE_LAYOUT_UNKNOWN,
                D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
                D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
                4,
            ]
            .map(|layout| with_layout(buffer(256), layout)),
        )
    }),
    check("buffer/dimension-refused", "Learn, D3D12_RESOURCE_DIMENSION", &[], |ctx| {
        each([D3D12_RESOURCE_DIMENSION_UNKNOWN, 5, -1], |dimension| {
            let desc = D3D12_RESOURCE_DESC { Dimension: dimension, ..buffer(256) };
            ctx.refuses(&[desc])
        })
    }),
    check("buffer/alignment-refused", DESC, &[], |ctx| {
        ctx.refuses(
            &[1, 256, 4 * KIB, 32 * KIB, 128 * KIB, 4 * MIB, u64::MAX]
                .map(|alignment| aligned(buffer(256), alignment)),
        )
    }),
    check("buffer/alignment-64-kib", DESC, &[], |ctx| {
        let desc = aligned(buffer(256), 64 * KIB);
        let resource = ctx.commit(DEFAULT, &desc).holds_bytes("Alignment 64 KiB")?;
        require_eq("Alignment", memory::desc(&resource).Alignment, 64 * KIB)
    }),
    check("buffer/render-target", "Learn, D3D12_BUFFER_RTV", &[], |ctx| {
        flag_taken(ctx, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, &[DEFAULT])
    }),
    check("buffer/depth-stencil-refused", FLAGS, &[], |ctx| {
        ctx.refuses(&[with_flags(buffer(256), D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL)])
    }),
    check("buffer/simultaneous-access-refused", FLAGS, &[], |ctx| {
        ctx.refuses(&[with_flags(buffer(256), D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS)])
    }),
    check("buffer/deny-shader-resource", OBSERVED, &[], |ctx| {
        flag_taken(ctx, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE, &HEAP_TYPES)
    }),
    check("buffer/gpu-written-in-upload-or-readback-refused", VKD3D_PROTON, &[], |ctx| {
        let flags = [D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS];
        for heap_type in [UPLOAD, READBACK] {
            let heap = ctx.create_heap(&buffer_heap(heap_type, 64 * KIB)).ok("64 KiB")?;
            for flag in flags {
                let desc = with_flags(buffer(256), flag);
                let what = format!("Flags {flag:#x} in {}", heap_type_name(heap_type));
                ctx.commit(heap_type, &desc).refused(&what)?;
                ctx.place(&heap, 0, &desc).refused(&what)?;
            }
        }
        Ok("E_INVALIDARG committed and placed".to_owned())
    }),
    check("buffer/undefined-flags-refused", FLAGS, &[], |ctx| {
        ctx.refuses(&[with_flags(buffer(256), 0x4000_0000), with_flags(buffer(256), 0x8000_0000)])
    }),
    check("buffer/unordered-access", FLAGS, &[], |ctx| {
        let desc = with_flags(buffer(256), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        let resource = ctx.commit(DEFAULT, &desc).holds_bytes("ALLOW_UNORDERED_ACCESS")?;
        require_eq("Flags", memory::desc(&resource).Flags, desc.Flags)
    }),
    check("buffer/desc-round-trip", "Learn, ID3D12Resource::GetDesc", &[], |ctx| {
        each([1, 255, 256, 1000, 65_537, 3 * MIB + 7], |width| {
            let resource = ctx.commit(DEFAULT, &buffer(width)).holds_bytes(format!("{width} bytes"))?;
            let found = memory::desc(&resource);
            // The effective alignment is filled in.
            let expected = aligned(buffer(width), found.Alignment);
            require_eq(format!("a buffer of {width} bytes"), found, expected)
        })
    }),
    check("buffer/desc-alignment-is-filled-in", "Learn, ID3D12Resource::GetDesc", &[], |ctx| {
        let resource = ctx.commit(DEFAULT, &buffer(100)).holds_bytes("100 bytes")?;
        require_eq("Alignment", memory::desc(&resource).Alignment, 64 * KIB)
    }),
    check("buffer/desc1-agrees", "Learn, ID3D12Resource2::GetDesc1", &[], |ctx| {
        let resource = ctx.commit(DEFAULT, &buffer(1000)).holds_bytes("1000 bytes")?;
        let newer: Result<ID3D12Resource2, _> = windows_core::Interface::cast(&resource);
        let Ok(newer) = newer else { return skipped("the resource has no ID3D12Resource2") };
        require_eq("GetDesc1", memory::desc1(&newer), upgrade(&memory::desc(&resource)))
    }),
    check("buffer/clear-value-refused", CLEAR_VALUE, &[], |ctx| {
        let clear = D3D12_CLEAR_VALUE {
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            Anonymous: D3D12_CLEAR_VALUE_0 { Color: [0.0; 4] },
        };
        let committed = Home::of(DEFAULT);
        ctx.create_resource(committed, &buffer(256), COMMON, Some(&clear))
            .refused("a clear value, committed")?;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        ctx.create_resource(Home::Placed(&heap, 0), &buffer(256), COMMON, Some(&clear))
            .refused("a clear value, placed")
    }),
    check("buffer/committed-with-deny-flags-refused", HEAP_FLAGS, &[], |ctx| {
        let home = properties(DEFAULT);
        each(
            [
                D3D12_HEAP_FLAG_DENY_BUFFERS,
                D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
                D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
            ],
            |flags| ctx.commit_with(&home, flags, &buffer(256)).refused(format!("HeapFlags {flags:#x}")),
        )
    }),
    check("buffer/committed-of-each-type", "Learn, ID3D12Device::CreateCommittedResource", &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let resource = ctx.commit(heap_type, &buffer(4 * KIB)).holds_bytes(heap_type_name(heap_type))?;
            require_eq("Width", memory::desc(&resource).Width, 4 * KIB)
        })
    }),
    check("buffer/committed-is-aligned-to-64-kib", ADDRESS, &[], |ctx| {
        let mut held = Vec::new();
        for width in [1, 100, 64 * KIB + 1, 300 * KIB] {
            let resource = ctx.commit(DEFAULT, &buffer(width)).holds_bytes(format!("{width} bytes"))?;
            let found = memory::address(&resource);
            require_address(format!("a buffer of {width} bytes"), found, 64 * KIB)?;
            held.push(resource);
        }
        Ok("4 buffers".to_owned())
    }),
    check("buffer/committed-ones-do-not-overlap", ADDRESS, &[], |ctx| {
        let mut ranges = Vec::new();
        let mut held = Vec::new();
        for index in 0..32_u64 {
            let width = 1 + index * 9_001;
            let resource = ctx.commit(DEFAULT, &buffer(width)).holds_bytes(format!("{width} bytes"))?;
            let start = memory::address(&resource);
            ranges.push((start, start + width));
            held.push(resource);
        }
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            ensure!(pair[0].1 <= pair[1].0, "the addresses of two buffers overlap");
        }
        Ok("32 buffers".to_owned())
    }),
    check("buffer/placed-at-offset-0", PLACED, &[], |ctx| placed_at(ctx, 0)),
    check("buffer/placed-at-64-kib", PLACED, &[], |ctx| placed_at(ctx, 64 * KIB)),
    check("buffer/placed-at-the-last-64-kib", PLACED, &[], |ctx| placed_at(ctx, MIB - 64 * KIB)),
    check("buffer/placed-unaligned-refused", OFFSET, &[], |ctx| {
        offsets_refused(ctx, buffer(256), &[1, 256, 4 * KIB, 32 * KIB, 64 * KIB - 1, 64 * KIB + 1, 96 * KIB])
    }),
    check("buffer/placed-beyond-the-end-refused", OFFSET, &[], |ctx| {
        offsets_refused(ctx, buffer(256), &[MIB, MIB + 64 * KIB, 64 * MIB])
    }),
    check("buffer/placed-over-the-end-refused", BOUNDS, &[], |ctx| {
        offsets_refused(ctx, buffer(64 * KIB + 1), &[MIB - 64 * KIB])?;
        offsets_refused(ctx, buffer(MIB), &[64 * KIB])?;
        offsets_refused(ctx, buffer(MIB + 1), &[0])
    }),
    check("buffer/placed-overflowing-refused", BOUNDS, &[], |ctx| {
        let last = u64::MAX - (64 * KIB - 1);
        offsets_refused(ctx, buffer(256), &[last, 1 << 63])?;
        offsets_refused(ctx, buffer(128 * KIB), &[last, last - 64 * KIB])
    }),
    check("buffer/placed-in-a-small-heap", SMALL_HEAP, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(READBACK, 1024)).ok("1,024 bytes")?;
        ctx.place(&heap, 0, &buffer(1024)).holds_bytes("1,024 bytes in a heap of 1,024")?;
        Ok("1,024 bytes in 1,024".to_owned())
    }),
    check("buffer/placed-beyond-a-small-heap-refused", IN_THE_HEAP, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(READBACK, 1024)).ok("1,024 bytes")?;
        ctx.place(&heap, 0, &buffer(1025)).refused("1,025 bytes in a heap of 1,024")
    }),
    check("buffer/placed-addresses-are-offsets", ADDRESS, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?;
        let first = ctx.place(&heap, 0, &buffer(256)).holds_bytes("offset 0")?;
        each([64 * KIB, 128 * KIB, MIB - 64 * KIB], |offset| {
            let other = ctx.place(&heap, offset, &buffer(256)).holds_bytes(format!("offset {offset:#x}"))?;
            let distance = memory::address(&other).wrapping_sub(memory::address(&first));
            require_eq(format!("distance of the buffer at {offset:#x} from that at 0"), distance, offset)
        })
    }),
    check("buffer/placed-again-after-release", PLACED, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let first = memory::address(&ctx.place(&heap, 0, &buffer(64 * KIB)).holds_bytes("the first object")?);
        let second =
            memory::address(&ctx.place(&heap, 0, &buffer(64 * KIB)).holds_bytes("the second object")?);
        ensure!(second == first, "the second buffer has another address");
        Ok("at the same address".to_owned())
    }),
    check("buffer/placed-ones-may-alias", "ALIAS, Memory Aliasing and Data Inheritance", &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 128 * KIB)).ok("128 KiB")?;
        let whole = ctx.place(&heap, 0, &buffer(128 * KIB)).holds_bytes("the whole heap")?;
        let half = ctx.place(&heap, 64 * KIB, &buffer(64 * KIB)).holds_bytes("its second half")?;
        let distance = memory::address(&half).wrapping_sub(memory::address(&whole));
        require_eq("the distance", distance, 64 * KIB)
    }),
    check("buffer/committed-desc-of-all-generations", COMMITTED_CALLS, &[], |ctx| {
        by_newer_calls(ctx, [None, None])
    }),
    check("buffer/placed-desc-of-all-generations", PLACED_CALLS, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 128 * KIB)).ok("128 KiB")?;
        by_newer_calls(ctx, [Some((&heap, 0)), Some((&heap, 64 * KIB))])
    }),
    check("buffer/layout-other-than-undefined-refused", INITIAL_LAYOUT, &[], |ctx| {
        each([D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_LAYOUT_COPY_DEST], |layout| {
            let made = ctx.create_by_layout(None, &buffer(256), layout, &[])?;
            made.refused(format!("layout {layout}"))
        })
    }),
    check("buffer/castable-formats-refused", CASTABLE, &[], |ctx| {
        let layout = D3D12_BARRIER_LAYOUT_UNDEFINED;
        let made = ctx.create_by_layout(None, &buffer(256), layout, &[DXGI_FORMAT_R8_UNORM])?;
        made.refused("a castable format of a buffer")
    }),
    check("buffer/upload-generic-read", STATES, &[], |ctx| {
        state(ctx, UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ, true)
    }),
    check("buffer/upload-part-of-generic-read", PARTS_OF_STATES, &[], |ctx| {
        // That SDK came with ID3D12Device10.
        ctx.interface::<ID3D12Device10>("ID3D12Device10")?;
        state(ctx, UPLOAD, COPY_SOURCE, true)?;
        state(ctx, UPLOAD, D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER, true)
    }),
    check("buffer/upload-write-states-refused", STATES, &[], |ctx| {
        state(ctx, UPLOAD, COPY_DEST, false)?;
        state(ctx, UPLOAD, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, false)
    }),
    check("buffer/readback-copy-dest", STATES, &[], |ctx| state(ctx, READBACK, COPY_DEST, true)),
    check("buffer/readback-other-states-refused", STATES, &[], |ctx| {
        state(ctx, READBACK, D3D12_RESOURCE_STATE_GENERIC_READ, false)?;
        state(ctx, READBACK, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, false)
    }),
    check("buffer/default-states", STATES, &[], |ctx| {
        each(
            [
                COMMON,
                COPY_DEST,
                COPY_SOURCE,
                D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER,
                D3D12_RESOURCE_STATE_INDEX_BUFFER,
                D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT,
                D3D12_RESOURCE_STATE_GENERIC_READ,
            ],
            |initial| state(ctx, DEFAULT, initial, true),
        )
    }),
    check("buffer/texture-states-refused", "Learn, D3D12_RESOURCE_STATES, buffers", &[], |ctx| {
        each([RENDER_TARGET, D3D12_RESOURCE_STATE_DEPTH_WRITE, D3D12_RESOURCE_STATE_DEPTH_READ], |initial| {
            state(ctx, DEFAULT, initial, false)
        })
    }),
    check("buffer/undefined-states-refused", "Learn, D3D12_RESOURCE_STATES", &[], |ctx| {
        state(ctx, DEFAULT, 0x8000_0000, false)
    }),
    validation("buffer/write-states-do-not-combine", WRITE_STATES, &[], |ctx| {
        let both = COPY_DEST | COPY_SOURCE;
        state(ctx, DEFAULT, both, false)
    }),
    check("buffer/usage-returns", "Learn, IDXGIAdapter3::QueryVideoMemoryInfo", &[Need::Adapter], |ctx| {
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let before = usage()?;
        let resource = ctx.commit(DEFAULT, &buffer(32 * MIB)).holds_bytes("32 MiB")?;
        let during = usage()?;
        ensure!(during >= before, "usage falls by {} with a buffer of 32 MiB", before - during);
        drop(resource);
        let after = usage()?;
        ensure!(after <= during, "usage rises by {} with the release", after - during);
        Ok("usage rises with a buffer of 32 MiB, and falls".to_owned())
    }),
];

/// Fails the check unless every call that takes a description accepts a buffer with these flags.
fn flag_taken(ctx: &Context, flags: D3D12_RESOURCE_FLAGS, heap_types: &[D3D12_HEAP_TYPE]) -> Verdict {
    let desc = with_flags(buffer(256), flags);
    for &heap_type in heap_types {
        let what = format!("Flags {flags:#x} in {}", heap_type_name(heap_type));
        let resource = ctx.commit(heap_type, &desc).holds_bytes(&what)?;
        require_eq("Flags", memory::desc(&resource).Flags, flags)?;
        let heap = ctx.create_heap(&buffer_heap(heap_type, 64 * KIB)).ok("64 KiB")?;
        ctx.place(&heap, 0, &desc).holds_bytes(&what)?;
    }
    ctx.valid_allocation("the flags", &desc)?;
    Ok("accepted as a committed and as a placed resource".to_owned())
}

fn placed_at(ctx: &Context, offset: u64) -> Verdict {
    let heap = ctx.create_heap(&buffer_heap(UPLOAD, MIB)).ok("1 MiB")?;
    let home = Home::Placed(&heap, offset);
    let resource = ctx
        .create_resource(home, &buffer(64 * KIB), D3D12_RESOURCE_STATE_GENERIC_READ, None)
        .ok(format!("offset {offset:#x}"))?;
    let mapping = ctx.map(&resource).ok("an UPLOAD buffer")?;
    mapping.write(64 * 1024 - 4, b"last");
    require_eq("the last bytes", mapping.read(64 * 1024 - 4, 4), b"last".to_vec())?;
    Ok(format!("at {offset:#x}"))
}

fn offsets_refused(ctx: &Context, desc: D3D12_RESOURCE_DESC, offsets: &[u64]) -> Verdict {
    let heap = ctx.create_heap(&buffer_heap(DEFAULT, MIB)).ok("1 MiB")?;
    for &offset in offsets {
        ctx.place(&heap, offset, &desc)
            .refused(format!("{} bytes at {offset:#x} of a heap of 1 MiB", desc.Width))?;
    }
    Ok(format!("E_INVALIDARG at {} offsets", offsets.len()))
}

fn state(
    ctx: &Context,
    heap_type: D3D12_HEAP_TYPE,
    initial: D3D12_RESOURCE_STATES,
    is_allowed: bool,
) -> Verdict {
    let what = format!("state {initial:#x} in {}", heap_type_name(heap_type));
    let committed = Home::of(heap_type);
    let heap = ctx.create_heap(&buffer_heap(heap_type, 64 * KIB)).ok("64 KiB")?;
    for home in [committed, Home::Placed(&heap, 0)] {
        let made = ctx.create_resource(home, &buffer(256), initial, None);
        if is_allowed {
            made.holds_bytes_in(&what, initial)?;
        } else {
            made.refused(&what)?;
        }
    }
    Ok(format!("{what}: {}", if is_allowed { "taken" } else { "E_INVALIDARG" }))
}

/// Fails the check unless a buffer has the same description by either newer call, in each its place.
fn by_newer_calls(ctx: &Context, [one, other]: [Option<(&ID3D12Heap, u64)>; 2]) -> Verdict {
    let layout = D3D12_BARRIER_LAYOUT_UNDEFINED;
    let by_layout = ctx.create_by_layout(one, &buffer(1000), layout, &[])?.holds_bytes("1000 bytes")?;
    let eight: ID3D12Device8 = ctx.interface("ID3D12Device8")?;
    let made = device::create_resource_by_state(&eight, other, &upgrade(&buffer(1000)), COMMON);
    let by_state = made.holds_bytes("1000 bytes")?;
    require_eq("their descriptions", memory::desc(&by_layout), memory::desc(&by_state))
}
