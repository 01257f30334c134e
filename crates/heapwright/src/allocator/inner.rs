//! The state that all handles of an allocator share.

use std::any::Any;
use std::sync::{Arc, Mutex, Weak};

use heapwright_d3d12::*;

use super::decisions::Decisions;
use super::deferred::Deferred;
use super::live_list::LiveList;
use super::refused_in_unified::RefusedInUnified;
use crate::buffers::BufferSets;
use crate::desc::{ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::heap_family::HeapFamilies;
use crate::memory::{HeapKinds, HeapSource, IdleClock, Owner, TypedHeaps};
use crate::recording::{Event, Recording};
use crate::requirements::{RequirementsOptions, RequirementsQuery};
use crate::residency::ResidencyManager;
use crate::{AdapterDesc, DeviceCaps, Error};

/// The state that all handles of an allocator share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) heaps: HeapKinds,
    pub(crate) buffers: BufferSets,
    pub(crate) requirements: RequirementsQuery,
    /// Capabilities of the device, unmodified.
    pub(crate) caps: DeviceCaps,
    pub(crate) vendor_id: Option<u32>,
    pub(crate) decisions: Decisions,
    pub(crate) live: Arc<LiveList>,
    pub(crate) deferred: Deferred,
    pub(crate) refused_in_unified: RefusedInUnified,
    pub(crate) debug_name: Mutex<Option<Arc<str>>>,
    pub(crate) clock: IdleClock,
}

impl Inner {
    /// Makes a call, which is recorded with its duration.
    pub(crate) fn traced<T>(
        &self,
        name: &'static str,
        args: impl FnOnce() -> String,
        call: impl FnOnce() -> T,
    ) -> T {
        Recording::traced(self.heaps.source.recording.as_deref(), name, args, call)
    }

    /// Creates the state for a device. With a `parent`, the allocator is nested in another one of the same device and
    /// must use the parent's manager.
    pub(crate) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
        parent: Option<&Self>,
        residency: Option<&ResidencyManager>,
    ) -> Result<Arc<Self>, Error> {
        let caps = DeviceCaps::query(device)?;
        let has = |flag| desc.flags.contains(flag);
        let unified = has(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY);
        let options = RequirementsOptions {
            tight_alignment: !has(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT),
            extra_required_resource_flags: desc.extra_required_resource_flags,
        };
        let (nodes, alignment_beside_tight) = (desc.nodes, desc.alignment_beside_tight);
        let resource_heap_tier = desc.resource_heap_tier.unwrap_or(caps.resource_heap_tier);
        let source = HeapSource::new(
            device,
            adapter,
            &caps,
            desc,
            residency,
            parent.map(|parent| &*parent.heaps.source),
        )?;
        if resource_heap_tier < caps.resource_heap_tier {
            tracing::warn!(
                tier = resource_heap_tier,
                device = caps.resource_heap_tier,
                "resource_heap_tier is below the device's tier; heaps are separated more than necessary"
            );
        }
        let families = HeapFamilies::query(device, &caps, nodes, unified)?;
        let effective_caps = DeviceCaps { resource_heap_tier, alignment_beside_tight, ..caps };
        let requirements = RequirementsQuery::new(device, &effective_caps, options);
        let adapter = adapter.and_then(|adapter| AdapterDesc::query(adapter).ok());
        let buffers = BufferSets::new(source.desc.suballocation_algorithm);
        Ok(Arc::new_cyclic(|this: &Weak<Self>| {
            let source = Arc::new(HeapSource {
                allocator: Weak::clone(this) as Weak<dyn Any + Send + Sync>,
                ..source
            });
            let owner = Weak::clone(this) as Weak<dyn Owner>;
            Self {
                heaps: HeapKinds::new(
                    source,
                    families,
                    effective_caps,
                    parent.map(|parent| &parent.heaps),
                    owner,
                ),
                buffers,
                requirements,
                caps,
                vendor_id: adapter.map(|adapter| adapter.vendor_id),
                decisions: Decisions::default(),
                live: Arc::default(),
                deferred: Deferred::default(),
                refused_in_unified: RefusedInUnified::default(),
                debug_name: Mutex::default(),
                clock: IdleClock::start(),
            }
        }))
    }

    /// Returns the allocator of a source, unless its last handle was dropped.
    pub(crate) fn of(source: &HeapSource) -> Option<Arc<Self>> {
        source.allocator.upgrade()?.downcast().ok()
    }

    #[inline]
    pub(crate) fn desc(&self) -> &ResourceAllocatorDesc {
        &self.heaps.source.desc
    }

    /// Counts a frame: releases memory that was not used for too many frames.
    pub(crate) fn pass_frame(&self) {
        self.heaps.insert_prefetched();
        if let Some(recording) = &self.heaps.source.recording {
            recording.call(|instance| Event::Frame { instance });
            recording.count(|| self.counters());
        }
        self.clock.restart();
        self.buffers.all().for_each(|buffers| buffers.pass_frame());
        self.heaps.pass_frame();
    }

    /// Reads the clock, and releases memory that was not used for a second, unless frames pass.
    pub(crate) fn pass_time(&self) {
        for _ in 0..self.clock.take_periods() {
            if let Some(recording) = &self.heaps.source.recording {
                recording.call(|instance| Event::IdlePeriod { instance });
            }
            self.buffers.all().for_each(|buffers| buffers.pass_period());
            self.heaps.pass_period();
        }
    }

    pub(crate) fn audit(&self) -> Result<(), String> {
        for heaps in &self.heaps.all() {
            heaps.audit()?;
        }
        self.buffers.all().try_for_each(|buffers| buffers.audit())
    }
}

impl Owner for Inner {
    fn all_heaps(&self) -> Vec<Arc<TypedHeaps>> {
        self.heaps.all()
    }

    fn make_kind(&self, index: usize) {
        self.heaps.at(index);
    }

    fn release_unused_buffers(&self) {
        self.buffers.release_empty();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.deferred.collect();
        if let Some(recording) = &self.heaps.source.recording {
            recording.call(|instance| Event::DropAllocator { instance });
        }
        if !self.desc().flags.contains(ResourceAllocatorFlags::NEVER_LEAK) {
            return;
        }
        for leaked in self.live.all() {
            let name = leaked.name.as_deref().unwrap_or("(unnamed)");
            let (size, heap_type, placement) = (leaked.size, leaked.heap_type, leaked.placement);
            tracing::warn!(
                %size,
                %heap_type,
                %placement,
                user_data = leaked.user_data,
                "allocation {name} outlives its allocator"
            );
        }
    }
}
