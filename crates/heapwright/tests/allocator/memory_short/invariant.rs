//! The invariant: an allocation fails only if no free range of its eligible heaps fits it and no new heap
//! is allowed.
//!
//! The fuzz target `memory_short` includes this file.

use std::iter;

use heapwright::d3d12::*;
use heapwright::report::{HeapContents, HeapReport};
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

/// A call of the user.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Creates a buffer.
    Buffer { size: u64, kind: Kind, in_pool: bool },
    /// Creates a texture.
    Texture { width: u16, height: u16, kind: Kind },
    /// Frees one of the allocations.
    Free(u16),
    /// Frees four of five allocations.
    FreeMost,
}

struct Scene {
    setup: Setup,
    allocator: ResourceAllocator,
    /// An allocator without limits, for queries of the size of resources.
    unlimited: ResourceAllocator,
    pool: Pool,
    live: Vec<ResourceAllocation>,
}

/// Performs the steps and checks the invariant whenever an allocation fails.
pub(crate) fn check(profile: &HostProfile, setup: Setup, steps: &[Step]) {
    let gpu = Instance::open(profile).expect("a fresh instance");
    let flags = if setup.never_over_allocate {
        ResourceAllocatorFlags::NEVER_OVER_ALLOCATE
    } else {
        ResourceAllocatorFlags::empty()
    };
    let limits = HeapLimits { default: Some(ByteSize::new(setup.limit)), ..Default::default() };
    let desc = ResourceAllocatorDesc { flags, limits, ..Default::default() };
    let open = |desc| ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
    let allocator = open(desc);
    let pool = PoolDesc {
        max_heap_count: Some(setup.pool_heaps).filter(|&count| count > 0),
        heap_size: Some(ByteSize::new(setup.pool_heap_size)).filter(|size| !size.is_zero()),
        ..Default::default()
    };
    let pool = allocator.create_pool(pool).expect("sound");
    let mut scene = Scene { setup, allocator, unlimited: open(Default::default()), pool, live: Vec::new() };
    for step in steps {
        scene.step(step);
    }
    scene.live.clear();
    scene.allocator.audit().expect("consistent");
    let Scene { allocator, pool, .. } = scene;
    drop(pool);
    allocator.release_empty_heaps();
    assert_eq!(allocator.reserved(), ByteSize::ZERO);
}

impl Scene {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Buffer { size, kind, in_pool } => {
                self.create(&buffer_desc(ByteSize::new(size)), kind, in_pool);
            }
            Step::Texture { width, height, kind } => {
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
                self.create(&desc, kind, false);
            }
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

    fn create(&mut self, desc: &D3D12_RESOURCE_DESC, kind: Kind, in_pool: bool) {
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
        let probed = self.allocator.probe(&wanted, &resource);
        let held_before = self.allocator.reserved();
        match self.allocator.create(&wanted, &resource) {
            Ok(made) => {
                let Probe { size, memory, .. } = probed.expect("what is probed is what happens");
                assert_eq!(size, made.size());
                assert!(memory != ProbedMemory::Held || self.allocator.reserved() <= held_before);
                self.live.push(made);
            }
            Err(error) => {
                assert!(error.is_out_of_memory(), "{error}");
                assert!(probed.is_err(), "{probed:?}, and then {error}");
                self.check_refusal(&resource, kind, in_pool, &error);
            }
        }
    }

    fn check_refusal(&self, resource: &ResourceDesc<'_>, kind: Kind, in_pool: bool, error: &Error) {
        let Setup { limit, pool_heaps, pool_heap_size, never_over_allocate } = self.setup;
        let takes = self
            .unlimited
            .probe(&ResourceAllocationDesc::new(HeapType::Default), resource)
            .expect("nothing limits it");
        let (size, alignment) = (takes.size.get(), takes.alignment.get());
        let report = self.allocator.report();
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
        if kind == Kind::Held {
            return;
        }
        // A new heap of the smallest size would exceed the limit or the number of heaps.
        let shares_pool = in_pool && kind == Kind::Shared;
        let least = size.next_multiple_of(64 * KIB).max(if shares_pool { pool_heap_size } else { 0 });
        let is_given_back = |heap: &&HeapReport| !never_over_allocate && heap.allocations.is_empty();
        let given_back: u64 = report.heaps.iter().filter(is_given_back).map(|heap| heap.size.get()).sum();
        let is_over_limit = self.allocator.reserved().get() - given_back + least > limit;
        let in_use = report.heaps.iter().filter(|heap| heap.pool != 0 && !is_given_back(heap)).count();
        let is_pool_full = in_pool && in_use >= pool_heaps as usize;
        let is_too_large = shares_pool && pool_heap_size != 0 && size > pool_heap_size;
        assert!(is_over_limit || is_pool_full || is_too_large, "{size} bytes, limit {limit}: {error}");
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
