//! Tests `windows_interop!` on a stand-in for the crate `windows`, which does not build on Linux. The
//! workspace interop/ tests the crate itself.
#![allow(missing_docs, reason = "a test")]

mod objects;
mod stand_in;

use heapwright::d3d12;
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright_runtime::{HostProfile, Instance};
use interop::{AdapterToHeapwright as _, ToHeapwright as _, ToWindows as _, ValueToHeapwright as _};
use stand_in::Win32::Graphics::Direct3D12::*;
use stand_in::Win32::Graphics::Dxgi::Common::{DXGI_FORMAT, DXGI_SAMPLE_DESC};
use stand_in::Win32::Graphics::Dxgi::*;
use windows_core::Interface;

use objects::{OldAdapter, as_their, references};

// SAFETY: the stand-in's interfaces are one COM pointer each, its enumerations integers.
heapwright::windows_interop!(mod interop for unsafe crate::stand_in);

fn open() -> Instance {
    Instance::open(HostProfile::default_profile()).expect("a fresh instance")
}

#[test]
fn an_allocator_works_on_their_device_and_adapter() {
    let gpu = open();
    let device: ID3D12Device = as_their(&gpu.device);
    let adapter: IDXGIAdapter3 = as_their(&gpu.adapter);
    let allocator =
        ResourceAllocator::new(device.as_heapwright(), Some(adapter.as_heapwright()), Default::default())
            .expect("sound");
    assert_eq!(allocator.device().as_raw(), device.as_raw());
    assert_eq!(allocator.device().as_windows(), &device);

    let upload = ResourceAllocationDesc::new(HeapType::Upload);
    let made = allocator
        .create_resource(
            &upload,
            their_buffer(4096).as_heapwright(),
            D3D12_RESOURCE_STATES(0xac3).to_heapwright(),
            None,
        )
        .expect("there is room");
    let resource: &ID3D12Resource = made.resource().as_windows();
    assert_eq!(resource.as_raw(), made.resource().as_raw());
    let heap: &ID3D12Heap = made.heap().expect("it is placed").as_windows();
    assert_eq!(heap.as_raw(), made.heap().expect("it is placed").as_raw());
}

#[test]
fn borrowing_counts_no_reference_and_owning_takes_over_the_one_there_is() {
    let gpu = open();
    let allocator = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
    let made = allocator
        .create_resource(
            &ResourceAllocationDesc::new(HeapType::Default),
            &buffer_desc(ByteSize::from_kib(4)),
            0,
            None,
        )
        .expect("there is room");
    let ours = made.resource();
    let before = references(ours);

    let theirs: &ID3D12Resource = ours.as_windows();
    let back: &d3d12::ID3D12Resource = theirs.as_heapwright();
    assert_eq!((references(ours), back), (before, ours));

    let owned: ID3D12Resource = ours.clone().into_windows();
    assert_eq!(references(ours), before + 1, "the clone's");
    let owned: d3d12::ID3D12Resource = owned.into_heapwright();
    assert_eq!((references(ours), &owned), (before + 1, ours));
    drop(owned);
    assert_eq!(references(ours), before);
    drop(ours.clone().into_windows());
    assert_eq!(references(ours), before, "their type gives the reference back");
}

#[test]
fn their_resource_is_imported() {
    let gpu = open();
    let allocator = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
    let theirs: ID3D12Resource = as_their(&objects::committed_buffer(&gpu.device, 12_345));
    // SAFETY: it is not mapped.
    let imported = unsafe { allocator.import(&Default::default(), theirs.as_heapwright()) }.expect("sound");
    assert_eq!(imported.resource().as_windows(), &theirs);
    assert_eq!(allocator.stats().imported_count, 1);
}

#[test]
fn an_adapter_of_any_version_becomes_an_adapter3() {
    let gpu = open();
    let before = references(&gpu.adapter);
    let asked = [
        as_their::<_, IDXGIAdapter>(&gpu.adapter).to_heapwright(),
        as_their::<_, IDXGIAdapter1>(&gpu.adapter).to_heapwright(),
        as_their::<_, IDXGIAdapter2>(&gpu.adapter).to_heapwright(),
        as_their::<_, IDXGIAdapter3>(&gpu.adapter).to_heapwright(),
    ];
    for adapter in asked {
        assert_eq!(adapter.expect("it has the interface"), gpu.adapter);
    }
    assert_eq!(references(&gpu.adapter), before, "each gave its reference back");
}

#[test]
fn an_adapter_from_before_adapter3_is_an_error_that_says_so() {
    let adapter: d3d12::IDXGIAdapter = OldAdapter.into();
    let error = as_their::<_, IDXGIAdapter>(&adapter).to_heapwright().expect_err("it has no such interface");
    assert_eq!(error.hresult(), d3d12::E_NOINTERFACE);
    assert_eq!(error.to_string(), "QueryInterface for IDXGIAdapter3 failed with E_NOINTERFACE (0x80004002)");
}

