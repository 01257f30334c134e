//! The recording of a residency manager.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use heapwright_core::FenceValue;
use heapwright_core::residency::ManagedHeapId;
use heapwright_d3d12::*;
use heapwright_trace::chrome::submit_args;
use heapwright_trace::session::Counter;
use windows_core::Interface;

use super::books::Books;
use super::desc::ResidencyManagerDesc;
use super::device::PageableInfo;
use crate::recording::{Event, InstanceKind, Recorded, Recording, Settings, failure_args};
use crate::{Error, SegmentGroup};

/// The recording of a residency manager.
pub(super) struct ManagerRecording {
    pub(super) recording: Arc<Recording>,
    numbers: Mutex<Numbers>,
}

/// The recording's ids of heaps and queues.
#[derive(Default)]
struct Numbers {
    /// Heaps and their ids in the recording, by slot.
    heaps: Vec<Option<(ManagedHeapId, u64)>>,
    /// Pointers of queues, in the order of their numbers.
    queues: Vec<usize>,
}

impl Numbers {
    /// Sets the id of a new heap in the recording; `None` if it has none.
    #[inline]
    fn set(&mut self, heap: ManagedHeapId, recorded: Option<u64>) {
        let slot = heap.slot().index();
        if self.heaps.len() <= slot {
            self.heaps.resize(slot + 1, None);
        }
        self.heaps[slot] = recorded.map(|recorded| (heap, recorded));
    }

    /// Returns the ids of the heaps that are in the recording, without those whose slot has another heap by now.
    #[inline]
    fn of(&self, heaps: &[ManagedHeapId]) -> Vec<u64> {
        let of_heap = |heap: &ManagedHeapId| {
            let (of_slot, recorded) = (*self.heaps.get(heap.slot().index())?)?;
            (of_slot == *heap).then_some(recorded)
        };
        heaps.iter().filter_map(of_heap).collect()
    }
}

impl ManagerRecording {
    #[inline]
    pub(super) fn begin(
        desc: &ResidencyManagerDesc,
        device: &ID3D12Device,
        is_uma: bool,
    ) -> Result<Option<Self>, Error> {
        let settings = || Settings {
            options: vec![("policy", desc.policy.name().to_owned())],
            fields: manager_fields(desc, is_uma),
        };
        let recording =
            Recording::begin(&desc.record_options, InstanceKind::ResidencyManager, device, None, settings)?;
        Ok(recording.map(|recording| Self { recording, numbers: Mutex::default() }))
    }

    #[inline]
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the manager was created in a call that began at a time.
    #[inline]
    pub(super) fn created(&self, start: Instant) {
        let args = || format!("\"manager\":\"{:#x}\"", self.recording.instance());
        self.recording.made("ResidencyManager.CreateResidencyManager", args, start);
    }

    /// Records a new heap.
    #[inline]
    pub(super) fn heap(&self, id: ManagedHeapId, info: &PageableInfo) -> Option<Recorded> {
        let recorded = self.recording.heap(&info.recorded_memory());
        self.numbers().set(id, recorded.as_ref().map(Recorded::id));
        recorded
    }

    #[inline]
    pub(super) fn evicted(&self, heaps: &[ManagedHeapId]) {
        self.recording.event(|| Event::Evict { heaps: self.ids(heaps) });
    }

    #[inline]
    pub(super) fn made_resident(&self, heaps: &[ManagedHeapId]) {
        self.recording.event(|| Event::MakeResident { heaps: self.ids(heaps) });
    }

    #[inline]
    pub(super) fn ids(&self, heaps: &[ManagedHeapId]) -> Vec<u64> {
        self.numbers().of(heaps)
    }

    /// Makes a call that submits command lists with these heaps, and records it if it succeeds.
    pub(super) fn submit(
        &self,
        books: &Books,
        queue: &ID3D12CommandQueue,
        heaps: Vec<Vec<u64>>,
        execute: impl FnOnce() -> Result<FenceValue, Error>,
    ) -> Result<FenceValue, Error> {
        let executed = Recording::timed(Some(&*self.recording), EXECUTE, execute);
        let fence_value = executed.inspect_err(|error| {
            self.recording.note(EXECUTE, || submit_args(&heaps) + &failure_args(Some(error)));
        })?;
        let pointer = queue.as_raw().addr();
        self.recording.event(|| {
            let queues = &mut self.numbers().queues;
            let number = queues.iter().position(|&known| known == pointer).unwrap_or_else(|| {
                queues.push(pointer);
                queues.len() - 1
            });
            Event::Submit { queue: number as u64, fence_value: fence_value.get(), lists: heaps }
        });
        self.recording.count(|| counters(books));
        Ok(fence_value)
    }

