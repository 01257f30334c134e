//! Small buffers that share one resource.
//!
//! A *backing buffer* is placed, or in an allocator that commits all resources committed, like any other buffer. It is
//! mapped once for its lifetime, and divided by the same slabs and TLSFs as heaps. Allocating a range of it makes no
//! call of the device.

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use heapwright_core::placement::{
    HeapRetention, HeapSetDesc, HeapSetTotals, HeapSizing, HeapSurvey, Keeping, Placed, PlacementError,
    PlacementId, PlacementRequest, PlacementRule, SharedHeapSet, Sharing, SurveyedRange,
};
use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress, HeapRange};
use heapwright_d3d12::*;

use crate::desc::{
    EmptyHeapPolicy, HEAP_GRANULARITY, ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc,
    SuballocationAlgorithm,
};
use crate::error::Refusal;
use crate::heaps::{
    HeapKinds, OwnResource, Passed, PlacedRange, PredictedMemory, Stripe, Striped, TypedHeaps,
};
use crate::request::{
    Creation, GrantedHeaps, HeapFamily, RequirementsQuery, ResourceClass, ResourceRequirements,
};
use crate::residency::ResidencyHeap;
use crate::source::{
    AllocationId, BackingAddress, Charged, HeapSource, KeptResident, Label, LabelSlot, UnusedBuffer,
    next_number,
};
use crate::{BufferUses, Error, HeapType};

/// Buffers of this size and larger are resources of their own. It is D3D12's granularity without tight alignment.
pub(crate) const BELOW: u64 = 64 << 10;

/// Returns the state of the backing buffers of a heap type, which is also that of their parts.
pub(crate) const fn canonical_state(heap_type: HeapType) -> D3D12_RESOURCE_STATES {
    match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        HeapType::Default | HeapType::GpuUpload => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// The backing buffers of one kind.
pub(crate) struct BackingBuffers {
    pub(crate) number: u64,
    kind: BackingKind,
    set: SharedHeapSet<BackingRef>,
    source: Arc<HeapSource>,
}

/// A kind of backing buffer: those of a heap type, in heaps of this type or in CUSTOM heaps that stand in for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackingKind {
    pub(crate) heap_type: HeapType,
    pub(crate) is_custom: bool,
}

impl BackingKind {
    pub(crate) const COUNT: usize = 2 * HeapType::ALL.len();

    #[inline]
    pub(crate) fn of(granted: &GrantedHeaps) -> Self {
        let is_custom = matches!(granted.family, HeapFamily::Custom(_));
        Self { heap_type: granted.heap_type, is_custom }
    }

    /// Returns the heaps in which the buffers are placed, or with which they are counted.
    pub(crate) fn heaps(self, kinds: &HeapKinds) -> &Striped<TypedHeaps> {
        let family = match self.is_custom {
            true => kinds.families.custom(kinds.caps.architecture),
            false => HeapFamily::Type(self.heap_type),
        };
        kinds.of(family, ResourceClass::Buffer)
    }

    /// Returns the index among all kinds.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.heap_type.index() + if self.is_custom { HeapType::ALL.len() } else { 0 }
    }
}

/// A buffer that contains others. Dropping it releases the resource and its memory.
pub(crate) struct BackingBuffer {
    resource: ID3D12Resource,
    gpu_virtual_address: u64,
    /// The mapped pointer, valid for its lifetime.
    mapped: NonNull<u8>,
    memory: BackingMemory,
    label: Option<LabelSlot>,
}

/// The memory of a backing buffer.
enum BackingMemory {
    Placed(PlacedRange),
    Committed(Box<OwnResource>),
}

impl BackingMemory {
    fn place(&self) -> Result<&PlacedRange, &OwnResource> {
        match self {
            Self::Placed(range) => Ok(range),
            Self::Committed(own) => Err(own),
        }
    }

    fn residency(&self) -> Option<&ResidencyHeap> {
        match self {
            Self::Placed(range) => range.heap().residency(),
            Self::Committed(own) => own.residency.as_ref()?.heap(),
        }
    }
}

