//! The heaps of one heap type, and how they grow.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use heapwright_core::placement::{
    HeapSetTotals, PlacementError, SharedHeapSet, SharedPlaced, SharedPlacementId,
};
use heapwright_core::{Alignment, ByteSize, HeapRange};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::resource_class::ResourceClass;
use super::{HeapType, Inner, ResourceAllocatorDesc};
use crate::Error;
use crate::error::Shortage;

/// Heaps of one type for one class of resources.
#[derive(Debug)]
pub(super) struct TypedHeaps {
    kind: HeapKind,
    set: SharedHeapSet<ID3D12Heap>,
}

/// Which heaps a resource goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeapKind {
    pub(super) heap_type: HeapType,
    pub(super) class: ResourceClass,
}

impl HeapKind {
    pub(super) const COUNT: usize = HeapType::ALL.len() * ResourceClass::ALL.len();

    /// Every kind, at its [`index`](Self::index).
    pub(super) fn all() -> [Self; Self::COUNT] {
        std::array::from_fn(|index| Self {
            heap_type: HeapType::ALL[index / ResourceClass::ALL.len()],
            class: ResourceClass::ALL[index % ResourceClass::ALL.len()],
        })
    }

    pub(super) fn index(self) -> usize {
        self.heap_type.index() * ResourceClass::ALL.len() + self.class.index()
    }
}

/// A range of a heap that belongs to one allocation until dropped.
#[derive(Debug)]
pub(super) struct PlacedRange {
    allocator: Arc<Inner>,
    kind: HeapKind,
    id: SharedPlacementId,
    range: HeapRange,
}

impl PlacedRange {
    pub(super) fn range(&self) -> HeapRange {
        self.range
    }

    pub(super) fn heap_type(&self) -> HeapType {
        self.kind.heap_type
    }
}

impl Drop for PlacedRange {
    fn drop(&mut self) {
        let freed = self.allocator.heaps(self.kind).set.free(self.id);
        // The heaps that may come back are released here, outside of all locks.
        match freed {
            Ok(released) => drop(released),
            Err(error) => debug_assert!(false, "a placed range is freed once: {error}"),
        }
    }
}

impl TypedHeaps {
    pub(super) fn new(kind: HeapKind, desc: &ResourceAllocatorDesc) -> Self {
        let set = SharedHeapSet::new(
            desc.heap_sizing,
            desc.heap_retention,
            SharedHeapSet::<ID3D12Heap>::SLOTS_UP_TO,
            SharedHeapSet::<ID3D12Heap>::LANES,
        );
        Self { kind, set }
    }

    pub(super) fn totals(&self) -> HeapSetTotals {
        self.set.totals()
    }

    /// Gives the empty heaps back and answers how many bytes they had.
    pub(super) fn release_empty(&self) -> ByteSize {
        let before = self.set.totals().reserved;
        let released = self.set.take_empty();
        let size = before.saturating_sub(self.set.totals().reserved);
        drop(released);
        size
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        self.set
            .audit()
            .map_err(|error| format!("{} heaps of {:?}: {error}", self.kind.heap_type, self.kind.class))
    }
}

impl Inner {
    /// Finds or makes room for `size` bytes.
    ///
    /// When the device has no memory for the heap that is wanted, all empty heaps of the allocator go back and it is tried
    /// again, then once more with a heap that is as small as the request allows.
    pub(super) fn place(
        this: &Arc<Self>,
        kind: HeapKind,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<(PlacedRange, ID3D12Heap), Error> {
        let heaps = this.heaps(kind);
        let in_heap = |placed: SharedPlaced<ID3D12Heap>| {
            let range = PlacedRange { allocator: Arc::clone(this), kind, id: placed.id, range: placed.range };
            (range, placed.heap)
        };
        if let Some(placed) = heaps.set.allocate(size, alignment).map_err(|error| invalid_size(&error))? {
            return Ok(in_heap(placed));
        }
        let wanted = heaps.set.plan(size, alignment).map_err(|error| invalid_size(&error))?;
        drop(wanted.release);
        // Outside of all locks: the device may take its time, and other threads go on.
        let (heap, heap_size) = this.create_heap_or_smaller(kind, size, wanted.size)?;
        match heaps.set.allocate_in_new(heap_size, heap, size, alignment) {
            Ok(placed) => Ok(in_heap(placed)),
            // A fresh heap begins at an offset that every alignment divides.
            Err(PlacementError::TooLarge { .. }) => Err(Error::device("ID3D12Device::CreateHeap", E_FAIL)),
            Err(error) => Err(invalid_size(&error)),
        }
    }

    fn create_heap_or_smaller(
        &self,
        kind: HeapKind,
        size: ByteSize,
        wanted: ByteSize,
    ) -> Result<(ID3D12Heap, ByteSize), Error> {
        let smallest = size.align_up(HEAP_ALIGNMENT).unwrap_or(wanted).min(wanted);
        let first = match self.create_heap(kind, wanted) {
            Ok(heap) => return Ok((heap, wanted)),
            Err(hresult) => hresult,
        };
        if first != E_OUTOFMEMORY {
            return Err(Error::device("ID3D12Device::CreateHeap", first));
        }
        let released = self.release_empty_heaps();
        let heap_type = kind.heap_type;
        tracing::debug!(%heap_type, %wanted, %released, "the device has no memory for a heap; trying again");
        let retries = [wanted, smallest];
        // What cannot go differently is not tried again.
        let retries = if released.is_zero() { &retries[1..] } else { &retries[..] };
        let mut hresult = first;
        for &heap_size in retries.iter().filter(|&&heap_size| heap_size < wanted || !released.is_zero()) {
            match self.create_heap(kind, heap_size) {
                Ok(heap) => return Ok((heap, heap_size)),
                Err(error) => hresult = error,
            }
        }
        if hresult != E_OUTOFMEMORY {
            return Err(Error::device("ID3D12Device::CreateHeap", hresult));
        }
        let totals = self.heaps(kind).totals();
        Err(Error::out_of_memory(Shortage {
            requested: size,
            heap_type,
            heap_size: smallest,
            reserved: totals.reserved,
            used: totals.used,
            video_memory: self.video_memory(heap_type),
            hresult,
        }))
    }

    fn create_heap(&self, kind: HeapKind, size: ByteSize) -> Result<ID3D12Heap, HRESULT> {
        let HeapKind { heap_type, class } = kind;
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: size.get(),
            Properties: D3D12_HEAP_PROPERTIES { Type: heap_type.to_d3d12(), ..Default::default() },
            Alignment: class.heap_alignment(),
            Flags: class.heap_flags(&self.caps),
        };
        let mut heap: Option<ID3D12Heap> = None;
        // SAFETY: the device is a live COM object, the description outlives the call, and the result is written to a
        // variable of the interface that is asked for.
        unsafe { self.device.CreateHeap(&desc, &mut heap) }.map_err(|error| error.code())?;
        self.heaps_created.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(%heap_type, ?class, %size, "created a heap");
        heap.ok_or(E_POINTER)
    }
}

/// The granularity of explicit heaps; document TIGHT leaves it at 64 KiB.
const HEAP_ALIGNMENT: Alignment =
    match Alignment::new(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64) {
        Some(alignment) => alignment,
        None => panic!("64 KiB is a power of two"),
    };

fn invalid_size(error: &PlacementError) -> Error {
    Error::invalid_argument("the resource's size", error.to_string())
}
