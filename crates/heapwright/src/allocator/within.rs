//! Small buffers that share one resource.
//!
//! A *backing buffer* is placed like any other, mapped once for as long as it lives, and divided by the same slabs and TLSFs as
//! heaps are. What is handed out is a range of it: no call of the device is made.

use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::placement::{
    HeapRetention, HeapSizing, HeapSurvey, PlacementError, Room, SharedHeapSet, SharedPlaced,
    SharedPlacementId, SurveyedRange,
};
use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress, HeapRange};
use heapwright_d3d12::*;

use super::create::Wanted;
use super::desc::{HEAP_GRANULARITY, ResourceAllocationDesc, ResourceAllocationFlags, ResourceDesc};
use super::heap_source::{Refusal, Terms};
use super::notes::{Note, Notes, next_number};
use super::residency::KeptResident;
use super::striped::Stripe;
use super::typed_heaps::{PlacedRange, TypedHeaps};
use super::{HeapType, Inner};
use crate::heap_family::{GrantedHeaps, HeapFamily};
use crate::{AllocationId, Error, InitialState};

/// Buffers from this size on are resources of their own: the granularity of D3D12 without tight alignment.
const BELOW: u64 = 64 << 10;

/// What a part is aligned to if nothing else is asked for, as document GPGMM's library does it.
const LEAST_ALIGNMENT: u64 = 4;

/// The backing buffers of one kind.
#[derive(Debug)]
pub(super) struct BackingBuffers {
    pub(super) number: u64,
    kind: BackingKind,
    set: SharedHeapSet<BackingRef>,
    pub(super) notes: Notes,
}

/// Which backing buffers: those of a heap type, as itself or as CUSTOM heaps that stand in for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BackingKind {
    pub(super) heap_type: HeapType,
    pub(super) is_custom: bool,
}

impl BackingKind {
    pub(super) const COUNT: usize = 2 * HeapType::ALL.len();

    #[inline]
    fn of(granted: &GrantedHeaps) -> Self {
        let is_custom = matches!(granted.family, HeapFamily::Custom(_));
        Self { heap_type: granted.heap_type, is_custom }
    }

    /// Its place among all kinds.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.heap_type.index() + if self.is_custom { HeapType::ALL.len() } else { 0 }
    }
}

/// A buffer that others are parts of. Dropping it releases it and gives its range back.
#[derive(Debug)]
pub(super) struct BackingBuffer {
    resource: ID3D12Resource,
    gpu_virtual_address: u64,
    /// Where the CPU sees it, as long as it lives.
    mapped: NonNull<u8>,
    range: PlacedRange,
}

/// A backing buffer in its set.
///
/// # Invariants
///
/// It points to a `BackingBuffer` that `Box` made. The set owns it: it is alive while it is in the set, and whoever takes it
/// out of the set (`free` and `take_empty` do, each buffer once, and only when no range of it is live) turns it back into the
/// `Box`. So a holder of a live range may use it.
#[derive(Debug, Clone, Copy)]
struct BackingRef(NonNull<BackingBuffer>);

// SAFETY: it stands for a `BackingBuffer`, which is `Send` and `Sync`: resource and heap are free-threaded COM objects, and the
// mapped bytes are reached through `Mapping` alone, which keeps to one range.
unsafe impl Send for BackingRef {}
// SAFETY: as above.
unsafe impl Sync for BackingRef {}
// SAFETY: the mapped pointer is what keeps it from being `Send`, see above.
unsafe impl Send for BackingBuffer {}
// SAFETY: as above.
unsafe impl Sync for BackingBuffer {}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<(ID3D12Resource, PlacedRange)>();
};

impl Drop for BackingBuffer {
    fn drop(&mut self) {
        self.range.heaps().notes.remove(self.range.id());
    }
}

