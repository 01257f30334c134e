//! The values of `D3D12_FEATURE_FORMAT_SUPPORT` and `D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS`.
//!
//! They are those of a current GPU. They also decide which resources can be created: without `RENDER_TARGET`, a format
//! cannot be that of a render target.

use heapwright_d3d12::*;

use super::{FormatKind, FormatProperties};

/// The flags of `D3D12_FEATURE_DATA_FORMAT_SUPPORT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FormatSupport {
    /// The uses by resources and views.
    pub(crate) support1: D3D12_FORMAT_SUPPORT1,
    /// Atomics, typed loads and stores, tiling.
    pub(crate) support2: D3D12_FORMAT_SUPPORT2,
}

impl FormatSupport {
    /// Returns whether all of `flags` are set.
    pub(crate) fn has(self, flags: D3D12_FORMAT_SUPPORT1) -> bool {
        self.support1 & flags == flags
    }

    fn union(self, other: Self) -> Self {
        Self { support1: self.support1 | other.support1, support2: self.support2 | other.support2 }
    }
}

const ALL_TEXTURES: D3D12_FORMAT_SUPPORT1 = D3D12_FORMAT_SUPPORT1_TEXTURE1D
    | D3D12_FORMAT_SUPPORT1_TEXTURE2D
    | D3D12_FORMAT_SUPPORT1_TEXTURE3D
    | D3D12_FORMAT_SUPPORT1_TEXTURECUBE
    | D3D12_FORMAT_SUPPORT1_MIP;

/// Depth textures cannot be volumes.
const DEPTH_TEXTURES: D3D12_FORMAT_SUPPORT1 = ALL_TEXTURES & !D3D12_FORMAT_SUPPORT1_TEXTURE3D;

/// 1D textures cannot have blocks of 4 by 4.
const BC_TEXTURES: D3D12_FORMAT_SUPPORT1 = ALL_TEXTURES & !D3D12_FORMAT_SUPPORT1_TEXTURE1D;

impl FormatProperties {
    /// Returns the support of the format itself; none for unsupported formats.
    pub(crate) fn support(&self) -> FormatSupport {
        FormatSupport { support1: self.support1(), support2: self.support2() }
    }

    /// Returns the uses of a resource of this format by views: for a typeless format, the support of its family.
    ///
    /// Cost: O(number of formats) for a typeless format, O(1) for others.
    pub(crate) fn resource_support(&self) -> FormatSupport {
        if !self.is_typeless() {
            return self.support();
        }
        let textures = self.support();
        let views = self.family_members().fold(textures, |all, member| all.union(member.support()));
        // The typeless format decides the dimensions: R32G8X24 cannot be a volume, even if its view formats can.
        FormatSupport {
            support1: (views.support1 & !ALL_TEXTURES) | (textures.support1 & ALL_TEXTURES),
            ..views
        }
    }

    /// Returns the support that decides which flags a resource of this format may have: that of the view formats to
    /// which it can be cast within its family.
    ///
    /// A typed format can be cast as with `CastingFullyTypedFormatSupported` (specification "D3D12 Relaxed Format
    /// Casting Rules"): within its family, and not between floating point and other formats. vkd3d-proton's
    /// test_enhanced_barrier_castable_formats_validation records that Windows accepts unordered access of sRGB, and
    /// depth and stencil of R32_FLOAT, R16_UNORM and R24_UNORM_X8_TYPELESS. Depth and stencil formats cannot be cast.
    ///
    /// Cost: O(number of formats).
    pub(crate) fn flag_support(&self) -> FormatSupport {
        if self.is_typeless() || self.is_depth_stencil() {
            return self.resource_support();
        }
        let cast = self.family_members().filter(|member| member.is_floating() == self.is_floating());
        cast.fold(self.support(), |all, member| all.union(member.support()))
    }

    /// Returns whether texels are floating point; for a depth format, those of the depth plane.
    fn is_floating(&self) -> bool {
        let depth =
            [DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_D32_FLOAT_S8X24_UINT, DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS];
        self.kind == FormatKind::Float || depth.contains(&self.format)
    }

    /// The value of `NumQualityLevels`: 1 if textures of this format can have `sample_count` samples, otherwise 0.
    pub(crate) fn quality_levels(&self, sample_count: u32) -> u32 {
        match sample_count {
            1 => u32::from(self.support().support1 != D3D12_FORMAT_SUPPORT1_NONE),
            2 | 4 | 8 => {
                u32::from(self.resource_support().has(D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RENDERTARGET))
            }
            _ => 0,
        }
    }

