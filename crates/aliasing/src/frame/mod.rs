//! Frames: passes on several queues, the resources that they use, and the plan for both.
//!
//! | file | contents |
//! |---|---|
//! | this one | [`Frame`]: passes, their order, resources and their uses |
//! | `passes` | the order of passes, which are executed together, where queues wait for each other; the first uses of a resource, and why some never alias |
//! | `plan` | [`FramePlan`]: heaps, offsets, and what each activation owes |

mod passes;
mod plan;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

pub use self::passes::{Initialisation, NotAliased, PassOrder, RestingState, Submission};
pub use self::plan::{
    Activation, BarrierModel, FramePacking, FramePlan, FramePlanOptions, HeapPlan, Placement, Predecessor,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset};

/// The kinds of commands that a queue executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueKind {
    /// Draws, dispatches and copies.
    Direct,
    /// Dispatches and copies.
    Compute,
    /// Copies.
    Copy,
}

/// A queue of a [`Frame`], by its number in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub usize);

/// A pass of a [`Frame`], by its number in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassId(pub usize);

/// A resource of a [`Frame`], by its number in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameResourceId(pub usize);

/// Category of a resource on resource heap tier 1, where a heap holds resources of one category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Buffers.
    Buffer,
    /// Textures that are neither render targets nor depth-stencil textures.
    Texture,
    /// Render targets and depth-stencil textures.
    RenderTargetOrDepthStencil,
}

/// The uses of a texture that matter for aliasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A buffer.
    Buffer,
    /// A texture without the flags of the other kinds.
    Texture,
    /// A texture with ALLOW_UNORDERED_ACCESS alone.
    UnorderedAccessTexture,
    /// A texture with ALLOW_RENDER_TARGET.
    RenderTarget {
        /// Whether it has ALLOW_UNORDERED_ACCESS, too.
        unordered_access: bool,
    },
    /// A texture with ALLOW_DEPTH_STENCIL.
    DepthStencil,
}

impl ResourceKind {
    /// Returns the category on resource heap tier 1.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::Buffer => Category::Buffer,
            Self::Texture | Self::UnorderedAccessTexture => Category::Texture,
            Self::RenderTarget { .. } | Self::DepthStencil => Category::RenderTargetOrDepthStencil,
        }
    }
}

/// How long the contents of a resource are needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Retention {
    /// From the first use in a frame to the last.
    #[default]
    Transient,
    /// Always. The memory is never shared.
    Persistent,
    /// Until the next frame reads them. The memory is never shared.
    History,
}

/// Description of a resource of a [`Frame`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameResource {
    /// Size that the device reports for the resource.
    pub size: ByteSize,
    /// Alignment that the device reports for the resource.
    pub alignment: Alignment,
    /// How the resource may be used.
    pub kind: ResourceKind,
    /// How long the contents are needed.
    pub retention: Retention,
    /// Granularity at which the resource conflicts with others: size and offset are rounded up to it. 64 KiB for
    /// buffers and most textures, 4 KiB for small textures, 4 MiB or 64 KiB for multisampled ones.
    pub granularity: Alignment,
    /// Offset that the resource must have.
    pub fixed_offset: Option<HeapOffset>,
    /// Offset of an earlier plan, kept if the plan is no worse.
    pub hint: Option<HeapOffset>,
}

impl FrameResource {
    /// Creates the description of a transient resource whose granularity is its alignment.
    #[must_use]
    pub const fn new(kind: ResourceKind, size: ByteSize, alignment: Alignment) -> Self {
        Self {
            size,
            alignment,
            kind,
            retention: Retention::Transient,
            granularity: alignment,
            fixed_offset: None,
            hint: None,
        }
    }
}

/// How a pass uses a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Use {
    /// Reads it.
    Read,
    /// Draws to it as a render target or depth-stencil texture, after what was there before is of no interest.
    Render,
    /// Clears all of it before any other use.
    Clear,
    /// Overwrites all of it by a copy.
    CopyAll,
    /// Writes it through an unordered access view without reading what was there before.
    WriteUnordered,
    /// Writes a part of it, or reads and writes it: what was there before matters.
    Update,
}

impl Use {
    /// Returns whether the use needs what was written before.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Update)
    }
}

/// A description of a resource, of which a [`Frame`] needs only the kind.
pub trait OfKind {
    /// Returns how the resource may be used.
    fn kind(&self) -> ResourceKind;
}

impl OfKind for FrameResource {
    fn kind(&self) -> ResourceKind {
        self.kind
    }
}

