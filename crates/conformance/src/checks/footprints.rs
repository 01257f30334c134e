//! `GetCopyableFootprints`: the layout of subresources in a buffer.

use heapwright_d3d12::*;

use crate::answer::{Verdict, each, require, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::device::{self, Footprints, upgrade};
use crate::desc::{DEFAULT, buffer, rgba, texture2d, volume, with_flags, with_mips};

const FOOTPRINTS: &str = "Learn, ID3D12Device::GetCopyableFootprints";
const PITCH: &str = "Learn, Upload and readback of texture data, D3D12_TEXTURE_DATA_PITCH_ALIGNMENT";
const PLACEMENT: &str = "Learn, Upload and readback of texture data, D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT";
const INVALID: &str = "Learn, ID3D12Device::GetCopyableFootprints, UINT64_MAX";

const YES: &[Need] = &[Need::Footprints, Need::Textures];

/// Alignment of rows in a buffer, in bytes.
const ROW: u64 = 256;
/// Alignment of subresources in a buffer, in bytes.
const START: u64 = 512;

pub(super) const CHECKS: &[Check] = &[
    check("footprints/buffer", FOOTPRINTS, &[Need::Footprints], |ctx| {
        each([1, 256, 1000, 70_000], |width| {
            let found = device::footprints(ctx.device(), &buffer(width), 0, 1, 0);
            require_eq(format!("total of {width} bytes"), found.total, width)?;
            require_eq("rows", found.row_counts, vec![1])?;
            require_eq("row size", found.row_sizes, vec![width])
        })
    }),
    check("footprints/row-pitch", PITCH, YES, |ctx| {
        each([1, 63, 64, 65, 1000], |width| {
            let found = device::footprints(ctx.device(), &rgba(width, 10), 0, 1, 0);
            let expected = u32::try_from((width * 4).next_multiple_of(ROW)).unwrap_or(0);
            require_eq(format!("RowPitch of {width} texels"), found.layouts[0].Footprint.RowPitch, expected)?;
            require_eq(format!("row size of {width} texels"), found.row_sizes[0], width * 4)
        })
    }),
    check("footprints/total", FOOTPRINTS, YES, |ctx| {
        each([(1, 1), (100, 60), (64, 64)], |(width, height)| {
            let found = device::footprints(ctx.device(), &rgba(width, height), 0, 1, 0);
            let pitch = (width * 4).next_multiple_of(ROW);
            require_eq(
                format!("total of {width} by {height}"),
                found.total,
                pitch * (u64::from(height) - 1) + width * 4,
            )
        })
    }),
    check("footprints/footprint-of-a-texture", "Learn, D3D12_SUBRESOURCE_FOOTPRINT", YES, |ctx| {
        let found = device::footprints(ctx.device(), &rgba(100, 60), 0, 1, 0).layouts[0];
        let expected = D3D12_SUBRESOURCE_FOOTPRINT {
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            Width: 100,
            Height: 60,
            Depth: 1,
            RowPitch: 512,
        };
        require_eq("the footprint", found.Footprint, expected)
    }),
    check("footprints/mips", PLACEMENT, YES, |ctx| {
        let desc = with_mips(rgba(128, 64), 8);
        let found = device::footprints(ctx.device(), &desc, 0, 8, 0);
        for (level, layout) in found.layouts.iter().enumerate() {
            let expected = ((128_u32 >> level).max(1), (64_u32 >> level).max(1));
            require_eq(
                format!("level {level}"),
                (layout.Footprint.Width, layout.Footprint.Height),
                expected,
            )?;
        }
        ordered(&found)
    }),
    check("footprints/array", PLACEMENT, YES, |ctx| {
        let desc = D3D12_RESOURCE_DESC { DepthOrArraySize: 4, MipLevels: 3, ..rgba(33, 21) };
        ordered(&device::footprints(ctx.device(), &desc, 0, 12, 0))
    }),
    check("footprints/3d", FOOTPRINTS, YES, |ctx| {
        let found = device::footprints(ctx.device(), &volume(16, 8, 4), 0, 1, 0);
        require_eq("Depth", found.layouts[0].Footprint.Depth, 4)?;
        require_eq("rows of a slice", found.row_counts[0], 8)?;
        require_eq("total", found.total, 256 * (8 * 4 - 1) + 64)?;
        Ok(format!("{} bytes", found.total))
    }),
    check("footprints/blocks", FOOTPRINTS, YES, |ctx| {
        each([(DXGI_FORMAT_BC1_UNORM, 8), (DXGI_FORMAT_BC7_UNORM, 16)], |(format, bytes)| {
            let found = device::footprints(ctx.device(), &texture2d(format, 64, 32), 0, 1, 0);
            require_eq(format!("rows of format {format}"), found.row_counts[0], 8)?;
            require_eq(format!("row size of format {format}"), found.row_sizes[0], 16 * bytes)
        })
    }),
    check("footprints/small-mips-of-blocks", FOOTPRINTS, YES, |ctx| {
        let desc = with_mips(texture2d(DXGI_FORMAT_BC1_UNORM, 64, 64), 7);
        let found = device::footprints(ctx.device(), &desc, 0, 7, 0);
        let last = found.layouts[6].Footprint;
        require_eq("the last level, whole blocks", (last.Width, last.Height), (4, 4))?;
        require_eq("its rows", found.row_counts[6], 1)?;
        require_eq("its row size", found.row_sizes[6], 8)
    }),
    check("footprints/planes", "Learn, Subresources, plane slice", YES, |ctx| {
        let flags = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        let desc = with_flags(texture2d(DXGI_FORMAT_D24_UNORM_S8_UINT, 64, 64), flags);
        let found = device::footprints(ctx.device(), &desc, 0, 2, 0);
        require_eq("row size of depth", found.row_sizes[0], 64 * 4)?;
        require_eq("row size of stencil", found.row_sizes[1], 64)?;
        ordered(&found)
    }),
    check("footprints/base-offset", FOOTPRINTS, YES, |ctx| {
        let desc = with_mips(rgba(64, 64), 3);
        let (plain, moved) = (
            device::footprints(ctx.device(), &desc, 0, 3, 0),
            device::footprints(ctx.device(), &desc, 0, 3, 4096),
        );
        for (one, other) in plain.layouts.iter().zip(&moved.layouts) {
            require_eq("Offset with BaseOffset 4096", other.Offset, one.Offset + 4096)?;
        }
        require_eq("total", moved.total, plain.total)
    }),
    check("footprints/first-subresource", FOOTPRINTS, YES, |ctx| {
        let desc = with_mips(rgba(64, 64), 4);
        let (all, last) = (
            device::footprints(ctx.device(), &desc, 0, 4, 0),
            device::footprints(ctx.device(), &desc, 2, 2, 0),
        );
        require_eq("the third level's footprint", last.layouts[0].Footprint, all.layouts[2].Footprint)?;
        require_eq("its offset", last.layouts[0].Offset, 0)
    }),
    check("footprints/total-alone", FOOTPRINTS, YES, |ctx| {
        let desc = rgba(100, 60);
        let whole = device::footprints(ctx.device(), &desc, 0, 1, 0).total;
        require_eq("without the arrays", device::footprint_total(ctx.device(), &desc, 1), whole)?;
        Ok(format!("{whole} bytes"))
    }),
    check("footprints/newer-call-agrees", "Learn, ID3D12Device8::GetCopyableFootprints1", YES, |ctx| {
        let newer: ID3D12Device8 = ctx.interface("ID3D12Device8")?;
        let desc = rgba(100, 60);
        let older = device::footprint_total(ctx.device(), &desc, 1);
        require_eq("GetCopyableFootprints1", device::footprint_total1(&newer, &upgrade(&desc), 1), older)?;
        Ok(format!("{older} bytes"))
    }),
    validation("footprints/invalid-description", INVALID, YES, |ctx| {
        let found = device::footprint_total(ctx.device(), &rgba(0, 60), 1);
        require_eq("total of Width 0", found, u64::MAX)
    }),
    check("footprints/description-of-a-live-resource", FOOTPRINTS, YES, |ctx| {
        let resource = ctx.commit(DEFAULT, &rgba(100, 60)).ok("100 by 60")?;
        let found = device::footprint_total(ctx.device(), &crate::com::memory::desc(&resource), 1);
        require_eq("of GetDesc", found, device::footprint_total(ctx.device(), &rgba(100, 60), 1))?;
        Ok(format!("{found} bytes"))
    }),
];

/// Fails the check unless the subresources are aligned, in order, do not overlap and fit the total.
fn ordered(found: &Footprints) -> Verdict {
    let mut end = 0;
    for (index, layout) in found.layouts.iter().enumerate() {
        require(layout.Offset.is_multiple_of(START) && layout.Offset >= end, || {
            format!(
                "subresource {index} is at {}, not aligned to 512 or before {end}, the end of the previous one",
                layout.Offset
            )
        })?;
        let pitch = u64::from(layout.Footprint.RowPitch);
        let rows = u64::from(found.row_counts[index]) * u64::from(layout.Footprint.Depth);
        require(pitch.is_multiple_of(ROW) && pitch >= found.row_sizes[index], || {
            format!(
                "RowPitch {pitch} is not a multiple of 256 or below the row size of {} bytes",
                found.row_sizes[index]
            )
        })?;
        end = layout.Offset + pitch * (rows - 1) + found.row_sizes[index];
    }
    require_eq("the total", found.total, end)?;
    Ok(format!("{} subresources in {} bytes", found.layouts.len(), found.total))
}