/// A backing buffer in its set.
///
/// # Invariants
///
/// It points to a `BackingBuffer` that was created by `Box`. The set owns the buffer, which is alive while it is in the
/// set. Code that removes it from the set (`free` and `take_empty` do, each buffer once, and only if no range of it is
/// live) turns it back into the `Box`. So a holder of a live range may use it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BackingRef(NonNull<BackingBuffer>);

// SAFETY: it stands for a `BackingBuffer`, which is `Send` and `Sync`: resource and heap are free-threaded COM objects,
// and the mapped bytes are only accessed through `Mapping`, which is confined to one range.
unsafe impl Send for BackingRef {}
// SAFETY: as above.
unsafe impl Sync for BackingRef {}
// SAFETY: only the mapped pointer prevents it from being `Send`, see above.
unsafe impl Send for BackingBuffer {}
// SAFETY: as above.
unsafe impl Sync for BackingBuffer {}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<(ID3D12Resource, BackingMemory)>();
};

impl Drop for BackingBuffer {
    fn drop(&mut self) {
        if let (Some(slot), Ok(range)) = (self.label.take(), self.memory.place()) {
            range.heaps().source.labels.remove(slot);
        }
    }
}

impl BackingRef {
    fn new(buffer: BackingBuffer) -> Self {
        let mut buffer = Box::new(buffer);
        if let Ok(range) = buffer.memory.place() {
            let label = Label { backing: Some(BackingAddress::of(&raw const *buffer)), ..Label::default() };
            buffer.label = Some(range.heaps().source.labels.add(range.id(), label));
        }
        Self(NonNull::from(Box::leak(buffer)))
    }

    fn address(self) -> BackingAddress {
        BackingAddress::of(self.0.as_ptr())
    }

    /// Takes back the ownership of a buffer that its set has returned.
    ///
    /// # Safety
    ///
    /// The set must have returned it as one that left, and this must be the only call for it.
    unsafe fn into_buffer(self) -> Box<BackingBuffer> {
        // SAFETY: made by `Box::leak` (type invariant); the caller promises that this is its end.
        unsafe { Box::from_raw(self.0.as_ptr()) }
    }
}

/// A backing buffer with its parts.
pub(crate) struct SurveyedBuffer {
    pub(crate) address: BackingAddress,
    pub(crate) size: ByteSize,
    pub(crate) parts: Vec<(AllocationId, HeapRange)>,
}

/// A part of a backing buffer that belongs to one allocation until dropped.
pub(crate) struct BufferRange {
    buffers: Arc<Stripe<BackingBuffers>>,
    buffer: BackingRef,
    id: PlacementId,
    range: HeapRange,
    alignment: Alignment,
}

impl BufferRange {
    fn buffer(&self) -> &BackingBuffer {
        // SAFETY: this range is live, so the buffer is in its set (type invariant of `BackingRef`).
        unsafe { self.buffer.0.as_ref() }
    }

    pub(crate) fn resource(&self) -> &ID3D12Resource {
        &self.buffer().resource
    }

    pub(crate) fn source(&self) -> &HeapSource {
        &self.buffers.source
    }

    /// Returns the range in which the backing buffer is placed, or the committed buffer.
    pub(crate) fn backing(&self) -> Result<&PlacedRange, &OwnResource> {
        self.buffer().memory.place()
    }

    pub(crate) fn range(&self) -> HeapRange {
        self.range
    }

    pub(crate) fn alignment(&self) -> Alignment {
        self.alignment
    }

    pub(crate) fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        GpuVirtualAddress::new(self.buffer().gpu_virtual_address + self.range.start().get())
    }

    /// Returns the mapped pointer of the first byte.
    pub(crate) fn mapped(&self) -> NonNull<u8> {
        let offset = self.range.start().get();
        // SAFETY: the range is within the buffer, all of whose bytes are mapped, so the offset is within the mapped
        // bytes and their size fits into the address space.
        #[expect(clippy::cast_possible_truncation, reason = "mapped memory fits into the address space")]
        unsafe {
            self.buffer().mapped.add(offset as usize)
        }
    }

    pub(crate) fn id(&self) -> AllocationId {
        AllocationId::placed(self.buffers.number, self.id)
    }
}