impl BackingRef {
    fn new(buffer: BackingBuffer) -> Self {
        let reference = Self(NonNull::from(Box::leak(Box::new(buffer))));
        // SAFETY: it was made just now, and nobody else has it.
        let range = unsafe { &reference.0.as_ref().range };
        range.heaps().notes.set(range.id(), Note { backing: Some(reference.address()), ..Note::default() });
        reference
    }

    fn address(self) -> BackingAddress {
        BackingAddress(self.0.as_ptr() as usize)
    }

    /// Takes the buffer back from a set that gave it up.
    ///
    /// # Safety
    ///
    /// The set must have returned it as one that left, and this must be the only call for it.
    unsafe fn into_buffer(self) -> Box<BackingBuffer> {
        // SAFETY: made by `Box::leak` (type invariant); the caller promises that this is its end.
        unsafe { Box::from_raw(self.0.as_ptr()) }
    }
}

/// Where a backing buffer lies that nothing is in.
#[derive(Debug)]
pub(super) struct EmptyBacking {
    pub(super) heaps: Arc<TypedHeaps>,
    /// Which heap: to compare with.
    pub(super) heap: usize,
    pub(super) heap_size: ByteSize,
    pub(super) allocations_in_heap: u64,
}

/// Which backing buffer, without a way to it: to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct BackingAddress(usize);

/// A part of a backing buffer that belongs to one allocation until dropped.
#[derive(Debug)]
pub(super) struct WithinRange {
    buffers: Arc<Stripe<BackingBuffers>>,
    buffer: BackingRef,
    id: SharedPlacementId,
    range: HeapRange,
    alignment: Alignment,
}

impl WithinRange {
    fn buffer(&self) -> &BackingBuffer {
        // SAFETY: this range is live, so the buffer is in its set (type invariant of `BackingRef`).
        unsafe { self.buffer.0.as_ref() }
    }

    pub(super) fn resource(&self) -> &ID3D12Resource {
        &self.buffer().resource
    }

    /// Where the backing buffer lies.
    pub(super) fn backing(&self) -> &PlacedRange {
        &self.buffer().range
    }

    pub(super) fn range(&self) -> HeapRange {
        self.range
    }

    pub(super) fn alignment(&self) -> Alignment {
        self.alignment
    }

    pub(super) fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        GpuVirtualAddress::new(self.buffer().gpu_virtual_address + self.range.start().get())
    }

    /// Where the CPU sees the first byte.
    pub(super) fn mapped(&self) -> NonNull<u8> {
        let offset = self.range.start().get();
        // SAFETY: the range lies in the buffer, whose bytes are all mapped, so the offset is within what is mapped and its
        // size fits into the address space.
        #[expect(clippy::cast_possible_truncation, reason = "what is mapped fits into the address space")]
        unsafe {
            self.buffer().mapped.add(offset as usize)
        }
    }

    pub(super) fn buffers(&self) -> &BackingBuffers {
        &self.buffers
    }

    pub(super) fn id(&self) -> AllocationId {
        AllocationId::placed(self.buffers.number, false, self.id)
    }
}

impl Drop for WithinRange {
    #[inline]
    fn drop(&mut self) {
        match self.buffers.set.free(self.id) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => release(left),
            Err(error) => debug_assert!(false, "a range is freed once: {error}"),
        }
    }
}

/// Releases buffers that left their set.
#[cold]
fn release(left: Vec<BackingRef>) {
    for buffer in left {
        // SAFETY: each caller just got it from its set as one that left.
        drop(unsafe { buffer.into_buffer() });
    }
}

impl BackingBuffers {
    pub(super) fn new(kind: BackingKind) -> Arc<Self> {
        // Backing buffers are ranges of heaps that are shared anyway, so small ones lose little: as many as a batch of
        // requests needs.
        let sizing = HeapSizing { minimum: ByteSize::from_kib(64), ..HeapSizing::default() };
        let set = SharedHeapSet::new(
            sizing,
            HeapRetention::default(),
            SharedHeapSet::<BackingRef>::SLOTS_UP_TO,
            SharedHeapSet::<BackingRef>::LANES,
        );
        Arc::new(Self { number: next_number(), kind, set, notes: Notes::default() })
    }

