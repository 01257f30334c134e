//! Valid combinations of resource flags with each other and with kinds of textures.

use heapwright_d3d12::*;

use crate::ddi::{TextureDimension, TextureMemoryLayout, TextureUsage};
use crate::format::{FormatProperties, properties};
use crate::rules::Refusal;

/// Flags that a texture may have.
const TEXTURE_FLAGS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET
    | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL
    | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
    | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE
    | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER
    | D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS
    | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

/// Texture flags that this runtime does not implement, with their names.
const MISSING_TEXTURE_FLAGS: [(D3D12_RESOURCE_FLAGS, &str); 2] = [
    (D3D12_RESOURCE_FLAG_VIDEO_DECODE_REFERENCE_ONLY, "D3D12_RESOURCE_FLAG_VIDEO_DECODE_REFERENCE_ONLY"),
    (D3D12_RESOURCE_FLAG_VIDEO_ENCODE_REFERENCE_ONLY, "D3D12_RESOURCE_FLAG_VIDEO_ENCODE_REFERENCE_ONLY"),
];

/// The properties of a texture that restrict its flags.
pub(super) struct TextureFacts<'a> {
    pub(super) dimension: TextureDimension,
    pub(super) sample_count: u32,
    pub(super) layout: TextureMemoryLayout,
    pub(super) format: &'static FormatProperties,
    pub(super) castable_formats: &'a [DXGI_FORMAT],
}

/// Checks the flags of a texture and converts them for the driver.
pub(super) fn check_texture(
    flags: D3D12_RESOURCE_FLAGS,
    texture: &TextureFacts<'_>,
) -> Result<TextureUsage, Refusal> {
    if flags & D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE != 0 {
        return Err(Refusal::invalid("RAYTRACING_ACCELERATION_STRUCTURE is only valid for buffers"));
    }
    for (flag, name) in MISSING_TEXTURE_FLAGS {
        if flags & flag != 0 {
            return Err(Refusal::not_implemented(name));
        }
    }
    if flags & !TEXTURE_FLAGS != 0 {
        return Err(Refusal::invalid(format!("unknown resource flag bits {:#x}", flags & !TEXTURE_FLAGS)));
    }
    let has = |flag: D3D12_RESOURCE_FLAGS| flags & flag != 0;
    let usage = TextureUsage {
        render_target: has(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET),
        depth_stencil: has(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL),
        unordered_access: has(D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS),
        deny_shader_resource: has(D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE),
        simultaneous_access: has(D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS),
        cross_adapter: has(D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER),
    };
    check_combination(usage, texture)?;
    check_format(usage, texture)?;
    Ok(usage)
}

fn check_combination(usage: TextureUsage, texture: &TextureFacts<'_>) -> Result<(), Refusal> {
    let multisampled = texture.sample_count > 1;
    // Whether the combination is refused, and the rule's text.
    let rules: [(bool, &'static str); 12] = [
        (
            usage.render_target && usage.depth_stencil,
            "ALLOW_RENDER_TARGET and ALLOW_DEPTH_STENCIL are mutually exclusive",
        ),
        (
            usage.depth_stencil && usage.unordered_access,
            "ALLOW_DEPTH_STENCIL and ALLOW_UNORDERED_ACCESS are mutually exclusive",
        ),
        (
            usage.depth_stencil && texture.dimension == TextureDimension::Texture3D,
            "a TEXTURE3D cannot have ALLOW_DEPTH_STENCIL",
        ),
        (
            usage.deny_shader_resource && !usage.depth_stencil,
            "DENY_SHADER_RESOURCE needs ALLOW_DEPTH_STENCIL",
        ),
        (
            usage.simultaneous_access && usage.depth_stencil,
            "ALLOW_SIMULTANEOUS_ACCESS and ALLOW_DEPTH_STENCIL are mutually exclusive",
        ),
        (
            usage.simultaneous_access && multisampled,
            "ALLOW_SIMULTANEOUS_ACCESS needs D3D12_RESOURCE_DESC::SampleDesc.Count 1",
        ),
        (
            usage.cross_adapter && usage.depth_stencil,
            "ALLOW_CROSS_ADAPTER and ALLOW_DEPTH_STENCIL are mutually exclusive",
        ),
        (
            usage.cross_adapter && texture.dimension != TextureDimension::Texture2D,
            "ALLOW_CROSS_ADAPTER needs a buffer or a TEXTURE2D",
        ),
        (
            usage.cross_adapter && texture.layout == TextureMemoryLayout::UndefinedSwizzle64Kib,
            "ALLOW_CROSS_ADAPTER and D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE are mutually exclusive",
        ),
        (
            usage.depth_stencil && texture.layout == TextureMemoryLayout::StandardSwizzle64Kib,
            "ALLOW_DEPTH_STENCIL and D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE are mutually exclusive",
        ),
        (
            multisampled && !usage.is_render_target_or_depth_stencil(),
            "D3D12_RESOURCE_DESC::SampleDesc.Count above 1 needs ALLOW_RENDER_TARGET or ALLOW_DEPTH_STENCIL",
        ),
        (
            multisampled && usage.unordered_access,
            "ALLOW_UNORDERED_ACCESS needs D3D12_RESOURCE_DESC::SampleDesc.Count 1, because \
             WriteableMSAATexturesSupported is FALSE",
        ),
    ];
    match rules.into_iter().find(|&(refused, _)| refused) {
        Some((_, rule)) => Err(Refusal::invalid(rule)),
        None => Ok(()),
    }
}

/// Checks that a format supports each flag: the texture's own, a view format of its family, or a castable format.
fn check_format(usage: TextureUsage, texture: &TextureFacts<'_>) -> Result<(), Refusal> {
    let needs = [
        (usage.render_target, D3D12_FORMAT_SUPPORT1_RENDER_TARGET, "ALLOW_RENDER_TARGET"),
        (usage.depth_stencil, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL, "ALLOW_DEPTH_STENCIL"),
        (usage.unordered_access, D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW, "ALLOW_UNORDERED_ACCESS"),
    ];
    for (wanted, support, flag) in needs {
        let castable = || texture.castable_formats.iter().filter_map(|&format| properties(format));
        if wanted
            && !texture.format.flag_support().has(support)
            && !castable().any(|format| format.resource_support().has(support))
        {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC::Format {} does not support {flag}",
                texture.format.name
            )));
        }
    }
    Ok(())
}
