//! The heaps of one kind: the set that divides them and keeps the empty ones.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{
    HeapSetTotals, PlacementError, PlacementId, PlacementRequest, SharedHeapSet, Sharing,
};
use heapwright_d3d12::*;

use super::prefetch::Prefetch;
use super::set_desc::{TypedHeapsDesc, set_desc};
use crate::desc::{EmptyHeapPolicy, ResourceAllocationFlags};
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::source::{
    CREATE_HEAP, Charged, Heap, HeapSource, NewMemory, PoolHeaps, Refused, Suspects, UnusedBuffer,
};

/// Heaps of one kind, which the resources of one class share.
///
/// Locking is that of the set and of the pool. Neither lock is held while a heap is created or destroyed.
pub(crate) struct TypedHeaps {
    pub(crate) desc: TypedHeapsDesc,
    pub(crate) set: SharedHeapSet<Arc<Heap>>,
    pub(crate) source: Arc<HeapSource>,
    pub(crate) prefetch: Arc<Prefetch>,
    /// The number of heaps of a custom pool.
    pool_heaps: Option<Arc<PoolHeaps>>,
}

/// What passed, after which empty heaps may not be worth keeping any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Operations on any heaps.
    Operations,
    /// A frame.
    Frame,
    /// A period of the clock. Heaps that were empty for two of them are released.
    Period,
    /// A period of the clock, and some of these heaps are released.
    BegunPeriod,
    /// Some time of a period, and some more of these heaps are released.
    PartOfPeriod,
}

impl TypedHeaps {
    pub(crate) fn new(desc: TypedHeapsDesc, source: Arc<HeapSource>) -> Arc<Self> {
        let pool_heaps = desc.pool.as_ref().map(|_| PoolHeaps::new(desc.min_heap_count, desc.max_heap_count));
        Arc::new(Self {
            set: SharedHeapSet::with_shared(
                &set_desc(&source, &desc),
                match source.desc.empty_heap_policy {
                    EmptyHeapPolicy::UntilNextFree => Arc::default(),
                    _ => Arc::clone(&source.tally),
                },
                Arc::clone(source.timers.of(desc.heap_type).prices()),
            ),
            desc,
            source,
            prefetch: Arc::default(),
            pool_heaps,
        })
    }

    /// Releases the empty heaps by which more would be held, after a heap of `size` bytes is added, than was in use at
    /// once.
    pub(crate) fn make_way(&self, size: ByteSize) {
        if !self.source.never_over_allocates() {
            self.recycle(self.set.make_way(size));
        }
    }

    /// Returns the one size of new heaps that a pool gives to requests that share them, if it gives one.
    pub(crate) fn fixed_heap_size(&self, sharing: Sharing) -> Option<ByteSize> {
        Some(self.desc.heap_size).filter(|size| sharing == Sharing::Shared && !size.is_zero())
    }

