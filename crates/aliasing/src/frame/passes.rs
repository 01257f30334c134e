//! Which pass happens before which, which passes are executed together, where queues wait for each other, and the first
//! uses of a resource, and why some resources never alias.

use std::collections::BTreeSet;

use super::{Category, Frame, FrameResourceId, PassId, QueueId, QueueKind, ResourceKind, Retention, Use};
use crate::instance::BitMatrix;

/// The passes of a [`Frame`] that happen before each pass.
#[derive(Debug, Clone)]
pub struct PassOrder {
    before: BitMatrix,
    count: usize,
}

impl PassOrder {
    pub(super) fn new(frame: &Frame) -> Self {
        let count = frame.passes.len();
        let mut before = BitMatrix::new(count);
        // Dependencies point to passes that were added earlier, so the rows of those are complete.
        for (number, pass) in frame.passes.iter().enumerate() {
            for earlier in &pass.after {
                before.set(number, earlier.0);
                before.include_row(number, earlier.0);
            }
        }
        Self { before, count }
    }

    /// Returns whether `first` happens before `second`, which is false if they are the same.
    #[must_use]
    pub fn is_before(&self, first: PassId, second: PassId) -> bool {
        self.before.get(second.0, first.0)
    }

    /// Returns whether of each two passes one happens before the other.
    #[must_use]
    pub fn is_total(&self) -> bool {
        (1..self.count).all(|pass| self.before.get(pass, pass - 1))
    }
}

/// Passes of a queue that one `ExecuteCommandLists` executes, in one or several command lists.
///
/// Submissions are in an order in which they can be passed to the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The queue.
    pub queue: QueueId,
    /// The passes, in their order.
    pub passes: Vec<PassId>,
    /// Submissions of other queues, by their index, for which the queue waits first.
    pub after: Vec<usize>,
    /// Other queues that must have finished the frame before; the queue waits for them first.
    pub after_previous_frame: Vec<QueueId>,
}

/// Divides the passes of a frame. A queue waits only in front of a submission, and signals only behind one.
pub(super) fn submissions(frame: &Frame, frame_fences: &[(QueueId, QueueId)]) -> Vec<Submission> {
    let queue_of = |pass: PassId| frame.passes[pass.0].queue;
    let awaited: BTreeSet<PassId> = (frame.passes.iter())
        .flat_map(|pass| pass.after.iter().filter(|&&before| queue_of(before) != pass.queue))
        .copied()
        .collect();
    let mut submissions: Vec<Submission> = Vec::new();
    let mut submission_of: Vec<usize> = Vec::with_capacity(frame.passes.len());
    // The submission of each queue that takes further passes.
    let mut open: Vec<Option<usize>> = vec![None; frame.queues.len()];
    let mut has_begun = vec![false; frame.queues.len()];
    for (number, pass) in frame.passes.iter().enumerate() {
        let (id, queue) = (PassId(number), pass.queue.0);
        let waits: BTreeSet<usize> = (pass.after.iter())
            .filter(|&&before| queue_of(before) != pass.queue)
            .map(|before| submission_of[before.0])
            .collect();
        let submission = match open[queue].filter(|_| waits.is_empty()) {
            Some(submission) => submission,
            None => {
                let is_first = !std::mem::replace(&mut has_begun[queue], true);
                let fences = frame_fences.iter().filter(|(_, after)| is_first && *after == pass.queue);
                submissions.push(Submission {
                    queue: pass.queue,
                    passes: Vec::new(),
                    after: waits.into_iter().collect(),
                    after_previous_frame: fences.map(|&(before, _)| before).collect(),
                });
                submissions.len() - 1
            }
        };
        submissions[submission].passes.push(id);
        submission_of.push(submission);
        open[queue] = Some(submission).filter(|_| !awaited.contains(&id));
    }
    submissions
}

/// Why a resource shares its memory with no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAliased {
    /// The contents are needed in other frames.
    Retained,
    /// The first use reads what no pass of the frame wrote: the contents would be undefined.
    ReadBeforeWrite {
        /// The pass that reads.
        pass: PassId,
    },
    /// None of the first uses happens before all others, so there is no place for the activation.
    UnorderedFirstUses {
        /// A first use.
        pass: PassId,
        /// Another one that is not ordered with it.
        other: PassId,
    },
    /// The pass that initialises the resource may be skipped, and others use the resource afterwards.
    FirstUseMayBeSkipped {
        /// The pass that may be skipped.
        pass: PassId,
    },
    /// The queue of the first use cannot initialise the resource, which render targets and depth-stencil textures need.
    CannotInitialise {
        /// The pass of the first use.
        pass: PassId,
    },
}

