//! Names with a fixed meaning in reports.

use std::fmt;

use heapwright_d3d12::*;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::HeapType;

/// `D3D12_HEAP_TYPE`, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
#[non_exhaustive]
pub enum HeapTypeName {
    /// Memory that only the GPU accesses.
    #[default]
    Default,
    /// The CPU writes and the GPU reads.
    Upload,
    /// The GPU writes and the CPU reads.
    Readback,
    /// Video memory that the CPU can write.
    GpuUpload,
    /// Any other heap properties.
    Custom,
}

impl HeapTypeName {
    /// All heap types, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Default, Self::Upload, Self::Readback, Self::GpuUpload, Self::Custom];

    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "DEFAULT",
            Self::Upload => "UPLOAD",
            Self::Readback => "READBACK",
            Self::GpuUpload => "GPU_UPLOAD",
            Self::Custom => "CUSTOM",
        }
    }
}

impl From<HeapType> for HeapTypeName {
    fn from(heap_type: HeapType) -> Self {
        match heap_type {
            HeapType::Default => Self::Default,
            HeapType::Upload => Self::Upload,
            HeapType::Readback => Self::Readback,
            HeapType::GpuUpload => Self::GpuUpload,
        }
    }
}

impl fmt::Display for HeapTypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The resources that a heap may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum HeapContents {
    /// Buffers.
    Buffers,
    /// Textures; on resource heap tier 1, those that are neither render targets nor depth-stencils.
    Textures,
    /// Render targets and depth-stencils.
    RenderTargets,
    /// Multisampled textures.
    Multisampled,
    /// All resources.
    #[default]
    Any,
}

impl HeapContents {
    /// All kinds of contents.
    pub const ALL: [Self; 5] =
        [Self::Buffers, Self::Textures, Self::RenderTargets, Self::Multisampled, Self::Any];

    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buffers => "buffers",
            Self::Textures => "textures",
            Self::RenderTargets => "render_targets",
            Self::Multisampled => "multisampled",
            Self::Any => "any",
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::RenderTargets => "render targets",
            other => other.name(),
        }
    }
}

/// The kind of an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AllocationKind {
    /// A buffer.
    Buffer,
    /// A single-sample texture that is neither a render target nor a depth-stencil.
    Texture,
    /// A single-sample render target or depth-stencil.
    RenderTarget,
    /// A multisampled texture.
    Multisampled,
    /// A buffer of the allocator in which it places small buffers. These are listed `within`.
    BackingBuffer,
    /// Not known, or a kind that this version of the reader does not know.
    #[cfg_attr(feature = "serde", serde(other))]
    #[default]
    Unknown,
}

impl AllocationKind {
    /// All kinds, in the order of the legend.
    pub const ALL: [Self; 6] = [
        Self::Buffer,
        Self::Texture,
        Self::RenderTarget,
        Self::Multisampled,
        Self::BackingBuffer,
        Self::Unknown,
    ];

    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Texture => "texture",
            Self::RenderTarget => "render_target",
            Self::Multisampled => "multisampled",
            Self::BackingBuffer => "backing_buffer",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::RenderTarget => "render target or depth-stencil",
            Self::Multisampled => "multisampled texture",
            Self::BackingBuffer => "backing buffer",
            other => other.name(),
        }
    }
}

/// Returns the names of `D3D12_HEAP_FLAGS` without their prefix; bits without a name as one hexadecimal number.
#[must_use]
pub fn heap_flag_names(flags: D3D12_HEAP_FLAGS) -> Vec<String> {
    // Names of several bits come first; their bits are not listed individually.
    const NAMES: &[(D3D12_HEAP_FLAGS, &str)] = &[
        (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, "ALLOW_ONLY_BUFFERS"),
        (D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES, "ALLOW_ONLY_NON_RT_DS_TEXTURES"),
        (D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES, "ALLOW_ONLY_RT_DS_TEXTURES"),
        (D3D12_HEAP_FLAG_SHARED, "SHARED"),
        (D3D12_HEAP_FLAG_DENY_BUFFERS, "DENY_BUFFERS"),
        (D3D12_HEAP_FLAG_ALLOW_DISPLAY, "ALLOW_DISPLAY"),
        (D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, "SHARED_CROSS_ADAPTER"),
        (D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES, "DENY_RT_DS_TEXTURES"),
        (D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES, "DENY_NON_RT_DS_TEXTURES"),
        (D3D12_HEAP_FLAG_HARDWARE_PROTECTED, "HARDWARE_PROTECTED"),
        (D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH, "ALLOW_WRITE_WATCH"),
        (D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS, "ALLOW_SHADER_ATOMICS"),
        (D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT, "CREATE_NOT_RESIDENT"),
        (D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, "CREATE_NOT_ZEROED"),
        (D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING, "TOOLS_USE_MANUAL_WRITE_TRACKING"),
        #[cfg(feature = "preview")]
        (preview::D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING, "TOOLS_ENABLE_MEMORY_TRACKING"),
    ];
    let mut rest = flags;
    let mut names = Vec::new();
    for &(flag, name) in NAMES {
        if rest & flag == flag {
            names.push(name.to_owned());
            rest &= !flag;
        }
    }
    if rest != 0 {
        names.push(format!("{rest:#x}"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named_and_unknown_bits_are_shown() {
        let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED | 0x100_0000;
        assert_eq!(heap_flag_names(flags), ["ALLOW_ONLY_BUFFERS", "CREATE_NOT_ZEROED", "0x1000000"]);
    }
}
