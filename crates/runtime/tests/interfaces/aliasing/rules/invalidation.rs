//! Section I: invalidation and initialisation of contents.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::calls::*;
use super::scene::*;

pub(super) const ROWS: &[Row] = &[
    refused("i-1-writes-invalidate", "I-1", |scene| {
        let (one, other) = scene.strangers();
        scene.run(|list| scene.write(list, &one, 0));
        scene.run(|list| scene.write_box(list, &other, 0, TEXEL));
        scene.contents(&one, 0, HEAPWRIGHT_ALIASING_CONTENTS_INVALID)?;
        scene.refuses_run(&[("I-2", "H-1")], |list| read(scene, list, &one))
    }),
    refused("i-1-reads-invalidate", "I-1", |scene| {
        // The first is read where it is invalid, without a transition; the second, which was valid, is not any more.
        let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST));
        scene.run(|list| scene.write(list, &other, 0));
        scene.run(|list| scene.read(list, &one, 0));
        scene.contents(&other, 0, HEAPWRIGHT_ALIASING_CONTENTS_INVALID)?;
        scene.refuses(&[("I-2", "H-1")])
    }),
    refused("i-1-use-in-another-state-invalidates", "I-1", |scene| {
        // Both have the bytes, as long as both are in COMMON. Then one is read in another state, and nothing is
        // written.
        let (one, other) = scene.pair(TEXTURES | SHARED, (&square(), COPY_DEST), (&square(), COMMON));
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.transition(&one, COPY_DEST, COMMON);
        });
        scene.run(|list| {
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read(list, &other, 0);
            list.transition(&other, COPY_SOURCE, COMMON);
        });
        scene.carried(&other, 0)?;
        scene.accepts()?;
        scene.run(|list| {
            list.transition(&one, COMMON, COPY_SOURCE);
            scene.read(list, &one, 0);
        });
        scene.refuses_run(&[("I-2", "H-6")], |list| {
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read(list, &other, 0);
        })
    }),
    refused("i-2-invalid-is-read", "I-2", |scene| {
        let (one, other) = scene.strangers();
        scene.run(|list| scene.write(list, &one, 0));
        scene.run(|list| scene.write(list, &other, 0));
        scene.refuses_run(&[("I-2", "H-1")], |list| read(scene, list, &one))
    }),
    refused("i-2-invalid-bytes-are-others", "I-2", |scene| {
        // One texel is written through the other: without help all the rest would still be there.
        let (one, other) = scene.strangers();
        scene.run(|list| scene.write(list, &one, 0));
        scene.run(|list| scene.write_box(list, &other, 0, TEXEL));
        scene.run(|list| read(scene, list, &one));
        let (same, all) = scene.kept(&one, 0);
        ensure!(same < all / 16, "{same} of {all} bytes are unchanged");
        scene.refuses(&[("I-2", "H-1")])
    })
    .with(SCRAMBLING),
    refused("i-3-partial-write-of-a-render-target", "I-3", |scene| {
        let other = invalid_target(scene);
        scene.refuses_run(&[("I-3", "H-1")], |list| scene.write_box(list, &other, 0, [0, 0, 32, 32]))
    }),
    refused("i-3-a-part-of-an-invalid-texture-read-strictly", "I-3", |scene| {
        part_of_invalid(scene).refuses(&[("I-2", "H-1")])
    })
    .with(STRICT),
    refused("i-4-read-first", "I-4", |scene| {
        let heap = scene.heap(8, TARGETS);
        let texture = scene.place(&heap, 0, &target(square()), COPY_SOURCE);
        scene.refuses_run(&[("I-4", "")], |list| scene.read(list, &texture, 0))
    }),
    refused("i-4-partial-copy-first", "I-4", |scene| {
        let heap = scene.heap(8, TARGETS);
        let texture = scene.place(&heap, 0, &target(square()), COPY_DEST);
        scene.refuses_run(&[("I-4", "")], |list| scene.write_box(list, &texture, 0, TEXEL))
    }),
    refused("i-4-unordered-clear-first", "I-4", |scene| {
        unordered_clear_first(scene);
        scene.refuses(&[("I-4", "")])
    }),
    accepted("i-4-unordered-clear-first-read-mildly", "I-4", |scene| {
        unordered_clear_first(scene);
        scene.accepts()
    })
    .with(MILD),
    refused("i-5-clear-then-barrier", "I-5", |scene| {
        let (texture, view) = cleared_target(scene, &target(square()));
        scene.refuses_run(&[("I-5", "")], |list| {
            list.clear_target(view, RED);
            list.alias(None, Some(&texture));
            list.transition(&texture, RENDER_TARGET, COPY_SOURCE);
            scene.read(list, &texture, 0);
        })
    }),
    refused("i-6-a-tile-of-an-unknown-layout", "I-6", |scene| {
        let heap = scene.heap(16, TARGETS);
        let texture = scene.place(&heap, 0, &target(rgba(256, 256)), COPY_DEST);
        scene.refuses_run(&[("I-4", "I-6")], |list| scene.write_box(list, &texture, 0, [128, 0, 256, 128]))
    }),
    refused("i-6-half-of-a-tile", "I-6", |scene| {
        let heap = scene.heap(16, TARGETS);
        let texture = scene.place(&heap, 0, &tiled(target(rgba(256, 256))), COPY_DEST);
        scene.refuses_run(&[("I-4", "")], |list| scene.write_box(list, &texture, 0, [0, 0, 64, 128]))
    }),
    refused("i-7-one-mip-is-cleared", "I-7", |scene| {
        let (texture, views) = two_mips(scene);
        scene.refuses_run(&[("I-4", "I-7")], |list| {
            list.clear_target(views[0], RED);
            list.transition(&texture, RENDER_TARGET, COPY_SOURCE);
            scene.read(list, &texture, 1);
        })
    }),
    refused("i-7-depth-without-stencil", "I-7", |scene| {
        let desc = with_flags(
            with_format(rgba(64, 64), DXGI_FORMAT_D32_FLOAT_S8X24_UINT),
            D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        );
        let heap = scene.heap(16, TARGETS);
        let texture = scene.place(&heap, 0, &desc, D3D12_RESOURCE_STATE_DEPTH_WRITE);
        let view = scene.depth_view(&texture);
        scene.refuses_run(&[("I-4", "I-7")], |list| {
            list.clear_depth(view, 0.5);
            list.transition(&texture, D3D12_RESOURCE_STATE_DEPTH_WRITE, COPY_SOURCE);
            scene.read(list, &texture, 0);
            scene.read(list, &texture, 1);
        })
    }),
    refused("i-8-discard-then-read", "I-8", |scene| {
        let (texture, view) = cleared_target(scene, &target(square()));
        scene.run(|list| {
            list.clear_target(view, RED);
            list.discard(&texture, None);
            list.transition(&texture, RENDER_TARGET, COPY_SOURCE);
            scene.read(list, &texture, 0);
        });
        let brought = scene.brought(128 * 128 * 4);
        let red = brought.chunks(4).filter(|texel| *texel == [255, 0, 0, 255]).count();
        ensure!(red < 1024, "{red} of 16384 texels are unchanged after the discard");
        scene.refuses(&[("I-8", "")])
    })
    .with(SCRAMBLING),
    refused("i-8-discard-of-one-mip", "I-8", |scene| {
        // A region counts for the subresources that it names: mip 1 is not initialised.
        let (texture, _) = two_mips(scene);
        scene.refuses_run(&[("I-4", "I-7")], |list| {
            list.discard(&texture, Some(0));
            list.transition(&texture, RENDER_TARGET, COPY_DEST);
            scene.write_box(list, &texture, 1, TEXEL);
        })
    }),
    refused("i-8-discard-in-another-state", "I-8", |scene| {
        let heap = scene.heap(8, TARGETS);
        let texture = scene.place(&heap, 0, &target(square()), COMMON);
        scene.refuses_run(&[("I-8", "")], |list| list.discard(&texture, None))
    }),
    refused("i-9-unknown-layout-is-one", "I-9", |scene| {
        buffer_over_the_second_half(scene, &rgba(256, 128), COMMON);
        scene.refuses(&[("I-2", "I-9")])
    }),
    refused("i-9-tiles-in-another-state", "I-9", |scene| {
        buffer_over_the_second_half(scene, &tiled(rgba(256, 128)), COPY_SOURCE);
        scene.refuses(&[("I-2", "I-9")])
    }),
    refused("i-10-slice-0-of-the-example", "I-10", |scene| {
        let texture = example(scene, true, 0, (0, 100));
        scene.refuses_run(&[("I-2", "H-7")], |list| {
            list.transition(&texture, COMMON, COPY_SOURCE);
            scene.read_box(list, &texture, 0, TEXEL);
        })
    }),
    refused("i-10-half-a-tile-of-the-example", "I-10", |scene| {
        let texture = example(scene, true, 1, (100, 1));
        scene.refuses_run(&[("I-3", "H-7")], |list| {
            list.transition(&texture, COMMON, COPY_DEST);
            scene.write_box(list, &texture, 1, [0, 0, 64, 128]);
        })
    }),
    refused("i-10-the-example-with-an-unknown-layout", "I-10", |scene| {
        let texture = example(scene, false, 1, (0, 1));
        // Slice 1 does not begin before tile 100.
        scene.contents(&texture, 1, HEAPWRIGHT_ALIASING_CONTENTS_INVALID)?;
        scene.refuses_run(&[("I-2", "I-9")], |list| {
            list.transition(&texture, COMMON, COPY_SOURCE);
            scene.read_box(list, &texture, 1, TEXEL);
        })
    }),
    refused("i-11-hidden-memory", "I-11", |scene| {
        hidden(scene, |_, tiles| tiles);
        scene.refuses(&[("I-2", "I-11")])
    })
    .on("compressing"),
    refused("i-11-memory-behind-rows", "I-11", |scene| {
        hidden_behind_rows(scene, |_, rows| rows);
        scene.refuses(&[("I-2", "I-11")])
    })
    .on("compressing"),
    refused("i-11-packed-mips-are-one", "I-11", |scene| {
        // Less high than a tile: both mips are packed, into more than 4 tiles.
        let texture = packed_mips(scene, &rgba(1024, 64), 2);
        scene.contents(&texture, 0, HEAPWRIGHT_ALIASING_CONTENTS_INVALID)?;
        scene.refuses_run(&[("I-2", "H-7")], |list| {
            list.transition(&texture, COMMON, COPY_SOURCE);
            scene.read_box(list, &texture, 0, TEXEL);
        })
    }),
    accepted("i-12-activated-then-used", "I-12", |scene| {
        let heap = scene.heap(1, TEXTURES);
        let texture = scene.place(&heap, 0, &square(), COPY_DEST);
        scene.run(|list| {
            list.alias(None, Some(&texture));
            scene.write(list, &texture, 0);
            read(scene, list, &texture);
        });
        scene.carried(&texture, 0)?;
        scene.accepts()
    })
    .with(SIMPLE),
    refused("i-12-used-without-activation", "I-12", |scene| {
        let heap = scene.heap(1, TEXTURES);
        let texture = scene.place(&heap, 0, &square(), COPY_DEST);
        scene.refuses_run(&[("I-12", "")], |list| scene.write(list, &texture, 0))
    })
    .with(SIMPLE),
    refused("i-12-first-use-in-the-advanced-model", "I-12", |scene| {
        let heap = scene.heap(1, TEXTURES);
        let texture = scene.place(&heap, 0, &square(), COPY_DEST);
        scene.run(|list| scene.write(list, &texture, 0));
        scene.remarks(&[("I-12", "")], HEAPWRIGHT_ALIASING_SEVERITY_WARNING)
    })
    .with(PEDANTIC),
    accepted("i-13-one-after-the-other", "I-13", |scene| {
        let (one, other) = scene.strangers();
        for (texture, before) in [(&one, None), (&other, Some(&one)), (&one, Some(&other))] {
            scene.run(|list| {
                list.alias(before, Some(texture));
                scene.write(list, texture, 0);
            });
        }
        scene.accepts()
    })
    .with(SIMPLE),
    refused("i-13-two-at-a-time", "I-13", |scene| {
        let (one, other) = scene.strangers();
        scene.run(|list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
        });
        scene.run(|list| {
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        });
        scene.refuses_run(&[("I-13", "")], |list| scene.write(list, &one, 0))
    })
    .with(SIMPLE),
    refused("i-14-new-tile-is-written-in-part", "I-14", |scene| {
        let texture = remapped(scene);
        scene.refuses_run(&[("I-14", "")], |list| scene.write_box(list, &texture, 0, TEXEL))
    }),
];

