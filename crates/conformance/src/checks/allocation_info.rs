//! `GetResourceAllocationInfo` and its successors: sizes, alignments, and the layout of several resources.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, each, ensure, require, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::device::{self, upgrade};
use crate::context::{Allocation, Context};
use crate::desc::{DEFAULT, KIB, MIB, aligned, buffer, multisampled, rgba, tight, tight_buffer};

const INFO: &str = "Learn, ID3D12Device::GetResourceAllocationInfo";
const ORDER: &str = "TIGHT, Runtime changes, the structure-layout algorithm";
const INVALID: &str = "Learn, ID3D12Device::GetResourceAllocationInfo, UINT64_MAX";
const EXAMPLE: &str = "TIGHT, Runtime changes, the 6 MiB and 4 MiB example";
const INFO1: &str = "Learn, D3D12_RESOURCE_ALLOCATION_INFO1";
const OFFSET: &str = "Learn, D3D12_RESOURCE_ALLOCATION_INFO1::Offset";
const IDEMPOTENCY: &str = "TIGHT, HLK tests, idempotency";
const DEFAULT_SIZE: &str = "TIGHT, FAQ, Can this be the default behavior?";
const WHOLE: &str = "Learn, ID3D12Device4::GetResourceAllocationInfo1";

const WIDTHS: [u64; 12] =
    [1, 7, 255, 256, 1000, 4096, 65_535, 65_536, 65_537, 1_000_000, 16 * MIB, 100 * MIB + 1];

