//! `ID3D12QueryHeap`.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::command_queue::check_node_mask;
use super::device::Device;
use super::object::{Child, implement_pageable};
use crate::ddi::HeapArgs;
use crate::debug::ObjectKind;
use crate::drivers::heap::DriverHeap;
use crate::residency::PageableKind;
use crate::rules::{Refusal, allocation_info, heap, under};
use crate::timestamps::Timestamps;

/// The COM object of a query heap. Only timestamps are measured; the results of all other queries are 0, because
/// nothing is drawn.
#[implement(ID3D12QueryHeap, ID3DDestructionNotifier)]
pub(super) struct QueryHeap {
    child: Child,
    heap_type: D3D12_QUERY_HEAP_TYPE,
    count: u32,
    /// Whether the CPU resolves the queries, and no command does.
    is_of_cpu: bool,
    timestamps: Arc<Timestamps>,
}

/// Returns the size of a query result in bytes (references of `D3D12_QUERY_DATA_PIPELINE_STATISTICS` and
/// `D3D12_QUERY_DATA_SO_STATISTICS`).
pub(super) fn result_size(query_type: D3D12_QUERY_TYPE) -> u64 {
    match query_type {
        D3D12_QUERY_TYPE_PIPELINE_STATISTICS => 88,
        D3D12_QUERY_TYPE_OCCLUSION | D3D12_QUERY_TYPE_BINARY_OCCLUSION | D3D12_QUERY_TYPE_TIMESTAMP => 8,
        _ => 16,
    }
}

/// Creates the memory of a heap whose queries the CPU resolves: as that of a READBACK heap, with room for all results.
fn cpu_memory(device: &Device, desc: &D3D12_QUERY_HEAP_DESC) -> Result<Arc<DriverHeap>, Refusal> {
    let query_type = match desc.Type {
        D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS => D3D12_QUERY_TYPE_PIPELINE_STATISTICS,
        D3D12_QUERY_HEAP_TYPE_SO_STATISTICS => D3D12_QUERY_TYPE_SO_STATISTICS_STREAM0,
        _ => D3D12_QUERY_TYPE_TIMESTAMP,
    };
    // At most 2^32 results of 88 bytes.
    let size = ByteSize::new(u64::from(desc.Count) * result_size(query_type));
    let driver = device.driver();
    let memory = heap::custom_properties(D3D12_HEAP_TYPE_READBACK, driver.caps().architecture)
        .ok_or_else(|| Refusal::invalid("READBACK heaps have no properties"))?;
    let args = HeapArgs {
        pageable: PageableKind::QueryHeap,
        ..memory.heap(size, allocation_info::COMMITTED_MINIMUM, D3D12_HEAP_FLAG_NONE, None)
    };
    Ok(driver.create_heap(device.driver_device(), &args)?)
}

/// Checks the description of a query heap.
pub(super) fn check_desc(desc: &D3D12_QUERY_HEAP_DESC) -> Result<&D3D12_QUERY_HEAP_DESC, Refusal> {
    let refuse = |message| {
        Err(Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS))
    };
    match desc.Type {
        D3D12_QUERY_HEAP_TYPE_OCCLUSION
        | D3D12_QUERY_HEAP_TYPE_TIMESTAMP
        | D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS
        | D3D12_QUERY_HEAP_TYPE_SO_STATISTICS => {}
        D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP => {
            return Err(Refusal::invalid("the device does not support timestamps on copy queues")
                .with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_COPY_QUEUE_TIMESTAMPS_NOT_SUPPORTED));
        }
        D3D12_QUERY_HEAP_TYPE_VIDEO_DECODE_STATISTICS => {
            return Err(Refusal::not_implemented("video")
                .with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_VIDEO_DECODE_STATISTICS_NOT_SUPPORTED));
        }
        D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS1 => {
            return Err(Refusal::not_implemented("mesh shader statistics"));
        }
        other => return refuse(format!("Type {other} is not a valid D3D12_QUERY_HEAP_TYPE")),
    }
    if desc.Count == 0 {
        return refuse("Count is 0".to_owned());
    }
    check_node_mask(desc.NodeMask).map(|()| desc)
}

