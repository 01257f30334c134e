//! Records of allocations and of their allocator.

use std::sync::Arc;
use std::time::Duration;

use heapwright_core::placement::HeapSetTotals;
use heapwright_core::suballoc::FreeRangeChoice;
use heapwright_d3d12::*;
use heapwright_trace::session::{
    self, Action, Asked, Counter, Description, HeapType as RecordedHeapType, Refusal, ResourceKind,
};

use super::allocation::ResourceAllocation;
use super::inner::Inner;
use super::request::{BareMemory, ResourceAllocationDesc};
use crate::desc::ResourceDesc;
use crate::recording::{
    Allocated, CREATE_RESOURCE, Event, HeapMemory, RecordedAllocation, Recording, clear_value_fields,
    failure_args, resource_call,
};
use crate::request::{Placement, implicit_heap_flags};
use crate::{Error, HeapType, InitialState, RecordFlags, SegmentGroup};

impl Inner {
    /// Creates a resource, or takes memory for others, while a recording is made.
    #[cold]
    pub(crate) fn create_recorded(
        &self,
        recording: &Arc<Recording>,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
        memory: Option<&BareMemory>,
        create: impl FnOnce() -> Result<ResourceAllocation, Error>,
    ) -> Result<ResourceAllocation, Error> {
        // A recording has what is due by time as calls of their own, before this one.
        self.pass_time(false);
        let (heaps, creations) = (self.heaps_created(), self.heaps.source.clock.creations());
        let made = Recording::timed(Some(&**recording), CREATE_RESOURCE, create).inspect_err(|error| {
            note_call(recording, allocation, resource, Some(error));
            let is_wrong = error.is_invalid_argument() || error.is_unsupported();
            if !is_wrong || heaps != self.heaps_created() {
                let request = self.asked(allocation, resource, memory, None).unwrap_or_default();
                recording.call(|| refusal(allocation, resource, request, error));
            } else if creations != self.heaps.source.clock.creations() {
                // It was only counted. A record could not repeat all that may be wrong, so it has none of it.
                recording.call(|| Action::Refuse(Box::default()));
            }
        });
        let mut made = made?;
        self.record(recording, &mut made, allocation, resource, memory);
        recording.count(|| self.counters());
        Ok(made)
    }

    fn heaps_created(&self) -> u64 {
        self.heaps.source.ledger.heaps_created()
    }

    /// Returns what was asked, unless the type of the heap, which is known if there is one, says it.
    fn asked(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
        memory: Option<&BareMemory>,
        granted: Option<HeapType>,
    ) -> Option<Asked> {
        let heap_types = match (allocation.pool, allocation.heap_type) {
            (Some(_), _) => granted.into_iter().collect(),
            (None, Some(preference)) => preference.heap_types().to_vec(),
            (None, None) if self.heaps.families.has_unified_memory() => Vec::new(),
            (None, None) => vec![self.inferred_type(allocation, resource)],
        };
        let uses = allocation.uses.bits();
        if uses == 0 && memory.is_none() && granted.is_some_and(|granted| heap_types == [granted]) {
            return None;
        }
        let memory = memory.map(|&(resources, alignment)| session::BareMemory {
            resources: resources as u8,
            alignment: alignment.get(),
        });
        Some(Asked { heap_types: heap_types.into_iter().map(recorded_type).collect(), uses, memory })
    }

    /// Counts a request of a recording whose arguments were not valid.
    #[inline]
    pub(crate) fn replay_invalid_request(&self) {
        let recording = self.heaps.source.recording.as_ref();
        if recording.is_some() {
            self.pass_time(false);
        }
        self.count_creation();
        if let Some(recording) = recording {
            recording.call(|| Action::Refuse(Box::default()));
        }
    }

    /// Tells how long a call of the device for a heap took in a recording, before the call.
    #[inline]
    pub(crate) fn replay_heap_time(&self, heap_type: HeapType, is_free: bool, time: Duration) {
        self.heaps.source.timers.of(heap_type).tell(is_free, time);
    }

    /// Records an imported resource, if a recording is made.
    pub(crate) fn record_import(
        &self,
        made: &mut ResourceAllocation,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) {
        if let Some(recording) = &self.heaps.source.recording {
            self.record(recording, made, allocation, resource, None);
        }
    }

    /// Records that a request failed before it was made, if a recording is made.
    pub(crate) fn note_failure(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
        error: &Error,
    ) {
        if let Some(recording) = &self.heaps.source.recording {
            note_call(recording, allocation, resource, Some(error));
        }
    }

    fn record(
        &self,
        recording: &Arc<Recording>,
        made: &mut ResourceAllocation,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
        memory: Option<&BareMemory>,
    ) {
        let place = made.recorded_place(recording);
        let is_own = place.is_none() && made.info().decision.placement == Placement::Committed;
        let own = if is_own { recording.heap(&implicit_heap(made, resource)) } else { None };
        if !recording.records(RecordFlags::API_OBJECTS) {
            return note_call(recording, allocation, resource, None);
        }
        let taken = made.size().get();
        let is_buffer = resource.is_buffer();
        let size = if is_buffer { resource.desc.Width } else { taken };
        let place = own.as_ref().map_or(place, |own| Some((own.id(), 0)));
        let recorded = RecordedAllocation::new(recording, size, own);
        let id = recorded.object.id();
        let has_calls = recording.records(RecordFlags::API_CALLS);
        let describe = || (Box::new(describe(made, id, allocation, resource)), made.info().decision.reason);
        let asked = || self.asked(allocation, resource, memory, Some(made.heap_type()));
        recording.push(Event::Allocate(Box::new(Allocated {
            instance: recording.instance(),
            id,
            size,
            taken,
            kind: match (memory, is_buffer) {
                (Some(_), _) => ResourceKind::Unknown,
                (None, true) => ResourceKind::Buffer,
                (None, false) => ResourceKind::Texture,
            },
            heap_type: u8::try_from(made.heap_type().to_d3d12()).unwrap_or(0),
            resource_flags: resource.desc.Flags,
            place,
            address: if is_buffer { made.gpu_virtual_address().map(|address| address.get()) } else { None },
            description: has_calls.then(describe),
            asked: has_calls.then(asked).flatten(),
            clear_value: clear_value_fields(resource.clear_value.as_ref()),
            pool: allocation.pool.and_then(|pool| Some(pool.recorded.as_ref()?.id())),
        })));
        made.set_recorded(recorded);
    }

