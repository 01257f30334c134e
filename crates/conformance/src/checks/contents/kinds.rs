//! The kinds of resources, and the checks that each of them has.

use heapwright_d3d12::*;

use super::{between_neighbours, copied_whole, far_from_the_beginning, on_a_queue, paged, twin};
use crate::check::{Check, Need, check};
use crate::desc::*;

const PLACE: &str = "Learn, ID3D12Device::CreatePlacedResource, HeapOffset";
const PAGING: &str = "Learn, ID3D12Device::Evict and MakeResident, contents are kept";
const ENQUEUED: &str =
    "Learn, ID3D12Device3::EnqueueMakeResident, the fence is signaled when the memory is resident";
const WHOLE: &str = "Learn, ID3D12GraphicsCommandList::CopyResource";
const BY_QUEUES: &str = "Learn, User mode heap synchronization, copy and compute queues";
const TWIN: &str = "ALIAS, Data Inheritance, resources of the same description in a shared heap";

const NONE: &[Need] = &[];
const TEXTURES: &[Need] = &[Need::Textures, Need::Footprints];
const VIDEO: &[Need] = &[Need::Textures, Need::Footprints, Need::VideoFormats];
const TIGHT: &[Need] = &[Need::TightAlignment];
const TIGHT_TEXTURES: &[Need] = &[Need::TightAlignment, Need::Textures, Need::Footprints];

/// Defines the tables of checks: a row is the kind's name, its needs and its description. Those of the second part
/// cannot be copied to buffers on all queues.
macro_rules! kinds {
    ($($name:literal, $needs:ident, $desc:expr;)* cleared: $($cleared:literal, $cleared_needs:ident, $cleared_desc:expr;)*) => {
        kinds!(@all $($name, $needs, $desc;)* $($cleared, $cleared_needs, $cleared_desc;)*);
        pub(in crate::checks) const QUEUES: &[Check] = &[$(
            check(concat!("copies/", $name, "-by-a-copy-queue"), BY_QUEUES, $needs, |ctx| on_a_queue(ctx, &$desc, COPY)),
            check(concat!("copies/", $name, "-by-a-compute-queue"), BY_QUEUES, $needs, |ctx| {
                on_a_queue(ctx, &$desc, COMPUTE)
            }),
        )*];
    };
    (@all $($name:literal, $needs:ident, $desc:expr;)*) => {
        pub(in crate::checks) const PLACEMENT: &[Check] = &[$(
            check(concat!("placement/", $name, "-between-neighbours"), PLACE, $needs, |ctx| {
                between_neighbours(ctx, &$desc)
            }),
            check(concat!("placement/", $name, "-far-from-the-beginning"), PLACE, $needs, |ctx| {
                far_from_the_beginning(ctx, &$desc)
            }),
        )*];
        pub(in crate::checks) const RESIDENCY: &[Check] = &[$(
            check(concat!("residency/", $name, "-survives-eviction"), PAGING, $needs, |ctx| {
                paged(ctx, &$desc, false)
            }),
            check(concat!("residency/", $name, "-survives-enqueued-paging"), ENQUEUED, $needs, |ctx| {
                paged(ctx, &$desc, true)
            }),
        )*];
        pub(in crate::checks) const COPIES: &[Check] = &[$(
            check(concat!("copies/", $name, "-whole"), WHOLE, $needs, |ctx| copied_whole(ctx, &$desc)),
        )*];
        pub(in crate::checks) const ALIASING: &[Check] = &[$(
            check(concat!("aliasing/h-1-", $name, "-to-its-twin"), TWIN, $needs, |ctx| twin(ctx, &$desc, true)),
            check(concat!("aliasing/h-1-", $name, "-to-its-twin-between-calls"), TWIN, $needs, |ctx| {
                twin(ctx, &$desc, false)
            }),
        )*];
    };
}

kinds! {
    "buffer", NONE, buffer(70_000);
    "small-buffer", NONE, buffer(24);
    "tight-buffer", TIGHT, tight_buffer(1000);
    "texture", TEXTURES, rgba(300, 200);
    "small-texture", TEXTURES, aligned(rgba(32, 32), 4 * KIB);
    "tight-texture", TIGHT_TEXTURES, tight(rgba(40, 40));
    "mips", TEXTURES, with_mips(rgba(128, 64), 8);
    "array", TEXTURES, with_slices(rgba(60, 50), 5);
    "array-of-mips", TEXTURES, with_slices(with_mips(rgba(32, 32), 3), 3);
    "line", TEXTURES, D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..rgba(500, 1) };
    "volume", TEXTURES, volume(20, 12, 9);
    "volume-of-mips", TEXTURES, with_mips(volume(16, 16, 8), 4);
    "blocks", TEXTURES, texture2d(DXGI_FORMAT_BC1_UNORM, 128, 64);
    "blocks-of-16-bytes", TEXTURES, texture2d(DXGI_FORMAT_BC7_UNORM, 64, 96);
    "texture-of-16-bytes", TEXTURES, texture2d(DXGI_FORMAT_R32G32B32A32_FLOAT, 45, 33);
    "texture-of-1-byte", TEXTURES, texture2d(DXGI_FORMAT_R8_UNORM, 333, 77);
    "typeless", TEXTURES, texture2d(DXGI_FORMAT_R16G16_TYPELESS, 80, 40);
    "render-target", TEXTURES, render_target(120, 90);
    "unordered", TEXTURES, with_flags(texture2d(DXGI_FORMAT_R32_UINT, 64, 64), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    "simultaneous", TEXTURES, with_flags(rgba(64, 64), D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS);
    "video", VIDEO, texture2d(DXGI_FORMAT_NV12, 130, 70);
    cleared:
    "depth-buffer", TEXTURES, depth_buffer(100, 80);
    "multisampled", TEXTURES, multisampled(200, 150, 4);
    "small-multisampled", TEXTURES, multisampled(40, 30, 4);
    "tight-multisampled", TIGHT_TEXTURES, tight(multisampled(40, 30, 4));
}
