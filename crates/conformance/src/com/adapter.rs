//! DXGI's memory figures.

use heapwright_d3d12::*;

use super::{Result, done};

/// `QueryVideoMemoryInfo`.
pub(crate) fn video_memory(
    adapter: &IDXGIAdapter3,
    node: u32,
    group: DXGI_MEMORY_SEGMENT_GROUP,
) -> Result<DXGI_QUERY_VIDEO_MEMORY_INFO> {
    let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
    // SAFETY: info takes the structure.
    done(unsafe { adapter.QueryVideoMemoryInfo(node, group, &mut info) })?;
    Ok(info)
}

/// `SetVideoMemoryReservation`.
pub(crate) fn reserve(adapter: &IDXGIAdapter3, group: DXGI_MEMORY_SEGMENT_GROUP, bytes: u64) -> Result<()> {
    // SAFETY: the adapter is live.
    done(unsafe { adapter.SetVideoMemoryReservation(0, group, bytes) })
}

/// `GetDesc1`.
pub(crate) fn desc(adapter: &IDXGIAdapter3) -> Result<DXGI_ADAPTER_DESC1> {
    let mut desc = DXGI_ADAPTER_DESC1::default();
    // SAFETY: desc takes the structure.
    done(unsafe { adapter.GetDesc1(&mut desc) })?;
    Ok(desc)
}
