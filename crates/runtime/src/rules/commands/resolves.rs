//! `ResolveSubresource`, `ResolveSubresourceRegion`, and the resolves at the end of a render pass.
//!
//! Supports AVERAGE, MIN and MAX for formats whose bit layout the runtime knows, and DECOMPRESS, which copies the
//! samples, as no texture is compressed. Sampler feedback is not implemented. The states RESOLVE_SOURCE and
//! RESOLVE_DEST are not tracked here.

use heapwright_d3d12::*;

use crate::ddi::{Extent, SubresourceIndex, TextureArgs};
use crate::drivers::command::Command;
use crate::drivers::texels::TexelLocation;
use crate::drivers::texels::TexelRegion;
use crate::format::{self, FormatKind, FormatProperties, ResolveMode, Resolver};
use crate::rules::Refusal;
use crate::rules::operand::Operand;

/// A resolve, as requested by the application.
pub(crate) struct Resolve<'a> {
    pub(crate) target: Operand<'a>,
    pub(crate) target_subresource: u32,
    pub(crate) target_start: [u32; 2],
    pub(crate) source: Operand<'a>,
    pub(crate) source_subresource: u32,
    /// The source rectangle. `None` selects the whole subresource.
    pub(crate) rect: Option<D3D12_RECT>,
    pub(crate) format: DXGI_FORMAT,
    pub(crate) mode: Mode,
}

/// The operation that a resolve applies to the samples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Combines the samples of each texel to one.
    Combine(ResolveMode),
    /// Copies them, from compressed ones to uncompressed ones.
    Decompress,
}

/// Converts a `D3D12_RESOLVE_MODE`.
///
/// # Errors
///
/// Returns E_NOTIMPL for sampler feedback, and E_INVALIDARG for an unknown mode.
pub(crate) fn mode(mode: D3D12_RESOLVE_MODE) -> Result<Mode, Refusal> {
    match mode {
        D3D12_RESOLVE_MODE_AVERAGE => Ok(Mode::Combine(ResolveMode::Average)),
        D3D12_RESOLVE_MODE_MIN => Ok(Mode::Combine(ResolveMode::Min)),
        D3D12_RESOLVE_MODE_MAX => Ok(Mode::Combine(ResolveMode::Max)),
        D3D12_RESOLVE_MODE_DECOMPRESS => Ok(Mode::Decompress),
        D3D12_RESOLVE_MODE_ENCODE_SAMPLER_FEEDBACK | D3D12_RESOLVE_MODE_DECODE_SAMPLER_FEEDBACK => {
            Err(Refusal::not_implemented("sampler feedback resolves"))
        }
        other => Err(Refusal::invalid(format!("ResolveMode {other} is not a valid D3D12_RESOLVE_MODE"))),
    }
}

/// One side of a resolve: a subresource of a 2D texture.
struct Side<'a> {
    texture: &'a TextureArgs,
    at: SubresourceIndex,
    extent: Extent,
}

impl<'a> Side<'a> {
    fn of(
        resource: Operand<'a>,
        index: u32,
        [name, index_name]: [&str; 2],
        wrong_kind: D3D12_MESSAGE_ID,
    ) -> Result<Self, Refusal> {
        if resource.desc.Dimension != D3D12_RESOURCE_DIMENSION_TEXTURE2D {
            return Err(Refusal::invalid(format!("{name} is not a 2D texture")).with_id(wrong_kind));
        }
        let texture = resource.texture()?;
        let Some(at) = texture.subresource(index) else {
            let count = texture.subresource_count();
            return Err(Refusal::invalid(format!(
                "{index_name} {index} is out of range; the texture has {count}"
            ))
            .with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_SUBRESOURCE_INDEX));
        };
        Ok(Self { texture, at, extent: texture.mip_extent(at.mip, at.plane) })
    }
}

