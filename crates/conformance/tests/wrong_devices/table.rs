//! The wrong devices.

use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::lies::{Command, Dirt, Lies, Map, Request};

/// A device that is wrong in one way.
pub(crate) struct WrongDevice {
    pub(crate) name: &'static str,
    /// What is wrong, in a sentence.
    pub(crate) what: &'static str,
    /// The profile of the device that tells the lies.
    pub(crate) profile: &'static str,
    pub(crate) lies: Lies,
    /// Checks that pass on the honest device and fail on this one.
    pub(crate) caught_by: &'static [&'static str],
}

/// Nothing but the truth, to begin from.
const HONEST: Lies = Lies {
    feature: None,
    feature_size: None,
    custom_properties: None,
    allocation: None,
    allocation_request: None,
    parts: None,
    newer_allocation: None,
    heap: None,
    resource: None,
    check_only: None,
    dirt: None,
    leaks_device: false,
    heap_desc: None,
    desc: None,
    address: None,
    heap_properties: None,
    map: None,
    forgets_private_data: false,
    video_memory: None,
    segment_group: None,
    luid: None,
    node_count: None,
    denies: None,
    footprints: None,
    copy: None,
    ignores_wait: false,
    signal: None,
    completed: None,
    ignores_null_event: false,
    tile_count: None,
    tile_offset: None,
    forgets: None,
    removed: None,
    orphans: false,
    residency: None,
};

const KIB_4: u64 = 4096;
const KIB_64: u64 = 65_536;
const TIGHT: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

fn wants_tight(descs: &[D3D12_RESOURCE_DESC1]) -> bool {
    descs.iter().any(|desc| desc.Flags & TIGHT != 0)
}

fn is_valid(info: &D3D12_RESOURCE_ALLOCATION_INFO) -> bool {
    info.SizeInBytes != u64::MAX
}

/// Every tight answer gets this alignment.
fn tight_alignment(
    alignment: u64,
    descs: &[D3D12_RESOURCE_DESC1],
    info: &mut D3D12_RESOURCE_ALLOCATION_INFO,
) {
    if wants_tight(descs) && is_valid(info) {
        info.Alignment = alignment;
        info.SizeInBytes = info.SizeInBytes.next_multiple_of(alignment);
    }
}

/// A field of one feature's structure is something else.
fn field(asked: D3D12_FEATURE, feature: D3D12_FEATURE, fields: &mut [u32], place: usize, value: u32) {
    if let Some(field) = fields.get_mut(place).filter(|_| asked == feature) {
        *field = value;
    }
}

/// The custom properties of one heap type have another page property or pool.
fn properties_of(
    asked: D3D12_HEAP_TYPE,
    heap_type: D3D12_HEAP_TYPE,
    found: &mut D3D12_HEAP_PROPERTIES,
    page: D3D12_CPU_PAGE_PROPERTY,
    pool: D3D12_MEMORY_POOL,
) {
    if asked == heap_type {
        (found.CPUPageProperty, found.MemoryPoolPreference) = (page, pool);
    }
}

fn is_buffer(request: &Request) -> bool {
    request.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
}

fn is_texture(descs: &[D3D12_RESOURCE_DESC1]) -> bool {
    descs.iter().any(|desc| desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER)
}

const COMBINE: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE;
const BACK: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
const NONE: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE;
const L0: D3D12_MEMORY_POOL = D3D12_MEMORY_POOL_L0;
const L1: D3D12_MEMORY_POOL = D3D12_MEMORY_POOL_L1;

