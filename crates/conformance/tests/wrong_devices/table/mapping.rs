//! Devices that map wrong memory.

use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;

use super::{HONEST, KIB_4, WrongDevice};
use crate::lies::{Lies, Map};

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "default-is-mapped",
        what: "Map of a DEFAULT buffer succeeds",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if map.hresult.is_err() {
                    (map.hresult, map.start) = (S_OK, map.elsewhere);
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "mapping/default-refused",
            "mapping/placed-default-refused",
            "mapping/volume-of-mips-without-a-pointer-refused",
        ],
    },
    WrongDevice {
        name: "failed-map-clears-the-pointer",
        what: "Map that fails sets *ppData to null",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if map.hresult.is_err() {
                    map.start = std::ptr::null_mut();
                }
            }),
            ..HONEST
        },
        caught_by: &["mapping/failure-leaves-the-pointer"],
    },
    WrongDevice {
        name: "texels-need-a-mapping",
        what: "WriteToSubresource and ReadFromSubresource refuse what is not mapped",
        profile: "discrete",
        lies: Lies { refuses_texels: Some(|is_mapped, _| !is_mapped), ..HONEST },
        caught_by: &["mapping/texels-without-a-mapping"],
    },
    WrongDevice {
        name: "empty-boxes-are-refused",
        what: "WriteToSubresource and ReadFromSubresource refuse empty boxes",
        profile: "discrete",
        lies: Lies {
            refuses_texels: Some(|_, part| part.is_some_and(|part| part.left == part.right)),
            ..HONEST
        },
        caught_by: &["mapping/empty-boxes-of-texels"],
    },
    WrongDevice {
        name: "any-subresource-is-mapped",
        what: "Map does not look at the subresource",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if map.subresource > 0 {
                    (map.hresult, map.start) = (S_OK, map.elsewhere);
                }
            }),
            ..HONEST
        },
        caught_by: &["mapping/second-subresource-refused", "upload/second-subresource-is-not-mapped"],
    },
    WrongDevice {
        name: "range-moves-the-pointer",
        what: "Map answers a pointer to the start of the range",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if !map.start.is_null() {
                    map.start = map.start.wrapping_add(map.begin);
                }
            }),
            ..HONEST
        },
        caught_by: &["mapping/read-range-does-not-move-the-pointer"],
    },
    WrongDevice {
        name: "offset-within-the-page-forgotten",
        what: "Map answers a pointer to the page that a placed buffer is in",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if !map.start.is_null() {
                    let behind = usize::try_from(map.address % KIB_4).unwrap_or(0);
                    map.start = map.start.wrapping_sub(behind);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/placed-mapping-starts-at-the-offset", "tight/placed-neighbours-are-apart"],
    },
    WrongDevice {
        name: "one-mapping-for-all",
        what: "small buffers are all mapped to the same bytes",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if !map.start.is_null() {
                    map.start = map.elsewhere;
                }
            }),
            ..HONEST
        },
        caught_by: &["mapping/resources-have-bytes-of-their-own", "tight/committed-bytes"],
    },
    WrongDevice {
        name: "mappings-take-turns",
        what: "every other Map answers other bytes",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                static MAPPED: AtomicU64 = AtomicU64::new(0);
                if !map.start.is_null() && MAPPED.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                    map.start = map.elsewhere;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "mapping/nests",
            "mapping/address-stays",
            "mapping/bytes-stay-across-unmap",
            "mapping/bytes-stay-across-resources",
        ],
    },
    WrongDevice {
        name: "no-mapping-without-a-pointer",
        what: "Map without a pointer is refused",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if map.start.is_null() {
                    map.hresult = E_INVALIDARG;
                }
            }),
            ..HONEST
        },
        caught_by: &["mapping/without-a-pointer", "upload/texture-maps-without-a-pointer"],
    },
];
