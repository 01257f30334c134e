//! Features of Agility SDKs 1.618 and 1.619: barrier layouts by command list type, and views of buffers by byte
//! offsets.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::{HRESULT, Interface};

use crate::gpu::{Answer as _, Queue, broken_rule, commit_with, descriptor_heap, feature, memory_info};

fn open(profile: &str, sdk: &str) -> Instance {
    let profile = HostProfile::find(profile).expect("a profile of that name");
    let options = DeviceOptions { sdk: sdk.parse().expect("a version"), ..DeviceOptions::default() };
    Instance::open_with(profile, options).expect("a fresh instance")
}

#[test]
fn features_appear_with_their_sdk_and_driver() {
    for (profile, sdk, layouts, options22) in [
        ("discrete", "617", E_INVALIDARG, (E_INVALIDARG, false)),
        ("discrete", "618", S_OK, (E_INVALIDARG, false)),
        ("discrete", "619", S_OK, (S_OK, true)),
        ("discrete", "619.5", S_OK, (S_OK, true)),
        ("old-ddi", "619.5", S_OK, (S_OK, false)),
    ] {
        let gpu = open(profile, sdk);
        let layout = D3D12_FEATURE_DATA_BARRIER_LAYOUT::default();
        assert_eq!(feature(&gpu.device, D3D12_FEATURE_BARRIER_LAYOUT, layout).0, layouts, "{profile}, {sdk}");
        let data = D3D12_FEATURE_DATA_D3D12_OPTIONS22::default();
        let (result, data) = feature(&gpu.device, D3D12_FEATURE_D3D12_OPTIONS22, data);
        let found = (result, data.CreateByteOffsetViewsSupported.as_bool());
        assert_eq!(found, options22, "{profile}, {sdk}");
    }
}

#[test]
fn layouts_are_supported_by_command_list_types() {
    let gpu = open("discrete", "618");
    let supported = |list_type, layout| {
        let data = D3D12_FEATURE_DATA_BARRIER_LAYOUT {
            CommandListType: list_type,
            Layout: layout,
            ..Default::default()
        };
        let (result, data) = feature(&gpu.device, D3D12_FEATURE_BARRIER_LAYOUT, data);
        assert_eq!(result, S_OK);
        data.Supported.as_bool()
    };
    let lists = [
        D3D12_COMMAND_LIST_TYPE_DIRECT,
        D3D12_COMMAND_LIST_TYPE_COMPUTE,
        D3D12_COMMAND_LIST_TYPE_COPY,
        D3D12_COMMAND_LIST_TYPE_VIDEO_DECODE,
    ];
    for (layout, expected) in [
        (D3D12_BARRIER_LAYOUT_COMMON, [true, true, true, false]),
        (D3D12_BARRIER_LAYOUT_RENDER_TARGET, [true, false, false, false]),
        (D3D12_BARRIER_LAYOUT_COPY_DEST, [true, true, false, false]),
        (D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON, [true, false, false, false]),
        (D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON, [false, true, false, false]),
        (D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE, [true, true, false, false]),
        (D3D12_BARRIER_LAYOUT_VIDEO_DECODE_READ, [false; 4]),
        (99, [false; 4]),
    ] {
        assert_eq!(lists.map(|list_type| supported(list_type, layout)), expected, "layout {layout}");
    }
}

/// A device with a buffer of 8 KiB and a descriptor.
struct Viewed {
    device: ID3D12Device15,
    buffer: ID3D12Resource,
    descriptors: ID3D12DescriptorHeap,
}

