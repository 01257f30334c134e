//! A program over an allocator, its nested allocator, their pools, budgets, defragmentation, frames and clocks, beside
//! three promises:
//!
//! 1. No call fails while memory that is held, or that is allowed, would serve it.
//! 2. A request that is predicted to fit does, and as predicted.
//! 3. Memory returns: two seconds after everything is freed, little is held, and after the documented time only the
//!    minimum of pools.
//!
//! The fuzz target `memory_short` includes this file.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{Defragmentation, DefragmentationBudget, DefragmentationDesc, Move};
use heapwright::report::{AllocatorReport, HeapContents, HeapReport, HeapTypeName};
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The most that may be held two seconds after everything was freed, in bytes, without the minimum of pools.
const HELD_AFTER_SECONDS: u64 = 64 * MIB;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Shared,
    /// In memory that is already held.
    Held,
    Own,
    Committed,
    /// Committed, or else in a shared heap.
    Preferred,
    /// Possibly a part of a buffer.
    Part,
    /// A resource with memory of its own that the application created, imported.
    Imported,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// Index of the allocator: the parent or the nested one.
    pub(crate) of: usize,
    pub(crate) in_pool: bool,
    pub(crate) is_upload: bool,
    pub(crate) is_texture: bool,
    pub(crate) kind: Kind,
    pub(crate) within_budget: bool,
    /// Whether the description requests tight alignment, where the device supports it.
    pub(crate) is_tight: bool,
    pub(crate) size: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Create(Request),
    Free(u16),
    FreeMost,
    FreeAfter(u16),
    Signal,
    Collect,
    Frames(u8),
    /// Milliseconds.
    Time(u16),
    /// Sets the budget of local memory, in units of 64 KiB.
    Budget(u16),
    Defragment {
        of: usize,
        of_pool: bool,
    },
    /// Plans moves, and completes the given share of all open ones, in 16ths.
    Move(u8),
    /// Abandons the planned moves.
    Abandon,
    EndDefragmentation,
    /// Bytes to release from empty heaps.
    Release(usize, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) flags: [ResourceAllocatorFlags; 2],
    pub(crate) policies: [EmptyHeapPolicy; 2],
    /// Limits of DEFAULT and UPLOAD in units of 64 KiB, for each allocator.
    pub(crate) limits: [(Option<u16>, Option<u16>); 2],
    /// Limit of each segment group, in percent of its budget, for each allocator.
    pub(crate) shares: [Option<u8>; 2],
    /// Heap size in units of 64 KiB, minimum and maximum number of heaps, for each allocator's pool.
    pub(crate) pools: [(u16, u32, u32); 2],
    /// What the pools hold: `Any` where the device allows it.
    pub(crate) pools_hold: ResourceKind,
    pub(crate) algorithm: SuballocationAlgorithm,
    pub(crate) pool_algorithm: SuballocationAlgorithm,
}

impl Setup {
    /// Returns whether the promises about single calls apply, which are those of the default algorithm.
    fn has_promises(&self) -> bool {
        [self.algorithm, self.pool_algorithm] == [SuballocationAlgorithm::Default; 2]
    }

    /// Returns whether limits or the budget apply to each request of an allocator.
    fn has_limits(&self, of: usize) -> bool {
        self.limits[of] != (None, None) || self.shares[of].is_some() || self.is_in_budget(of)
    }

    fn is_in_budget(&self, of: usize) -> bool {
        self.flags[of].contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET)
    }
}

/// Writes and reads resources by the GPU. A key determines what is written.
pub(crate) trait Contents {
    fn write(&mut self, resource: &ID3D12Resource, key: u64);
    fn copy(&mut self, to: &ID3D12Resource, from: &ID3D12Resource);
    /// Checks what each resource contains.
    fn check(&mut self, resources: &[(&ID3D12Resource, u64)]);
}

struct Live {
    request: Request,
    allocation: ResourceAllocation,
}

