//! The judge: the tracked state of all resources of a device, and the effects of accesses.
//!
//! The judge runs in the order of the queues' execution, under the tracker's lock. It makes no calls to the outside,
//! but returns violations and the ranges that have become undefined.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Weak};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;

use super::changes::{BufferAddresses, Changes};
use super::ids::{HeapId, ResourceId};
use super::laws::{AliasingLaws, Row};
use super::memory::HeapMemory;
use super::prohibitions::Breach;
use super::resource::{Label, TrackedHome, TrackedResource};
use super::rule::Rule;
use super::submission::Submission;
use super::view_tables::SkippedViews;
use super::violation::{Subject, Violation};
use crate::drivers::command::Command;
use crate::drivers::heap::DriverHeap;
use crate::drivers::resource::DriverResource;
use crate::fence::clock::Clock;

/// The options of tracking.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackingOptions {
    /// Whether the simple usage model applies instead of the advanced one.
    pub(super) is_simple: bool,
    pub(super) laws: AliasingLaws,
    /// The seed for overwriting undefined bytes, if they are overwritten.
    pub(super) scramble: Option<u64>,
}

/// A heap in which resources are placed or to which tiles are mapped.
pub(super) struct TrackedHeap {
    /// Keeps the address, by which resources find the heap, from being reused.
    driver: Weak<DriverHeap>,
    label: Arc<Label>,
    gpu_address: u64,
    pub(super) is_shared: bool,
    pub(super) is_zeroed: bool,
    pub(super) memory: HeapMemory,
}

/// The tracked state.
pub(super) struct Judge {
    pub(super) options: TrackingOptions,
    pub(super) has_standard_swizzle: bool,
    resources: HashMap<ResourceId, Known>,
    by_address: HashMap<usize, ResourceId>,
    pub(super) heaps: HashMap<HeapId, TrackedHeap>,
    heap_by_address: HashMap<usize, HeapId>,
    /// Heaps by their first GPU virtual address.
    heap_by_gpu_address: BTreeMap<u64, HeapId>,
    /// Clocks by agent.
    pub(super) clocks: Vec<Clock>,
    /// Violations that are not reported yet.
    pub(super) found: Vec<Violation>,
    /// Number of overwrites, which varies the data that is written.
    pub(super) scrambles: u64,
    /// Number of skipped draws and dispatches.
    pub(super) skipped: u64,
    /// Number of parts of resources that draws and dispatches were found to write.
    #[cfg(test)]
    pub(super) visits: u64,
    pub(super) changes: Changes,
    pub(super) buffers: BufferAddresses,
    pub(super) views: SkippedViews,
    last_resource: u64,
    last_heap: u64,
    /// All known resources, in the order in which they are checked for release.
    sweep: VecDeque<ResourceId>,
    heap_sweep: VecDeque<HeapId>,
}

/// A known resource.
struct Known {
    /// The name for messages while the resource is taken out.
    label: Arc<Label>,
    resource: Option<Box<TrackedResource>>,
}

/// An access and its surroundings.
pub(super) struct Step<'a> {
    pub(super) submission: &'a mut Submission,
    /// Commands that must be executed before the one under judgement.
    pub(super) commands: &'a mut Vec<Command>,
}

fn address_of<T: ?Sized>(object: &Arc<T>) -> usize {
    Arc::as_ptr(object).cast::<()>().addr()
}

impl Judge {
    pub(super) fn new(options: TrackingOptions, has_standard_swizzle: bool) -> Self {
        Self {
            options,
            has_standard_swizzle,
            resources: HashMap::new(),
            by_address: HashMap::new(),
            heaps: HashMap::new(),
            heap_by_address: HashMap::new(),
            heap_by_gpu_address: BTreeMap::new(),
            clocks: vec![Clock::default()],
            found: Vec::new(),
            scrambles: 0,
            skipped: 0,
            #[cfg(test)]
            visits: 0,
            changes: Changes::default(),
            buffers: BufferAddresses::default(),
            views: SkippedViews::default(),
            last_resource: 0,
            last_heap: 0,
            sweep: VecDeque::new(),
            heap_sweep: VecDeque::new(),
        }
    }

    pub(super) fn has(&self, law: AliasingLaws) -> bool {
        self.options.laws.contains(law)
    }

    pub(super) fn clock(&mut self, agent: u32) -> &mut Clock {
        let index = usize::try_from(agent).unwrap_or(0);
        if index >= self.clocks.len() {
            self.clocks.resize(index + 1, Clock::default());
        }
        &mut self.clocks[index]
    }

