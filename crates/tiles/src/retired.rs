//! Tiles and resources that wait for fence values.

use heapwright::FenceValue;
use heapwright::d3d12::{ID3D12Fence, ID3D12Resource};

use crate::free_tiles::Tile;

/// A fence, and the value that it has to reach.
pub(crate) type FencePoint = (ID3D12Fence, FenceValue);

/// Tiles and a resource that become free when fences have reached values.
#[derive(Debug)]
pub(crate) struct Garbage {
    pub(crate) tiles: Vec<Tile>,
    /// The resource whose tiles they were, if it is released with them.
    pub(crate) resource: Option<ID3D12Resource>,
    pub(crate) until: [Option<FencePoint>; 2],
}

impl Garbage {
    /// Returns whether the fences have reached their values.
    pub(crate) fn is_free(&self) -> bool {
        // SAFETY: the fence is a live COM object. A removed device's fences are all at the highest value.
        let completed = |fence: &ID3D12Fence| FenceValue::new(unsafe { fence.GetCompletedValue() });
        self.until.iter().flatten().all(|(fence, value)| completed(fence) >= *value)
    }
}