    pub(super) fn kind(&self) -> BackingKind {
        self.kind
    }

    /// The backing buffers, and what lives in each.
    pub(super) fn survey(&self) -> Vec<(BackingAddress, Vec<(AllocationId, HeapRange)>)> {
        let id = |id| AllocationId::placed(self.number, false, id);
        let used = |survey: HeapSurvey<BackingRef>| {
            let ranges = survey.ranges.into_iter().filter_map(|range| match range {
                SurveyedRange::Used { id: placed, range } => Some((id(placed), range)),
                SurveyedRange::InSlab(_) | SurveyedRange::Padding(_) | SurveyedRange::Free(_) => None,
            });
            // The buffer may be gone by now: it is named, and not looked at.
            (survey.heap.address(), ranges.collect())
        };
        self.set.survey().into_iter().map(used).collect()
    }

    pub(super) fn set_totals(&self) -> heapwright_core::placement::HeapSetTotals {
        self.set.totals()
    }

    /// Where the backing buffers lie that nothing is in. O(n) for n of them.
    pub(super) fn places_of_empty(&self) -> Vec<EmptyBacking> {
        self.set.map_empty(|buffer| {
            // SAFETY: the buffer is in its set, whose lock is held, so it is alive (type invariant of `BackingRef`).
            let BackingBuffer { range, .. } = unsafe { buffer.0.as_ref() };
            EmptyBacking {
                heaps: Arc::clone(range.heaps()),
                heap: std::ptr::from_ref(range.heap()) as usize,
                heap_size: range.heap().size(),
                allocations_in_heap: range.allocations_in_heap(),
            }
        })
    }

    /// Releases the backing buffers that nothing is in.
    pub(super) fn release_empty(&self) {
        release(self.set.take_empty());
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        self.set.audit().map_err(|error| format!("backing buffers of {:?}: {error}", self.kind))
    }
}

impl Drop for BackingBuffers {
    fn drop(&mut self) {
        // No range is live: each holds a reference to the set.
        release(self.set.take_empty());
    }
}

/// The state that backing buffers of a heap type are in, and their parts with them.
const fn canonical_state(heap_type: HeapType) -> D3D12_RESOURCE_STATES {
    match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        HeapType::Default | HeapType::GpuUpload => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// The alignment that a buffer gets within a resource, if it may be there at all.
///
/// Buffers only, below 64 KiB, without flags, in heaps that the CPU reaches and in the state that these are in anyway (a
/// resource has one state, so a part of it cannot change its own). The alignment is what the description asks for;
/// otherwise what the uses need; otherwise 256 in state GENERIC_READ, as it may become a constant buffer, and in other states the
/// width's next power of two, 4 to 256: what is a whole number of 32 bits is what copies and views of shaders take.
#[inline]
pub(super) fn alignment_within(
    granted: &GrantedHeaps,
    allocation: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
    extra_flags: D3D12_RESOURCE_FLAGS,
) -> Option<Alignment> {
    let desc = &resource.desc;
    let heap_type = granted.heap_type;
    let state = match resource.initial_state {
        InitialState::State(state) => state,
        // Buffers have no layout.
        InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED) => D3D12_RESOURCE_STATE_COMMON,
        InitialState::Layout(_) => return None,
    };
    let refused = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP
        .union(ResourceAllocationFlags::NEVER_RESIDENT)
        .union(ResourceAllocationFlags::ALWAYS_COMMITTED)
        .union(ResourceAllocationFlags::PREFER_COMMITTED);
    let is_open = resource.is_buffer()
        && is_sound(resource)
        && desc.Width > 0
        && desc.Width < BELOW
        && desc.Flags | extra_flags == D3D12_RESOURCE_FLAG_NONE
        && heap_type.is_cpu_accessible()
        && granted.is_cpu_accessible
        && (state == canonical_state(heap_type) || state == D3D12_RESOURCE_STATE_COMMON)
        && !allocation.flags.intersects(refused)
        && allocation.extra_required_heap_flags == D3D12_HEAP_FLAG_NONE
        && allocation.extra_required_resource_padding.is_zero()
        && allocation.pool.is_none();
    if !is_open {
        return None;
    }
    let floor = allocation.uses.floor();
    if desc.Alignment != 0 {
        return Alignment::new(desc.Alignment).filter(|a| a.get() <= BELOW).map(|a| a.max(floor));
    }
    if floor > Alignment::ONE {
        return Some(floor);
    }
    let usual = if state == D3D12_RESOURCE_STATE_GENERIC_READ { 256 } else { desc.Width.next_power_of_two() };
    Alignment::new(usual.clamp(LEAST_ALIGNMENT, 256))
}

