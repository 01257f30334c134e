//! Counts of a device's live objects, by kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;

/// The kinds of objects that a device creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    CommandQueue,
    CommandAllocator,
    CommandList,
    DescriptorHeap,
    Fence,
    Heap,
    QueryHeap,
    Resource,
    RootSignature,
    PipelineState,
    PipelineLibrary,
    CommandSignature,
}

/// Each kind with its interface and the id of its live-object message, in the order of the enumeration.
const KINDS: [(ObjectKind, &str, D3D12_MESSAGE_ID); 12] = [
    (ObjectKind::CommandQueue, "ID3D12CommandQueue", D3D12_MESSAGE_ID_LIVE_COMMANDQUEUE),
    (ObjectKind::CommandAllocator, "ID3D12CommandAllocator", D3D12_MESSAGE_ID_LIVE_COMMANDALLOCATOR),
    (ObjectKind::CommandList, "ID3D12GraphicsCommandList", D3D12_MESSAGE_ID_LIVE_COMMANDLIST12),
    (ObjectKind::DescriptorHeap, "ID3D12DescriptorHeap", D3D12_MESSAGE_ID_LIVE_DESCRIPTORHEAP),
    (ObjectKind::Fence, "ID3D12Fence", D3D12_MESSAGE_ID_LIVE_MONITOREDFENCE),
    (ObjectKind::Heap, "ID3D12Heap", D3D12_MESSAGE_ID_LIVE_HEAP),
    (ObjectKind::QueryHeap, "ID3D12QueryHeap", D3D12_MESSAGE_ID_LIVE_QUERYHEAP),
    (ObjectKind::Resource, "ID3D12Resource", D3D12_MESSAGE_ID_LIVE_RESOURCE),
    (ObjectKind::RootSignature, "ID3D12RootSignature", D3D12_MESSAGE_ID_LIVE_ROOTSIGNATURE),
    (ObjectKind::PipelineState, "ID3D12PipelineState", D3D12_MESSAGE_ID_LIVE_PIPELINESTATE),
    (ObjectKind::PipelineLibrary, "ID3D12PipelineLibrary", D3D12_MESSAGE_ID_LIVE_PIPELINELIBRARY),
    (ObjectKind::CommandSignature, "ID3D12CommandSignature", D3D12_MESSAGE_ID_LIVE_COMMANDSIGNATURE),
];

/// The number of live objects of each kind. Creating and releasing an object costs one atomic addition each.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveObjects {
    counts: Arc<[AtomicU64; KINDS.len()]>,
}

/// Counts one object as live until dropped.
#[derive(Debug)]
pub(crate) struct LiveObject {
    objects: LiveObjects,
    kind: ObjectKind,
}

impl Drop for LiveObject {
    fn drop(&mut self) {
        self.objects.count(self.kind).fetch_sub(1, Ordering::Relaxed);
    }
}

impl LiveObjects {
    /// Counts an object as live until the returned value is dropped.
    pub(crate) fn created(&self, kind: ObjectKind) -> LiveObject {
        self.count(kind).fetch_add(1, Ordering::Relaxed);
        LiveObject { objects: self.clone(), kind }
    }

    /// Returns interface, message id and count of each kind that has live objects.
    pub(crate) fn report(&self) -> impl Iterator<Item = (&'static str, D3D12_MESSAGE_ID, u64)> {
        KINDS
            .iter()
            .map(|(kind, interface, id)| (*interface, *id, self.count(*kind).load(Ordering::Relaxed)))
            .filter(|(_, _, count)| *count > 0)
    }

    fn count(&self, kind: ObjectKind) -> &AtomicU64 {
        match kind {
            ObjectKind::CommandQueue => &self.counts[0],
            ObjectKind::CommandAllocator => &self.counts[1],
            ObjectKind::CommandList => &self.counts[2],
            ObjectKind::DescriptorHeap => &self.counts[3],
            ObjectKind::Fence => &self.counts[4],
            ObjectKind::Heap => &self.counts[5],
            ObjectKind::QueryHeap => &self.counts[6],
            ObjectKind::Resource => &self.counts[7],
            ObjectKind::RootSignature => &self.counts[8],
            ObjectKind::PipelineState => &self.counts[9],
            ObjectKind::PipelineLibrary => &self.counts[10],
            ObjectKind::CommandSignature => &self.counts[11],
        }
    }
}