pub(super) const CHECKS: &[Check] = &[
    check("allocation-info/buffers-are-aligned-to-64-kib", "TIGHT, Background", &[], |ctx| {
        each(WIDTHS, |width| {
            let found = ctx.valid_allocation("a buffer", &buffer(width))?;
            require_eq(format!("Alignment of {width} bytes"), found.alignment, 64 * KIB)
        })
    }),
    check("allocation-info/buffers-are-sized-to-64-kib", DEFAULT_SIZE, &[], |ctx| {
        each(WIDTHS, |width| {
            let found = ctx.valid_allocation("a buffer", &buffer(width))?;
            let expected = width.next_multiple_of(64 * KIB);
            require_eq(format!("SizeInBytes of {width} bytes"), found.size, expected)
        })
    }),
    check("allocation-info/explicit-64-kib-is-the-default", INFO, &[], |ctx| {
        let explicit = aligned(buffer(1000), 64 * KIB);
        require_eq("with Alignment 64 KiB", ctx.allocation(&[explicit]), ctx.allocation(&[buffer(1000)]))
    }),
    check("allocation-info/no-descriptions", INVALID, &[], |ctx| {
        let found = ctx.allocation(&[]).size;
        require([0, u64::MAX].contains(&found), || {
            format!("SizeInBytes without descriptions: expected 0 or UINT64_MAX, found {found:#x}")
        })?;
        Ok(format!("{found:#x}"))
    }),
    validation("allocation-info/one-invalid-spoils-all", INVALID, &[], |ctx| {
        each(0..3, |place| {
            let mut descs = [buffer(256); 3];
            descs[place].Width = 0;
            let found = ctx.allocation(&descs).size;
            require(found == u64::MAX, || {
                format!("description {place} of 3 is invalid: expected UINT64_MAX, found {found:#x}")
            })
        })
    }),
    validation("allocation-info/visible-mask-out-of-range", INVALID, &[], |ctx| {
        let beyond = 1_u32.checked_shl(device::node_count(ctx.device())).unwrap_or(0);
        let found: Allocation = device::allocation_info(ctx.device(), beyond, &[buffer(256)]).into();
        require(found.size == u64::MAX, || {
            format!("visibleMask {beyond:#x}: expected UINT64_MAX, found {:#x}", found.size)
        })?;
        Ok(format!("UINT64_MAX for {beyond:#x}"))
    }),
    check("allocation-info/visible-mask-of-the-first-node", INFO, &[], |ctx| {
        let one: Allocation = device::allocation_info(ctx.device(), 1, &[buffer(256)]).into();
        require_eq("visibleMask 1 against 0", one, ctx.allocation(&[buffer(256)]))
    }),
    check("allocation-info/asking-changes-nothing", IDEMPOTENCY, &[], |ctx| {
        for width in WIDTHS {
            let first = ctx.allocation(&[buffer(width)]);
            for _ in 0..8 {
                require_eq(format!("{width} bytes, queried again"), ctx.allocation(&[buffer(width)]), first)?;
            }
        }
        Ok(format!("{} widths, 9 times each", WIDTHS.len()))
    }),
    check("allocation-info/does-not-depend-on-what-lives", IDEMPOTENCY, &[], |ctx| {
        let before = ctx.allocation(&[buffer(1000)]);
        let held = ctx.commit(DEFAULT, &buffer(1000)).holds_bytes("1000 bytes")?;
        require_eq("with a buffer alive", ctx.allocation(&[buffer(1000)]), before)?;
        drop(held);
        Ok("unchanged".to_owned())
    }),
    check("allocation-info/says-what-a-heap-must-hold", INFO, &[], |ctx| {
        each([1, 1000, 65_537, 300_000], |width| {
            let found = ctx.valid_allocation("a buffer", &buffer(width))?;
            let heap = ctx
                .create_heap(&crate::desc::buffer_heap(DEFAULT, found.size))
                .ok("a heap of SizeInBytes")?;
            ctx.place(&heap, 0, &buffer(width)).holds_bytes(format!("{width} bytes in {}", found.size))
        })
    }),
    check("allocation-info/several-are-a-structure", ORDER, &[], |ctx| {
        structure(ctx, &[buffer(1), buffer(65_536), buffer(65_537), buffer(1000)])
    }),
    check("allocation-info/tight-and-default-are-a-structure", ORDER, &[Need::TightAlignment], |ctx| {
        structure(
            ctx,
            &[tight_buffer(256), buffer(1), tight_buffer(65_536), tight_buffer(512), buffer(100_000)],
        )
    }),
    check("allocation-info/textures-and-buffers-are-a-structure", ORDER, &[Need::Textures], |ctx| {
        structure(ctx, &[buffer(1), rgba(300, 200), multisampled(512, 512, 4), buffer(65_537)])
    }),
    check("allocation-info/order-changes-the-size", EXAMPLE, &[Need::TightAlignment], |ctx| {
        order(ctx, tight_buffer(256), buffer(64 * KIB))
    }),
    check("allocation-info/order-changes-the-size-with-msaa", EXAMPLE, &[Need::Textures], |ctx| {
        order(ctx, buffer(64 * KIB), multisampled(1024, 1024, 4))
    }),
    check("allocation-info/alignment-is-the-largest", ORDER, &[Need::TightAlignment], |ctx| {
        each([[tight_buffer(8), buffer(8)], [buffer(8), tight_buffer(8)]], |descs| {
            require_eq("Alignment", ctx.allocation(&descs).alignment, 64 * KIB)
        })
    }),
    check("allocation-info/info1-whole-agrees", WHOLE, &[], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let descs = [buffer(1000), buffer(65_537), buffer(1)];
        let (whole, _) = device::allocation_info1(&newer, &descs);
        require_eq("the whole", whole.into(), ctx.allocation(&descs))?;
        let without = device::allocation_info1_whole(&newer, &descs);
        require_eq("with pResourceAllocationInfo1 null", without.into(), ctx.allocation(&descs))
    }),
    check("allocation-info/info1-offsets", OFFSET, &[], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let descs = [buffer(1000), buffer(65_537), buffer(1), buffer(1)];
        let (_, parts) = device::allocation_info1(&newer, &descs);
        let offsets: Vec<u64> = parts.iter().map(|part| part.Offset).collect();
        require_eq("offsets", offsets, vec![0, 64 * KIB, 192 * KIB, 256 * KIB])
    }),
    check("allocation-info/info1-parts-do-not-overlap", INFO1, &[Need::TightAlignment], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let small = tight(rgba(4, 4));
        let buffers = [tight_buffer(100), buffer(1), tight_buffer(1), tight_buffer(70_000), buffer(5)];
        // Whichever of the two is aligned more, it comes before the other once.
        let mixed = [tight_buffer(8), small, tight_buffer(8), tight_buffer(1000), small, small, buffer(1)];
        let descs = if ctx.caps().textures { &mixed[..] } else { &buffers[..] };
        each([&buffers[..], descs], |descs| {
            let (whole, parts) = device::allocation_info1(&newer, descs);
            let mut end = 0;
            for (desc, part) in descs.iter().zip(&parts) {
                let is_aligned =
                    part.Alignment.is_power_of_two() && part.Offset.is_multiple_of(part.Alignment);
                let is_apart = part.Offset >= end && part.SizeInBytes >= bytes_of(desc);
                ensure!(is_aligned && is_apart, "{part:?} after {end:#x}, of {} bytes", bytes_of(desc));
                end = part.Offset + part.SizeInBytes;
            }
            require(end <= whole.SizeInBytes, || {
                format!("the last resource ends at {end:#x}, beyond the total of {:#x}", whole.SizeInBytes)
            })
        })
    }),
    check("allocation-info/info1-parts-agree-with-single-answers", INFO1, &[], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let descs = [buffer(1000), buffer(65_537), buffer(1)];
        let (_, parts) = device::allocation_info1(&newer, &descs);
        each(descs.iter().zip(&parts), |(desc, part)| {
            let found = Allocation { size: part.SizeInBytes, alignment: part.Alignment };
            require_eq(format!("{} bytes", desc.Width), found, ctx.allocation(&[*desc]))
        })
    }),
    check("allocation-info/info1-offsets-are-places", OFFSET, &[], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let one = if ctx.caps().tight_alignment_tier > 0 { tight_buffer(1000) } else { buffer(1000) };
        let descs = [one, buffer(65_537), one, one];
        let (whole, parts) = device::allocation_info1(&newer, &descs);
        let heap = ctx
            .create_heap(&crate::desc::buffer_heap(DEFAULT, whole.SizeInBytes))
            .ok("a heap for the whole")?;
        each(descs.iter().zip(&parts), |(desc, part)| {
            ctx.place(&heap, part.Offset, desc).holds_bytes(format!("at the offset {:#x}", part.Offset))
        })
    }),
    check("allocation-info/info2-agrees", "Learn, ID3D12Device8::GetResourceAllocationInfo2", &[], |ctx| {
        let (four, eight): (ID3D12Device4, ID3D12Device8) =
            (ctx.interface("ID3D12Device4")?, ctx.interface("ID3D12Device8")?);
        let descs = [buffer(1000), buffer(65_537), buffer(1)];
        let older = device::allocation_info1(&four, &descs);
        let newer = device::allocation_info2(&eight, &descs.map(|desc| upgrade(&desc)));
        require(older == newer, || {
            format!("GetResourceAllocationInfo1 returns {older:?}, GetResourceAllocationInfo2 {newer:?}")
        })
    }),
    check("allocation-info/info3-agrees", "Learn, ID3D12Device12::GetResourceAllocationInfo3", &[], |ctx| {
        let (eight, twelve): (ID3D12Device8, ID3D12Device12) =
            (ctx.interface("ID3D12Device8")?, ctx.interface("ID3D12Device12")?);
        let descs = [buffer(1000), buffer(65_537), buffer(1)].map(|desc| upgrade(&desc));
        let older = device::allocation_info2(&eight, &descs);
        let newer = device::allocation_info3(&twelve, &descs);
        require(older == newer, || {
            format!("GetResourceAllocationInfo2 returns {older:?}, GetResourceAllocationInfo3 {newer:?}")
        })
    }),
    validation("allocation-info/newer-calls-refuse-the-same", INVALID, &[], |ctx| {
        let (four, eight): (ID3D12Device4, ID3D12Device8) =
            (ctx.interface("ID3D12Device4")?, ctx.interface("ID3D12Device8")?);
        let descs = [buffer(256), buffer(0)];
        let (older, _) = device::allocation_info1(&four, &descs);
        let (newer, _) = device::allocation_info2(&eight, &descs.map(|desc| upgrade(&desc)));
        each([("1", older), ("2", newer)], |(call, found)| {
            require(found.SizeInBytes == u64::MAX, || {
                format!(
                    "GetResourceAllocationInfo{call}: expected UINT64_MAX, found {:#x}",
                    found.SizeInBytes
                )
            })
        })
    }),
    check("allocation-info/many-descriptions", ORDER, &[], |ctx| {
        let descs = vec![buffer(1); 1000];
        let found = ctx.allocation(&descs);
        require_eq("1000 buffers of 1 byte", found, Allocation { size: 1000 * 64 * KIB, alignment: 64 * KIB })
    }),
];