/// Transitions a texture from COPY_DEST to COPY_SOURCE and reads it.
fn read(scene: &Scene, list: &List, texture: &ID3D12Resource) {
    list.transition(texture, COPY_DEST, COPY_SOURCE);
    scene.read(list, texture, 0);
}

/// Creates a render target in COPY_DEST whose contents an overlapping texture has invalidated.
fn invalid_target(scene: &Scene) -> ID3D12Resource {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST));
    scene.run(|list| scene.write(list, &other, 0));
    scene.run(|list| scene.write(list, &one, 0));
    other
}

/// Creates a render target in state RENDER_TARGET with a view.
fn cleared_target(
    scene: &Scene,
    desc: &D3D12_RESOURCE_DESC,
) -> (ID3D12Resource, D3D12_CPU_DESCRIPTOR_HANDLE) {
    let heap = scene.heap(8, TARGETS);
    let texture = scene.place(&heap, 0, desc, RENDER_TARGET);
    let view = scene.target_view(&texture, 0, 0);
    (texture, view)
}

/// Creates a render target of two mip levels with a view of each.
fn two_mips(scene: &Scene) -> (ID3D12Resource, [D3D12_CPU_DESCRIPTOR_HANDLE; 2]) {
    let desc = with_mips(target(square()), 2);
    let (texture, view) = cleared_target(scene, &desc);
    let second = scene.target_view(&texture, 1, 0);
    (texture, [view, second])
}

