//! The memory that an image of the device needs, which decides the sizes and alignments of textures.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::hardware;
use super::logical_device::LogicalDevice;
use crate::ddi::{ResourceAllocation, TextureArgs, TextureDimension, TextureMemoryLayout};

/// The number of descriptions whose requirements are kept. The next one replaces all of them.
const KEPT: usize = 4096;

/// The requirements of the device's images, by their description.
pub(super) struct ImageRequirements {
    device: Arc<LogicalDevice>,
    kept: RwLock<HashMap<ImageDesc, Option<ResourceAllocation>>>,
}

/// An image, as Vulkan describes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ImageDesc {
    flags: vk::ImageCreateFlags,
    image_type: vk::ImageType,
    format: vk::Format,
    extent: [u32; 3],
    mip_levels: u32,
    array_layers: u32,
    samples: vk::SampleCountFlags,
    usage: vk::ImageUsageFlags,
}

impl ImageRequirements {
    pub(super) fn new(device: &Arc<LogicalDevice>) -> Self {
        Self { device: Arc::clone(device), kept: RwLock::default() }
    }

    /// Returns the size and alignment that the device requires of an image for a texture with `texels` bytes of texels,
    /// or `None` if it has no such image.
    pub(super) fn of_texture(&self, texture: &TextureArgs, texels: ByteSize) -> Option<ResourceAllocation> {
        formats(texture).iter().find_map(|&format| self.of_image(ImageDesc::new(texture, format)?, texels))
    }

    fn of_image(&self, image: ImageDesc, texels: ByteSize) -> Option<ResourceAllocation> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner).get(&image).copied();
        if let Some(requirements) = kept {
            return requirements;
        }
        let requirements = image.is_supported(&self.device, texels).then(|| image.requirements(&self.device));
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(image, requirements);
        requirements
    }
}

impl ImageDesc {
    /// Describes an image for a texture. Returns `None` if its texels are not arranged as Vulkan chooses.
    fn new(texture: &TextureArgs, format: vk::Format) -> Option<Self> {
        if texture.layout != TextureMemoryLayout::Unknown {
            return None;
        }
        use vk::ImageUsageFlags as Usage;
        let (extent, usage) = (texture.extent, texture.usage);
        let image_type = match texture.dimension {
            TextureDimension::Texture1D => vk::ImageType::TYPE_1D,
            TextureDimension::Texture2D => vk::ImageType::TYPE_2D,
            TextureDimension::Texture3D => vk::ImageType::TYPE_3D,
        };
        // Textures of one description may share their memory and its contents.
        let mut flags = vk::ImageCreateFlags::ALIAS;
        if !texture.format.is_planar() && !usage.depth_stencil {
            flags |= vk::ImageCreateFlags::MUTABLE_FORMAT | vk::ImageCreateFlags::EXTENDED_USAGE;
        }
        let could_be_cube = image_type == vk::ImageType::TYPE_2D
            && extent.width == extent.height
            && texture.array_size >= 6
            && !texture.is_multisampled();
        if could_be_cube {
            flags |= vk::ImageCreateFlags::CUBE_COMPATIBLE;
        }
        if image_type == vk::ImageType::TYPE_3D && usage.render_target {
            flags |= vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE;
        }
        let uses = [
            (true, Usage::TRANSFER_SRC | Usage::TRANSFER_DST),
            (!usage.deny_shader_resource, Usage::SAMPLED),
            (usage.unordered_access, Usage::STORAGE),
            (usage.render_target, Usage::COLOR_ATTACHMENT),
            (usage.depth_stencil, Usage::DEPTH_STENCIL_ATTACHMENT),
        ];
        Some(Self {
            flags,
            image_type,
            format,
            extent: [extent.width, extent.height, extent.depth],
            mip_levels: texture.mip_levels,
            array_layers: texture.array_size,
            samples: vk::SampleCountFlags::from_raw(texture.sample_count),
            usage: uses.iter().filter(|(has, _)| *has).fold(Usage::empty(), |all, (_, one)| all | *one),
        })
    }

    fn info(&self) -> vk::ImageCreateInfo<'static> {
        let [width, height, depth] = self.extent;
        vk::ImageCreateInfo::default()
            .flags(self.flags)
            .image_type(self.image_type)
            .format(self.format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(self.mip_levels)
            .array_layers(self.array_layers)
            .samples(self.samples)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(self.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED)
    }

    /// Returns whether the device can create the image, of `texels` bytes without padding.
    fn is_supported(&self, device: &LogicalDevice, texels: ByteSize) -> bool {
        let info = vk::PhysicalDeviceImageFormatInfo2::default()
            .flags(self.flags)
            .format(self.format)
            .ty(self.image_type)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(self.usage);
        let mut limits = vk::ImageFormatProperties2::default();
        let (instance, physical) = (device.instance().functions(), device.hardware().device);
        // SAFETY: the physical device belongs to the instance; the structures outlive the call.
        let supported = unsafe {
            instance.get_physical_device_image_format_properties2(physical, &info, &mut limits).is_ok()
        };
        let limits = limits.image_format_properties;
        let most = limits.max_extent;
        let fits =
            [(self.extent[0], most.width), (self.extent[1], most.height), (self.extent[2], most.depth)]
                .into_iter()
                .chain([
                    (self.mip_levels, limits.max_mip_levels),
                    (self.array_layers, limits.max_array_layers),
                ])
                .all(|(own, most)| own <= most);
        // D3D12 permits more mip levels than the extent has.
        let full_chain = self.extent.iter().max().map_or(0, |largest| u32::BITS - largest.leading_zeros());
        supported
            && fits
            && self.mip_levels <= full_chain
            && texels.get() <= limits.max_resource_size
            && limits.sample_counts.contains(self.samples)
    }

