//! Heaps: sizes, alignments, flags, allowed resources, and initial contents.

use heapwright_d3d12::*;

use crate::answer::{Verdict, each, ensure, require, require_address, require_eq};
use crate::check::{Check, Need, check};
use crate::com::memory;
use crate::context::Context;
use crate::desc::*;
use crate::proof;

const CREATE: &str = "Learn, ID3D12Device::CreateHeap";
const SIZE: &str = "Learn, D3D12_HEAP_DESC::SizeInBytes";
const ALIGNMENT: &str = "Learn, D3D12_HEAP_DESC::Alignment";
const FLAGS: &str = "Learn, D3D12_HEAP_FLAGS";
const TIER_1: &str = "Learn, D3D12_RESOURCE_HEAP_TIER, D3D12_RESOURCE_HEAP_TIER_1";
const TIER_2: &str = "Learn, D3D12_RESOURCE_HEAP_TIER, D3D12_RESOURCE_HEAP_TIER_2";
const ZEROED: &str = "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED";
const TRACKING: &str = "UPLOAD, Detect modifications to the GPU Upload Heaps";

const BUFFERS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
const TEXTURES: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
const TARGETS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES;

pub(super) const CHECKS: &[Check] = &[
    check("heap/size-64-kib", SIZE, &[], |ctx| size(ctx, 64 * KIB)),
    check("heap/size-1-mib", SIZE, &[], |ctx| size(ctx, MIB)),
    check("heap/size-64-mib", SIZE, &[], |ctx| size(ctx, 64 * MIB)),
    check("heap/size-not-a-multiple", SIZE, &[], |ctx| size(ctx, 100_000)),
    check("heap/size-one-byte", SIZE, &[], |ctx| size(ctx, 1)),
    check("heap/size-0-refused", SIZE, &[], |ctx| refused(ctx, with_size(0), "0 bytes")),
    check("heap/size-of-everything-refused", SIZE, &[], |ctx| {
        each([u64::MAX, u64::MAX - 64 * KIB + 1, 1 << 63], |size| {
            // Too large to exist: no memory, or no such size.
            ctx.create_heap(&with_size(size))
                .refused_with(&[E_INVALIDARG, E_OUTOFMEMORY], format!("{size:#x} bytes"))
        })
    }),
    check("heap/alignment-0", ALIGNMENT, &[], |ctx| alignment(ctx, 0, &[0, 64 * KIB])),
    check("heap/alignment-64-kib", ALIGNMENT, &[], |ctx| alignment(ctx, 64 * KIB, &[64 * KIB])),
    check("heap/alignment-4-mib", ALIGNMENT, &[], |ctx| alignment(ctx, 4 * MIB, &[4 * MIB])),
    check("heap/alignment-small-refused", ALIGNMENT, &[], |ctx| {
        unaligned(ctx, &[1, 2, 8, 256, 512, 2 * KIB])
    }),
    check("heap/alignment-4-kib-refused", ALIGNMENT, &[], |ctx| unaligned(ctx, &[4 * KIB])),
    check("heap/alignment-between-refused", ALIGNMENT, &[], |ctx| {
        unaligned(ctx, &[32 * KIB, 128 * KIB, MIB, 2 * MIB])
    }),
    check("heap/alignment-large-refused", ALIGNMENT, &[], |ctx| unaligned(ctx, &[8 * MIB, 1 << 32, 1 << 63])),
    check("heap/alignment-no-power-of-two-refused", ALIGNMENT, &[], |ctx| {
        unaligned(ctx, &[3, 64 * KIB + 1, 64 * KIB - 1, 96 * KIB, u64::MAX])
    }),
    check("heap/address-is-aligned-to-64-kib", ALIGNMENT, &[], |ctx| address(ctx, 64 * KIB)),
    check("heap/address-is-aligned-to-4-mib", ALIGNMENT, &[], |ctx| address(ctx, 4 * MIB)),
    check("heap/desc-round-trip", "Learn, ID3D12Heap::GetDesc", &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let asked = buffer_heap(heap_type, 256 * KIB);
            let found = memory::heap_desc(&ctx.create_heap(&asked).ok("256 KiB")?);
            require_eq("SizeInBytes", found.SizeInBytes, asked.SizeInBytes)?;
            require_eq("Type", found.Properties.Type, heap_type)?;
            require_eq("flags that deny", found.Flags & BUFFERS, BUFFERS)?;
            require(found.Properties.CreationNodeMask <= 1, || {
                "CreationNodeMask contains nodes other than the first".to_owned()
            })
        })
    }),
    check("heap/desc-keeps-custom-properties", "Learn, ID3D12Heap::GetDesc", &[], |ctx| {
        let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0);
        let asked = D3D12_HEAP_DESC { Properties: home, ..with_size(64 * KIB) };
        let found = memory::heap_desc(&ctx.create_heap(&asked).ok("custom")?).Properties;
        require_eq(
            "type, page property and pool",
            (found.Type, found.CPUPageProperty, found.MemoryPoolPreference),
            (home.Type, home.CPUPageProperty, home.MemoryPoolPreference),
        )
    }),
    check("heap/only-buffers", FLAGS, &[], |ctx| taken(ctx, BUFFERS)),
    check("heap/only-textures", FLAGS, &[], |ctx| taken(ctx, TEXTURES)),
    check("heap/only-render-targets", FLAGS, &[], |ctx| taken(ctx, TARGETS)),
    check("heap/denying-everything-refused", FLAGS, &[], |ctx| {
        refused(ctx, with_flags(BUFFERS | TEXTURES), "all three DENY flags")
    }),
    check("heap/undefined-flags-refused", FLAGS, &[], |ctx| {
        each([0x2, 0x10, 0x8000_0000], |flag| {
            refused(ctx, with_flags(BUFFERS | flag), &format!("flag {flag:#x}"))
        })
    }),
    check("heap/not-zeroed", ZEROED, &[], |ctx| {
        ctx.interface::<ID3D12Device8>("ID3D12Device8, which came with the flag")?;
        taken(ctx, BUFFERS | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED)
    }),
    check("heap/shader-atomics", FLAGS, &[], |ctx| {
        ctx.interface::<ID3D12Device3>("ID3D12Device3, which came with the flag")?;
        each([BUFFERS, TEXTURES, TARGETS], |kind| taken(ctx, kind | D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS))
    }),
    check("heap/shader-atomics-with-cpu-access-refused", FLAGS, &[], |ctx| {
        each([UPLOAD, READBACK], |heap_type| {
            let flags = BUFFERS | D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS;
            let desc = D3D12_HEAP_DESC { Flags: flags, ..buffer_heap(heap_type, 64 * KIB) };
            ctx.create_heap(&desc).refused("ALLOW_SHADER_ATOMICS and CPU-accessible, but not CUSTOM")
        })
    }),
    check("heap/not-resident", "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT", &[], |ctx| {
        ctx.interface::<ID3D12Device8>("ID3D12Device8, which came with the flag")?;
        taken(ctx, BUFFERS | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT)
    }),
    check("heap/shared", "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_SHARED", &[], |ctx| {
        taken(ctx, BUFFERS | D3D12_HEAP_FLAG_SHARED)
    }),
    check("heap/shared-with-cpu-access-refused", "UPLOAD, Restrictions", &[], |ctx| {
        each([UPLOAD, READBACK], |heap_type| {
            let desc = D3D12_HEAP_DESC {
                Flags: BUFFERS | D3D12_HEAP_FLAG_SHARED,
                ..buffer_heap(heap_type, 64 * KIB)
            };
            ctx.create_heap(&desc).refused("SHARED and CPU-accessible")
        })
    }),
    check("heap/write-tracking-refused", TRACKING, &[Need::NoWriteTracking], |ctx| {
        each([DEFAULT, UPLOAD], |heap_type| {
            let desc = D3D12_HEAP_DESC {
                Flags: BUFFERS | D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING,
                ..buffer_heap(heap_type, 64 * KIB)
            };
            ctx.create_heap(&desc).refused("TOOLS_USE_MANUAL_WRITE_TRACKING without a tool")
        })
    }),
    check("heap/tier-1-everything-refused", TIER_1, &[Need::HeapTier1], |ctx| {
        refused(
            ctx,
            with_flags(D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES),
            "ALLOW_ALL_BUFFERS_AND_TEXTURES",
        )
    }),
    check("heap/tier-1-two-categories-refused", TIER_1, &[Need::HeapTier1], |ctx| {
        each(
            [
                D3D12_HEAP_FLAG_DENY_BUFFERS,
                D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES,
                D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES,
            ],
            |flag| refused(ctx, with_flags(flag), &format!("flags {flag:#x}")),
        )
    }),
    check("heap/tier-2-everything", TIER_2, &[Need::HeapTier2], |ctx| {
        taken(ctx, D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES)
    }),
    check("heap/tier-2-two-categories", TIER_2, &[Need::HeapTier2], |ctx| {
        each(
            [
                D3D12_HEAP_FLAG_DENY_BUFFERS,
                D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES,
                D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES,
            ],
            |flag| taken(ctx, flag),
        )
    }),
    check("heap/buffer-in-a-texture-heap-refused", FLAGS, &[], |ctx| {
        let heap = ctx.create_heap(&texture_heap(64 * KIB)).ok("ALLOW_ONLY_NON_RT_DS_TEXTURES")?;
        ctx.place(&heap, 0, &buffer(16)).refused("a buffer in a heap with DENY_BUFFERS")
    }),
    check("heap/buffer-in-a-render-target-heap-refused", FLAGS, &[], |ctx| {
        let heap = ctx.create_heap(&with_flags(TARGETS)).ok("ALLOW_ONLY_RT_DS_TEXTURES")?;
        ctx.place(&heap, 0, &buffer(16)).refused("a buffer in a heap with DENY_BUFFERS")
    }),
    check("heap/new-upload-heap-is-zero", ZEROED, &[], |ctx| zeroed(ctx, UPLOAD)),
    check("heap/new-readback-heap-is-zero", ZEROED, &[], |ctx| zeroed(ctx, READBACK)),
    check("heap/new-committed-resource-is-zero", ZEROED, &[], |ctx| {
        each(0..4, |round| {
            let resource = ctx.commit(UPLOAD, &buffer(64 * KIB)).ok("64 KiB")?;
            is_zero_then_dirty(ctx, &resource, round)
        })
    }),
    check("heap/live-heaps-have-memory-of-their-own", CREATE, &[], |ctx| {
        let desc = buffer_heap(UPLOAD, 64 * KIB);
        let mut held = Vec::new();
        for index in 0..8_u8 {
            let heap = ctx.create_heap(&desc).ok("64 KiB")?;
            let resource = ctx.place(&heap, 0, &buffer(64 * KIB)).holds_bytes("64 KiB")?;
            ctx.map(&resource).ok("an UPLOAD buffer")?.write(0, &[index; 64]);
            held.push((heap, resource));
        }
        each((0..8_u8).zip(&held), |(index, (_, resource))| {
            let bytes = ctx.map(resource).ok("an UPLOAD buffer")?.read(0, 64);
            require_eq(format!("bytes in heap {index}"), bytes, vec![index; 64])
        })
    }),
];

