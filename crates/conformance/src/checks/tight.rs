//! Tight alignment (document TIGHT).

use heapwright_d3d12::*;

use crate::answer::{Verdict, each, ensure, require, require_address, require_eq, skipped};
use crate::check::{Check, Need, check, documented, validation};
use crate::com::device::{self, Home, upgrade};
use crate::com::memory;
use crate::context::{Context, state_of};
use crate::desc::*;

const PLACED: &str = "TIGHT, Placed Resources";
const COMMITTED: &str = "TIGHT, Committed Resources";
const VALIDATION: &str = "TIGHT, Validation";
const HLK: &str = "TIGHT, HLK tests";
const HEAPS: &str = "TIGHT, FAQ, How does this affect Heap alignment and offsets?";
const FLAG: &str = "TIGHT, FAQ, Why a Flag instead of a new API?";
const DEFAULT_BEHAVIOUR: &str = "TIGHT, FAQ, Can this be the default behavior?";

/// Who differs from *Note that this means that Reserved Resources are not supported*.
const TAKES_RESERVED: &str =
    "Windows, which creates a reserved buffer with the flag and refuses only textures, for their layout";

const YES: &[Need] = &[Need::TightAlignment];
const NO: &[Need] = &[Need::NoTightAlignment];
const TEXTURES: &[Need] = &[Need::TightAlignment, Need::Textures];

/// Largest alignment of a tightly aligned placed buffer, in bytes.
const BUFFER_MAX: u64 = 256;
/// Smallest alignment of a resource, in bytes, which 64-bit atomics need.
const MIN: u64 = 8;

const WIDTHS: [u64; 18] =
    [1, 2, 7, 8, 9, 16, 63, 64, 100, 255, 256, 257, 1000, 4096, 65_535, 65_536, 65_537, 10_000_001];
const TILED: &[Need] = &[Need::TightAlignment, Need::TiledResources];
const NO_TEXTURES: &[Need] = &[Need::NoTightAlignment, Need::Textures];

