//! What is known of all resources of a device, and how accesses change it.
//!
//! Everything here happens in the order in which queues execute, under the tracker's lock. The judge calls nobody: it answers
//! with what it found and with which bytes have become undefined.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Weak};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::aliasing::AliasingLaws;
use heapwright_d3d12::*;

use super::clock::Clock;
use super::memory::HeapMemory;
use super::resource::{HeapId, Home, Label, ResourceId, TrackedResource};
use super::rule::Rule;
use super::submission::Submission;
use super::violation::{Severity, Subject, Violation};
use crate::ddi::DriverHeap;
use crate::ddi::command::Command;
use crate::ddi::driver_resource::DriverResource;

/// What is tracked, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The simple usage model, or the advanced one.
    pub(super) is_simple: bool,
    pub(super) laws: AliasingLaws,
    /// Undefined bytes are overwritten, by this seed.
    pub(super) scramble: Option<u64>,
}

/// A heap that resources are placed in, or tiles mapped to.
#[derive(Debug)]
pub(super) struct TrackedHeap {
    /// Keeps the address by which resources find it from being used again.
    driver: Weak<dyn DriverHeap>,
    label: Arc<Label>,
    pub(super) is_shared: bool,
    pub(super) is_zeroed: bool,
    pub(super) memory: HeapMemory,
}

/// All that is known.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) terms: Terms,
    pub(super) has_standard_swizzle: bool,
    /// By number less one; a resource that is gone and remembered by no heap has left its place.
    resources: Vec<Option<Box<TrackedResource>>>,
    by_address: HashMap<usize, ResourceId>,
    pub(super) heaps: Vec<TrackedHeap>,
    heap_by_address: HashMap<usize, HeapId>,
    /// By the first GPU virtual address.
    heap_by_gpu_address: BTreeMap<u64, HeapId>,
    /// By agent.
    pub(super) clocks: Vec<Clock>,
    /// What was found and is not told yet.
    pub(super) found: Vec<Violation>,
    /// Changes what undefined bytes are overwritten with from one time to the next.
    pub(super) scrambles: u64,
    /// Who is looked at next when those that are gone are forgotten.
    sweep: usize,
    heap_sweep: usize,
}

/// An access, with what it is part of.
pub(super) struct Step<'a> {
    pub(super) submission: &'a mut Submission,
    /// Commands that must be executed before the one that is judged.
    pub(super) commands: &'a mut Vec<Command>,
}

fn address_of<T: ?Sized>(object: &Arc<T>) -> usize {
    Arc::as_ptr(object).cast::<()>().addr()
}

impl Judge {
    pub(super) fn new(terms: Terms, has_standard_swizzle: bool) -> Self {
        Self {
            terms,
            has_standard_swizzle,
            resources: Vec::new(),
            by_address: HashMap::new(),
            heaps: Vec::new(),
            heap_by_address: HashMap::new(),
            heap_by_gpu_address: BTreeMap::new(),
            clocks: vec![Clock::default()],
            found: Vec::new(),
            scrambles: 0,
            sweep: 0,
            heap_sweep: 0,
        }
    }

    pub(super) fn has(&self, law: AliasingLaws) -> bool {
        self.terms.laws.contains(law)
    }

    pub(super) fn clock(&mut self, agent: u32) -> &mut Clock {
        let index = usize::try_from(agent).unwrap_or(0);
        if index >= self.clocks.len() {
            self.clocks.resize(index + 1, Clock::default());
        }
        &mut self.clocks[index]
    }

    /// The heap behind the driver's, made known if it is not yet.
    pub(super) fn heap(
        &mut self,
        driver: &Arc<dyn DriverHeap>,
        label: &Arc<Label>,
        flags: Option<D3D12_HEAP_FLAGS>,
    ) -> HeapId {
        self.forget_a_heap();
        let address = address_of(driver);
        let next = HeapId(self.heaps.len() as u64);
        let id = *self.heap_by_address.entry(address).or_insert(next);
        if id == next {
            let flags = flags.unwrap_or(0);
            self.heap_by_gpu_address.insert(driver.gpu_virtual_address().get(), id);
            self.heaps.push(TrackedHeap {
                driver: Arc::downgrade(driver),
                label: Arc::clone(label),
                is_shared: flags & (D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER) != 0,
                is_zeroed: flags & D3D12_HEAP_FLAG_CREATE_NOT_ZEROED == 0,
                memory: HeapMemory::default(),
            });
        }
        id
    }

    pub(super) fn heap_of(&self, id: HeapId) -> Option<&TrackedHeap> {
        self.heaps.get(usize::try_from(id.0).ok()?)
    }

    /// The buffer that used a GPU virtual address last, and which of its bytes that is.
    pub(super) fn buffer_at(&self, address: GpuVirtualAddress) -> Option<(ResourceId, u64)> {
        let (&start, &heap) = self.heap_by_gpu_address.range(..=address.get()).next_back()?;
        let byte = address.get() - start;
        let (_, user, offset) = self.heap_of(heap)?.memory.uses(&(byte..byte.checked_add(1)?)).next()?;
        self.resource(user)?.shape.is_buffer().then_some((user, offset))
    }

