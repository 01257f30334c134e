//! Devices with wrong tile shapes, mappings and tiers.

use heapwright_d3d12::*;

use super::{WrongDevice, field, lie, wrong};
use crate::lies::{HONEST, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "the tier is 2, and volumes are taken in tiles",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 2)),
        &["tiles/the-tier-means-volumes", "layouts/volumes-in-tiles-need-tier-3"],
    ),
    wrong(
        "the tier is 3, and volumes are refused in tiles",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 3)),
        &["tiles/the-tier-means-volumes", "layouts/volumes-in-tiles-need-tier-3"],
    )
    .on("heap-tier-1"),
    wrong(
        "the tier is 3, and arrays may have packed mips",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 3)),
        &["tiles/the-tier-means-packed-arrays"],
    )
    .on("compressing"),
    wrong(
        "the tier is 4, and arrays may not have packed mips",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 4)),
        &["tiles/the-tier-means-packed-arrays"],
    ),
    wrong(
        "the sides of a tile are exchanged",
        lie!(tile_shape, |shape| {
            std::mem::swap(&mut shape.WidthInTexels, &mut shape.HeightInTexels);
        }),
        &["tiles/standard-shapes", "tiles/shapes-with-samples"],
    ),
    wrong(
        "tiles of volumes are as deep as they are wide",
        lie!(tile_shape, |shape| {
            if shape.DepthInTexels > 1 {
                shape.DepthInTexels = shape.WidthInTexels;
            }
        }),
        &["layouts/volume-tiles"],
    ),
    wrong(
        "reserved textures get the layout that they need, whatever they ask for",
        lie!(reserved, |desc| {
            if desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
                desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
            }
        }),
        &["swizzle/reserved-refused", "tiles/layout-of-a-reserved-texture"],
    )
    .on("uma"),
    wrong(
        "D3D12_TILE_RANGE_FLAG_SKIP maps to NULL",
        lie!(tile_flags, |flags| {
            if flags == D3D12_TILE_RANGE_FLAG_SKIP { D3D12_TILE_RANGE_FLAG_NULL } else { flags }
        }),
        &["tiles/skipped-tiles-stay"],
    ),
    wrong(
        "D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE maps tiles in a row",
        lie!(tile_flags, |flags| {
            if flags == D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE { D3D12_TILE_RANGE_FLAG_NONE } else { flags }
        }),
        &["tiles/one-tile-everywhere"],
    ),
    wrong(
        "D3D12_TILE_RANGE_FLAG_NULL leaves the mapping as it is",
        lie!(tile_flags, |flags| {
            if flags == D3D12_TILE_RANGE_FLAG_NULL { D3D12_TILE_RANGE_FLAG_SKIP } else { flags }
        }),
        &["tiles/mapped-tiles-become-null"],
    ),
    wrong(
        "ranges of the heap begin one tile behind where they should",
        lie!(tile_offset, |offset| offset + 1),
        &[
            "tiles/null-arrays-have-defaults",
            "tiles/ranges-cross-regions",
            "tiles/later-regions-win",
            "tiles/null-tiles-drop-writes",
        ],
    ),
    wrong(
        "CopyTileMappings begins at the first tile of both resources",
        lie!(copied_tiles, |start| start.X = 0),
        &["tiles/overlapping-mappings-are-copied"],
    ),
];
