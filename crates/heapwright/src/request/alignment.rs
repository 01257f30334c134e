//! Alignments: those that the uses of a buffer require, and those that D3D12 and a description require.

use bitflags::bitflags;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use crate::Error;

bitflags! {
    /// The uses of a buffer that require an address alignment.
    ///
    /// With tight alignment a device may place a buffer at 8 bytes. That is legal, but too little for some views: a
    /// constant buffer view begins at a multiple of 256 bytes. A buffer without uses gets the alignment that the device
    /// reports and no more. [`BufferUses::all`] is for a buffer whose uses are not known: it satisfies every address
    /// rule.
    ///
    /// Rules about offsets *within* a buffer (512 bytes for texture data, 4 KiB for counters of unordered access views)
    /// are not rules about its address and are not included. Typed and structured views by elements have no address
    /// rule: the alignment that the device reports covers the needs of the hardware.
    ///
    /// ```
    /// use heapwright::BufferUses;
    ///
    /// assert_eq!(BufferUses::empty().floor().get(), 1);
    /// assert_eq!(BufferUses::RAW_VIEW.floor().get(), 16);
    /// let both = BufferUses::RAW_VIEW | BufferUses::CONSTANT_BUFFER;
    /// assert_eq!(both.floor().get(), 256);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct BufferUses: u32 {
        /// Vertex buffer views; no rule.
        const VERTEX_BUFFER = 1 << 0;
        /// Index buffer views: 4 bytes.
        const INDEX_BUFFER = 1 << 1;
        /// Arguments and counts of `ExecuteIndirect`: 4 bytes.
        const INDIRECT_ARGUMENTS = 1 << 2;
        /// Predicates and resolved queries: 8 bytes.
        const PREDICATION = 1 << 3;
        /// Constant buffer views: 256 bytes, and a size in multiples of 256 bytes.
        const CONSTANT_BUFFER = 1 << 4;
        /// Raw (byte address) shader resource and unordered access views: 16 bytes.
        const RAW_VIEW = 1 << 5;
        /// Shader tables of `DispatchRays`: 64 bytes.
        const SHADER_TABLE = 1 << 6;
        /// Inputs of acceleration structure builds (vertices, instances, transforms, AABBs): 16 bytes.
        const ACCELERATION_STRUCTURE_BUILD_INPUT = 1 << 7;
        /// Acceleration structures and the scratch memory of their builds: 256 bytes.
        const ACCELERATION_STRUCTURE = 1 << 8;
        /// Cluster acceleration structures (CLAS): 128 bytes.
        const CLUSTER_ACCELERATION_STRUCTURE = 1 << 9;
        /// Opacity micromap arrays: 128 bytes.
        const OPACITY_MICROMAP = 1 << 10;
        /// Bitstreams and histograms of video queues: 256 bytes.
        const VIDEO = 1 << 11;
        /// Views by byte offsets ([`DeviceCaps::byte_offset_views`](crate::DeviceCaps::byte_offset_views)), of any
        /// format and structure: 16 bytes.
        const BYTE_OFFSET_VIEW = 1 << 12;
    }
}

/// Converts a constant of D3D12's header to an alignment.
pub(crate) const fn d3d12_alignment(constant: i32) -> Alignment {
    match Alignment::new(constant.cast_unsigned() as u64) {
        Some(alignment) => alignment,
        None => panic!("D3D12's alignments are powers of two"),
    }
}

/// Constant buffer views begin and end at multiples of this.
const CONSTANT_BUFFER: Alignment = d3d12_alignment(D3D12_CONSTANT_BUFFER_DATA_PLACEMENT_ALIGNMENT);

/// The largest alignment that a view by a byte offset needs: of 128-bit texels, and of structures of 16 bytes and their
/// multiples.
pub(crate) const BYTE_OFFSET_VIEW: Alignment = d3d12_alignment(16);

/// The address rules. CLAS and video have no constant in the bindings.
const FLOORS: [(BufferUses, Alignment); 13] = [
    (BufferUses::VERTEX_BUFFER, Alignment::ONE),
    (BufferUses::INDEX_BUFFER, d3d12_alignment(4)),
    (BufferUses::INDIRECT_ARGUMENTS, d3d12_alignment(4)),
    (BufferUses::PREDICATION, d3d12_alignment(8)),
    (BufferUses::CONSTANT_BUFFER, CONSTANT_BUFFER),
    (BufferUses::RAW_VIEW, d3d12_alignment(D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT)),
    (BufferUses::SHADER_TABLE, d3d12_alignment(D3D12_RAYTRACING_SHADER_TABLE_BYTE_ALIGNMENT)),
    (
        BufferUses::ACCELERATION_STRUCTURE_BUILD_INPUT,
        d3d12_alignment(D3D12_RAYTRACING_INSTANCE_DESCS_BYTE_ALIGNMENT),
    ),
    (
        BufferUses::ACCELERATION_STRUCTURE,
        d3d12_alignment(D3D12_RAYTRACING_ACCELERATION_STRUCTURE_BYTE_ALIGNMENT),
    ),
    (BufferUses::CLUSTER_ACCELERATION_STRUCTURE, d3d12_alignment(128)),
    (BufferUses::OPACITY_MICROMAP, d3d12_alignment(D3D12_RAYTRACING_OPACITY_MICROMAP_ARRAY_BYTE_ALIGNMENT)),
    (BufferUses::VIDEO, d3d12_alignment(256)),
    (BufferUses::BYTE_OFFSET_VIEW, BYTE_OFFSET_VIEW),
];

