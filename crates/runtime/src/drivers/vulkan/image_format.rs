//! The Vulkan formats that correspond to D3D12's.

use ash::vk::Format;
use heapwright_d3d12::*;

use crate::ddi::TextureArgs;

/// Returns the Vulkan formats of an image for a texture, the best first. The device may not support all of them.
///
/// D3D12 casts textures within their family, so an image can have views of all formats of the family, and one format stands for
/// them all. R8G8_B8G8 and G8R8_G8B8 have none, as Vulkan's need a sampler that converts them, and neither has XR_BIAS.
pub(super) fn formats(texture: &TextureArgs) -> &'static [Format] {
    let is_depth = texture.usage.depth_stencil;
    match texture.format.family {
        DXGI_FORMAT_R32G32B32A32_TYPELESS => &[Format::R32G32B32A32_SFLOAT],
        DXGI_FORMAT_R32G32B32_TYPELESS => &[Format::R32G32B32_SFLOAT],
        DXGI_FORMAT_R16G16B16A16_TYPELESS => &[Format::R16G16B16A16_SFLOAT],
        DXGI_FORMAT_R32G32_TYPELESS => &[Format::R32G32_SFLOAT],
        DXGI_FORMAT_R32G8X24_TYPELESS => &[Format::D32_SFLOAT_S8_UINT],
        DXGI_FORMAT_R10G10B10A2_TYPELESS => &[Format::A2B10G10R10_UNORM_PACK32],
        DXGI_FORMAT_R11G11B10_FLOAT => &[Format::B10G11R11_UFLOAT_PACK32],
        DXGI_FORMAT_R8G8B8A8_TYPELESS => &[Format::R8G8B8A8_UNORM],
        DXGI_FORMAT_R16G16_TYPELESS => &[Format::R16G16_SFLOAT],
        DXGI_FORMAT_R32_TYPELESS if is_depth => &[Format::D32_SFLOAT],
        DXGI_FORMAT_R32_TYPELESS => &[Format::R32_SFLOAT],
        // Some devices have no depth of 24 bits.
        DXGI_FORMAT_R24G8_TYPELESS => &[Format::D24_UNORM_S8_UINT, Format::D32_SFLOAT_S8_UINT],
        DXGI_FORMAT_R8G8_TYPELESS => &[Format::R8G8_UNORM],
        DXGI_FORMAT_R16_TYPELESS if is_depth => &[Format::D16_UNORM],
        DXGI_FORMAT_R16_TYPELESS => &[Format::R16_SFLOAT],
        DXGI_FORMAT_R8_TYPELESS | DXGI_FORMAT_A8_UNORM => &[Format::R8_UNORM],
        DXGI_FORMAT_R9G9B9E5_SHAREDEXP => &[Format::E5B9G9R9_UFLOAT_PACK32],
        DXGI_FORMAT_BC1_TYPELESS => &[Format::BC1_RGBA_UNORM_BLOCK],
        DXGI_FORMAT_BC2_TYPELESS => &[Format::BC2_UNORM_BLOCK],
        DXGI_FORMAT_BC3_TYPELESS => &[Format::BC3_UNORM_BLOCK],
        DXGI_FORMAT_BC4_TYPELESS => &[Format::BC4_UNORM_BLOCK],
        DXGI_FORMAT_BC5_TYPELESS => &[Format::BC5_UNORM_BLOCK],
        DXGI_FORMAT_BC6H_TYPELESS => &[Format::BC6H_UFLOAT_BLOCK],
        DXGI_FORMAT_BC7_TYPELESS => &[Format::BC7_UNORM_BLOCK],
        DXGI_FORMAT_B5G6R5_UNORM => &[Format::R5G6B5_UNORM_PACK16],
        DXGI_FORMAT_B5G5R5A1_UNORM => &[Format::A1R5G5B5_UNORM_PACK16],
        DXGI_FORMAT_B8G8R8A8_TYPELESS | DXGI_FORMAT_B8G8R8X8_TYPELESS => &[Format::B8G8R8A8_UNORM],
        DXGI_FORMAT_B4G4R4A4_UNORM => &[Format::A4R4G4B4_UNORM_PACK16],
        DXGI_FORMAT_A4B4G4R4_UNORM => &[Format::R4G4B4A4_UNORM_PACK16],
        _ => &[],
    }
}
