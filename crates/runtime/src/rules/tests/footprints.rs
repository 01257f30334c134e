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

/// The planes of video: as the reference of `DXGI_FORMAT` describes them, one after the other with rows of one pitch.
#[test]
fn planes_of_video_follow_one_another() {
    let found = |format, width, height| {
        let desc = D3D12_RESOURCE_DESC1 { Format: format, ..texture2d(width, height) };
        let count = valid(&desc).texture().expect("a texture").args.subresource_count();
        rows(&all(&desc, 0, count, 0).expect("valid").0)
    };
    let (r8, r8g8) = (DXGI_FORMAT_R8_TYPELESS, DXGI_FORMAT_R8G8_TYPELESS);
    let nv12 = [(r8, 640, 360, 1, 1024, 360, 640, 0), (r8g8, 320, 180, 1, 1024, 180, 640, 360 * 1024)];
    // The last row of a plane has no padding, and the next plane begins where it would end.
    assert_eq!(found(DXGI_FORMAT_NV12, 640, 360), nv12);
    let (r16, r16g16) = (DXGI_FORMAT_R16_TYPELESS, DXGI_FORMAT_R16G16_TYPELESS);
    for format in [DXGI_FORMAT_P010, DXGI_FORMAT_P016] {
        let planes = [(r16, 64, 32, 1, 512, 32, 128, 0), (r16g16, 32, 16, 1, 512, 16, 128, 32 * 512)];
        assert_eq!(found(format, 64, 32), planes);
    }
    let planes = [(r8, 64, 32, 1, 512, 32, 64, 0), (r8g8, 32, 32, 1, 512, 32, 64, 32 * 512)];
    assert_eq!(found(DXGI_FORMAT_P208, 64, 32), planes);
    let planes = [(r8, 64, 32, 1, 512, 32, 64, 0), (r8g8, 16, 32, 1, 512, 32, 32, 32 * 512)];
    assert_eq!(found(DXGI_FORMAT_NV11, 64, 32), planes);
    let half = |offset| (r8, 64, 16, 1, 512, 16, 64, offset);
    let planes = [(r8, 64, 32, 1, 512, 32, 64, 0), half(32 * 512), half(48 * 512)];
    assert_eq!(found(DXGI_FORMAT_V208, 64, 32), planes);
    let whole = |offset| (r8, 64, 32, 1, 512, 32, 64, offset);
    assert_eq!(found(DXGI_FORMAT_V408, 64, 32), [whole(0), whole(32 * 512), whole(64 * 512)]);
    for (format, row) in [
        (DXGI_FORMAT_YUY2, 128),
        (DXGI_FORMAT_Y210, 256),
        (DXGI_FORMAT_Y216, 256),
        (DXGI_FORMAT_AYUV, 256),
        (DXGI_FORMAT_Y410, 256),
        (DXGI_FORMAT_Y416, 512),
        (DXGI_FORMAT_AI44, 64),
        (DXGI_FORMAT_IA44, 64),
        (DXGI_FORMAT_P8, 64),
        (DXGI_FORMAT_A8P8, 128),
    ] {
        let pitch = u32::try_from(row).expect("small").next_multiple_of(256);
        assert_eq!(found(format, 64, 32), [(format, 64, 32, 1, pitch, 32, row, 0)]);
    }
    // Opaque: 6 bytes for 2 by 2 texels.
    let opaque = DXGI_FORMAT_420_OPAQUE;
    assert_eq!(found(opaque, 64, 32), [(opaque, 64, 32, 1, 256, 16, 192, 0)]);
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
