//! Devices whose heap properties contradict the tables of Microsoft's *GPU Upload Heaps*.

use heapwright_d3d12::*;

use super::{BACK, COMBINE, HONEST, L0, L1, NONE, WrongDevice, properties_of};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
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
];
