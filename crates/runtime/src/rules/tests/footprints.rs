//! `GetCopyableFootprints`.

use proptest::prelude::*;

use super::texture::any_texture;
use super::*;
use crate::rules::footprints::{CopyableFootprint, copyable_footprints};

fn all(
    desc: &D3D12_RESOURCE_DESC1,
    first: u32,
    count: u32,
    base: u64,
) -> Option<(Vec<CopyableFootprint>, u64)> {
    let mut found = Vec::new();
    let total =
        copyable_footprints(&valid(desc), first, count, base, |footprint| found.push(footprint)).ok()?;
    Some((found, total))
}

/// Format, width, height, depth, row pitch, rows, row size, offset.
type Row = (DXGI_FORMAT, u32, u32, u32, u32, u32, u64, u64);

fn rows(footprints: &[CopyableFootprint]) -> Vec<Row> {
    let row = |footprint: &CopyableFootprint| {
        let shape = footprint.placed.Footprint;
        let (pitch, offset) = (shape.RowPitch, footprint.placed.Offset);
        let size = (footprint.row_count, footprint.row_size);
        (shape.Format, shape.Width, shape.Height, shape.Depth, pitch, size.0, size.1, offset)
    };
    footprints.iter().map(row).collect()
}

#[test]
fn offsets_wrap_around_as_on_native_d3d12() {
    let mipped = D3D12_RESOURCE_DESC1 { MipLevels: 3, ..texture2d(100, 3) };
    let (wrapped, total) = all(&mipped, 0, 2, u64::MAX).expect("valid");
    assert_eq!((wrapped[1].placed.Offset, total), (1535, 1536 + 200));
}

/// Both planes have rows of the alignment of two planes.
#[test]
fn planes_have_rows_of_512_and_samples_count_once() {
    let depth = D3D12_RESOURCE_DESC1 {
        Format: DXGI_FORMAT_D24_UNORM_S8_UINT,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture2d(130, 119)
    };
    let (found, _) = all(&depth, 0, 2, 0).expect("valid");
    assert_eq!(rows(&found)[0], (DXGI_FORMAT_R32_TYPELESS, 130, 119, 1, 1024, 119, 520, 0));
    let stencil_at = (118 * 1024_u64 + 520).next_multiple_of(512);
    assert_eq!(rows(&found)[1], (DXGI_FORMAT_R8_TYPELESS, 130, 119, 1, 512, 119, 130, stencil_at));
    let (found, total) = all(&multisampled(4), 0, 1, 0).expect("multisampled textures count as one sample");
    assert_eq!((found[0].row_size, total), (256, 64 * 256));
}

#[test]
fn a_buffer_is_one_row() {
    let (found, total) = all(&buffer(1000), 0, 1, 30).expect("valid");
    assert_eq!(rows(&found), [(DXGI_FORMAT_UNKNOWN, 1000, 1, 1, 1024, 1, 1000, 30)]);
    assert_eq!(total, 1000);
    assert_eq!(all(&buffer(1 << 33), 0, 1, 0), None, "Width has 32 bits");
    assert_eq!(all(&buffer(u64::from(u32::MAX)), 0, 1, 0), None, "and so has RowPitch");
}

#[test]
fn subresources_that_do_not_exist_have_no_footprints() {
    assert_eq!(all(&buffer(16), 0, 2, 0), None);
    assert_eq!(all(&texture2d(4, 4), 1, 1, 0), None);
    assert_eq!(all(&texture2d(4, 4), u32::MAX, 1, 0), None);
    assert_eq!(all(&texture2d(4, 4), 1, u32::MAX, 0), None);
    assert_eq!(all(&texture2d(4, 4), 0, 0, 0), Some((Vec::new(), 0)));
}

proptest! {
    /// Subresources do not overlap and stay within the total.
    #[test]
    fn footprints_do_not_overlap(desc in any_texture()) {
        let args = valid(&desc).texture().expect("a texture").args;
        let (found, total) = all(&desc, 0, args.subresource_count(), 0).expect("valid");
        let mut end = 0;
        for footprint in &found {
            let shape = footprint.placed.Footprint;
            prop_assert!(footprint.placed.Offset >= end && footprint.placed.Offset.is_multiple_of(512));
            prop_assert!(shape.RowPitch.is_multiple_of(256) && u64::from(shape.RowPitch) >= footprint.row_size);
            let rows = u64::from(footprint.row_count) * u64::from(shape.Depth);
            end = footprint.placed.Offset + (rows - 1) * u64::from(shape.RowPitch) + footprint.row_size;
        }
        prop_assert_eq!(end, total);
    }
}