pub(super) const CHECKS: &[Check] = &[
    check("tight/placed-buffer-alignment-max", PLACED, YES, |ctx| {
        each_alignment(ctx, "at most 256", |found| found <= 256)
    }),
    check("tight/placed-buffer-alignment-min", PLACED, YES, |ctx| {
        each_alignment(ctx, "at least 8", |found| found >= MIN)
    }),
    check("tight/placed-buffer-alignment-power-of-two", PLACED, YES, |ctx| {
        each_alignment(ctx, "a power of two", u64::is_power_of_two)
    }),
    check("tight/buffer-size-is-its-width", "TIGHT, DDI, sizes of buffers", YES, |ctx| {
        for width in WIDTHS {
            let found = ctx.valid_allocation("a tight buffer", &tight_buffer(width))?;
            // The width itself, or rounded up to the alignment as a structure is.
            let rounded = width.next_multiple_of(found.alignment);
            require(found.size == width || found.size == rounded, || {
                format!(
                    "{width} bytes at {}: SizeInBytes {}, expected {rounded}",
                    found.alignment, found.size
                )
            })?;
        }
        Ok(format!("{} widths", WIDTHS.len()))
    }),
    check("tight/buffer-of-unordered-access", PLACED, YES, |ctx| {
        let desc = with_flags(tight_buffer(1000), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        let found = ctx.valid_allocation("ALLOW_UNORDERED_ACCESS", &desc)?.alignment;
        ensure!((MIN..=BUFFER_MAX).contains(&found), "Alignment {found}");
        Ok(format!("{found}"))
    }),
    check("tight/never-worse-for-buffers", HLK, YES, |ctx| {
        each(WIDTHS, |width| never_worse(ctx, &buffer(width)))
    }),
    check("tight/never-worse-for-small-textures", HLK, TEXTURES, |ctx| {
        let small = aligned(rgba(64, 64), 4 * KIB);
        let without = ctx.valid_allocation("a small texture at 4 KiB", &small)?.alignment;
        let with = ctx.valid_allocation("a tight small texture", &tight(rgba(64, 64)))?.alignment;
        ensure!(with <= without, "Alignment {with} with the flag, {without} as a small resource");
        Ok(format!("{with} with the flag, {without} as a small resource"))
    }),
    check("tight/never-worse-for-textures", HLK, TEXTURES, |ctx| {
        each(
            [
                rgba(1, 1),
                rgba(100, 100),
                rgba(1024, 1024),
                render_target(64, 64),
                multisampled(1024, 1024, 4),
            ],
            |desc| never_worse(ctx, &desc),
        )
    }),
    check("tight/cross-adapter-buffers-stay-at-64-kib", HLK, YES, |ctx| {
        each([1, 1000, 65_537], |width| {
            let desc = with_flags(tight_buffer(width), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
            let found = ctx.valid_allocation("ALLOW_CROSS_ADAPTER", &desc)?;
            require_eq(format!("Alignment of {width} bytes"), found.alignment, 64 * KIB)?;
            require_eq(format!("SizeInBytes of {width} bytes"), found.size, width.next_multiple_of(64 * KIB))
        })
    }),
    check("tight/cross-adapter-textures-stay-at-64-kib", HLK, TEXTURES, |ctx| {
        if !ctx.caps().cross_adapter_row_major {
            return skipped(
                "the device has no cross-adapter textures (CrossAdapterRowMajorTextureSupported)",
            );
        }
        let desc = with_layout(tight(rgba(64, 64)), D3D12_TEXTURE_LAYOUT_ROW_MAJOR);
        let desc = with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        let found = ctx.valid_allocation("ALLOW_CROSS_ADAPTER", &desc)?.alignment;
        require_eq("Alignment", found, 64 * KIB)
    }),
    check("tight/cross-adapter-msaa-stays-at-4-mib", HLK, TEXTURES, |ctx| {
        let desc = with_flags(multisampled(64, 64, 4), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        if ctx.allocation(&[desc]).size == u64::MAX {
            return skipped("the device has no cross-adapter textures of several samples");
        }
        let found = ctx.valid_allocation("ALLOW_CROSS_ADAPTER, 4 samples", &tight(desc))?.alignment;
        require_eq("Alignment", found, 4 * MIB)
    }),
    check("tight/undefined-swizzle-refused", VALIDATION, TEXTURES, |ctx| {
        ctx.refuses(&[with_layout(tight(rgba(256, 256)), D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE)])
    }),
    check("tight/standard-swizzle-refused", VALIDATION, TEXTURES, |ctx| {
        ctx.refuses(&[with_layout(tight(rgba(256, 256)), D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE)])
    }),
    check("tight/reserved-textures-refused", VALIDATION, TEXTURES, |ctx| {
        let desc = with_layout(tight(rgba(256, 256)), D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE);
        ctx.create_resource(Home::Reserved, &desc, COMMON, None).refused("at a reserved address")
    }),
    documented("tight/reserved-buffers-refused", VALIDATION, TAKES_RESERVED, TILED, |ctx| {
        let state = COMMON;
        each(
            [
                tight_buffer(64 * KIB),
                with_flags(tight_buffer(64 * KIB), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS),
            ],
            |desc| ctx.create_resource(Home::Reserved, &desc, state, None).refused("USE_TIGHT_ALIGNMENT"),
        )
    }),
    check("tight/flag-without-the-tier-refused", VALIDATION, NO, |ctx| ctx.refuses(&[tight_buffer(1000)])),
    check("tight/texture-flag-without-the-tier-refused", VALIDATION, NO_TEXTURES, |ctx| {
        ctx.commit(DEFAULT, &tight(rgba(64, 64))).refused("the flag")
    }),
    check("tight/committed-buffer-alignment", COMMITTED, YES, |ctx| {
        each([1, 100, 4096, 10_000], |width| {
            let resource = ctx.commit(DEFAULT, &tight_buffer(width)).holds_bytes(format!("{width} bytes"))?;
            within_described(format!("{width} bytes"), &resource, 4 * KIB)
        })
    }),
    check("tight/committed-buffer-address", COMMITTED, YES, |ctx| {
        let mut held = Vec::new();
        for _ in 0..8 {
            let resource = ctx.commit(DEFAULT, &tight_buffer(100)).holds_bytes("100 bytes")?;
            let found = memory::address(&resource);
            require_address("a committed buffer", found, 4 * KIB)?;
            held.push(resource);
        }
        Ok("multiples of 4 KiB".to_owned())
    }),
    check("tight/committed-buffer-takes-no-more", COMMITTED, &[Need::TightAlignment, Need::Adapter], |ctx| {
        let used_by = |desc: D3D12_RESOURCE_DESC| {
            let before = super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL)?;
            let held: Result<Vec<_>, _> =
                (0..64).map(|_| ctx.commit(DEFAULT, &desc).holds_bytes("100 bytes")).collect();
            let held = held?;
            let after = super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL)?;
            drop(held);
            Ok(after.saturating_sub(before))
        };
        let (without, with) = (used_by(buffer(100))?, used_by(tight_buffer(100))?);
        ensure!(with <= without, "64 buffers take {with} bytes with the flag, {without} without");
        Ok(format!("64 buffers take {with} bytes with the flag, {without} without"))
    }),
    check("tight/placed-desc-has-the-alignment", PLACED, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        each([1, 100, 1000], |width| {
            let desc = tight_buffer(width);
            let resource = ctx.place(&heap, 0, &desc).holds_bytes(format!("{width} bytes"))?;
            let expected = ctx.valid_allocation("a tight buffer", &desc)?.alignment;
            require_eq(format!("Alignment of {width} bytes"), memory::desc(&resource).Alignment, expected)
        })
    }),
    check("tight/placed-desc-keeps-the-flag", PLACED, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let found = memory::desc(&ctx.place(&heap, 0, &tight_buffer(100)).holds_bytes("100 bytes")?);
        require_eq("Flags", found.Flags, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT)?;
        require_eq("Width", found.Width, 100)
    }),
    check("tight/placed-at-each-multiple", HEAPS, YES, |ctx| {
        let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        for index in [1, 2, 3, 5, 64 * KIB / alignment - 1] {
            let offset = index * alignment;
            ctx.place(&heap, offset, &tight_buffer(8))
                .holds_bytes(format!("offset {offset:#x} of alignment {alignment}"))?;
        }
        Ok(format!("multiples of {alignment}"))
    }),
    check("tight/placed-between-multiples-refused", HEAPS, YES, |ctx| {
        let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        for offset in [1, alignment / 2, alignment + 1, 3 * alignment - alignment / 2] {
            ctx.place(&heap, offset, &tight_buffer(8))
                .refused(format!("offset {offset:#x} of alignment {alignment}"))?;
        }
        Ok(format!("E_INVALIDARG between multiples of {alignment}"))
    }),
    validation("tight/placed-at-the-end-of-the-heap", HEAPS, YES, |ctx| {
        let desc = tight_buffer(100);
        let found = ctx.valid_allocation("a tight buffer", &desc)?;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let step = found.size.next_multiple_of(found.alignment);
        require(step <= 64 * KIB, || {
            format!("a buffer of 100 bytes takes {step} bytes with Alignment {}", found.alignment)
        })?;
        let last = 64 * KIB - step;
        ctx.place(&heap, last, &desc).holds_bytes(format!("offset {last:#x}"))?;
        let wide = tight_buffer(100 + found.alignment * 2);
        ctx.place(&heap, last, &wide).refused(format!("{} bytes at {last:#x}", wide.Width))?;
        Ok(format!("at {last:#x}"))
    }),
    check("tight/placed-addresses-are-offsets", HEAPS, YES, |ctx| {
        let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let first = ctx.place(&heap, 0, &tight_buffer(8)).holds_bytes("offset 0")?;
        for index in [1, 7, 31] {
            let offset = index * alignment;
            let other =
                ctx.place(&heap, offset, &tight_buffer(8)).holds_bytes(format!("offset {offset:#x}"))?;
            let distance = memory::address(&other).wrapping_sub(memory::address(&first));
            require_eq(format!("distance of the buffer at {offset:#x}"), distance, offset)?;
        }
        Ok(format!("multiples of {alignment}"))
    }),
    check("tight/placed-mapping-starts-at-the-offset", PLACED, YES, |ctx| {
        let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
        let heap = ctx.create_heap(&buffer_heap(UPLOAD, 64 * KIB)).ok("64 KiB")?;
        let state = state_of(UPLOAD);
        let whole = ctx
            .create_resource(Home::Placed(&heap, 0), &buffer(64 * KIB), state, None)
            .ok("the whole heap")?;
        let offset = 5 * alignment;
        let part =
            ctx.create_resource(Home::Placed(&heap, offset), &tight_buffer(8), state, None).ok("a part")?;
        ctx.map(&part).ok("the part")?.write(0, b"the part");
        let place = usize::try_from(offset).unwrap_or(0);
        require_eq(
            "bytes at the offset",
            ctx.map(&whole).ok("the whole heap")?.read(place, 8),
            b"the part".to_vec(),
        )?;
        Ok(format!("at {offset:#x}"))
    }),
    check("tight/default-buffers-are-unaffected", DEFAULT_BEHAVIOUR, YES, |ctx| {
        ctx.valid_allocation("a tight buffer", &tight_buffer(100))?;
        let found = ctx.valid_allocation("a buffer", &buffer(100))?;
        require_eq("size and alignment without the flag", (found.size, found.alignment), (64 * KIB, 64 * KIB))
    }),
    validation("tight/default-buffers-keep-their-offsets", DEFAULT_BEHAVIOUR, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 128 * KIB)).ok("128 KiB")?;
        ctx.place(&heap, 256, &buffer(8)).refused("a buffer without the flag at offset 256")
    }),
    check("tight/the-newer-info-calls-know-it", "TIGHT, Proposed Solution", YES, |ctx| {
        let newer: ID3D12Device8 = ctx.interface("ID3D12Device8")?;
        let (whole, _) = device::allocation_info2(&newer, &[upgrade(&tight_buffer(1000))]);
        require_eq("GetResourceAllocationInfo2", whole.into(), ctx.allocation(&[tight_buffer(1000)]))
    }),
    check("tight/the-newer-creation-calls-know-it", FLAG, YES, |ctx| {
        let alignment = ctx.valid_allocation("a tight buffer", &tight_buffer(8))?.alignment;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let layout = D3D12_BARRIER_LAYOUT_UNDEFINED;
        let made = ctx.create_by_layout(Some((&heap, alignment)), &tight_buffer(8), layout, &[])?;
        made.ok(format!("offset {alignment}"))?;
        Ok(format!("at offset {alignment}"))
    }),
    check("tight/texture-alignment-max", PLACED, TEXTURES, |ctx| {
        each([rgba(512, 512), rgba(1024, 1024), render_target(64, 64), render_target(1024, 1024)], |desc| {
            within(ctx, &desc, 64 * KIB)
        })
    }),
    check("tight/small-texture-alignment-max", PLACED, TEXTURES, |ctx| {
        each([rgba(1, 1), rgba(64, 64), rgba(128, 128)], |desc| within(ctx, &desc, 4 * KIB))
    }),
    check("tight/msaa-alignment-max", PLACED, TEXTURES, |ctx| {
        within(ctx, &multisampled(2048, 2048, 4), 4 * MIB)
    }),
    check("tight/placed-texture", PLACED, TEXTURES, |ctx| {
        let desc = tight(rgba(32, 32));
        let found = ctx.valid_allocation("a tight texture", &desc)?;
        let heap = ctx.create_heap(&texture_heap(MIB)).ok("1 MiB")?;
        let offset = 3 * found.alignment;
        let resource = ctx.place(&heap, offset, &desc).holds_bytes(format!("offset {offset:#x}"))?;
        require_eq("Alignment", memory::desc(&resource).Alignment, found.alignment)?;
        Ok(format!("at {offset:#x}"))
    }),
    check("tight/placed-texture-between-multiples-refused", PLACED, TEXTURES, |ctx| {
        let desc = tight(rgba(32, 32));
        let alignment = ctx.valid_allocation("a tight texture", &desc)?.alignment;
        let heap = ctx.create_heap(&texture_heap(MIB)).ok("1 MiB")?;
        ctx.place(&heap, alignment / 2, &desc).refused(format!("offset {}", alignment / 2))
    }),
    check("tight/committed-texture-alignment", COMMITTED, TEXTURES, |ctx| {
        each(
            [(rgba(64, 64), 4 * KIB), (rgba(1024, 1024), 64 * KIB), (multisampled(1024, 1024, 4), 4 * MIB)],
            |(desc, most)| {
                let texture = ctx.commit(DEFAULT, &tight(desc)).holds_bytes("a texture")?;
                within_described(format!("{} by {}", desc.Width, desc.Height), &texture, most)
            },
        )
    }),
];