    /// Makes a resource known; `make` is given its number.
    pub(super) fn add(
        &mut self,
        driver: &Arc<dyn DriverResource>,
        make: impl FnOnce(ResourceId) -> TrackedResource,
    ) -> ResourceId {
        self.forget_some();
        let id = ResourceId(self.resources.len() as u64 + 1);
        let resource = make(id);
        if let Home::Placed { heap, .. } = resource.home {
            self.admit(heap, &resource);
        }
        self.resources.push(Some(Box::new(resource)));
        self.by_address.insert(address_of(driver), id);
        id
    }

    pub(super) fn admit(&mut self, heap: HeapId, resource: &TrackedResource) {
        let granule = resource.shape.granularity.largest();
        if let Some(heap) = usize::try_from(heap.0).ok().and_then(|index| self.heaps.get_mut(index)) {
            heap.memory.admit(granule);
        }
    }

    /// The number of a resource, if it is tracked.
    pub(super) fn id_of(&self, driver: &Arc<dyn DriverResource>) -> Option<ResourceId> {
        self.by_address.get(&address_of(driver)).copied()
    }

    pub(super) fn resource(&self, id: ResourceId) -> Option<&TrackedResource> {
        self.resources.get(slot(id)?)?.as_deref()
    }

    pub(super) fn resource_mut(&mut self, id: ResourceId) -> Option<&mut TrackedResource> {
        self.resources.get_mut(slot(id)?)?.as_deref_mut()
    }

    /// Takes a resource out, so that others can be changed beside it; [`put`](Self::put) brings it back.
    pub(super) fn take(&mut self, id: ResourceId) -> Option<Box<TrackedResource>> {
        self.resources.get_mut(slot(id)?)?.take()
    }

    pub(super) fn put(&mut self, resource: Box<TrackedResource>) {
        if let Some(place) = slot(resource.id).and_then(|index| self.resources.get_mut(index)) {
            *place = Some(resource);
        }
    }

    /// Forgets who used a heap that is gone: O(1), and what it remembers.
    fn forget_a_heap(&mut self) {
        if self.heap_sweep >= self.heaps.len() {
            self.heap_sweep = 0;
        }
        let Some(heap) = self.heaps.get_mut(self.heap_sweep) else { return };
        self.heap_sweep += 1;
        if heap.driver.strong_count() != 0 {
            return;
        }
        let (address, memory) = (heap.driver.as_ptr().cast::<()>().addr(), std::mem::take(&mut heap.memory));
        self.heap_by_address.remove(&address);
        let gone = HeapId(self.heap_sweep as u64 - 1);
        self.heap_by_gpu_address.retain(|_, heap| *heap != gone);
        for (_, user, _) in memory.uses(&(0..u64::MAX)) {
            if let Some(resource) = self.resource_mut(user) {
                resource.use_count -= 1;
            }
        }
    }

    /// Forgets a few resources that are gone and that no heap remembers: O(1) for each that is made known.
    fn forget_some(&mut self) {
        for _ in 0..4 {
            if self.sweep >= self.resources.len() {
                self.sweep = 0;
            }
            let Some(place) = self.resources.get_mut(self.sweep) else { return };
            self.sweep += 1;
            if let Some(resource) = place
                && resource.is_gone()
            {
                let address = resource.driver.as_ptr().cast::<()>().addr();
                if self.by_address.get(&address) == Some(&resource.id) {
                    self.by_address.remove(&address);
                }
                if resource.use_count == 0 {
                    *place = None;
                }
            }
        }
    }

    pub(super) fn subject(&self, id: ResourceId) -> Subject {
        let name = self.resource(id).and_then(|resource| resource.label.get());
        Subject { number: id.0, name }
    }

    fn heap_name(&self, id: HeapId) -> String {
        match self.heap_of(id).and_then(|heap| heap.label.get()) {
            Some(name) => format!("heap '{name}'"),
            None => format!("heap {} (unnamed)", id.0 + 1),
        }
    }

    /// Notes a violation, once for each submission.
    pub(super) fn say(&mut self, submission: &mut Submission, finding: Finding<'_>) {
        let Finding { rule, because, severity, resource, other, units, what } = finding;
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

/// A violation that is about to be noted.
#[derive(Debug, Clone)]
pub(super) struct Finding<'a> {
    pub(super) rule: Rule,
    pub(super) because: Option<Rule>,
    pub(super) severity: Severity,
    pub(super) resource: Option<&'a TrackedResource>,
    pub(super) other: Option<ResourceId>,
    pub(super) units: Option<Range<u32>>,
    pub(super) what: &'a str,
}

impl<'a> Finding<'a> {
    /// An error that is about a resource as a whole.
    pub(super) fn error(rule: Rule, resource: &'a TrackedResource, what: &'a str) -> Self {
        Self {
            rule,
            because: None,
            severity: Severity::Error,
            resource: Some(resource),
            other: None,
            units: None,
            what,
        }
    }
}

fn slot(id: ResourceId) -> Option<usize> {
    usize::try_from(id.0.checked_sub(1)?).ok()
}