/// A pass of a [`Frame`].
#[derive(Debug, Clone, PartialEq)]
pub struct Pass<S = ()> {
    /// The queue that executes the pass.
    pub queue: QueueId,
    /// Whether some frames do not have the pass.
    pub may_be_skipped: bool,
    /// Passes that happen before this one: the one in front of it on the queue, and those that it waits for.
    pub after: Vec<PassId>,
    /// The uses of resources, in their order.
    pub uses: Vec<PassUse<S>>,
}

/// A use of a resource by a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassUse<S = ()> {
    /// The resource.
    pub resource: FrameResourceId,
    /// How the pass uses it.
    pub how: Use,
    /// The state of the resource meanwhile, which the planner does not need.
    pub state: S,
}

/// Passes on queues, and the resources that they use.
///
/// Passes of a queue happen in the order in which they are added. A pass on another queue happens before or after them
/// only if a dependency, such as a fence, says so. Two resources may share memory only if every use of one happens
/// before every use of the other.
///
/// `R` describes a resource, and `S` is the state in which a pass uses it.
///
/// ```
/// use heapwright_aliasing::frame::{
///     Frame, FramePlanOptions, FrameResource, QueueKind, ResourceKind, Use,
/// };
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut frame = Frame::new();
/// let queue = frame.add_queue(QueueKind::Direct);
/// let target = ResourceKind::RenderTarget { unordered_access: false };
/// let desc = FrameResource::new(target, ByteSize::from_mib(8), Alignment::new(64 << 10).unwrap());
/// let targets = [(); 3].map(|()| frame.add_resource(desc));
/// // Each pass reads what the one before rendered.
/// for (number, &target) in targets.iter().enumerate() {
///     let pass = frame.add_pass(queue);
///     frame.add_use(pass, target, Use::Render)?;
///     if number > 0 {
///         frame.add_use(pass, targets[number - 1], Use::Read)?;
///     }
/// }
/// let plan = frame.plan(&FramePlanOptions::default(), &mut || false)?;
/// // The first and the third share memory.
/// assert_eq!(plan.heaps[0].height, ByteSize::from_mib(16));
/// # Ok::<(), heapwright_aliasing::frame::FrameError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Frame<R = FrameResource, S = ()> {
    queues: Vec<QueueKind>,
    passes: Vec<Pass<S>>,
    resources: Vec<R>,
}

impl<R, S> Default for Frame<R, S> {
    fn default() -> Self {
        Self { queues: Vec::new(), passes: Vec::new(), resources: Vec::new() }
    }
}

impl Frame {
    /// Creates a frame without passes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns which pass happens before which.
    #[must_use]
    pub fn order(&self) -> PassOrder {
        PassOrder::new(self)
    }

    /// Declares that a pass uses a resource. A pass may use a resource in several ways, in the order of these calls.
    ///
    /// # Errors
    ///
    /// Returns an error if the pass or the resource is not of this frame, or if the resource or the queue does not
    /// permit the use.
    pub fn add_use(&mut self, pass: PassId, resource: FrameResourceId, how: Use) -> Result<(), FrameError> {
        self.add_use_in(pass, resource, how, ())
    }
}

impl<R: OfKind, S> Frame<R, S> {
    /// Returns the kinds of the queues.
    #[must_use]
    pub fn queues(&self) -> &[QueueKind] {
        &self.queues
    }

    /// Returns the passes.
    #[must_use]
    pub fn passes(&self) -> &[Pass<S>] {
        &self.passes
    }

    /// Returns the descriptions of the resources.
    #[must_use]
    pub fn resources(&self) -> &[R] {
        &self.resources
    }

    /// Returns the same frame for the planner, with its descriptions of the resources, in their order.
    #[must_use]
    pub fn described_by(&self, resources: Vec<FrameResource>) -> Frame {
        let stateless = |used: &PassUse<S>| PassUse { resource: used.resource, how: used.how, state: () };
        let passes = self.passes.iter().map(|pass| Pass {
            queue: pass.queue,
            may_be_skipped: pass.may_be_skipped,
            after: pass.after.clone(),
            uses: pass.uses.iter().map(stateless).collect(),
        });
        Frame { queues: self.queues.clone(), passes: passes.collect(), resources }
    }

    /// Adds a queue.
    pub fn add_queue(&mut self, kind: QueueKind) -> QueueId {
        self.queues.push(kind);
        QueueId(self.queues.len() - 1)
    }

    /// Adds a pass at the end of a queue.
    pub fn add_pass(&mut self, queue: QueueId) -> PassId {
        let last = (0..self.passes.len()).rev().find(|&pass| self.passes[pass].queue == queue);
        let after = last.map(PassId).into_iter().collect();
        self.passes.push(Pass { queue, may_be_skipped: false, after, uses: Vec::new() });
        PassId(self.passes.len() - 1)
    }

