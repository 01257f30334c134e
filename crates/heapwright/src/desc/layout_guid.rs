//! The layout that a GUID names, of previews of the Agility SDK.

use std::fmt;

#[cfg(feature = "preview")]
use heapwright_d3d12::preview::ID3D12GuidTextureLayoutResource;
use heapwright_d3d12::{D3D12_TEXTURE_LAYOUT, ID3D12Resource};
#[cfg(feature = "preview")]
use windows_core::{GUID, Interface as _};

/// The GUID that names a texture's layout: `D3D12_RESOURCE_DESC2::LayoutGuid`. Null, the default, names none.
///
/// Other values exist only with the feature `preview`. They are for textures whose `Layout` is
/// `D3D12_TEXTURE_LAYOUT_GUID`, begin in a [layout](crate::InitialState::Layout) instead of a state, and require
/// `ID3D12GuidTextureLayoutDevice`. They are never tightly aligned.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct LayoutGuid {
    #[cfg(feature = "preview")]
    guid: GUID,
}

impl LayoutGuid {
    /// `D3D12_TEXTURE_LAYOUT_GUID`.
    pub(crate) const LAYOUT: D3D12_TEXTURE_LAYOUT = 4;

    /// Returns the layout that `guid` names.
    #[cfg(feature = "preview")]
    #[must_use]
    pub const fn new(guid: GUID) -> Self {
        Self { guid }
    }

    /// Returns the GUID.
    #[cfg(feature = "preview")]
    #[must_use]
    pub const fn get(self) -> GUID {
        self.guid
    }

    /// Returns `true` if no layout is named, as always without the feature `preview`.
    #[must_use]
    #[inline]
    pub fn is_null(self) -> bool {
        self == Self::default()
    }

    /// Returns the layout of a resource. Null if the resource has no layout GUID.
    #[inline]
    #[cfg_attr(not(feature = "preview"), expect(unused_variables, reason = "there are no other values"))]
    pub(crate) fn of(resource: &ID3D12Resource) -> Self {
        #[cfg(feature = "preview")]
        if let Ok(described) = resource.cast::<ID3D12GuidTextureLayoutResource>() {
            let mut desc = Default::default();
            // SAFETY: the resource is a live COM object, and the description is written to a variable of its type.
            unsafe { described.GetDesc2(&mut desc) };
            return Self { guid: desc.LayoutGuid };
        }
        Self::default()
    }
}

impl fmt::Debug for LayoutGuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "preview")]
        if !self.is_null() {
            return self.guid.fmt(f);
        }
        f.write_str("null")
    }
}