impl Drop for BufferRange {
    // Of 4 KB, and part of the drop of many types.
    #[inline(never)]
    fn drop(&mut self) {
        match self.buffers.set.free(self.id) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => release(left),
            Err(error) => debug_assert!(false, "buffer range freed twice: {error}"),
        }
        self.buffers.source.look_after_empty();
    }
}

/// Releases buffers that were removed from their set.
#[cold]
fn release(left: impl IntoIterator<Item = BackingRef>) {
    for buffer in left {
        // SAFETY: each caller just got it from its set as one that left.
        drop(unsafe { buffer.into_buffer() });
    }
}

impl BackingBuffers {
    /// Creates the buffers of a kind, which are kept like the heaps of the allocator.
    pub(crate) fn new(kind: BackingKind, source: &Arc<HeapSource>) -> Arc<Self> {
        // Backing buffers are ranges of shared heaps, so small ones waste little. They are as large as a batch of
        // requests needs.
        let sizing = HeapSizing {
            minimum: ByteSize::from_kib(64),
            maximum: ByteSize::from_mib(1),
            ..HeapSizing::default()
        };
        // The memory of an empty buffer is not empty for the pools that keep all empty heaps, and that of a committed
        // one is never reused.
        let retention = match (source.desc.suballocation_algorithm, source.desc.empty_heap_policy) {
            _ if source.retention == HeapRetention::NONE || commits(source) => HeapRetention::NONE,
            (SuballocationAlgorithm::Default, _)
            | (_, EmptyHeapPolicy::Default | EmptyHeapPolicy::LeastMemory | EmptyHeapPolicy::FewestHitches) =>
            {
                let keeping = Keeping::Operations(match source.desc.empty_heap_policy {
                    EmptyHeapPolicy::LeastMemory => 100,
                    EmptyHeapPolicy::FewestHitches => 20_000,
                    _ => 500,
                });
                let is_for_ever = source.retention == HeapRetention::FOR_EVER;
                let usual = if is_for_ever { HeapRetention::default() } else { source.retention };
                HeapRetention { keeping, ..usual }
            }
            // The heaps of other algorithms return to their pool with the last resource, and the statistics cannot tell
            // a heap of empty backing buffers from a used one.
            _ => HeapRetention::NONE,
        };
        let desc = HeapSetDesc::new(PlacementRule::Default(sizing), retention);
        let set = SharedHeapSet::with_shared(&desc, Arc::clone(&source.tally), Arc::default());
        let source = Arc::clone(source);
        Arc::new(Self { number: next_number(), kind, set, source })
    }

    pub(crate) fn kind(&self) -> BackingKind {
        self.kind
    }

    /// Returns whether the buffers are committed resources.
    pub(crate) fn are_committed(&self) -> bool {
        commits(&self.source)
    }

    /// Returns the backing buffers with their parts.
    pub(crate) fn survey(&self) -> Vec<SurveyedBuffer> {
        let id = |id| AllocationId::placed(self.number, id);
        let used = |survey: HeapSurvey<BackingRef>| {
            let ranges = survey.ranges.into_iter().filter_map(|range| match range {
                SurveyedRange::Used { id: placed, range } => Some((id(placed), range)),
                SurveyedRange::InSlab(_) | SurveyedRange::Padding(_) | SurveyedRange::Free(_) => None,
            });
            // The buffer may have been released. Only its address is used.
            let (address, size) = (survey.heap.address(), survey.size);
            SurveyedBuffer { address, size, parts: ranges.collect() }
        };
        self.set.survey().into_iter().map(used).collect()
    }

    pub(crate) fn set_totals(&self) -> HeapSetTotals {
        self.set.totals()
    }

