//! Plans a frame and places its resources.

use std::fmt;
use std::sync::Arc;

use heapwright::d3d12::sdk_619::{D3D12_FEATURE_BARRIER_LAYOUT, D3D12_FEATURE_DATA_BARRIER_LAYOUT};
use heapwright::d3d12::*;
#[cfg(feature = "residency")]
use heapwright::residency::ResidencyList;
use heapwright::{
    AliasingRequirements, Alignment, ByteSize, Error, HeapType, MemoryAllocation, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceAllocator, ResourceKind,
};
use heapwright_aliasing::SolveOptions;
use heapwright_aliasing::frame::{
    BarrierModel, Category, FrameError, FramePlan, FramePlanOptions, FrameResource, FrameResourceId,
    HeapPlan, NotAliased, OfKind, PassId, Submission,
};
use windows_core::Interface;

use super::frame::{TransientFrame, malformed};
use super::resource::Resource;
use super::scopes::SHARED_READS;
use super::states::{FrameStates, PassRecord, derive};

/// The heaps of frames that follow one another: plans a frame when it changes, and keeps the result.
///
/// The heaps are the allocator's: they count towards its limits and budgets, and with a residency manager they are
/// paged as a whole. On resource heap tier 2, a frame has one heap.
///
/// # Threads
///
/// `Send` and `Sync`.
pub struct TransientHeaps {
    allocator: ResourceAllocator,
    barriers: BarrierModel,
    /// Whether the device has the layout in which direct and compute queues read.
    has_shared_reads: bool,
    last: Option<Arc<TransientResources>>,
}

// By hand: derived, it would be code for all of the state.
impl fmt::Debug for TransientHeaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransientHeaps").finish_non_exhaustive()
    }
}

/// The planner's steps for a heap, enough to prove the plans of typical frames optimal. A frame that is not proved
/// takes some ten milliseconds.
const STEPS: u64 = 20_000;

/// Alignment of heaps that hold multisampled textures, also of those that are aligned to less.
const MULTISAMPLED: Alignment = match Alignment::new(4 << 20) {
    Some(alignment) => alignment,
    None => panic!("4 MiB is a power of two"),
};

impl TransientHeaps {
    /// Creates heaps of an allocator; none has memory yet.
    #[must_use]
    pub fn new(allocator: &ResourceAllocator) -> Self {
        let barriers =
            if has_enhanced_barriers(allocator) { BarrierModel::Enhanced } else { BarrierModel::Legacy };
        let has_shared_reads = has_shared_reads(allocator.device());
        let allocator = allocator.clone();
        Self { allocator, barriers, has_shared_reads, last: None }
    }

    /// Uses legacy barriers even if the device has enhanced ones: for programs whose passes have legacy barriers of the
    /// resources, and for tools that know no others.
    #[must_use]
    pub fn with_legacy_barriers(self) -> Self {
        Self { barriers: BarrierModel::Legacy, ..self }
    }

    /// Returns the resources of a frame. If the frame equals that of the last call, the result is the same, and nothing
    /// is planned or created.
    ///
    /// If the frame changed, resources that it has in common with the last one keep their places where that makes the
    /// heaps no larger. The memory is the same if it is large enough and both frames have one queue of the same kind,
    /// which is the same `ID3D12CommandQueue`, whose order then separates them. Otherwise, the frame gets new memory,
    /// and the last one's is freed when the last reference to its resources is dropped: keep that until the GPU has
    /// finished its frames.
    ///
    /// Cost: O(passes + resources) for a frame that did not change.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the resource and the passes, if the frame reads contents that it did not write, if first
    /// uses or states have no order, or if a description is not valid; otherwise the errors of
    /// [`ResourceAllocator::create`].
    pub fn prepare(&mut self, frame: &TransientFrame) -> Result<Arc<TransientResources>, Error> {
        let allocator = self.allocator.clone();
        let args =
            || format!("\"Passes\":{},\"Resources\":{}", frame.0.passes().len(), frame.0.resources().len());
        allocator.traced("TransientHeaps.Prepare", args, || self.prepare_frame(frame))
    }