/// Whether a buffer is described as the device takes one; what it would refuse is not taken because it is small.
#[inline]
fn is_sound(resource: &ResourceDesc<'_>) -> bool {
    let desc = &resource.desc;
    let region = desc.SamplerFeedbackMipRegion;
    (desc.Height, desc.DepthOrArraySize, desc.MipLevels) == (1, 1, 1)
        && (desc.SampleDesc.Count, desc.SampleDesc.Quality) == (1, 0)
        && (desc.Format, desc.Layout) == (DXGI_FORMAT_UNKNOWN, D3D12_TEXTURE_LAYOUT_ROW_MAJOR)
        && (region.Width, region.Height, region.Depth) == (0, 0, 0)
        && resource.clear_value.is_none()
        && resource.castable_formats.is_empty()
        && resource.protected_session.is_none()
}

/// A backing buffer's description.
///
/// Parts are aligned within the buffer, so it must be itself, to what the largest of them may ask for.
pub(super) fn backing_desc(granted: &GrantedHeaps, size: ByteSize) -> ResourceDesc<'static> {
    let aligned = D3D12_RESOURCE_DESC { Alignment: BELOW, ..crate::buffer_desc(size) };
    ResourceDesc::in_state(&aligned, canonical_state(granted.heap_type))
}

impl Inner {
    /// A part of a backing buffer.
    #[inline]
    pub(super) fn allocate_within(
        self: &Arc<Self>,
        granted: &GrantedHeaps,
        size: ByteSize,
        alignment: Alignment,
        terms: Terms,
    ) -> Result<WithinRange, Refusal> {
        let buffers = self.backing_buffers(BackingKind::of(granted));
        let placed = match buffers.set.allocate(size, alignment) {
            Ok(Some(placed)) => placed,
            Ok(None) => self.allocate_in_new_buffer(buffers, granted, size, alignment, terms)?,
            Err(error) => return Err(refused(&error)),
        };
        let SharedPlaced { id, range, heap: buffer } = placed;
        Ok(WithinRange { buffers: buffers.reference(), buffer, id, range, alignment })
    }