impl Viewed {
    fn open(profile: &str, sdk: &str) -> Self {
        let device: ID3D12Device15 = open(profile, sdk).device.cast().expect("the newest interface");
        let flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        let buffer = commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 8192, flags);
        let ids = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        let descriptors = descriptor_heap(&device, ids, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE);
        Self { device, buffer, descriptors: descriptors.expect("one descriptor") }
    }

    fn readable(&self, format: DXGI_FORMAT, range: D3D12_BUFFER_SRV_BYTE_OFFSET) -> HRESULT {
        let desc = D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET::new(format, range);
        let start = unsafe { self.descriptors.GetCPUDescriptorHandleForHeapStart() };
        unsafe { self.device.TryCreateShaderResourceView(self.buffer.as_raw(), desc.as_desc(), start) }
    }

    fn structures(&self, offset: u64, size: u64, stride: u32) -> HRESULT {
        let range = D3D12_BUFFER_SRV_BYTE_OFFSET {
            Offset: offset,
            Size: size,
            StructureByteStride: stride,
            ..Default::default()
        };
        self.readable(DXGI_FORMAT_UNKNOWN, range)
    }

    /// With a counter in the buffer.
    fn counted(&self, format: DXGI_FORMAT, range: D3D12_BUFFER_UAV_BYTE_OFFSET) -> HRESULT {
        let desc = D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET::new(format, range);
        let start = unsafe { self.descriptors.GetCPUDescriptorHandleForHeapStart() };
        let view = self.buffer.as_raw();
        unsafe { self.device.TryCreateUnorderedAccessView(view, view, desc.as_desc(), start) }
    }
}

#[test]
fn an_implicit_size_appeared_after_byte_offset_views() {
    for (sdk, expected) in [("619.0", E_INVALIDARG), ("619.3", E_INVALIDARG), ("619.4", S_OK)] {
        let viewed = Viewed::open("discrete", sdk);
        assert_eq!(viewed.structures(4, 120, 12), S_OK, "{sdk}");
        assert_eq!(viewed.structures(4, 0, 12), expected, "{sdk}");
    }
    // No whole element is left.
    assert_eq!(Viewed::open("discrete", "619.4").structures(8188, 0, 12), E_INVALIDARG);
}

#[test]
fn devices_without_byte_offset_views_refuse_them() {
    assert_eq!(Viewed::open("old-ddi", "619.5").structures(0, 120, 12), E_INVALIDARG);
    assert_eq!(Viewed::open("discrete", "618").structures(0, 120, 12), E_INVALIDARG);
}

#[test]
fn strides_flags_and_offsets_of_byte_offset_views_are_bounded() {
    let viewed = Viewed::open("discrete", "619.5");
    assert_eq!(viewed.structures(0, 4096, 2048), S_OK);
    assert_eq!(viewed.structures(0, 4104, 2052), E_INVALIDARG, "structures have at most 2048 bytes");
    assert_eq!(viewed.structures(8192, 12, 12), E_INVALIDARG, "begins at the end");
    assert_eq!(viewed.structures(u64::MAX - 11, 12, 12), E_INVALIDARG, "overflows");
    let range = D3D12_BUFFER_SRV_BYTE_OFFSET { Size: 16, Flags: 2, ..Default::default() };
    assert_eq!(viewed.readable(DXGI_FORMAT_R32_UINT, range), E_INVALIDARG, "unknown flags");
}

#[test]
fn counters_of_byte_offset_views_are_those_of_structures() {
    let viewed = Viewed::open("discrete", "619.5");
    let structures = D3D12_BUFFER_UAV_BYTE_OFFSET {
        Offset: 4,
        Size: 24,
        StructureByteStride: 12,
        CounterOffsetInBytes: 4096,
        ..Default::default()
    };
    assert_eq!(viewed.counted(DXGI_FORMAT_UNKNOWN, structures), S_OK);
    let astray = D3D12_BUFFER_UAV_BYTE_OFFSET { CounterOffsetInBytes: 4, ..structures };
    assert_eq!(viewed.counted(DXGI_FORMAT_UNKNOWN, astray), E_INVALIDARG, "no multiple of 4 KiB");
    let words = D3D12_BUFFER_UAV_BYTE_OFFSET { Offset: 16, StructureByteStride: 0, Flags: 1, ..structures };
    assert_eq!(viewed.counted(DXGI_FORMAT_R32_TYPELESS, words), E_INVALIDARG, "no structures");
    let outside = D3D12_BUFFER_UAV_BYTE_OFFSET { CounterOffsetInBytes: 8192, ..structures };
    assert_eq!(viewed.counted(DXGI_FORMAT_UNKNOWN, outside), E_INVALIDARG, "behind the counter's buffer");
}

