//! Devices with wrong rules for buffers: descriptions, placement, states and addresses.

use heapwright_d3d12::*;

use super::{KIB_4, KIB_64, WrongDevice, is_buffer, lie, wrong};
use crate::lies::{HONEST, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "unaligned offsets are rounded down",
        lie!(resource, |request| {
            if let Some((offset, _)) = &mut request.place {
                *offset = *offset / KIB_64 * KIB_64;
            }
        }),
        &["buffer/placed-unaligned-refused", "tight/placed-between-multiples-refused"],
    ),
    wrong(
        "a buffer that does not fit is put at offset 0",
        lie!(resource, |request| {
            let width = request.desc.Width;
            if let Some((offset, heap)) = &mut request.place
                && *offset < heap.SizeInBytes
                && width <= heap.SizeInBytes
                && *offset > heap.SizeInBytes - width
            {
                *offset = 0;
            }
        }),
        &["buffer/placed-over-the-end-refused"],
    ),
    wrong(
        "a buffer needs 64 KiB of its heap, whatever its width is",
        lie!(resource, |request| {
            if is_buffer(request) && request.place.is_some_and(|(_, heap)| heap.SizeInBytes < KIB_64) {
                request.desc.Width = 0;
            }
        }),
        &["buffer/placed-in-a-small-heap"],
    ),
    wrong(
        "offsets are taken modulo the heap's size",
        lie!(resource, |request| {
            if let Some((offset, heap)) = &mut request.place {
                *offset %= heap.SizeInBytes;
            }
        }),
        &["buffer/placed-beyond-the-end-refused", "buffer/placed-overflowing-refused"],
    ),
    wrong(
        "a buffer's Height is not looked at",
        lie!(resource, |request| {
            if is_buffer(request) {
                request.desc.Height = 1;
            }
        }),
        &["buffer/height-refused"],
    ),
    wrong(
        "a buffer's Layout is not looked at",
        lie!(resource, |request| {
            if is_buffer(request) {
                request.desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
            }
        }),
        &["buffer/layout-refused"],
    ),
    wrong(
        "a buffer's Format, samples and mip levels are not looked at",
        lie!(resource, |request| {
            if is_buffer(request) {
                request.desc.Format = DXGI_FORMAT_UNKNOWN;
                request.desc.SampleDesc = DXGI_SAMPLE_DESC { Count: 1, Quality: 0 };
                request.desc.MipLevels = 1;
            }
        }),
        &[
            "buffer/format-refused",
            "buffer/sample-count-refused",
            "buffer/sample-quality-refused",
            "buffer/mip-levels-refused",
        ],
    ),
    wrong(
        "buffers may be depth buffers",
        lie!(resource, |request| {
            if is_buffer(request) {
                request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
            }
        }),
        &["buffer/depth-stencil-refused"],
    ),
    wrong(
        "buffers may not be render targets, nor deny shader resource views",
        lie!(resource, |request| {
            let refused = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE;
            if is_buffer(request) && request.desc.Flags & refused != 0 {
                request.desc.Width = 0;
            }
        }),
        &["buffer/render-target", "buffer/deny-shader-resource"],
    ),
    wrong(
        "unordered access and render target buffers may be in UPLOAD and READBACK heaps",
        lie!(resource, |request| {
            let is_read_only = request
                .properties
                .is_some_and(|home| [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].contains(&home.Type));
            if is_buffer(request) && is_read_only {
                request.desc.Flags &=
                    !(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
            }
        }),
        &["buffer/gpu-written-in-upload-or-readback-refused"],
    ),
    wrong(
        "an UPLOAD buffer begins in all of GENERIC_READ or in COMMON",
        lie!(resource, |request| {
            let is_upload = request.properties.is_some_and(|home| home.Type == D3D12_HEAP_TYPE_UPLOAD);
            let whole = [D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_GENERIC_READ];
            if is_upload && !whole.contains(&request.state) {
                request.desc.Width = 0;
            }
        }),
        &["buffer/upload-part-of-generic-read"],
    ),
    wrong(
        "a buffer's Alignment is not looked at",
        lie!(resource, |request| {
            if is_buffer(request) {
                request.desc.Alignment = 0;
            }
        }),
        &["buffer/alignment-refused"],
    )
    .on("old-ddi"),
    wrong(
        "the initial state is not checked against the heap type",
        lie!(resource, |request| request.state = D3D12_RESOURCE_STATE_COMMON),
        &[
            "buffer/upload-write-states-refused",
            "buffer/readback-other-states-refused",
            "buffer/texture-states-refused",
        ],
    ),
    wrong(
        "a clear value for a buffer is ignored",
        lie!(resource, |request| request.has_clear_value = false),
        &["buffer/clear-value-refused"],
    ),
    wrong(
        "DENY flags of a committed resource are ignored",
        lie!(resource, |request| {
            request.flags &= !(D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS);
        }),
        &["buffer/committed-with-deny-flags-refused"],
    ),
    wrong(
        "GetDesc answers the Alignment that was asked for",
        lie!(desc, |desc| desc.Alignment = 0),
        &["buffer/desc-alignment-is-filled-in", "tight/placed-desc-has-the-alignment"],
    ),
    wrong(
        "GetDesc answers the width that was reserved",
        lie!(desc, |desc| desc.Width = desc.Width.next_multiple_of(256)),
        &["buffer/desc-round-trip", "tight/placed-desc-keeps-the-flag"],
    ),
    wrong(
        "every buffer is at the same GPU virtual address",
        lie!(address, |_, address| address & KIB_64.wrapping_sub(1) | 1 << 32),
        &[
            "buffer/committed-ones-do-not-overlap",
            "heap/live-heaps-have-addresses-of-their-own",
            "buffer/placed-addresses-are-offsets",
        ],
    ),
    wrong(
        "GPU virtual addresses are half as far apart as they should be",
        lie!(address, |_, address| address / 2),
        &["heap/live-heaps-have-addresses-of-their-own", "tight/placed-addresses-are-offsets"],
    ),
    wrong(
        "committed buffers are 4 KiB behind a multiple of 64 KiB",
        lie!(address, |_, address| address + KIB_4),
        &["buffer/committed-is-aligned-to-64-kib", "heap/address-is-aligned-to-64-kib"],
    ),
    wrong(
        "placed tight buffers have their page's address",
        lie!(address, |_, address| address / KIB_64 * KIB_64),
        &["tight/placed-addresses-are-offsets"],
    ),
    wrong(
        "GetGPUVirtualAddress answers 0",
        lie!(address, |_, _| 0),
        &["buffer/committed-is-aligned-to-64-kib", "tight/committed-buffer-address"],
    ),
    wrong(
        "GetHeapProperties answers DEFAULT for every resource",
        lie!(heap_properties, |found| found.Type = D3D12_HEAP_TYPE_DEFAULT),
        &["heap-properties/resource-reports-its-heaps", "heap-properties/committed-resource-reports-its-own"],
    ),
    wrong(
        "GENERIC_READ is refused",
        lie!(resource, |request| {
            if request.state == D3D12_RESOURCE_STATE_GENERIC_READ {
                request.desc.Width = 0;
            }
        }),
        &["buffer/upload-generic-read", "buffer/default-states"],
    ),
    wrong(
        "COPY_DEST is refused in READBACK",
        lie!(resource, |request| {
            let is_readback = request.properties.is_some_and(|home| home.Type == D3D12_HEAP_TYPE_READBACK);
            if is_readback && request.state == D3D12_RESOURCE_STATE_COPY_DEST {
                request.desc.Width = 0;
            }
        }),
        &["buffer/readback-copy-dest", "mapping/readback"],
    ),
    wrong(
        "ALLOW_UNORDERED_ACCESS is dropped",
        lie!(resource, |request| {
            request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        }),
        &["buffer/unordered-access", "texture/state-unordered-access"],
    ),
];
