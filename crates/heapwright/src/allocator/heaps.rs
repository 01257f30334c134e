//! The heaps of one heap type, and how they grow.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::placement::{HeapSet, HeapSetTotals, PlacementError, PlacementId};
use heapwright_core::{Alignment, ByteSize, HeapRange};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::{HeapType, Inner, ResourceAllocatorDesc};
use crate::Error;
use crate::error::Shortage;

/// Heaps of one type. They hold buffers only, which every resource heap tier allows.
#[derive(Debug)]
pub(super) struct TypedHeaps {
    heap_type: HeapType,
    set: Mutex<HeapSet<ID3D12Heap>>,
}

/// A range of a heap that belongs to one allocation until dropped.
#[derive(Debug)]
pub(super) struct PlacedRange {
    allocator: Arc<Inner>,
    heap_type: HeapType,
    id: PlacementId,
    range: HeapRange,
}

impl PlacedRange {
    pub(super) fn range(&self) -> HeapRange {
        self.range
    }

    pub(super) fn heap_type(&self) -> HeapType {
        self.heap_type
    }
}

impl Drop for PlacedRange {
    fn drop(&mut self) {
        let freed = self.allocator.heaps(self.heap_type).lock().free(self.id);
        // The heap that may come back is released here, outside of the lock.
        match freed {
            Ok(released) => drop(released),
            Err(error) => debug_assert!(false, "a placed range is freed once: {error}"),
        }
    }
}

impl TypedHeaps {
    pub(super) fn new(heap_type: HeapType, desc: &ResourceAllocatorDesc) -> Self {
        Self { heap_type, set: Mutex::new(HeapSet::new(desc.heap_sizing, desc.heap_retention)) }
    }

    pub(super) fn totals(&self) -> HeapSetTotals {
        self.lock().totals()
    }

    /// Gives the empty heaps back and answers how many bytes they had.
    pub(super) fn release_empty(&self) -> ByteSize {
        let mut set = self.lock();
        let before = set.totals().reserved;
        let released = set.take_empty();
        let size = before.saturating_sub(set.totals().reserved);
        drop(set);
        drop(released);
        size
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        self.lock().audit().map_err(|error| format!("{} heaps: {error}", self.heap_type))
    }

    /// The set's invariants hold between its calls, so a panic elsewhere under the lock leaves it usable.
    fn lock(&self) -> MutexGuard<'_, HeapSet<ID3D12Heap>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Finds or makes room for `size` bytes.
    ///
    /// When the device has no memory for the heap that is wanted, all empty heaps of the allocator go back and it is tried
    /// again, then once more with a heap that is as small as the request allows.
    pub(super) fn place(
        this: &Arc<Self>,
        heap_type: HeapType,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<(PlacedRange, ID3D12Heap), Error> {
        let heaps = this.heaps(heap_type);
        let placed_range = |id, range| PlacedRange { allocator: Arc::clone(this), heap_type, id, range };
        let wanted = {
            let mut set = heaps.lock();
            match set.allocate(size, alignment) {
                Ok(Some(placed)) => return Ok((placed_range(placed.id, placed.range), placed.heap.clone())),
                Ok(None) => set.plan(size).map_err(|error| invalid_size(&error))?,
                Err(error) => return Err(invalid_size(&error)),
            }
        };
        // Outside of the lock: the device may take its time, and other threads go on.
        drop(wanted.release);
        let (heap, heap_size) = this.create_heap_or_smaller(heap_type, size, wanted.size)?;

        let mut set = heaps.lock();
        let id = set.insert(heap_size, heap).map_err(|error| invalid_size(&error))?;
        match set.allocate_in(id, size, alignment) {
            Ok(Some(placed)) => Ok((placed_range(placed.id, placed.range), placed.heap.clone())),
            // A fresh heap begins at an offset that every alignment divides.
            Ok(None) => Err(Error::device("ID3D12Device::CreateHeap", E_FAIL)),
            Err(error) => Err(invalid_size(&error)),
        }
    }

    fn create_heap_or_smaller(
        &self,
        heap_type: HeapType,
        size: ByteSize,
        wanted: ByteSize,
    ) -> Result<(ID3D12Heap, ByteSize), Error> {
        let smallest = size.align_up(HEAP_ALIGNMENT).unwrap_or(wanted).min(wanted);
        let first = match self.create_heap(heap_type, wanted) {
            Ok(heap) => return Ok((heap, wanted)),
            Err(hresult) => hresult,
        };
        if first != E_OUTOFMEMORY {
            return Err(Error::device("ID3D12Device::CreateHeap", first));
        }
        let released = self.release_empty_heaps();
        tracing::debug!(%heap_type, %wanted, %released, "the device has no memory for a heap; trying again");
        let retries = [wanted, smallest];
        // What cannot go differently is not tried again.
        let retries = if released.is_zero() { &retries[1..] } else { &retries[..] };
        let mut hresult = first;
        for &heap_size in retries.iter().filter(|&&heap_size| heap_size < wanted || !released.is_zero()) {
            match self.create_heap(heap_type, heap_size) {
                Ok(heap) => return Ok((heap, heap_size)),
                Err(error) => hresult = error,
            }
        }
        if hresult != E_OUTOFMEMORY {
            return Err(Error::device("ID3D12Device::CreateHeap", hresult));
        }
        let totals = self.heaps(heap_type).totals();
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

    fn create_heap(&self, heap_type: HeapType, size: ByteSize) -> Result<ID3D12Heap, HRESULT> {
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: size.get(),
            Properties: D3D12_HEAP_PROPERTIES { Type: heap_type.to_d3d12(), ..Default::default() },
            Alignment: 0,
            Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        };
        let mut heap: Option<ID3D12Heap> = None;
        // SAFETY: the device is a live COM object, the description outlives the call, and the result is written to a
        // variable of the interface that is asked for.
        unsafe { self.device.CreateHeap(&desc, &mut heap) }.map_err(|error| error.code())?;
        self.heaps_created.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(%heap_type, %size, "created a heap");
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