fn with_size(size: u64) -> D3D12_HEAP_DESC {
    buffer_heap(DEFAULT, size)
}

fn with_flags(flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC { Flags: flags, Properties: properties(DEFAULT), ..with_size(64 * KIB) }
}

/// Fails the check unless a heap of this size reports the size, which the device may round up to 64 KiB.
fn size(ctx: &Context, size: u64) -> Verdict {
    let heap = ctx.create_heap(&with_size(size)).ok(format!("{size} bytes"))?;
    proof::heap_holds_bytes(&heap)?;
    let found = memory::heap_desc(&heap).SizeInBytes;
    require(found >= size && found < size + 64 * KIB, || {
        format!("SizeInBytes: expected {size}, rounded up to at most the next 64 KiB, found {found}")
    })?;
    Ok(format!("{found} bytes"))
}

fn alignment(ctx: &Context, alignment: u64, reported: &[u64]) -> Verdict {
    let desc = D3D12_HEAP_DESC { Alignment: alignment, ..with_size(8 * MIB) };
    let heap = ctx.create_heap(&desc).ok(format!("alignment {alignment}"))?;
    proof::heap_holds_bytes(&heap)?;
    let found = memory::heap_desc(&heap).Alignment;
    ensure!(reported.contains(&found), "Alignment: expected {alignment}, found {found}");
    Ok(format!("{found}"))
}

