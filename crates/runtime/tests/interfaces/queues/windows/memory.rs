//! `Map`, `WriteToSubresource` and `ReadFromSubresource`.

use heapwright_d3d12::*;
use windows_core::HRESULT;

use crate::gpu::*;
use crate::queues::textures::region;

fn volume(side: u32, mips: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: u16::try_from(side).expect("small"),
        MipLevels: mips,
        ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [side, side])
    }
}

#[test]
fn boxes_outside_of_a_texture_are_refused() {
    let device = open();
    let texture = cpu_texture(&device, &volume(8, 1));
    let mut few = [0xee_u8; 16];
    messages(&device);
    let inverted = region([4, 0, 0], [3, 1, 1]);
    unsafe { texture.ReadFromSubresource(few.as_mut_ptr().cast(), 16, 16, 0, Some(&inverted)) }.succeeds();
    assert_eq!((few, messages(&device)), ([0xee; 16], vec![]), "it is empty");
    let outside = |at: D3D12_BOX| -> [HRESULT; 2] {
        let mut bytes = [0_u8; 64];
        unsafe {
            [
                code(texture.WriteToSubresource(0, Some(&at), bytes.as_ptr().cast(), 32, 32)),
                code(texture.ReadFromSubresource(bytes.as_mut_ptr().cast(), 32, 32, 0, Some(&at))),
            ]
        }
    };
    assert_eq!(outside(region([0, 0, 7], [1, 1, 9])), [E_INVALIDARG; 2]);
    assert_eq!(outside(region([9, 9, 9], [9, 9, 9])), [E_INVALIDARG; 2], "empty and out of bounds");
}