    /// Returns the values of all counters. Takes time in proportion to the number of pools.
    pub(crate) fn counters(&self) -> Vec<(Counter, u64)> {
        let totals: HeapSetTotals = self.heaps.all().iter().map(|heaps| heaps.totals()).sum();
        let in_use = totals.reserved.saturating_sub(totals.empty).get();
        let free = in_use.saturating_sub(totals.used.get());
        let millionths = u128::from(free) * 1_000_000 / u128::from(in_use.max(1));
        let mut counters = vec![
            (Counter::Reserved, self.heaps.source.ledger.reserved().get()),
            (Counter::Used, self.stats().used.get()),
            (Counter::Fragmentation, u64::try_from(millionths).unwrap_or(u64::MAX)),
        ];
        for (group, budget, usage) in [
            (SegmentGroup::Local, Counter::LocalBudget, Counter::LocalUsage),
            (SegmentGroup::NonLocal, Counter::NonLocalBudget, Counter::NonLocalUsage),
        ] {
            if let Some(row) = self.heaps.source.ledger.budget_row(group) {
                counters.extend([(budget, row.most.get()), (usage, row.held.get())]);
            }
        }
        counters
    }
}

/// Returns the record of a request that failed.
fn refusal(
    allocation: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
    request: Asked,
    error: &Error,
) -> Action {
    Action::Refuse(Box::new(Refusal {
        description: Description { placement: None, ..describe_call(allocation, resource) },
        resource_flags: resource.desc.Flags,
        request,
        pool: allocation.pool.and_then(|pool| Some(pool.recorded.as_ref()?.id())),
        is_out_of_memory: error.is_out_of_memory(),
    }))
}

fn recorded_type(heap_type: HeapType) -> RecordedHeapType {
    let number = u8::try_from(heap_type.to_d3d12()).ok();
    number.and_then(RecordedHeapType::from_d3d12).unwrap_or(RecordedHeapType::Unknown)
}

/// Returns the implicit heap of a committed resource.
fn implicit_heap(made: &ResourceAllocation, resource: &ResourceDesc<'_>) -> HeapMemory {
    let (mut properties, mut flags) = (D3D12_HEAP_PROPERTIES::default(), D3D12_HEAP_FLAG_NONE);
    // SAFETY: a live COM object, and two results of the right types. If the call fails, they are zeros, which stand for
    // unknown.
    let _ = unsafe { made.resource().GetHeapProperties(Some(&mut properties), Some(&mut flags)) };
    flags |= implicit_heap_flags(&resource.desc);
    let (size, alignment) = (made.size().get(), made.alignment().get());
    HeapMemory { size, alignment, properties, flags }
}

/// Records a call without an allocation: one that failed, or of which only calls are recorded.
fn note_call(
    recording: &Recording,
    allocation: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
    error: Option<&Error>,
) {
    recording.note(CREATE_RESOURCE, || call_args(allocation, resource) + &failure_args(error));
}

/// Returns the arguments of a call whose result is not known.
pub(crate) fn call_args(allocation: &ResourceAllocationDesc<'_>, resource: &ResourceDesc<'_>) -> String {
    let asked = allocation.heap_type.and_then(|asked| asked.heap_types().first().copied());
    let heap_type = asked.map_or(0, |heap_type| u8::try_from(heap_type.to_d3d12()).unwrap_or(0));
    let description = describe_call(allocation, resource);
    resource_call(&description, heap_type, resource.desc.Flags, resource.clear_value.as_ref())
}

fn describe(
    made: &ResourceAllocation,
    id: u64,
    allocation: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
) -> Description {
    let placement = Some(made.info().decision.placement);
    Description { allocation: id, placement, ..describe_call(allocation, resource) }
}

/// Returns the description of a call whose result is not known.
fn describe_call(allocation: &ResourceAllocationDesc<'_>, resource: &ResourceDesc<'_>) -> Description {
    let desc = &resource.desc;
    Description {
        allocation: 0,
        placement: Some(Placement::SharedHeap),
        allocation_flags: allocation.flags.bits(),
        heap_flags: allocation.extra_required_heap_flags,
        padding: allocation.extra_required_resource_padding.get(),
        strategy: match allocation.strategy {
            FreeRangeChoice::MinMemory => 0,
            FreeRangeChoice::MinTime => 1,
            FreeRangeChoice::MinOffset => 2,
        },
        initial_state: match resource.initial_state {
            InitialState::State(state) => state,
            // A layout does not affect the memory.
            InitialState::Layout(_) => D3D12_RESOURCE_STATE_COMMON,
        },
        dimension: desc.Dimension.cast_unsigned(),
        alignment: desc.Alignment,
        width: desc.Width,
        height: desc.Height,
        depth_or_array_size: desc.DepthOrArraySize,
        mip_levels: desc.MipLevels,
        format: desc.Format.cast_unsigned(),
        sample_count: desc.SampleDesc.Count,
        sample_quality: desc.SampleDesc.Quality,
        layout: desc.Layout.cast_unsigned(),
    }
}
