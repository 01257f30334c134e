//! The plan of a frame: heaps, offsets, and what each activation owes.

use std::collections::BTreeSet;

use super::passes::{
    Initialisation, NotAliased, PassOrder, ResourceUses, RestingState, Submission, submissions,
};
use super::{Category, Frame, FrameError, FrameResourceId, PassId, QueueId, ResourceKind, Use};
use crate::handovers::handovers_in_granules;
use crate::{
    Buffer, Instance, Interval, Load, Packing, SolveOptions, Violated, reduce_aliasing_pairs, solve,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset, HeapRange};

/// Which barriers activate resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BarrierModel {
    /// `D3D12_RESOURCE_ALIASING_BARRIER`.
    #[default]
    Legacy,
    /// `ID3D12GraphicsCommandList7::Barrier`.
    Enhanced,
}

/// How a frame is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePlanOptions {
    /// Whether each category of resources has a heap of its own, as resource heap tier 1 requires.
    pub heap_per_category: bool,
    /// Barriers that activate resources.
    pub barriers: BarrierModel,
    /// The options for packing each heap.
    pub solve: SolveOptions,
    /// Number of moves that are tried to reduce the number of aliasing barriers, for each heap.
    pub moves: u64,
}

impl Default for FramePlanOptions {
    fn default() -> Self {
        Self {
            heap_per_category: false,
            barriers: BarrierModel::Legacy,
            solve: SolveOptions::default(),
            moves: 800,
        }
    }
}

/// A heap of a [`FramePlan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapPlan {
    /// Category of the resources, or `None` if the heap holds all categories.
    pub category: Option<Category>,
    /// Highest end of a resource.
    pub height: ByteSize,
    /// No plan of this heap is lower.
    pub lower_bound: ByteSize,
    /// Whether the height is proved to be the lowest.
    pub proved: bool,
    /// Largest sum of the sizes of resources that live at the same time; the instant is a pass, if the passes have a
    /// total order.
    pub load: Load,
    /// Number of steps that the planner took.
    pub steps: u64,
    /// Alignment that the heap must have: the largest of its resources, at least 64 KiB.
    pub alignment: Alignment,
    /// Size that the heap must have: the height, rounded up to the alignment.
    pub size: ByteSize,
}

/// Where a resource lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Index of the heap in the plan.
    pub heap: usize,
    /// Offset of the resource in the heap.
    pub offset: HeapOffset,
}

/// A resource that used memory before the resource that is activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predecessor {
    /// The resource.
    pub resource: FrameResourceId,
    /// The memory that both use. If one of the two owns whole granules, bytes that the other one has in such a granule.
    pub range: HeapRange,
    /// Whether it used the memory in the frame before, rather than earlier in this frame.
    pub previous_frame: bool,
    /// Whether a pass uses it on the queue that activates the next resource. Otherwise fences order the two.
    pub same_queue: bool,
}

/// The barriers and the initialisation before the first use of a resource in each frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// The resource that becomes active.
    pub resource: FrameResourceId,
    /// The pass before which it does.
    pub pass: PassId,
    /// The queue of the pass, which also initialises the resource.
    pub queue: QueueId,
    /// The resources that used its memory before, by range. Empty if no other resource shares the memory. Behind a
    /// buffer, of which only a part may have been used, and a resource whose only pass may be skipped, the ones before
    /// it are listed, too.
    pub predecessors: Vec<Predecessor>,
    /// The predecessors that the same submission used before, ascending: others are ordered by the end of their
    /// submissions. Each is `pResourceBefore` of a legacy aliasing barrier. With enhanced barriers, one in front of the
    /// activation waits for the last use of each and flushes it: a barrier of each to NO_ACCESS, or a global one.
    pub after: Vec<FrameResourceId>,
    /// Whether the enhanced barrier that activates the resource (AccessBefore is NO_ACCESS, and for textures
    /// LayoutBefore is UNDEFINED) has the flag DISCARD, which then is the initialisation that is owed. It must not be
    /// in the same group as a barrier of `after`, because barriers of a group are not ordered. If one of those flushes
    /// writes, the flag is not permitted, and the initialisation is a `DiscardResource` of its own. False with legacy
    /// barriers.
    pub discards: bool,
    /// The initialisation that is owed after the barrier and before any other use. [`Clear`](Initialisation::Clear) and
    /// [`Copy`](Initialisation::Copy) are what the pass does anyway, and must be its first use of the resource.
    pub initialisation: Initialisation,
    /// State in which the initialisation needs the resource, and in which the last pass must therefore leave it.
    pub resting_state: RestingState,
}