    /// Whether a backing buffer that there is has any free range for a part: for when there can be no new one.
    pub(super) fn has_any_backing_room(
        &self,
        granted: &GrantedHeaps,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<bool, Refusal> {
        let buffers = self.backing_buffers(BackingKind::of(granted));
        buffers.set.has_room_anywhere(size, alignment).map_err(|error| refused(&error))
    }

    /// What [`allocate_within`](Self::allocate_within) would find: room, or the size of a new backing buffer.
    pub(super) fn backing_room(
        &self,
        granted: &GrantedHeaps,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Room, Refusal> {
        let buffers = self.backing_buffers(BackingKind::of(granted));
        buffers.set.room_for(size, alignment).map_err(|error| refused(&error))
    }

    /// A part of a backing buffer that there is, that has room at hand: nearly always. `None` for
    /// everything else, refusals among it, which [`create_in`](Self::create_in) is for.
    #[inline(always)]
    pub(super) fn take_within(&self, wanted: &Wanted<'_>) -> Option<WithinRange> {
        let Wanted { allocation, resource, granted, .. } = wanted;
        if self.is_noted(allocation) {
            return None;
        }
        let extra_flags = self.desc.extra_required_resource_flags;
        let alignment = alignment_within(granted, allocation, resource, extra_flags)?;
        let buffers = self.backing_buffers(BackingKind::of(granted));
        let size = ByteSize::new(resource.desc.Width);
        let placed = buffers.set.allocate_at_hand(size, alignment, |&buffer| buffer)?;
        let SharedPlaced { id, range, heap: buffer } = placed;
        Some(WithinRange { buffers: buffers.reference(), buffer, id, range, alignment })
    }

    #[cold]
    fn allocate_in_new_buffer(
        self: &Arc<Self>,
        buffers: &Arc<BackingBuffers>,
        granted: &GrantedHeaps,
        size: ByteSize,
        alignment: Alignment,
        terms: Terms,
    ) -> Result<SharedPlaced<BackingRef>, Refusal> {
        let wanted = buffers.set.plan(size, alignment).map_err(|error| refused(&error))?;
        release(wanted.release);
        let any_range = || buffers.set.allocate_anywhere(size, alignment).map_err(|error| refused(&error));
        let least = size.align_up(HEAP_GRANULARITY).unwrap_or(wanted.size);
        let made = match self.create_backing(granted, wanted.size, terms) {
            Err(refusal) if least < wanted.size && refusal.is_shortage() => {
                self.create_backing(granted, least, terms).map(|buffer| (least, buffer))
            }
            made => made.map(|buffer| (wanted.size, buffer)),
        };
        let (buffer_size, buffer) = match made {
            Ok(made) => made,
            Err(refusal) if refusal.is_shortage() => return any_range()?.ok_or(refusal),
            Err(refusal) => return Err(refusal),
        };
        let reference = BackingRef::new(buffer);
        let placed = buffers.set.allocate_in_new(buffer_size, reference, size, alignment);
        placed.map_err(|error| {
            if !matches!(error, PlacementError::TooLarge { .. }) {
                // SAFETY: the set refused it, so it is not in there, and nobody else has it.
                drop(unsafe { reference.into_buffer() });
            }
            refused(&error)
        })
    }

    fn create_backing(
        self: &Arc<Self>,
        granted: &GrantedHeaps,
        size: ByteSize,
        terms: Terms,
    ) -> Result<BackingBuffer, Refusal> {
        let desc = backing_desc(granted, size);
        let (resource, range) = self.place_buffer(granted, &desc, terms)?;
        let kept = range.heap().residency().map(KeptResident::new).transpose()?;
        let mut mapped = std::ptr::null_mut();
        // SAFETY: the resource is a live COM object, a buffer, whose only subresource is 0; the pointer is writable. It stays
        // mapped until it is released, which D3D12 allows.
        let hresult = unsafe { resource.Map(0, None, &mut mapped) };
        let mapped = NonNull::new(mapped.cast()).filter(|_| hresult.is_ok()).ok_or_else(|| {
            let answer = if hresult.is_err() { hresult } else { E_POINTER };
            Refusal { attempts: Vec::new(), fatal: Some(Error::device("ID3D12Resource::Map", answer)) }
        })?;
        // SAFETY: the resource is a live COM object.
        let D3D12_GPU_VIRTUAL_ADDRESS(gpu_virtual_address) = unsafe { resource.GetGPUVirtualAddress() };
        drop(kept);
        Ok(BackingBuffer { resource, gpu_virtual_address, mapped, range })
    }
}

fn refused(error: &PlacementError) -> Refusal {
    let error = Error::invalid_argument("D3D12_RESOURCE_DESC::Width", error.to_string());
    Refusal { attempts: Vec::new(), fatal: Some(error) }
}