    /// Returns the size of the heap that is created for a request, or the maximum if that is less. Changes nothing.
    pub(crate) fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let size =
            self.fixed_heap_size(request.sharing).map_or_else(|| self.set.new_heap_size(request), Ok)?;
        Ok(size.min(self.source.max_heap_size))
    }

    /// Returns the number and the bytes of heaps that are not empty and contain nothing but slabs without used slots
    /// and `unused` backing buffers. O(n) for n of these.
    pub(crate) fn vacated(&self, unused: &[UnusedBuffer]) -> (u64, ByteSize) {
        let here = unused.iter().filter(|buffer| buffer.heaps == self.desc.number);
        let ids: Vec<PlacementId> = here.map(|buffer| buffer.id).collect();
        let sizes = self.set.vacated(&ids, |heap| heap.size());
        let bytes = sizes.iter().fold(ByteSize::ZERO, |sum, &size| sum.saturating_add(size));
        (sizes.len() as u64, bytes)
    }

    /// Checks whether a pool may have one more heap, if the new memory is one.
    pub(super) fn check_heap_count(&self, new: &NewMemory) -> Result<(), Obstacle> {
        let pool = self.pool_heaps.as_ref().filter(|_| new.what == Charged::Heap);
        pool.map_or(Ok(()), |pool| pool.check())
    }

    /// Returns a new heap of `size` bytes.
    pub(crate) fn new_memory(&self, size: ByteSize, allocation_flags: ResourceAllocationFlags) -> NewMemory {
        NewMemory {
            account: self.desc.account(),
            what: Charged::Heap,
            size,
            flags: self.desc.heap.Flags,
            priority: self.desc.residency_priority,
            allocation_flags,
        }
    }

    /// Creates a heap, if pool, limits and manager permit it.
    pub(super) fn create_heap(
        &self,
        size: ByteSize,
        allocation_flags: ResourceAllocationFlags,
    ) -> Result<Arc<Heap>, Refusal> {
        let Self { desc: TypedHeapsDesc { heap_type, class, .. }, source, .. } = self;
        let new = self.new_memory(size, allocation_flags);
        // One that is not managed although there is a manager is of no use to other allocations.
        let is_usable = source.residency.is_some() == source.manager_for(allocation_flags).is_some();
        let is_regular = is_usable && size == self.desc.heap_size;
        let permit = self.pool_heaps.as_ref().map(|pool| pool.add(is_regular));
        let permit = permit.transpose().map_err(|obstacle| new.refused(obstacle))?;
        let desc = D3D12_HEAP_DESC { SizeInBytes: size.get(), ..self.desc.heap };
        let timer = source.timers.of(*heap_type);
        let made = source.make(&new, || {
            let mut heap: Option<ID3D12Heap> = None;
            let call = || match &self.desc.protected_session {
                None => {
                    let device = &source.devices.device;
                    // SAFETY: the device is a live COM object, the description outlives the call, and the result is
                    // written to a variable of the interface that is asked for.
                    unsafe { device.CreateHeap(&desc, &mut heap) }.map_err(|error| error.code())
                }
                Some(session) => {
                    // `create_pool` rejects a session if the device lacks the interface.
                    let device = source.devices.device4.as_ref().ok_or(E_NOINTERFACE)?;
                    // SAFETY: as above; the session is a live COM object.
                    unsafe { device.CreateHeap1(&desc, session, &mut heap) }.map_err(|error| error.code())
                }
            };
            let made = timer.time(call).and_then(|((), time)| Ok((heap.ok_or(E_POINTER)?, time)));
            let (heap, time) = made.map_err(|hresult| {
                let suspects = self.desc.pool.as_ref().and_then(|_| Suspects::of_pool(desc.Flags));
                Refused { call: CREATE_HEAP, hresult, suspects }.into_refusal(MemorySource::NewHeap(size))
            })?;
            timer.note(size, false, time);
            self.set_priority(&heap);
            Ok(heap)
        })?;
        source.ledger.count_created_heap();
        tracing::debug!(%heap_type, ?class, %size, "created a heap");
        Ok(Heap::new(timer, &desc, size, made, permit))
    }

    /// Sets the priority of a pool for new memory, unless a manager does it.
    pub(super) fn set_priority(&self, memory: &(impl Clone + Into<ID3D12Pageable>)) {
        let priority = self.desc.residency_priority.filter(|_| self.source.residency.is_none());
        if let (Some(priority), Some(device)) = (priority, &self.source.devices.device1) {
            let pageable = Some(memory.clone().into());
            // SAFETY: one object and one priority, both readable; the object is alive.
            let set = unsafe { device.SetResidencyPriority(1, &pageable, &priority) };
            if set.is_err() {
                tracing::warn!(priority, "SetResidencyPriority failed: {:#}", hresult::Named(set));
            }
        }
    }

    /// Adds an empty heap.
    pub(crate) fn insert_empty(&self, heap: Arc<Heap>) -> Result<(), PlacementError> {
        self.set.insert(heap.size(), heap)
    }

    /// Creates a heap for later requests, if it is still wanted and permitted.
    pub(super) fn prefetch_heap(&self, size: ByteSize, allocation_flags: ResourceAllocationFlags) {
        // The budget may have changed since the request.
        let is_wanted = self.source.owner.strong_count() > 0;
        if !is_wanted || !self.source.may_prefetch(self.desc.segment_group, size, allocation_flags) {
            return;
        }
        match self.create_heap(size, allocation_flags) {
            Ok(heap) => {
                heap.mark_prefetched();
                self.put_back([heap]);
            }
            // The allocation that needs the heap calls the device itself.
            Err(refusal) => tracing::debug!(%size, ?refusal, "prefetching a heap failed"),
        }
    }

    /// Keeps or releases heaps that became empty.
    pub(crate) fn recycle(&self, heaps: Vec<Arc<Heap>>) {
        if heaps.is_empty() {
            return;
        }
        let left = self.leave(heaps);
        if let Some(kept) = self.desc.kept_size {
            // As long as it is managed, if there is a manager.
            let is_usable = |heap: &Heap| self.source.residency.is_some() == heap.residency().is_some();
            self.put_back(left.into_iter().filter(|heap| heap.size() == kept && is_usable(heap)));
        }
    }

    /// Puts the heaps back that a pool needs, and returns the others, which the pool no longer counts.
    pub(crate) fn leave(&self, mut heaps: Vec<Arc<Heap>>) -> Vec<Arc<Heap>> {
        self.put_back(heaps.extract_if(.., |heap| !heap.leave_pool()));
        heaps
    }

    fn put_back(&self, heaps: impl IntoIterator<Item = Arc<Heap>>) {
        for heap in heaps {
            // Refused only if the heap numbers are exhausted; the heap is then released to the device.
            let _refused = self.insert_empty(heap);
        }
    }

    /// Releases empty heaps of at least `bytes` bytes, or all of them, and returns the number of released bytes.
    pub(crate) fn release(&self, bytes: ByteSize) -> ByteSize {
        let left = self.take_leaving(bytes);
        left.iter().fold(ByteSize::ZERO, |sum, heap| sum.saturating_add(heap.size()))
    }

    /// Takes empty heaps that may leave, of at least `bytes` bytes or all of them, out of the set.
    pub(super) fn take_leaving(&self, bytes: ByteSize) -> Vec<Arc<Heap>> {
        let (mut left, mut needed) = (Vec::new(), Vec::new());
        let mut missing = bytes;
        while !missing.is_zero() {
            let taken = self.set.take_empty(missing);
            if taken.is_empty() {
                break;
            }
            for (_, heap) in taken {
                if heap.leave_pool() {
                    missing = missing.saturating_sub(heap.size());
                    left.push(heap);
                } else {
                    needed.push(heap);
                }
            }
        }
        self.put_back(needed);
        left
    }

    /// Releases heaps that are not worth keeping any more. Returns whether there were any.
    pub(crate) fn pass(&self, passed: Passed) -> bool {
        let heaps = match passed {
            Passed::Operations => self.set.pass_operations(),
            Passed::Frame => self.set.pass_frame(),
            Passed::Period => self.set.pass_period(),
            Passed::BegunPeriod => {
                self.set.count_period();
                self.set.take_overdue()
            }
            Passed::PartOfPeriod => self.set.take_overdue(),
        };
        let are_any = !heaps.is_empty();
        self.recycle(heaps);
        are_any
    }

    /// Returns the totals of the heaps, including empty ones that are held.
    pub(crate) fn totals(&self) -> HeapSetTotals {
        self.set.totals()
    }

    #[inline]
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.prefetch.wait();
        self.set.audit().map_err(|error| {
            let TypedHeapsDesc { heap_type, class, .. } = self.desc;
            format!("{heap_type} heaps of {class:?}: {error}")
        })
    }
}
