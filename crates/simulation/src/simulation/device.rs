//! The simulated GPU that carries out plans.

use heapwright::ByteSize;
use heapwright::d3d12::hresult::Named;
use heapwright::d3d12::windows_core::{self, HRESULT};
use heapwright::d3d12::{E_OUTOFMEMORY, ID3D12Pageable};
use heapwright_core::SegmentGroup;
use heapwright_runtime::{HostProfile, Instance, SegmentProfile};

use crate::workload::{HeapNumber, WorkHeap, Workload, as_index};

/// A device of the host driver, and the heaps of a workload on it.
#[derive(Debug)]
pub(super) struct Device {
    gpu: Instance,
    /// The live heaps, by number.
    heaps: Vec<Option<ID3D12Pageable>>,
    /// The objects of the current call.
    objects: Vec<Option<ID3D12Pageable>>,
}

/// A failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed with {:#}", Named(*.hresult))]
pub(super) struct CallFailed {
    call: &'static str,
    hresult: HRESULT,
}

impl CallFailed {
    /// Returns whether memory is exhausted, because the workload is larger than the device.
    pub(super) fn is_out_of_memory(self) -> bool {
        self.hresult == E_OUTOFMEMORY
    }
}

/// Converts an error of the named call.
fn of(call: &'static str) -> impl Fn(windows_core::Error) -> CallFailed {
    move |error| CallFailed { call, hresult: error.code() }
}

impl Device {
    /// Opens a GPU with room for every heap of the workload, so that only budgets limit usage.
    pub(super) fn open(workload: &Workload) -> Result<Self, CallFailed> {
        let segment = |group: SegmentGroup| {
            let heaps = workload.heaps.iter().filter(|heap| heap.group == group);
            let bytes = heaps.fold(ByteSize::ZERO, |sum, heap| sum.saturating_add(heap.size));
            let budgets = workload.frames.iter().map(|frame| frame.budget[group.index()]);
            let budget = workload.frames.first().map_or(bytes, |frame| frame.budget[group.index()]);
            SegmentProfile { capacity: budgets.max().unwrap_or_default().max(bytes), budget }
        };
        let profile = HostProfile {
            local: segment(SegmentGroup::Local),
            non_local: segment(SegmentGroup::NonLocal),
            ..*HostProfile::default_profile()
        };
        let gpu = Instance::open(&profile).map_err(of("D3D12CreateDevice"))?;
        Ok(Self { gpu, heaps: vec![None; workload.heaps.len()], objects: Vec::new() })
    }

    pub(super) fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.gpu.set_budget(to_driver(group), budget);
    }

    /// Returns the current usage reported by the adapter.
    pub(super) fn usage(&self, group: SegmentGroup) -> ByteSize {
        self.gpu.current_usage(to_driver(group))
    }

    pub(super) fn create(&mut self, number: HeapNumber, heap: &WorkHeap) -> Result<(), CallFailed> {
        let created = self.gpu.create_heap(heap.size, to_driver(heap.group), heap.is_resident);
        self.heaps[as_index(number)] = Some(created.map_err(of("CreateHeap"))?.into());
        Ok(())
    }

    pub(super) fn release(&mut self, number: HeapNumber) {
        self.heaps[as_index(number)] = None;
    }

    pub(super) fn evict(&mut self, numbers: impl Iterator<Item = HeapNumber>) -> Result<(), CallFailed> {
        self.gather(numbers);
        let evicted = self.gpu.evict(&self.objects);
        // Otherwise the list would keep them alive.
        self.objects.clear();
        evicted.map_err(of("Evict"))
    }

    pub(super) fn make_resident(
        &mut self,
        numbers: impl Iterator<Item = HeapNumber>,
    ) -> Result<(), CallFailed> {
        self.gather(numbers);
        let made = self.gpu.make_resident(&self.objects);
        self.objects.clear();
        made.map_err(of("MakeResident"))
    }

    fn gather(&mut self, numbers: impl Iterator<Item = HeapNumber>) {
        self.objects.extend(numbers.map(|number| self.heaps[as_index(number)].clone()));
    }
}

fn to_driver(group: SegmentGroup) -> heapwright_runtime::SegmentGroup {
    match group {
        SegmentGroup::Local => heapwright_runtime::SegmentGroup::Local,
        SegmentGroup::NonLocal => heapwright_runtime::SegmentGroup::NonLocal,
    }
}