/// Where the resources of a frame lie, and what each activation owes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramePlan {
    /// The barriers that activate resources.
    pub barriers: BarrierModel,
    /// The heaps.
    pub heaps: Vec<HeapPlan>,
    /// Placements of the resources, in the order in which they were added.
    pub placements: Vec<Placement>,
    /// Activations, in the order of their passes. Resources that never alias have none.
    pub activations: Vec<Activation>,
    /// What the first use of each resource owes whose contents are undefined before, and the state that it needs for
    /// that, in the order in which they were added. Those that share memory have it in their activation.
    pub initialisations: Vec<(Initialisation, RestingState)>,
    /// Resources that share no memory, with the reason.
    pub not_aliased: Vec<(FrameResourceId, NotAliased)>,
    /// Pairs of queues of which the second must not begin a frame before the first has finished the frame before,
    /// because memory passes from one to the other, or a resource is used on both. Empty if there is one queue.
    pub frame_fences: Vec<(QueueId, QueueId)>,
    /// The passes that are executed together, and the waits of queues for each other.
    pub submissions: Vec<Submission>,
}

/// The resources of a frame with their offsets, from which the rest of the plan follows.
///
/// [`Frame::plan`] does all at once; the steps apart are for programs that measure them.
#[derive(Debug)]
pub struct FramePacking<'a> {
    frame: &'a Frame,
    uses: Vec<ResourceUses>,
    heaps: Vec<PackedHeap>,
}

/// The resources of a heap.
#[derive(Debug)]
struct PackedHeap {
    category: Option<Category>,
    /// The resources, ascending: the buffers of the instance.
    members: Vec<usize>,
    instance: Instance,
    packing: Packing,
}