/// Initialises a render target with a clear through an unordered access view.
fn unordered_clear_first(scene: &Scene) {
    let state = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
    let desc = target(with_format(square(), DXGI_FORMAT_R32_UINT));
    let desc = with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let heap = scene.heap(8, TARGETS);
    let texture = scene.place(&heap, 0, &desc, state);
    scene.run(|list| scene.clear_unordered(list, &texture));
}

/// Writes a texture of two granules, then a buffer over its second granule, then reads a texel in the first granule.
fn buffer_over_the_second_half(scene: &Scene, desc: &D3D12_RESOURCE_DESC, between: D3D12_RESOURCE_STATES) {
    let heap = scene.heap(8, ALL);
    let texture = scene.place(&heap, 0, desc, COPY_DEST);
    let bytes = scene.place(&heap, 1, &buffer(GRANULE), COMMON);
    scene.run(|list| {
        scene.write(list, &texture, 0);
        list.transition(&texture, COPY_DEST, between);
    });
    scene.run(|list| scene.write(list, &bytes, 0));
    scene.run(|list| {
        if between != COPY_SOURCE {
            list.transition(&texture, between, COPY_SOURCE);
        }
        scene.read_box(list, &texture, 0, TEXEL);
    });
}

/// Sets up the example of document ALIAS: clears one of the two slices, of 100 tiles each, of a render target, leaves
/// it in COMMON, and writes a byte in each granule of a buffer over some of its tiles.
fn example(
    scene: &Scene,
    has_tiles: bool,
    slice: u32,
    (first_tile, tile_count): (u64, u64),
) -> ID3D12Resource {
    let desc = with_slices(target(rgba(1280, 1280)), 2);
    let desc = if has_tiles { tiled(desc) } else { desc };
    let heap = scene.heap(300, ALL);
    let texture = scene.place(&heap, 0, &desc, RENDER_TARGET);
    let bytes = scene.place(&heap, first_tile, &buffer(tile_count * GRANULE), COMMON);
    let view = scene.target_view(&texture, 0, slice);
    scene.run(|list| {
        list.clear_target(view, RED);
        list.transition(&texture, RENDER_TARGET, COMMON);
    });
    scene.run(|list| {
        for tile in 0..tile_count {
            list.copy_buffer((&bytes, tile * GRANULE), (scene.source(), 0), 1);
        }
    });
    texture
}