    fn prepare_frame(&mut self, frame: &TransientFrame) -> Result<Arc<TransientResources>, Error> {
        let is_same =
            |last: &&Arc<TransientResources>| last.frame == *frame && last.barrier_model() == self.barriers;
        if let Some(last) = self.last.as_ref().filter(is_same) {
            return Ok(Arc::clone(last));
        }
        let requirements = (frame.0.resources().iter())
            .map(|resource| self.allocator.aliasing_requirements(&resource.desc))
            .collect::<Result<Vec<_>, _>>()?;
        let planned = self.described(frame, &requirements);
        let core = frame.0.described_by(planned);
        let options = FramePlanOptions {
            heap_per_category: self.allocator.resource_heap_tier() < 2,
            barriers: self.barriers,
            solve: SolveOptions { steps: STEPS, ..SolveOptions::default() },
            ..FramePlanOptions::default()
        };
        let plan = core.plan(&options, &mut || false).map_err(malformed)?;
        if let Some(&(resource, reason)) = plan.not_aliased.iter().find(|(_, reason)| reason.is_mistake()) {
            return Err(mistake(resource, reason));
        }
        let states = derive(frame, &plan, &core.order(), self.has_shared_reads)?;
        // A frame without resources has a heap of no bytes.
        let planned = plan.heaps.iter().filter(|heap| !heap.size.is_zero());
        let heaps = planned.map(|heap| self.memory(frame, heap)).collect::<Result<Vec<_>, Error>>()?;
        let mut resources = Vec::with_capacity(frame.0.resources().len());
        for (number, resource) in frame.0.resources().iter().enumerate() {
            let placement = plan.placements[number];
            let (memory, placed) = (&heaps[placement.heap].memory, &requirements[number]);
            let (state, clear_value) = (states.initial[number], resource.clear_value);
            resources.push(memory.create_aliasing_resource(placement.offset, placed, state, clear_value)?);
        }
        let made = TransientResources { resources, heaps, frame: frame.clone(), plan, states };
        Ok(Arc::clone(self.last.insert(Arc::new(made))))
    }

    /// Forgets the frame that was prepared last, so that its memory is freed as soon as the program drops its
    /// resources.
    pub fn release(&mut self) {
        let last = self.last.take();
        self.allocator.traced("TransientHeaps.Release", String::new, || drop(last));
    }

    /// Returns the planner's description of the resources. Those that the last frame had, too, have their offsets as
    /// hints.
    fn described(&self, frame: &TransientFrame, requirements: &[AliasingRequirements]) -> Vec<FrameResource> {
        let mut taken = vec![false; self.last.as_ref().map_or(0, |last| last.frame.0.resources().len())];
        (frame.0.resources().iter().zip(requirements))
            .map(|(resource, placed)| {
                let described = FrameResource::new(resource.kind(), placed.size(), placed.alignment());
                let Some(last) = &self.last else { return described };
                let same =
                    (0..taken.len()).find(|&old| !taken[old] && last.frame.0.resources()[old] == *resource);
                let hint = same.map(|old| {
                    taken[old] = true;
                    last.plan.placements[old].offset
                });
                FrameResource { hint, ..described }
            })
            .collect()
    }

    /// Returns the memory of a heap: that of the last frame if possible.
    fn memory(&self, frame: &TransientFrame, heap: &HeapPlan) -> Result<Heap, Error> {
        let of_heap = |resource: &&Resource| heap.category.is_none_or(|of| resource.kind().category() == of);
        let mut held = frame.0.resources().iter().filter(of_heap);
        let is_multisampled = held.any(|resource| resource.desc.SampleDesc.Count > 1);
        let alignment = if is_multisampled { MULTISAMPLED } else { heap.alignment };
        let size = heap.height.align_up(alignment).unwrap_or(heap.size);
        let kind = HeapKind { category: heap.category, alignment };
        let is_ordered = |last: &&Arc<TransientResources>| {
            frame.0.queues().len() == 1 && frame.0.queues() == last.frame.0.queues()
        };
        if let Some(last) = self.last.as_ref().filter(is_ordered) {
            // No more than twice as much, so that memory which a peak needed is freed after it.
            let fits = |has: ByteSize| size <= has && has.get() / 2 <= size.get();
            let held = last.heaps.iter().find(|held| held.kind == kind && fits(held.size()));
            if let Some(held) = held {
                return Ok(held.clone());
            }
        }
        let own_heap = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
        let allocation = ResourceAllocationDesc {
            flags: own_heap | ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS,
            ..ResourceAllocationDesc::new(HeapType::Default)
        };
        let memory = self.allocator.allocate_memory(&allocation, kind.resources(), size, alignment)?;
        Ok(Heap { kind, memory: Arc::new(memory) })
    }
}

/// Returns whether resources can be created in layouts, and whether command lists have barriers for them: a layer
/// between the program and D3D12 may know fewer interfaces than the device.
fn has_enhanced_barriers(allocator: &ResourceAllocator) -> bool {
    let device = allocator.device();
    if !allocator.caps().enhanced_barriers || device.cast::<ID3D12Device10>().is_err() {
        return false;
    }
    let Ok(device) = device.cast::<ID3D12Device4>() else { return false };
    // SAFETY: the device is alive, and the result is of the interface that is asked for. The list is created closed.
    let list: windows_core::Result<ID3D12GraphicsCommandList7> =
        unsafe { device.CreateCommandList1(0, D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_FLAG_NONE) };
    list.is_ok()
}