/// Returns the size of a buffer, or of the texels of a texture with 4 bytes each.
fn bytes_of(desc: &D3D12_RESOURCE_DESC) -> u64 {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        desc.Width
    } else {
        desc.Width * u64::from(desc.Height) * 4
    }
}

/// Applies the structure-layout algorithm to the allocation info of the single descriptions.
fn expected(ctx: &Context, descs: &[D3D12_RESOURCE_DESC]) -> Result<Allocation, Stop> {
    let (mut end, mut alignment) = (0_u64, 1_u64);
    for desc in descs {
        let part = ctx.valid_allocation("one of several", desc)?;
        ensure!(part.alignment.is_power_of_two(), "Alignment {} is not a power of two", part.alignment);
        end = end.next_multiple_of(part.alignment) + part.size;
        alignment = alignment.max(part.alignment);
    }
    Ok(Allocation { size: end.next_multiple_of(alignment), alignment })
}

/// Fails the check unless rotations of the descriptions are laid out like the members of a structure.
fn structure(ctx: &Context, descs: &[D3D12_RESOURCE_DESC]) -> Verdict {
    let mut order = descs.to_vec();
    let mut sizes = Vec::new();
    for _ in 0..descs.len() {
        let found = ctx.allocation(&order);
        require_eq("several descriptions", found, expected(ctx, &order)?)?;
        sizes.push(found.size);
        order.rotate_left(1);
    }
    Ok(format!("{} orders, sizes {sizes:?}", sizes.len()))
}

/// Fails the check unless a large resource costs more padding between two small ones than after them.
fn order(ctx: &Context, small: D3D12_RESOURCE_DESC, large: D3D12_RESOURCE_DESC) -> Verdict {
    let (one, other) =
        (ctx.valid_allocation("the small one", &small)?, ctx.valid_allocation("the large one", &large)?);
    if one.alignment >= other.alignment || 2 * one.size > other.alignment {
        return crate::answer::skipped(format!(
            "both are aligned alike: {} and {}",
            one.alignment, other.alignment
        ));
    }
    let middle = ctx.allocation(&[small, large, small]);
    let last = ctx.allocation(&[small, small, large]);
    require_eq("alignments", (middle.alignment, last.alignment), (other.alignment, other.alignment))?;
    require_eq("the large one in the middle", middle.size, 2 * other.alignment + other.size)?;
    require_eq("the large one at the end", last.size, other.alignment + other.size)?;
    Ok(format!("{} bytes in the middle, {} at the end", middle.size, last.size))
}