    fn support1(&self) -> D3D12_FORMAT_SUPPORT1 {
        let filterable = D3D12_FORMAT_SUPPORT1_SHADER_LOAD
            | D3D12_FORMAT_SUPPORT1_SHADER_SAMPLE
            | D3D12_FORMAT_SUPPORT1_SHADER_GATHER;
        let from_kind = match self.kind {
            FormatKind::Unsupported => return D3D12_FORMAT_SUPPORT1_NONE,
            // Neither mip levels nor samples. Views show planes, or all of a texel, as another format.
            FormatKind::Video => {
                let views = match (self.view_family(0), self.block_width) {
                    (None, _) => D3D12_FORMAT_SUPPORT1_NONE,
                    (Some(_), 1) => {
                        filterable
                            | D3D12_FORMAT_SUPPORT1_RENDER_TARGET
                            | D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW
                    }
                    // A texel of the view is two of the texture.
                    (Some(_), _) => filterable,
                };
                return D3D12_FORMAT_SUPPORT1_TEXTURE2D | views;
            }
            FormatKind::XrBias => return D3D12_FORMAT_SUPPORT1_TEXTURE2D | D3D12_FORMAT_SUPPORT1_DISPLAY,
            FormatKind::DepthStencil => {
                return DEPTH_TEXTURES
                    | D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL
                    | D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RENDERTARGET;
            }
            FormatKind::DepthView => {
                return DEPTH_TEXTURES | filterable | compared() | D3D12_FORMAT_SUPPORT1_MULTISAMPLE_LOAD;
            }
            FormatKind::StencilView => {
                return DEPTH_TEXTURES
                    | D3D12_FORMAT_SUPPORT1_SHADER_LOAD
                    | D3D12_FORMAT_SUPPORT1_MULTISAMPLE_LOAD;
            }
            FormatKind::Typeless => D3D12_FORMAT_SUPPORT1_NONE,
            FormatKind::Uint | FormatKind::Sint => {
                D3D12_FORMAT_SUPPORT1_SHADER_LOAD | D3D12_FORMAT_SUPPORT1_SHADER_GATHER
            }
            _ => filterable,
        };
        let mut flags = from_kind
            | if self.is_block_compressed() {
                BC_TEXTURES
            } else if self.is_planar() {
                DEPTH_TEXTURES
            } else {
                ALL_TEXTURES
            };
        let mut add = |condition: bool, flag: D3D12_FORMAT_SUPPORT1| {
            if condition {
                flags |= flag;
            }
        };
        add(self.family_has_several_members(), D3D12_FORMAT_SUPPORT1_CAST_WITHIN_BIT_LAYOUT);
        let is_integer = matches!(self.kind, FormatKind::Uint | FormatKind::Sint);
        if self.is_render_target() {
            add(true, D3D12_FORMAT_SUPPORT1_RENDER_TARGET | D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RENDERTARGET);
            add(true, D3D12_FORMAT_SUPPORT1_MULTISAMPLE_LOAD);
            let blended = D3D12_FORMAT_SUPPORT1_BLENDABLE | D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RESOLVE;
            add(!is_integer, blended);
        }
        add(self.is_in_buffers(), D3D12_FORMAT_SUPPORT1_BUFFER | D3D12_FORMAT_SUPPORT1_IA_VERTEX_BUFFER);
        let is_index = matches!(self.format, DXGI_FORMAT_R16_UINT | DXGI_FORMAT_R32_UINT);
        add(is_index, D3D12_FORMAT_SUPPORT1_IA_INDEX_BUFFER);
        add(self.is_stream_output(), D3D12_FORMAT_SUPPORT1_SO_BUFFER);
        let is_depth = matches!(self.format, DXGI_FORMAT_R32_FLOAT | DXGI_FORMAT_R16_UNORM);
        add(is_depth, compared());
        add(self.is_displayed(), D3D12_FORMAT_SUPPORT1_DISPLAY | D3D12_FORMAT_SUPPORT1_BACK_BUFFER_CAST);
        add(self.is_typed_uav(), D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW);
        flags
    }