/// Writes two overlapping textures in turn, then writes and reads a texel of the first.
fn part_of_invalid(scene: &Scene) -> &Scene {
    let (one, other) = scene.strangers();
    scene.run(|list| scene.write(list, &one, 0));
    scene.run(|list| scene.write(list, &other, 0));
    scene.run(|list| {
        scene.write_box(list, &one, 0, TEXEL);
        list.transition(&one, COPY_DEST, COPY_SOURCE);
        scene.read_box(list, &one, 0, TEXEL);
    });
    scene
}

/// Clears a tiled render target with hidden memory, writes a buffer, and reads the render target. `place` computes the
/// buffer's offset from the allocation size and the size of the tiles.
fn hidden(scene: &Scene, place: fn(u64, u64) -> u64) {
    let desc = tiled(target(rgba(512, 512)));
    let (size, tiles) = (scene.size_of(&desc), 16 * GRANULE);
    if size == tiles {
        panic!("no hidden memory behind render targets");
    }
    let heap = scene.heap(size / GRANULE + 1, ALL);
    let texture = scene.place(&heap, 0, &desc, RENDER_TARGET);
    let bytes = scene.place_at(&heap, place(size, tiles), &buffer(GRANULE), COMMON, None);
    let view = scene.target_view(&texture, 0, 0);
    scene.run(|list| {
        list.clear_target(view, RED);
        list.transition(&texture, RENDER_TARGET, COMMON);
    });
    scene.run(|list| scene.write_bytes(list, &bytes, 0, 1));
    scene.run(|list| {
        list.transition(&texture, COMMON, COPY_SOURCE);
        scene.read_box(list, &texture, 0, TEXEL);
    });
}

