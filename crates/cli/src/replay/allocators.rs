//! The allocators and pools of a replay, whose time is that of the recording.

use std::time::Duration;

use heapwright::{ByteSize, Error, Pool, ResourceAllocator, ResourceAllocatorDesc};
use heapwright_loader::Gpu;

use super::configuration::Configuration;
use super::engine::Settings;
use super::recorded::{RecordedTrace, Step, StepKind};

/// The allocators of a replay. The first is the only one of most.
#[derive(Debug)]
pub(super) struct Allocators {
    allocators: Vec<ReplayedAllocator>,
    /// The live pools, if they are as recorded.
    pools: Option<Vec<Option<Pool>>>,
    /// Sum over all allocators.
    total: Held,
}

#[derive(Debug)]
struct ReplayedAllocator {
    /// `None` after the application has dropped its last handle.
    allocator: Option<ResourceAllocator>,
    is_nested: bool,
    /// Number of heaps that it had created when it was dropped.
    heaps_created: u64,
    /// Sum of the requested sizes of its live buffers, in bytes.
    live: u64,
    /// The amounts after its last change.
    held: Held,
}

/// Memory and heap time of allocators.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Bytes in heaps.
    pub(super) reserved: u64,
    /// Estimated time of all heaps so far.
    pub(super) heap_time: Duration,
}

impl Allocators {
    /// Creates the allocators of a recording, nested as they were.
    pub(super) fn new(recorded: &RecordedTrace, gpu: &Gpu, settings: &Settings) -> Result<Self, Error> {
        let &Settings { configuration, ref options, ref record_options, .. } = settings;
        let mut allocators: Vec<ReplayedAllocator> = Vec::new();
        for index in 0..recorded.allocator_count() {
            let mut desc: ResourceAllocatorDesc = configuration.desc(recorded, index)?;
            options.iter().try_for_each(|(name, value)| desc.set_option(name, value))?;
            desc.record_options = record_options.clone();
            let parent = recorded.parent(index).and_then(|parent| allocators[parent].allocator.as_ref());
            let allocator = match parent {
                Some(parent) => parent.create_nested(desc)?,
                None => ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), desc)?,
            };
            if recorded.has_steps() {
                // Its time is that of the steps.
                allocator.on_time(Duration::ZERO);
            }
            allocators.push(ReplayedAllocator {
                allocator: Some(allocator),
                is_nested: recorded.parent(index).is_some(),
                heaps_created: 0,
                live: 0,
                held: Held::default(),
            });
        }
        // Other configurations ask what the allocator would do with its own heaps.
        let has_pools = configuration == Configuration::Captured;
        let pools = has_pools.then(|| std::iter::repeat_with(|| None).take(recorded.pool_count()).collect());
        Ok(Self { allocators, pools, total: Held::default() })
    }

    pub(super) fn len(&self) -> usize {
        self.allocators.len()
    }

    /// Returns an allocator, unless it has been dropped.
    pub(super) fn get(&self, allocator: usize) -> Option<&ResourceAllocator> {
        self.allocators[allocator].allocator.as_ref()
    }

    /// Returns the allocators that have not been dropped.
    pub(super) fn live(&self) -> impl Iterator<Item = &ResourceAllocator> {
        self.allocators.iter().filter_map(|replayed| replayed.allocator.as_ref())
    }

    /// Returns a pool, if pools are as recorded and it exists.
    pub(super) fn pool(&self, pool: u32) -> Option<&Pool> {
        self.pools.as_ref()?[pool as usize].as_ref()
    }

    /// Returns the number of heaps that all of them have created.
    pub(super) fn heaps_created(&self) -> u64 {
        let before = self.allocators.iter().map(|replayed| replayed.heaps_created);
        before.chain(self.live().map(|allocator| allocator.stats().heaps_created)).sum()
    }

    pub(super) fn total(&self) -> Held {
        self.total
    }

    /// Counts a buffer of this size.
    pub(super) fn add_live(&mut self, allocator: usize, size: u64) {
        self.allocators[allocator].live += size;
    }

    /// Counts a buffer of this size no more.
    pub(super) fn remove_live(&mut self, allocator: usize, size: u64) {
        self.allocators[allocator].live -= size;
    }

    /// Updates the total after an allocator was used.
    pub(super) fn update(&mut self, allocator: usize) {
        let replayed = &mut self.allocators[allocator];
        let (last, now) = (replayed.held, replayed.held());
        replayed.held = now;
        self.total.reserved = self.total.reserved - last.reserved + now.reserved;
        self.total.heap_time = self.total.heap_time - last.heap_time + now.heap_time;
    }

    /// Drops pools and nested allocators, and releases all empty heaps. The empty heaps that nested allocators share are released with
    /// the last of them if the application has dropped the outermost one.
    pub(super) fn release_everything(&mut self) {
        self.pools = None;
        self.allocators.iter_mut().filter(|replayed| replayed.is_nested).for_each(ReplayedAllocator::drop);
        for allocator in self.live() {
            allocator.release_empty_heaps();
        }
    }

    /// Does what the application did, and updates the total.
    pub(super) fn take(&mut self, recorded: &RecordedTrace, step: &Step) -> Result<(), Error> {
        let Self { allocators, pools, .. } = self;
        let index = step.allocator as usize;
        let replayed = &mut allocators[index];
        match (step.kind, &replayed.allocator, pools) {
            (StepKind::Frame, Some(allocator), _) => allocator.end_frame(),
            (StepKind::IdlePeriod, Some(allocator), _) => allocator.replay_idle_period(),
            (StepKind::ReleaseHeaps(bytes), Some(allocator), _) => {
                allocator.release_resource_heaps(ByteSize::new(bytes));
            }
            (StepKind::HeapTime { heap_type, is_free, time }, Some(allocator), _) => {
                allocator.replay_heap_time(heap_type, is_free, time);
            }
            (StepKind::Drop, ..) => replayed.drop(),
            (StepKind::CreatePool(pool), Some(allocator), Some(pools)) => {
                pools[pool as usize] = Some(allocator.create_pool(recorded.pool(pool)?)?);
            }
            // Pools may outlive their allocator.
            (StepKind::DropPool(pool), _, Some(pools)) => pools[pool as usize] = None,
            (StepKind::ReleasePool(pool), _, Some(pools)) => {
                pools[pool as usize].as_ref().map(Pool::release_empty_heaps);
            }
            (StepKind::Prefetch(prefetch), Some(allocator), Some(pools)) => {
                let prefetch = recorded.prefetch(prefetch);
                let pool = prefetch.pool.and_then(|pool| pools[pool as usize].as_ref());
                // The allocation that needs the heap creates it otherwise.
                let _refused = allocator.replay_prefetch(&prefetch.heap, pool, prefetch.is_shared);
            }
            // Pools are not as recorded, or the allocator has been dropped, after which readers refuse its steps.
            _ => {}
        }
        self.update(index);
        Ok(())
    }
}

impl ReplayedAllocator {
    fn drop(&mut self) {
        if let Some(allocator) = self.allocator.take() {
            self.heaps_created = allocator.stats().heaps_created;
        }
    }

    /// Returns what the allocator holds.
    fn held(&self) -> Held {
        match &self.allocator {
            Some(allocator) => {
                Held { reserved: allocator.reserved().get(), heap_time: allocator.heap_time() }
            }
            // Its allocations are all that is left, and nothing tells the size of their heaps.
            None => Held { reserved: self.live, heap_time: self.held.heap_time },
        }
    }
}