    /// Makes a call that makes these heaps of a list resident, without a queue.
    #[inline]
    pub(super) fn prefetch(
        &self,
        heaps: Vec<u64>,
        prefetch: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let made = Recording::timed(Some(&*self.recording), EXECUTE, prefetch);
        self.recording.note(EXECUTE, || submit_args(&[heaps]) + &failure_args(made.as_ref().err()));
        made
    }

    /// Records the counters, if counters are recorded.
    #[inline]
    pub(super) fn count_now(&self, books: &Books) {
        self.recording.count_now(|| counters(books));
    }
}

const EXECUTE: &str = "ResidencyManager.ExecuteCommandLists";

#[inline]
fn counters(books: &Books) -> Vec<(Counter, u64)> {
    let state = books.lock_updated();
    let of_group = |group, [budget, usage, resident]: [Counter; 3]| {
        [
            (budget, state.planner.memory(group).budget.get()),
            (usage, state.planner.usage(group).get()),
            (resident, state.planner.totals(group).resident.get()),
        ]
    };
    let local = [Counter::LocalBudget, Counter::LocalUsage, Counter::LocalResident];
    let non_local = [Counter::NonLocalBudget, Counter::NonLocalUsage, Counter::NonLocalResident];
    [of_group(SegmentGroup::Local, local), of_group(SegmentGroup::NonLocal, non_local)].concat()
}

/// Returns the fields of GPGMM's snapshot of a residency manager. Zero is a default.
#[inline]
fn manager_fields(desc: &ResidencyManagerDesc, is_uma: bool) -> String {
    format!(
        "\"Flags\":{},\"RecordOptions\":{{\"Flags\":{}}},\"MaxPctOfVideoMemoryToBudget\":{},\
         \"MinPctOfBudgetToReserve\":{},\"MaxBudgetInBytes\":{},\"EvictSizeInBytes\":{},\"InitialFenceValue\":{},\
         \"IsUMA\":{is_uma}",
        desc.flags.bits(),
        desc.record_options.flags.bits(),
        desc.max_pct_of_video_memory_to_budget.unwrap_or(0.0),
        desc.min_pct_of_budget_to_reserve.unwrap_or(0.0),
        desc.max_budget.get(),
        desc.evict_size.get(),
        desc.initial_fence_value.get(),
    )
}

#[cfg(test)]
mod tests {
    use heapwright_core::ByteSize;
    use heapwright_core::residency::policy::PolicyKind;
    use heapwright_core::residency::{NewManagedHeap, PriorityLevel, ResidencyPlanner, Status};

    use super::*;

    #[test]
    fn a_heap_in_a_reused_slot_is_another_heap() {
        let heap = NewManagedHeap {
            group: SegmentGroup::Local,
            size: ByteSize::from_mib(1),
            level: PriorityLevel::Normal,
            status: Status::Evicted,
        };
        let mut planner = ResidencyPlanner::new(false, || PolicyKind::Lru.create());
        let mut new_heap = |before: Option<ManagedHeapId>| {
            before.map_or(Ok(()), |id| planner.remove(id)).expect("it exists");
            planner.add(heap).expect("there is room")
        };
        let first = new_heap(None);
        let mut numbers = Numbers::default();
        numbers.set(first, Some(5));
        assert_eq!(numbers.of(&[first]), [5]);
        let second = new_heap(Some(first));
        assert_eq!(first.slot(), second.slot());
        // The slot is another heap's, of which the recording does not know yet.
        assert_eq!(numbers.of(&[second]), [0; 0]);
        numbers.set(second, Some(6));
        assert_eq!(numbers.of(&[first, second]), [6]);
        numbers.set(second, None);
        assert_eq!(numbers.of(&[second]), [0; 0]);
    }
}