/// As [`hidden`], with a row-major cross-adapter render target.
fn hidden_behind_rows(scene: &Scene, place: fn(u64, u64) -> u64) {
    let across = D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
    let layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    let desc = with_layout(with_flags(target(rgba(512, 512)), across), layout);
    let (size, rows) = (scene.size_of(&desc), 16 * GRANULE);
    if size == rows {
        panic!("no hidden memory behind row-major render targets");
    }
    let heap = scene.heap(size / GRANULE + 1, ALL | SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
    let texture = scene.place(&heap, 0, &desc, RENDER_TARGET);
    let bytes = with_flags(buffer(GRANULE), across);
    let bytes = scene.place_at(&heap, place(size, rows), &bytes, COMMON, None);
    let view = scene.target_view(&texture, 0, 0);
    scene.run(|list| {
        list.clear_target(view, RED);
        list.transition(&texture, RENDER_TARGET, COMMON);
    });
    scene.run(|list| scene.write_bytes(list, &bytes, 0, 1));
    scene.run(|list| {
        list.transition(&texture, COMMON, COPY_SOURCE);
        scene.read_box(list, &texture, 0, TEXEL);
    });
}

/// Writes a tiled texture of 3 mips, leaves it in COMMON, and writes a byte of a buffer over one of its tiles.
fn packed_mips(scene: &Scene, desc: &D3D12_RESOURCE_DESC, tile: u64) -> ID3D12Resource {
    let desc = with_mips(tiled(*desc), 3);
    let heap = scene.heap(16, ALL);
    let texture = scene.place(&heap, 0, &desc, COPY_DEST);
    let bytes = scene.place(&heap, tile, &buffer(GRANULE), COMMON);
    scene.run(|list| {
        for mip in 0..3 {
            scene.write(list, &texture, mip);
        }
        list.transition(&texture, COPY_DEST, COMMON);
    });
    scene.run(|list| scene.write_bytes(list, &bytes, 0, 1));
    texture
}

/// Creates a valid reserved render target of one tile in COPY_DEST and maps its tile to other memory.
fn remapped(scene: &Scene) -> ID3D12Resource {
    let heap = scene.heap(4, TARGETS);
    let texture = scene.reserve(&tiled(target(square())), COPY_DEST);
    scene.map_tiles(&texture, 1, &heap, 0);
    scene.run(|list| scene.write(list, &texture, 0));
    scene.map_tiles(&texture, 1, &heap, 2);
    texture
}
