//! Devices that report wrong footprints and tile counts.

use super::wrong_devices;

wrong_devices! {
    "footprints have rows of 4 bytes less than a multiple of 256":
        footprints = |layouts, _| layouts.iter_mut().for_each(|layout| layout.Footprint.RowPitch -= 4)
        => "footprints/row-pitch", "footprints/mips", "footprints/footprint-of-a-texture";
    "subresources are 256 bytes behind a multiple of 512":
        footprints = |layouts, _| layouts.iter_mut().skip(1).for_each(|layout| layout.Offset += 256)
        => "footprints/mips", "footprints/array";
    "the total of the footprints is a multiple of 256":
        footprints = |_, total| *total = total.checked_next_multiple_of(256).unwrap_or(*total)
        => "footprints/total", "footprints/buffer", "footprints/3d";
    "footprints begin at 0 whatever the base offset is": footprints = |layouts, _| {
        let first = layouts.first().map_or(0, |layout| layout.Offset);
        layouts.iter_mut().for_each(|layout| layout.Offset -= first);
    } => "footprints/base-offset";
    "GetCopyableFootprints answers all ones": refused_footprints = |_| true
        => "copies/line-whole", "copies/volume-whole", "aliasing/i-2-valid-is-read", "footprints/total";
    "a footprint has 2^31 rows of texels":
        footprints = |layouts, _| layouts.iter_mut().for_each(|layout| layout.Footprint.Depth = 1 << 31)
        => "copies/volume-whole";
    "a footprint ends beyond the total":
        footprints = |layouts, _| layouts.iter_mut().for_each(|layout| layout.Footprint.RowPitch = 1 << 31)
        => "copies/volume-whole";
    "the footprints take 16 EiB": footprints = |_, total| *total = u64::MAX - 1
        => "copies/line-whole", "copies/volume-whole";
    "GetResourceTiling answers one tile more": tile_count = |count| count + 1
        => "tiles/buffer-tiling", "tiles/texture-tiling", "tiles/texture-tiling-with-mips";
    "every mapping is to tile 0 of the heap": tile_offset = |_| 0 => "tiles/mapping-is-where-it-says";
    "the footprints of an invalid description take 0 bytes": footprints = |_, total| {
        if *total == u64::MAX {
            *total = 0;
        }
    } => "footprints/invalid-description";
    "the total without the footprints is larger": footprints = |layouts, total| {
        if layouts.is_empty() {
            *total += 256;
        }
    } => "footprints/total-alone";
}
