//! `Map`, `WriteToSubresource` and `ReadFromSubresource`.

use std::ptr::{dangling_mut, null_mut};

use heapwright_d3d12::*;
use windows_core::HRESULT;

use crate::gpu::*;
use crate::textures::texture_desc;

/// Creates a texture in system memory that the CPU reads and writes.
fn cpu_texture(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
        MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
        ..Default::default()
    };
    let mut texture = None::<ID3D12Resource>;
    unsafe {
        let (flags, state) = (D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
        device.CreateCommittedResource(&properties, flags, desc, state, None, &mut texture).expect("taken");
    }
    texture.expect("S_OK comes with a resource")
}

fn box_of(start: [u32; 3], end: [u32; 3]) -> D3D12_BOX {
    D3D12_BOX { left: start[0], top: start[1], front: start[2], right: end[0], bottom: end[1], back: end[2] }
}

fn volume(side: u32, mips: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: u16::try_from(side).expect("small"),
        MipLevels: mips,
        ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [side, side])
    }
}

#[test]
fn a_failed_map_does_not_change_the_pointer() {
    let device = open();
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let mut start = dangling_mut();
    unsafe {
        assert_eq!(code(local.Map(0, None, &mut start)), E_INVALIDARG);
        assert_eq!(start, dangling_mut());
        assert_eq!(code(upload.Map(1, None, &mut start)), E_INVALIDARG);
        assert_eq!(start, dangling_mut());
    }
}

/// vkd3d-proton's test_map_texture_validation.
#[test]
fn mapping_a_volume_with_several_mips_requires_a_pointer() {
    let device = open();
    let map = |desc| unsafe { code(cpu_texture(&device, &desc).Map(0, None, null_mut())) };
    assert_eq!(map(volume(8, 2)), E_INVALIDARG);
    assert_eq!(map(volume(8, 1)), S_OK);
    let flat = D3D12_RESOURCE_DESC { MipLevels: 2, ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [8, 8]) };
    assert_eq!(map(flat), S_OK);
}

/// vkd3d-proton's test_read_write_subresource: neither call needs a mapping, and an empty box copies
/// nothing.
#[test]
fn texels_are_written_and_read_without_a_mapping() {
    let device = open();
    let texture = cpu_texture(&device, &volume(8, 1));
    let texels: Vec<u8> = (0..=u8::MAX).cycle().take(8 * 8 * 8 * 4).collect();
    let (mut found, mut few) = (vec![0_u8; texels.len()], [0xee_u8; 16]);
    messages(&device);
    unsafe {
        texture.WriteToSubresource(0, None, texels.as_ptr().cast(), 32, 256).succeeds();
        texture.ReadFromSubresource(found.as_mut_ptr().cast(), 32, 256, 0, None).succeeds();
        assert_eq!(found, texels);
        for empty in [[0; 3], [8, 8, 8], [3, 5, 7]] {
            let empty = box_of(empty, empty);
            texture.WriteToSubresource(0, Some(&empty), few.as_ptr().cast(), 16, 16).succeeds();
            texture.ReadFromSubresource(few.as_mut_ptr().cast(), 16, 16, 0, Some(&empty)).succeeds();
        }
        texture
            .ReadFromSubresource(few.as_mut_ptr().cast(), 16, 16, 0, Some(&box_of([4, 0, 0], [3, 1, 1])))
            .succeeds();
        assert_eq!(few, [0xee; 16]);
        texture.ReadFromSubresource(found.as_mut_ptr().cast(), 32, 256, 0, None).succeeds();
        assert_eq!(found, texels);
    }
    assert_eq!(messages(&device), []);
    let outside = |at: D3D12_BOX| -> [HRESULT; 2] {
        let mut bytes = [0_u8; 64];
        unsafe {
            [
                code(texture.WriteToSubresource(0, Some(&at), bytes.as_ptr().cast(), 32, 32)),
                code(texture.ReadFromSubresource(bytes.as_mut_ptr().cast(), 32, 32, 0, Some(&at))),
            ]
        }
    };
    assert_eq!(outside(box_of([0, 0, 7], [1, 1, 9])), [E_INVALIDARG; 2]);
    assert_eq!(outside(box_of([9, 9, 9], [9, 9, 9])), [E_INVALIDARG; 2], "empty and out of bounds");
}
