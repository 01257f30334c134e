//! `ID3D12QueryHeap`.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::command_queue::check_node_mask;
use super::device::Device;
use super::object::{Child, implement_pageable};
use crate::debug::ObjectKind;
use crate::residency::{PageableKind, PageableRecord};
use crate::rules::Refusal;

/// A query heap of the application. It is there to be created and paged; queries themselves are not implemented.
#[implement(ID3D12QueryHeap)]
pub(super) struct QueryHeap {
    child: Child,
    residency: Arc<PageableRecord>,
}

/// Checks the description of a query heap.
pub(super) fn check_desc(desc: &D3D12_QUERY_HEAP_DESC) -> Result<(), Refusal> {
    let refuse = |message| {
        Err(Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS))
    };
    match desc.Type {
        D3D12_QUERY_HEAP_TYPE_OCCLUSION
        | D3D12_QUERY_HEAP_TYPE_TIMESTAMP
        | D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS
        | D3D12_QUERY_HEAP_TYPE_SO_STATISTICS => {}
        D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP => {
            return Err(Refusal::invalid("the device has no timestamps on copy queues")
                .with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_COPY_QUEUE_TIMESTAMPS_NOT_SUPPORTED));
        }
        D3D12_QUERY_HEAP_TYPE_VIDEO_DECODE_STATISTICS => {
            return Err(Refusal::not_implemented("video")
                .with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_VIDEO_DECODE_STATISTICS_NOT_SUPPORTED));
        }
        D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS1 => {
            return Err(Refusal::not_implemented("statistics of mesh shaders"));
        }
        other => return refuse(format!("Type {other} is no D3D12_QUERY_HEAP_TYPE")),
    }
    if desc.Count == 0 {
        return refuse("Count is 0".to_owned());
    }
    check_node_mask(desc.NodeMask)
}

impl QueryHeap {
    pub(super) fn new(device: ComObject<Device>) -> Self {
        // It takes no video memory of the simulated GPU and is never paged: its count is all.
        let residency =
            Arc::new(device.driver().residency().created(PageableKind::QueryHeap, ByteSize::ZERO, true));
        let child = Child::new(device).counted(ObjectKind::QueryHeap).with_residency(&residency);
        Self { child, residency }
    }

    /// The heap in the ledger of residency, which has its count.
    pub(super) fn residency(&self) -> &PageableRecord {
        &self.residency
    }
}

implement_pageable!(QueryHeap_Impl);

impl ID3D12QueryHeap_Impl for QueryHeap_Impl {}
