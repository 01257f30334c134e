//! Judges a stream of commands without a device, by the rules of the tracker.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use heapwright_d3d12::*;

use super::note::{Note, RecordedCall, RenderedView, Skipped, Subresources};
use super::options::AliasingTracking;
use super::resource::{Identity, Label};
use super::tracker::{AliasingTracker, CreatedHome, CreatedResource, SubmittedList};
use super::violation::Violation;
use crate::ddi::command::Command;
use crate::ddi::umddi::{D3D12DDI_RESOURCE_FLAG_0003_NONE, D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT};
use crate::ddi::{
    DriverHeap, Extent, ResourceAllocation, ResourceArgs, ResourceKind, TextureArgs, TextureDimension,
    TextureMemoryLayout, TextureUsage,
};
use crate::debug::MessageLog;
use crate::drivers::resource::DriverResource;
use crate::fence::Fence;
use crate::rules::initial::Initial;

/// A heap of a [`CommandStream`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamHeap(usize);

/// A resource of a [`CommandStream`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamResource(usize);

/// A queue of a [`CommandStream`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamQueue(u32);

/// A signal of a queue of a [`CommandStream`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamSignal(usize);

/// The kind of a resource of a [`CommandStream`]. Textures have an undefined layout and one subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamResourceKind {
    /// A buffer.
    Buffer,
    /// A texture that is neither of the others.
    Texture,
    /// A texture with ALLOW_RENDER_TARGET.
    RenderTarget,
    /// A texture with ALLOW_DEPTH_STENCIL.
    DepthStencil,
}

/// A call recorded to a command list, which uses a resource as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamCommand {
    /// `ResourceBarrier` with an aliasing barrier; `None` is a null pointer.
    AliasingBarrier {
        /// `pResourceBefore`.
        before: Option<StreamResource>,
        /// `pResourceAfter`.
        after: Option<StreamResource>,
    },
    /// `ResourceBarrier` with a transition barrier.
    Transition {
        /// The resource.
        resource: StreamResource,
        /// `StateAfter`.
        after: D3D12_RESOURCE_STATES,
    },
    /// `DiscardResource`.
    Discard(StreamResource),
    /// A clear of all of a render target, a depth-stencil texture, or by an unordered access view.
    Clear(StreamResource),
    /// A draw with the resource as render target or depth-stencil texture.
    Draw(StreamResource),
    /// A copy that overwrites all of it.
    CopyTo(StreamResource),
    /// A write by a shader through an unordered access view.
    Write(StreamResource),
    /// A read of all of it.
    Read(StreamResource),
}

/// A resource that cannot be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The heap, the resource, the queue or the signal is not of this stream.
    Unknown,
    /// The size is zero, or the end has more than 63 bits.
    Size,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the heap, the resource, the queue or the signal is not of this stream",
            Self::Size => "the size is zero, or the end has more than 63 bits",
        })
    }
}

impl std::error::Error for StreamError {}

/// Judges commands without a device: the rules are those that a device [tracks](AliasingTracking).
///
/// ```
/// use heapwright_core::{Alignment, ByteSize, HeapOffset};
/// use heapwright_d3d12::D3D12_RESOURCE_STATE_RENDER_TARGET;
/// use heapwright_runtime::aliasing::{
///     AliasingTracking, CommandStream, Rule, StreamCommand, StreamResourceKind,
/// };
///
/// let mut stream = CommandStream::new(AliasingTracking::ADVANCED);
/// let (queue, heap) = (stream.add_queue(), stream.add_heap());
/// let (size, alignment) = (ByteSize::from_mib(1), Alignment::new(64 << 10).unwrap());
/// let mut place = |name: &str| {
///     let (kind, state) = (StreamResourceKind::RenderTarget, D3D12_RESOURCE_STATE_RENDER_TARGET);
///     stream.place(heap, HeapOffset::ZERO, kind, size, alignment, state, name)
/// };
/// let (first, second) = (place("first")?, place("second")?);
/// let commands = [StreamCommand::Clear(first), StreamCommand::Clear(second)];
/// let violations = stream.execute(queue, &commands)?;
/// assert_eq!(violations[0].rule, Rule::B1, "there is no aliasing barrier");
/// # Ok::<(), heapwright_runtime::aliasing::StreamError>(())
/// ```
pub struct CommandStream {
    tracker: Arc<AliasingTracker>,
    heaps: Vec<(Arc<DriverHeap>, Arc<Label>)>,
    resources: Vec<Placed>,
    queues: BTreeSet<u32>,
    /// A fence for each signal, which no other signal changes.
    signals: Vec<Arc<Fence>>,
    /// A resource that overlaps nothing, at the other end of copies.
    outside: Arc<DriverResource>,
}

