//! The allocators and pools of a replay, whose time is that of the recording.

use std::time::Duration;

use heapwright::{ByteSize, Error, Pool, ResourceAllocator, ResourceAllocatorDesc};
use heapwright_loader::Gpu;

use super::configuration::Configuration;
use super::recorded::{HeapTime, RecordedTrace, Step, StepKind};
use super::settings::Settings;

/// The allocators of a replay. The first is the only one of most.
#[derive(Debug)]
pub(super) struct Allocators<'a> {
    recorded: &'a RecordedTrace,
    gpu: &'a Gpu,
    settings: &'a Settings,
    allocators: Vec<ReplayedAllocator>,
    /// The live pools, if they are as recorded.
    pools: Option<Vec<Option<Pool>>>,
    /// The sum over all allocators.
    total: u64,
}

/// Allocators are created when they were, or for their first use, if they do something.
#[derive(Debug, Default)]
enum Handle {
    #[default]
    NotYet,
    Live(ResourceAllocator),
    /// The application has dropped its last handle.
    Dropped,
}

#[derive(Debug, Default)]
struct ReplayedAllocator {
    handle: Handle,
    /// Number of heaps that it had created when it was dropped.
    heaps_created: u64,
    /// Sum of the requested sizes of its live buffers, in bytes.
    live: u64,
    /// The bytes in its heaps after its last change.
    held: u64,
}

impl<'a> Allocators<'a> {
    pub(super) fn new(recorded: &'a RecordedTrace, gpu: &'a Gpu, settings: &'a Settings) -> Self {
        let allocators = (0..recorded.calls.allocators.len()).map(|_| ReplayedAllocator::default()).collect();
        // Other configurations ask what the allocator would do with its own heaps.
        let has_pools = settings.configuration == Configuration::Captured;
        let pools =
            has_pools.then(|| std::iter::repeat_with(|| None).take(recorded.calls.pools.len()).collect());
        Self { recorded, gpu, settings, allocators, pools, total: 0 }
    }

    /// Creates an allocator, nested as it was, unless it exists or has been dropped.
    pub(super) fn create(&mut self, index: usize) -> Result<(), Error> {
        let &mut Self { recorded, gpu, settings, .. } = self;
        if !matches!(self.allocators[index].handle, Handle::NotYet) {
            return Ok(());
        }
        let mut desc: ResourceAllocatorDesc = settings.configuration.desc(recorded, index)?;
        settings.options.iter().try_for_each(|(name, value)| desc.set_option(name, value))?;
        desc.record_options = settings.record_options.clone();
        let parent = recorded.parent(index);
        parent.map_or(Ok(()), |parent| self.create(parent))?;
        let allocator = match parent.and_then(|parent| self.get(parent)) {
            Some(parent) => parent.create_nested(desc)?,
            None => ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), desc)?,
        };
        if recorded.has_steps() {
            // Its time is that of the steps.
            allocator.on_time(Duration::ZERO);
        }
        // Other configurations have other heaps.
        if settings.configuration == Configuration::Captured {
            for &HeapTime { heap_type, is_free, time } in &recorded.calls.allocators[index].heap_times {
                allocator.replay_heap_time(heap_type, is_free, time);
            }
        }
        self.allocators[index].handle = Handle::Live(allocator);
        Ok(())
    }

    /// Returns whether all allocators are live that have been created, so that they hold everything.
    pub(super) fn are_all_live(&self) -> bool {
        self.allocators.iter().all(|replayed| !matches!(replayed.handle, Handle::Dropped))
    }

    pub(super) fn len(&self) -> usize {
        self.allocators.len()
    }

    /// Returns an allocator that exists.
    pub(super) fn get(&self, allocator: usize) -> Option<&ResourceAllocator> {
        self.allocators[allocator].get()
    }

    /// Returns the allocators that exist.
    pub(super) fn live(&self) -> impl Iterator<Item = &ResourceAllocator> {
        self.allocators.iter().filter_map(ReplayedAllocator::get)
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

    /// Returns the bytes in the heaps of all allocators.
    pub(super) fn total(&self) -> u64 {
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
        self.total = self.total - last + now;
    }

    /// Drops pools and nested allocators, and releases all empty heaps. The empty heaps that nested allocators share
    /// are released with the last of them if the application has dropped the outermost one.
    pub(super) fn release_everything(&mut self) {
        self.pools = None;
        for (index, replayed) in self.allocators.iter_mut().enumerate() {
            if self.recorded.parent(index).is_some() {
                replayed.drop();
            }
        }
        for allocator in self.live() {
            allocator.release_empty_heaps();
        }
    }

    /// Does what the application did, and updates the total.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), Error> {
        let index = step.allocator as usize;
        match step.kind {
            // Nothing can be nested in it later.
            // A program may have many that do nothing.
            StepKind::Create if !self.recorded.calls.allocators[index].is_used => return Ok(()),
            StepKind::Drop => self.recorded.nested_in(index).try_for_each(|nested| self.create(nested))?,
            _ => self.create(index)?,
        }
        let Self { recorded, allocators, pools, .. } = self;
        let replayed = &mut allocators[index];
        match (step.kind, replayed.get(), pools) {
            (StepKind::Frame, Some(allocator), _) => allocator.end_frame(),
            (StepKind::IdlePeriod, Some(allocator), _) => allocator.replay_idle_period(),
            (StepKind::ReleaseHeaps(bytes), Some(allocator), _) => {
                allocator.release_resource_heaps(ByteSize::new(bytes));
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
            // The others are not about allocators alone, pools are not as recorded, or the allocator has been dropped,
            // after which readers refuse its steps.
            _ => {}
        }
        self.update(index);
        Ok(())
    }
}

impl ReplayedAllocator {
    fn get(&self) -> Option<&ResourceAllocator> {
        match &self.handle {
            Handle::Live(allocator) => Some(allocator),
            Handle::NotYet | Handle::Dropped => None,
        }
    }

    fn drop(&mut self) {
        self.heaps_created =
            self.get().map_or(self.heaps_created, |allocator| allocator.stats().heaps_created);
        self.handle = Handle::Dropped;
    }

    /// Returns the bytes in the allocator's heaps.
    fn held(&self) -> u64 {
        // Without it, its allocations are all that is left, and nothing tells the size of their heaps.
        self.get().map_or(self.live, |allocator| allocator.reserved().get())
    }
}
