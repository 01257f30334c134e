//! Devices that are wrong about query heaps that the CPU resolves, and about the heaps of compute-only devices.

use heapwright_d3d12::D3D12_FEATURE_D3D12_OPTIONS19;
use heapwright_d3d12::D3D12_FEATURE_D3D12_OPTIONS20;
use heapwright_d3d12::sdk_619::*;

use super::wrong_devices;

wrong_devices! {
    "undefined flags of query heaps are taken": query_heap = |_, flags| *flags &= D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE
        => "queries/cpu-resolve-flags";
    "the CPU resolves all query heaps": query_heap = |_, flags| *flags |= D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE
        => "queries/cpu-resolve-needs-the-flag";
    "the CPU resolves no query heaps": query_heap = |_, flags| *flags &= !D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE
        => "queries/cpu-resolve-of-timestamps";
    "query heaps are larger than asked for": query_heap = |desc, _| desc.Count *= 2
        => "queries/cpu-resolve-past-the-end-refused";
    "ComputeOnlyCustomHeapSupported is FALSE, and CUSTOM heaps are created" on "compute-only":
        field = (D3D12_FEATURE_D3D12_OPTIONS19, 9, 0) => "features/compute-only-heaps-mean-the-features";
    "ComputeOnlyWriteWatchSupported is FALSE, and heaps with write watches are created" on "compute-only":
        field = (D3D12_FEATURE_D3D12_OPTIONS20, 0, 0) => "features/compute-only-heaps-mean-the-features";
}
