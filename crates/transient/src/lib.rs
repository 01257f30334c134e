//! Transient resources: resources of a frame that share memory because they do not live at the same time.
//!
//! | type | meaning |
//! |---|---|
//! | [`TransientFrame`] | passes on queues, and which resources each pass uses in which state |
//! | [`ClearValue`] | the optimized clear value of a render target or depth-stencil texture |
//! | [`TransientHeaps`] | plans a frame, and keeps the result until the frame changes |
//! | [`TransientResources`] | the placed resources of a frame, and the barriers that each pass needs |
//! | [`Submission`] | passes that are executed by one `ExecuteCommandLists` |
//!
//! [`begin_pass`](TransientResources::begin_pass) records all that a pass's resources need in front of it: the aliasing
//! barriers of those that take over memory, their initialisation by `DiscardResource`, and transitions.
//! [`end_pass`](TransientResources::end_pass) records the transitions that the passes after it rely on. They depend
//! only on the frame's description, so passes may be recorded in any order and by several threads.
//!
//! The barriers are [enhanced](BarrierModel::Enhanced) ones where the device has them
//! (`ID3D12GraphicsCommandList7::Barrier`), and legacy ones elsewhere. Enhanced barriers wait for less: a texture
//! begins each frame with an undefined layout, so no pass has to put it back into a state, and initialisation can be a
//! part of the barrier that activates it. Commands between the two calls find the resource in the layout of the
//! declared state. For PIXEL_SHADER_RESOURCE with NON_PIXEL_SHADER_RESOURCE it is a SHADER_RESOURCE layout, for reads
//! of other kinds together a GENERIC_READ layout, and on copy queues and for textures with simultaneous access always
//! COMMON. The program's own resources may have barriers of either model; on those of a frame, D3D12 permits a legacy
//! barrier in layout COMMON only.
//!
//! The frame may have passes on several queues. Two resources share memory only if the dependencies between passes let
//! all uses of one happen before all uses of the other, and the [submissions](TransientResources::submissions) say
//! where a queue has to wait for another.
//!
//! ```
//! use heapwright::d3d12::*;
//! use heapwright_transient::{QueueKind, TransientFrame, TransientHeaps, Use};
//! use heapwright::{ByteSize, ResourceAllocator, buffer_desc};
//! # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
//! # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
//! let mut frame = TransientFrame::new();
//! let queue = frame.add_queue(QueueKind::Direct);
//! let buffers = [(); 3].map(|()| frame.add_resource(&buffer_desc(ByteSize::from_mib(1)), None));
//! // Each pass reads what the one before it wrote.
//! for (number, &buffer) in buffers.iter().enumerate() {
//!     let pass = frame.add_pass(queue)?;
//!     frame.add_use(pass, buffer, Use::CopyAll, D3D12_RESOURCE_STATE_COPY_DEST)?;
//!     if number > 0 {
//!         frame.add_use(pass, buffers[number - 1], Use::Read, D3D12_RESOURCE_STATE_COPY_SOURCE)?;
//!     }
//! }
//! let mut heaps = TransientHeaps::new(&allocator);
//! let resources = heaps.prepare(&frame)?;
//! // The first and the third share memory.
//! assert_eq!(resources.size(), ByteSize::from_mib(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `frame_graph` of the repository records and executes such a frame.
//!
//! # What is not here
//!
//! Resources whose contents outlive a frame are created by [`ResourceAllocator`](heapwright::ResourceAllocator).
//! Barriers of other resources are the program's own.
//!
//! # From a frame to its recording
//!
//! `TransientHeaps::prepare` does this when the frame changes:
//!
//! 1. `heaps.rs` queries the sizes of the resources, has the frame planned (`heapwright-aliasing`), and allocates
//!    memory for each heap of the plan, or keeps the last frame's.
//! 2. `states.rs` goes through the uses of each resource and derives what each pass records. With legacy barriers,
//!    every frame leaves each resource in the state in which it found it; with enhanced ones, textures begin with an
//!    undefined layout. Either way the barriers are the same in all frames. `barriers.rs` only looks them up, and
//!    writes the same steps in the two models, with the layouts, accesses and synchronization scopes of `scopes.rs`.

mod barriers;
mod frame;
mod heaps;
mod resource;
mod scopes;
mod states;

pub use heapwright_aliasing::frame::{
    BarrierModel, FramePlan, FrameResourceId, Initialisation, PassId, QueueId, QueueKind, Submission, Use,
};

pub use self::frame::TransientFrame;
pub use self::heaps::{TransientHeaps, TransientResources};
pub use heapwright::ClearValue;