    /// Declares that a pass may be skipped in some frames.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError::UnknownPass`] if the pass is not of this frame.
    pub fn set_may_be_skipped(&mut self, pass: PassId) -> Result<(), FrameError> {
        self.pass_mut(pass)?.may_be_skipped = true;
        Ok(())
    }

    /// Declares that one pass happens before another, for example because its queue waits for a fence.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError::DependencyOrder`] unless `before` was added before `after`, and
    /// [`FrameError::UnknownPass`] if a pass is not of this frame.
    pub fn add_dependency(&mut self, before: PassId, after: PassId) -> Result<(), FrameError> {
        if before >= after {
            return Err(FrameError::DependencyOrder { before, after });
        }
        self.pass_mut(after)?.after.push(before);
        Ok(())
    }

    /// Adds a resource.
    pub fn add_resource(&mut self, desc: R) -> FrameResourceId {
        self.resources.push(desc);
        FrameResourceId(self.resources.len() - 1)
    }

    /// Declares that a pass uses a resource in a state. A pass may use a resource in several ways, in the order of
    /// these calls.
    ///
    /// # Errors
    ///
    /// Returns an error if the pass or the resource is not of this frame, or if the resource or the queue does not
    /// permit the use.
    pub fn add_use_in(
        &mut self,
        pass: PassId,
        resource: FrameResourceId,
        how: Use,
        state: S,
    ) -> Result<(), FrameError> {
        let desc = self.resources.get(resource.0).ok_or(FrameError::UnknownResource(resource))?;
        let kind = desc.kind();
        let queue = self.pass_mut(pass)?.queue;
        let queue = *self.queues.get(queue.0).ok_or(FrameError::UnknownQueue(queue))?;
        let renders = kind.category() == Category::RenderTargetOrDepthStencil;
        let unordered = match kind {
            ResourceKind::Buffer | ResourceKind::UnorderedAccessTexture => true,
            ResourceKind::RenderTarget { unordered_access } => unordered_access,
            ResourceKind::Texture | ResourceKind::DepthStencil => false,
        };
        let permitted = match how {
            Use::Render => renders && queue == QueueKind::Direct,
            Use::WriteUnordered => unordered && queue != QueueKind::Copy,
            // Clears of render targets and depth-stencil textures, or of unordered access views.
            Use::Clear => (renders && queue == QueueKind::Direct) || (unordered && queue != QueueKind::Copy),
            Use::Read | Use::CopyAll | Use::Update => true,
        };
        if !permitted {
            return Err(FrameError::NotPermitted { pass, resource, how });
        }
        self.pass_mut(pass)?.uses.push(PassUse { resource, how, state });
        Ok(())
    }

    fn pass_mut(&mut self, pass: PassId) -> Result<&mut Pass<S>, FrameError> {
        self.passes.get_mut(pass.0).ok_or(FrameError::UnknownPass(pass))
    }
}

/// Why a frame is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// The queue is not of this frame.
    UnknownQueue(QueueId),
    /// The pass is not of this frame.
    UnknownPass(PassId),
    /// The resource is not of this frame.
    UnknownResource(FrameResourceId),
    /// A pass depends on itself or on one that was added later.
    DependencyOrder {
        /// The pass that was to happen first.
        before: PassId,
        /// The pass that was to happen later.
        after: PassId,
    },
    /// The resource's flags or the pass's queue do not permit the use.
    NotPermitted {
        /// The pass.
        pass: PassId,
        /// The resource.
        resource: FrameResourceId,
        /// The use.
        how: Use,
    },
    /// No pass uses the resource.
    Unused(FrameResourceId),
    /// Size, alignment or fixed offset of a resource are impossible.
    Resource {
        /// The resource, if one is to blame.
        resource: Option<FrameResourceId>,
        /// The rule that it violates.
        rule: super::Violated,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownQueue(queue) => write!(f, "queue {} is not of this frame", queue.0),
            Self::UnknownPass(pass) => write!(f, "pass {} is not of this frame", pass.0),
            Self::UnknownResource(resource) => write!(f, "resource {} is not of this frame", resource.0),
            Self::DependencyOrder { before, after } => write!(
                f,
                "pass {} cannot depend on pass {}: a pass depends on passes that were added before it",
                after.0, before.0
            ),
            Self::NotPermitted { pass, resource, how } => write!(
                f,
                "pass {} cannot use resource {} for {how:?}: the resource's kind or the pass's queue does not permit it",
                pass.0, resource.0
            ),
            Self::Unused(resource) => write!(f, "no pass uses resource {}", resource.0),
            Self::Resource { resource: Some(resource), rule } => write!(f, "resource {}: {rule}", resource.0),
            Self::Resource { resource: None, rule } => rule.fmt(f),
        }
    }
}

impl Error for FrameError {}
