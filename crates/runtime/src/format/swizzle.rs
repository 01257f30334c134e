//! The 64 KiB standard swizzle: where a block lies inside a tile of `D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE`.
//!
//! The 16 bits of an offset in a tile are bits of the block's coordinates, each coordinate's in their order. The lowest
//! bits of the offset are the byte inside the block; 16 bytes of a row always lie side by side.
//!
//! # Where the patterns come from
//!
//! * The reference of `D3D12_TEXTURE_LAYOUT` gives the masks of 32-bit texels in two dimensions, and a picture of the others.
//! * Microsoft's DirectXTex (`DirectXTexSwizzle.cpp`) has the masks of all sizes, in two and three dimensions. It keeps
//!   the bytes inside a block in the low bits of all three masks of a volume; above them the masks are those below.
//! * Intel's gmmlib (`CpuSwizzleBlt.c`, tiles `YS` and `YS_3D`) has the same in both.
//! * AMD's addrlib (`gfx10SwizzlePattern.h`, `SW_64K_S`) has the same in two dimensions; bits 0 to 11 were compared. Its mode
//!   for volumes, `SW_64K_S3`, is another order: Z0 comes before Y0. That is a mode of hardware, not said to be D3D's, so the two that
//!   agree are followed.
//!
//! Intel has patterns with samples as well; D3D12 has no multisampled textures of this layout, nor any of one dimension.

use super::tile::TileDimension;

/// Coordinates inside a tile are below this: 256 blocks of one byte.
const LONGEST_SIDE: usize = 256;

/// Sizes of blocks: 1, 2, 4, 8 and 16 bytes.
const BLOCK_SIZES: usize = 5;

/// The pattern of one size of block, as what each coordinate adds to the offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StandardSwizzle {
    x: [u16; LONGEST_SIDE],
    y: [u16; LONGEST_SIDE],
    z: [u16; LONGEST_SIDE],
    run: u32,
}

/// Which bits of the offset are a coordinate's. Those of `x` count bytes, and so begin with the bytes inside the block.
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
    /// The pattern for blocks of `block_bytes`; `None` for sizes other than 1, 2, 4, 8 and 16, and for one dimension, which have
    /// none. Cost: O(1).
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

    /// Bytes from the beginning of a tile to a block of it, in blocks from the tile's corner. Cost: O(1), three look-ups.
    ///
    /// Coordinates outside of the tile count from the corner of the one that they are in.
    pub(crate) fn offset(&self, [x, y, z]: [u32; 3]) -> u64 {
        let part = |parts: &[u16; LONGEST_SIDE], at: u32| parts[(at & 0xff) as usize];
        u64::from(part(&self.x, x) | part(&self.y, y) | part(&self.z, z))
    }

    /// How many blocks of a row lie side by side from every multiple of that number on; a power of two.
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
    assert!(masks.x | masks.y | masks.z == u16::MAX, "every bit is a coordinate's");
    assert!(masks.x & masks.y == 0 && masks.y & masks.z == 0 && masks.x & masks.z == 0, "and of one alone");
    // The bits of the byte inside a block are the lowest, all of them x's.
    let x = masks.x & (u16::MAX << block_bits);
    StandardSwizzle {
        x: deposited(x),
        y: deposited(masks.y),
        z: deposited(masks.z),
        run: 1 << (masks.x.trailing_ones() - block_bits),
    }
}

/// Each coordinate with its bits moved to those of `mask`; bits that the mask has no room for are dropped.
const fn deposited(mask: u16) -> [u16; LONGEST_SIDE] {
    let mut parts = [0; LONGEST_SIDE];
    let mut at = 1;
    while at < LONGEST_SIDE {
        // What is below the highest bit is done already: one bit more.
        let highest = at.ilog2();
        parts[at] = parts[at ^ (1 << highest)] | nth_bit(mask, highest);
        at += 1;
    }
    parts
}

/// The bit number `n` of those that are set in `mask`, counted from the lowest; 0 where there are fewer.
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