impl Frame {
    /// Plans the frame: chooses offsets and derives barriers and initialisations. `stop` is called often and ends the
    /// search for better offsets when it returns true.
    ///
    /// # Errors
    ///
    /// Returns an error if no pass uses a resource, if a pass is on a queue or uses a resource that is not of this
    /// frame, or if a size, an alignment or a fixed offset is impossible.
    pub fn plan(
        &self,
        options: &FramePlanOptions,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<FramePlan, FrameError> {
        let mut packing = self.pack(options, &mut |_| stop())?;
        packing.reduce_aliasing_pairs(options.moves, stop);
        Ok(packing.plan(options.barriers))
    }

    /// Chooses the offsets of the resources, the first step of [`plan`](Self::plan). `stop` is called with the index of
    /// the heap that is being packed, and ends the search for it when it returns true.
    ///
    /// # Errors
    ///
    /// The errors of [`plan`](Self::plan).
    pub fn pack(
        &self,
        options: &FramePlanOptions,
        stop: &mut dyn FnMut(usize) -> bool,
    ) -> Result<FramePacking<'_>, FrameError> {
        if let Some(pass) = self.passes.iter().find(|pass| pass.queue.0 >= self.queues.len()) {
            return Err(FrameError::UnknownQueue(pass.queue));
        }
        let mut uses = self.passes.iter().flat_map(|pass| &pass.uses);
        if let Some(used) = uses.find(|used| used.resource.0 >= self.resources.len()) {
            return Err(FrameError::UnknownResource(used.resource));
        }
        let order = PassOrder::new(self);
        let uses = (0..self.resources.len())
            .map(|number| {
                let resource = FrameResourceId(number);
                ResourceUses::new(self, &order, resource).ok_or(FrameError::Unused(resource))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let categories: Vec<Option<Category>> = if options.heap_per_category {
            let used: BTreeSet<Category> = self.resources.iter().map(|desc| desc.kind.category()).collect();
            used.into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        let mut heaps = Vec::new();
        for category in categories {
            let members: Vec<usize> = (0..self.resources.len())
                .filter(|&number| {
                    category.is_none_or(|category| self.resources[number].kind.category() == category)
                })
                .collect();
            let instance = self.instance(&members, &uses, &order)?;
            let packing = solve(&instance, &options.solve, &mut || stop(heaps.len()));
            heaps.push(PackedHeap { category, members, instance, packing });
        }
        Ok(FramePacking { frame: self, uses, heaps })
    }

    /// Returns whether a pass uses the first resource on the queue that activates the second.
    fn shares_queue(&self, first: &ResourceUses, second: &ResourceUses) -> bool {
        let queue = self.passes[second.first.0].queue;
        first.passes.iter().any(|pass| self.passes[pass.0].queue == queue)
    }

    /// Adds the predecessors of predecessors that may not have used all of their memory, so that others used some of it
    /// last: buffers, and resources of passes that may be skipped.
    fn add_behind_partial(
        &self,
        members: &[usize],
        uses: &[ResourceUses],
        predecessors: &mut [Vec<Predecessor>],
    ) {
        let direct = predecessors.to_vec();
        for (&number, predecessors) in members.iter().zip(predecessors) {
            let mut next = 0;
            while let Some(&partial) = predecessors.get(next) {
                next += 1;
                let is_buffer = self.resources[partial.resource.0].kind == ResourceKind::Buffer;
                if !is_buffer && !self.passes[uses[partial.resource.0].first.0].may_be_skipped {
                    continue;
                }
                let Ok(position) = members.binary_search(&partial.resource.0) else { continue };
                for behind in &direct[position] {
                    let Some(range) = behind.range.intersection(partial.range) else { continue };
                    let found = Predecessor {
                        resource: behind.resource,
                        range,
                        previous_frame: behind.previous_frame || partial.previous_frame,
                        same_queue: self.shares_queue(&uses[behind.resource.0], &uses[number]),
                    };
                    let known = predecessors.iter().any(|other| {
                        other.resource == found.resource && other.range.contains_range(found.range)
                    });
                    if behind.resource.0 != number && !known {
                        predecessors.push(found);
                    }
                }
            }
        }
    }

    /// Creates the packing instance of some resources.
    fn instance(
        &self,
        members: &[usize],
        uses: &[ResourceUses],
        order: &PassOrder,
    ) -> Result<Instance, FrameError> {
        let buffers = (members.iter())
            .map(|&number| {
                let desc = self.resources[number];
                let wrong = FrameError::Resource {
                    resource: Some(FrameResourceId(number)),
                    rule: Violated::TooLarge,
                };
                // Whole granules: a resource conflicts with everything else in the granules that it touches.
                let size = desc.size.align_up(desc.granularity).ok_or(wrong)?;
                let alignment = desc.alignment.max(desc.granularity);
                Ok(Buffer { size, alignment, fixed_offset: desc.fixed_offset, hint: desc.hint })
            })
            .collect::<Result<Vec<_>, FrameError>>()?;
        let instance = if order.is_total() {
            let lives = (members.iter())
                .map(|&number| {
                    let uses = &uses[number];
                    let last = uses.passes.last().copied().unwrap_or(uses.first);
                    let (first, end) = if uses.not_aliased.is_some() {
                        (0, self.passes.len())
                    } else {
                        (uses.first.0, last.0 + 1)
                    };
                    let instant = |pass: usize| i64::try_from(pass).unwrap_or(i64::MAX);
                    vec![Interval { lower: instant(first), upper: instant(end) }]
                })
                .collect();
            Instance::with_intervals(buffers, lives)
        } else {
            Instance::with_order(buffers, |first, second| {
                let (first, second) = (&uses[members[first]], &uses[members[second]]);
                first.not_aliased.is_none()
                    && second.not_aliased.is_none()
                    && first.passes.iter().all(|&a| second.passes.iter().all(|&b| order.is_before(a, b)))
            })
        };
        instance.map_err(|error| FrameError::Resource {
            resource: error.buffer.map(|buffer| FrameResourceId(members[buffer])),
            rule: match error.rule {
                Violated::FixedOverlap { other } => Violated::FixedOverlap { other: members[other] },
                rule => rule,
            },
        })
    }

    fn activation(
        &self,
        number: usize,
        all: &[ResourceUses],
        predecessors: Vec<Predecessor>,
        earlier: &[PassId],
        barriers: BarrierModel,
    ) -> Activation {
        let (resource, uses) = (FrameResourceId(number), &all[number]);
        let mut after: Vec<FrameResourceId> = (predecessors.iter())
            .filter(|predecessor| !predecessor.previous_frame)
            .map(|predecessor| predecessor.resource)
            .filter(|before| all[before.0].passes.iter().any(|pass| earlier.contains(pass)))
            .collect();
        after.sort_unstable();
        after.dedup();
        // The flag must not be used if a barrier before it flushes writes; DiscardResource does the same then.
        let flushes = after.iter().any(|before| self.may_write_last(*before, &all[before.0], earlier));
        let kind = self.resources[number].kind;
        let first_use = self.passes[uses.first.0].uses.iter().find(|used| used.resource == resource);
        // Layouts that may be compressed have metadata, which the flag initialises: those of render targets and
        // depth-stencil textures, and UNORDERED_ACCESS.
        let compressed = barriers == BarrierModel::Enhanced
            && match kind {
                ResourceKind::Buffer | ResourceKind::Texture => false,
                ResourceKind::UnorderedAccessTexture => {
                    first_use.is_some_and(|used| used.how == Use::WriteUnordered)
                }
                ResourceKind::RenderTarget { .. } | ResourceKind::DepthStencil => {
                    uses.initialisation == Initialisation::Discard
                }
            };
        Activation {
            resource,
            pass: uses.first,
            queue: self.passes[uses.first.0].queue,
            predecessors,
            after,
            discards: compressed && !flushes,
            initialisation: if compressed { Initialisation::Discard } else { uses.initialisation },
            resting_state: uses.resting_state,
        }
    }

    /// Returns whether the last of these passes that uses a resource may write it. Behind passes that may be skipped,
    /// it may be one before them.
    fn may_write_last(&self, resource: FrameResourceId, uses: &ResourceUses, passes: &[PassId]) -> bool {
        for pass in uses.passes.iter().rev().filter(|pass| passes.contains(pass)) {
            let pass = &self.passes[pass.0];
            if pass.uses.iter().any(|used| used.resource == resource && used.how != Use::Read) {
                return true;
            }
            if !pass.may_be_skipped {
                return false;
            }
        }
        false
    }
}

impl FramePacking<'_> {
    /// Moves resources, without making a heap higher, so that there are fewer aliasing barriers: see
    /// [`reduce_aliasing_pairs`].
    pub fn reduce_aliasing_pairs(&mut self, moves: u64, stop: &mut dyn FnMut() -> bool) {
        for heap in &mut self.heaps {
            reduce_aliasing_pairs(&heap.instance, &mut heap.packing, moves, stop);
        }
    }

    /// Derives barriers and initialisations.
    #[must_use]
    pub fn plan(&self, barriers: BarrierModel) -> FramePlan {
        let (frame, uses) = (self.frame, &self.uses);
        let none = Placement { heap: 0, offset: HeapOffset::ZERO };
        let mut plan = FramePlan {
            barriers,
            heaps: Vec::new(),
            placements: vec![none; frame.resources.len()],
            activations: Vec::new(),
            initialisations: uses.iter().map(|uses| (uses.initialisation, uses.resting_state)).collect(),
            not_aliased: (uses.iter().enumerate())
                .filter_map(|(number, uses)| Some((FrameResourceId(number), uses.not_aliased?)))
                .collect(),
            frame_fences: Vec::new(),
            submissions: Vec::new(),
        };
        let (mut fences, mut activated) = (BTreeSet::new(), Vec::new());
        for PackedHeap { category, members, instance, packing } in &self.heaps {
            let alignment = instance.buffers().iter().map(|buffer| buffer.alignment).max();
            let alignment = alignment.unwrap_or(HEAP_ALIGNMENT).max(HEAP_ALIGNMENT);
            for (&number, &offset) in members.iter().zip(&packing.offsets) {
                plan.placements[number] = Placement { heap: plan.heaps.len(), offset };
            }
            plan.heaps.push(HeapPlan {
                category: *category,
                height: packing.height,
                lower_bound: packing.lower_bound,
                proved: packing.proved,
                load: instance.load(),
                steps: packing.steps,
                alignment,
                size: packing.height.align_up(alignment).unwrap_or(packing.height),
            });
            let mut predecessors: Vec<Vec<Predecessor>> = vec![Vec::new(); members.len()];
            let granularity = |member: usize| frame.resources[members[member]].granularity;
            for handover in handovers_in_granules(instance, packing, granularity) {
                let from = FrameResourceId(members[handover.from]);
                let (range, previous_frame) = (handover.range(), handover.previous_frame);
                let same_queue = frame.shares_queue(&uses[from.0], &uses[members[handover.to]]);
                predecessors[handover.to].push(Predecessor {
                    resource: from,
                    range,
                    previous_frame,
                    same_queue,
                });
            }
            frame.add_behind_partial(members, uses, &mut predecessors);
            for (&number, predecessors) in members.iter().zip(&predecessors) {
                let queue = frame.passes[uses[number].first.0].queue;
                let before = predecessors.iter().filter(|predecessor| predecessor.previous_frame);
                for last in before.map(|predecessor| predecessor.resource.0).chain([number]) {
                    let queues = uses[last].passes.iter().map(|pass| frame.passes[pass.0].queue);
                    fences.extend(queues.filter(|&other| other != queue).map(|other| (other, queue)));
                }
            }
            activated.extend(members.iter().copied().zip(predecessors));
        }
        plan.frame_fences = fences.into_iter().collect();
        plan.submissions = submissions(frame, &plan.frame_fences);
        activated.retain(|&(number, _)| uses[number].not_aliased.is_none());
        activated.sort_unstable_by_key(|&(number, _)| (uses[number].first, number));
        for (number, predecessors) in activated {
            let first = uses[number].first;
            let earlier = plan.submissions.iter().find_map(|submission| {
                let place = submission.passes.binary_search(&first).ok()?;
                Some(&submission.passes[..place])
            });
            let earlier = earlier.unwrap_or_default();
            plan.activations.push(frame.activation(number, uses, predecessors, earlier, barriers));
        }
        plan
    }
}

/// The smallest alignment of a heap, `D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT`.
const HEAP_ALIGNMENT: Alignment = Alignment::new(64 << 10).unwrap();