impl Resolve<'_> {
    /// Returns the command of a `ResolveSubresource`: whole subresources of equal size, in a format that supports
    /// resolves.
    ///
    /// # Errors
    ///
    /// Same as [`command`](Self::command). Also returns E_INVALIDARG for subresources of different sizes and for a
    /// format without support for resolves.
    pub(crate) fn whole_command(&self) -> Result<Option<Command>, Refusal> {
        let (target, source) = self.sides()?;
        // Depth formats do not report this support, but Windows resolves them.
        let has_resolve = |row: &FormatProperties| {
            row.support().has(D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RESOLVE)
                || matches!(row.kind, FormatKind::DepthStencil | FormatKind::DepthView)
        };
        let row = format::properties(self.format).filter(|row| !row.is_typeless());
        if !row.is_some_and(has_resolve) {
            return Err(invalid_format(format!(
                "Format {} does not support D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RESOLVE",
                row.map_or("DXGI_FORMAT_UNKNOWN", |row| row.name)
            )));
        }
        if target.extent != source.extent {
            return Err(Refusal::invalid(format!(
                "DstSubresource has {}x{} texels, but SrcSubresource has {}x{}",
                target.extent.width, target.extent.height, source.extent.width, source.extent.height
            ))
            .with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_RESOURCE_MISMATCH));
        }
        self.command()
    }

    /// Returns the command, or `None` if the rectangle is empty or nothing is to be done.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for a violated rule and E_NOTIMPL for a format whose bit layout is unknown.
    pub(crate) fn command(&self) -> Result<Option<Command>, Refusal> {
        let (target, source) = self.sides()?;
        if target.at.plane != source.at.plane {
            return Err(Refusal::invalid(format!(
                "DstSubresource is in plane {}, but SrcSubresource is in plane {}",
                target.at.plane, source.at.plane
            ))
            .with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_RESOURCE_MISMATCH));
        }
        let row = check_formats(self.format, target.texture.format, source.texture.format)?;
        let plane = plane_format(row.format, source.at.plane)?;
        let region = self.region(&target, &source)?;
        let Mode::Combine(mode) = self.mode else { return self.decompress(region) };
        let is_integer = format::properties(plane)
            .is_some_and(|plane| matches!(plane.kind, FormatKind::Uint | FormatKind::Sint));
        if is_integer && mode == ResolveMode::Average {
            let plane = if source.at.plane == 0 { "" } else { " (stencil)" };
            return Err(invalid_format(format!(
                "{}{plane} has an integer format, which cannot be averaged",
                row.name
            )));
        }
        let resolver = Resolver::new(plane, mode)
            .ok_or_else(|| Refusal::not_implemented(format!("resolves of format {}", row.name)))?;
        let Some(region) = region else { return Ok(None) };
        Ok(Some(Command::ResolveTexels {
            target: (self.target.hold(), self.target_subresource),
            target_start: [self.target_start[0], self.target_start[1], 0],
            source: (self.source.hold(), self.source_subresource),
            region,
            resolver,
        }))
    }

    /// Returns the copy of the samples of `region`, or `None` for a decompression in place.
    fn decompress(&self, region: Option<TexelRegion>) -> Result<Option<Command>, Refusal> {
        let Some(region) = region else { return Ok(None) };
        let at =
            |resource: Operand<'_>, index| TexelLocation::Subresource { resource: resource.hold(), index };
        let target_start = [self.target_start[0], self.target_start[1], 0];
        if self.target.is(&self.source) && self.target_subresource == self.source_subresource {
            if target_start == region.start {
                return Ok(None);
            }
            let message = "pDstResource is pSrcResource, but DstX and DstY differ from pSrcRect";
            return Err(
                Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCEREGION_INVALID_RECT)
            );
        }
        Ok(Some(Command::CopyTexels {
            target: at(self.target, self.target_subresource),
            target_start,
            target_size: region.size,
            source: at(self.source, self.source_subresource),
            region,
        }))
    }

    fn sides(&self) -> Result<(Side<'_>, Side<'_>), Refusal> {
        let (wrong_target, wrong_source) = (
            D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALIDDSTRESOURCE,
            D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALIDSRCRESOURCE,
        );
        let names = ["pDstResource", "DstSubresource"];
        let target = Side::of(self.target, self.target_subresource, names, wrong_target)?;
        let names = ["pSrcResource", "SrcSubresource"];
        let source = Side::of(self.source, self.source_subresource, names, wrong_source)?;
        self.target.check_copy_target("pDstResource").map_err(|refusal| refusal.with_id(wrong_target))?;
        self.source.check_copy_source("pSrcResource").map_err(|refusal| refusal.with_id(wrong_source))?;
        let samples = (target.texture.sample_count, source.texture.sample_count);
        if self.mode == Mode::Decompress {
            if samples.0 == samples.1 {
                return Ok((target, source));
            }
            return Err(Refusal::invalid(format!(
                "pDstResource has {} samples and pSrcResource has {}; D3D12_RESOLVE_MODE_DECOMPRESS requires the same number",
                samples.0, samples.1
            ))
            .with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_SAMPLE_COUNT));
        }
        if samples.0 != 1 || samples.1 < 2 {
            return Err(Refusal::invalid(format!(
                "pDstResource has {} samples (must be 1) and pSrcResource has {} (must be at least 2)",
                samples.0, samples.1
            ))
            .with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_SAMPLE_COUNT));
        }
        Ok((target, source))
    }

    fn region(&self, target: &Side<'_>, source: &Side<'_>) -> Result<Option<TexelRegion>, Refusal> {
        let all = [source.extent.width, source.extent.height];
        let invalid = |message: String| {
            Err(Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCEREGION_INVALID_RECT))
        };
        let (start, end) = match self.rect {
            None => ([0, 0], all),
            Some(rect) => {
                let texels = [rect.left, rect.top, rect.right, rect.bottom].map(u32::try_from);
                let [Ok(left), Ok(top), Ok(right), Ok(bottom)] = texels else {
                    return invalid(format!("the source rectangle {rect:?} has negative coordinates"));
                };
                ([left, top], [right, bottom])
            }
        };
        if (0..2).any(|axis| start[axis] > end[axis] || end[axis] > all[axis]) {
            return invalid(format!(
                "the source rectangle from {start:?} to {end:?} is not within {all:?} texels"
            ));
        }
        let size = [end[0] - start[0], end[1] - start[1]];
        let room = [target.extent.width, target.extent.height];
        let leaves =
            |axis: usize| self.target_start[axis].checked_add(size[axis]).is_none_or(|end| end > room[axis]);
        if (0..2).any(leaves) {
            return invalid(format!(
                "{size:?} texels at {:?} exceed the destination of {room:?} texels",
                self.target_start
            ));
        }
        let region = TexelRegion { start: [start[0], start[1], 0], size: [size[0], size[1], 1] };
        Ok((!size.contains(&0)).then_some(region))
    }
}

