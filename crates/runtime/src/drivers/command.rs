//! Commands and other work for a driver's queues.

use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::resource::DriverResource;
use super::texels::TexelLocation;
use super::texels::TexelRegion;
use super::tiles::TileMapping;
use crate::fence::{Fence, FenceWait};
pub(crate) use crate::format::{Resolver, TexelValue};
use crate::timestamps::Timestamps;

/// A command of a command list. The runtime has checked it: regions lie within their resources, and formats match.
#[derive(Clone)]
pub(crate) enum Command {
    /// Copies bytes between buffers.
    CopyBuffer {
        /// The target buffer and the offset of the first byte written.
        target: (Arc<DriverResource>, u64),
        /// The source buffer and the offset of the first byte read.
        source: (Arc<DriverResource>, u64),
        /// Number of bytes.
        size: u64,
    },
    /// Copies texels between textures, or between a texture and a buffer.
    ///
    /// The copy proceeds block by block; both sides have the same number of blocks of the same size. Bytes of a block
    /// that a plane does not store (the fourth byte of 24-bit depth) become zero.
    CopyTexels {
        /// The target of the copy.
        target: TexelLocation,
        /// The first texel written.
        target_start: [u32; 3],
        /// The number of texels written in x, y and z; equal to the source's if both have the same blocks.
        target_size: [u32; 3],
        /// The source of the copy.
        source: TexelLocation,
        /// The region of the source.
        region: TexelRegion,
    },
    /// Copies all bytes of a texture to a texture with the same description.
    CopyTexture {
        /// The target texture.
        target: Arc<DriverResource>,
        /// The source texture.
        source: Arc<DriverResource>,
    },
    /// Copies whole tiles between a reserved resource and a buffer, in the order of the tiles.
    CopyTiles {
        /// The reserved resource.
        tiled: Arc<DriverResource>,
        /// Indices of its tiles.
        tiles: Arc<[u32]>,
        /// The buffer and the offset of the first byte.
        buffer: (Arc<DriverResource>, u64),
        /// Whether the copy is from the buffer to the tiles.
        to_tiles: bool,
    },
    /// Fills texels with one value.
    FillTexels {
        /// The texture.
        target: Arc<DriverResource>,
        /// The subresource, which has one plane.
        subresource: u32,
        /// The region to fill.
        region: TexelRegion,
        /// The value of one texel, in the size of the plane's format.
        value: TexelValue,
    },
    /// Fills a range of a buffer with a repeated pattern.
    FillBuffer {
        /// The buffer and the offset of the first byte.
        target: (Arc<DriverResource>, u64),
        /// Number of bytes, a multiple of the pattern's length.
        size: u64,
        /// The pattern.
        value: TexelValue,
    },
    /// Resolves the samples of each texel to one texel.
    ResolveTexels {
        /// The single-sampled texture and its subresource (of one plane).
        target: (Arc<DriverResource>, u32),
        /// The first texel written.
        target_start: [u32; 3],
        /// The multisampled texture and its subresource (of the same plane).
        source: (Arc<DriverResource>, u32),
        /// The region of the source.
        region: TexelRegion,
        /// The rule that combines a plane's samples.
        resolver: Resolver,
    },
    /// Overwrites bytes whose contents have become undefined, so that programs cannot rely on them. Bytes without
    /// memory (unmapped tiles) are skipped.
    Scramble {
        /// The resource.
        target: Arc<DriverResource>,
        /// Offsets from the beginning of the resource and lengths, in bytes.
        ranges: Arc<[(u64, u64)]>,
        /// Seed of the pattern that is written.
        seed: u64,
    },
    /// Ends a timestamp query when all commands before are done.
    EndTimestamp {
        /// The timestamps of the query heap.
        timestamps: Arc<Timestamps>,
        /// The index of the query.
        index: u32,
    },
    /// Writes timestamps to a buffer, 8 bytes each.
    ResolveTimestamps {
        /// The buffer and the offset of the first byte.
        target: (Arc<DriverResource>, u64),
        /// The timestamps of the query heap.
        timestamps: Arc<Timestamps>,
        /// The index of the first query.
        first: u32,
        /// Number of queries.
        count: u64,
    },
    /// Writes a 32-bit value.
    WriteImmediate {
        /// The target address, a multiple of 4.
        address: GpuVirtualAddress,
        /// The value.
        value: u32,
    },
}

/// A callback into the runtime that returns the commands to execute. A queue calls it once.
#[derive(Clone)]
pub(crate) struct Question(Arc<dyn Fn() -> Vec<Command> + Send + Sync>);

impl Question {
    /// Wraps a callback.
    pub(crate) fn new(ask: impl Fn() -> Vec<Command> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Returns the commands to execute now.
    pub(crate) fn ask(&self) -> Vec<Command> {
        (self.0)()
    }
}

/// A unit of work of a queue. The work of one queue is done in the order of submission.
#[derive(Clone)]
pub(crate) enum Work {
    /// The commands of one command list.
    Execute(Arc<[Command]>),
    /// Obtains commands from the runtime and executes them, after all work before it is done.
    Ask(Question),
    /// Sets a fence to a value.
    Signal(Arc<Fence>, u64),
    /// Waits until a wait is released that began at submission.
    Wait(Arc<FenceWait>),
    /// Changes the memory mapped to tiles of a reserved resource.
    UpdateTileMappings {
        /// The reserved resource.
        resource: Arc<DriverResource>,
        /// The mappings, applied in this order.
        mappings: Vec<TileMapping>,
    },
    /// Copies tile mappings from one reserved resource to another.
    CopyTileMappings {
        /// The resource whose mappings change, and its tiles.
        target: (Arc<DriverResource>, Vec<u32>),
        /// The resource whose mappings are copied, and as many of its tiles.
        source: (Arc<DriverResource>, Vec<u32>),
    },
}
