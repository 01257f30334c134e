//! Devices that report wrong footprints and tile counts.

use super::{HONEST, WrongDevice};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "rows-not-aligned",
        what: "footprints have rows of 4 bytes less than a multiple of 256",
        profile: "discrete",
        lies: Lies {
            footprints: Some(|layouts, _| {
                layouts.iter_mut().for_each(|layout| layout.Footprint.RowPitch -= 4);
            }),
            ..HONEST
        },
        caught_by: &["footprints/row-pitch", "footprints/mips", "footprints/footprint-of-a-texture"],
    },
    WrongDevice {
        name: "subresources-not-aligned",
        what: "subresources are 256 bytes behind a multiple of 512",
        profile: "discrete",
        lies: Lies {
            footprints: Some(|layouts, _| layouts.iter_mut().skip(1).for_each(|layout| layout.Offset += 256)),
            ..HONEST
        },
        caught_by: &["footprints/mips", "footprints/array"],
    },
    WrongDevice {
        name: "last-row-padded",
        what: "the total of the footprints is a multiple of 256",
        profile: "discrete",
        lies: Lies {
            footprints: Some(|_, total| *total = total.checked_next_multiple_of(256).unwrap_or(*total)),
            ..HONEST
        },
        caught_by: &["footprints/total", "footprints/buffer", "footprints/3d"],
    },
    WrongDevice {
        name: "base-offset-forgotten",
        what: "footprints begin at 0 whatever the base offset is",
        profile: "discrete",
        lies: Lies {
            footprints: Some(|layouts, _| {
                let first = layouts.first().map_or(0, |layout| layout.Offset);
                layouts.iter_mut().for_each(|layout| layout.Offset -= first);
            }),
            ..HONEST
        },
        caught_by: &["footprints/base-offset"],
    },
    WrongDevice {
        name: "tiles-miscounted",
        what: "GetResourceTiling answers one tile more",
        profile: "discrete",
        lies: Lies { tile_count: Some(|count| count + 1), ..HONEST },
        caught_by: &["tiles/buffer-tiling", "tiles/texture-tiling", "tiles/texture-tiling-with-mips"],
    },
    WrongDevice {
        name: "tiles-elsewhere",
        what: "every mapping is to tile 0 of the heap",
        profile: "discrete",
        lies: Lies { tile_offset: Some(|_| 0), ..HONEST },
        caught_by: &["tiles/mapping-is-where-it-says"],
    },
    WrongDevice {
        name: "invalid-footprints-of-nothing",
        what: "the footprints of an invalid description take 0 bytes",
        profile: "discrete",
        lies: Lies {
            footprints: Some(|_, total| {
                if *total == u64::MAX {
                    *total = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["footprints/invalid-description"],
    },
    WrongDevice {
        name: "total-alone-differs",
        what: "the total without the footprints is larger",
        profile: "discrete",
        lies: Lies {
            footprints: Some(|layouts, total| {
                if layouts.is_empty() {
                    *total += 256;
                }
            }),
            ..HONEST
        },
        caught_by: &["footprints/total-alone"],
    },
];
