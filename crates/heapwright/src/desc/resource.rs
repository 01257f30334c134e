//! The description of a resource and of its initial state.

use std::fmt;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::LayoutGuid;
use super::initial_state::InitialState;

/// The description of a resource, with the parameters of `CreateResource3` of D3D12MA and `ID3D12Device10`, and what
/// previews add.
///
/// The defaults are D3D12's: no clear value, no castable formats, state COMMON.
///
/// ```
/// use heapwright::{ByteSize, ResourceDesc, buffer_desc};
///
/// let desc = ResourceDesc::new(&buffer_desc(ByteSize::new(100)));
/// assert_eq!(desc.desc.Width, 100);
/// ```
#[derive(Clone, Copy, Default)]
pub struct ResourceDesc<'a> {
    /// D3D12's description.
    pub desc: D3D12_RESOURCE_DESC,
    /// `D3D12_RESOURCE_DESC1::SamplerFeedbackMipRegion`. Zero for all but sampler feedback, which requires
    /// `ID3D12Device8`.
    pub sampler_feedback_mip_region: D3D12_MIP_REGION,
    /// `D3D12_RESOURCE_DESC2::LayoutGuid`, of previews. Null for all but textures of layout GUID.
    pub layout_guid: LayoutGuid,
    /// Initial state or layout.
    pub initial_state: InitialState,
    /// The value to which the resource will mostly be cleared.
    pub clear_value: Option<ClearValue>,
    /// Formats, in addition to its own, that views of the resource may have. Requires `ID3D12Device12` with
    /// RelaxedFormatCastingSupported and a [layout](InitialState::Layout).
    pub castable_formats: &'a [DXGI_FORMAT],
    /// Protected session of a committed resource; requires `ID3D12Device4`. A placed resource uses its pool's session.
    pub protected_session: Option<&'a ID3D12ProtectedResourceSession>,
}

impl ResourceDesc<'_> {
    /// Creates a description of a resource in state COMMON.
    #[must_use]
    pub fn new(desc: &D3D12_RESOURCE_DESC) -> Self {
        Self::in_state(desc, D3D12_RESOURCE_STATE_COMMON)
    }

    /// Creates a description of a resource in a given initial state.
    #[must_use]
    #[inline]
    pub fn in_state(desc: &D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES) -> Self {
        Self { desc: *desc, initial_state: InitialState::State(state), ..Default::default() }
    }

    /// Returns `true` if the resource has a mip region of sampler feedback.
    #[inline]
    pub(crate) fn has_mip_region(&self) -> bool {
        self.sampler_feedback_mip_region != D3D12_MIP_REGION::default()
    }

    /// Returns `true` if the size depends on fields that `D3D12_RESOURCE_DESC` does not have, castable formats aside.
    #[inline]
    pub(crate) fn has_later_fields(&self) -> bool {
        self.has_mip_region() || !self.layout_guid.is_null()
    }

    #[inline]
    pub(crate) fn is_buffer(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }
}

impl From<D3D12_RESOURCE_DESC> for ResourceDesc<'_> {
    fn from(desc: D3D12_RESOURCE_DESC) -> Self {
        Self::new(&desc)
    }
}

impl From<&D3D12_RESOURCE_DESC> for ResourceDesc<'_> {
    fn from(desc: &D3D12_RESOURCE_DESC) -> Self {
        Self::new(desc)
    }
}

impl<'a> From<&ResourceDesc<'a>> for ResourceDesc<'a> {
    fn from(desc: &ResourceDesc<'a>) -> Self {
        *desc
    }
}

impl fmt::Debug for ResourceDesc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceDesc")
            .field("desc", &self.desc)
            .field("initial_state", &self.initial_state)
            .field("clear_value", &self.clear_value)
            .field("castable_formats", &self.castable_formats)
            .finish_non_exhaustive()
    }
}

/// The optimized clear value of a render target or a depth-stencil texture: D3D12's `D3D12_CLEAR_VALUE`, with the
/// knowledge of which member of its union is meant.
///
/// Two values are equal if all their bits are, so that a frame with a NaN equals itself.
#[derive(Debug, Clone, Copy)]
pub enum ClearValue {
    /// The color of a render target.
    Color {
        /// A typed format that the views have.
        format: DXGI_FORMAT,
        /// Red, green, blue and alpha.
        color: [f32; 4],
    },
    /// The depth and stencil of a depth-stencil texture.
    DepthStencil {
        /// A typed format that the views have.
        format: DXGI_FORMAT,
        /// From 0 to 1.
        depth: f32,
        /// Ignored by formats without stencil.
        stencil: u8,
    },
}

impl ClearValue {
    /// Converts D3D12's structure. Formats of depth-stencil views have a [`DepthStencil`](Self::DepthStencil), all
    /// others a [`Color`](Self::Color).
    ///
    /// # Safety
    ///
    /// The member of the union that belongs to the format is initialised.
    #[must_use]
    pub unsafe fn from_d3d12(value: &D3D12_CLEAR_VALUE) -> Self {
        let format = value.Format;
        match format {
            DXGI_FORMAT_D16_UNORM
            | DXGI_FORMAT_D24_UNORM_S8_UINT
            | DXGI_FORMAT_D32_FLOAT
            | DXGI_FORMAT_D32_FLOAT_S8X24_UINT => {
                // SAFETY: the caller's promise. The padding is not read.
                let (depth, stencil) = unsafe {
                    let value = &value.Anonymous.DepthStencil;
                    (value.Depth, value.Stencil)
                };
                Self::DepthStencil { format, depth, stencil }
            }
            // SAFETY: the caller's promise.
            _ => Self::Color { format, color: unsafe { value.Anonymous.Color } },
        }
    }

