//! Comparison of the patterns with an interleaver that reads them as drawn, one bit at a time.

use super::*;
use crate::format::tile::{TileShape, TileSize};

/// The 16 bits of an offset as drawn in Intel's documents, highest first.
const DRAWN: [(u32, TileDimension, &str); 10] = [
    (1, TileDimension::Two, "XYXYXYXYYYYYXXXX"),
    (2, TileDimension::Two, "XYXYXYXYXYYYXXXX"),
    (4, TileDimension::Two, "XYXYXYXYXYYYXXXX"),
    (8, TileDimension::Two, "XYXYXYXYXXYYXXXX"),
    (16, TileDimension::Two, "XYXYXYXYXXYYXXXX"),
    (1, TileDimension::Three, "XYZXYZYZZZYYXXXX"),
    (2, TileDimension::Three, "XYZXYZYZZZYYXXXX"),
    (4, TileDimension::Three, "XYZXYZXYZZYYXXXX"),
    (8, TileDimension::Three, "XYZXYZXXZZYYXXXX"),
    (16, TileDimension::Three, "XYZXYZXXZZYYXXXX"),
];

/// Takes one bit of a coordinate for each letter, from the lowest on; x counts bytes.
fn interleaved(drawn: &str, block_bytes: u32, [x, y, z]: [u32; 3]) -> u64 {
    let mut left = [x * block_bytes, y, z];
    let mut offset = 0;
    for (place, letter) in drawn.chars().rev().enumerate() {
        let axis = "XYZ".find(letter).expect("a letter of an axis");
        offset |= u64::from(left[axis] & 1) << place;
        left[axis] >>= 1;
    }
    assert_eq!(left, [0; 3], "the drawing contains every bit");
    offset
}

#[test]
fn block_positions_match_the_documented_drawings() {
    for (block_bytes, dimension, drawn) in DRAWN {
        let pattern = StandardSwizzle::of(block_bytes, dimension).expect("a pattern");
        let shape = TileShape::standard(TileSize::Kib64, block_bytes, 1, dimension);
        let mut seen = vec![false; 65_536];
        for z in 0..shape.depth {
            for y in 0..shape.height {
                for x in 0..shape.width {
                    let offset = pattern.offset([x, y, z]);
                    assert_eq!(offset, interleaved(drawn, block_bytes, [x, y, z]), "{drawn} at {x} {y} {z}");
                    let byte = &mut seen[usize::try_from(offset).expect("in a tile")];
                    assert!(!*byte && offset.is_multiple_of(block_bytes.into()), "{drawn} at {x} {y} {z}");
                    *byte = true;
                }
            }
        }
        let blocks = seen.iter().filter(|&&seen| seen).count();
        let filled = blocks * usize::try_from(block_bytes).expect("the size fits in usize");
        assert_eq!(filled, 65_536, "the blocks of {drawn}");
    }
}

/// The example in the reference of `D3D12_TEXTURE_LAYOUT`, in terms of its `_pdep_u32`.
#[test]
fn published_masks_give_the_same_patterns() {
    let deposit = |value: u32, mask: u32| {
        (0..16)
            .filter(|bit| mask >> bit & 1 == 1)
            .enumerate()
            .fold(0, |sum, (n, bit)| sum | (value >> n & 1) << bit)
    };
    let pattern = StandardSwizzle::of(4, TileDimension::Two).expect("32-bit texels");
    for [x, y] in [[0, 0], [1, 0], [0, 1], [3, 7], [4, 8], [17, 99], [127, 127]] {
        let published = deposit(x * 4, 0b1010_1010_1000_1111) + deposit(y, 0b0101_0101_0111_0000);
        assert_eq!(pattern.offset([x, y, 0]), u64::from(published), "{x} {y}");
    }
}

#[test]
fn sixteen_bytes_of_a_row_are_contiguous() {
    for (block_bytes, dimension, _) in DRAWN {
        let pattern = StandardSwizzle::of(block_bytes, dimension).expect("a pattern");
        assert_eq!(pattern.run() * block_bytes, 16);
        for x in 0..pattern.run() {
            let [start, at] = [0, x].map(|x| pattern.offset([pattern.run() + x, 1, 0]));
            assert_eq!(at - start, u64::from(x * block_bytes));
        }
    }
}

#[test]
fn unsupported_combinations_have_no_pattern() {
    for block_bytes in [0, 3, 12, 32, u32::MAX] {
        assert_eq!(StandardSwizzle::of(block_bytes, TileDimension::Two), None, "{block_bytes}");
    }
    assert_eq!(StandardSwizzle::of(4, TileDimension::One), None);
    // Coordinates outside of a tile do not panic.
    let pattern = StandardSwizzle::of(16, TileDimension::Three).expect("a pattern");
    assert!(pattern.offset([u32::MAX; 3]) < 65_536);
}
