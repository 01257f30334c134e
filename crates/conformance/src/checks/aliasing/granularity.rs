//! Section G: placement of resources and the granularity of their memory.

use heapwright_d3d12::*;

use super::{MIXED, MIXED_TILED, WITH_TEXTURES};
use crate::answer::{Stop, Verdict, each, require, require_eq, skipped};
use crate::check::{Check, Need, check, scene, validation};
use crate::com::device::Home;
use crate::context::Context;
use crate::desc::*;
use crate::scene::{ALL, GRANULE, Scene, TARGETS, TEXTURES, square, target, tiled};

const PLACED: &str = "Learn, ID3D12Device::CreatePlacedResource";
const INFO: &str = "Learn, ID3D12Device::GetResourceAllocationInfo";
const ALIAS: &str = "ALIAS, alignment granularity";
/// The documents do not define aliasing of tightly aligned resources.
const CHOICE: &str = "heapwright's choice, tight alignment and aliasing";
const ALIGNMENT: &str = "Learn, D3D12_RESOURCE_DESC::Alignment";
const TIER: &str = "Learn, D3D12_RESOURCE_HEAP_TIER";

const YES: &[Need] = &[Need::Textures];
const TIGHT_BUFFERS: &[Need] = &[Need::TightAlignment];
const TIER_2: &[Need] = &[Need::Textures, Need::HeapTier2];
pub(in crate::checks) const CHECKS: &[Check] = &[
    check("aliasing/g-1-offset-at-the-alignment", PLACED, YES, |ctx| {
        let alignment = multisampled_at(ctx, |alignment| alignment)?;
        Ok(format!("offset {alignment:#x}"))
    }),
    validation("aliasing/g-1-offset-beside-the-alignment", PLACED, YES, |ctx| {
        let desc = multisampled(1024, 1024, 4);
        let alignment = ctx.valid_allocation("4 samples", &desc)?.alignment;
        let heap = ctx.create_heap(&target_heap(32 * MIB)).ok("32 MiB")?;
        let home = Home::Placed(&heap, alignment / 2);
        ctx.create_resource(home, &desc, RENDER_TARGET, None)
            .refused(format!("half of the alignment {alignment:#x}"))
    }),
    check("aliasing/g-2-end-is-the-end-of-the-heap", PLACED, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 2 * GRANULE)).ok("128 KiB")?;
        ctx.place(&heap, GRANULE, &buffer(GRANULE)).taken("the second half")
    }),
    validation("aliasing/g-2-beyond-the-heap", PLACED, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 2 * GRANULE)).ok("128 KiB")?;
        ctx.place(&heap, GRANULE, &buffer(GRANULE + 1)).refused("a byte more than the second half")
    }),
    check("aliasing/g-3-buffers-are-whole-granules", INFO, &[], |ctx| {
        each([(1, GRANULE), (GRANULE, GRANULE), (GRANULE + 1, 2 * GRANULE)], |(width, size)| {
            let found = ctx.valid_allocation("a buffer", &buffer(width))?;
            require_eq(format!("SizeInBytes of a buffer of {width}"), found.size, size)
        })
    }),
    validation("aliasing/g-3-less-than-the-adapter-says", INFO, YES, |ctx| {
        let desc = rgba(512, 512);
        let size = ctx.valid_allocation("a texture", &desc)?.size;
        let heap = ctx.create_heap(&texture_heap(size - GRANULE)).ok("a heap smaller than the resource")?;
        ctx.place(&heap, 0, &desc).refused(format!("{size} bytes in a heap 64 KiB smaller"))?;
        Ok(format!("{size} bytes in a heap 64 KiB smaller"))
    }),
    check("aliasing/g-4-largest-alignment-at-an-end", INFO, YES, |ctx| {
        let (small, large) = small_and_large(ctx)?;
        let last = ctx.allocation(&[small, small, large]);
        let size = ctx.valid_allocation("the large one", &large)?.size;
        require_eq("SizeInBytes", last.size, last.alignment + size)?;
        Ok(format!("{} bytes", last.size))
    }),
    validation("aliasing/g-4-largest-alignment-in-the-middle", INFO, YES, |ctx| {
        let (small, large) = small_and_large(ctx)?;
        let size = ctx.valid_allocation("the large one", &large)?.size;
        let middle = ctx.allocation(&[small, large, small]);
        require(middle.size > middle.alignment + size, || {
            format!("{} bytes: too small for a resource on each side of the large one", middle.size)
        })?;
        Ok(format!("{} bytes", middle.size))
    }),
    check("aliasing/g-5-small-textures-at-4-kib", "TIGHT, Background", YES, |ctx| {
        let desc = small_texture();
        let found = ctx.valid_allocation("Alignment 4 KiB", &desc)?;
        if found.alignment != 4 * KIB {
            return skipped("the device aligns small textures to 64 KiB");
        }
        let heap = ctx.create_heap(&texture_heap(GRANULE)).ok("64 KiB")?;
        ctx.place(&heap, 4 * KIB, &desc).taken("offset 4 KiB")
    }),
    validation("aliasing/g-5-render-targets-are-not-small", ALIGNMENT, YES, |ctx| {
        let desc = aligned(render_target(16, 16), 4 * KIB);
        let heap = ctx.create_heap(&target_heap(MIB)).ok("1 MiB")?;
        let home = Home::Placed(&heap, 4 * KIB);
        ctx.create_resource(home, &desc, RENDER_TARGET, None).refused("a render target at 4 KiB")
    }),
    check("aliasing/g-6-one-heap-for-all-on-tier-2", TIER, TIER_2, |ctx| {
        let desc = D3D12_HEAP_DESC { Flags: ALL, ..buffer_heap(DEFAULT, 4 * MIB) };
        let heap = ctx.create_heap(&desc).ok("ALLOW_ALL_BUFFERS_AND_TEXTURES")?;
        each((0..).zip([buffer(GRANULE), square(), target(square())]), |(place, desc)| {
            ctx.place(&heap, place * MIB, &desc).ok("each of the three kinds")
        })
    }),
    validation("aliasing/g-6-another-kind-than-the-heaps", TIER, YES, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 4 * MIB)).ok("for buffers")?;
        ctx.place(&heap, 0, &square()).refused("a texture in a heap for buffers")?;
        ctx.place(&heap, 0, &target(square())).refused("a render target in a heap for buffers")
    }),
    scene("aliasing/g-7-neighbours-touch", ALIAS, WITH_TEXTURES, |scene| {
        let heap = scene.heap(2, TEXTURES)?;
        let one = scene.place(&heap, 0, &square(), COPY_DEST)?;
        let other = scene.place(&heap, 1, &square(), COPY_DEST)?;
        survives(scene, &one, &other)
    }),
    scene("aliasing/g-8-small-textures-side-by-side", ALIAS, WITH_TEXTURES, |scene| {
        let heap = scene.heap(1, TEXTURES)?;
        let one = small_at(scene, &heap, 0)?;
        let other = small_at(scene, &heap, 4 * KIB)?;
        survives(scene, &one, &other)
    }),
    scene("aliasing/g-8-small-texture-before-a-buffer", ALIAS, MIXED, |scene| {
        let heap = scene.heap(2, ALL)?;
        let small = small_at(scene, &heap, 60 * KIB)?;
        let bytes = scene.place(&heap, 1, &buffer(16), COMMON)?;
        scene.run(|list| scene.write(list, &small, 0))?;
        scene.run(|list| scene.write(list, &bytes, 0))?;
        scene.returns(&small, 0, COPY_DEST)
    }),
    scene("aliasing/g-9-other-granules-stay", ALIAS, MIXED_TILED, |scene| {
        // A byte in the first tile of a texture of two tiles.
        let desc = tiled(rgba(256, 128));
        let (texture, bytes) = scene.pair(ALL, (&desc, COPY_DEST), (&buffer(GRANULE), COMMON))?;
        scene.run(|list| {
            scene.write(list, &texture, 0);
            list.transition(&texture, COPY_DEST, COMMON);
        })?;
        scene.run(|list| scene.write_bytes(list, &bytes, 0, 1))?;
        scene.returns_part(&texture, 0, COMMON, [128, 0, 256, 128])
    }),
    scene("aliasing/g-10-tight-buffers-side-by-side", CHOICE, TIGHT_BUFFERS, |scene| {
        let heap = scene.heap(1, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS)?;
        let size = scene.ctx.valid_allocation("a tight buffer", &tight_buffer(256))?.size;
        let one = scene.place_at(&heap, 0, &tight_buffer(256), COMMON, None)?;
        let other = scene.place_at(&heap, size, &tight_buffer(256), COMMON, None)?;
        survives(scene, &one, &other)
    }),
];