#[test]
fn each_field_of_a_structure_comes_through() {
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION(1),
        Alignment: 2,
        Width: 3,
        Height: 4,
        DepthOrArraySize: 5,
        MipLevels: 6,
        Format: DXGI_FORMAT(7),
        SampleDesc: DXGI_SAMPLE_DESC { Count: 8, Quality: 9 },
        Layout: D3D12_TEXTURE_LAYOUT(10),
        Flags: D3D12_RESOURCE_FLAGS(11),
    };
    let expected = d3d12::D3D12_RESOURCE_DESC {
        Dimension: 1,
        Alignment: 2,
        Width: 3,
        Height: 4,
        DepthOrArraySize: 5,
        MipLevels: 6,
        Format: 7,
        SampleDesc: d3d12::DXGI_SAMPLE_DESC { Count: 8, Quality: 9 },
        Layout: 10,
        Flags: 11,
    };
    assert_eq!((*desc.as_heapwright(), desc.into_heapwright()), (expected, expected));

    let desc = D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION(1),
        Alignment: 2,
        Width: 3,
        Height: 4,
        DepthOrArraySize: 5,
        MipLevels: 6,
        Format: DXGI_FORMAT(7),
        SampleDesc: DXGI_SAMPLE_DESC { Count: 8, Quality: 9 },
        Layout: D3D12_TEXTURE_LAYOUT(10),
        Flags: D3D12_RESOURCE_FLAGS(11),
        SamplerFeedbackMipRegion: D3D12_MIP_REGION { Width: 12, Height: 13, Depth: 14 },
    };
    let expected = d3d12::D3D12_RESOURCE_DESC1 {
        Dimension: 1,
        Alignment: 2,
        Width: 3,
        Height: 4,
        DepthOrArraySize: 5,
        MipLevels: 6,
        Format: 7,
        SampleDesc: d3d12::DXGI_SAMPLE_DESC { Count: 8, Quality: 9 },
        Layout: 10,
        Flags: 11,
        SamplerFeedbackMipRegion: d3d12::D3D12_MIP_REGION { Width: 12, Height: 13, Depth: 14 },
    };
    assert_eq!((*desc.as_heapwright(), desc.into_heapwright()), (expected, expected));

    let properties = D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE(1),
        CPUPageProperty: D3D12_CPU_PAGE_PROPERTY(2),
        MemoryPoolPreference: D3D12_MEMORY_POOL(3),
        CreationNodeMask: 4,
        VisibleNodeMask: 5,
    };
    let expected = d3d12::D3D12_HEAP_PROPERTIES {
        Type: 1,
        CPUPageProperty: 2,
        MemoryPoolPreference: 3,
        CreationNodeMask: 4,
        VisibleNodeMask: 5,
    };
    assert_eq!((*properties.as_heapwright(), properties.into_heapwright()), (expected, expected));

    let color = [0.25, 0.5, 0.75, 1.0];
    let clear =
        D3D12_CLEAR_VALUE { Format: DXGI_FORMAT(28), Anonymous: D3D12_CLEAR_VALUE_0 { Color: color } };
    for clear in [*clear.as_heapwright(), clear.into_heapwright()] {
        assert_eq!((clear.Format, objects::color(&clear)), (28, color));
    }
}

#[test]
fn an_enumeration_becomes_its_number() {
    assert_eq!(D3D12_RESOURCE_STATES(0xac3).to_heapwright(), d3d12::D3D12_RESOURCE_STATE_GENERIC_READ);
    assert_eq!(D3D12_RESOURCE_FLAGS(4).to_heapwright(), d3d12::D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    assert_eq!(D3D12_HEAP_FLAGS(i32::MIN).to_heapwright(), 1 << 31, "all 32 bits");
    assert_eq!(D3D12_BARRIER_LAYOUT(-1).to_heapwright(), d3d12::D3D12_BARRIER_LAYOUT_UNDEFINED);
    assert_eq!(D3D12_CPU_PAGE_PROPERTY(3).to_heapwright(), d3d12::D3D12_CPU_PAGE_PROPERTY_WRITE_BACK);
    assert_eq!(D3D12_MEMORY_POOL(1).to_heapwright(), d3d12::D3D12_MEMORY_POOL_L0);
    assert_eq!(D3D12_RESIDENCY_PRIORITY(0x7800_0000).to_heapwright(), d3d12::D3D12_RESIDENCY_PRIORITY_NORMAL);
    assert_eq!(DXGI_FORMAT(28).to_heapwright(), d3d12::DXGI_FORMAT_R8G8B8A8_UNORM);
}

fn their_buffer(bytes: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION(1),
        Alignment: 0,
        Width: bytes,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT(0),
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT(1),
        Flags: D3D12_RESOURCE_FLAGS(0),
    }
}
