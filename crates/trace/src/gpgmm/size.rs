//! Sizes of resources from their descriptions.

use super::event::ResourceDescriptor;
use crate::session::ResourceKind;

// Values of D3D12_RESOURCE_DIMENSION.
const BUFFER: u32 = 1;
const TEXTURE_1D: u32 = 2;
const TEXTURE_3D: u32 = 4;

impl ResourceDescriptor {
    pub(super) fn kind(&self) -> ResourceKind {
        if self.dimension == BUFFER { ResourceKind::Buffer } else { ResourceKind::Texture }
    }

    /// Returns the size in bytes: the width of a buffer, or the bytes of a texture's texels.
    pub(super) fn size(&self) -> Result<u64, &'static str> {
        match self.dimension {
            BUFFER if self.width == 0 => Err("Width is 0, but must be at least 1"),
            BUFFER => Ok(self.width),
            TEXTURE_1D..=TEXTURE_3D => self.texture_size(),
            _ => Err("Dimension must be 1 to 4"),
        }
    }

    fn texture_size(&self) -> Result<u64, &'static str> {
        let (bits, block) = texel_bits(self.format).ok_or("Format has no known size")?;
        let array_or_depth = u64::from(self.depth_or_array_size.max(1));
        let samples = self.sample_desc.as_ref().map_or(1, |samples| samples.count.max(1));
        let (mut width, mut height) = (self.width.max(1), u64::from(self.height.max(1)));
        let (mut depth, slices) =
            if self.dimension == TEXTURE_3D { (array_or_depth, 1) } else { (1, array_or_depth) };
        // 0 stands for all levels.
        let levels = if self.mip_levels == 0 { u16::MAX } else { self.mip_levels };
        let mut bits_of_slice: u128 = 0;
        for _ in 0..levels {
            let in_blocks = |length: u64| length.checked_next_multiple_of(block).unwrap_or(u64::MAX);
            let texels = u128::from(in_blocks(width)) * u128::from(in_blocks(height)) * u128::from(depth);
            // The product of 64, 32 and 16 bits fits, and so does the sum of the levels in the end.
            bits_of_slice = bits_of_slice.saturating_add(texels.saturating_mul(bits.into()));
            if (width, height, depth) == (1, 1, 1) {
                break;
            }
            [width, height, depth] = [width, height, depth].map(|length| (length / 2).max(1));
        }
        let bits = bits_of_slice.saturating_mul(slices.into()).saturating_mul(samples.into());
        u64::try_from(bits.div_ceil(8)).map_err(|_| "the size of the texture exceeds 64 bits")
    }
}

/// Returns the bits of a texel of a `DXGI_FORMAT`, and the width and height of its blocks.
fn texel_bits(format: u32) -> Option<(u32, u64)> {
    Some(match format {
        1..=4 => (128, 1),
        5..=8 => (96, 1),
        // 102: Y416.
        9..=22 | 102 => (64, 1),
        // 100, 101, 108, 109: AYUV, Y410, Y210 and Y216.
        23..=47 | 67 | 87..=93 | 100 | 101 | 108 | 109 => (32, 1),
        // 104, 105, 132: P010, P016 and V408.
        104 | 105 | 132 => (24, 1),
        // 68, 69, 107: two texels in 32 bits. 114, 115: A8P8 and B4G4R4A4. 130, 131: P208 and V208. 191: A4B4G4R4.
        48..=59 | 68 | 69 | 85 | 86 | 107 | 114 | 115 | 130 | 131 | 191 => (16, 1),
        // 103, 106, 110: NV12, 420_OPAQUE and NV11.
        103 | 106 | 110 => (12, 1),
        // 111 to 113: AI44, IA44 and P8. 189, 190: sampler feedback.
        60..=65 | 111..=113 | 189 | 190 => (8, 1),
        66 => (1, 1),
        // BC1 and BC4.
        70..=72 | 79..=81 => (4, 4),
        // BC2, BC3, BC5, BC6H and BC7.
        73..=78 | 82..=84 | 94..=99 => (8, 4),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::event::SampleDesc;
    use super::*;

    fn texture(
        dimension: u32,
        [width, height]: [u32; 2],
        depth: u16,
        mip_levels: u16,
        format: u32,
    ) -> ResourceDescriptor {
        ResourceDescriptor {
            dimension,
            width: width.into(),
            height,
            depth_or_array_size: depth,
            mip_levels,
            format,
            sample_desc: None,
            flags: 0,
        }
    }

    #[test]
    fn textures_have_the_bytes_of_their_texels() {
        // B8G8R8A8_UNORM.
        assert_eq!(texture(3, [1920, 1080], 1, 1, 87).size(), Ok(1920 * 1080 * 4));
        assert_eq!(texture(3, [4, 4], 2, 0, 28).size(), Ok(2 * (16 + 4 + 1) * 4));
        assert_eq!(texture(4, [4, 4], 4, 0, 28).size(), Ok((64 + 8 + 1) * 4));
        assert_eq!(texture(2, [5, 1], 1, 1, 61).size(), Ok(5));
        // BC1_UNORM and BC7_UNORM: blocks of 4 by 4 texels in 8 and 16 bytes.
        assert_eq!(texture(3, [5, 3], 1, 1, 71).size(), Ok(16));
        assert_eq!(texture(3, [4, 4], 1, 0, 98).size(), Ok(48));
        let mut multisampled = texture(3, [8, 8], 1, 1, 28);
        multisampled.sample_desc = Some(SampleDesc { count: 4 });
        assert_eq!(multisampled.size(), Ok(8 * 8 * 4 * 4));
    }

    #[test]
    fn unknown_sizes_are_refused() {
        for descriptor in [
            texture(0, [1, 1], 1, 1, 87),
            texture(5, [1, 1], 1, 1, 87),
            texture(3, [1, 1], 1, 1, 0),
            texture(1, [0, 1], 1, 1, 0),
            ResourceDescriptor { width: u64::MAX, ..texture(4, [1, u32::MAX], u16::MAX, 0, 1) },
        ] {
            assert!(descriptor.size().is_err(), "{descriptor:?}");
        }
    }
}