/// Fails the check unless a resource in COPY_DEST has its bytes after another one was written.
fn survives(scene: &Scene<'_>, one: &ID3D12Resource, other: &ID3D12Resource) -> Verdict {
    scene.run(|list| {
        scene.write(list, one, 0);
        scene.write(list, other, 0);
        list.transition(one, COPY_DEST, COPY_SOURCE);
        scene.read(list, one, 0);
    })?;
    scene.carried(one, 0)
}

/// A heap for multisampled render targets.
fn target_heap(size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties(DEFAULT), Alignment: 4 * MIB, Flags: TARGETS }
}

/// Places a multisampled render target at an offset computed from its alignment. Returns the alignment.
fn multisampled_at(ctx: &Context, offset: fn(u64) -> u64) -> Result<u64, Stop> {
    let desc = multisampled(1024, 1024, 4);
    let found = ctx.valid_allocation("4 samples", &desc)?;
    let heap =
        ctx.create_heap(&target_heap(offset(found.alignment) + found.size)).ok("a heap for one texture")?;
    let home = Home::Placed(&heap, offset(found.alignment));
    ctx.create_resource(home, &desc, RENDER_TARGET, None).ok(format!("at {:#x}", found.alignment))?;
    Ok(found.alignment)
}

/// Returns two descriptions, of which the second has the larger alignment.
fn small_and_large(ctx: &Context) -> Result<(D3D12_RESOURCE_DESC, D3D12_RESOURCE_DESC), Stop> {
    let (small, large) = (rgba(16, 16), multisampled(512, 512, 4));
    let (one, other) = (ctx.valid_allocation("small", &small)?, ctx.valid_allocation("large", &large)?);
    if one.alignment >= other.alignment {
        return skipped(format!("both are aligned to {:#x}", one.alignment));
    }
    Ok((small, large))
}

/// A texture of 4 KiB with an alignment of 4 KiB.
fn small_texture() -> D3D12_RESOURCE_DESC {
    aligned(rgba(32, 32), 4 * KIB)
}

fn small_at(scene: &Scene<'_>, heap: &ID3D12Heap, offset: u64) -> Result<ID3D12Resource, Stop> {
    if scene.ctx.allocation(&[small_texture()]).alignment != 4 * KIB {
        return skipped("the device aligns small textures to 64 KiB");
    }
    scene.place_at(heap, offset, &small_texture(), COPY_DEST, None)
}