struct Placed {
    driver: Arc<DriverResource>,
    kind: StreamResourceKind,
}

impl CommandStream {
    /// Creates a stream without commands.
    #[must_use]
    pub fn new(tracking: AliasingTracking) -> Self {
        let tracker = Arc::new(AliasingTracker::new(&Arc::new(MessageLog::new(false)), true));
        tracker.set(Some(tracking));
        Self {
            tracker,
            heaps: Vec::new(),
            resources: Vec::new(),
            queues: BTreeSet::new(),
            signals: Vec::new(),
            outside: resource_apart(),
        }
    }

    /// Adds a queue.
    pub fn add_queue(&mut self) -> StreamQueue {
        let agent = self.tracker.add_queue();
        self.queues.insert(agent);
        StreamQueue(agent)
    }

    /// Adds a heap without flags, of any size.
    pub fn add_heap(&mut self) -> StreamHeap {
        let heap: (Arc<DriverHeap>, Arc<Label>) = (DriverHeap::apart(), Arc::default());
        self.tracker.heap_created(&heap.0, &heap.1, D3D12_HEAP_FLAG_NONE);
        self.heaps.push(heap);
        StreamHeap(self.heaps.len() - 1)
    }

    /// Places a resource in a heap, in an initial state.
    ///
    /// # Errors
    ///
    /// Returns an error if the heap is not of this stream, or if the size is not possible.
    #[expect(clippy::too_many_arguments, reason = "those of CreatePlacedResource")]
    pub fn place(
        &mut self,
        heap: StreamHeap,
        offset: HeapOffset,
        kind: StreamResourceKind,
        size: ByteSize,
        alignment: Alignment,
        state: D3D12_RESOURCE_STATES,
        name: &str,
    ) -> Result<StreamResource, StreamError> {
        let (heap, heap_label) = self.heaps.get(heap.0).ok_or(StreamError::Unknown)?;
        let end = offset.get().checked_add(size.get()).and_then(|end| end.checked_add(alignment.get()));
        if size.is_zero() || end.is_none_or(|end| end >= 1 << 63) {
            return Err(StreamError::Size);
        }
        let (args, allocation) = (args(kind, size, alignment), ResourceAllocation { size, alignment });
        let driver = DriverResource::placed(&args, allocation, Arc::clone(heap), offset.get());
        let driver = Arc::new(driver.map_err(|_| StreamError::Size)?);
        let label = Arc::new(Label::default());
        label.set(Some(name));
        self.tracker.resource_created(CreatedResource {
            driver: &driver,
            args: &args,
            allocation,
            identity: Identity { desc: desc(kind, size), clear_value: None },
            label: &label,
            home: CreatedHome::Placed {
                heap,
                label: heap_label,
                flags: D3D12_HEAP_FLAG_NONE,
                offset: offset.get(),
            },
            state: Initial::State(state),
        });
        self.resources.push(Placed { driver, kind });
        Ok(StreamResource(self.resources.len() - 1))
    }

