//! Devices with wrong rules for buffers: descriptions, placement, states and addresses.

use heapwright_d3d12::*;

use super::{KIB_4, KIB_64, is_buffer, wrong_devices};
use crate::lies::Request;

wrong_devices! {
    "unaligned offsets are rounded down": resource = |request| {
        if let Some((offset, _)) = &mut request.place {
            *offset = *offset / KIB_64 * KIB_64;
        }
    } => "buffer/placed-unaligned-refused", "tight/placed-between-multiples-refused";
    "a buffer that does not fit is put at offset 0": resource = |request| {
        let width = request.desc.Width;
        if let Some((offset, heap)) = &mut request.place
            && *offset < heap.SizeInBytes
            && width <= heap.SizeInBytes
            && *offset > heap.SizeInBytes - width
        {
            *offset = 0;
        }
    } => "buffer/placed-over-the-end-refused";
    "a buffer needs 64 KiB of its heap, whatever its width is":
        refused_resource = |request| {
            is_buffer(request) && request.place.is_some_and(|(_, heap)| heap.SizeInBytes < KIB_64)
        }
        => "buffer/placed-in-a-small-heap";
    "offsets are taken modulo the heap's size": resource = |request| {
        if let Some((offset, heap)) = &mut request.place {
            *offset %= heap.SizeInBytes;
        }
    } => "buffer/placed-beyond-the-end-refused", "buffer/placed-overflowing-refused";
    "GetDesc answers a width of 16 EiB": desc = |desc| {
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            desc.Width = u64::MAX;
        }
    } => "heap/new-upload-heap-is-zero";
    "a buffer's Height is not looked at": buffer = |desc| desc.Height = 1 => "buffer/height-refused";
    "a buffer's Layout is not looked at": buffer = |desc| desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR
        => "buffer/layout-refused";
    "a buffer's Format, samples and mip levels are not looked at": buffer = |desc| {
        desc.Format = DXGI_FORMAT_UNKNOWN;
        desc.SampleDesc = DXGI_SAMPLE_DESC { Count: 1, Quality: 0 };
        desc.MipLevels = 1;
    } =>
        "buffer/format-refused", "buffer/sample-count-refused", "buffer/sample-quality-refused",
        "buffer/mip-levels-refused";
    "buffers may be depth buffers": buffer = |desc| desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL
        => "buffer/depth-stencil-refused";
    "buffers may not be render targets, nor deny shader resource views": refused_resource = |request| {
        let refused = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE;
        is_buffer(request) && request.desc.Flags & refused != 0
    } => "buffer/render-target", "buffer/deny-shader-resource";
    "unordered access and render target buffers may be in UPLOAD and READBACK heaps": resource = |request| {
        if is_buffer(request)
            && (is_in(request, D3D12_HEAP_TYPE_UPLOAD) || is_in(request, D3D12_HEAP_TYPE_READBACK))
        {
            request.desc.Flags &=
                !(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        }
    } => "buffer/gpu-written-in-upload-or-readback-refused";
    "an UPLOAD buffer begins in all of GENERIC_READ or in COMMON": refused_resource = |request| {
        let whole = [D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_GENERIC_READ];
        is_in(request, D3D12_HEAP_TYPE_UPLOAD) && !whole.contains(&request.state)
    } => "buffer/upload-part-of-generic-read";
    "a buffer's Alignment is not looked at" on "old-ddi": buffer = |desc| desc.Alignment = 0
        => "buffer/alignment-refused";
    "the initial state is not checked against the heap type":
        resource = |request| request.state = D3D12_RESOURCE_STATE_COMMON
        => "buffer/upload-write-states-refused", "buffer/readback-other-states-refused",
           "buffer/texture-states-refused";
    "a clear value for a buffer is ignored": resource = |request| request.has_clear_value = false
        => "buffer/clear-value-refused";
    "DENY flags of a committed resource are ignored": resource = |request| {
        request.flags &= !(D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS);
    } => "buffer/committed-with-deny-flags-refused";
    "GetDesc answers the Alignment that was asked for": desc = |desc| desc.Alignment = 0
        => "buffer/desc-alignment-is-filled-in", "tight/placed-desc-has-the-alignment";
    "GetDesc answers the width that was reserved": desc = |desc| desc.Width = desc.Width.next_multiple_of(256)
        => "buffer/desc-round-trip", "tight/placed-desc-keeps-the-flag";
    "every buffer is at the same GPU virtual address":
        address = |_, address| address & KIB_64.wrapping_sub(1) | 1 << 32
        => "buffer/committed-ones-do-not-overlap",
           "buffer/placed-addresses-are-offsets";
    "GPU virtual addresses are half as far apart as they should be": address = |_, address| address / 2
        => "tight/placed-addresses-are-offsets";
    "committed buffers are 4 KiB behind a multiple of 64 KiB": address = |_, address| address + KIB_4
        => "buffer/committed-is-aligned-to-64-kib", "heap/address-is-aligned-to-64-kib";
    "placed tight buffers have their page's address": address = |_, address| address / KIB_64 * KIB_64
        => "tight/placed-addresses-are-offsets";
    "GetGPUVirtualAddress answers 0": address = |_, _| 0
        => "buffer/committed-is-aligned-to-64-kib", "tight/committed-buffer-address";
    "GetHeapProperties answers DEFAULT for every resource":
        heap_properties = |found| found.Type = D3D12_HEAP_TYPE_DEFAULT
        => "heap-properties/resource-reports-its-heaps", "heap-properties/committed-resource-reports-its-own";
    "GENERIC_READ is refused": refused_resource = |request| request.state == D3D12_RESOURCE_STATE_GENERIC_READ
        => "buffer/upload-generic-read", "buffer/default-states";
    "COPY_DEST is refused in READBACK": refused_resource = |request| {
        is_in(request, D3D12_HEAP_TYPE_READBACK) && request.state == D3D12_RESOURCE_STATE_COPY_DEST
    } => "buffer/readback-copy-dest", "mapping/readback";
    "ALLOW_UNORDERED_ACCESS is dropped":
        resource = |request| request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
        => "buffer/unordered-access", "texture/state-unordered-access";
}

/// Returns whether a resource is committed with this heap type.
fn is_in(request: &Request, heap_type: D3D12_HEAP_TYPE) -> bool {
    request.properties.is_some_and(|properties| properties.Type == heap_type)
}
