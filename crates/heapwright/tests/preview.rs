//! Textures whose layout a GUID names, of previews of the Agility SDK 1.721, through each way of creating a resource.
//!
//! `cargo test -p heapwright -p heapwright-runtime --features heapwright/preview,heapwright-runtime/preview --test
//! preview`
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::collections::HashMap;

use heapwright::d3d12::preview::*;
use heapwright::d3d12::windows_core::{GUID, Interface};
use heapwright::d3d12::*;
use heapwright::defragmentation::{DefragmentationBudget, DefragmentationState};
use heapwright::{
    ByteSize, Error, InitialState, LayoutGuid, Placement, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc, ResourceDesc, buffer_desc,
};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};

const ROW_MAJOR: LayoutGuid =
    LayoutGuid::new(D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_WITH_RENDER_AND_VPBLT_CAPABILITY);
const COMMON: InitialState = InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON);

fn open(sdk: &str) -> (Instance, ResourceAllocator) {
    let options = DeviceOptions { sdk: sdk.parse().expect("a version"), ..DeviceOptions::default() };
    let gpu = Instance::open_with(HostProfile::default_profile(), options).expect("a fresh instance");
    let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), ResourceAllocatorDesc::default());
    (gpu, allocator.expect("an allocator"))
}

fn preview() -> (Instance, ResourceAllocator) {
    let (gpu, allocator) = open("721.1");
    assert_eq!(allocator.caps().layout_guid_tier, 1, "needs --features heapwright-runtime/preview");
    (gpu, allocator)
}

fn texture(format: DXGI_FORMAT, width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Height: height,
        Format: format,
        Layout: D3D12_TEXTURE_LAYOUT_GUID,
        ..buffer_desc(ByteSize::new(width))
    }
}

fn in_layout(desc: D3D12_RESOURCE_DESC) -> ResourceDesc<'static> {
    ResourceDesc { layout_guid: ROW_MAJOR, initial_state: COMMON, ..ResourceDesc::new(&desc) }
}

fn create(
    allocator: &ResourceAllocator,
    flags: ResourceAllocationFlags,
    resource: ResourceDesc<'_>,
) -> Result<ResourceAllocation, Error> {
    allocator.create(&ResourceAllocationDesc { flags, ..Default::default() }, resource)
}

fn layout_of(resource: &ID3D12Resource) -> GUID {
    let newest: ID3D12GuidTextureLayoutResource = resource.cast().expect("the interface of previews");
    let mut desc = D3D12_RESOURCE_DESC2::default();
    unsafe { newest.GetDesc2(&mut desc) };
    desc.LayoutGuid
}

#[test]
fn every_placement_takes_a_layout_guid() {
    let (_gpu, allocator) = preview();
    // 4 MiB, of which a few share a heap.
    let frame = in_layout(texture(DXGI_FORMAT_NV12, 1920, 1080));
    let none = ResourceAllocationFlags::empty();
    for (flags, placement) in [
        (none, Placement::SharedHeap),
        (ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP, Placement::OwnHeap),
        (ResourceAllocationFlags::ALWAYS_COMMITTED, Placement::Committed),
    ] {
        let made = create(&allocator, flags, frame).expect("the device has the layout");
        assert_eq!(made.info().decision.placement, placement);
        assert_eq!(layout_of(made.resource()), ROW_MAJOR.get(), "{placement:?}");
        let desc = unsafe { made.resource().GetDesc() };
        assert_eq!(desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, 0);
        assert!(made.offset().get().is_multiple_of(65536));
        assert!(made.size().get() >= 2048 * (1080 + 540), "{placement:?}: both planes");
    }
    // Small textures are not aligned to less either, and castable formats are passed on.
    let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
    let small =
        ResourceDesc { castable_formats: &formats, ..in_layout(texture(DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16)) };
    let held: Vec<_> = (0..3).map(|_| create(&allocator, none, small).expect("small")).collect();
    assert!(held.iter().all(|made| made.offset().get().is_multiple_of(65536) && made.size().get() == 65536));
    let foreign = [DXGI_FORMAT_R8_UNORM];
    let refused = create(&allocator, none, ResourceDesc { castable_formats: &foreign, ..small });
    assert_eq!(refused.expect_err("other texels").hresult(), E_INVALIDARG);
}

#[test]
fn a_move_keeps_the_layout() {
    let (_gpu, allocator) = preview();
    let mut textures = HashMap::new();
    let desc = in_layout(texture(DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64));
    for key in 1..=2000 {
        let allocation = ResourceAllocationDesc { user_data: key, ..Default::default() };
        textures.insert(key, allocator.create(&allocation, desc).expect("a texture"));
    }
    textures.retain(|key, _| key % 16 == 0);
    let mut run = allocator.defragment(Default::default()).expect("a run");
    let mut moved = 0;
    loop {
        let step = run
            .step(DefragmentationBudget { time: std::time::Duration::from_secs(3600), ..Default::default() });
        for mut planned in step.moves {
            let key = planned.user_data();
            let texture = textures.get_mut(&key).expect("it lives");
            planned.create_resource(texture, COMMON, None, &[]).expect("the same texture elsewhere");
            planned.complete(texture).expect("the GPU uses none");
            moved += 1;
        }
        if step.state == DefragmentationState::Finished {
            break;
        }
    }
    assert!(moved > 0, "sparse heaps are emptied");
    assert!(textures.values().all(|texture| layout_of(texture.resource()) == ROW_MAJOR.get()));
}

#[test]
fn what_does_not_fit_together_is_named() {
    let (_gpu, allocator) = preview();
    let none = ResourceAllocationFlags::empty();
    let good = in_layout(texture(DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64));
    let plain = D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..good.desc };
    let tight = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..good.desc };
    let state = InitialState::State(D3D12_RESOURCE_STATE_COMMON);
    let undefined = InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED);
    let unknown = LayoutGuid::new(GUID::from_u128(1));
    for (resource, field) in [
        (ResourceDesc { initial_state: state, ..good }, "ResourceDesc::layout_guid"),
        (ResourceDesc { desc: plain, ..good }, "ResourceDesc::layout_guid"),
        (
            ResourceDesc { desc: buffer_desc(ByteSize::new(64)), initial_state: undefined, ..good },
            "ResourceDesc::layout_guid",
        ),
        (ResourceDesc { layout_guid: LayoutGuid::default(), ..good }, "D3D12_RESOURCE_DESC::Layout"),
        (ResourceDesc { desc: tight, ..good }, "D3D12_RESOURCE_DESC::Flags"),
        // Only the device knows which GUIDs it has.
        (ResourceDesc { layout_guid: unknown, ..good }, "D3D12_TEXTURE_LAYOUT"),
    ] {
        for flags in [
            none,
            ResourceAllocationFlags::ALWAYS_COMMITTED,
            ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ] {
            let error = create(&allocator, flags, resource).expect_err(field);
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}

/// A program on a retail SDK, in which somebody turned the feature on.
#[test]
fn a_retail_device_has_no_layout_guids() {
    let (_gpu, allocator) = open("619.5");
    assert_eq!(allocator.caps().layout_guid_tier, 0);
    let frame = in_layout(texture(DXGI_FORMAT_NV12, 1920, 1080));
    for flags in [ResourceAllocationFlags::empty(), ResourceAllocationFlags::ALWAYS_COMMITTED] {
        let error = create(&allocator, flags, frame).expect_err("the device has none");
        assert!(error.to_string().contains("ID3D12GuidTextureLayoutDevice"), "{error}");
    }
}