    /// Returns the id of a driver's heap, which is added if it is not known yet.
    pub(super) fn heap(
        &mut self,
        driver: &Arc<DriverHeap>,
        label: &Arc<Label>,
        flags: Option<D3D12_HEAP_FLAGS>,
    ) -> HeapId {
        self.forget_a_heap();
        let address = address_of(driver);
        let next = HeapId(self.last_heap + 1);
        let id = *self.heap_by_address.entry(address).or_insert(next);
        if id == next {
            self.last_heap = next.0;
            self.heap_sweep.push_back(id);
            let flags = flags.unwrap_or(0);
            let heap = TrackedHeap {
                driver: Arc::downgrade(driver),
                label: Arc::clone(label),
                gpu_address: driver.gpu_virtual_address().get(),
                is_shared: flags & (D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER) != 0,
                is_zeroed: flags & D3D12_HEAP_FLAG_CREATE_NOT_ZEROED == 0,
                memory: HeapMemory::default(),
            };
            self.heap_by_gpu_address.insert(heap.gpu_address, id);
            self.heaps.insert(id, heap);
        }
        id
    }

    pub(super) fn heap_of(&self, id: HeapId) -> Option<&TrackedHeap> {
        self.heaps.get(&id)
    }

    /// Returns the buffer that was the last user of a GPU virtual address, and the address's offset in it.
    pub(super) fn buffer_at(&self, address: GpuVirtualAddress) -> Option<(ResourceId, u64)> {
        let (&start, &heap) = self.heap_by_gpu_address.range(..=address.get()).next_back()?;
        let byte = address.get() - start;
        let (_, user, offset) = self.heap_of(heap)?.memory.uses(&(byte..byte.checked_add(1)?)).next()?;
        self.resource(user)?.shape.is_buffer().then_some((user, offset))
    }

    /// Adds a resource, which `make` creates from its id.
    pub(super) fn add(
        &mut self,
        driver: &Arc<DriverResource>,
        make: impl FnOnce(ResourceId) -> TrackedResource,
    ) -> ResourceId {
        self.forget_some();
        self.last_resource += 1;
        let id = ResourceId(self.last_resource);
        let mut resource = make(id);
        self.changes.note(&mut resource);
        if resource.shape.is_buffer() {
            self.buffers.add(id, resource.address, resource.shape.size);
        }
        if let TrackedHome::Placed { heap, .. } = resource.home {
            self.admit(heap, &resource);
        }
        let label = Arc::clone(&resource.label);
        self.resources.insert(id, Known { label, resource: Some(Box::new(resource)) });
        self.sweep.push_back(id);
        self.by_address.insert(address_of(driver), id);
        id
    }

    pub(super) fn admit(&mut self, heap: HeapId, resource: &TrackedResource) {
        let granule = resource.shape.granularity.largest();
        if let Some(heap) = self.heaps.get_mut(&heap) {
            heap.memory.admit(granule);
        }
    }

    /// Returns the id of a resource, if it is tracked.
    pub(super) fn id_of(&self, driver: &Arc<DriverResource>) -> Option<ResourceId> {
        self.by_address.get(&address_of(driver)).copied()
    }

    /// Like [`id_of`](Self::id_of), for a resource that may have been released.
    pub(super) fn id_of_live(&self, driver: &Weak<DriverResource>) -> Option<ResourceId> {
        let id = *self.by_address.get(&driver.as_ptr().cast::<()>().addr())?;
        self.resource(id).filter(|resource| !resource.is_gone()).map(|_| id)
    }

    pub(super) fn resource(&self, id: ResourceId) -> Option<&TrackedResource> {
        self.resources.get(&id)?.resource.as_deref()
    }

    pub(super) fn resource_mut(&mut self, id: ResourceId) -> Option<&mut TrackedResource> {
        let resource = self.resources.get_mut(&id)?.resource.as_deref_mut()?;
        self.changes.note(resource);
        Some(resource)
    }

    /// Returns all known resources.
    pub(super) fn known(&self) -> impl Iterator<Item = &TrackedResource> {
        self.sweep.iter().filter_map(|id| self.resource(*id))
    }

    #[cfg(debug_assertions)]
    pub(super) fn known_heaps(&self) -> impl Iterator<Item = (HeapId, &TrackedHeap)> {
        self.heap_sweep.iter().filter_map(|id| Some((*id, self.heap_of(*id)?)))
    }

    /// Takes a resource out, so that others can be changed at the same time; [`put`](Self::put) returns it.
    pub(super) fn take(&mut self, id: ResourceId) -> Option<Box<TrackedResource>> {
        self.resources.get_mut(&id)?.resource.take()
    }