pub(crate) const WRONG_DEVICES: &[WrongDevice] = &[
    // Tight alignment.
    WrongDevice {
        name: "alignment-above-the-maximum",
        what: "tight buffers are aligned to 512 bytes",
        profile: "discrete",
        lies: Lies { allocation: Some(|descs, info| tight_alignment(512, descs, info)), ..HONEST },
        caught_by: &["tight/placed-buffer-alignment-max"],
    },
    WrongDevice {
        name: "alignment-below-the-minimum",
        what: "tight buffers are aligned to 4 bytes",
        profile: "discrete",
        lies: Lies { allocation: Some(|descs, info| tight_alignment(4, descs, info)), ..HONEST },
        caught_by: &["tight/placed-buffer-alignment-min"],
    },
    WrongDevice {
        name: "alignment-no-power-of-two",
        what: "tight buffers are aligned to 96 bytes",
        profile: "discrete",
        lies: Lies { allocation: Some(|descs, info| tight_alignment(96, descs, info)), ..HONEST },
        caught_by: &["tight/placed-buffer-alignment-power-of-two"],
    },
    WrongDevice {
        name: "size-ignores-the-width",
        what: "tight buffers take 64 KiB",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if wants_tight(descs) && is_valid(info) {
                    info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/buffer-size-is-its-width"],
    },
    WrongDevice {
        name: "flag-makes-it-worse",
        what: "a tight buffer takes twice what it takes without the flag",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if wants_tight(descs) && is_valid(info) {
                    info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64) * 2;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/never-worse-for-buffers", "tight/buffer-size-is-its-width"],
    },
    WrongDevice {
        name: "tier-without-the-behaviour",
        what: "tight alignment tier 1 is reported, and the flag refused",
        profile: "old-ddi",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, answer.fields, 0, 1);
            }),
            ..HONEST
        },
        caught_by: &["features/tight-alignment-means-the-flag"],
    },
    WrongDevice {
        name: "behaviour-without-the-tier",
        what: "tight alignment tier NOT_SUPPORTED is reported, and the flag taken",
        profile: "uma",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, answer.fields, 0, 0);
            }),
            ..HONEST
        },
        caught_by: &["features/tight-alignment-means-the-flag"],
    },
    WrongDevice {
        name: "tier-that-does-not-exist",
        what: "the tight alignment tier is 7",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, answer.fields, 0, 7);
            }),
            ..HONEST
        },
        caught_by: &["features/tight-alignment-known-tier"],
    },
    WrongDevice {
        name: "flag-ignored",
        what: "the flag is taken and has no effect",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| desc.Flags &= !TIGHT),
            resource: Some(|request| request.desc.Flags &= !TIGHT),
            ..HONEST
        },
        caught_by: &["tight/placed-buffer-alignment-max", "tight/committed-buffer-alignment"],
    },
    WrongDevice {
        name: "flag-taken-without-the-tier",
        what: "an old driver's device strips the flag where it must refuse it",
        profile: "old-ddi",
        lies: Lies {
            allocation_request: Some(|desc| desc.Flags &= !TIGHT),
            resource: Some(|request| request.desc.Flags &= !TIGHT),
            ..HONEST
        },
        caught_by: &["tight/flag-without-the-tier-refused"],
    },
    WrongDevice {
        name: "cross-adapter-is-tight",
        what: "cross-adapter buffers are aligned tightly",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.Flags & TIGHT != 0 {
                    desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/cross-adapter-buffers-stay-at-64-kib"],
    },
    WrongDevice {
        name: "explicit-alignment-dropped",
        what: "a non-zero Alignment beside the flag is taken and not honoured",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.Flags & TIGHT != 0 {
                    desc.Alignment = 0;
                }
            }),
            resource: Some(|request| {
                if request.desc.Flags & TIGHT != 0 {
                    request.desc.Alignment = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/explicit-alignment", "tight/explicit-alignment-no-power-of-two-refused"],
    },
    WrongDevice {
        name: "committed-alignment-of-placed",
        what: "committed tight buffers report 256 bytes",
        profile: "discrete",
        lies: Lies { desc: Some(|desc| desc.Alignment = desc.Alignment.min(256)), ..HONEST },
        caught_by: &["tight/committed-buffer-alignment", "buffer/desc-alignment-is-filled-in"],
    },
    WrongDevice {
        name: "default-is-tight",
        what: "buffers without the flag are aligned tightly",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && desc.Alignment == 0 {
                    desc.Flags |= TIGHT;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "allocation-info/buffers-are-aligned-to-64-kib",
            "allocation-info/buffers-are-sized-to-64-kib",
            "tight/default-buffers-are-unaffected",
        ],
    },
    WrongDevice {
        name: "default-placed-tightly",
        what: "buffers without the flag may be placed at tight offsets",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) && request.place.is_some() && request.desc.Alignment == 0 {
                    request.desc.Flags |= TIGHT;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/default-buffers-keep-their-offsets", "buffer/placed-unaligned-refused"],
    },
    WrongDevice {
        name: "newer-call-forgets-the-flag",
        what: "GetResourceAllocationInfo2 rounds to 64 KiB",
        profile: "discrete",
        lies: Lies {
            newer_allocation: Some(|info| {
                if is_valid(info) {
                    info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64) + KIB_64;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/the-newer-info-calls-know-it", "allocation-info/info2-agrees"],
    },
    // Allocation info.
    WrongDevice {
        name: "invalid-is-not-uint64-max",
        what: "invalid descriptions take 0 bytes",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|_, info| {
                if !is_valid(info) {
                    info.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "buffer/width-0-refused",
            "buffer/format-refused",
            "allocation-info/one-invalid-spoils-all",
        ],
    },
    WrongDevice {
        name: "order-does-not-matter",
        what: "several descriptions are summed up in whichever order they come",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.len() > 1 && is_valid(info) {
                    let sum: u64 = descs.iter().map(|desc| desc.Width.next_multiple_of(256)).sum();
                    info.SizeInBytes = sum.next_multiple_of(info.Alignment);
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "allocation-info/order-changes-the-size",
            "allocation-info/tight-and-default-are-a-structure",
        ],
    },
    WrongDevice {
        name: "alignment-of-the-first",
        what: "the alignment of several is that of the first",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.first().is_some_and(|desc| desc.Flags & TIGHT != 0) && is_valid(info) {
                    info.Alignment = 256;
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/alignment-is-the-largest", "allocation-info/order-changes-the-size"],
    },
    WrongDevice {
        name: "size-below-the-width",
        what: "sizes are rounded down",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if let ([desc], true) = (descs, is_valid(info)) {
                    info.SizeInBytes = desc.Width / info.Alignment * info.Alignment;
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/buffers-are-sized-to-64-kib", "tight/buffer-size-is-its-width"],
    },
    WrongDevice {
        name: "asking-changes-the-answer",
        what: "every other answer is 64 KiB larger",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|_, info| {
                static ASKED: AtomicU64 = AtomicU64::new(0);
                if is_valid(info) && ASKED.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                    info.SizeInBytes += KIB_64;
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/asking-changes-nothing", "tight/asking-changes-nothing"],
    },
    WrongDevice {
        name: "parts-all-at-zero",
        what: "GetResourceAllocationInfo1 puts everything at offset 0",
        profile: "discrete",
        lies: Lies { parts: Some(|parts| parts.iter_mut().for_each(|part| part.Offset = 0)), ..HONEST },
        caught_by: &["allocation-info/info1-offsets", "allocation-info/info1-parts-do-not-overlap"],
    },
    WrongDevice {
        name: "parts-unaligned",
        what: "GetResourceAllocationInfo1 packs without alignment",
        profile: "discrete",
        lies: Lies {
            parts: Some(|parts| {
                if let Some(last) = parts.last_mut() {
                    last.Offset += 8;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "allocation-info/info1-offsets-are-places",
            "allocation-info/info1-parts-do-not-overlap",
        ],
    },
    // Features and heap properties.
    WrongDevice {
        name: "gpu-upload-cap-without-heaps",
        what: "GPUUploadHeapSupported is TRUE, and GPU_UPLOAD refused",
        profile: "discrete-2gib",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS16, answer.fields, 1, 1)
            }),
            ..HONEST
        },
        caught_by: &["features/gpu-upload-means-the-heaps"],
    },
    WrongDevice {
        name: "gpu-upload-heaps-without-cap",
        what: "GPU_UPLOAD is taken without GPUUploadHeapSupported, as an UPLOAD heap",
        profile: "discrete-2gib",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                    desc.Properties.Type = D3D12_HEAP_TYPE_UPLOAD;
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/unsupported-heap-refused", "features/gpu-upload-means-the-heaps"],
    },
    WrongDevice {
        name: "architectures-disagree",
        what: "ARCHITECTURE1 says UMA, ARCHITECTURE does not",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_ARCHITECTURE1, answer.fields, 2, 1)),
            ..HONEST
        },
        caught_by: &["features/architecture1-agrees"],
    },
    WrongDevice {
        name: "coherent-but-not-uma",
        what: "CacheCoherentUMA is TRUE on a discrete GPU",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_ARCHITECTURE, answer.fields, 3, 1)),
            ..HONEST
        },
        caught_by: &["features/cache-coherent-implies-uma"],
    },
    WrongDevice {
        name: "address-bits-disagree",
        what: "GPU_VIRTUAL_ADDRESS_SUPPORT has fewer bits than OPTIONS",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, answer.fields, 0, 31);
            }),
            ..HONEST
        },
        caught_by: &["features/address-bits-agree"],
    },
    WrongDevice {
        name: "wrong-size-taken",
        what: "CheckFeatureSupport does not look at the size",
        profile: "discrete",
        lies: Lies {
            feature_size: Some(
                |feature, size| {
                    if feature == D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT { 4 } else { size }
                },
            ),
            ..HONEST
        },
        caught_by: &["features/wrong-sizes-refused"],
    },
    WrongDevice {
        name: "unknown-feature-taken",
        what: "every feature that exists or not is answered with S_OK",
        profile: "discrete",
        lies: Lies { feature: Some(|_, answer| answer.hresult = S_OK), ..HONEST },
        caught_by: &["features/unknown-features-refused"],
    },
    WrongDevice {
        name: "upload-is-write-back",
        what: "UPLOAD stands for WRITE_BACK on a discrete GPU",
        profile: "discrete",
        lies: Lies {
            custom_properties: Some(|asked, found| {
                properties_of(asked, D3D12_HEAP_TYPE_UPLOAD, found, BACK, L0)
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/discrete-upload"],
    },
    WrongDevice {
        name: "default-in-l0",
        what: "DEFAULT stands for pool L0 on a discrete GPU",
        profile: "discrete",
        lies: Lies {
            custom_properties: Some(|asked, found| {
                properties_of(asked, D3D12_HEAP_TYPE_DEFAULT, found, NONE, L0)
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/discrete-default"],
    },
    WrongDevice {
        name: "gpu-upload-in-l0",
        what: "GPU_UPLOAD stands for pool L0 on a discrete GPU",
        profile: "discrete",
        lies: Lies {
            custom_properties: Some(|asked, found| {
                properties_of(asked, D3D12_HEAP_TYPE_GPU_UPLOAD, found, COMBINE, L0);
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/discrete-gpu-upload"],
    },
    WrongDevice {
        name: "l1-on-uma",
        what: "DEFAULT stands for pool L1 on UMA",
        profile: "uma",
        lies: Lies {
            custom_properties: Some(|asked, found| {
                properties_of(asked, D3D12_HEAP_TYPE_DEFAULT, found, NONE, L1)
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/uma-default", "heap-properties/answers-make-heaps"],
    },
    WrongDevice {
        name: "coherent-upload-is-write-combine",
        what: "UPLOAD stands for WRITE_COMBINE on cache-coherent UMA",
        profile: "cache-coherent-uma",
        lies: Lies {
            custom_properties: Some(|asked, found| {
                properties_of(asked, D3D12_HEAP_TYPE_UPLOAD, found, COMBINE, L0)
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/cache-coherent-upload", "heap-properties/uma-gpu-upload-is-upload"],
    },
    WrongDevice {
        name: "answer-is-not-custom",
        what: "GetCustomHeapProperties answers the type that was asked for",
        profile: "discrete",
        lies: Lies { custom_properties: Some(|asked, found| found.Type = asked), ..HONEST },
        caught_by: &["heap-properties/answer-is-custom"],
    },
    WrongDevice {
        name: "write-back-in-l1",
        what: "WRITE_BACK in L1 is taken, as WRITE_COMBINE",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                let home = &mut desc.Properties;
                if (home.CPUPageProperty, home.MemoryPoolPreference) == (BACK, L1) {
                    home.CPUPageProperty = COMBINE;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "upload/custom-write-back-in-l1-refused",
            "heap-properties/custom-l1-write-back-refused",
        ],
    },
    WrongDevice {
        name: "properties-beside-an-abstract-type",
        what: "the page property beside DEFAULT, UPLOAD or READBACK is ignored",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type != D3D12_HEAP_TYPE_CUSTOM {
                    desc.Properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/abstract-with-page-property-refused", "upload/page-property-refused"],
    },
    // Heaps.
    WrongDevice {
        name: "heap-of-nothing",
        what: "a heap of 0 bytes is made",
        profile: "discrete",
        lies: Lies { heap: Some(|desc| desc.SizeInBytes = desc.SizeInBytes.max(1)), ..HONEST },
        caught_by: &["heap/size-0-refused", "device/heap-null-result-only-checks"],
    },
    WrongDevice {
        name: "any-heap-alignment",
        what: "heap alignments below 64 KiB are taken",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Alignment < KIB_64 {
                    desc.Alignment = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "heap/alignment-4-kib-refused",
            "heap/alignment-small-refused",
            "tight/heaps-are-unaffected",
        ],
    },
    WrongDevice {
        name: "heap-alignment-ignored",
        what: "heaps of 4 MiB alignment are aligned to 64 KiB",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| desc.Alignment = 0),
            heap_desc: Some(|desc| desc.Alignment = 4 << 20),
            ..HONEST
        },
        caught_by: &["heap/address-is-aligned-to-4-mib", "heap/alignment-large-refused"],
    },
    WrongDevice {
        name: "heap-that-holds-nothing",
        what: "a heap that denies every kind of resource is made",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                let all = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS;
                if desc.Flags & all == all {
                    desc.Flags &= !D3D12_HEAP_FLAG_DENY_BUFFERS;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/denying-everything-refused"],
    },
    WrongDevice {
        name: "tier-1-that-mixes",
        what: "a device of heap tier 1 makes heaps for everything",
        profile: "heap-tier-1",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Flags & D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS == 0 {
                    desc.Flags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/tier-1-everything-refused", "features/heap-tier-is-what-heaps-do"],
    },
    WrongDevice {
        name: "shared-gpu-upload",
        what: "SHARED is taken for GPU_UPLOAD heaps",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                    desc.Flags &= !(D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/shared-refused", "upload/shared-cross-adapter-refused"],
    },
    WrongDevice {
        name: "displayed-gpu-upload",
        what: "ALLOW_DISPLAY is taken for GPU_UPLOAD resources",
        profile: "uma",
        lies: Lies { resource: Some(|request| request.flags &= !D3D12_HEAP_FLAG_ALLOW_DISPLAY), ..HONEST },
        caught_by: &["upload/display-refused"],
    },
    WrongDevice {
        name: "write-tracking-without-a-tool",
        what: "TOOLS_USE_MANUAL_WRITE_TRACKING is taken although no tool provides it",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| desc.Flags &= !D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING),
            ..HONEST
        },
        caught_by: &["heap/write-tracking-refused", "upload/write-tracking-refused"],
    },
    WrongDevice {
        name: "undefined-heap-flags",
        what: "heap flags that do not exist are ignored",
        profile: "discrete",
        lies: Lies { heap: Some(|desc| desc.Flags &= 0x3fff & !0x12), ..HONEST },
        caught_by: &["heap/undefined-flags-refused"],
    },
    WrongDevice {
        name: "stale-heap-memory",
        what: "new heaps hold what somebody else wrote",
        profile: "discrete",
        lies: Lies { dirt: Some(Dirt::Heaps), ..HONEST },
        caught_by: &["heap/new-upload-heap-is-zero", "heap/new-readback-heap-is-zero"],
    },
    WrongDevice {
        name: "stale-committed-memory",
        what: "new committed resources hold what somebody else wrote",
        profile: "cache-coherent-uma",
        lies: Lies { dirt: Some(Dirt::Committed), ..HONEST },
        caught_by: &["heap/new-committed-resource-is-zero", "upload/new-heap-is-zero"],
    },
    WrongDevice {
        name: "heap-desc-loses-its-flags",
        what: "ID3D12Heap::GetDesc answers no flags",
        profile: "discrete",
        lies: Lies { heap_desc: Some(|desc| desc.Flags = 0), ..HONEST },
        caught_by: &["heap/desc-round-trip", "heap/only-buffers", "heap/only-textures"],
    },
    WrongDevice {
        name: "heap-desc-with-another-size",
        what: "ID3D12Heap::GetDesc answers a size that is twice as large",
        profile: "discrete",
        lies: Lies { heap_desc: Some(|desc| desc.SizeInBytes *= 2), ..HONEST },
        caught_by: &["heap/size-64-kib", "heap/desc-round-trip", "device/heap1-by-the-newer-call"],
    },
    // Buffers.
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
        name: "attachment-buffers",
        what: "buffers may be render targets and depth buffers",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) {
                    let attachments =
                        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                    request.desc.Flags &= !attachments;
                }
            }),
            ..HONEST
        },
        caught_by: &["buffer/render-target-refused", "buffer/depth-stencil-refused"],
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
    // Mapping.
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
        caught_by: &["mapping/default-refused", "mapping/placed-default-refused"],
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
    // Objects and accounting.
    WrongDevice {
        name: "check-only-says-ok",
        what: "creation calls that only check answer S_OK",
        profile: "discrete",
        lies: Lies { check_only: Some(|hresult| if hresult == S_FALSE { S_OK } else { hresult }), ..HONEST },
        caught_by: &["device/heap-null-result-only-checks", "device/placed-null-result-only-checks"],
    },
    WrongDevice {
        name: "device-leaks",
        what: "each heap keeps a reference to the device for ever",
        profile: "discrete",
        lies: Lies { leaks_device: true, ..HONEST },
        caught_by: &["device/objects-give-their-references-back"],
    },
    WrongDevice {
        name: "private-data-lost",
        what: "SetPrivateData of a resource keeps nothing",
        profile: "discrete",
        lies: Lies { forgets_private_data: true, ..HONEST },
        caught_by: &["device/private-data-round-trip", "device/private-data-room-too-small"],
    },
    WrongDevice {
        name: "interface-missing-in-the-middle",
        what: "ID3D12Device5 is denied, newer ones are not",
        profile: "discrete",
        lies: Lies { denies: Some(ID3D12Device5::IID), ..HONEST },
        caught_by: &["device/newer-interfaces-imply-older"],
    },
    WrongDevice {
        name: "luid-of-another",
        what: "the device's LUID is not its adapter's",
        profile: "discrete",
        lies: Lies { luid: Some(|luid| luid.LowPart ^= 0xff), ..HONEST },
        caught_by: &["device/luid-is-the-adapters"],
    },
    WrongDevice {
        name: "no-node",
        what: "GetNodeCount answers 0",
        profile: "discrete",
        lies: Lies { node_count: Some(0), ..HONEST },
        caught_by: &["device/has-a-node"],
    },
    WrongDevice {
        name: "usage-stays",
        what: "CurrentUsage is always 0",
        profile: "discrete",
        lies: Lies { video_memory: Some(|_, info| info.CurrentUsage = 0), ..HONEST },
        caught_by: &["upload/default-charged-to-local", "upload/charged-to-local"],
    },
    WrongDevice {
        name: "groups-swapped",
        what: "the segment groups are mistaken for each other",
        profile: "discrete",
        lies: Lies { segment_group: Some(|group| if group > 1 { group } else { 1 - group }), ..HONEST },
        caught_by: &[
            "upload/charged-to-local",
            "upload/upload-charged-to-non-local",
            "upload/readback-charged-to-non-local",
        ],
    },
    WrongDevice {
        name: "non-local-on-uma",
        what: "UMA has a budget in the non-local segment group",
        profile: "uma",
        lies: Lies {
            video_memory: Some(|group, info| {
                if group == DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL {
                    info.Budget = 1 << 30;
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/non-local-is-empty-on-uma"],
    },
    // Textures.
    WrongDevice {
        name: "small-textures-at-512",
        what: "small textures with Alignment 4 KiB are aligned to 512 bytes",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.iter().any(|desc| desc.Alignment == KIB_4) && is_valid(info) {
                    info.Alignment = 512;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/small-alignment"],
    },
    WrongDevice {
        name: "everything-is-small",
        what: "large textures and render targets are small resources",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) && descs.iter().any(|desc| desc.Alignment == KIB_4) {
                    *info = D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: 1 << 20, Alignment: KIB_4 };
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/large-is-not-small", "texture/render-target-is-not-small"],
    },
    WrongDevice {
        name: "tight-textures-above-the-maximum",
        what: "tight textures are aligned to 128 KiB",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) {
                    tight_alignment(2 * KIB_64, descs, info);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/texture-alignment-max", "tight/small-texture-alignment-max"],
    },
    WrongDevice {
        name: "small-textures-worse-than-without",
        what: "tight small textures are aligned to 64 KiB, without the flag to 4 KiB",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) {
                    tight_alignment(KIB_64, descs, info);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/never-worse-for-small-textures", "tight/small-texture-alignment-max"],
    },
    WrongDevice {
        name: "samples-forgotten",
        what: "multisampled textures take what one sample takes",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.SampleDesc.Count == 4 {
                    desc.SampleDesc.Count = 1;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/size-holds-the-texels"],
    },
    WrongDevice {
        name: "three-samples",
        what: "a texture of 3 samples is made, of 4",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.SampleDesc.Count == 3 {
                    request.desc.SampleDesc.Count = 4;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/sample-count-refused"],
    },
    WrongDevice {
        name: "swizzle-layouts-are-tight",
        what: "the flag is taken beside 64KB_UNDEFINED_SWIZZLE and 64KB_STANDARD_SWIZZLE",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Flags & TIGHT != 0 && !is_buffer(request) {
                    request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/undefined-swizzle-refused", "tight/standard-swizzle-refused"],
    },
    WrongDevice {
        name: "mip-levels-clamped",
        what: "too many mip levels are made the full chain",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if !is_buffer(request) && request.desc.MipLevels > 7 && request.desc.Width == 64 {
                    request.desc.MipLevels = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/too-many-mips-refused"],
    },
    WrongDevice {
        name: "mip-levels-stay-0",
        what: "GetDesc answers MipLevels 0 for a full chain",
        profile: "discrete",
        lies: Lies {
            desc: Some(|desc| {
                if desc.MipLevels > 1 {
                    desc.MipLevels = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/mip-levels-0-is-the-full-chain", "texture/desc-round-trip"],
    },
    WrongDevice {
        name: "both-attachments",
        what: "a texture may be a render target and a depth buffer",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let both = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                if request.desc.Flags & both == both {
                    request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/render-target-and-depth-refused"],
    },
    WrongDevice {
        name: "row-major-for-all",
        what: "ROW_MAJOR is taken without ALLOW_CROSS_ADAPTER",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
                    request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/row-major-alone-refused"],
    },
    WrongDevice {
        name: "textures-in-upload",
        what: "textures are made in UPLOAD heaps, which are DEFAULT ones",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if let (false, Some(home)) = (is_buffer(request), &mut request.properties) {
                    home.Type = D3D12_HEAP_TYPE_DEFAULT;
                    request.state = D3D12_RESOURCE_STATE_COMMON;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/upload-refused", "texture/readback-refused"],
    },
    WrongDevice {
        name: "render-targets-anywhere",
        what: "render targets may be placed in heaps that deny them",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.place.is_some() {
                    let attachments =
                        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                    if request.desc.Flags & attachments != 0 {
                        request.desc = D3D12_RESOURCE_DESC {
                            Flags: 0,
                            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
                            ..request.desc
                        };
                    }
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/render-target-in-a-texture-heap-refused"],
    },
    WrongDevice {
        name: "textures-have-addresses",
        what: "GetGPUVirtualAddress of a texture is not 0",
        profile: "discrete",
        lies: Lies {
            address: Some(
                |desc, address| {
                    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { address } else { 1 << 32 }
                },
            ),
            ..HONEST
        },
        caught_by: &["texture/has-no-gpu-address"],
    },
    WrongDevice {
        name: "opaque-textures-have-pointers",
        what: "Map of an opaque texture discloses a pointer",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if map.hresult.is_err() && map.address == 0 {
                    (map.hresult, map.start) = (S_OK, map.elsewhere);
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/texture-maps-without-a-pointer", "texture/is-not-mapped-in-default"],
    },
    // Footprints and tiles.
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
    // Queues, fences and residency.
    WrongDevice {
        name: "copies-one-byte-less",
        what: "CopyBufferRegion leaves out the last byte",
        profile: "discrete",
        lies: Lies { copy: Some(|_, _, len| *len -= 1), ..HONEST },
        caught_by: &["copies/buffer-on-a-direct-queue", "copies/buffer-region"],
    },
    WrongDevice {
        name: "copies-to-the-start",
        what: "CopyBufferRegion ignores the destination's offset",
        profile: "discrete",
        lies: Lies { copy: Some(|to, _, _| *to = 0), ..HONEST },
        caught_by: &["copies/buffer-region", "copies/placed-neighbours"],
    },
    WrongDevice {
        name: "copies-from-the-start",
        what: "CopyBufferRegion ignores the source's offset",
        profile: "discrete",
        lies: Lies { copy: Some(|_, from, _| *from = 0), ..HONEST },
        caught_by: &["copies/buffer-region"],
    },
    WrongDevice {
        name: "waits-for-nothing",
        what: "queues do not wait for fences",
        profile: "discrete",
        lies: Lies { ignores_wait: true, ..HONEST },
        caught_by: &["fences/queue-waits-for-the-cpu", "fences/queue-waits-for-a-queue"],
    },
    WrongDevice {
        name: "signals-too-much",
        what: "queues signal one more than they are asked to",
        profile: "discrete",
        lies: Lies { signal: Some(|value| value + 1), ..HONEST },
        caught_by: &["fences/queue-signals"],
    },
    WrongDevice {
        name: "fences-lag",
        what: "GetCompletedValue is one behind",
        profile: "discrete",
        lies: Lies { completed: Some(|value| value.saturating_sub(1)), ..HONEST },
        caught_by: &["fences/initial-value", "fences/signal-from-the-cpu"],
    },
    WrongDevice {
        name: "null-event-returns",
        what: "SetEventOnCompletion without an event never blocks",
        profile: "discrete",
        lies: Lies { ignores_null_event: true, ..HONEST },
        caught_by: &["fences/null-event-blocks"],
    },
    WrongDevice {
        name: "residency-refused",
        what: "MakeResident and Evict answer E_OUTOFMEMORY",
        profile: "discrete",
        lies: Lies { residency: Some(E_OUTOFMEMORY), ..HONEST },
        caught_by: &["residency/heap-round-trip", "residency/counts-nest"],
    },
    // Features that lie on their own.
    WrongDevice {
        name: "write-tracking-by-default",
        what: "ManualWriteTrackingResourceSupported is TRUE without a tool",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS17, answer.fields, 1, 1)
            }),
            ..HONEST
        },
        caught_by: &["features/write-tracking-off-by-default"],
    },
    WrongDevice {
        name: "formats-unsupported",
        what: "FORMAT_SUPPORT answers nothing for every format",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_FORMAT_SUPPORT, answer.fields, 1, 0)
            }),
            ..HONEST
        },
        caught_by: &[
            "features/format-support-of-a-common-format",
            "features/format-support-of-a-depth-format",
            "features/format-support-of-a-block-format",
        ],
    },
    WrongDevice {
        name: "every-sample-count",
        what: "MULTISAMPLE_QUALITY_LEVELS answers 1 for every sample count",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, answer.fields, 3, 1);
                if feature == D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS {
                    answer.hresult = S_OK;
                }
            }),
            ..HONEST
        },
        caught_by: &["features/sample-quality-levels"],
    },
    WrongDevice {
        name: "process-smaller-than-a-resource",
        what: "a process has fewer address bits than a resource",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, answer.fields, 1, 20)
            }),
            ..HONEST
        },
        caught_by: &["features/address-bits-in-order"],
    },
    WrongDevice {
        name: "casting-without-barriers",
        what: "RelaxedFormatCastingSupported is TRUE, EnhancedBarriersSupported is not",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS12, answer.fields, 1, 0);
                field(feature, D3D12_FEATURE_D3D12_OPTIONS12, answer.fields, 2, 1);
            }),
            ..HONEST
        },
        caught_by: &["features/options12-known"],
    },
    WrongDevice {
        name: "recreate-at-tier-that-does-not-exist",
        what: "RecreateAtTier is 9",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS20, answer.fields, 1, 9)
            }),
            ..HONEST
        },
        caught_by: &["features/options20-known"],
    },
    // Heaps that are refused, or taken, by mistake.
    WrongDevice {
        name: "no-4-mib-alignment",
        what: "heaps of alignment 4 MiB are refused",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Alignment == 4 << 20 {
                    desc.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/alignment-4-mib", "heap/address-is-aligned-to-4-mib"],
    },
    WrongDevice {
        name: "sizes-clamped",
        what: "heaps of any size are made, of at most 1 MiB",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                desc.SizeInBytes = desc.SizeInBytes.min(1 << 20);
            }),
            ..HONEST
        },
        caught_by: &["heap/size-of-everything-refused", "heap/size-64-mib"],
    },
    WrongDevice {
        name: "l1-taken-on-uma",
        what: "custom heaps in L1 are taken on UMA",
        profile: "uma",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.MemoryPoolPreference == L1 {
                    desc.Properties.MemoryPoolPreference = L0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/custom-l1-refused-on-uma"],
    },
    WrongDevice {
        name: "type-0-is-default",
        what: "heap type 0 is DEFAULT",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type == 0 {
                    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/type-0-refused"],
    },
    WrongDevice {
        name: "unknown-page-is-none",
        what: "a custom heap's page property may be UNKNOWN",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                let home = &mut desc.Properties;
                if (home.Type, home.CPUPageProperty)
                    == (D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_UNKNOWN)
                {
                    home.CPUPageProperty = NONE;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/custom-unknown-page-property-refused"],
    },
    WrongDevice {
        name: "unknown-pool-is-l0",
        what: "a custom heap's pool may be UNKNOWN",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                let home = &mut desc.Properties;
                if (home.Type, home.MemoryPoolPreference)
                    == (D3D12_HEAP_TYPE_CUSTOM, D3D12_MEMORY_POOL_UNKNOWN)
                {
                    home.MemoryPoolPreference = L0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/custom-unknown-pool-refused"],
    },
    WrongDevice {
        name: "pool-beside-an-abstract-type",
        what: "the pool beside DEFAULT, UPLOAD or READBACK is ignored",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type != D3D12_HEAP_TYPE_CUSTOM {
                    desc.Properties.MemoryPoolPreference = D3D12_MEMORY_POOL_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/abstract-with-pool-refused", "upload/pool-refused"],
    },
    WrongDevice {
        name: "no-cached-l0",
        what: "WRITE_BACK in L0 is refused",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                let home = &desc.Properties;
                if (home.CPUPageProperty, home.MemoryPoolPreference) == (BACK, L0) {
                    desc.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap-properties/custom-combinations-in-l0", "heap-properties/answers-make-heaps"],
    },
    WrongDevice {
        name: "tier-1-with-two-categories",
        what: "a device of heap tier 1 makes heaps for two of the three categories",
        profile: "heap-tier-1",
        lies: Lies {
            heap: Some(|desc| {
                if (desc.Flags & (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS))
                    .count_ones()
                    == 1
                {
                    desc.Flags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
                    desc.Flags &= !D3D12_HEAP_FLAG_DENY_BUFFERS;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/tier-1-two-categories-refused"],
    },
    WrongDevice {
        name: "tier-2-that-does-not-mix",
        what: "a device of heap tier 2 refuses heaps for everything",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Flags & (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS) == 0 {
                    desc.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/tier-2-everything", "features/heap-tier-is-what-heaps-do"],
    },
    WrongDevice {
        name: "shared-upload",
        what: "SHARED is taken for UPLOAD and READBACK heaps",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type != D3D12_HEAP_TYPE_DEFAULT {
                    desc.Flags &= !D3D12_HEAP_FLAG_SHARED;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/shared-with-cpu-access-refused", "upload/custom-equivalent-shared-refused"],
    },
    WrongDevice {
        name: "heap-desc-loses-custom",
        what: "ID3D12Heap::GetDesc answers DEFAULT for custom heaps",
        profile: "discrete",
        lies: Lies {
            heap_desc: Some(|desc| {
                if desc.Properties.Type == D3D12_HEAP_TYPE_CUSTOM {
                    desc.Properties =
                        D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/desc-keeps-custom-properties"],
    },
    // Resources that are refused by mistake.
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
    WrongDevice {
        name: "no-1d",
        what: "1D textures are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/1d", "texture/1d-array", "copies/texture-1d"],
    },
    WrongDevice {
        name: "no-3d",
        what: "3D textures are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/3d", "copies/texture-3d"],
    },
    WrongDevice {
        name: "no-block-compression",
        what: "BC1 is refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Format == DXGI_FORMAT_BC1_UNORM {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/block-compressed", "copies/texture-of-blocks"],
    },
    WrongDevice {
        name: "no-typeless",
        what: "typeless formats are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Format == DXGI_FORMAT_R8G8B8A8_TYPELESS {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/typeless"],
    },
    WrongDevice {
        name: "no-multisampling",
        what: "multisampled textures are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.SampleDesc.Count == 4 {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/multisampled"],
    },
    WrongDevice {
        name: "no-depth",
        what: "depth buffers are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/depth-buffer", "texture/depth-stencil", "copies/clear-depth"],
    },
    // Objects, mappings and commands.
    WrongDevice {
        name: "orphans",
        what: "GetDevice of heaps and resources fails",
        profile: "discrete",
        lies: Lies { orphans: true, ..HONEST },
        caught_by: &[
            "device/heap-knows-its-device",
            "device/placed-resource-knows-its-device",
            "device/committed-resource-knows-its-device",
        ],
    },
    WrongDevice {
        name: "removed",
        what: "GetDeviceRemovedReason answers DEVICE_HUNG for a device that works",
        profile: "discrete",
        lies: Lies { removed: Some(DXGI_ERROR_DEVICE_HUNG), ..HONEST },
        caught_by: &["device/is-not-removed", "heap/size-64-kib"],
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
    WrongDevice {
        name: "forgets-copyresource",
        what: "lists do not record CopyResource",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyResource), ..HONEST },
        caught_by: &[
            "copies/buffer-copyresource",
            "copies/texture-copyresource",
            "copies/aliases-share-bytes",
            "tiles/mapped-tiles-hold-bytes",
            "tiles/copied-mappings",
        ],
    },
    WrongDevice {
        name: "forgets-copytextureregion",
        what: "lists do not record CopyTextureRegion",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyTextureRegion), ..HONEST },
        caught_by: &["copies/texture-round-trip", "copies/texture-with-mips", "copies/texture-region"],
    },
    WrongDevice {
        name: "forgets-copytiles",
        what: "lists do not record CopyTiles",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyTiles), ..HONEST },
        caught_by: &["tiles/copied-tiles"],
    },
    WrongDevice {
        name: "forgets-clearrendertargetview",
        what: "lists do not record ClearRenderTargetView",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearRenderTargetView), ..HONEST },
        caught_by: &["copies/clear-render-target"],
    },
    WrongDevice {
        name: "forgets-cleardepthstencilview",
        what: "lists do not record ClearDepthStencilView",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearDepthStencilView), ..HONEST },
        caught_by: &["copies/clear-depth"],
    },
    WrongDevice {
        name: "forgets-clearunorderedaccessviewuint",
        what: "lists do not record ClearUnorderedAccessViewUint",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearUnorderedAccessViewUint), ..HONEST },
        caught_by: &["copies/clear-unordered-access"],
    },
    WrongDevice {
        name: "no-budget",
        what: "the local segment group has no budget",
        profile: "discrete",
        lies: Lies { video_memory: Some(|_, info| info.Budget = 0), ..HONEST },
        caught_by: &["upload/budget-is-there"],
    },
    WrongDevice {
        name: "any-segment-group",
        what: "QueryVideoMemoryInfo takes any segment group",
        profile: "discrete",
        lies: Lies { segment_group: Some(|group| group.clamp(0, 1)), ..HONEST },
        caught_by: &["upload/unknown-segment-group-refused"],
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
