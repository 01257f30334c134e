//! Devices that are wrong about views of buffers by byte offsets, and about barrier layouts.

use heapwright_d3d12::sdk_619::*;

use super::wrong_devices;

wrong_devices! {
    "CreateByteOffsetViewsSupported is FALSE, and the views are created": field = (D3D12_FEATURE_D3D12_OPTIONS22, 1, 0)
        => "views/byte-offsets-mean-the-feature";
    "CreateByteOffsetViewsSupported is TRUE, and the views are refused" on "old-ddi":
        field = (D3D12_FEATURE_D3D12_OPTIONS22, 1, 1) => "views/byte-offsets-mean-the-feature";
    "a render target layout is supported in copy lists": field = (D3D12_FEATURE_BARRIER_LAYOUT, 2, 1)
        => "features/barrier-layouts-of-command-lists";
    "a layout of reads on two queues is supported in copy lists": field = (D3D12_FEATURE_BARRIER_LAYOUT, 2, 1)
        => "features/layout-of-reads-on-two-queues";
    "no layout is supported in any list": field = (D3D12_FEATURE_BARRIER_LAYOUT, 2, 0)
        => "features/barrier-layouts-of-command-lists";
    "views by byte offsets begin at multiples of 16": byte_offset = |offset, _| *offset &= !15
        => "views/byte-offset-clear";
    "views by byte offsets begin at multiples of 64": byte_offset = |offset, _| *offset &= !63
        => "views/byte-offset-misaligned-refused", "views/byte-offset-clear";
    "views by byte offsets begin a word further": byte_offset = |offset, _| *offset += 4
        => "views/byte-offset-between-elements", "views/byte-offset-clear";
    "views by byte offsets end at the buffer's end": byte_offset = |offset, size| {
        *offset = (*offset).min(960);
        *size = (*size).min(1024 - *offset) / 12 * 12;
    } => "views/byte-offset-past-the-end-refused";
    "views by byte offsets have whole elements": byte_offset = |_, size| {
        if *size == 30 {
            *size = 24;
        }
    } => "views/byte-offset-part-of-an-element-refused";
    "views by byte offsets have a size": byte_offset = |_, size| {
        if *size == 0 {
            *size = u64::MAX;
        }
    } => "views/byte-offset-size-0-is-the-rest";
}
