//! Devices whose heap properties contradict the tables of Microsoft's *GPU Upload Heaps*.

use heapwright_d3d12::*;

use super::{BACK, COMBINE, L0, L1, NONE, wrong_devices};

wrong_devices! {
    "UPLOAD stands for WRITE_BACK on a discrete GPU":
        custom = (D3D12_HEAP_TYPE_UPLOAD, BACK, L0)
        => "heap-properties/discrete-upload";
    "DEFAULT stands for pool L0 on a discrete GPU":
        custom = (D3D12_HEAP_TYPE_DEFAULT, NONE, L0)
        => "heap-properties/discrete-default";
    "GPU_UPLOAD stands for pool L0 on a discrete GPU":
        custom = (D3D12_HEAP_TYPE_GPU_UPLOAD, COMBINE, L0)
        => "heap-properties/discrete-gpu-upload";
    "DEFAULT stands for pool L1 on UMA" on "uma":
        custom = (D3D12_HEAP_TYPE_DEFAULT, NONE, L1)
        => "heap-properties/uma-default", "heap-properties/answers-make-heaps";
    "UPLOAD stands for WRITE_COMBINE on cache-coherent UMA" on "cache-coherent-uma":
        custom = (D3D12_HEAP_TYPE_UPLOAD, COMBINE, L0)
        => "heap-properties/cache-coherent-upload", "heap-properties/uma-gpu-upload-is-upload";
    "GetCustomHeapProperties answers the type that was asked for":
        custom_properties = |asked, found| found.Type = asked => "heap-properties/answer-is-custom";
    "WRITE_BACK in L1 is taken, as WRITE_COMBINE": heap = |desc| {
        let home = &mut desc.Properties;
        if (home.CPUPageProperty, home.MemoryPoolPreference) == (BACK, L1) {
            home.CPUPageProperty = COMBINE;
        }
    } => "upload/custom-write-back-in-l1-refused", "heap-properties/custom-l1-write-back-refused";
    "the page property beside DEFAULT, UPLOAD or READBACK is ignored": heap = |desc| {
        if desc.Properties.Type != D3D12_HEAP_TYPE_CUSTOM {
            desc.Properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_UNKNOWN;
        }
    } => "heap-properties/abstract-with-page-property-refused", "upload/page-property-refused";
    "custom heaps in L1 are taken on UMA" on "uma": heap = |desc| {
        if desc.Properties.MemoryPoolPreference == L1 {
            desc.Properties.MemoryPoolPreference = L0;
        }
    } => "heap-properties/custom-l1-refused-on-uma";
    "heap type 0 is DEFAULT": heap = |desc| {
        if desc.Properties.Type == 0 {
            desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
        }
    } => "heap-properties/type-0-refused";
    "a custom heap's page property may be UNKNOWN": heap = |desc| {
        let home = &mut desc.Properties;
        if (home.Type, home.CPUPageProperty) == (D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_UNKNOWN)
        {
            home.CPUPageProperty = NONE;
        }
    } => "heap-properties/custom-unknown-page-property-refused";
    "a custom heap's pool may be UNKNOWN": heap = |desc| {
        let home = &mut desc.Properties;
        if (home.Type, home.MemoryPoolPreference) == (D3D12_HEAP_TYPE_CUSTOM, D3D12_MEMORY_POOL_UNKNOWN) {
            home.MemoryPoolPreference = L0;
        }
    } => "heap-properties/custom-unknown-pool-refused";
    "the pool beside DEFAULT, UPLOAD or READBACK is ignored": heap = |desc| {
        if desc.Properties.Type != D3D12_HEAP_TYPE_CUSTOM {
            desc.Properties.MemoryPoolPreference = D3D12_MEMORY_POOL_UNKNOWN;
        }
    } => "heap-properties/abstract-with-pool-refused", "upload/pool-refused";
    "WRITE_BACK in L0 is refused": heap = |desc| {
        let home = &desc.Properties;
        if (home.CPUPageProperty, home.MemoryPoolPreference) == (BACK, L0) {
            desc.SizeInBytes = 0;
        }
    } => "heap-properties/custom-combinations-in-l0", "heap-properties/answers-make-heaps";
}