    /// Returns the ranges of the placed backing buffers without live parts. O(n) for n of them.
    fn unused(&self) -> Vec<UnusedBuffer> {
        let of = |buffer: &BackingRef| {
            // SAFETY: the buffer is in its set, whose lock is held, so it is alive (type invariant of `BackingRef`).
            let BackingBuffer { memory, .. } = unsafe { buffer.0.as_ref() };
            memory.place().ok().map(PlacedRange::as_unused)
        };
        let mut unused = self.set.map_empty(of);
        // Those in which only slabs without used slots are.
        unused.extend(self.set.vacated(&[], of));
        unused.into_iter().flatten().collect()
    }

    /// Releases the empty backing buffers. `keeps_heaps` keeps heaps that are empty then.
    fn release_empty(&self, keeps_heaps: bool) {
        for (_, buffer) in self.set.take_empty(ByteSize::MAX) {
            // SAFETY: the set just returned it as one that left.
            let mut buffer = unsafe { buffer.into_buffer() };
            if let (true, BackingMemory::Placed(range)) = (keeps_heaps, &mut buffer.memory) {
                range.keep_heap();
            }
        }
    }

    /// Releases buffers that are not worth keeping any more.
    pub(crate) fn pass(&self, passed: Passed) {
        release(match passed {
            Passed::Operations => self.set.pass_operations(),
            Passed::Frame => self.set.pass_frame(),
            Passed::Period | Passed::BegunPeriod => self.set.pass_period(),
            Passed::PartOfPeriod => return,
        });
    }

    #[inline]
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.set.audit().map_err(|error| format!("backing buffers of {:?}: {error}", self.kind))
    }
}

impl Drop for BackingBuffers {
    fn drop(&mut self) {
        // No range is live, because each holds a reference to the set.
        self.release_empty(false);
    }
}

/// The source of backing buffers for a part.
#[derive(Clone, Copy)]
pub(crate) struct BackingSource<'a> {
    pub(crate) heaps: &'a HeapKinds,
    pub(crate) requirements: &'a RequirementsQuery,
    /// The heaps that are granted to the part, and its flags.
    pub(crate) granted: GrantedHeaps,
    pub(crate) flags: ResourceAllocationFlags,
}