fn unaligned(ctx: &Context, alignments: &[u64]) -> Verdict {
    for &alignment in alignments {
        refused(
            ctx,
            D3D12_HEAP_DESC { Alignment: alignment, ..with_size(8 * MIB) },
            &format!("alignment {alignment:#x}"),
        )?;
    }
    Ok(format!("E_INVALIDARG for {} alignments", alignments.len()))
}

fn address(ctx: &Context, alignment: u64) -> Verdict {
    // Odd sizes in between, so that the next free address is not aligned by chance.
    let mut held = Vec::new();
    for round in 0..4_u64 {
        let spacer = ctx.create_heap(&with_size((2 * round + 1) * 64 * KIB)).ok("a spacer heap")?;
        let desc = D3D12_HEAP_DESC { Alignment: alignment, ..with_size(alignment) };
        let heap = ctx.create_heap(&desc).ok(format!("alignment {alignment}"))?;
        let resource = ctx.place(&heap, 0, &buffer(64 * KIB)).holds_bytes("64 KiB")?;
        let found = memory::address(&resource);
        require_address(format!("a heap of alignment {alignment:#x}"), found, alignment)?;
        held.push((spacer, heap));
    }
    Ok(format!("4 heaps at multiples of {alignment:#x}"))
}

fn taken(ctx: &Context, flags: D3D12_HEAP_FLAGS) -> Verdict {
    let heap = ctx.create_heap(&with_flags(flags)).ok(format!("flags {flags:#x}"))?;
    let found = memory::heap_desc(&heap).Flags;
    require_eq(format!("the flags of a heap created with {flags:#x}"), found & flags, flags)?;
    Ok(format!("flags {flags:#x}"))
}

