//! Devices whose tight alignment violates Microsoft's *Tight Placed Resource Alignment*.

use heapwright_d3d12::*;

use super::{KIB_64, TIGHT, is_buffer, is_valid, tight_alignment, wants_tight, wrong_devices};

/// Makes a description with an alignment beside the flag one that every device refuses.
fn refuse_floor(flags: D3D12_RESOURCE_FLAGS, alignment: &mut u64) {
    if flags & TIGHT != 0 && *alignment != 0 {
        *alignment = 3;
    }
}

wrong_devices! {
    "tight buffers are aligned to 512 bytes": allocation = |descs, info| tight_alignment(512, descs, info)
        => "tight/placed-buffer-alignment-max";
    "tight buffers are aligned to 4 bytes": allocation = |descs, info| tight_alignment(4, descs, info)
        => "tight/placed-buffer-alignment-min";
    "tight buffers are aligned to 96 bytes": allocation = |descs, info| tight_alignment(96, descs, info)
        => "tight/placed-buffer-alignment-power-of-two";
    "tight buffers take 64 KiB": allocation = |descs, info| {
        if wants_tight(descs) && is_valid(info) {
            info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64);
        }
    } => "tight/buffer-size-is-its-width";
    "a tight buffer takes twice what it takes without the flag": allocation = |descs, info| {
        if wants_tight(descs) && is_valid(info) {
            info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64) * 2;
        }
    } => "tight/never-worse-for-buffers", "tight/buffer-size-is-its-width";
    "tight alignment tier 1 is reported, and the flag refused" on "old-ddi":
        field = (D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, 0, 1) => "features/tight-alignment-means-the-flag";
    "tight alignment tier NOT_SUPPORTED is reported, and the flag taken" on "uma":
        field = (D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, 0, 0) => "features/tight-alignment-means-the-flag";
    "the tight alignment tier is 7": field = (D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, 0, 7)
        => "features/tight-alignment-known-tier";
    "the flag is taken and has no effect":
        allocation_request = |desc| desc.Flags &= !TIGHT,
        resource = |request| request.desc.Flags &= !TIGHT
        => "tight/placed-buffer-alignment-max", "tight/committed-buffer-alignment";
    "an old driver's device strips the flag where it must refuse it" on "old-ddi":
        allocation_request = |desc| desc.Flags &= !TIGHT,
        resource = |request| request.desc.Flags &= !TIGHT => "tight/flag-without-the-tier-refused";
    "cross-adapter buffers are aligned tightly": allocation_request = |desc| {
        if desc.Flags & TIGHT != 0 {
            desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
        }
    } => "tight/cross-adapter-buffers-stay-at-64-kib", "tight/cross-adapter-msaa-stays-at-4-mib";
    "any Alignment beside the flag is taken":
        allocation_request = |desc| {
            if desc.Flags & TIGHT != 0 {
                desc.Alignment = 0;
            }
        },
        resource = |request| {
            if request.desc.Flags & TIGHT != 0 {
                request.desc.Alignment = 0;
            }
        } =>
        "tight/explicit-alignment-no-power-of-two-refused", "tight/explicit-alignment-too-large-refused",
        "tight/explicit-alignment-below-the-minimum";
    "no Alignment beside the flag is taken, as before SDK 1.619.4":
        allocation_request = |desc| refuse_floor(desc.Flags, &mut desc.Alignment),
        resource = |request| refuse_floor(request.desc.Flags, &mut request.desc.Alignment) =>
        "tight/explicit-alignment-refused", "tight/desc-is-a-description-again";
    "an Alignment beside the flag is taken by GetResourceAllocationInfo, but not by creation":
        resource = |request| refuse_floor(request.desc.Flags, &mut request.desc.Alignment) => "tight/explicit-alignment-is-taken-throughout",
        "tight/explicit-alignment-of-textures-is-taken-throughout";
    "an Alignment beside the flag is honoured" on "uma":
        allocation = |descs, info| if let [desc] = descs && desc.Flags & TIGHT != 0 && is_valid(info) {
            info.Alignment = info.Alignment.max(desc.Alignment);
            info.SizeInBytes = info.SizeInBytes.next_multiple_of(info.Alignment);
        },
        desc = |desc| if desc.Flags & TIGHT != 0 {
            desc.Alignment = 256;
        } => "tight/explicit-alignment";
    "a placed tight buffer takes 64 KiB of its heap": resource = |request| {
        if request.desc.Flags & TIGHT != 0 && request.place.is_some() {
            request.desc.Width = request.desc.Width.next_multiple_of(KIB_64);
        }
    } => "tight/placed-at-each-multiple";
    "reserved textures may carry the flag, which changes nothing": reserved = |desc| desc.Flags &= !TIGHT
        => "tight/reserved-textures-refused";
    "reserved buffers may not carry the flag": reserved = |desc| if desc.Flags & TIGHT != 0 {
        desc.Width = 0;
    } => "tight/reserved-buffers-refused";
    "buffers report at most 256 bytes, with the flag or without": desc = |desc| desc.Alignment = desc.Alignment.min(256)
        => "buffer/desc-alignment-is-filled-in";
    "buffers without the flag are aligned tightly": allocation_request = |desc| {
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && desc.Alignment == 0 {
            desc.Flags |= TIGHT;
        }
    } =>
        "allocation-info/buffers-are-aligned-to-64-kib", "allocation-info/buffers-are-sized-to-64-kib",
        "tight/default-buffers-are-unaffected";
    "buffers without the flag may be placed at tight offsets": resource = |request| {
        if is_buffer(request) && request.place.is_some() && request.desc.Alignment == 0 {
            request.desc.Flags |= TIGHT;
        }
    } => "tight/default-buffers-keep-their-offsets", "buffer/placed-unaligned-refused";
    "GetResourceAllocationInfo2 rounds to 64 KiB": newer_allocation = |info| {
        if is_valid(info) {
            info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64) + KIB_64;
        }
    } => "tight/the-newer-info-calls-know-it", "allocation-info/info2-agrees";
}
