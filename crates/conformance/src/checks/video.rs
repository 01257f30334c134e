//! Formats of video: what devices answer about them, and their planes in memory.

use heapwright_d3d12::*;

use super::copies::{committed_for_copies, to_source};
use crate::answer::{each, ensure, require_eq, skipped};
use crate::check::{Check, Need, check};
use crate::com::commands::CopyLocation;
use crate::com::device;
use crate::desc::*;
use crate::queue::{pattern, read};
use crate::transfer::Staged;

const REQUIRED: &str = "Learn, Hardware support for Direct3D 12.0 formats, video";
const FORMATS: &str = "Learn, DXGI_FORMAT, video";
const PLANES: &str = "Learn, Subresources, plane slice";

const YES: &[Need] = &[Need::Textures, Need::Footprints, Need::VideoFormats];

const OPTIONAL: [DXGI_FORMAT; 12] = [
    DXGI_FORMAT_AYUV,
    DXGI_FORMAT_Y410,
    DXGI_FORMAT_Y416,
    DXGI_FORMAT_P010,
    DXGI_FORMAT_P016,
    DXGI_FORMAT_Y210,
    DXGI_FORMAT_Y216,
    DXGI_FORMAT_NV11,
    DXGI_FORMAT_AI44,
    DXGI_FORMAT_IA44,
    DXGI_FORMAT_P8,
    DXGI_FORMAT_A8P8,
];

fn nv12(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    texture2d(DXGI_FORMAT_NV12, width, height)
}

pub(super) const CHECKS: &[Check] = &[
    check("video/required-of-feature-level-12", REQUIRED, &[], |ctx| {
        let levels = [D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_0];
        if device::feature_level(ctx.device(), &levels).ok("two levels")? < D3D_FEATURE_LEVEL_12_0 {
            return skipped("the feature level is below 12_0");
        }
        each([DXGI_FORMAT_NV12, DXGI_FORMAT_420_OPAQUE, DXGI_FORMAT_YUY2], |format| {
            let data = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: format, ..Default::default() };
            device::feature_of(ctx.device(), data).ok(format!("format {format}"))
        })
    }),
    check("video/optional-formats-are-what-they-say", REQUIRED, &[Need::Textures], |ctx| {
        let mut supported = 0;
        for format in OPTIONAL {
            let data = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: format, ..Default::default() };
            let says = device::feature_of(ctx.device(), data).implemented()?;
            let says = says.is_ok_and(|data| data.Support1 & D3D12_FORMAT_SUPPORT1_TEXTURE2D != 0);
            let is_made = ctx.commit(DEFAULT, &texture2d(format, 64, 64)).implemented()?.is_ok();
            require_eq(
                format!("format {format}: TEXTURE2D, and whether a texture is created"),
                is_made,
                says,
            )?;
            supported += u32::from(says);
        }
        Ok(format!("{supported} of {} are supported", OPTIONAL.len()))
    }),
    check("video/plane-counts", PLANES, &[Need::VideoFormats], |ctx| {
        each([(DXGI_FORMAT_NV12, 2), (DXGI_FORMAT_YUY2, 1)], |(format, planes)| {
            let data = D3D12_FEATURE_DATA_FORMAT_INFO { Format: format, ..Default::default() };
            let found = device::feature_of(ctx.device(), data).ok(format!("format {format}"))?.PlaneCount;
            require_eq(format!("planes of format {format}"), found, planes)
        })
    }),
    check("video/size-of-planes", FORMATS, YES, |ctx| {
        each([(64, 64), (640, 480), (1920, 1080)], |(width, height)| {
            let found = ctx.valid_allocation("NV12", &nv12(width, height))?.size;
            let least = width * u64::from(height) * 3 / 2;
            ensure!(found >= least, "{width} by {height}: expected {least} bytes or more, found {found}");
            Ok(())
        })
    }),
    check("video/footprints-of-planes", PLANES, YES, |ctx| {
        each([(64, 64), (130, 70)], |(width, height)| {
            let found = device::footprints(ctx.device(), &nv12(width, height), 0, 2, 0);
            require_eq("rows of luma and chroma", found.row_counts, vec![height, height / 2])?;
            require_eq("bytes of a row of each", found.row_sizes, vec![width, width])?;
            let [luma, chroma] = [0, 1].map(|plane| found.layouts[plane]);
            let pitch = |one: &D3D12_PLACED_SUBRESOURCE_FOOTPRINT| u64::from(one.Footprint.RowPitch);
            for one in [&luma, &chroma] {
                let holds = pitch(one) >= width && pitch(one).is_multiple_of(256);
                ensure!(holds, "RowPitch {} of {width} texels", pitch(one));
                ensure!(one.Offset.is_multiple_of(512), "Offset {} is no multiple of 512", one.Offset);
            }
            let end = luma.Offset + pitch(&luma) * u64::from(height - 1) + width;
            ensure!(chroma.Offset >= end, "chroma at {} overlaps luma, which ends at {end}", chroma.Offset);
            Ok(())
        })
    }),
    check("video/odd-sizes-refused", FORMATS, YES, |ctx| ctx.refuses(&[nv12(63, 64), nv12(64, 63)])),
    check("video/planes-are-copied-alone", PLANES, YES, |ctx| {
        let desc = nv12(130, 70);
        let (queue, staged) = (ctx.queue(DIRECT)?, Staged::of(ctx.device(), &desc)?);
        let (first, second) = (pattern(staged.len, 1), pattern(staged.len, 2));
        let (one, other) = (queue.upload(&first)?, queue.upload(&second)?);
        let target = queue.readback(staged.len)?;
        let texture = committed_for_copies(ctx, &desc)?;
        queue.run(|list| {
            staged.write(list, &texture, &one);
            let luma = CopyLocation::Footprint(&other, staged.layouts[0]);
            list.copy_texture(CopyLocation::Subresource(&texture, 0), luma);
            to_source(list, &texture);
            staged.read(list, &texture, &target);
        })?;
        let mut expected = first;
        let rows = usize::try_from(staged.layouts[0].Footprint.Height).unwrap_or(0);
        for &(start, len) in &staged.rows[..rows] {
            expected[start..start + len].copy_from_slice(&second[start..start + len]);
        }
        staged.same(&read(&target, staged.len)?, &expected)
    }),
];
