//! Devices that create, refuse or fill heaps wrongly.

use heapwright_d3d12::*;

use super::{KIB_64, WrongDevice, field, lie, wrong};
use crate::lies::{Dirt, HONEST, Lies};

/// The flags that deny a kind of resources.
const DENY_ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_DENY_BUFFERS
    | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
    | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "the DENY flags of heaps have no effect",
        lie!(heap, |desc| desc.Flags &= !DENY_ALL),
        &[
            "heap/buffer-in-a-texture-heap-refused",
            "heap/buffer-in-a-render-target-heap-refused",
            "texture/in-a-buffer-heap-refused",
            "texture/in-a-render-target-heap-refused",
        ],
    ),
    wrong(
        "heaps that deny one family of resources are refused on tier 2",
        lie!(heap, |desc| {
            if (desc.Flags & DENY_ALL).count_ones() == 1 {
                desc.SizeInBytes = 0;
            }
        }),
        &["heap/tier-2-two-categories"],
    ),
    wrong(
        "heaps for render targets and depth buffers alone are refused",
        lie!(heap, |desc| {
            if desc.Flags & DENY_ALL == D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES {
                desc.SizeInBytes = 0;
            }
        }),
        &["heap/only-render-targets"],
    ),
    wrong(
        "GPU_UPLOAD is taken without GPUUploadHeapSupported, as an UPLOAD heap",
        lie!(heap, |desc| {
            if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                desc.Properties.Type = D3D12_HEAP_TYPE_UPLOAD;
            }
        }),
        &["upload/unsupported-heap-refused", "features/gpu-upload-means-the-heaps"],
    )
    .on("discrete-2gib"),
    wrong(
        "a heap of 0 bytes is made",
        lie!(heap, |desc| desc.SizeInBytes = desc.SizeInBytes.max(1)),
        &["heap/size-0-refused", "device/heap-null-result-only-checks"],
    ),
    wrong(
        "heap alignments below 64 KiB are taken",
        lie!(heap, |desc| {
            if desc.Alignment < KIB_64 {
                desc.Alignment = 0;
            }
        }),
        &["heap/alignment-4-kib-refused", "heap/alignment-small-refused", "tight/heaps-are-unaffected"],
    ),
    wrong(
        "heaps of 4 MiB alignment are aligned to 64 KiB",
        Lies {
            heap: Some(|desc| desc.Alignment = 0),
            heap_desc: Some(|desc| desc.Alignment = 4 << 20),
            ..HONEST
        },
        &["heap/address-is-aligned-to-4-mib", "heap/alignment-large-refused"],
    ),
    wrong(
        "a heap that denies every kind of resource is made",
        lie!(heap, |desc| {
            let all = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS;
            if desc.Flags & all == all {
                desc.Flags &= !D3D12_HEAP_FLAG_DENY_BUFFERS;
            }
        }),
        &["heap/denying-everything-refused"],
    ),
    wrong(
        "a device of heap tier 1 makes heaps for everything",
        lie!(heap, |desc| {
            if desc.Flags & D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS == 0 {
                desc.Flags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
            }
        }),
        &["heap/tier-1-everything-refused", "features/heap-tier-is-what-heaps-do"],
    )
    .on("heap-tier-1"),
    wrong(
        "GPU_UPLOAD heaps are UPLOAD heaps",
        lie!(heap, |desc| {
            if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                desc.Properties.Type = D3D12_HEAP_TYPE_UPLOAD;
            }
        }),
        &["upload/all-of-video-memory", "upload/charged-to-local"],
    ),
    wrong(
        "evicted memory does not become resident again",
        lie!(make_resident, E_OUTOFMEMORY),
        &["upload/falls-back-when-made-resident"],
    ),
    wrong(
        "GPUUploadHeapSupported is FALSE on UMA",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS16, answer.fields, 1, 0);
        }),
        &["upload/uma-has-gpu-upload-heaps"],
    )
    .on("uma"),
    wrong(
        "SHARED is taken for GPU_UPLOAD heaps",
        lie!(heap, |desc| {
            if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                desc.Flags &= !(D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
            }
        }),
        &["upload/shared-refused", "upload/shared-cross-adapter-refused"],
    ),
    wrong(
        "ALLOW_DISPLAY is taken for GPU_UPLOAD resources",
        lie!(resource, |request| request.flags &= !D3D12_HEAP_FLAG_ALLOW_DISPLAY),
        &["upload/display-refused"],
    )
    .on("uma"),
    wrong(
        "TOOLS_USE_MANUAL_WRITE_TRACKING is taken although no tool provides it",
        lie!(heap, |desc| desc.Flags &= !D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING),
        &["heap/write-tracking-refused", "upload/write-tracking-refused"],
    ),
    wrong(
        "heap flags that do not exist are ignored",
        lie!(heap, |desc| desc.Flags &= 0x3fff & !0x12),
        &["heap/undefined-flags-refused"],
    ),
    wrong(
        "new heaps hold what somebody else wrote",
        lie!(dirt, Dirt::Heaps),
        &["heap/new-upload-heap-is-zero", "heap/new-readback-heap-is-zero"],
    ),
    wrong(
        "new committed resources hold what somebody else wrote",
        lie!(dirt, Dirt::Committed),
        &["heap/new-committed-resource-is-zero", "upload/new-heap-is-zero"],
    )
    .on("cache-coherent-uma"),
    wrong(
        "ID3D12Heap::GetDesc answers no flags",
        lie!(heap_desc, |desc| desc.Flags = 0),
        &["heap/desc-round-trip", "heap/only-buffers", "heap/only-textures"],
    ),
    wrong(
        "ID3D12Heap::GetDesc answers a size that is twice as large",
        lie!(heap_desc, |desc| desc.SizeInBytes *= 2),
        &["heap/size-64-kib", "heap/desc-round-trip", "device/heap1-by-the-newer-call"],
    ),
    wrong(
        "heaps of alignment 4 MiB are refused",
        lie!(heap, |desc| {
            if desc.Alignment == 4 << 20 {
                desc.SizeInBytes = 0;
            }
        }),
        &["heap/alignment-4-mib", "heap/address-is-aligned-to-4-mib"],
    ),
    wrong(
        "heaps of any size are made, of at most 1 MiB",
        lie!(heap, |desc| {
            desc.SizeInBytes = desc.SizeInBytes.min(1 << 20);
        }),
        &["heap/size-of-everything-refused", "heap/size-64-mib"],
    ),
    wrong(
        "a device of heap tier 1 makes heaps for two of the three categories",
        lie!(heap, |desc| {
            if (desc.Flags & (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS)).count_ones()
                == 1
            {
                desc.Flags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
                desc.Flags &= !D3D12_HEAP_FLAG_DENY_BUFFERS;
            }
        }),
        &["heap/tier-1-two-categories-refused"],
    )
    .on("heap-tier-1"),
    wrong(
        "a device of heap tier 2 refuses heaps for everything",
        lie!(heap, |desc| {
            if desc.Flags & (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_DENY_BUFFERS) == 0 {
                desc.SizeInBytes = 0;
            }
        }),
        &["heap/tier-2-everything", "features/heap-tier-is-what-heaps-do"],
    ),
    wrong(
        "SHARED is taken for UPLOAD and READBACK heaps",
        lie!(heap, |desc| {
            if desc.Properties.Type != D3D12_HEAP_TYPE_DEFAULT {
                desc.Flags &= !D3D12_HEAP_FLAG_SHARED;
            }
        }),
        &["heap/shared-with-cpu-access-refused", "upload/custom-equivalent-shared-refused"],
    ),
    wrong(
        "ID3D12Heap::GetDesc answers DEFAULT for custom heaps",
        lie!(heap_desc, |desc| {
            if desc.Properties.Type == D3D12_HEAP_TYPE_CUSTOM {
                desc.Properties =
                    D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
            }
        }),
        &["heap/desc-keeps-custom-properties"],
    ),
];
