//! The accesses of commands: which resources, which parts, and how.

use std::ops::Range;
use std::sync::Arc;

use heapwright_d3d12::*;

use super::shape::{Piece, Shape};
use crate::drivers::command::Command;
use crate::drivers::resource::DriverResource;
use crate::drivers::texels::TexelLocation;
use crate::drivers::texels::TexelRegion;
use crate::rules::views::{View, ViewPart};

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    /// A write that initialises the units that it covers: a clear or a copy.
    Initialise,
    /// Any other write.
    Write,
    /// A write that is not executed. The judge decides its effect on the contents.
    Skipped,
}

impl Kind {
    pub(super) fn is_read(self) -> bool {
        self == Self::Read
    }
}

/// An access to a resource.
#[derive(Clone)]
pub(super) struct Access<'a> {
    pub(super) resource: &'a Arc<DriverResource>,
    pub(super) part: ResourcePart<'a>,
    pub(super) kind: Kind,
    /// The synchronization scope that a barrier must wait for.
    pub(super) sync: D3D12_BARRIER_SYNC,
    /// The state to which COMMON is promoted.
    pub(super) state: D3D12_RESOURCE_STATES,
}

/// The accessed part of a resource.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResourcePart<'a> {
    Whole,
    /// Offset and size of a range of a buffer, in bytes.
    Bytes(u64, u64),
    Subresource(u32),
    Texels(u32, TexelRegion),
    Tiles(&'a [u32]),
}

impl ResourcePart<'_> {
    /// Returns the parts of the resource that a view shows of one plane.
    pub(crate) fn of_view(view: &View, plane: u32) -> Vec<Self> {
        match view.part {
            ViewPart::Bytes { offset, size } => vec![Self::Bytes(offset, size)],
            ViewPart::Slices { first, count, .. } if view.is_volume() => {
                // The excess in x and y is clipped.
                let region = TexelRegion { start: [0, 0, first], size: [u32::MAX, u32::MAX, count] };
                view.subresources(plane).map(|index| Self::Texels(index, region)).collect()
            }
            ViewPart::Slices { .. } => view.subresources(plane).map(Self::Subresource).collect(),
        }
    }

    /// Returns the pieces of the part and its subresources.
    pub(super) fn pieces(self, shape: &Shape) -> (Vec<Piece>, Range<u32>) {
        match self {
            Self::Whole => (shape.whole(), 0..shape.subresource_count()),
            Self::Bytes(start, size) => (shape.bytes(start, size), 0..1),
            Self::Subresource(index) => (shape.subresource(index), index..index.saturating_add(1)),
            Self::Texels(index, region) => {
                (shape.texel_region(index, region), index..index.saturating_add(1))
            }
            Self::Tiles(tiles) => (shape.tiles(tiles), 0..shape.subresource_count()),
        }
    }
}

/// The kind of accesses to the target and source of a command, which depends on the recording call.
struct Manner {
    target: Kind,
    sync: D3D12_BARRIER_SYNC,
    target_state: D3D12_RESOURCE_STATES,
    source_state: D3D12_RESOURCE_STATES,
}

/// Returns the accesses of a call by the end of its name. All calls that are not listed are copies.
fn manner(call: &str, unordered_clears_initialise: bool) -> Manner {
    let method = call.rsplit("::").next().unwrap_or(call);
    let manner = |target, sync, target_state| Manner { target, sync, target_state, source_state: 0 };
    match method {
        "ClearRenderTargetView" => {
            manner(Kind::Initialise, D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_RESOURCE_STATE_RENDER_TARGET)
        }
        "ClearDepthStencilView" => {
            manner(Kind::Initialise, D3D12_BARRIER_SYNC_DEPTH_STENCIL, D3D12_RESOURCE_STATE_DEPTH_WRITE)
        }
        "BeginRenderPass" => {
            manner(Kind::Initialise, D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_RESOURCE_STATE_RENDER_TARGET)
        }
        "ClearUnorderedAccessViewUint" | "ClearUnorderedAccessViewFloat" => manner(
            if unordered_clears_initialise { Kind::Initialise } else { Kind::Write },
            D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW,
            D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
        ),
        "ResolveSubresource" | "ResolveSubresourceRegion" | "EndRenderPass" => Manner {
            target: Kind::Write,
            sync: D3D12_BARRIER_SYNC_RESOLVE,
            target_state: D3D12_RESOURCE_STATE_RESOLVE_DEST,
            source_state: D3D12_RESOURCE_STATE_RESOLVE_SOURCE,
        },
        _ => Manner {
            target: Kind::Initialise,
            sync: D3D12_BARRIER_SYNC_COPY,
            target_state: D3D12_RESOURCE_STATE_COPY_DEST,
            source_state: D3D12_RESOURCE_STATE_COPY_SOURCE,
        },
    }
}

