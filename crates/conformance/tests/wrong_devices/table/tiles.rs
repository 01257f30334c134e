//! Devices with wrong tile shapes, mappings and tiers.

use heapwright_d3d12::*;

use super::{HONEST, WrongDevice, field};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "volumes-below-tier-3",
        what: "the tier is 2, and volumes are taken in tiles",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 2)),
            ..HONEST
        },
        caught_by: &["tiles/the-tier-means-volumes", "layouts/volumes-in-tiles-need-tier-3"],
    },
    WrongDevice {
        name: "tier-3-without-volumes",
        what: "the tier is 3, and volumes are refused in tiles",
        profile: "heap-tier-1",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 3)),
            ..HONEST
        },
        caught_by: &["tiles/the-tier-means-volumes", "layouts/volumes-in-tiles-need-tier-3"],
    },
    WrongDevice {
        name: "packed-arrays-below-tier-4",
        what: "the tier is 3, and arrays may have packed mips",
        profile: "compressing",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 3)),
            ..HONEST
        },
        caught_by: &["tiles/the-tier-means-packed-arrays"],
    },
    WrongDevice {
        name: "tier-4-without-packed-arrays",
        what: "the tier is 4, and arrays may not have packed mips",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 3, 4)),
            ..HONEST
        },
        caught_by: &["tiles/the-tier-means-packed-arrays"],
    },
    WrongDevice {
        name: "tiles-lie-on-their-side",
        what: "the sides of a tile are exchanged",
        profile: "discrete",
        lies: Lies {
            tile_shape: Some(|shape| {
                std::mem::swap(&mut shape.WidthInTexels, &mut shape.HeightInTexels);
            }),
            ..HONEST
        },
        caught_by: &["tiles/standard-shapes", "tiles/shapes-with-samples"],
    },
    WrongDevice {
        name: "volume-tiles-are-cubes",
        what: "tiles of volumes are as deep as they are wide",
        profile: "discrete",
        lies: Lies {
            tile_shape: Some(|shape| {
                if shape.DepthInTexels > 1 {
                    shape.DepthInTexels = shape.WidthInTexels;
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/volume-tiles"],
    },
    WrongDevice {
        name: "reserved-in-any-layout",
        what: "reserved textures get the layout that they need, whatever they ask for",
        profile: "uma",
        lies: Lies {
            reserved: Some(|desc| {
                if desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
                    desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
                }
            }),
            ..HONEST
        },
        caught_by: &["swizzle/reserved-refused", "tiles/layout-of-a-reserved-texture"],
    },
    WrongDevice {
        name: "skipped-tiles-are-unmapped",
        what: "D3D12_TILE_RANGE_FLAG_SKIP maps to NULL",
        profile: "discrete",
        lies: Lies {
            tile_flags: Some(|flags| {
                if flags == D3D12_TILE_RANGE_FLAG_SKIP { D3D12_TILE_RANGE_FLAG_NULL } else { flags }
            }),
            ..HONEST
        },
        caught_by: &["tiles/skipped-tiles-stay"],
    },
    WrongDevice {
        name: "one-tile-is-several",
        what: "D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE maps tiles in a row",
        profile: "discrete",
        lies: Lies {
            tile_flags: Some(|flags| {
                if flags == D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE {
                    D3D12_TILE_RANGE_FLAG_NONE
                } else {
                    flags
                }
            }),
            ..HONEST
        },
        caught_by: &["tiles/one-tile-everywhere"],
    },
    WrongDevice {
        name: "null-is-skipped",
        what: "D3D12_TILE_RANGE_FLAG_NULL leaves the mapping as it is",
        profile: "discrete",
        lies: Lies {
            tile_flags: Some(|flags| {
                if flags == D3D12_TILE_RANGE_FLAG_NULL { D3D12_TILE_RANGE_FLAG_SKIP } else { flags }
            }),
            ..HONEST
        },
        caught_by: &["tiles/mapped-tiles-become-null"],
    },
    WrongDevice {
        name: "ranges-begin-a-tile-late",
        what: "ranges of the heap begin one tile behind where they should",
        profile: "discrete",
        lies: Lies { tile_offset: Some(|offset| offset + 1), ..HONEST },
        caught_by: &[
            "tiles/null-arrays-have-defaults",
            "tiles/ranges-cross-regions",
            "tiles/later-regions-win",
            "tiles/null-tiles-drop-writes",
        ],
    },
    WrongDevice {
        name: "mappings-copied-from-the-first",
        what: "CopyTileMappings begins at the first tile of both resources",
        profile: "discrete",
        lies: Lies { copied_tiles: Some(|start| start.X = 0), ..HONEST },
        caught_by: &["tiles/overlapping-mappings-are-copied"],
    },
];