    /// Executes commands as one `ExecuteCommandLists` and returns the violations, whose places count the commands.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue or a resource is not of this stream.
    pub fn execute(
        &mut self,
        queue: StreamQueue,
        commands: &[StreamCommand],
    ) -> Result<Vec<Violation>, StreamError> {
        if !self.queues.contains(&queue.0) {
            return Err(StreamError::Unknown);
        }
        let (mut calls, mut executed) = (Vec::new(), Vec::new());
        for &command in commands {
            let (name, note, work) = self.record(command)?;
            let notes = note.into_iter().collect();
            calls.push(RecordedCall { name, first_command: executed.len(), notes });
            executed.extend(work);
        }
        let list = SubmittedList { commands: executed.into(), calls: Some(calls.into()) };
        // What the driver would execute.
        let _ = self.tracker.execute(queue.0, false, vec![list]).ask();
        let violations = self.tracker.violations();
        self.tracker.clear_violations();
        Ok(violations)
    }

    /// Lets a queue signal a fence behind all that it has executed.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue is not of this stream.
    pub fn signal(&mut self, queue: StreamQueue) -> Result<StreamSignal, StreamError> {
        if !self.queues.contains(&queue.0) {
            return Err(StreamError::Unknown);
        }
        let fence = Arc::new(Fence::new(0));
        let _ = self.tracker.before_signal(queue.0, &fence, 1).ask();
        fence.set(1);
        self.signals.push(fence);
        Ok(StreamSignal(self.signals.len() - 1))
    }

    /// Lets a queue wait for a signal of another one.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue or the signal is not of this stream.
    pub fn wait(&mut self, queue: StreamQueue, signal: StreamSignal) -> Result<(), StreamError> {
        let fence = self.signals.get(signal.0).filter(|_| self.queues.contains(&queue.0));
        let wait = fence.ok_or(StreamError::Unknown)?.begin_wait(1);
        let _ = self.tracker.after_wait(queue.0, &wait).ask();
        Ok(())
    }

    fn placed(&self, resource: StreamResource) -> Result<&Placed, StreamError> {
        self.resources.get(resource.0).ok_or(StreamError::Unknown)
    }

    /// Returns the name of the call that records a command, its note and its work.
    fn record(
        &self,
        command: StreamCommand,
    ) -> Result<(&'static str, Option<Note>, Option<Command>), StreamError> {
        let driver = |resource| self.placed(resource).map(|placed| Arc::clone(&placed.driver));
        let write = |resource| {
            Ok(Command::CopyTexture { target: driver(resource)?, source: Arc::clone(&self.outside) })
        };
        let recorded = match command {
            StreamCommand::AliasingBarrier { before, after } => {
                let (before, after) = (before.map(driver).transpose()?, after.map(driver).transpose()?);
                ("ResourceBarrier", Some(Note::Aliasing { before, after }), None)
            }
            StreamCommand::Transition { resource, after } => {
                let (resource, subresources) = (driver(resource)?, Subresources::All);
                ("ResourceBarrier", Some(Note::Transition { resource, subresources, after }), None)
            }
            StreamCommand::Discard(resource) => {
                let (resource, subresources) = (driver(resource)?, Subresources::All);
                let note = Note::Discard { resource, subresources, is_whole: true, is_compute: false };
                ("DiscardResource", Some(note), None)
            }
            StreamCommand::Draw(resource) => {
                let is_depth_stencil = self.placed(resource)?.kind == StreamResourceKind::DepthStencil;
                let parts = vec![super::ResourcePart::Subresource(0)];
                let rendered = vec![RenderedView { resource: driver(resource)?, parts, is_depth_stencil }];
                let skipped = Skipped { draws: true, rendered, addressed: Vec::new(), descriptors: None };
                ("DrawInstanced", Some(Note::Skipped(skipped)), None)
            }
            StreamCommand::Clear(resource) => {
                let name = match self.placed(resource)?.kind {
                    StreamResourceKind::RenderTarget => "ClearRenderTargetView",
                    StreamResourceKind::DepthStencil => "ClearDepthStencilView",
                    StreamResourceKind::Buffer | StreamResourceKind::Texture => {
                        "ClearUnorderedAccessViewUint"
                    }
                };
                (name, None, Some(write(resource)?))
            }
            StreamCommand::CopyTo(resource) => ("CopyResource", None, Some(write(resource)?)),
            StreamCommand::Write(resource) => ("ClearUnorderedAccessViewUint", None, Some(write(resource)?)),
            StreamCommand::Read(resource) => {
                let (target, source) = (Arc::clone(&self.outside), driver(resource)?);
                ("CopyResource", None, Some(Command::CopyTexture { target, source }))
            }
        };
        Ok(recorded)
    }
}

