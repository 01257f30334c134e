//! Section G: placement of resources and the granularity of their memory.

use heapwright_d3d12::*;

use super::{MIXED, MIXED_TILED, WITH_TEXTURES};
use crate::answer::{Stop, Verdict, skipped};
use crate::check::{Check, Need, scene};
use crate::desc::*;
use crate::scene::{ALL, GRANULE, Scene, TEXTURES, square, tiled};

const ALIAS: &str = "ALIAS, alignment granularity";
/// The documents do not define aliasing of tightly aligned resources.
const CHOICE: &str = "heapwright's choice, tight alignment and aliasing";

const TIGHT_BUFFERS: &[Need] = &[Need::TightAlignment];

pub(in crate::checks) const CHECKS: &[Check] = &[
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