/// Fails the check unless the description of a tight committed resource has a power of two up to `most` as its
/// alignment. Only the memory is aligned to 4 KiB at least: the description may have what a placed resource would need.
fn within_described(what: String, resource: &ID3D12Resource, most: u64) -> Verdict {
    let found = memory::desc(resource).Alignment;
    ensure!(
        found.is_power_of_two() && (MIN..=most).contains(&found),
        "{what}: expected an Alignment of {MIN} to {most}, found {found}"
    );
    Ok(String::new())
}

/// Fails the check unless the alignments of tight buffers are as expected.
fn each_alignment(ctx: &Context, expected: &str, holds: fn(u64) -> bool) -> Verdict {
    each(WIDTHS, |width| {
        let found = ctx.valid_allocation("a tight buffer", &tight_buffer(width))?.alignment;
        require(holds(found), || format!("{width} bytes: expected an Alignment of {expected}, found {found}"))
    })
}

fn never_worse(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Verdict {
    let without = ctx.valid_allocation("without the flag", desc)?;
    let with = ctx.valid_allocation("with the flag", &tight(*desc))?;
    require(with.alignment <= without.alignment, || {
        format!(
            "Width {}: Alignment {} with the flag, {} without",
            desc.Width, with.alignment, without.alignment
        )
    })?;
    require(with.size <= without.size, || {
        format!("Width {}: SizeInBytes {} with the flag, {} without", desc.Width, with.size, without.size)
    })
}

fn within(ctx: &Context, desc: &D3D12_RESOURCE_DESC, most: u64) -> Verdict {
    let found = ctx.valid_allocation("a tight texture", &tight(*desc))?.alignment;
    require((MIN..=most).contains(&found) && found.is_power_of_two(), || {
        format!("{} by {}: expected an Alignment of {MIN} to {most}, found {found}", desc.Width, desc.Height)
    })
}