    fn support2(&self) -> D3D12_FORMAT_SUPPORT2 {
        let mut flags = D3D12_FORMAT_SUPPORT2_NONE;
        if self.is_typed_uav() {
            flags |= D3D12_FORMAT_SUPPORT2_UAV_TYPED_LOAD | D3D12_FORMAT_SUPPORT2_UAV_TYPED_STORE;
        }
        if matches!(self.format, DXGI_FORMAT_R32_UINT | DXGI_FORMAT_R32_SINT) {
            flags |= D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_ADD
                | D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_BITWISE_OPS
                | D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_COMPARE_STORE_OR_COMPARE_EXCHANGE
                | D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_EXCHANGE
                | if self.kind == FormatKind::Uint {
                    D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_UNSIGNED_MIN_OR_MAX
                } else {
                    D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_SIGNED_MIN_OR_MAX
                };
        }
        if self.format == DXGI_FORMAT_R32_FLOAT {
            flags |= D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_EXCHANGE;
        }
        if self.is_render_target() && self.kind == FormatKind::Uint {
            flags |= D3D12_FORMAT_SUPPORT2_OUTPUT_MERGER_LOGIC_OP;
        }
        if self.is_tiled() {
            flags |= D3D12_FORMAT_SUPPORT2_TILED;
        }
        flags
    }

    /// Returns whether tiled textures can have the format: their blocks need a power-of-two size in a single plane.
    fn is_tiled(&self) -> bool {
        !matches!(self.kind, FormatKind::Unsupported | FormatKind::Video | FormatKind::XrBias)
            && self.block_bytes.is_power_of_two()
            && !self.is_planar()
    }

    /// Returns whether render targets can have the format: typed uncompressed colour formats, except shared exponents
    /// and 96-bit texels.
    fn is_render_target(&self) -> bool {
        matches!(
            self.kind,
            FormatKind::Float
                | FormatKind::Unorm
                | FormatKind::UnormSrgb
                | FormatKind::Snorm
                | FormatKind::Uint
                | FormatKind::Sint
        ) && self.block_width == 1
            && self.block_bytes != 12
    }

    /// Returns whether typed buffers and vertex buffers can have the format: render target formats and 96-bit ones,
    /// except sRGB and BGRA orders.
    fn is_in_buffers(&self) -> bool {
        let is_colour = self.is_render_target() || (self.block_bytes == 12 && !self.is_typeless());
        is_colour
            && !self.is_srgb()
            && !matches!(
                self.format,
                DXGI_FORMAT_B8G8R8X8_UNORM
                    | DXGI_FORMAT_B5G6R5_UNORM
                    | DXGI_FORMAT_B5G5R5A1_UNORM
                    | DXGI_FORMAT_B4G4R4A4_UNORM
                    | DXGI_FORMAT_A4B4G4R4_UNORM
            )
    }

    /// Returns whether stream output can have the format: 32-bit components.
    fn is_stream_output(&self) -> bool {
        let family = [
            DXGI_FORMAT_R32G32B32A32_TYPELESS,
            DXGI_FORMAT_R32G32B32_TYPELESS,
            DXGI_FORMAT_R32G32_TYPELESS,
            DXGI_FORMAT_R32_TYPELESS,
        ];
        family.contains(&self.family) && !self.is_typeless()
    }

    fn is_displayed(&self) -> bool {
        matches!(
            self.format,
            DXGI_FORMAT_R8G8B8A8_UNORM
                | DXGI_FORMAT_R8G8B8A8_UNORM_SRGB
                | DXGI_FORMAT_B8G8R8A8_UNORM
                | DXGI_FORMAT_B8G8R8A8_UNORM_SRGB
                | DXGI_FORMAT_R10G10B10A2_UNORM
                | DXGI_FORMAT_R16G16B16A16_FLOAT
        )
    }

    /// D3D12's list of formats for typed unordered access views, including the optional ones that GPUs support.
    fn is_typed_uav(&self) -> bool {
        let families = [
            DXGI_FORMAT_R32G32B32A32_TYPELESS,
            DXGI_FORMAT_R16G16B16A16_TYPELESS,
            DXGI_FORMAT_R32G32_TYPELESS,
            DXGI_FORMAT_R10G10B10A2_TYPELESS,
            DXGI_FORMAT_R11G11B10_FLOAT,
            DXGI_FORMAT_R8G8B8A8_TYPELESS,
            DXGI_FORMAT_R16G16_TYPELESS,
            DXGI_FORMAT_R32_TYPELESS,
            DXGI_FORMAT_R8G8_TYPELESS,
            DXGI_FORMAT_R16_TYPELESS,
            DXGI_FORMAT_R8_TYPELESS,
            DXGI_FORMAT_A8_UNORM,
        ];
        families.contains(&self.family) && self.is_render_target() && !self.is_srgb()
    }

    fn family_has_several_members(&self) -> bool {
        self.is_typeless() || self.family != self.format
    }
}

fn compared() -> D3D12_FORMAT_SUPPORT1 {
    D3D12_FORMAT_SUPPORT1_SHADER_SAMPLE_COMPARISON | D3D12_FORMAT_SUPPORT1_SHADER_GATHER_COMPARISON
}