    pub(super) fn put(&mut self, mut resource: Box<TrackedResource>) {
        self.changes.note(&mut resource);
        self.put_unchanged(resource);
    }

    /// Returns a resource of which nothing has changed but what draws and dispatches may have written.
    pub(super) fn put_unchanged(&mut self, resource: Box<TrackedResource>) {
        if let Some(known) = self.resources.get_mut(&resource.id) {
            known.resource = Some(resource);
        }
    }

    /// Checks one heap and removes it with its users if it was released. O(log heaps) plus its ranges.
    fn forget_a_heap(&mut self) {
        let Some(id) = self.heap_sweep.pop_front() else { return };
        if self.heaps.get(&id).is_some_and(|heap| heap.driver.strong_count() != 0) {
            self.heap_sweep.push_back(id);
            return;
        }
        let Some(heap) = self.heaps.remove(&id) else { return };
        self.heap_by_address.remove(&heap.driver.as_ptr().cast::<()>().addr());
        // The address may belong to another heap by now.
        if self.heap_by_gpu_address.get(&heap.gpu_address) == Some(&id) {
            self.heap_by_gpu_address.remove(&heap.gpu_address);
        }
        for (_, user, _) in heap.memory.uses(&(0..u64::MAX)) {
            if let Some(resource) = self.resource_mut(user) {
                resource.use_count -= 1;
            }
        }
    }

    /// Removes released resources that no heap refers to. O(1) for each added resource.
    ///
    /// Checks four resources for each that is added, so that few released ones remain.
    fn forget_some(&mut self) {
        for _ in 0..4 {
            let Some(id) = self.sweep.pop_front() else { return };
            let Some(resource) = self.resource(id) else { continue };
            let (is_gone, use_count) = (resource.is_gone(), resource.use_count);
            let address = resource.driver.as_ptr().cast::<()>().addr();
            if is_gone && self.by_address.get(&address) == Some(&id) {
                self.by_address.remove(&address);
            }
            if is_gone && use_count == 0 {
                let resource = self.resources.remove(&id).and_then(|known| known.resource);
                if let Some(resource) = resource {
                    self.changes.forget(&resource);
                    self.buffers.remove(id, resource.address, resource.shape.size);
                }
            } else {
                self.sweep.push_back(id);
            }
        }
    }

    pub(super) fn subject(&self, id: ResourceId) -> Subject {
        let name = self.resources.get(&id).and_then(|known| known.label.get());
        Subject { number: id.0, name }
    }

    fn heap_name(&self, id: HeapId) -> String {
        match self.heap_of(id).and_then(|heap| heap.label.get()) {
            Some(name) => format!("heap '{name}'"),
            None => format!("heap {} (unnamed)", id.0),
        }
    }

    /// Records what a table of laws says about a resource, or about a barrier, with another resource.
    pub(super) fn check<F>(
        &mut self,
        submission: &mut Submission,
        (table, facts): (&[Row<F, Breach>], &F),
        resource: Option<&TrackedResource>,
        other: Option<ResourceId>,
    ) {
        let laws = self.options.laws;
        for breach in laws.effects(table, facts) {
            self.say(submission, breach, (resource, other), None);
        }
    }

    /// Records a violation, once per submission: of a resource, if there is one, with another one; in units of it, and
    /// the rule that explains it.
    pub(super) fn say(
        &mut self,
        submission: &mut Submission,
        &Breach { rule, severity, what }: &Breach,
        (resource, other): (Option<&TrackedResource>, Option<ResourceId>),
        units: Option<(Range<u32>, Option<Rule>)>,
    ) {
        let (units, because) = units.map_or((None, None), |(units, because)| (Some(units), because));
        let number = resource.map(|resource| resource.id);
        if !submission.say(rule, number, other) {
            return;
        }
        let subject = resource.map(|resource| Subject { number: resource.id.0, name: resource.label.get() });
        let unit = units.as_ref().map(|units| units.start);
        let (heap, bytes) = match resource {
            Some(resource) => {
                let places = match &units {
                    Some(units) => resource.shape.places_of_units(units),
                    None => 0..resource.shape.place_count(),
                };
                resource
                    .memory_of_places(&places)
                    .first()
                    .map_or((None, 0..0), |(heap, bytes, _)| (Some(self.heap_name(*heap)), bytes.clone()))
            }
            None => (None, 0..0),
        };
        let other = other.map(|other| self.subject(other));
        let place = submission.place.clone();
        self.found.push(Violation {
            rule,
            because,
            severity,
            resource: subject,
            other,
            unit,
            heap,
            bytes,
            place,
            what: what.to_owned(),
        });
    }
}