/// Checks the flags of a query heap.
pub(super) fn check_flags(flags: D3D12_QUERY_HEAP_FLAGS) -> Result<(), Refusal> {
    match flags & !D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE {
        0 => Ok(()),
        unknown => Err(Refusal::invalid(format!("unknown query heap flag bits {unknown:#x}"))
            .with_id(D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS)),
    }
}

impl QueryHeap {
    pub(super) fn new(
        device: ComObject<Device>,
        desc: &D3D12_QUERY_HEAP_DESC,
        flags: D3D12_QUERY_HEAP_FLAGS,
    ) -> Result<Self, Refusal> {
        let is_of_cpu = flags & D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE != 0;
        let memory = is_of_cpu.then(|| cpu_memory(&device, desc)).transpose()?;
        let residency = (!is_of_cpu).then(|| device.counted_only(PageableKind::QueryHeap));
        Ok(Self {
            child: Child { memory, residency, ..Child::new(device).counted(ObjectKind::QueryHeap) },
            heap_type: desc.Type,
            count: desc.Count,
            is_of_cpu,
            timestamps: Arc::default(),
        })
    }

    /// Checks who resolves the queries (DirectX-Specs, *D3D12 CPU Timeline Query Resolution*).
    pub(super) fn check_resolver(&self, is_cpu: bool) -> Result<(), Refusal> {
        match (self.is_of_cpu, is_cpu) {
            (true, false) => Err(Refusal::invalid(
                "pQueryHeap has D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE: ID3D12Device15::ResolveQueryData resolves its queries, \
                 and no command",
            )),
            (false, true) => Err(Refusal::invalid(
                "pQueryHeap needs D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE; commands resolve its queries",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the timestamps of the heap's queries.
    pub(super) fn timestamps(&self) -> &Arc<Timestamps> {
        &self.timestamps
    }

    /// Checks a range of queries to resolve, by the CPU or by a command.
    pub(super) fn check_resolved(
        &self,
        query_type: D3D12_QUERY_TYPE,
        first: u32,
        count: u32,
    ) -> Result<(), Refusal> {
        self.check_queries(query_type, first, count, false)
            .map_err(under(D3D12_MESSAGE_ID_RESOLVE_QUERY_DATA_INVALID_PARAMETERS))
    }

    /// Checks a range of queries in the heap. Timestamp queries have no `BeginQuery`.
    pub(super) fn check_queries(
        &self,
        query_type: D3D12_QUERY_TYPE,
        first: u32,
        count: u32,
        is_begin: bool,
    ) -> Result<(), Refusal> {
        let heap_type = match query_type {
            D3D12_QUERY_TYPE_OCCLUSION | D3D12_QUERY_TYPE_BINARY_OCCLUSION => D3D12_QUERY_HEAP_TYPE_OCCLUSION,
            D3D12_QUERY_TYPE_TIMESTAMP if !is_begin => D3D12_QUERY_HEAP_TYPE_TIMESTAMP,
            D3D12_QUERY_TYPE_PIPELINE_STATISTICS => D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS,
            D3D12_QUERY_TYPE_SO_STATISTICS_STREAM0..=D3D12_QUERY_TYPE_SO_STATISTICS_STREAM3 => {
                D3D12_QUERY_HEAP_TYPE_SO_STATISTICS
            }
            other => {
                return Err(Refusal::invalid(format!(
                    "Type {other} is not a valid D3D12_QUERY_TYPE for this call"
                )));
            }
        };
        if heap_type != self.heap_type {
            return Err(Refusal::invalid(format!(
                "Type {query_type} is not valid for a query heap of type {}",
                self.heap_type
            )));
        }
        if first.checked_add(count).is_none_or(|end| end > self.count) {
            return Err(Refusal::invalid(format!(
                "{count} queries starting at {first} exceed the query heap's count of {}",
                self.count
            )));
        }
        Ok(())
    }
}

implement_pageable!(QueryHeap_Impl);

impl ID3D12QueryHeap_Impl for QueryHeap_Impl {}
