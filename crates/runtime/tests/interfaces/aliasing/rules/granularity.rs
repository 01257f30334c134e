//! Section G: placement of resources and the granularity of their memory.

use heapwright_d3d12::*;

use super::scene::*;

pub(super) const ROWS: &[Row] = &[
    refused("g-7-one-granule-in-common", "G-7", |scene| {
        let heap = scene.heap(3, TEXTURES);
        let one = scene.place(&heap, 0, &rgba(256, 128), COPY_DEST);
        let other = scene.place(&heap, 1, &rgba(128, 256), COPY_DEST);
        scene.refuses_run(&[("B-1", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
        })
    }),
    refused("g-8-buffer-owns-the-granule", "G-8", |scene| {
        small_and_buffer(scene, 0, &buffer(16));
        scene.refuses(&[("I-2", "G-8")])
    }),
    refused("g-9-one-byte-takes-the-granule", "G-9", |scene| {
        // The last texel of the tile is 64 KiB away from the byte that was written.
        one_byte(scene, [127, 127, 128, 128]);
        scene.refuses(&[("I-2", "H-7")])
    }),
    refused("g-10-tight-buffer-beside-a-small-texture", "G-10", |scene| {
        small_and_buffer(scene, 0, &tight_buffer(256));
        scene.refuses(&[("I-2", "G-8")])
    }),
];

/// A texture of 4 KiB with an alignment of 4 KiB.
fn small_texture() -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Alignment: 4 * KIB, ..rgba(32, 32) }
}

fn small_at(scene: &Scene, heap: &ID3D12Heap, offset: u64) -> ID3D12Resource {
    assert_eq!(scene.alignment_of(&small_texture()), 4 * KIB, "small textures");
    scene.place_at(heap, offset, &small_texture(), COPY_DEST, None)
}

/// Writes a small texture in the last 4 KiB of a granule, then a byte of a buffer elsewhere, then reads the texture.
fn small_and_buffer(scene: &Scene, buffer_offset: u64, desc: &D3D12_RESOURCE_DESC) {
    let heap = scene.heap(2, ALL);
    let small = small_at(scene, &heap, 60 * KIB);
    let buffer = scene.place_at(&heap, buffer_offset, desc, COMMON, None);
    scene.run(|list| scene.write(list, &small, 0));
    scene.run(|list| scene.write_bytes(list, &buffer, 0, 1));
    scene.run(|list| {
        list.transition(&small, COPY_DEST, COPY_SOURCE);
        scene.read(list, &small, 0);
    });
}

/// Writes a texture of two tiles, then the first byte of a buffer over its first tile, then reads texels of the
/// texture.
fn one_byte(scene: &Scene, rect: Rect) {
    let desc = tiled(rgba(256, 128));
    let (texture, bytes) = scene.pair(ALL, (&desc, COPY_DEST), (&buffer(GRANULE), COMMON));
    scene.run(|list| {
        scene.write(list, &texture, 0);
        list.transition(&texture, COPY_DEST, COMMON);
    });
    scene.run(|list| scene.write_bytes(list, &bytes, 0, 1));
    scene.run(|list| {
        list.transition(&texture, COMMON, COPY_SOURCE);
        scene.read_box(list, &texture, 0, rect);
    });
}
