//! Resource descriptions.
//!
//! * `buffer`, `texture`: checks of the descriptions' fields.
//! * `flags`: valid combinations of a texture's flags.
//! * `alignment`: the `Alignment` field and the tight alignment flag (tight alignment specification).
//! * `layout_guid`: layouts that a GUID names (GUID texture layout specification), with the feature `preview`.
//!
//! A description is a `D3D12_RESOURCE_DESC1`; what later generations and calls add to it are [`Additions`].

mod alignment;
mod buffer;
mod flags;
#[cfg(feature = "preview")]
pub(crate) mod layout_guid;
mod texture;

use heapwright_core::Alignment;
use heapwright_d3d12::*;

pub(crate) use self::buffer::Buffer;
pub(crate) use self::texture::Texture;
use super::{Notice, Notices, Options, Refusal};
use crate::ddi::{DriverCaps, ResourceKind};
pub(crate) use heapwright_d3d12::resource_desc::{downgrade, upgrade};

/// Flags that were added after the first D3D12, except tight alignment, which has its own cap.
const LATER_FLAGS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_VIDEO_DECODE_REFERENCE_ONLY
    | D3D12_RESOURCE_FLAG_VIDEO_ENCODE_REFERENCE_ONLY
    | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;

/// What calls say of a resource beside its `D3D12_RESOURCE_DESC1`. A later generation of descriptions adds a field.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Additions<'a> {
    /// Formats that views may have besides those of the resource's family.
    pub(crate) castable_formats: &'a [DXGI_FORMAT],
    /// `D3D12_RESOURCE_DESC2::LayoutGuid`.
    #[cfg(feature = "preview")]
    pub(crate) layout_guid: windows_core::GUID,
}

impl<'a> Additions<'a> {
    /// Returns the same with these castable formats.
    pub(crate) fn castable_to(self, castable_formats: &'a [DXGI_FORMAT]) -> Self {
        let mut additions = self;
        additions.castable_formats = castable_formats;
        additions
    }
}

/// A description with what its generation adds.
pub(crate) type Described = (D3D12_RESOURCE_DESC1, Additions<'static>);

/// Returns a description of a generation that adds nothing.
pub(crate) fn alone(desc: D3D12_RESOURCE_DESC1) -> Described {
    (desc, Additions::default())
}

/// A valid resource description, in the driver's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A buffer.
    Buffer(Buffer),
    /// A texture.
    Texture(Texture),
}

/// The alignment that a description requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlignmentRequest {
    /// Exactly this alignment: the value of `Alignment`, or the default if that is 0.
    Fixed(Alignment),
    /// Tight: any alignment of the driver's choice.
    Tight,
}

impl Resource {
    /// The resource as described to the driver.
    pub(crate) fn kind(&self) -> ResourceKind {
        match self {
            Self::Buffer(buffer) => ResourceKind::Buffer { width: buffer.width },
            Self::Texture(texture) => ResourceKind::Texture(texture.args),
        }
    }

    /// The alignment that the description requests.
    pub(crate) fn alignment(&self) -> AlignmentRequest {
        match self {
            Self::Buffer(buffer) => buffer.alignment,
            Self::Texture(texture) => texture.alignment,
        }
    }

    /// The texture, or `None` for a buffer.
    pub(crate) fn texture(&self) -> Option<&Texture> {
        match self {
            Self::Buffer(_) => None,
            Self::Texture(texture) => Some(texture),
        }
    }
}

/// Returns remarks on a valid description.
#[cfg_attr(
    not(feature = "preview"),
    expect(unused_variables, reason = "only previews have additions to remark on")
)]
pub(crate) fn notices(desc: &D3D12_RESOURCE_DESC1, additions: &Additions<'_>) -> Notices {
    let mut notices = Notices::default();
    #[cfg(feature = "preview")]
    if let Some(notice) = layout_guid::notice(desc, additions) {
        notices.push(notice);
    }
    let both = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
    if desc.Flags & both == both {
        // Tight alignment specification, *Validation*.
        notices.push(Notice::warning(
            D3D12_MESSAGE_ID_UNKNOWN,
            "USE_TIGHT_ALIGNMENT has no effect with ALLOW_CROSS_ADAPTER: the alignment is 64 KiB, or 4 MiB for MSAA \
             textures",
        ));
    }
    notices
}

/// Checks a resource description without additions.
#[cfg(test)]
pub(crate) fn check(
    desc: &D3D12_RESOURCE_DESC1,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Resource, Refusal> {
    check_with(desc, &Additions::default(), caps, options)
}

/// Checks a resource description with its additions.
pub(crate) fn check_with(
    desc: &D3D12_RESOURCE_DESC1,
    additions: &Additions<'_>,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Resource, Refusal> {
    if caps.is_first_generation && desc.Flags & LATER_FLAGS != 0 {
        return Err(Refusal::invalid(format!(
            "resource flags {:#x} are not supported by the first version of D3D12",
            desc.Flags & LATER_FLAGS
        )));
    }
    match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE1D..=D3D12_RESOURCE_DIMENSION_TEXTURE3D
            if caps.compute_only.is_some() =>
        {
            Err(Refusal::invalid("a compute-only device has no textures, only buffers"))
        }
        D3D12_RESOURCE_DIMENSION_BUFFER => {
            buffer::check(desc, additions.castable_formats, caps, options).map(Resource::Buffer)
        }
        D3D12_RESOURCE_DIMENSION_TEXTURE1D
        | D3D12_RESOURCE_DIMENSION_TEXTURE2D
        | D3D12_RESOURCE_DIMENSION_TEXTURE3D => {
            texture::check(desc, additions, caps, options).map(Resource::Texture)
        }
        other => {
            Err(Refusal::invalid(format!("D3D12_RESOURCE_DESC::Dimension {other} is not a valid dimension"))
                .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_UNRECOGNIZEDDIMENSIONALITY))
        }
    }
}
