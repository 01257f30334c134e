//! Texture layouts that a GUID names (DirectX-Specs, *D3D12 GUID Texture Layout*, tier 1).

use heapwright_d3d12::preview::*;
use heapwright_d3d12::*;
use windows_core::GUID;

use super::{Additions, Resource};
use crate::ddi::{DriverCaps, TextureArgs, TextureDimension, TextureMemoryLayout};
use crate::drivers::layout::{Arrangement, TextureLayout};
use crate::format::{FormatKind, FormatProperties};
use crate::rules::{Notice, Options, Refusal, SdkVersion, under};

/// A public row-major layout. Another one costs a row of [`ROW_MAJOR`].
struct RowMajorLayout {
    guid: GUID,
    /// What the height of each plane is a multiple of, in rows.
    height_alignment: u32,
}

/// The layouts that the device has, in the order of `GetTextureLayouts`.
const ROW_MAJOR: [RowMajorLayout; 1] = [RowMajorLayout {
    guid: D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_WITH_RENDER_AND_VPBLT_CAPABILITY,
    height_alignment: D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_HEIGHT_ALIGNMENT,
}];

/// Formats of video that the layouts have; none of the others.
const VIDEO_FORMATS: [DXGI_FORMAT; 8] = [
    DXGI_FORMAT_AYUV,
    DXGI_FORMAT_YUY2,
    DXGI_FORMAT_Y210,
    DXGI_FORMAT_Y216,
    DXGI_FORMAT_NV12,
    DXGI_FORMAT_P010,
    DXGI_FORMAT_P016,
    DXGI_FORMAT_NV11,
];

/// What textures of a format support with the layouts, if the format supports it: one image that shaders read and
/// write, and that is rendered to. Nothing processes video here.
const SUPPORT1: D3D12_FORMAT_SUPPORT1 = D3D12_FORMAT_SUPPORT1_TEXTURE2D
    | D3D12_FORMAT_SUPPORT1_SHADER_LOAD
    | D3D12_FORMAT_SUPPORT1_SHADER_SAMPLE
    | D3D12_FORMAT_SUPPORT1_SHADER_GATHER
    | D3D12_FORMAT_SUPPORT1_RENDER_TARGET
    | D3D12_FORMAT_SUPPORT1_BLENDABLE
    | D3D12_FORMAT_SUPPORT1_CAST_WITHIN_BIT_LAYOUT
    | D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW;

const SUPPORT2: D3D12_FORMAT_SUPPORT2 =
    D3D12_FORMAT_SUPPORT2_UAV_TYPED_LOAD | D3D12_FORMAT_SUPPORT2_UAV_TYPED_STORE;

/// Returns whether the device has layout GUIDs: drivers since DDI 0118, the API in previews of SDK 1.721.
pub(crate) fn is_supported(caps: &DriverCaps, options: &Options) -> bool {
    caps.has_guid_texture_layouts() && options.sdk >= SdkVersion::FIRST_PREVIEW
}

/// Returns the layout of a description whose GUID [`check`] checks, or `None` if its `Layout` is another one, or the
/// device does not know this one.
pub(super) fn layout(
    desc: &D3D12_RESOURCE_DESC1,
    caps: &DriverCaps,
    options: &Options,
) -> Option<TextureMemoryLayout> {
    let is_named = desc.Layout == D3D12_TEXTURE_LAYOUT_GUID && is_supported(caps, options);
    is_named.then_some(TextureMemoryLayout::RowMajor)
}

/// Checks a texture whose layout is GUID.
pub(super) fn check(
    texture: &TextureArgs,
    flags: D3D12_RESOURCE_FLAGS,
    layout_guid: &GUID,
) -> Result<(), Refusal> {
    let Some(layout) = ROW_MAJOR.iter().find(|row| row.guid == *layout_guid) else {
        let rule = if *layout_guid == D3D12_GUID_TEXTURE_LAYOUT_NULL {
            "D3D12_TEXTURE_LAYOUT_GUID needs D3D12_RESOURCE_DESC2::LayoutGuid".to_owned()
        } else {
            format!("the device does not support D3D12_RESOURCE_DESC2::LayoutGuid {layout_guid:?}")
        };
        return Err(Refusal::invalid(rule).with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT));
    };
    let is_one_image = texture.dimension == TextureDimension::Texture2D
        && (texture.mip_levels, texture.array_size, texture.sample_count) == (1, 1, 1);
    if !is_one_image || texture.usage.depth_stencil || !has_format(texture.format) {
        return Err(Refusal::invalid(
            "a row-major layout GUID needs a TEXTURE2D with one mip level, one array slice, one sample, no \
             ALLOW_DEPTH_STENCIL, and a format of color, AYUV, YUY2, Y210, Y216, NV12, P010, P016 or NV11",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT));
    }
    if flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0 {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT cannot be combined with a row-major layout GUID, whose alignment is \
             64 KiB",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT));
    }
    check_planes(texture, layout).map_err(under(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS))
}