    /// Returns what the device requires of a supported image's memory.
    fn requirements(&self, device: &LogicalDevice) -> ResourceAllocation {
        let info = self.info();
        let request = vk::DeviceImageMemoryRequirements::default().create_info(&info);
        let mut requirements = vk::MemoryRequirements2::default();
        // SAFETY: the device is of version 1.3 and supports the image; the structures outlive the call.
        unsafe { device.functions().get_device_image_memory_requirements(&request, &mut requirements) };
        let requirements = requirements.memory_requirements;
        ResourceAllocation {
            size: ByteSize::new(requirements.size),
            alignment: hardware::alignment(requirements.alignment),
        }
    }
}

/// Returns the Vulkan formats of an image for a texture, the best first. The device may not support all of them.
///
/// D3D12 casts textures within their family, so an image can have views of all formats of the family, and one format
/// stands for them all. R8G8_B8G8 and G8R8_G8B8 have none, as Vulkan's need a sampler that converts them, and neither
/// has XR_BIAS.
fn formats(texture: &TextureArgs) -> &'static [vk::Format] {
    let is_depth = texture.usage.depth_stencil;
    match texture.format.family {
        DXGI_FORMAT_R32G32B32A32_TYPELESS => &[vk::Format::R32G32B32A32_SFLOAT],
        DXGI_FORMAT_R32G32B32_TYPELESS => &[vk::Format::R32G32B32_SFLOAT],
        DXGI_FORMAT_R16G16B16A16_TYPELESS => &[vk::Format::R16G16B16A16_SFLOAT],
        DXGI_FORMAT_R32G32_TYPELESS => &[vk::Format::R32G32_SFLOAT],
        DXGI_FORMAT_R32G8X24_TYPELESS => &[vk::Format::D32_SFLOAT_S8_UINT],
        DXGI_FORMAT_R10G10B10A2_TYPELESS => &[vk::Format::A2B10G10R10_UNORM_PACK32],
        DXGI_FORMAT_R11G11B10_FLOAT => &[vk::Format::B10G11R11_UFLOAT_PACK32],
        DXGI_FORMAT_R8G8B8A8_TYPELESS => &[vk::Format::R8G8B8A8_UNORM],
        DXGI_FORMAT_R16G16_TYPELESS => &[vk::Format::R16G16_SFLOAT],
        DXGI_FORMAT_R32_TYPELESS if is_depth => &[vk::Format::D32_SFLOAT],
        DXGI_FORMAT_R32_TYPELESS => &[vk::Format::R32_SFLOAT],
        // Some devices have no depth of 24 bits.
        DXGI_FORMAT_R24G8_TYPELESS => &[vk::Format::D24_UNORM_S8_UINT, vk::Format::D32_SFLOAT_S8_UINT],
        DXGI_FORMAT_R8G8_TYPELESS => &[vk::Format::R8G8_UNORM],
        DXGI_FORMAT_R16_TYPELESS if is_depth => &[vk::Format::D16_UNORM],
        DXGI_FORMAT_R16_TYPELESS => &[vk::Format::R16_SFLOAT],
        DXGI_FORMAT_R8_TYPELESS | DXGI_FORMAT_A8_UNORM => &[vk::Format::R8_UNORM],
        DXGI_FORMAT_R9G9B9E5_SHAREDEXP => &[vk::Format::E5B9G9R9_UFLOAT_PACK32],
        DXGI_FORMAT_BC1_TYPELESS => &[vk::Format::BC1_RGBA_UNORM_BLOCK],
        DXGI_FORMAT_BC2_TYPELESS => &[vk::Format::BC2_UNORM_BLOCK],
        DXGI_FORMAT_BC3_TYPELESS => &[vk::Format::BC3_UNORM_BLOCK],
        DXGI_FORMAT_BC4_TYPELESS => &[vk::Format::BC4_UNORM_BLOCK],
        DXGI_FORMAT_BC5_TYPELESS => &[vk::Format::BC5_UNORM_BLOCK],
        DXGI_FORMAT_BC6H_TYPELESS => &[vk::Format::BC6H_UFLOAT_BLOCK],
        DXGI_FORMAT_BC7_TYPELESS => &[vk::Format::BC7_UNORM_BLOCK],
        DXGI_FORMAT_B5G6R5_UNORM => &[vk::Format::R5G6B5_UNORM_PACK16],
        DXGI_FORMAT_B5G5R5A1_UNORM => &[vk::Format::A1R5G5B5_UNORM_PACK16],
        DXGI_FORMAT_B8G8R8A8_TYPELESS | DXGI_FORMAT_B8G8R8X8_TYPELESS => &[vk::Format::B8G8R8A8_UNORM],
        DXGI_FORMAT_B4G4R4A4_UNORM => &[vk::Format::A4R4G4B4_UNORM_PACK16],
        DXGI_FORMAT_A4B4G4R4_UNORM => &[vk::Format::R4G4B4A4_UNORM_PACK16],
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