/// Returns whether direct and compute lists know the layout in which both read.
fn has_shared_reads(device: &ID3D12Device) -> bool {
    [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE].into_iter().all(|list_type| {
        let mut data = D3D12_FEATURE_DATA_BARRIER_LAYOUT {
            CommandListType: list_type,
            Layout: SHARED_READS,
            Supported: false.into(),
        };
        let size = u32::try_from(size_of_val(&data)).unwrap_or(u32::MAX);
        // SAFETY: `data` is the structure of the feature, and `size` its size.
        let known =
            unsafe { device.CheckFeatureSupport(D3D12_FEATURE_BARRIER_LAYOUT, (&raw mut data).cast(), size) };
        known.is_ok() && data.Supported.as_bool()
    })
}

/// Returns the error for a resource that the planner would have to leave undefined.
fn mistake(resource: FrameResourceId, reason: NotAliased) -> Error {
    let rule = match reason {
        NotAliased::ReadBeforeWrite { pass } => format!(
            "resource {} is read by pass {}, and no pass before that writes it: its contents are undefined",
            resource.0, pass.0
        ),
        NotAliased::UnorderedFirstUses { pass, other } => format!(
            "resource {} is used by passes {} and {}, and no dependency says which is the first to use it",
            resource.0, pass.0, other.0
        ),
        other => format!("resource {} cannot be planned: {other:?}", resource.0),
    };
    Error::invalid_argument("frame", rule)
}

/// The heaps that hold resources of a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeapKind {
    category: Option<Category>,
    /// 4 MiB if the heap holds multisampled textures.
    alignment: Alignment,
}

impl HeapKind {
    /// Returns the resources that the heaps accept.
    fn resources(self) -> ResourceKind {
        match self.category {
            None => ResourceKind::Any,
            Some(Category::Buffer) => ResourceKind::Buffers,
            Some(Category::Texture) => ResourceKind::Textures,
            Some(Category::RenderTargetOrDepthStencil) => ResourceKind::RenderTargets,
        }
    }
}

/// The memory of one heap of a plan.
#[derive(Clone)]
struct Heap {
    kind: HeapKind,
    memory: Arc<MemoryAllocation>,
}

impl Heap {
    fn size(&self) -> ByteSize {
        self.memory.size()
    }
}

/// The resources of a frame, placed in heaps that they share, and the barriers that each pass needs.
///
/// [`TransientHeaps::prepare`](super::TransientHeaps::prepare) creates it. It can be recorded any number of times, also
/// for several frames in flight: each resource is initialised again in every frame.
pub struct TransientResources {
    // Fields are dropped in order: the resources before the ranges in which they are placed.
    pub(super) resources: Vec<ID3D12Resource>,
    heaps: Vec<Heap>,
    pub(super) frame: TransientFrame,
    pub(super) plan: FramePlan,
    pub(super) states: FrameStates,
}

impl TransientResources {
    /// Returns a resource.
    ///
    /// # Errors
    ///
    /// Invalid argument if the resource is not of the frame.
    pub fn resource(&self, resource: FrameResourceId) -> Result<&ID3D12Resource, Error> {
        let rule = || malformed(FrameError::UnknownResource(resource));
        self.resources.get(resource.0).ok_or_else(rule)
    }

    /// Returns the passes that are executed together, in the order in which they are passed to the queues.
    #[must_use]
    pub fn submissions(&self) -> &[Submission] {
        &self.plan.submissions
    }

    /// Returns the plan: heaps, offsets, and which resource takes over memory from which.
    #[must_use]
    pub fn plan(&self) -> &FramePlan {
        &self.plan
    }

    /// Returns which barriers are recorded.
    #[must_use]
    pub fn barrier_model(&self) -> BarrierModel {
        self.plan.barriers
    }

    /// Returns the bytes of the heaps that the resources take.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.heaps.iter().map(Heap::size).fold(ByteSize::ZERO, ByteSize::saturating_add)
    }

    /// Adds the heaps to the residency list of a command list that uses resources of the frame. Without a residency
    /// manager, nothing is added.
    ///
    /// # Errors
    ///
    /// The errors of [`ResidencyList::add`].
    #[cfg(feature = "residency")]
    pub fn add_to(&self, list: &ResidencyList) -> Result<(), Error> {
        let mut open = list.open()?;
        self.heaps.iter().filter_map(|heap| heap.memory.memory()).try_for_each(|heap| open.add(heap))
    }

    pub(super) fn record(&self, pass: PassId) -> Result<&PassRecord, Error> {
        let rule = || malformed(FrameError::UnknownPass(pass));
        self.states.passes.get(pass.0).ok_or_else(rule)
    }

    /// Returns a resource of one of the frame's barriers.
    pub(super) fn resource_at(&self, resource: FrameResourceId) -> &ID3D12Resource {
        &self.resources[resource.0]
    }
}

impl fmt::Debug for TransientResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransientResources")
            .field("frame", &self.frame)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<(TransientHeaps, TransientResources)>();
};
