//! What queues are given to do.

use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;
use windows_core::HRESULT;

use super::driver_resource::{DriverResource, TexelRegion};
use crate::fence::{Fence, FenceWait};
pub(crate) use crate::format::{Resolver, TexelValue};

/// A command of a command list, checked by the runtime: regions lie within their resources, formats agree.
#[derive(Clone)]
pub(crate) enum Command {
    /// Copies bytes from buffer to buffer.
    CopyBuffer {
        /// Target and its first byte.
        target: (Arc<dyn DriverResource>, u64),
        /// Source and its first byte.
        source: (Arc<dyn DriverResource>, u64),
        /// Bytes.
        size: u64,
    },
    /// Copies texels between textures, or between a texture and a buffer: block by block, of which both sides have the same number
    /// and bytes. What a plane does not keep of a block (the fourth byte of 24-bit depth) becomes zero.
    CopyTexels {
        /// Where to.
        target: TexelLocation,
        /// The first texel there.
        target_start: [u32; 3],
        /// Texels there; as many as of the source where both have the same blocks.
        target_size: [u32; 3],
        /// Where from.
        source: TexelLocation,
        /// Which texels of it.
        region: TexelRegion,
    },
    /// Copies all bytes of a texture to one of the same description.
    CopyTexture {
        /// Where to.
        target: Arc<dyn DriverResource>,
        /// Where from.
        source: Arc<dyn DriverResource>,
    },
    /// Copies whole tiles between a reserved resource and a buffer, in the order of the tiles.
    CopyTiles {
        /// The reserved resource.
        tiled: Arc<dyn DriverResource>,
        /// Its tiles, by index.
        tiles: Arc<[u32]>,
        /// The buffer and its first byte.
        buffer: (Arc<dyn DriverResource>, u64),
        /// From the buffer to the tiles, or the other way.
        to_tiles: bool,
    },
    /// Fills texels with one value.
    FillTexels {
        /// The texture.
        target: Arc<dyn DriverResource>,
        /// The subresource (of one plane).
        subresource: u32,
        /// Which texels of it.
        region: TexelRegion,
        /// One texel, as many bytes as the plane's format has.
        value: TexelValue,
    },
    /// Fills bytes of a buffer with a repeated pattern.
    FillBuffer {
        /// The buffer and its first byte.
        target: (Arc<dyn DriverResource>, u64),
        /// Bytes, a multiple of the pattern's length.
        size: u64,
        /// The pattern.
        value: TexelValue,
    },
    /// Makes one texel of the samples of each.
    ResolveTexels {
        /// The texture with one sample a texel, and its subresource (of one plane).
        target: (Arc<dyn DriverResource>, u32),
        /// The first texel there.
        target_start: [u32; 3],
        /// The texture with several samples a texel, and its subresource (of the same plane).
        source: (Arc<dyn DriverResource>, u32),
        /// Which texels of it.
        region: TexelRegion,
        /// How the plane's samples become a texel.
        resolver: Resolver,
    },
    /// Overwrites bytes whose contents have become undefined, so that nobody relies on them. What is not there is passed over.
    Scramble {
        /// The resource.
        target: Arc<dyn DriverResource>,
        /// Bytes from its beginning, and how many.
        ranges: Arc<[(u64, u64)]>,
        /// Chooses what they are overwritten with.
        seed: u64,
    },
    /// Writes 32 bits.
    WriteImmediate {
        /// Where to, a multiple of 4.
        address: GpuVirtualAddress,
        /// What.
        value: u32,
    },
}

/// Texels in a texture, or laid out in a buffer.
#[derive(Clone)]
pub(crate) enum TexelLocation {
    /// A subresource of a texture.
    Subresource {
        /// The texture.
        resource: Arc<dyn DriverResource>,
        /// Which.
        index: u32,
    },
    /// A placed footprint in a buffer.
    Footprint {
        /// The buffer.
        buffer: Arc<dyn DriverResource>,
        /// The first byte.
        offset: u64,
        /// Bytes from one row of blocks to the next.
        row_pitch: u64,
        /// Bytes from one depth slice to the next.
        slice_pitch: u64,
        /// Bytes of one block.
        block_size: u32,
        /// Texels in a block, in x and y.
        block_texels: [u32; 2],
    },
}

/// A range of tiles of a reserved resource and what is to stand behind it.
#[derive(Clone)]
pub(crate) struct TileMapping {
    /// The first tile of the resource.
    pub(crate) first: u32,
    /// How many.
    pub(crate) count: u32,
    /// What stands behind them.
    pub(crate) memory: TileMemory,
}

/// What stands behind tiles.
#[derive(Clone)]
pub(crate) enum TileMemory {
    /// Tiles of a heap, one after the other.
    Heap {
        /// The heap.
        heap: Arc<dyn super::DriverHeap>,
        /// The first tile of it.
        first: u32,
    },
    /// One tile of a heap for all of them.
    Repeated {
        /// The heap.
        heap: Arc<dyn super::DriverHeap>,
        /// The tile of it.
        tile: u32,
    },
    /// Nothing: reads give zero, writes are dropped.
    Null,
}

/// A question to the runtime, which it answers with commands; each is asked once.
#[derive(Clone)]
pub(crate) struct Question(Arc<dyn Fn() -> Vec<Command> + Send + Sync>);

impl Question {
    /// The question that `ask` answers.
    pub(crate) fn new(ask: impl Fn() -> Vec<Command> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// What to execute now.
    pub(crate) fn ask(&self) -> Vec<Command> {
        (self.0)()
    }
}

/// What a queue does next. Works of one queue happen in the order of submission.
#[derive(Clone)]
pub(crate) enum Work {
    /// The commands of one command list.
    Execute(Arc<[Command]>),
    /// Asks what to execute, once all works before it are done.
    Ask(Question),
    /// Sets a fence.
    Signal(Arc<Fence>, u64),
    /// Goes on once a wait is released, which began when the work was submitted.
    Wait(Arc<FenceWait>),
    /// Changes what stands behind tiles of a reserved resource.
    UpdateTileMappings {
        /// The reserved resource.
        resource: Arc<dyn DriverResource>,
        /// In this order.
        mappings: Vec<TileMapping>,
    },
    /// Lets tiles of one reserved resource stand where tiles of another stand.
    CopyTileMappings {
        /// The resource that changes, and its tiles.
        target: (Arc<dyn DriverResource>, Vec<u32>),
        /// The resource that is copied, and as many of its tiles.
        source: (Arc<dyn DriverResource>, Vec<u32>),
    },
}

/// A queue of a driver. Dropping it ends it: what has not begun is not done.
pub(crate) trait DriverQueue: Send + Sync {
    /// Appends works, side by side, and returns at once.
    fn submit(&self, works: &mut dyn Iterator<Item = Work>);
}

/// Whom a queue tells that the device is lost.
pub(crate) trait RemovalSink: Send + Sync {
    /// The device is lost for `reason`; `message` says what happened and names the object.
    fn remove(&self, reason: HRESULT, message: String);
}