/// Returns the accesses of a command that `call` recorded, reads first.
pub(super) fn of_command<'a>(
    command: &'a Command,
    call: &str,
    unordered_clears_initialise: bool,
) -> Vec<Access<'a>> {
    let Manner { target: kind, sync, target_state, source_state } = manner(call, unordered_clears_initialise);
    let read = |resource, part| Access { resource, part, kind: Kind::Read, sync, state: source_state };
    let write = |resource, part| Access { resource, part, kind, sync, state: target_state };
    match command {
        Command::CopyBuffer { target, source, size } => vec![
            read(&source.0, ResourcePart::Bytes(source.1, *size)),
            write(&target.0, ResourcePart::Bytes(target.1, *size)),
        ],
        Command::CopyTexels { target, target_start, target_size, source, region } => {
            let target_region = TexelRegion { start: *target_start, size: *target_size };
            let (source, source_part) = location(source, *region);
            let (target, target_part) = location(target, target_region);
            vec![read(source, source_part), write(target, target_part)]
        }
        Command::CopyTexture { target, source } => {
            vec![read(source, ResourcePart::Whole), write(target, ResourcePart::Whole)]
        }
        Command::CopyTiles { tiled, tiles, buffer, to_tiles } => {
            let bytes = ResourcePart::Bytes(buffer.1, tiles.len() as u64 * super::granularity::KIB_64);
            let tiles = ResourcePart::Tiles(tiles);
            if *to_tiles {
                vec![read(&buffer.0, bytes), write(tiled, tiles)]
            } else {
                vec![read(tiled, tiles), write(&buffer.0, bytes)]
            }
        }
        Command::FillTexels { target, subresource, region, .. } => {
            vec![write(target, ResourcePart::Texels(*subresource, *region))]
        }
        Command::FillBuffer { target, size, .. } => {
            vec![write(&target.0, ResourcePart::Bytes(target.1, *size))]
        }
        Command::ResolveTexels { target, target_start, source, region, .. } => {
            let target_region = TexelRegion { start: *target_start, size: region.size };
            vec![
                read(&source.0, ResourcePart::Texels(source.1, *region)),
                write(&target.0, ResourcePart::Texels(target.1, target_region)),
            ]
        }
        Command::ResolveTimestamps { target, count, .. } => {
            vec![write(&target.0, ResourcePart::Bytes(target.1, count * 8))]
        }
        // WriteImmediate names an address instead of a resource; the judge looks up the address's last user.
        Command::WriteImmediate { .. } | Command::EndTimestamp { .. } | Command::Scramble { .. } => {
            Vec::new()
        }
    }
}

/// Returns the resource of a location and the part of it that a region covers.
fn location(location: &TexelLocation, region: TexelRegion) -> (&Arc<DriverResource>, ResourcePart<'_>) {
    match location {
        TexelLocation::Subresource { resource, index } => (resource, ResourcePart::Texels(*index, region)),
        TexelLocation::Footprint { buffer, offset, row_pitch, slice_pitch, block_size, block_texels } => {
            let [width, height] = [0, 1].map(|axis: usize| {
                let block = block_texels[axis].max(1);
                (
                    u64::from(region.start[axis] / block),
                    u64::from((region.start[axis] + region.size[axis]).div_ceil(block)),
                )
            });
            let (first, last) = (u64::from(region.start[2]), u64::from(region.start[2] + region.size[2]) - 1);
            let block = u64::from(*block_size);
            let start = offset + first * slice_pitch + height.0 * row_pitch + width.0 * block;
            let end = offset + last * slice_pitch + (height.1.max(1) - 1) * row_pitch + width.1 * block;
            (buffer, ResourcePart::Bytes(start, end.saturating_sub(start)))
        }
    }
}