/// DirectX-Specs, *D3D12 CPU Timeline Query Resolution*: the CPU resolves the queries of heaps with the flag, and
/// commands those of others.
#[test]
fn query_heaps_are_resolved_by_the_cpu_or_by_commands() {
    let device: ID3D12Device15 = open("discrete", "619").device.cast().expect("the newest interface");
    let desc =
        D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS, Count: 4, NodeMask: 0 };
    let create = |desc: &D3D12_QUERY_HEAP_DESC, flags| {
        let mut heap = null_mut();
        let result = unsafe { device.CreateQueryHeap1(desc, flags, &ID3D12QueryHeap::IID, &raw mut heap) };
        assert_eq!(result.is_ok(), !heap.is_null());
        let heap = (!heap.is_null()).then(|| unsafe { ID3D12QueryHeap::from_raw(heap) });
        (result, heap)
    };
    assert_eq!(create(&desc, 2).0, E_INVALIDARG, "an unknown flag");
    let none = D3D12_QUERY_HEAP_DESC { Count: 0, ..desc };
    assert_eq!(create(&none, D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE).0, E_INVALIDARG, "no queries");
    let (_, of_cpu) = create(&desc, D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE);
    let (_, of_commands) = create(&desc, D3D12_QUERY_HEAP_FLAG_NONE);
    let (of_cpu, of_commands) = (of_cpu.expect("a heap"), of_commands.expect("a heap"));

    let statistics = D3D12_QUERY_TYPE_PIPELINE_STATISTICS;
    let mut results = [0xff_u8; 4 * 88];
    let mut resolve = |heap: *mut c_void, query_type, start, count| {
        let data = results.as_mut_ptr().cast();
        let result = unsafe { device.ResolveQueryData(heap, query_type, start, count, data) };
        (result, results.iter().filter(|&&byte| byte == 0).count())
    };
    assert_eq!(resolve(of_commands.as_raw(), statistics, 0, 1), (E_INVALIDARG, 0));
    assert_eq!(resolve(null_mut(), statistics, 0, 1), (E_INVALIDARG, 0));
    assert_eq!(resolve(of_cpu.as_raw(), D3D12_QUERY_TYPE_TIMESTAMP, 0, 1), (E_INVALIDARG, 0));
    assert_eq!(resolve(of_cpu.as_raw(), statistics, 3, 2), (E_INVALIDARG, 0));
    assert_eq!(resolve(of_cpu.as_raw(), statistics, 0, 0), (S_OK, 0));
    assert_eq!(resolve(of_cpu.as_raw(), statistics, 1, 3), (S_OK, 3 * 88), "queries that were not issued");
    let answer = unsafe { device.ResolveQueryData(of_cpu.as_raw(), statistics, 0, 1, null_mut()) };
    assert_eq!(answer, E_INVALIDARG);

    let target = commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 8192, D3D12_RESOURCE_FLAG_NONE);
    for (heap, is_resolved) in [(&of_commands, true), (&of_cpu, false)] {
        let queue = Queue::direct(&device);
        unsafe { queue.list.ResolveQueryData(heap, statistics, 0, 4, &target, 0) };
        assert_eq!(unsafe { queue.list.Close() }.is_ok(), is_resolved);
    }
}

/// The heap is memory of the CPU: it is charged to the segment group of READBACK heaps and evicted like any other.
#[test]
fn a_query_heap_that_the_cpu_resolves_is_memory() {
    const MIB: u64 = 1 << 20;
    for (profile, group) in [
        ("discrete", DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL),
        ("uma", DXGI_MEMORY_SEGMENT_GROUP_LOCAL),
        ("compute-only", DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL),
    ] {
        let gpu = open(profile, "619");
        let device: ID3D12Device15 = gpu.device.cast().expect("the newest interface");
        let create = |count, flags| {
            let desc =
                D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: count, NodeMask: 0 };
            let mut heap = null_mut();
            let iid = &ID3D12Pageable::IID;
            let result = unsafe { device.CreateQueryHeap1(&desc, flags, iid, &raw mut heap) };
            let heap = (!heap.is_null()).then(|| unsafe { ID3D12Pageable::from_raw(heap) });
            (result, heap)
        };
        let usage = || memory_info(&gpu.adapter, group).CurrentUsage;
        let before = usage();
        let (_, heap) = create(1 << 17, D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE);
        assert_eq!(usage() - before, MIB, "{profile}: 2^17 results of 8 bytes");
        let objects = [heap];
        unsafe { device.Evict(&objects) }.succeeds();
        assert_eq!(usage(), before, "{profile}: evicted");
        unsafe { device.MakeResident(&objects) }.succeeds();
        assert_eq!(usage() - before, MIB, "{profile}: resident");
        drop(objects);
        assert_eq!(usage(), before, "{profile}: released");
        let (_, _of_commands) = create(1 << 17, D3D12_QUERY_HEAP_FLAG_NONE);
        assert_eq!(usage(), before, "{profile}: a heap that commands resolve is of the GPU's own");
        let (result, heap) = create(u32::MAX, D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE);
        assert!([S_OK, E_OUTOFMEMORY].contains(&result), "{profile}: 32 GiB, {result}");
        assert_eq!(heap.is_some(), result == S_OK);
    }
}