/// Checks a committed resource: tier 1 does not share those with layout GUIDs between adapters.
pub(crate) fn check_committed(desc: &D3D12_RESOURCE_DESC1) -> Result<(), Refusal> {
    let is_shared = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0;
    if desc.Layout == D3D12_TEXTURE_LAYOUT_GUID && is_shared {
        return Err(Refusal::invalid(
            "a committed resource with D3D12_TEXTURE_LAYOUT_GUID cannot have ALLOW_CROSS_ADAPTER; place it in a shared heap",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS));
    }
    Ok(())
}

fn has_format(format: &FormatProperties) -> bool {
    match format.kind {
        FormatKind::Video => VIDEO_FORMATS.contains(&format.format),
        _ => !format.is_planar() && !format.is_block_compressed() && !format.is_depth_stencil(),
    }
}

/// Checks the heights of planes, and that the planes are consecutive although each begins at a multiple of 4 KiB.
fn check_planes(texture: &TextureArgs, layout: &RowMajorLayout) -> Result<(), Refusal> {
    let last = texture.format.plane_count().saturating_sub(1);
    for plane in 0..=last {
        let rows = texture.mip_blocks(0, plane).height;
        if !rows.is_multiple_of(layout.height_alignment) {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC2::Height {} results in {rows} rows of plane {plane}, which must be a multiple of {}",
                texture.extent.height, layout.height_alignment
            )));
        }
        let size = info(texture, plane).map_or(0, |info| info.SizeInBytes);
        let alignment = u64::from(D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_PLANE_ALIGNMENT);
        if plane < last && !size.is_multiple_of(alignment) {
            return Err(Refusal::invalid(format!(
                "D3D12_RESOURCE_DESC2::Width {} and Height {} result in {size:#x} bytes of plane {plane}, which must be a \
                 multiple of {alignment}",
                texture.extent.width, texture.extent.height
            )));
        }
    }
    Ok(())
}

/// Returns the GUID that `GetDesc2` returns: null unless `layout` is that of a GUID.
pub(crate) fn described(layout: D3D12_TEXTURE_LAYOUT, additions: &Additions<'_>) -> GUID {
    if layout == D3D12_TEXTURE_LAYOUT_GUID { additions.layout_guid } else { D3D12_GUID_TEXTURE_LAYOUT_NULL }
}

/// Returns a remark if the GUID has no effect.
pub(super) fn notice(desc: &D3D12_RESOURCE_DESC1, additions: &Additions<'_>) -> Option<Notice> {
    let is_ignored =
        desc.Layout != D3D12_TEXTURE_LAYOUT_GUID && additions.layout_guid != D3D12_GUID_TEXTURE_LAYOUT_NULL;
    is_ignored.then(|| {
        Notice::warning(
            D3D12_MESSAGE_ID_UNKNOWN,
            "D3D12_RESOURCE_DESC2::LayoutGuid has no effect unless Layout is D3D12_TEXTURE_LAYOUT_GUID",
        )
    })
}

/// What the device supports with a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Support {
    pub(crate) support1: D3D12_FORMAT_SUPPORT1,
    pub(crate) support2: D3D12_FORMAT_SUPPORT2,
}

impl Support {
    /// Returns what a valid texture with a layout GUID supports; `None` for other resources.
    pub(crate) fn of(resource: &Resource) -> Option<Self> {
        let format = resource.texture()?.args.format;
        let support = format.resource_support();
        Some(Self {
            support1: support.support1 & SUPPORT1 | D3D12_FORMAT_SUPPORT1_TEXTURE2D,
            support2: support.support2 & SUPPORT2,
        })
    }

    /// Returns whether everything that is asked for is supported.
    pub(crate) fn has(self, asked: Self) -> bool {
        asked.support1 & !self.support1 == 0 && asked.support2 & !self.support2 == 0
    }
}

/// Returns the GUIDs of the layouts with which `is_valid` finds a resource valid, the fastest first.
pub(crate) fn matching(is_valid: impl Fn(GUID) -> bool) -> Vec<GUID> {
    ROW_MAJOR.iter().map(|row| row.guid).filter(|&guid| is_valid(guid)).collect()
}

/// Returns where a subresource of a row-major texture lies, or `None` if there is none, or its pitch exceeds 32 bits.
pub(crate) fn info(texture: &TextureArgs, subresource: u32) -> Option<D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO> {
    let layout = TextureLayout::of_texture(*texture).subresource(subresource)?;
    let Arrangement::Linear { offset, row_pitch, slice_pitch } = layout.arrangement else { return None };
    Some(D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO {
        Offset: offset,
        RowPitch: u32::try_from(row_pitch).ok()?,
        HeightInRows: layout.blocks.height,
        SizeInBytes: slice_pitch,
    })
}
