//! Defined layouts: the bytes of a texture as seen by another resource over the same memory, or by the CPU.

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface;

use super::barriers::aliasing;
use super::textures::{footprint, subresource, upload_to};
use crate::gpu::*;

const FORMAT: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;

fn open_profile(profile: &HostProfile) -> ID3D12Device14 {
    Instance::open(profile).expect("a fresh instance").device.cast().expect("the newest interface")
}

fn place(device: &ID3D12Device14, heap: &ID3D12Heap, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    placed(device, heap, 0, desc, D3D12_RESOURCE_STATE_COMMON).expect("placed")
}

/// Executes an aliasing barrier between two resources over the same memory, in its own list.
fn alias(queue: &Queue, before: &ID3D12Resource, after: &ID3D12Resource) {
    unsafe { queue.list.ResourceBarrier(&[aliasing(Some(before), Some(after))]) };
    queue.run();
}

/// Returns a texel that encodes its position.
fn texel(x: usize, y: usize) -> [u8; 4] {
    u32::try_from(x | y << 16).expect("small").to_le_bytes()
}

/// Creates an UPLOAD buffer with the rows of an image of [`texel`]s.
fn image(device: &ID3D12Device14, side: usize) -> ID3D12Resource {
    let upload = commit(device, D3D12_HEAP_TYPE_UPLOAD, u64::try_from(side * side * 4).expect("small"));
    for (index, bytes) in bytes(&upload).chunks_exact_mut(4).enumerate() {
        bytes.copy_from_slice(&texel(index % side, index / side));
    }
    upload
}

/// The CPU may map a texture of this layout, except for its packed mips, whose layout the driver defines.
#[test]
fn the_cpu_maps_no_packed_mips() {
    let device = open_named("uma");
    let desc = D3D12_RESOURCE_DESC {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
        MipLevels: 3,
        ..texture_desc(FORMAT, [256, 256])
    };
    let texture = cpu_texture(&device, &desc);
    unsafe {
        let [mut first, mut second, mut packed] =
            [std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::dangling_mut()];
        texture.Map(0, None, &mut first).succeeds();
        texture.Map(1, None, &mut second).succeeds();
        assert_eq!(second.addr(), first.addr() + (4 << 16), "the tile after those of the first mip");
        assert_eq!(code(texture.Map(2, None, &mut packed)), E_INVALIDARG);
        assert_eq!(packed, std::ptr::dangling_mut(), "left as it was");
        texture.Map(2, None, std::ptr::null_mut()).succeeds();
    }
}

#[test]
fn copies_between_layouts_keep_texels() {
    let device = open_named("uma");
    let queue = Queue::direct(&device);
    let upload = image(&device, 256);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4 * TILE);
    let layouts = [
        D3D12_TEXTURE_LAYOUT_UNKNOWN,
        D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
        D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
        D3D12_TEXTURE_LAYOUT_UNKNOWN,
    ];
    let textures = layouts.map(|layout| {
        let desc = D3D12_RESOURCE_DESC { Layout: layout, ..texture_desc(FORMAT, [256, 256]) };
        place(&device, &default_heap(&device, 4 * TILE, D3D12_HEAP_FLAG_NONE), &desc)
    });
    unsafe {
        upload_to(&queue.list, (&textures[0], 0), &upload, FORMAT, [256, 256, 1], 1024);
        queue.run();
        for pair in textures.windows(2) {
            queue.list.CopyResource(&pair[1], &pair[0]);
            queue.run();
        }
        let to = footprint(&readback, 0, FORMAT, [256, 256, 1], 1024);
        queue.list.CopyTextureRegion(&to, 0, 0, 0, &subresource(&textures[4], 0), None);
        queue.run();
    }
    assert_eq!(bytes(&readback), bytes(&upload));
}

/// Row-major textures have rows of 256 bytes, as a buffer over the same memory shows.
#[test]
fn cross_adapter_textures_are_row_major() {
    let (device, queue) = open_direct();
    let flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
    let heap = default_heap(&device, TILE, flags);
    let desc = D3D12_RESOURCE_DESC {
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER,
        ..texture_desc(FORMAT, [40, 10])
    };
    let texture = place(&device, &heap, &desc);
    let buffer = place(&device, &heap, &buffer_desc(TILE, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER));
    let (upload, readback) = (image(&device, 64), commit(&device, D3D12_HEAP_TYPE_READBACK, TILE));
    unsafe {
        let from = footprint(&upload, 0, FORMAT, [64, 10, 1], 256);
        let part = D3D12_BOX { left: 0, top: 0, front: 0, right: 40, bottom: 10, back: 1 };
        queue.list.CopyTextureRegion(&subresource(&texture, 0), 0, 0, 0, &from, Some(&part));
        queue.run();
        alias(&queue, &texture, &buffer);
        queue.list.CopyResource(&readback, &buffer);
        queue.run();
    }
    for y in 0..10 {
        let row = &bytes(&readback)[y * 256..];
        assert!((0..40).all(|x| row[x * 4..x * 4 + 4] == texel(x, y)), "row {y}");
    }
    // A committed texture is created in a heap with the flags; each flag alone is refused.
    let commit = |flags, desc| {
        let (properties, state) = (of_type(D3D12_HEAP_TYPE_DEFAULT), D3D12_RESOURCE_STATE_COMMON);
        code(committed(&device, properties, flags, desc, state))
    };
    assert_eq!(commit(flags, &desc), S_OK);
    assert_eq!(commit(D3D12_HEAP_FLAG_SHARED, &desc), E_INVALIDARG);
    assert_eq!(commit(D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, &desc), E_INVALIDARG);
    assert_eq!(commit(flags, &texture_desc(FORMAT, [40, 10])), E_INVALIDARG);
}

/// Tiled resources tier 1 leaves access to a null tile undefined; this GPU faults, and the message names
/// the resource.
#[test]
fn a_null_tile_faults_on_tier_1() {
    let tier_1 = HostProfile { tiled_resources_tier: 1, ..*HostProfile::default_profile() };
    let device = open_profile(&tier_1);
    let queue = Queue::direct(&device);
    let tiled = reserve(&device, 2 * TILE);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 2 * TILE);
    let heap = default_heap(&device, TILE, D3D12_HEAP_FLAG_NONE);
    unsafe {
        // D3D12's advice for tier 1: map one tile everywhere.
        let single = D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE;
        update_tiles(&queue, &tiled, None, None, Some(&heap), &[(single, 0, 2)]);
        queue.list.CopyResource(&readback, &tiled);
        queue.run();
        assert_eq!(code(device.GetDeviceRemovedReason()), S_OK);
        let second = D3D12_TILED_RESOURCE_COORDINATE { X: 1, ..Default::default() };
        update_tiles(&queue, &tiled, Some(second), None, None, &[(D3D12_TILE_RANGE_FLAG_NULL, 0, 1)]);
        queue.list.CopyResource(&readback, &tiled);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        queue.fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
    }
    let told = messages(&device);
    let is_it = |text: &str| text.contains("mapped to NULL") && text.contains("tier 1");
    assert!(told.iter().any(|(_, text)| is_it(text)), "{told:?}");
}
