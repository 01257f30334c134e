//! Devices whose heap properties contradict the tables of Microsoft's *GPU Upload Heaps*.

use heapwright_d3d12::*;

use super::{BACK, COMBINE, L0, L1, NONE, WrongDevice, lie, properties_of, wrong};
use crate::lies::{HONEST, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "UPLOAD stands for WRITE_BACK on a discrete GPU",
        lie!(custom_properties, |asked, found| {
            properties_of(asked, D3D12_HEAP_TYPE_UPLOAD, found, BACK, L0)
        }),
        &["heap-properties/discrete-upload"],
    ),
    wrong(
        "DEFAULT stands for pool L0 on a discrete GPU",
        lie!(custom_properties, |asked, found| {
            properties_of(asked, D3D12_HEAP_TYPE_DEFAULT, found, NONE, L0)
        }),
        &["heap-properties/discrete-default"],
    ),
    wrong(
        "GPU_UPLOAD stands for pool L0 on a discrete GPU",
        lie!(custom_properties, |asked, found| {
            properties_of(asked, D3D12_HEAP_TYPE_GPU_UPLOAD, found, COMBINE, L0);
        }),
        &["heap-properties/discrete-gpu-upload"],
    ),
    wrong(
        "DEFAULT stands for pool L1 on UMA",
        lie!(custom_properties, |asked, found| {
            properties_of(asked, D3D12_HEAP_TYPE_DEFAULT, found, NONE, L1)
        }),
        &["heap-properties/uma-default", "heap-properties/answers-make-heaps"],
    )
    .on("uma"),
    wrong(
        "UPLOAD stands for WRITE_COMBINE on cache-coherent UMA",
        lie!(custom_properties, |asked, found| {
            properties_of(asked, D3D12_HEAP_TYPE_UPLOAD, found, COMBINE, L0)
        }),
        &["heap-properties/cache-coherent-upload", "heap-properties/uma-gpu-upload-is-upload"],
    )
    .on("cache-coherent-uma"),
    wrong(
        "GetCustomHeapProperties answers the type that was asked for",
        lie!(custom_properties, |asked, found| found.Type = asked),
        &["heap-properties/answer-is-custom"],
    ),
    wrong(
        "WRITE_BACK in L1 is taken, as WRITE_COMBINE",
        lie!(heap, |desc| {
            let home = &mut desc.Properties;
            if (home.CPUPageProperty, home.MemoryPoolPreference) == (BACK, L1) {
                home.CPUPageProperty = COMBINE;
            }
        }),
        &["upload/custom-write-back-in-l1-refused", "heap-properties/custom-l1-write-back-refused"],
    ),
    wrong(
        "the page property beside DEFAULT, UPLOAD or READBACK is ignored",
        lie!(heap, |desc| {
            if desc.Properties.Type != D3D12_HEAP_TYPE_CUSTOM {
                desc.Properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_UNKNOWN;
            }
        }),
        &["heap-properties/abstract-with-page-property-refused", "upload/page-property-refused"],
    ),
    wrong(
        "custom heaps in L1 are taken on UMA",
        lie!(heap, |desc| {
            if desc.Properties.MemoryPoolPreference == L1 {
                desc.Properties.MemoryPoolPreference = L0;
            }
        }),
        &["heap-properties/custom-l1-refused-on-uma"],
    )
    .on("uma"),
    wrong(
        "heap type 0 is DEFAULT",
        lie!(heap, |desc| {
            if desc.Properties.Type == 0 {
                desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
            }
        }),
        &["heap-properties/type-0-refused"],
    ),
    wrong(
        "a custom heap's page property may be UNKNOWN",
        lie!(heap, |desc| {
            let home = &mut desc.Properties;
            if (home.Type, home.CPUPageProperty) == (D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_UNKNOWN)
            {
                home.CPUPageProperty = NONE;
            }
        }),
        &["heap-properties/custom-unknown-page-property-refused"],
    ),
    wrong(
        "a custom heap's pool may be UNKNOWN",
        lie!(heap, |desc| {
            let home = &mut desc.Properties;
            if (home.Type, home.MemoryPoolPreference) == (D3D12_HEAP_TYPE_CUSTOM, D3D12_MEMORY_POOL_UNKNOWN) {
                home.MemoryPoolPreference = L0;
            }
        }),
        &["heap-properties/custom-unknown-pool-refused"],
    ),
    wrong(
        "the pool beside DEFAULT, UPLOAD or READBACK is ignored",
        lie!(heap, |desc| {
            if desc.Properties.Type != D3D12_HEAP_TYPE_CUSTOM {
                desc.Properties.MemoryPoolPreference = D3D12_MEMORY_POOL_UNKNOWN;
            }
        }),
        &["heap-properties/abstract-with-pool-refused", "upload/pool-refused"],
    ),
    wrong(
        "WRITE_BACK in L0 is refused",
        lie!(heap, |desc| {
            let home = &desc.Properties;
            if (home.CPUPageProperty, home.MemoryPoolPreference) == (BACK, L0) {
                desc.SizeInBytes = 0;
            }
        }),
        &["heap-properties/custom-combinations-in-l0", "heap-properties/answers-make-heaps"],
    ),
];