fn refused(ctx: &Context, desc: D3D12_HEAP_DESC, what: &str) -> Verdict {
    ctx.create_heap(&desc).refused(what)
}

/// Fails the check unless new heaps are zero, even if they reuse memory that was written to.
fn zeroed(ctx: &Context, heap_type: D3D12_HEAP_TYPE) -> Verdict {
    each(0..4, |round| {
        let heap = ctx.create_heap(&buffer_heap(heap_type, 128 * KIB)).ok("128 KiB")?;
        let home = crate::com::device::Home::Placed(&heap, 0);
        let state = crate::context::state_of(heap_type);
        let resource = ctx.create_resource(home, &buffer(128 * KIB), state, None).ok("all of the heap")?;
        is_zero_then_dirty(ctx, &resource, round)
    })
}

fn is_zero_then_dirty(
    ctx: &Context,
    resource: &ID3D12Resource,
    round: u8,
) -> Result<(), crate::answer::Stop> {
    let mapping = ctx.map(resource).ok("a CPU-accessible buffer")?;
    let len = crate::transfer::staged_size(memory::desc(resource).Width)?;
    let found = mapping.read(0, len);
    if let Some(place) = found.iter().position(|&byte| byte != 0) {
        return crate::answer::failed(format!(
            "byte {place} of new memory is {:#04x} in round {round}; memory is zeroed unless CREATE_NOT_ZEROED is set",
            found[place]
        ));
    }
    mapping.write(0, &vec![0xa5; len]);
    Ok(())
}