/// DirectX-Specs, *D3D12 CPU Timeline Query Resolution*, debug layer validation: as for the command.
#[test]
fn both_resolves_report_a_wrong_range() {
    let device: ID3D12Device15 = open("discrete", "619").device.cast().expect("the newest interface");
    let newest: ID3D12Device14 = device.cast().expect("an older interface");
    let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_OCCLUSION, Count: 4, NodeMask: 0 };
    let create = |flags| {
        let mut heap = null_mut();
        unsafe { device.CreateQueryHeap1(&desc, flags, &ID3D12QueryHeap::IID, &raw mut heap) }.succeeds();
        unsafe { ID3D12QueryHeap::from_raw(heap) }
    };
    let of_cpu = create(D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE);
    let of_commands = create(D3D12_QUERY_HEAP_FLAG_NONE);
    let target = commit_with(&newest, D3D12_HEAP_TYPE_DEFAULT, 8192, D3D12_RESOURCE_FLAG_NONE);
    let mut results = [0_u8; 64];
    for (query_type, start, count) in [
        (D3D12_QUERY_TYPE_OCCLUSION, 3, 2),
        (D3D12_QUERY_TYPE_OCCLUSION, u32::MAX, 2),
        (D3D12_QUERY_TYPE_TIMESTAMP, 0, 1),
        (99, 0, 1),
    ] {
        let by_cpu = || unsafe {
            device.ResolveQueryData(of_cpu.as_raw(), query_type, start, count, results.as_mut_ptr().cast())
        };
        let by_command = || unsafe {
            let queue = Queue::direct(&newest);
            queue.list.ResolveQueryData(&of_commands, query_type, start, count, &target, 0);
            queue.list.Close()
        };
        let expected = D3D12_MESSAGE_ID_RESOLVE_QUERY_DATA_INVALID_PARAMETERS;
        assert_eq!(broken_rule(&newest, by_cpu), expected, "{query_type}, {start}, {count}");
        assert_eq!(broken_rule(&newest, by_command), expected, "{query_type}, {start}, {count}");
    }
}

#[test]
fn wrong_arguments_of_create_query_heap1_leave_nothing() {
    let device: ID3D12Device15 = open("discrete", "619").device.cast().expect("the newest interface");
    let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 4, NodeMask: 0 };
    let (iid, foreign) = (&ID3D12QueryHeap::IID, &ID3D12Heap::IID);
    let cpu = D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE;
    for (what, desc, flags, iid, expected) in [
        ("an unknown flag", &raw const desc, 2, &raw const *iid, E_INVALIDARG),
        ("all flags", &raw const desc, -1, &raw const *iid, E_INVALIDARG),
        ("no description", std::ptr::null(), cpu, &raw const *iid, E_INVALIDARG),
        ("no interface", &raw const desc, cpu, std::ptr::null(), E_INVALIDARG),
        ("another interface", &raw const desc, cpu, &raw const *foreign, E_NOINTERFACE),
    ] {
        let mut heap = std::ptr::dangling_mut::<c_void>();
        let result = unsafe { device.CreateQueryHeap1(desc, flags, iid, &raw mut heap) };
        assert_eq!((result, heap.is_null()), (expected, true), "{what}");
    }
    assert_eq!(unsafe { device.CreateQueryHeap1(&desc, cpu, iid, null_mut()) }, S_FALSE, "a check alone");
    assert_eq!(unsafe { device.CreateQueryHeap1(&desc, 2, iid, null_mut()) }, E_INVALIDARG);
}
