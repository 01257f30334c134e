//! Devices with wrong rules for buffers: descriptions, placement, states and addresses.

use heapwright_d3d12::*;

use super::{HONEST, KIB_4, KIB_64, WrongDevice, is_buffer};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "offset-check-dropped",
        what: "unaligned offsets are rounded down",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if let Some((offset, _)) = &mut request.place {
                    *offset = *offset / KIB_64 * KIB_64;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/placed-unaligned-refused", "tight/placed-between-multiples-refused"],
    },
    WrongDevice {
        name: "bounds-check-dropped",
        what: "a buffer that does not fit is put at offset 0",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let width = request.desc.Width;
                if let Some((offset, heap)) = &mut request.place
                    && *offset < heap.SizeInBytes
                    && width <= heap.SizeInBytes
                    && *offset > heap.SizeInBytes - width
                {
                    *offset = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/placed-over-the-end-refused"],
    },
    WrongDevice {
        name: "small-heaps-hold-nothing",
        what: "a buffer needs 64 KiB of its heap, whatever its width is",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) && request.place.is_some_and(|(_, heap)| heap.SizeInBytes < KIB_64) {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/placed-in-a-small-heap"],
    },
    WrongDevice {
        name: "offset-wraps-around",
        what: "offsets are taken modulo the heap's size",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if let Some((offset, heap)) = &mut request.place {
                    *offset %= heap.SizeInBytes;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/placed-beyond-the-end-refused", "buffer/placed-overflowing-refused"],
    },
    WrongDevice {
        name: "height-ignored",
        what: "a buffer's Height is not looked at",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Height = 1;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/height-refused"],
    },
    WrongDevice {
        name: "layout-ignored",
        what: "a buffer's Layout is not looked at",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/layout-refused"],
    },
    WrongDevice {
        name: "format-ignored",
        what: "a buffer's Format, samples and mip levels are not looked at",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Format = DXGI_FORMAT_UNKNOWN;
                    request.desc.SampleDesc = DXGI_SAMPLE_DESC { Count: 1, Quality: 0 };
                    request.desc.MipLevels = 1;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "buffer/format-refused",
            "buffer/sample-count-refused",
            "buffer/sample-quality-refused",
            "buffer/mip-levels-refused",
        ],
    },
    WrongDevice {
        name: "depth-stencil-buffers",
        what: "buffers may be depth buffers",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/depth-stencil-refused"],
    },
    WrongDevice {
        name: "no-render-target-buffers",
        what: "buffers may not be render targets, nor deny shader resource views",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let refused =
                    D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE;
                if is_buffer(request) && request.desc.Flags & refused != 0 {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/render-target", "buffer/deny-shader-resource"],
    },
    WrongDevice {
        name: "gpu-written-anywhere",
        what: "unordered access and render target buffers may be in UPLOAD and READBACK heaps",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let is_read_only = request.properties.is_some_and(|home| {
                    [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].contains(&home.Type)
                });
                if is_buffer(request) && is_read_only {
                    request.desc.Flags &= !(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET
                        | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/gpu-written-in-upload-or-readback-refused"],
    },
    WrongDevice {
        name: "generic-read-as-a-whole",
        what: "an UPLOAD buffer begins in all of GENERIC_READ or in COMMON",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let is_upload = request.properties.is_some_and(|home| home.Type == D3D12_HEAP_TYPE_UPLOAD);
                let whole = [D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_GENERIC_READ];
                if is_upload && !whole.contains(&request.state) {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/upload-part-of-generic-read"],
    },
    WrongDevice {
        name: "any-buffer-alignment",
        what: "a buffer's Alignment is not looked at",
        profile: "old-ddi",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Alignment = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/alignment-refused"],
    },
    WrongDevice {
        name: "any-initial-state",
        what: "the initial state is not checked against the heap type",
        profile: "discrete",
        lies: Lies { resource: Some(|request| request.state = D3D12_RESOURCE_STATE_COMMON), ..HONEST },
        caught_by: &[
            "buffer/upload-write-states-refused",
            "buffer/readback-other-states-refused",
            "buffer/texture-states-refused",
        ],
    },
    WrongDevice {
        name: "clear-value-taken",
        what: "a clear value for a buffer is ignored",
        profile: "discrete",
        lies: Lies { resource: Some(|request| request.has_clear_value = false), ..HONEST },
        caught_by: &["buffer/clear-value-refused"],
    },
    WrongDevice {
        name: "committed-deny-flags-taken",
        what: "DENY flags of a committed resource are ignored",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                request.flags &= !(D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS);
            }),
            ..HONEST
        },
        caught_by: &["buffer/committed-with-deny-flags-refused"],
    },
    WrongDevice {
        name: "desc-without-alignment",
        what: "GetDesc answers the Alignment that was asked for",
        profile: "discrete",
        lies: Lies { desc: Some(|desc| desc.Alignment = 0), ..HONEST },
        caught_by: &["buffer/desc-alignment-is-filled-in", "tight/placed-desc-has-the-alignment"],
    },
    WrongDevice {
        name: "desc-rounds-the-width",
        what: "GetDesc answers the width that was reserved",
        profile: "discrete",
        lies: Lies { desc: Some(|desc| desc.Width = desc.Width.next_multiple_of(256)), ..HONEST },
        caught_by: &["buffer/desc-round-trip", "tight/placed-desc-keeps-the-flag"],
    },
    WrongDevice {
        name: "one-address-for-all",
        what: "every buffer is at the same GPU virtual address",
        profile: "discrete",
        lies: Lies { address: Some(|_, address| address & KIB_64.wrapping_sub(1) | 1 << 32), ..HONEST },
        caught_by: &[
            "buffer/committed-ones-do-not-overlap",
            "heap/live-heaps-have-addresses-of-their-own",
            "buffer/placed-addresses-are-offsets",
        ],
    },
    WrongDevice {
        name: "addresses-overlap",
        what: "GPU virtual addresses are half as far apart as they should be",
        profile: "discrete",
        lies: Lies { address: Some(|_, address| address / 2), ..HONEST },
        caught_by: &["heap/live-heaps-have-addresses-of-their-own", "tight/placed-addresses-are-offsets"],
    },
    WrongDevice {
        name: "address-unaligned",
        what: "committed buffers are 4 KiB behind a multiple of 64 KiB",
        profile: "discrete",
        lies: Lies { address: Some(|_, address| address + KIB_4), ..HONEST },
        caught_by: &["buffer/committed-is-aligned-to-64-kib", "heap/address-is-aligned-to-64-kib"],
    },
    WrongDevice {
        name: "address-forgets-the-offset",
        what: "placed tight buffers have their page's address",
        profile: "discrete",
        lies: Lies { address: Some(|_, address| address / KIB_64 * KIB_64), ..HONEST },
        caught_by: &["tight/placed-addresses-are-offsets"],
    },
    WrongDevice {
        name: "address-null",
        what: "GetGPUVirtualAddress answers 0",
        profile: "discrete",
        lies: Lies { address: Some(|_, _| 0), ..HONEST },
        caught_by: &["buffer/committed-is-aligned-to-64-kib", "tight/committed-buffer-address"],
    },
    WrongDevice {
        name: "heap-type-forgotten",
        what: "GetHeapProperties answers DEFAULT for every resource",
        profile: "discrete",
        lies: Lies { heap_properties: Some(|found| found.Type = D3D12_HEAP_TYPE_DEFAULT), ..HONEST },
        caught_by: &[
            "heap-properties/resource-reports-its-heaps",
            "heap-properties/committed-resource-reports-its-own",
        ],
    },
    WrongDevice {
        name: "no-generic-read",
        what: "GENERIC_READ is refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.state == D3D12_RESOURCE_STATE_GENERIC_READ {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/upload-generic-read", "buffer/default-states"],
    },
    WrongDevice {
        name: "no-copy-dest-in-readback",
        what: "COPY_DEST is refused in READBACK",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let is_readback =
                    request.properties.is_some_and(|home| home.Type == D3D12_HEAP_TYPE_READBACK);
                if is_readback && request.state == D3D12_RESOURCE_STATE_COPY_DEST {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/readback-copy-dest", "mapping/readback"],
    },
    WrongDevice {
        name: "no-unordered-access",
        what: "ALLOW_UNORDERED_ACCESS is dropped",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
            }),
            ..HONEST
        },
        caught_by: &["buffer/unordered-access", "texture/state-unordered-access"],
    },
];