impl NotAliased {
    /// Returns whether the reason is a mistake in the frame rather than a property of the resource.
    #[must_use]
    pub const fn is_mistake(self) -> bool {
        matches!(self, Self::ReadBeforeWrite { .. } | Self::UnorderedFirstUses { .. })
    }
}

/// How a resource becomes usable after other resources used its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Initialisation {
    /// Nothing is owed: the first use writes, and any write makes such a resource valid.
    None,
    /// `DiscardResource`, or the flag DISCARD of an enhanced barrier, before the first use.
    Discard,
    /// The clear that the first use begins with.
    Clear,
    /// The copy over the whole resource that the first use makes.
    Copy,
}

/// State in which a resource is left when its last pass is done, so that it can be initialised without a transition at
/// its next activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestingState {
    /// RENDER_TARGET.
    RenderTarget,
    /// DEPTH_WRITE.
    DepthWrite,
    /// UNORDERED_ACCESS.
    UnorderedAccess,
    /// COPY_DEST.
    CopyDest,
    /// Any state: nothing has to be initialised.
    Any,
}

/// The uses of one resource.
#[derive(Debug)]
pub(super) struct ResourceUses {
    /// The passes that use the resource, ascending.
    pub(super) passes: Vec<PassId>,
    /// The first use, if one happens before all others.
    pub(super) first: PassId,
    pub(super) initialisation: Initialisation,
    pub(super) resting_state: RestingState,
    pub(super) not_aliased: Option<NotAliased>,
}

impl ResourceUses {
    /// Collects the uses of a resource. Returns `None` if there is none.
    pub(super) fn new(frame: &Frame, order: &PassOrder, resource: FrameResourceId) -> Option<Self> {
        let uses = |pass: &PassId| {
            (frame.passes[pass.0].uses.iter()).filter(|used| used.resource == resource).map(|used| used.how)
        };
        let passes: Vec<PassId> =
            (0..frame.passes.len()).map(PassId).filter(|pass| uses(pass).next().is_some()).collect();
        // Passes were added before those that depend on them, so this one happens after no other.
        let first = *passes.first()?;
        let how = uses(&first).next()?;
        let desc = frame.resources[resource.0];
        let queue = frame.queues[frame.passes[first.0].queue.0];
        let (initialisation, resting_state) = first_duty(desc.kind, how, queue).unzip();
        let unordered = passes.iter().copied().find(|&pass| pass != first && !order.is_before(first, pass));
        let reads = |pass: &PassId| uses(pass).next().is_some_and(Use::reads);
        let not_aliased = if desc.retention != Retention::Transient {
            Some(NotAliased::Retained)
        } else if reads(&first) {
            Some(NotAliased::ReadBeforeWrite { pass: first })
        } else if let Some(other) = unordered {
            Some(NotAliased::UnorderedFirstUses { pass: first, other })
        } else if frame.passes[first.0].may_be_skipped && passes.len() > 1 {
            Some(NotAliased::FirstUseMayBeSkipped { pass: first })
        } else if initialisation.is_none() {
            Some(NotAliased::CannotInitialise { pass: first })
        } else {
            None
        };
        Some(Self {
            passes,
            first,
            initialisation: initialisation.unwrap_or(Initialisation::None),
            resting_state: resting_state.unwrap_or(RestingState::Any),
            not_aliased,
        })
    }
}

/// Returns what the first use of a resource owes, and the state that it needs for it, or `None` if the queue cannot do
/// it.
///
/// Render targets and depth-stencil textures must be cleared, discarded or copied to as a whole after each activation.
/// Other resources become valid where they are written.
fn first_duty(kind: ResourceKind, how: Use, queue: QueueKind) -> Option<(Initialisation, RestingState)> {
    if kind.category() != Category::RenderTargetOrDepthStencil {
        return Some((Initialisation::None, RestingState::Any));
    }
    let rendered = match kind {
        ResourceKind::DepthStencil => RestingState::DepthWrite,
        _ => RestingState::RenderTarget,
    };
    let unordered_access = kind == ResourceKind::RenderTarget { unordered_access: true };
    match (how, queue) {
        (Use::CopyAll, _) => Some((Initialisation::Copy, RestingState::CopyDest)),
        (Use::Clear, QueueKind::Direct) => Some((Initialisation::Clear, rendered)),
        (_, QueueKind::Direct) => Some((Initialisation::Discard, rendered)),
        // Clears of unordered access views do not count as an initialisation, discards in that state do.
        (_, QueueKind::Compute) if unordered_access => {
            Some((Initialisation::Discard, RestingState::UnorderedAccess))
        }
        (_, QueueKind::Compute | QueueKind::Copy) => None,
    }
}
