//! The invariant: an allocation fails only if no free range of its eligible heaps fits it and no new heap
//! is allowed.
//!
//! The fuzz target `memory_short` includes this file.

use std::iter;
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{
    Defragmentation, DefragmentationBudget, DefragmentationDesc, DefragmentationState, DefragmentationStep,
    Move,
};
use heapwright::report::{AllocatorReport, HeapContents, HeapReport};
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};

const KIB: u64 = 1 << 10;

/// Marks allocations that requested their own heap.
const OWN_HEAP: &str = "1";

/// The limits of an allocator and its pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// Limit of DEFAULT heaps, in bytes.
    pub(crate) limit: u64,
    /// The number of heaps in the pool.
    pub(crate) pool_heaps: u32,
    /// The size of the pool's heaps in bytes; zero if it varies.
    pub(crate) pool_heap_size: u64,
    /// Whether NEVER_OVER_ALLOCATE is set; then empty heaps are not released to make room.
    pub(crate) never_over_allocate: bool,
    /// Whether empty heaps are pooled.
    pub(crate) pools_heaps: bool,
    /// Budget of the local segment group, in bytes, which is never exceeded; zero is none.
    pub(crate) budget: u64,
}

/// How an allocation is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In heaps that are shared with others.
    Shared,
    /// In memory that is already held.
    Held,
    /// In a heap of its own.
    Own,
}

/// The kinds to choose from, with the usual one repeated.
pub(crate) const KINDS: [Kind; 5] = [Kind::Shared, Kind::Shared, Kind::Shared, Kind::Held, Kind::Own];

/// The heaps of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Allocator,
    Nested,
    Pool,
}

/// The places to choose from.
pub(crate) const PLACES: [Place; 4] = [Place::Allocator, Place::Allocator, Place::Nested, Place::Pool];

/// A call of the user.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Creates a buffer.
    Buffer { size: u64, kind: Kind, place: Place },
    /// Creates a texture.
    Texture { width: u16, height: u16, kind: Kind, nested: bool },
    /// Plans moves of a defragmentation, and completes some of them. The others stay planned.
    Defragment { moves: u8, completed: u8 },
    /// Abandons the planned moves.
    Abandon,
    /// Frees one of the allocations.
    Free(u16),
    /// Frees four of five allocations.
    FreeMost,
}

struct Scene {
    setup: Setup,
    gpu: Instance,
    allocator: ResourceAllocator,
    nested: ResourceAllocator,
    run: Option<Defragmentation>,
    moves: Vec<Move>,
    /// An allocator without limits, for queries of the size of resources.
    unlimited: ResourceAllocator,
    pool: Pool,
    live: Vec<ResourceAllocation>,
}

/// Performs the steps and checks the invariant whenever an allocation fails.
pub(crate) fn check(profile: &HostProfile, setup: Setup, steps: &[Step]) {
    let gpu = Instance::open(profile).expect("a fresh instance");
    let mut flags = ResourceAllocatorFlags::empty();
    if setup.never_over_allocate {
        flags |= ResourceAllocatorFlags::NEVER_OVER_ALLOCATE;
    }
    if setup.budget > 0 {
        flags |= ResourceAllocatorFlags::ALWAYS_IN_BUDGET;
        gpu.set_budget(heapwright_runtime::SegmentGroup::Local, ByteSize::new(setup.budget));
    }
    let empty_heap_policy =
        if setup.pools_heaps { EmptyHeapPolicy::SegmentedPool } else { EmptyHeapPolicy::Default };
    let limits = HeapLimits { default: Some(ByteSize::new(setup.limit)), ..Default::default() };
    let desc = ResourceAllocatorDesc { flags, limits, empty_heap_policy, ..Default::default() };
    let open = |desc| ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
    let allocator = open(desc.clone());
    let nested = allocator.create_nested(desc).expect("sound");
    let pool = PoolDesc {
        max_heap_count: Some(setup.pool_heaps).filter(|&count| count > 0),
        heap_size: Some(ByteSize::new(setup.pool_heap_size)).filter(|size| !size.is_zero()),
        ..Default::default()
    };
    let pool = allocator.create_pool(pool).expect("sound");
    let unlimited = open(Default::default());
    let (run, moves, live) = (None, Vec::new(), Vec::new());
    let mut scene = Scene { setup, gpu, allocator, nested, run, moves, unlimited, pool, live };
    for step in steps {
        scene.step(step);
    }
    scene.live.clear();
    scene.moves.clear();
    scene.run = None;
    let Scene { allocator, nested, pool, .. } = scene;
    drop(pool);
    for allocator in [nested, allocator] {
        allocator.audit().expect("consistent");
        allocator.release_empty_heaps();
        assert_eq!(allocator.reserved(), ByteSize::ZERO);
    }
}