impl fmt::Debug for CommandStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandStream")
            .field("heaps", &self.heaps.len())
            .field("resources", &self.resources.len())
            .finish_non_exhaustive()
    }
}

/// The extent stands for any: a texture with an undefined layout is used as a whole.
const SIDE: u32 = 16;

fn args(kind: StreamResourceKind, size: ByteSize, alignment: Alignment) -> ResourceArgs {
    let described = match kind {
        StreamResourceKind::Buffer => ResourceKind::Buffer { width: size },
        StreamResourceKind::Texture | StreamResourceKind::RenderTarget | StreamResourceKind::DepthStencil => {
            let format = crate::format::properties(DXGI_FORMAT_R8G8B8A8_UNORM);
            ResourceKind::Texture(TextureArgs {
                dimension: TextureDimension::Texture2D,
                extent: Extent { width: SIDE, height: SIDE, depth: 1 },
                array_size: 1,
                mip_levels: 1,
                format: format.expect("the runtime knows the format"),
                sample_count: 1,
                layout: TextureMemoryLayout::Unknown,
                usage: TextureUsage {
                    render_target: kind == StreamResourceKind::RenderTarget,
                    depth_stencil: kind == StreamResourceKind::DepthStencil,
                    ..TextureUsage::default()
                },
            })
        }
    };
    let is_tight = kind == StreamResourceKind::Buffer && alignment.get() < 64 << 10;
    let flags = if is_tight { D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT } else { 0 };
    ResourceArgs { kind: described, flags, alignment_restriction: Alignment::ONE, create_at: None }
}

fn desc(kind: StreamResourceKind, size: ByteSize) -> D3D12_RESOURCE_DESC1 {
    let (dimension, width, flags) = match kind {
        StreamResourceKind::Buffer => (D3D12_RESOURCE_DIMENSION_BUFFER, size.get(), D3D12_RESOURCE_FLAG_NONE),
        StreamResourceKind::Texture => {
            (D3D12_RESOURCE_DIMENSION_TEXTURE2D, SIDE.into(), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
        }
        StreamResourceKind::RenderTarget => {
            (D3D12_RESOURCE_DIMENSION_TEXTURE2D, SIDE.into(), D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET)
        }
        StreamResourceKind::DepthStencil => {
            (D3D12_RESOURCE_DIMENSION_TEXTURE2D, SIDE.into(), D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL)
        }
    };
    D3D12_RESOURCE_DESC1 {
        Dimension: dimension,
        Width: width,
        Height: if kind == StreamResourceKind::Buffer { 1 } else { SIDE },
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Flags: flags,
        ..Default::default()
    }
}

/// Creates a resource in a heap that contains nothing else.
pub(crate) fn resource_apart() -> Arc<DriverResource> {
    let args = ResourceArgs {
        kind: ResourceKind::Buffer { width: ByteSize::new(1) },
        flags: D3D12DDI_RESOURCE_FLAG_0003_NONE,
        alignment_restriction: Alignment::ONE,
        create_at: None,
    };
    let allocation = ResourceAllocation { size: ByteSize::new(1), alignment: Alignment::ONE };
    let resource = DriverResource::placed(&args, allocation, DriverHeap::apart(), 0);
    Arc::new(resource.expect("the heap is not at the end of the address space"))
}