impl BufferUses {
    /// Returns the alignment that satisfies every use, 1 to 256 bytes; 1 without uses. O(1).
    #[must_use]
    #[inline]
    pub fn floor(self) -> Alignment {
        if self.is_empty() {
            return Alignment::ONE;
        }
        let floors = FLOORS.iter().filter(|(uses, _)| self.contains(*uses));
        floors.map(|&(_, floor)| floor).max().unwrap_or(Alignment::ONE)
    }

    /// Adds the uses that the flags of a resource imply.
    #[inline]
    pub(crate) fn with_flags(self, flags: D3D12_RESOURCE_FLAGS) -> Self {
        if flags & D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE == 0 {
            return self;
        }
        self | Self::ACCELERATION_STRUCTURE
    }

    /// Returns the width with which a buffer of `width` bytes is created. Constant buffer views have multiples of 256
    /// bytes and must not exceed the buffer. `None` if the width would exceed 64 bits.
    #[inline]
    pub(crate) fn width(self, width: ByteSize) -> Option<ByteSize> {
        if !self.contains(Self::CONSTANT_BUFFER) {
            return Some(width);
        }
        width.align_up(CONSTANT_BUFFER)
    }
}

/// 64 KiB: buffers and single-sample textures without tight alignment, and small multisampled textures.
pub(super) const DEFAULT_ALIGNMENT: Alignment = d3d12_alignment(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT);
const MULTISAMPLED: Alignment = d3d12_alignment(D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT);
const SMALL: Alignment = d3d12_alignment(D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT);
const SMALL_MULTISAMPLED: Alignment = d3d12_alignment(D3D12_SMALL_MSAA_RESOURCE_PLACEMENT_ALIGNMENT);

/// Returns the alignment without tight alignment, which is also the largest one that can be requested.
pub(super) fn default_alignment(desc: &D3D12_RESOURCE_DESC) -> Alignment {
    if desc.SampleDesc.Count > 1 { MULTISAMPLED } else { DEFAULT_ALIGNMENT }
}

/// Returns the alignment of a small texture.
pub(super) fn small_alignment(desc: &D3D12_RESOURCE_DESC) -> Alignment {
    if desc.SampleDesc.Count > 1 { SMALL_MULTISAMPLED } else { SMALL }
}

/// Returns the alignment that a description and its uses require: a minimum, however the device treats `Alignment`.
///
/// # Errors
///
/// Invalid argument: `Alignment` is neither 0 nor a power of two, or above the largest alignment of the kind of
/// resource.
#[inline]
pub(super) fn least_alignment(desc: &D3D12_RESOURCE_DESC, uses: BufferUses) -> Result<Alignment, Error> {
    const FIELD: &str = "D3D12_RESOURCE_DESC::Alignment";
    if desc.Alignment == 0 {
        return Ok(uses.floor());
    }
    let asked = Alignment::new(desc.Alignment).ok_or_else(|| {
        Error::invalid_argument(FIELD, format!("{:#x} is neither 0 nor a power of two", desc.Alignment))
    })?;
    let most = default_alignment(desc);
    if asked > most {
        let what = match desc.Dimension {
            D3D12_RESOURCE_DIMENSION_BUFFER => "a buffer",
            _ if desc.SampleDesc.Count > 1 => "a multisampled texture",
            _ => "a single-sample texture",
        };
        return Err(Error::invalid_argument(
            FIELD,
            format!("{asked} exceeds the maximum of {most} for {what}"),
        ));
    }
    Ok(asked.max(uses.floor()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_use_has_one_floor() {
        for (index, (uses, floor)) in FLOORS.iter().enumerate() {
            assert_eq!(uses.bits(), 1 << index, "uses are not listed once and in order");
            assert_eq!(uses.floor(), *floor);
        }
        assert_eq!(BufferUses::all().bits(), (1 << FLOORS.len()) - 1, "a use is missing");
        assert_eq!(BufferUses::all().floor().get(), 256);
    }

    #[test]
    fn constant_buffers_are_padded_to_the_view_size() {
        let width = |uses: BufferUses, bytes| uses.width(ByteSize::new(bytes)).map(ByteSize::get);
        assert_eq!(width(BufferUses::CONSTANT_BUFFER, 1), Some(256));
        assert_eq!(width(BufferUses::CONSTANT_BUFFER | BufferUses::RAW_VIEW, 257), Some(512));
        assert_eq!(width(BufferUses::RAW_VIEW, 257), Some(257));
        assert_eq!(width(BufferUses::CONSTANT_BUFFER, u64::MAX), None);
    }

    #[test]
    fn the_acceleration_structure_flag_implies_the_use() {
        let flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
            | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;
        assert_eq!(BufferUses::empty().with_flags(flags).floor().get(), 256);
        let plain = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        assert_eq!(BufferUses::empty().with_flags(plain), BufferUses::empty());
    }
}
