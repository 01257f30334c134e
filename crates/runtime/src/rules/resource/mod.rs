//! Resource descriptions.
//!
//! * `buffer`, `texture`: what the fields of a description may be.
//! * `flags`: which resource flags go together.
//! * `alignment`: the `Alignment` field and the tight alignment flag (document TIGHT).
//! * `reserved`: what reserved resources ask beyond that.
//! * `generations`: D3D12_RESOURCE_DESC and D3D12_RESOURCE_DESC1.

mod alignment;
mod buffer;
mod flags;
mod generations;
pub(crate) mod reserved;
mod texture;

use heapwright_core::Alignment;
use heapwright_d3d12::*;

pub(crate) use self::buffer::Buffer;
pub(crate) use self::generations::{downgrade, upgrade};
pub(crate) use self::texture::Texture;
use super::{Notice, Notices, Options, Refusal};
use crate::ddi::{DriverCaps, ResourceKind};

/// A valid resource description, in the driver's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A buffer.
    Buffer(Buffer),
    /// A texture.
    Texture(Texture),
}

/// What a description asks of the alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlignmentRequest {
    /// Exactly this: what `Alignment` says, or the default where it is 0.
    Fixed(Alignment),
    /// As tight as the driver likes, but not below a floor (see [`Options::alignment_is_floor`]).
    Tight {
        /// 1 where the description gives none.
        floor: Alignment,
    },
}

impl Resource {
    /// What it is, as the driver sees it.
    pub(crate) fn kind(&self) -> ResourceKind {
        match self {
            Self::Buffer(buffer) => ResourceKind::Buffer { width: buffer.width },
            Self::Texture(texture) => ResourceKind::Texture(texture.args),
        }
    }

    /// What it asks of the alignment.
    pub(crate) fn alignment(&self) -> AlignmentRequest {
        match self {
            Self::Buffer(buffer) => buffer.alignment,
            Self::Texture(texture) => texture.alignment,
        }
    }

    /// The texture, where it is one.
    pub(crate) fn texture(&self) -> Option<&Texture> {
        match self {
            Self::Buffer(_) => None,
            Self::Texture(texture) => Some(texture),
        }
    }
}

/// What the application should know about a valid description.
pub(crate) fn notices(desc: &D3D12_RESOURCE_DESC1) -> Notices {
    let mut notices = Notices::default();
    let both = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
    if desc.Flags & both == both {
        // TIGHT, Validation.
        notices.push(Notice::warning(
            D3D12_MESSAGE_ID_UNKNOWN,
            "USE_TIGHT_ALIGNMENT has no effect beside ALLOW_CROSS_ADAPTER: the alignment stays 64 KiB, or 4 MiB for MSAA",
        ));
    }
    notices
}

/// Checks a resource description that has no castable formats.
pub(crate) fn check(
    desc: &D3D12_RESOURCE_DESC1,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Resource, Refusal> {
    check_castable(desc, &[], caps, options)
}

/// Checks a resource description with the formats that its views may cast to.
pub(crate) fn check_castable(
    desc: &D3D12_RESOURCE_DESC1,
    castable_formats: &[DXGI_FORMAT],
    caps: &DriverCaps,
    options: &Options,
) -> Result<Resource, Refusal> {
    flags::check_generation(desc.Flags, caps)?;
    match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_BUFFER => {
            super::castable::check_buffer(castable_formats)?;
            buffer::check(desc, caps, options).map(Resource::Buffer)
        }
        D3D12_RESOURCE_DIMENSION_TEXTURE1D
        | D3D12_RESOURCE_DIMENSION_TEXTURE2D
        | D3D12_RESOURCE_DIMENSION_TEXTURE3D => {
            texture::check(desc, castable_formats, caps, options).map(Resource::Texture)
        }
        other => Err(Refusal::invalid(format!("D3D12_RESOURCE_DESC::Dimension {other} is no dimension"))
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_UNRECOGNIZEDDIMENSIONALITY)),
    }
}
