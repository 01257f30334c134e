//! The state that all handles of an allocator share.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use heapwright_core::placement::HeapRetention;
use heapwright_d3d12::*;
use heapwright_trace::session::Action;

use super::decisions::Decisions;
use super::deferred::Deferred;
use super::pool::Pool;
use super::refused_in_unified::RefusedInUnified;
use crate::buffers::BufferSets;
use crate::desc::{ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::heaps::{HeapKinds, Passed};
use crate::recording::{Recording, failure_args};
use crate::request::{HeapFamilies, RequirementsOptions, RequirementsQuery};
use crate::residency::ResidencyManager;
use crate::source::{HeapSource, Listed, Owner};
use crate::{AdapterDesc, DeviceCaps, Error, HeapType};

/// Memory of all kinds is looked after with every so many operations.
const OPERATIONS_PER_LOOK: u64 = 250;

/// The state that all handles of an allocator share.
pub(crate) struct Inner {
    pub(crate) heaps: Arc<HeapKinds>,
    pub(crate) buffers: BufferSets,
    pub(crate) requirements: RequirementsQuery,
    /// Those without tight alignment, if `requirements` have it and they were asked for.
    pub(crate) aliasing_requirements: OnceLock<Box<RequirementsQuery>>,
    /// Capabilities of the device, unmodified.
    pub(crate) caps: DeviceCaps,
    pub(crate) vendor_id: Option<u32>,
    pub(crate) decisions: Decisions,
    pub(crate) deferred: Deferred,
    pub(crate) refused_in_unified: RefusedInUnified,
    /// Whether all allocations are entered: they are listed, or a type that they request in unified memory has a limit.
    pub(crate) enters_all: bool,
    /// Pools for allocations that name the properties of CUSTOM heaps, one for each memory and kind of resource.
    pub(crate) custom_pools: Mutex<Vec<Pool>>,
    pub(crate) debug_name: Mutex<Option<Arc<str>>>,
    /// Whether a frame was told since the last one of the allocator that this one is nested in.
    told_frame: AtomicBool,
    /// The number of operations when idle memory of all kinds was last looked for.
    looked_after: AtomicU64,
    /// Whether heaps of this allocator, or of those that are nested in it, were empty for too long and are left.
    is_overdue: AtomicBool,
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

    /// Makes a call whose duration is recorded. What it does is recorded as it happens.
    pub(crate) fn timed<T>(&self, name: &'static str, call: impl FnOnce() -> T) -> T {
        Recording::timed(self.heaps.source.recording.as_deref(), name, call)
    }

    /// Makes a call whose duration is recorded, and that itself records what it does. If it fails, that is recorded.
    pub(crate) fn attempt<T>(
        &self,
        name: &'static str,
        call: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.timed(name, call).inspect_err(|error| {
            if let Some(recording) = &self.heaps.source.recording {
                let allocator = recording.instance();
                recording
                    .note(name, || format!("\"allocator\":\"{allocator:#x}\"{}", failure_args(Some(error))));
            }
        })
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
        let start = Instant::now();
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
            Weak::<Self>::new(),
        )?;
        if resource_heap_tier < caps.resource_heap_tier {
            tracing::warn!(
                tier = resource_heap_tier,
                device = caps.resource_heap_tier,
                "resource_heap_tier is below the device's tier; heaps are separated more than necessary"
            );
        }
        let separates_groups = residency.is_some_and(ResidencyManager::separates_segment_groups);
        let families = HeapFamilies::query(device, &caps, nodes, unified, separates_groups)?;
        let is_limited = |heap_type| source.desc.limits.of(heap_type).is_some();
        let enters_all = source.desc.flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || families.has_unified_memory() && HeapType::ALL.into_iter().any(is_limited);
        let effective_caps = DeviceCaps { resource_heap_tier, alignment_beside_tight, ..caps };
        let requirements = RequirementsQuery::new(device, &effective_caps, options);
        let adapter = adapter.and_then(|adapter| AdapterDesc::query(adapter).ok());
        let inner = Arc::new_cyclic(|this: &Weak<Self>| {
            let source = Arc::new(HeapSource { owner: Weak::clone(this) as Weak<dyn Owner>, ..source });
            source.timers.set_owner(&source.owner);
            Self {
                heaps: HeapKinds::new(
                    Arc::clone(&source),
                    families,
                    effective_caps,
                    parent.map(|parent| &parent.heaps),
                ),
                buffers: BufferSets::new(&source),
                requirements,
                aliasing_requirements: OnceLock::new(),
                caps,
                vendor_id: adapter.map(|adapter| adapter.vendor_id),
                decisions: Decisions::default(),
                deferred: Deferred::default(),
                refused_in_unified: RefusedInUnified::default(),
                enters_all,
                custom_pools: Mutex::default(),
                debug_name: Mutex::default(),
                told_frame: AtomicBool::default(),
                looked_after: AtomicU64::default(),
                is_overdue: AtomicBool::default(),
            }
        });
        if let Some(recording) = &inner.heaps.source.recording {
            let args = || format!("\"allocator\":\"{:#x}\"", recording.instance());
            recording.made("ResourceAllocator.CreateResourceAllocator", args, start);
        }
        Ok(inner)
    }

    /// Returns the allocator of a source, unless its last handle was dropped.
    pub(crate) fn of(source: &HeapSource) -> Option<Arc<Self>> {
        let owner: Arc<dyn Any + Send + Sync> = source.owner.upgrade()?;
        owner.downcast().ok()
    }

    #[inline]
    pub(crate) fn desc(&self) -> &ResourceAllocatorDesc {
        &self.heaps.source.desc
    }

    /// Counts a frame: releases memory that was not used for too many frames.
    pub(crate) fn pass_frame(&self) {
        // Before the frame, because a recording has the periods as calls of their own.
        self.pass_time(true);
        let recording = self.heaps.source.recording.as_ref();
        if let Some(recording) = recording {
            recording.call(|| Action::Frame);
        }
        self.told_frame.store(true, Ordering::Relaxed);
        self.pass_own_frame();
        if let Some(recording) = recording {
            recording.count(|| self.counters());
        }
    }

    fn pass_own_frame(&self) {
        self.heaps.source.clock.pass_frame();
        self.pass(Passed::Frame);
        self.heaps.nested().iter().for_each(|nested| nested.pass_frame_of_parent());
    }

    /// Sets the time, and releases memory that was not used for too long.
    pub(crate) fn tell_time(&self, time: Duration) {
        let is_often = self.heaps.source.clock.tell(time);
        self.pass_time(is_often);
        self.heaps.nested().iter().for_each(|nested| nested.tell_time_of_parent(time));
    }

    /// Reads the clock, and releases memory that was not used for too long, unless frames pass: in parts only some of
    /// it, and then some more with each further call. Returns whether there was any. With a recording it is never in
    /// parts, so that its replay can do the same.
    pub(crate) fn pass_time(&self, in_parts: bool) -> bool {
        let in_parts = in_parts && self.heaps.source.recording.is_none();
        let periods = self.heaps.source.clock.take_periods();
        let is_left = self.is_overdue.load(Ordering::Relaxed);
        let mut is_overdue = is_left;
        match (periods, in_parts) {
            (0, true) if is_left => is_overdue = self.pass(Passed::PartOfPeriod),
            // What is left waits for a call that releases in parts, or for the next period.
            (0, _) => {}
            (_, true) => (0..periods).for_each(|_| is_overdue = self.pass(Passed::BegunPeriod)),
            (_, false) => {
                (0..periods).for_each(|_| self.pass_period());
                is_overdue = false;
            }
        }
        if periods > 0 || is_left {
            for nested in &self.heaps.nested() {
                is_overdue |= nested.release_idle();
            }
            self.is_overdue.store(is_overdue, Ordering::Relaxed);
        }
        is_overdue
    }

    /// Counts a period of this allocator alone: releases memory that was not used for too many of them.
    pub(crate) fn pass_period(&self) {
        if let Some(recording) = &self.heaps.source.recording {
            recording.call(|| Action::IdlePeriod);
        }
        self.pass(Passed::Period);
    }

    /// Releases memory of all kinds that was not used for too many operations, if many passed since the last call that
    /// did.
    pub(crate) fn pass_operations(&self) {
        let source = &self.heaps.source;
        let (now, last) = (source.tally.operations(), self.looked_after.load(Ordering::Relaxed));
        if source.retention == HeapRetention::FOR_EVER || now.saturating_sub(last) < OPERATIONS_PER_LOOK {
            return;
        }
        if let Some(_alone) = source.try_release_alone() {
            self.looked_after.store(now, Ordering::Relaxed);
            self.pass_alone(Passed::Operations);
        }
    }

    fn pass(&self, passed: Passed) -> bool {
        let _alone = self.heaps.source.release_alone();
        self.pass_alone(passed)
    }

    fn pass_alone(&self, passed: Passed) -> bool {
        self.buffers.all().for_each(|buffers| buffers.pass(passed));
        self.heaps.pass(passed)
    }

    #[inline]
    pub(crate) fn audit(&self) -> Result<(), String> {
        for heaps in &self.heaps.all() {
            heaps.audit()?;
        }
        self.buffers.all().try_for_each(|buffers| buffers.audit())
    }
}

impl Owner for Inner {
    fn release_unused_buffers(&self, is_in: &dyn Fn(u64) -> bool, keeps_heaps: bool) -> bool {
        self.buffers.release_unused(is_in, keeps_heaps)
    }

    fn pass_frame_of_parent(&self) {
        // Otherwise its own frames are counted.
        if !self.told_frame.swap(false, Ordering::Relaxed) {
            self.pass_own_frame();
        }
    }

    fn tell_time_of_parent(&self, time: Duration) {
        self.tell_time(time);
    }

    fn release_idle(&self) -> bool {
        self.pass_time(true)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.heaps.source.idle_thread.end();
        self.deferred.collect();
        if let Some(recording) = &self.heaps.source.recording {
            recording.call(|| Action::DropAllocator);
        }
        if !self.desc().flags.contains(ResourceAllocatorFlags::NEVER_LEAK) {
            return;
        }
        for (Listed { size, heap_type, placement, .. }, label) in self.heaps.source.labels.listed() {
            let name = label.name.as_deref().unwrap_or("(unnamed)");
            tracing::warn!(
                %size,
                %heap_type,
                %placement,
                user_data = label.user_data,
                "allocation {name} outlives its allocator"
            );
        }
    }
}
