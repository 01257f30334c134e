//! DXGI's memory figures.

use heapwright_d3d12::*;

use super::done;
use crate::answer::Answer;

pub(crate) fn video_memory(
    adapter: &IDXGIAdapter3,
    node: u32,
    group: DXGI_MEMORY_SEGMENT_GROUP,
) -> Answer<DXGI_QUERY_VIDEO_MEMORY_INFO> {
    let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
    // SAFETY: info is the structure that the call writes.
    done("QueryVideoMemoryInfo", unsafe { adapter.QueryVideoMemoryInfo(node, group, &mut info) })
        .map(|()| info)
}

pub(crate) fn reserve(adapter: &IDXGIAdapter3, group: DXGI_MEMORY_SEGMENT_GROUP, bytes: u64) -> Answer<()> {
    // SAFETY: the adapter is live.
    done("SetVideoMemoryReservation", unsafe { adapter.SetVideoMemoryReservation(0, group, bytes) })
}

pub(crate) fn desc(adapter: &IDXGIAdapter3) -> Answer<DXGI_ADAPTER_DESC1> {
    let mut desc = DXGI_ADAPTER_DESC1::default();
    // SAFETY: desc is the structure that the call writes.
    done("GetDesc1", unsafe { adapter.GetDesc1(&mut desc) }).map(|()| desc)
}