fn invalid_format(message: String) -> Refusal {
    Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_FORMAT)
}

/// Checks that `Format` can read both textures. A typed texture can be read as its own format or as one that interprets
/// its bits as the same numbers (UNORM and sRGB, depth and its colour format); a typeless texture as any format of its
/// family.
fn check_formats(
    format: DXGI_FORMAT,
    target: &'static FormatProperties,
    source: &'static FormatProperties,
) -> Result<&'static FormatProperties, Refusal> {
    let Some(row) = format::properties(format).filter(|row| !row.is_typeless()) else {
        return Err(invalid_format(format!("Format {format} cannot be used for a resolve")));
    };
    for (texture, name) in [(target, "pDstResource"), (source, "pSrcResource")] {
        let is_read =
            row.family == texture.family && (texture.is_typeless() || numbers(row) == numbers(texture));
        if !is_read {
            return Err(invalid_format(format!(
                "Format {} is not compatible with {name}, which has format {}",
                row.name, texture.name
            )));
        }
    }
    Ok(row)
}

/// Returns the kind of numbers that a format encodes, ignoring the transfer function.
fn numbers(row: &FormatProperties) -> FormatKind {
    match row.kind {
        FormatKind::UnormSrgb => FormatKind::Unorm,
        FormatKind::DepthStencil if row.format == DXGI_FORMAT_D32_FLOAT => FormatKind::Float,
        FormatKind::DepthStencil if row.format == DXGI_FORMAT_D16_UNORM => FormatKind::Unorm,
        FormatKind::DepthView | FormatKind::StencilView => FormatKind::DepthStencil,
        kind => kind,
    }
}

/// Returns the format of one plane of a texture that is read as `format`.
fn plane_format(format: DXGI_FORMAT, plane: u32) -> Result<DXGI_FORMAT, Refusal> {
    match (format, plane) {
        (DXGI_FORMAT_D16_UNORM, 0) => Ok(DXGI_FORMAT_R16_UNORM),
        (
            DXGI_FORMAT_D32_FLOAT | DXGI_FORMAT_D32_FLOAT_S8X24_UINT | DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS,
            0,
        ) => Ok(DXGI_FORMAT_R32_FLOAT),
        (DXGI_FORMAT_D24_UNORM_S8_UINT | DXGI_FORMAT_R24_UNORM_X8_TYPELESS, 0) => {
            Ok(DXGI_FORMAT_R24_UNORM_X8_TYPELESS)
        }
        (
            DXGI_FORMAT_D32_FLOAT_S8X24_UINT
            | DXGI_FORMAT_X32_TYPELESS_G8X24_UINT
            | DXGI_FORMAT_D24_UNORM_S8_UINT
            | DXGI_FORMAT_X24_TYPELESS_G8_UINT,
            1,
        ) => Ok(DXGI_FORMAT_R8_UINT),
        (DXGI_FORMAT_X32_TYPELESS_G8X24_UINT | DXGI_FORMAT_X24_TYPELESS_G8_UINT, _) => {
            Err(invalid_format(format!("Format {format} reads stencil, but the subresources are depth")))
        }
        (format, 0) => Ok(format),
        (format, plane) => Err(invalid_format(format!("Format {format} cannot be used for plane {plane}"))),
    }
}