impl Scene {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Buffer { size, kind, place } => self.create(&buffer_desc(ByteSize::new(size)), kind, place),
            Step::Texture { width, height, kind, nested } => {
                let desc = D3D12_RESOURCE_DESC {
                    Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                    Width: width.into(),
                    Height: height.into(),
                    DepthOrArraySize: 1,
                    MipLevels: 1,
                    Format: DXGI_FORMAT_R8G8B8A8_UNORM,
                    SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
                    ..Default::default()
                };
                self.create(&desc, kind, if nested { Place::Nested } else { Place::Allocator });
            }
            Step::Defragment { moves, completed } => self.defragment(moves.into(), completed.into()),
            Step::Abandon => self.moves.clear(),
            Step::Free(number) => {
                if !self.live.is_empty() {
                    self.live.swap_remove(usize::from(number) % self.live.len());
                }
            }
            Step::FreeMost => {
                let mut number = 0;
                self.live.retain(|_| {
                    number += 1;
                    number % 5 == 0
                });
            }
        }
    }

    fn defragment(&mut self, moves: u32, completed: usize) {
        let begin =
            || self.allocator.defragment(DefragmentationDesc::default()).expect("the default algorithm");
        let run = self.run.get_or_insert_with(begin);
        let budget = DefragmentationBudget { moves, bytes: ByteSize::MAX, time: Duration::MAX };
        let DefragmentationStep { moves, state } = run.step(budget);
        for (number, mut planned) in moves.into_iter().enumerate() {
            let thing = self.live.iter_mut().find(|thing| thing.id() == planned.allocation());
            match thing {
                Some(thing) if number < completed => {
                    planned.create_resource(thing, InitialState::default(), None).expect("it fits");
                    planned.complete(thing).expect("it is its own");
                }
                _ => self.moves.push(planned),
            }
        }
        if state == DefragmentationState::Finished {
            self.run = None;
        }
    }

    fn allocator(&self, place: Place) -> &ResourceAllocator {
        if place == Place::Nested { &self.nested } else { &self.allocator }
    }

    fn reserved(&self) -> u64 {
        self.allocator.reserved().get() + self.nested.reserved().get()
    }

    fn create(&mut self, desc: &D3D12_RESOURCE_DESC, kind: Kind, place: Place) {
        let in_pool = place == Place::Pool;
        let flags = match kind {
            Kind::Shared => ResourceAllocationFlags::NEVER_FALLBACK,
            Kind::Held => ResourceAllocationFlags::NEVER_ALLOCATE_HEAP,
            Kind::Own => {
                ResourceAllocationFlags::NEVER_FALLBACK | ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP
            }
        };
        let wanted = ResourceAllocationDesc {
            flags,
            user_data: u64::from(kind == Kind::Own),
            pool: in_pool.then_some(&self.pool),
            heap_type: (!in_pool).then(|| HeapType::Default.into()),
            ..Default::default()
        };
        let resource = ResourceDesc::new(desc);
        let allocator = self.allocator(place).clone();
        let probed = allocator.probe(&wanted, resource);
        let held_before = self.reserved();
        match allocator.create(&wanted, resource) {
            Ok(made) => {
                if let Ok(Prediction { size, memory, .. }) = probed {
                    assert_eq!(size, made.size());
                    assert!(memory != PredictedMemory::Held || self.reserved() <= held_before);
                }
                self.live.push(made);
            }
            Err(error) => {
                assert!(error.is_out_of_memory(), "{error}");
                assert!(probed.is_err(), "{probed:?}, and then {error}");
                self.check_refusal(&resource, kind, place, &error);
            }
        }
    }

    fn check_refusal(&self, resource: &ResourceDesc<'_>, kind: Kind, place: Place, error: &Error) {
        let Setup { limit, pool_heaps, pool_heap_size, never_over_allocate, budget, .. } = self.setup;
        let in_pool = place == Place::Pool;
        let takes = self
            .unlimited
            .probe(&ResourceAllocationDesc::new(HeapType::Default), resource)
            .expect("nothing limits it");
        let (size, alignment) = (takes.size.get(), takes.alignment.get());
        let [allocator, other] = match place {
            Place::Nested => [&self.nested, &self.allocator],
            Place::Allocator | Place::Pool => [&self.allocator, &self.nested],
        };
        allocator.audit().expect("consistent");
        let [report, other] = [allocator, other].map(ResourceAllocator::report);
        let contents = if resource.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            HeapContents::Buffers
        } else {
            HeapContents::Textures
        };
        let of_kind = report.heaps.iter().filter(|heap| (heap.pool != 0) == in_pool && heap.kind == contents);
        for heap in of_kind {
            let is_open = if kind == Kind::Own {
                heap.allocations.is_empty()
            } else {
                !heap.allocations.iter().any(|one| {
                    // An allocation larger than the pool's heaps has its own heap, too.
                    one.user_data.as_deref() == Some(OWN_HEAP)
                        || in_pool && pool_heap_size != 0 && one.size.get() > pool_heap_size
                })
            };
            assert!(!is_open || !holds(heap, size, alignment), "{size} at {alignment} in {heap:?}: {error}");
        }
        let rest = limit.saturating_sub(allocator.reserved().get());
        let empty = other.heaps.iter().filter(|heap| heap.pool == 0 && heap.allocations.is_empty());
        for heap in empty.filter(|heap| !in_pool && heap.kind == contents && heap.size.get() <= rest) {
            assert!(heap.size.get() < size, "{size} in {heap:?} of the other allocator: {error}");
        }
        if kind == Kind::Held {
            return;
        }
        // A new heap of the smallest size would exceed the limit or the number of heaps.
        let shares_pool = in_pool && kind == Kind::Shared;
        let least = size.next_multiple_of(64 * KIB).max(if shares_pool { pool_heap_size } else { 0 });
        let is_given_back = |heap: &&HeapReport| !never_over_allocate && heap.allocations.is_empty();
        let bytes = |report: &AllocatorReport| -> u64 {
            report.heaps.iter().filter(is_given_back).map(|heap| heap.size.get()).sum()
        };
        let is_over_limit = allocator.reserved().get() - bytes(&report) + least > limit;
        let usage = VideoMemoryInfo::query(&self.gpu.adapter, SegmentGroup::Local).expect("answered");
        let in_use = usage.current_usage.get() - bytes(&report) - bytes(&other);
        let is_over_budget = budget > 0 && in_use + least > budget;
        let in_use = report.heaps.iter().filter(|heap| heap.pool != 0 && !is_given_back(heap)).count();
        let is_pool_full = in_pool && in_use >= pool_heaps as usize;
        let is_too_large = shares_pool && pool_heap_size != 0 && size > pool_heap_size;
        assert!(
            is_over_limit || is_over_budget || is_pool_full || is_too_large,
            "{size} bytes, limit {limit}: {error}"
        );
    }
}

/// The largest size that gets a slot, in bytes, and the divisor of the largest fraction by which a slot may
/// exceed it. The excess belongs to the allocation, so that its slot can be reused for others of its size
/// class.
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