pub(crate) struct Program {
    gpu: Instance,
    setup: Setup,
    allocators: [ResourceAllocator; 2],
    pools: [Pool; 2],
    /// Allocators without limits, which tell the size of resources.
    unlimited: [ResourceAllocator; 2],
    live: BTreeMap<u64, Live>,
    /// The numbers of allocations that requested heaps of their own.
    alone: BTreeSet<u64>,
    next: u64,
    time: Duration,
    fence: ID3D12Fence,
    signalled: u64,
    runs: Vec<Defragmentation>,
    moves: Vec<Move>,
    contents: Option<Box<dyn Contents>>,
}

const UNIT: u64 = 64 * KIB;

impl Program {
    pub(crate) fn new(profile: &HostProfile, setup: Setup) -> Self {
        Self::on(Instance::open(profile).expect("a fresh instance"), setup, None)
    }

    /// Begins a program. With `contents`, everything is written, and checked before it is freed.
    pub(crate) fn on(gpu: Instance, mut setup: Setup, contents: Option<Box<dyn Contents>>) -> Self {
        let units = |size: Option<u16>| size.map(|size| ByteSize::new(u64::from(size) * UNIT));
        let desc = |of: usize| ResourceAllocatorDesc {
            flags: setup.flags[of],
            empty_heap_policy: setup.policies[of],
            suballocation_algorithm: setup.algorithm,
            limits: HeapLimits {
                default: units(setup.limits[of].0),
                upload: units(setup.limits[of].1),
                share_of_budget: setup.shares[of].map(|percent| f64::from(percent) / 100.0),
                ..Default::default()
            },
            ..Default::default()
        };
        let open = |desc| {
            ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("a sound description")
        };
        let parent = open(desc(0));
        parent.on_time(Duration::ZERO);
        let nested = parent.create_nested(desc(1)).expect("sound");
        nested.on_time(Duration::ZERO);
        let allocators = [parent, nested];
        if allocators[0].caps().resource_heap_tier < 2 {
            setup.pools_hold = ResourceKind::Buffers;
        }
        let pool = |of: usize| {
            let (size, least, most) = setup.pools[of];
            let desc = PoolDesc {
                resources: setup.pools_hold,
                algorithm: setup.pool_algorithm,
                heap_size: units(Some(size)).filter(|size| !size.is_zero()),
                min_heap_count: if size == 0 { 0 } else { least },
                max_heap_count: Some(most.max(least)).filter(|&most| most > 0),
                ..Default::default()
            };
            let made = allocators[of].create_pool(desc.clone());
            // The minimum may exceed the limit.
            made.unwrap_or_else(|_| {
                allocators[of].create_pool(PoolDesc { min_heap_count: 0, ..desc }).expect("sound")
            })
        };
        let pools = [pool(0), pool(1)];
        let tight = ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT;
        let unlimited = setup
            .flags
            .map(|flags| open(ResourceAllocatorDesc { flags: flags & tight, ..Default::default() }));
        // SAFETY: the device is a live COM object.
        let fence = unsafe { gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence");
        Self {
            setup,
            pools,
            unlimited,
            allocators,
            live: BTreeMap::new(),
            alone: BTreeSet::new(),
            next: 0,
            time: Duration::ZERO,
            fence,
            signalled: 0,
            runs: Vec::new(),
            moves: Vec::new(),
            contents,
            gpu,
        }
    }

    fn nth(&self, number: u16) -> Option<u64> {
        self.live.keys().nth(usize::from(number) % self.live.len().max(1)).copied()
    }

    pub(crate) fn step(&mut self, step: &Step) {
        match *step {
            Step::Create(request) => self.create(request),
            Step::Free(number) => {
                if let Some(key) = self.nth(number) {
                    self.check_contents(|of| of == key);
                    self.live.remove(&key);
                }
            }
            Step::FreeMost => {
                self.check_contents(|key| key % 5 != 0);
                self.live.retain(|key, _| key % 5 == 0);
            }
            Step::FreeAfter(number) => {
                let key = self.nth(number).filter(|key| self.live[key].request.kind != Kind::Imported);
                if let Some(key) = key {
                    self.check_contents(|of| of == key);
                    let Live { request, allocation } = self.live.remove(&key).expect("it lives");
                    let value = FenceValue::new(self.signalled + 1);
                    self.allocators[request.of].free_after(allocation, &self.fence, value).expect("its own");
                }
            }
            Step::Signal => {
                self.signalled += 1;
                signal(&self.fence, self.signalled);
            }
            Step::Collect => {
                for allocator in &self.allocators {
                    allocator.collect();
                }
            }
            Step::Frames(count) => (0..count).for_each(|_| self.allocators[0].end_frame()),
            Step::Time(milliseconds) => self.pass(Duration::from_millis(milliseconds.into())),
            Step::Budget(units) => {
                self.gpu.set_budget(
                    heapwright_runtime::SegmentGroup::Local,
                    ByteSize::new(u64::from(units) * UNIT),
                );
            }
            Step::Defragment { of, of_pool } => {
                let pool = of_pool.then_some(&self.pools[of]);
                // Only heaps of the default algorithm can be defragmented.
                match self.allocators[of].defragment(DefragmentationDesc { pool }) {
                    Ok(run) => self.runs.push(run),
                    refused => assert!(!self.setup.has_promises(), "{refused:?}"),
                }
                if self.runs.len() > 2 {
                    self.runs.remove(0);
                }
            }
            Step::Move(share) => self.defragment(usize::from(share)),
            Step::Abandon => self.moves.clear(),
            Step::EndDefragmentation => {
                self.runs.pop();
            }
            Step::Release(of, bytes) => {
                self.allocators[of].release_resource_heaps(ByteSize::new(bytes.into()));
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.time += time;
        self.allocators[0].on_time(self.time);
        self.allocators[1].on_time(self.time);
    }

    fn defragment(&mut self, share: usize) {
        let budget =
            DefragmentationBudget { time: Duration::from_secs(3600), moves: 16, ..Default::default() };
        for run in &mut self.runs {
            self.moves.extend(run.step(budget).moves);
        }
        let complete = self.moves.len() * share / 16;
        for mut planned in self.moves.drain(..complete) {
            let key = planned.user_data();
            let Some(live) = self.live.get_mut(&key) else { continue };
            if live.allocation.id() != planned.allocation() {
                continue;
            }
            let target = planned
                .create_resource(&live.allocation, InitialState::default(), None, &[])
                .expect("the target is free");
            match &mut self.contents {
                Some(_) if live.request.is_upload => fill_by_cpu(target, key),
                Some(contents) => contents.copy(target, live.allocation.resource()),
                None => {}
            }
            planned.complete(&mut live.allocation).expect("it lives");
        }
    }

    fn create(&mut self, mut request: Request) {
        // A pool of buffers holds no textures.
        request.is_texture &= !request.in_pool || self.setup.pools_hold == ResourceKind::Any;
        let Request { of, in_pool, is_upload, is_texture, kind, within_budget, is_tight, size } = request;
        let mut flags = match kind {
            Kind::Shared => ResourceAllocationFlags::NEVER_FALLBACK,
            Kind::Held => ResourceAllocationFlags::NEVER_ALLOCATE_HEAP,
            Kind::Own => {
                ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP | ResourceAllocationFlags::NEVER_FALLBACK
            }
            Kind::Committed => ResourceAllocationFlags::ALWAYS_COMMITTED,
            Kind::Preferred => ResourceAllocationFlags::PREFER_COMMITTED,
            Kind::Part => {
                ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE
                    | ResourceAllocationFlags::NEVER_FALLBACK
            }
            Kind::Imported => ResourceAllocationFlags::empty(),
        };
        if within_budget {
            flags |= ResourceAllocationFlags::WITHIN_BUDGET;
        }
        self.next += 1;
        let heap_type = if is_upload { HeapType::Upload } else { HeapType::Default };
        let place = ResourceAllocationDesc {
            flags,
            user_data: self.next,
            pool: in_pool.then_some(&self.pools[of]),
            heap_type: (!in_pool).then(|| heap_type.into()),
            ..Default::default()
        };
        let mut desc = if is_texture {
            let side = (size / 4).isqrt().clamp(1, 2048);
            D3D12_RESOURCE_DESC {
                Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                Height: u32::try_from(side).expect("small"),
                Format: DXGI_FORMAT_R8G8B8A8_UNORM,
                Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
                ..buffer_desc(ByteSize::new(side))
            }
        } else {
            buffer_desc(ByteSize::new(size))
        };
        if is_tight && self.unlimited[of].caps().tight_alignment_tier > 0 {
            desc.Flags |= D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        }
        if kind == Kind::Imported {
            return self.import(request, &desc);
        }
        let state = if is_upload { D3D12_RESOURCE_STATE_GENERIC_READ } else { D3D12_RESOURCE_STATE_COMMON };
        let resource = ResourceDesc::in_state(&desc, state);
        let probed = self.allocators[of].probe(&place, resource);
        let (held_before, deferred_before) = (self.reserved(), self.deferred_count());
        let left_before = self.heaps_left();
        match self.allocators[of].create(&place, resource) {
            Ok(allocation) => {
                if let (Ok(Prediction { decision, size, memory, .. }), true) =
                    (probed, self.setup.has_promises())
                {
                    let mut is_held = memory == PredictedMemory::Held;
                    if decision == allocation.info().decision {
                        assert_eq!(size, allocation.size(), "{request:?}");
                    } else {
                        // Memory that the prediction does not count (of unused backing buffers, of what is freed when
                        // memory is short) permits a placement that is tried earlier.
                        let became = allocation.info().decision.placement;
                        // A committed resource comes last, or first if it is preferred.
                        let is_preferred = kind == Kind::Preferred && became == Placement::Committed;
                        assert!(
                            became < decision.placement || is_preferred,
                            "{request:?}: {decision:?}, and then {became:?}"
                        );
                        // Of the memory that is held, it takes none.
                        is_held &= !is_preferred;
                    }
                    // Near a limit, empty heaps may have been released for a new heap, which is tried before an empty
                    // heap of another size and before later placements.
                    let is_limited = within_budget || self.setup.has_limits(of);
                    let is_grown = self.reserved() > held_before;
                    let may_grow = !is_held || is_limited && self.heaps_left() > left_before;
                    assert!(!is_grown || may_grow, "{request:?}: {decision:?}, {memory:?}");
                }
                if kind == Kind::Own {
                    self.alone.insert(self.next);
                }
                self.enter(Live { request, allocation });
            }
            Err(error) if !self.setup.has_promises() => assert!(error.is_out_of_memory(), "{error}"),
            Err(error) => {
                assert!(error.is_out_of_memory() || error.is_over_budget(), "{error}");
                assert!(probed.is_err(), "{request:?}: {probed:?}, and then {error}");
                self.check_refusal(&request, &resource, &error);
                // Operations that release what was not used for long are more than a program has.
                let is_quiet = self.next <= 100 && self.deferred_count() == deferred_before;
                let is_by_device = error.to_string().contains("E_OUTOFMEMORY");
                assert!(
                    !is_quiet || is_by_device || self.reserved() == held_before,
                    "{request:?}: {} of {held_before} B are held after {error}",
                    self.reserved()
                );
            }
        }
    }

    fn deferred_count(&self) -> u64 {
        self.allocators.iter().map(|allocator| allocator.stats().deferred_count).sum()
    }

    /// Imports a committed resource, if the device has memory for one.
    fn import(&mut self, request: Request, desc: &D3D12_RESOURCE_DESC) {
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let (flags, state) = (D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
        let mut made: Option<ID3D12Resource> = None;
        // SAFETY: the device is live, the descriptions outlive the call, and the result is of the interface that is
        // asked for.
        let created = unsafe {
            self.gpu.device.CreateCommittedResource(&properties, flags, desc, state, None, &mut made)
        };
        let (Ok(()), Some(resource)) = (created, made) else { return };
        let place = ResourceAllocationDesc { user_data: self.next, ..Default::default() };
        // SAFETY: the resource has memory of its own, which nothing else pages.
        let imported = unsafe { self.allocators[request.of].import(&place, &resource) };
        self.enter(Live { request, allocation: imported.expect("it is of the device") });
    }

    /// Enters the newest allocation, and writes it.
    fn enter(&mut self, mut live: Live) {
        match &mut self.contents {
            Some(_) if live.request.is_upload => {
                let bytes = bytes_of(self.next, live.allocation.map().expect("mappable").len().get());
                live.allocation.map().expect("mappable").write(0, &bytes).expect("inside");
            }
            Some(contents) => contents.write(live.allocation.resource(), self.next),
            None => {}
        }
        self.live.insert(self.next, live);
    }

    /// Checks that allocations contain what was written.
    fn check_contents(&mut self, is_checked: impl Fn(u64) -> bool) {
        let Some(contents) = &mut self.contents else { return };
        let mut on_gpu = Vec::new();
        for (&key, live) in self.live.iter_mut().filter(|&(&key, _)| is_checked(key)) {
            if live.request.is_upload {
                let mapping = live.allocation.map().expect("mappable");
                let mut bytes = vec![0; usize::try_from(mapping.len().get()).expect("small")];
                mapping.read(0, &mut bytes).expect("inside");
                assert!(bytes == bytes_of(key, mapping.len().get()), "{key} lost its contents");
            } else {
                on_gpu.push((live.allocation.resource(), key));
            }
        }
        contents.check(&on_gpu);
    }

    /// Checks that neither what is held nor what is allowed would have served a request.
    fn check_refusal(&self, request: &Request, resource: &ResourceDesc<'_>, error: &Error) {
        let Request { of, in_pool, is_upload, is_texture, kind, within_budget, .. } = *request;
        let heap_type = if is_upload { HeapType::Upload } else { HeapType::Default };
        let takes = self.unlimited[of]
            .probe(&ResourceAllocationDesc::new(heap_type), resource)
            .expect("nothing limits it");
        let (mut size, mut alignment) = (takes.size.get(), takes.alignment.get());
        if in_pool && self.setup.pools_hold == ResourceKind::Any {
            // Apart from what the others have in the same 64 KiB.
            (size, alignment) = (size.next_multiple_of(UNIT), alignment.max(UNIT));
        }
        let reports = [self.allocators[0].report(), self.allocators[1].report()];
        let name = if is_upload { HeapTypeName::Upload } else { HeapTypeName::Default };
        let contents = match (is_texture, in_pool && self.setup.pools_hold == ResourceKind::Any) {
            (_, true) => HeapContents::Any,
            (true, false) => HeapContents::Textures,
            (false, false) => HeapContents::Buffers,
        };
        let (pool_size, pool_least, pool_most) = self.setup.pools[of];
        let pool_size = u64::from(pool_size) * UNIT;
        let is_of_kind = |heap: &&HeapReport| {
            (heap.pool != 0) == in_pool && heap.kind == contents && heap.heap_type == name
        };
        if kind != Kind::Committed {
            for heap in reports[of].heaps.iter().filter(is_of_kind) {
                let is_open = if kind == Kind::Own {
                    heap.allocations.is_empty()
                } else {
                    heap.allocations.iter().all(|one| {
                        !self.is_alone(one.user_data.as_deref())
                            && (!in_pool || pool_size == 0 || one.size.get() <= pool_size)
                    })
                };
                assert!(
                    !is_open || !holds(heap, size, alignment),
                    "{request:?}: {size} B at {alignment} fit in {heap:?}: {error}"
                );
            }
        }
        let limits = self.setup.limits[of];
        let limit = if is_upload && !in_pool { limits.1 } else { limits.0 };
        let type_name = if in_pool { HeapTypeName::Default } else { name };
        let reserved = held_in(&reports[of], type_name);
        let is_unified = self.unlimited[of].caps().architecture != Architecture::Discrete;
        let is_local = type_name == HeapTypeName::Default || is_unified;
        let types = [HeapTypeName::Default, HeapTypeName::Upload];
        let types = types.into_iter().filter(|&name| is_unified || name == type_name);
        let in_group: u64 = types.map(|name| held_in(&reports[of], name)).sum();
        let share = self.setup.shares[of].map(|percent| {
            let group = if is_local { SegmentGroup::Local } else { SegmentGroup::NonLocal };
            let budget = VideoMemoryInfo::query(&self.gpu.adapter, group).expect("answered").budget.get();
            // Rounded down, with what a product of fractions may lose.
            (budget * u64::from(percent) / 100).saturating_sub(1)
        });
        if kind != Kind::Committed && !in_pool {
            // Empty heaps of the other allocator are used, too, if the limit permits it.
            let rest = limit.map_or(u64::MAX, |limit| (u64::from(limit) * UNIT).saturating_sub(reserved));
            let rest = rest.min(share.map_or(u64::MAX, |share| share.saturating_sub(in_group)));
            let others = reports[1 - of].heaps.iter().filter(is_of_kind);
            for heap in others.filter(|heap| heap.allocations.is_empty() && heap.size.get() <= rest) {
                assert!(heap.size.get() < size, "{request:?}: {size} B in {heap:?} of the other: {error}");
            }
        }
        if kind == Kind::Held {
            return;
        }
        let shares_pool = in_pool && kind != Kind::Own;
        let least = size.next_multiple_of(UNIT).max(if shares_pool { pool_size } else { 0 });
        let may_release = !self.setup.flags[of].contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE);
        // The heaps that the pools keep are not released; how many those are of the empty ones is not told here, so a
        // pool with a minimum has none to release.
        let is_releasable = |of: usize, heap: &HeapReport| {
            may_release && heap.allocations.is_empty() && (heap.pool == 0 || self.setup.pools[of].1 == 0)
        };
        let empty = |of: usize, is_counted: &dyn Fn(&HeapReport) -> bool| -> u64 {
            let heaps = reports[of].heaps.iter();
            heaps.filter(|heap| is_releasable(of, heap) && is_counted(heap)).map(|heap| heap.size.get()).sum()
        };
        let is_over_limit = limit.is_some_and(|limit| {
            reserved - empty(of, &|heap| heap.heap_type == type_name) + least > u64::from(limit) * UNIT
        });
        let group = VideoMemoryInfo::query(&self.gpu.adapter, SegmentGroup::Local).expect("answered");
        let is_over_share = share.is_some_and(|share| {
            in_group - empty(of, &|heap| is_unified || heap.heap_type == type_name) + least > share
        });
        let needs_budget = within_budget || self.setup.is_in_budget(of);
        let empty_in_group: u64 =
            (0..2).map(|of| empty(of, &|heap| heap.segment_group == SegmentGroup::Local)).sum();
        let is_over_budget = needs_budget
            && is_local
            && group.current_usage.get().saturating_sub(empty_in_group) + least > group.budget.get();
        let in_use =
            reports[of].heaps.iter().filter(|heap| heap.pool != 0 && !is_releasable(of, heap)).count();
        let is_pool_full =
            in_pool && pool_most.max(pool_least) > 0 && in_use >= pool_most.max(pool_least) as usize;
        let is_too_large = shares_pool && pool_size != 0 && size > pool_size;
        assert!(
            is_over_limit || is_over_share || is_over_budget || is_pool_full || is_too_large,
            "{request:?}: {size} B, {reserved} reserved of {limit:?} units, {} used of {}: {error}",
            group.current_usage,
            group.budget,
        );
    }

    /// Returns whether the heap of an allocation is shared with no other.
    fn is_alone(&self, user_data: Option<&str>) -> bool {
        user_data.and_then(|key| key.parse().ok()).is_some_and(|key| self.alone.contains(&key))
    }

    /// Checks that nothing overlaps, and that the books agree.
    fn check(&self) {
        for allocator in &self.allocators {
            allocator.audit().expect("consistent");
            let report = allocator.report();
            let listed: u64 = report.heaps.iter().map(|heap| heap.size.get()).sum();
            let committed: u64 = report.committed.iter().map(|one| one.size.get()).sum();
            assert_eq!(
                listed + committed,
                allocator.reserved().get(),
                "not all that is held is in {report:?}"
            );
            let stats = allocator.stats();
            assert_eq!(stats.empty_heap_count, report.totals.empty_heap_count, "{stats:?}, {report:?}");
            for heap in report.heaps {
                let mut end = 0;
                for one in &heap.allocations {
                    assert!(one.offset.get() >= end, "{heap:?}");
                    end = one.offset.get() + one.size.get();
                }
                assert!(end <= heap.size.get(), "{heap:?}");
            }
        }
    }

    /// Returns how many heaps were released since they were created, less the number of committed resources.
    fn heaps_left(&self) -> i128 {
        let stats = self.allocators.iter().map(|allocator| allocator.stats());
        stats.map(|stats| i128::from(stats.heaps_created) - i128::from(stats.heap_count)).sum()
    }

    fn reserved(&self) -> u64 {
        self.allocators.iter().map(|allocator| allocator.reserved().get()).sum()
    }

    /// Frees everything, and checks that memory returns.
    pub(crate) fn end(mut self) {
        self.check();
        self.check_contents(|_| true);
        self.moves.clear();
        self.runs.clear();
        signal(&self.fence, u64::MAX - 1);
        for allocator in &self.allocators {
            allocator.collect();
        }
        self.live.clear();
        let kept: u64 =
            self.setup.pools.iter().map(|&(size, least, _)| u64::from(size) * UNIT * u64::from(least)).sum();
        let held = self.reserved();
        let policies = self.setup.policies;
        let keeps = |policy| policies.contains(&policy);
        let keeps_all = keeps(EmptyHeapPolicy::SegmentedPool) || keeps(EmptyHeapPolicy::FewestHitches);
        if !keeps_all && !keeps(EmptyHeapPolicy::FixedPool) {
            (0..20).for_each(|_| self.pass(Duration::from_millis(100)));
            let held = self.reserved();
            // After pauses by default a minute, where heaps were needed again.
            let has_few = !keeps(EmptyHeapPolicy::Default);
            assert!(!has_few || held <= HELD_AFTER_SECONDS + kept, "{held} B are held after two seconds");
            (0..130).for_each(|_| self.pass(Duration::from_secs(1)));
            let held = self.reserved();
            assert!(held <= kept, "{held} B are held after two minutes");
        }
        if self.setup.flags.iter().all(|flags| flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND)) {
            assert!(
                held <= kept,
                "{held} B are held, ALWAYS_ON_DEMAND: {:#?}",
                self.allocators.each_ref().map(|one| one.report().heaps)
            );
        }
        self.check();
        drop(self.pools);
        for allocator in &self.allocators {
            allocator.release_empty_heaps();
            assert_eq!(allocator.reserved(), ByteSize::ZERO);
        }
        drop((self.allocators, self.unlimited, self.contents));
        for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
            let memory = VideoMemoryInfo::query(&self.gpu.adapter, group).expect("answered");
            assert_eq!(memory.current_usage, ByteSize::ZERO, "{group}");
        }
    }
}

fn bytes_of(key: u64, size: u64) -> Vec<u8> {
    let pattern = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    pattern.into_iter().cycle().take(usize::try_from(size).expect("small")).collect()
}

/// Writes a buffer that the CPU can map.
fn fill_by_cpu(buffer: &ID3D12Resource, key: u64) {
    // SAFETY: the buffer is live; what is written is within its width.
    unsafe {
        let bytes = bytes_of(key, buffer.GetDesc().Width);
        let mut start = std::ptr::null_mut();
        buffer.Map(0, None, &mut start).ok().expect("mappable");
        start.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        buffer.Unmap(0, None);
    }
}

/// Returns the bytes of the heaps and committed resources of a heap type.
fn held_in(report: &AllocatorReport, heap_type: HeapTypeName) -> u64 {
    let totals = report.heap_types.iter().find(|of| of.heap_type == heap_type).map(|of| of.totals);
    totals.map_or(0, |totals| totals.reserved.get() + totals.committed.size.get())
}

fn signal(fence: &ID3D12Fence, value: u64) {
    // SAFETY: the fence is a live COM object.
    unsafe { fence.Signal(value) }.ok().expect("signalled");
}

/// The largest size that gets a slot, in bytes, and the divisor of the largest fraction by which a slot may exceed it.
const SLOTS_UP_TO: u64 = 16 * KIB;
const SLOT_ROUNDING: u64 = 8;

/// Returns whether a heap has a free range for a request before, between or behind its allocations.
fn holds(heap: &HeapReport, size: u64, alignment: u64) -> bool {
    let begins = heap.allocations.iter().map(|one| one.offset.get()).chain([heap.size.get()]);
    let ends = heap.allocations.iter().map(|one| {
        let size = one.size.get();
        one.offset.get() + size + if size <= SLOTS_UP_TO { size / SLOT_ROUNDING } else { 0 }
    });
    iter::once(0).chain(ends).zip(begins).any(|(end, next)| end.next_multiple_of(alignment) + size <= next)
}