impl BackingSource<'_> {
    /// Returns the heaps in which the buffers are placed, or with which they are counted.
    fn typed_heaps(&self) -> &Striped<TypedHeaps> {
        self.heaps.of(self.granted.family, ResourceClass::Buffer)
    }

    /// Calls `make` with the description and the requirements of a buffer of a given size.
    ///
    /// Parts are aligned relative to the buffer, so the buffer must have the largest alignment that a part may request.
    fn described<T>(
        &self,
        size: ByteSize,
        creation: Creation,
        make: impl FnOnce(&ResourceDesc<'_>, &ResourceRequirements) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let aligned = D3D12_RESOURCE_DESC { Alignment: BELOW, ..crate::buffer_desc(size) };
        let desc = ResourceDesc::in_state(&aligned, canonical_state(self.granted.heap_type));
        make(&desc, &self.requirements.requirements(&desc, BufferUses::empty(), creation)?)
    }

    /// Calls `place` to place a buffer of a given size, in shared heaps if possible.
    fn place<T>(
        &self,
        size: ByteSize,
        place: impl Fn(&PlacementRequest, &ResourceDesc<'_>, &ResourceRequirements) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let is_dedicated = self.typed_heaps().desc.algorithm == SuballocationAlgorithm::Dedicated;
        let alone = Sharing::Alone { reusable: true };
        self.described(size, Creation::Placed, |desc, placed| {
            let shared = PlacementRequest::new(placed.size, placed.alignment);
            let place = |sharing| place(&PlacementRequest { sharing, ..shared }, desc, placed);
            match place(if is_dedicated { alone } else { Sharing::Shared }) {
                Err(refusal) if refusal.is_about_size() => place(alone),
                placed => placed,
            }
        })
    }

    /// Calls `make` with a size, or, if there is no memory for it, with the smallest size that holds `part` bytes.
    fn or_least<T>(
        size: ByteSize,
        part: ByteSize,
        make: impl Fn(ByteSize) -> Result<T, Refusal>,
    ) -> Result<(ByteSize, T), Refusal> {
        let least = part.align_up(HEAP_GRANULARITY).unwrap_or(size);
        match make(size) {
            Err(refusal) if least < size && refusal.is_shortage() => make(least).map(|made| (least, made)),
            made => made.map(|made| (size, made)),
        }
    }

    fn create(&self, size: ByteSize) -> Result<BackingBuffer, Refusal> {
        let (resource, memory) = if commits(&self.heaps.source) {
            self.described(size, Creation::Committed, |desc, committed| {
                let (flags, what) = (D3D12_HEAP_FLAG_NONE, Charged::Heap);
                let heaps = self.typed_heaps();
                let own = self.heaps.commit(heaps, desc, committed, what, flags, self.flags)?;
                Ok((own.resource.clone(), BackingMemory::Committed(Box::new(own))))
            })?
        } else {
            self.place(size, |request, desc, placed| {
                let heaps = self.typed_heaps();
                let range = self.heaps.take(heaps, request, self.flags)?;
                if let Some(prefetcher) = &self.heaps.prefetcher {
                    let flags = ResourceAllocationFlags::empty();
                    self.heaps.prefetch_after(prefetcher, heaps, request, flags);
                }
                let resource = range.create_resource(desc, &placed.desc)?;
                Ok((resource, BackingMemory::Placed(range)))
            })?
        };
        let kept = memory.residency().map(KeptResident::new).transpose()?;
        let mut mapped = std::ptr::null_mut();
        // SAFETY: the resource is a live COM object, a buffer, whose only subresource is 0; the pointer is writable. It
        // stays mapped until it is released, which D3D12 allows.
        let hresult = unsafe { resource.Map(0, None, &mut mapped) };
        let mapped = NonNull::new(mapped.cast()).filter(|_| hresult.is_ok()).ok_or_else(|| {
            let answer = if hresult.is_err() { hresult } else { E_POINTER };
            Error::device("ID3D12Resource::Map", answer)
        })?;
        // SAFETY: the resource is a live COM object.
        let D3D12_GPU_VIRTUAL_ADDRESS(gpu_virtual_address) = unsafe { resource.GetGPUVirtualAddress() };
        drop(kept);
        Ok(BackingBuffer { resource, gpu_virtual_address, mapped, memory, label: None })
    }
}

impl BackingBuffers {
    #[cold]
    fn allocate(
        &self,
        size: ByteSize,
        alignment: Alignment,
        source: &BackingSource<'_>,
    ) -> Result<Placed<BackingRef>, Refusal> {
        let request = PlacementRequest::new(size, alignment);
        match self.set.allocate(&request).map_err(refused)? {
            Some(placed) => Ok(placed),
            None => self.allocate_in_new(&request, source),
        }
    }

    #[cold]
    fn allocate_in_new(
        &self,
        request: &PlacementRequest,
        source: &BackingSource<'_>,
    ) -> Result<Placed<BackingRef>, Refusal> {
        let wanted = self.set.new_heap_size(request).map_err(refused)?;
        release(self.set.make_way(wanted));
        let made = BackingSource::or_least(wanted, request.size, |size| source.create(size));
        let (buffer_size, buffer) = match made {
            Ok(made) => made,
            Err(refusal) if refusal.is_shortage() => {
                return self.set.allocate_anywhere(request).map_err(refused)?.ok_or(refusal);
            }
            Err(refusal) => return Err(refusal),
        };
        let reference = BackingRef::new(buffer);
        let placed = self.set.allocate_in_new(buffer_size, reference, request);
        placed.map_err(|error| {
            if !matches!(error, PlacementError::TooLarge { .. }) {
                // SAFETY: the set refused it, so it is not in there, and nobody else has it.
                drop(unsafe { reference.into_buffer() });
            }
            refused(error).into()
        })
    }

    /// Predicts the source of the memory for a part.
    #[inline]
    pub(crate) fn probe(
        &self,
        size: ByteSize,
        alignment: Alignment,
        source: &BackingSource<'_>,
    ) -> Result<PredictedMemory, Refusal> {
        let request = PlacementRequest::new(size, alignment);
        if self.set.has_room(&request).map_err(refused)? {
            return Ok(PredictedMemory::Held);
        }
        let buffer = self.set.new_heap_size(&request).map_err(refused)?;
        let probe = |size| match commits(&self.source) {
            false => source
                .place(size, |request, _, _| source.heaps.probe(source.typed_heaps(), request, source.flags)),
            true => source.described(size, Creation::Committed, |_, &ResourceRequirements { size, .. }| {
                let flags = D3D12_HEAP_FLAG_NONE;
                source.heaps.may_commit(source.typed_heaps(), size, flags, source.flags)?;
                Ok(PredictedMemory::NewHeap(size))
            }),
        };
        BackingSource::or_least(buffer, size, probe).map(|(_, memory)| memory)
    }
}

impl Striped<BackingBuffers> {
    /// Takes a part of an existing buffer that has a free range at hand.
    #[inline(always)]
    pub(crate) fn take_at_hand(&self, size: ByteSize, alignment: Alignment) -> Option<BufferRange> {
        let request = PlacementRequest::new(size, alignment);
        Some(self.range(self.set.allocate_at_hand(&request, |&buffer| buffer)?, alignment))
    }

    /// Takes a part of an existing buffer, or of a new one.
    pub(crate) fn take(
        &self,
        size: ByteSize,
        alignment: Alignment,
        source: &BackingSource<'_>,
    ) -> Result<BufferRange, Refusal> {
        Ok(self.range(self.allocate(size, alignment, source)?, alignment))
    }

    #[inline(always)]
    fn range(&self, placed: Placed<BackingRef>, alignment: Alignment) -> BufferRange {
        let Placed { id, range, heap: buffer } = placed;
        BufferRange { buffers: self.reference(), buffer, id, range, alignment }
    }
}

/// Returns whether the backing buffers of an allocator are committed resources, as all its resources are.
fn commits(source: &HeapSource) -> bool {
    source.desc.flags.contains(ResourceAllocatorFlags::ALWAYS_COMMITTED)
}

fn refused(error: PlacementError) -> Error {
    Error::invalid_argument("D3D12_RESOURCE_DESC::Width", error.to_string())
}

/// The backing buffers of an allocator. Those of a kind are created on first use.
pub(crate) struct BufferSets {
    source: Arc<HeapSource>,
    sets: [OnceLock<Striped<BackingBuffers>>; BackingKind::COUNT],
}

impl BufferSets {
    pub(crate) fn new(source: &Arc<HeapSource>) -> Self {
        Self { source: Arc::clone(source), sets: Default::default() }
    }

    /// Returns the backing buffers in the granted heaps.
    #[inline]
    pub(crate) fn of(&self, granted: &GrantedHeaps) -> &Striped<BackingBuffers> {
        let kind = BackingKind::of(granted);
        self.sets[kind.index()].get_or_init(|| Striped::new(BackingBuffers::new(kind, &self.source)))
    }

    /// Returns the backing buffers of each kind that was ever used.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Striped<BackingBuffers>> {
        self.sets.iter().filter_map(OnceLock::get)
    }

    /// Returns the ranges of the empty backing buffers, each with the number of the heaps that it is in.
    pub(crate) fn unused(&self) -> Vec<UnusedBuffer> {
        self.all().flat_map(|buffers| buffers.unused()).collect()
    }

    /// Releases the empty backing buffers in heaps of certain numbers. `keeps_heaps` keeps heaps that are empty then.
    /// Returns whether there were any.
    pub(crate) fn release_unused(&self, is_in: &dyn Fn(u64) -> bool, keeps_heaps: bool) -> bool {
        let mut are_any = false;
        for buffers in self.all() {
            // Those of a kind are in heaps of one kind.
            if buffers.unused().first().is_some_and(|buffer| is_in(buffer.heaps)) {
                buffers.release_empty(keeps_heaps);
                are_any = true;
            }
        }
        are_any
    }
}
