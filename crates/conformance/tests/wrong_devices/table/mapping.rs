//! Devices that map wrong memory.

use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;

use super::{KIB_4, wrong_devices};
use crate::lies::Map;

wrong_devices! {
    "Map of a DEFAULT buffer succeeds": map = |map: &mut Map| {
        if map.hresult.is_err() {
            (map.hresult, map.start) = (S_OK, map.elsewhere);
        }
    } =>
        "mapping/default-refused", "mapping/placed-default-refused",
        "mapping/volume-of-mips-without-a-pointer-refused";
    "Map that fails sets *ppData to null": map = |map: &mut Map| {
        if map.hresult.is_err() {
            map.start = std::ptr::null_mut();
        }
    } => "mapping/failure-leaves-the-pointer";
    "WriteToSubresource and ReadFromSubresource refuse what is not mapped":
        refuses_texels = |is_mapped, _| !is_mapped => "mapping/texels-without-a-mapping";
    "WriteToSubresource and ReadFromSubresource refuse empty boxes":
        refuses_texels = |_, part| part.is_some_and(|part| part.left == part.right)
        => "mapping/empty-boxes-of-texels";
    "Map does not look at the subresource": map = |map: &mut Map| {
        if map.subresource > 0 {
            (map.hresult, map.start) = (S_OK, map.elsewhere);
        }
    } => "mapping/second-subresource-refused", "upload/second-subresource-is-not-mapped";
    "Map answers a pointer to the start of the range": map = |map: &mut Map| {
        if !map.start.is_null() {
            map.start = map.start.wrapping_add(map.begin);
        }
    } => "mapping/read-range-does-not-move-the-pointer";
    "Map answers a pointer to the page that a placed buffer is in": map = |map: &mut Map| {
        if !map.start.is_null() {
            let behind = usize::try_from(map.address % KIB_4).unwrap_or(0);
            map.start = map.start.wrapping_sub(behind);
        }
    } => "tight/placed-mapping-starts-at-the-offset";
    "small buffers are all mapped to the same bytes": map = |map: &mut Map| {
        if !map.start.is_null() {
            map.start = map.elsewhere;
        }
    } => "mapping/resources-have-bytes-of-their-own";
    "every other Map answers other bytes": map = |map: &mut Map| {
        static MAPPED: AtomicU64 = AtomicU64::new(0);
        if !map.start.is_null() && MAPPED.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            map.start = map.elsewhere;
        }
    } =>
        "mapping/nests", "mapping/bytes-stay-across-unmap",
        "mapping/bytes-stay-across-resources";
    "Map without a pointer is refused": map = |map: &mut Map| {
        if map.start.is_null() {
            map.hresult = E_INVALIDARG;
        }
    } => "mapping/without-a-pointer", "upload/texture-maps-without-a-pointer";
}
