//! Devices that create, refuse or fill heaps wrongly.

use heapwright_d3d12::*;

use super::{HONEST, KIB_64, WrongDevice, field};
use crate::lies::{Dirt, Lies};

/// The flags that deny a kind of resources.
const DENY_ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_DENY_BUFFERS
    | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
    | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "heaps-deny-nothing",
        what: "the DENY flags of heaps have no effect",
        profile: "discrete",
        lies: Lies { heap: Some(|desc| desc.Flags &= !DENY_ALL), ..HONEST },
        caught_by: &[
            "heap/buffer-in-a-texture-heap-refused",
            "heap/buffer-in-a-render-target-heap-refused",
            "texture/in-a-buffer-heap-refused",
            "texture/in-a-render-target-heap-refused",
        ],
    },
    WrongDevice {
        name: "no-heaps-of-two-families",
        what: "heaps that deny one family of resources are refused on tier 2",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if (desc.Flags & DENY_ALL).count_ones() == 1 {
                    desc.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/tier-2-two-categories"],
    },
    WrongDevice {
        name: "no-heaps-of-render-targets",
        what: "heaps for render targets and depth buffers alone are refused",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Flags & DENY_ALL == D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES {
                    desc.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["heap/only-render-targets"],
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
        name: "gpu-upload-in-system-memory",
        what: "GPU_UPLOAD heaps are UPLOAD heaps",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD {
                    desc.Properties.Type = D3D12_HEAP_TYPE_UPLOAD;
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/all-of-video-memory", "upload/charged-to-local"],
    },
    WrongDevice {
        name: "no-fallback-when-made-resident",
        what: "evicted memory does not become resident again",
        profile: "discrete",
        lies: Lies { make_resident: Some(E_OUTOFMEMORY), ..HONEST },
        caught_by: &["upload/falls-back-when-made-resident"],
    },
    WrongDevice {
        name: "uma-without-gpu-upload-heaps",
        what: "GPUUploadHeapSupported is FALSE on UMA",
        profile: "uma",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS16, answer.fields, 1, 0);
            }),
            ..HONEST
        },
        caught_by: &["upload/uma-has-gpu-upload-heaps"],
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
];