    pub(crate) fn to_d3d12(self) -> D3D12_CLEAR_VALUE {
        // All bytes are initialised, also those that only the other member of the union has: the device decides by the
        // format, which is the program's, which member it reads.
        let mut value = D3D12_CLEAR_VALUE::default();
        match self {
            Self::Color { format, color } => {
                value.Format = format;
                value.Anonymous.Color = color;
            }
            Self::DepthStencil { format, depth, stencil } => {
                value.Format = format;
                // Member by member, as an assignment of the whole would leave its padding uninitialised.
                value.Anonymous.DepthStencil.Depth = depth;
                value.Anonymous.DepthStencil.Stencil = stencil;
            }
        }
        value
    }
}

impl PartialEq for ClearValue {
    fn eq(&self, other: &Self) -> bool {
        let bits = |color: [f32; 4]| color.map(f32::to_bits);
        match (*self, *other) {
            (Self::Color { format, color }, Self::Color { format: other_format, color: other_color }) => {
                format == other_format && bits(color) == bits(other_color)
            }
            (
                Self::DepthStencil { format, depth, stencil },
                Self::DepthStencil { format: other_format, depth: other_depth, stencil: other_stencil },
            ) => (format, depth.to_bits(), stencil) == (other_format, other_depth.to_bits(), other_stencil),
            (Self::Color { .. }, Self::DepthStencil { .. })
            | (Self::DepthStencil { .. }, Self::Color { .. }) => false,
        }
    }
}

impl Eq for ClearValue {}

/// Returns the description of a buffer of `size` bytes, without flags.
#[must_use]
pub fn buffer_desc(size: ByteSize) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Alignment: 0,
        Width: size.get(),
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: ClearValue =
        ClearValue::DepthStencil { format: DXGI_FORMAT_D24_UNORM_S8_UINT, depth: 0.5, stencil: 7 };

    fn color(red: f32) -> ClearValue {
        ClearValue::Color { format: DXGI_FORMAT_R8G8B8A8_UNORM, color: [red, 0.25, 0.5, 1.0] }
    }

    /// Miri reports bytes that are not initialised.
    #[test]
    fn either_member_can_be_read() {
        let (depth, target) = (DEPTH.to_d3d12(), color(1.0).to_d3d12());
        assert_eq!(
            (depth.Format, target.Format),
            (DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_R8G8B8A8_UNORM)
        );
        // SAFETY: `to_d3d12` initialises all bytes, and both members are plain numbers.
        unsafe {
            assert_eq!(depth.Anonymous.DepthStencil, D3D12_DEPTH_STENCIL_VALUE { Depth: 0.5, Stencil: 7 });
            assert_eq!(depth.Anonymous.Color.map(f32::to_bits), [0.5_f32.to_bits(), 7, 0, 0]);
            assert_eq!(target.Anonymous.Color, [1.0, 0.25, 0.5, 1.0]);
            assert_eq!(target.Anonymous.DepthStencil.Depth, 1.0);
        }
    }

    /// Miri reports reading what is not initialised, which here is all that does not belong to the format.
    #[test]
    fn the_format_says_which_member_is_read() {
        use std::mem::MaybeUninit;
        for expected in [DEPTH, color(1.0)] {
            let mut value = MaybeUninit::<D3D12_CLEAR_VALUE>::uninit();
            let start = value.as_mut_ptr();
            // SAFETY: the pointers are into the value, whose union need not be initialised.
            let value = unsafe {
                let write_format = |format| (&raw mut (*start).Format).write(format);
                match expected {
                    ClearValue::Color { format, color } => {
                        write_format(format);
                        (&raw mut (*start).Anonymous.Color).write(color);
                    }
                    ClearValue::DepthStencil { format, depth, stencil } => {
                        write_format(format);
                        (&raw mut (*start).Anonymous.DepthStencil.Depth).write(depth);
                        (&raw mut (*start).Anonymous.DepthStencil.Stencil).write(stencil);
                    }
                }
                value.assume_init()
            };
            // SAFETY: the format's member was written above.
            assert_eq!(unsafe { ClearValue::from_d3d12(&value) }, expected);
        }
        for format in [DXGI_FORMAT_D16_UNORM, DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_D32_FLOAT_S8X24_UINT] {
            let expected = ClearValue::DepthStencil { format, depth: 0.25, stencil: 0 };
            // SAFETY: `to_d3d12` initialises all bytes.
            assert_eq!(unsafe { ClearValue::from_d3d12(&expected.to_d3d12()) }, expected);
        }
    }

    #[test]
    fn values_are_equal_bit_by_bit() {
        assert_eq!(color(f32::NAN), color(f32::NAN));
        assert_ne!(color(0.0), color(-0.0));
        assert_eq!(DEPTH, DEPTH);
        assert_ne!(DEPTH, color(0.5));
        let other = |format, depth, stencil| ClearValue::DepthStencil { format, depth, stencil };
        assert_eq!(DEPTH, other(DXGI_FORMAT_D24_UNORM_S8_UINT, 0.5, 7));
        assert_ne!(DEPTH, other(DXGI_FORMAT_D24_UNORM_S8_UINT, 0.5, 8));
        assert_ne!(DEPTH, other(DXGI_FORMAT_D24_UNORM_S8_UINT, 0.25, 7));
        assert_ne!(DEPTH, other(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, 0.5, 7));
    }
}
