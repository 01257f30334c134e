//! The 64 KiB standard swizzle: the order of blocks within a tile of `D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE`.
//!
//! The 16 bits of an offset in a tile are interleaved bits of the block's coordinates; the bits of each coordinate keep
//! their order. The lowest bits of the offset select the byte within the block. 16 bytes of a row are always
//! contiguous.
//!
//! # Sources of the patterns
//!
//! * The reference of `D3D12_TEXTURE_LAYOUT` gives the masks of 32-bit texels in two dimensions, and a picture of the
//!   others.
//! * Microsoft's DirectXTex (`DirectXTexSwizzle.cpp`) has the masks of all sizes, in two and three dimensions. For
//!   volumes it includes the bytes inside a block in the low bits of all three masks; above them the masks are those
//!   below.
//! * Intel's gmmlib (`CpuSwizzleBlt.c`, tiles `YS` and `YS_3D`) has the same masks in both dimensions.
//! * AMD's addrlib (`gfx10SwizzlePattern.h`, `SW_64K_S`) has the same in two dimensions; bits 0 to 11 were compared.
//!   Its mode for volumes, `SW_64K_S3`, has a different order: Z0 precedes Y0. It is a hardware mode that is not
//!   documented as D3D's, so the two sources that agree are followed.
//!
//! Intel also defines multisampled patterns. D3D12 has no multisampled and no 1D textures of this layout.

use super::tile::TileDimension;

/// Upper bound of coordinates within a tile: 256 blocks of one byte.
const LONGEST_SIDE: usize = 256;

/// Number of block sizes: 1, 2, 4, 8 and 16 bytes.
const BLOCK_SIZES: usize = 5;

/// The pattern of one block size, as tables of what each coordinate contributes to the offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StandardSwizzle {
    x: [u16; LONGEST_SIDE],
    y: [u16; LONGEST_SIDE],
    z: [u16; LONGEST_SIDE],
    run: u32,
}

/// The offset bits of each coordinate. `x` counts bytes, and so its bits begin with those of the bytes inside a block.
#[derive(Clone, Copy)]
struct Masks {
    x: u16,
    y: u16,
    z: u16,
}

#[rustfmt::skip]
const MASKS_2D: [Masks; BLOCK_SIZES] = [
    Masks { x: 0b1010_1010_0000_1111, y: 0b0101_0101_1111_0000, z: 0 },
    Masks { x: 0b1010_1010_1000_1111, y: 0b0101_0101_0111_0000, z: 0 },
    Masks { x: 0b1010_1010_1000_1111, y: 0b0101_0101_0111_0000, z: 0 },
    Masks { x: 0b1010_1010_1100_1111, y: 0b0101_0101_0011_0000, z: 0 },
    Masks { x: 0b1010_1010_1100_1111, y: 0b0101_0101_0011_0000, z: 0 },
];

#[rustfmt::skip]
const MASKS_3D: [Masks; BLOCK_SIZES] = [
    Masks { x: 0b1001_0000_0000_1111, y: 0b0100_1010_0011_0000, z: 0b0010_0101_1100_0000 },
    Masks { x: 0b1001_0000_0000_1111, y: 0b0100_1010_0011_0000, z: 0b0010_0101_1100_0000 },
    Masks { x: 0b1001_0010_0000_1111, y: 0b0100_1001_0011_0000, z: 0b0010_0100_1100_0000 },
    Masks { x: 0b1001_0011_0000_1111, y: 0b0100_1000_0011_0000, z: 0b0010_0100_1100_0000 },
    Masks { x: 0b1001_0011_0000_1111, y: 0b0100_1000_0011_0000, z: 0b0010_0100_1100_0000 },
];

static PATTERNS_2D: [StandardSwizzle; BLOCK_SIZES] = patterns(&MASKS_2D);
static PATTERNS_3D: [StandardSwizzle; BLOCK_SIZES] = patterns(&MASKS_3D);

impl StandardSwizzle {
    /// Returns the pattern for blocks of `block_bytes`, or `None` if there is none: for sizes other than 1, 2, 4, 8 and
    /// 16, and for 1D. Cost: O(1).
    pub(crate) fn of(block_bytes: u32, dimension: TileDimension) -> Option<&'static Self> {
        let patterns = match dimension {
            TileDimension::One => return None,
            TileDimension::Two => &PATTERNS_2D,
            TileDimension::Three => &PATTERNS_3D,
        };
        if !block_bytes.is_power_of_two() {
            return None;
        }
        patterns.get(usize::try_from(block_bytes.trailing_zeros()).ok()?)
    }

    /// Returns the offset in a tile, in bytes, of the block at the given coordinates, in blocks. Cost: O(1), three
    /// look-ups.
    ///
    /// Coordinates beyond the tile are relative to the tile that contains them.
    pub(crate) fn offset(&self, [x, y, z]: [u32; 3]) -> u64 {
        let part = |parts: &[u16; LONGEST_SIDE], at: u32| parts[(at & 0xff) as usize];
        u64::from(part(&self.x, x) | part(&self.y, y) | part(&self.z, z))
    }

    /// Returns the number of consecutive blocks of a row that are contiguous, starting at each multiple of it; a power
    /// of two.
    pub(crate) fn run(&self) -> u32 {
        self.run
    }
}

const fn patterns(masks: &[Masks; BLOCK_SIZES]) -> [StandardSwizzle; BLOCK_SIZES] {
    [
        pattern(masks[0], 0),
        pattern(masks[1], 1),
        pattern(masks[2], 2),
        pattern(masks[3], 3),
        pattern(masks[4], 4),
    ]
}

const fn pattern(masks: Masks, block_bits: u32) -> StandardSwizzle {
    assert!(masks.x | masks.y | masks.z == u16::MAX, "every bit belongs to a coordinate");
    assert!(
        masks.x & masks.y == 0 && masks.y & masks.z == 0 && masks.x & masks.z == 0,
        "no bit belongs to two coordinates"
    );
    // The lowest bits, all in x's mask, select the byte inside a block.
    let x = masks.x & (u16::MAX << block_bits);
    StandardSwizzle {
        x: deposited(x),
        y: deposited(masks.y),
        z: deposited(masks.z),
        run: 1 << (masks.x.trailing_ones() - block_bits),
    }
}

/// Returns each coordinate with its bits deposited into those of `mask`; excess bits are dropped.
const fn deposited(mask: u16) -> [u16; LONGEST_SIDE] {
    let mut parts = [0; LONGEST_SIDE];
    let mut at = 1;
    while at < LONGEST_SIDE {
        // The entry without the highest bit is already computed.
        let highest = at.ilog2();
        parts[at] = parts[at ^ (1 << highest)] | nth_bit(mask, highest);
        at += 1;
    }
    parts
}

/// Returns the `n`th lowest set bit of `mask`, from 0, or 0 if fewer bits are set.
const fn nth_bit(mut mask: u16, n: u32) -> u16 {
    let mut left = n;
    while left > 0 && mask != 0 {
        mask &= mask - 1;
        left -= 1;
    }
    mask & mask.wrapping_neg()
}

#[cfg(test)]
mod tests;
