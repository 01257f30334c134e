//! Devices with wrong tile shapes, mappings and tiers.

use heapwright_d3d12::*;

use super::wrong_devices;

wrong_devices! {
    "the tier is 2, and volumes are taken in tiles": field = (D3D12_FEATURE_D3D12_OPTIONS, 3, 2)
        => "tiles/the-tier-means-volumes", "layouts/volumes-in-tiles-need-tier-3";
    "the tier is 3, and volumes are refused in tiles" on "heap-tier-1":
        field = (D3D12_FEATURE_D3D12_OPTIONS, 3, 3)
        => "tiles/the-tier-means-volumes", "layouts/volumes-in-tiles-need-tier-3";
    "the tier is 3, and arrays may have packed mips" on "compressing":
        field = (D3D12_FEATURE_D3D12_OPTIONS, 3, 3) => "tiles/the-tier-means-packed-arrays";
    "the tier is 4, and arrays may not have packed mips": field = (D3D12_FEATURE_D3D12_OPTIONS, 3, 4)
        => "tiles/the-tier-means-packed-arrays";
    "the sides of a tile are exchanged":
        tile_shape = |shape| std::mem::swap(&mut shape.WidthInTexels, &mut shape.HeightInTexels)
        => "tiles/standard-shapes", "tiles/shapes-with-samples";
    "tiles of volumes are as deep as they are wide": tile_shape = |shape| {
        if shape.DepthInTexels > 1 {
            shape.DepthInTexels = shape.WidthInTexels;
        }
    } => "layouts/volume-tiles";
    "reserved textures get the layout that they need, whatever they ask for" on "uma": reserved = |desc| {
        if desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
            desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
        }
    } => "swizzle/reserved-refused", "tiles/layout-of-a-reserved-texture";
    "D3D12_TILE_RANGE_FLAG_SKIP maps to NULL": tile_flags = |flags| {
        if flags == D3D12_TILE_RANGE_FLAG_SKIP { D3D12_TILE_RANGE_FLAG_NULL } else { flags }
    } => "tiles/skipped-tiles-stay";
    "D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE maps tiles in a row": tile_flags = |flags| {
        if flags == D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE { D3D12_TILE_RANGE_FLAG_NONE } else { flags }
    } => "tiles/one-tile-everywhere";
    "D3D12_TILE_RANGE_FLAG_NULL leaves the mapping as it is": tile_flags = |flags| {
        if flags == D3D12_TILE_RANGE_FLAG_NULL { D3D12_TILE_RANGE_FLAG_SKIP } else { flags }
    } => "tiles/mapped-tiles-become-null";
    "ranges of the heap begin one tile behind where they should": tile_offset = |offset| offset + 1
        => "tiles/null-arrays-have-defaults", "tiles/ranges-cross-regions", "tiles/later-regions-win",
           "tiles/null-tiles-drop-writes";
    "CopyTileMappings begins at the first tile of both resources": copied_tiles = |start| start.X = 0
        => "tiles/overlapping-mappings-are-copied";
}
