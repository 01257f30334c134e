//! Aliasing and data inheritance: which bytes of which resource are valid, and which rule a command broke.
//!
//! Placed and reserved resources may share memory. Document ALIAS and the references around it say when such a resource may be
//! used and what it contains then; no debug layer checks it. While a device [tracks](AliasingTracking) it does: each access by
//! the GPU or the CPU, each barrier and each change of tile mappings is judged in the order in which queues execute, and what
//! breaks a [`Rule`] is a [`Violation`], and a message in the info queue that names both resources, the heap, the bytes, the
//! rule and the command. Contents that become undefined are overwritten, so that what relies on them fails here.
//!
//! ```
//! use heapwright_runtime::aliasing::AliasingTracking;
//! use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
//!
//! let options = DeviceOptions { aliasing: Some(AliasingTracking::ADVANCED), ..DeviceOptions::default() };
//! let gpu = Instance::open_with(HostProfile::default_profile(), options)?;
//! assert!(gpu.aliasing_violations().is_empty(), "nothing was executed");
//! # Ok::<(), windows_core::Error>(())
//! ```
//!
//! # How it works
//!
//! A resource is cut into *units*, whose contents are tracked (subresources, or 64 KiB tiles), and *places*, which others can
//! take (tiles where the layout is defined, else all of it). Each heap remembers who used which bytes last. A resource that
//! uses a place it is not the last user of *takes it over*: barriers and fences since the other's last access are checked, and
//! its contents are inherited, or undefined, by the rules. So an access costs what its places cost, and nothing grows with the
//! number of resources that overlap.
//!
//! * `tracker`: the one whom the rest of the runtime tells what happens; `note`: what lists record for it.
//! * `judge`: what is known of all resources; `handover`: memory changes hands; `usage`: reads, writes and discards;
//!   `skipped`: what draws and dispatches may have written; `barriers`; `mapping`: tiles that are mapped.
//! * `shape`, `granularity`, `memory`: where things are. `content`, `coverage`, `state`: what is known of them.
//! * `inheritance`: the rules of inheritance; `submission`: which barriers order what; `clock`: what happened before what.
//! * `laws`: what the judge goes by, one by one, so that tests can leave each out.
//! * `rule`, `violation`, `options`: what users see; `interface`: the same over COM.
//!
//! # Where the documents are not clear
//!
//! The stricter reading is an error; [`Strictness`] has others. Choices:
//!
//! * Document ALIAS names one of two conditions for writes to invalid memory; with the reference of `CreatePlacedResource` it
//!   reads: resources without ALLOW_RENDER_TARGET and ALLOW_DEPTH_STENCIL become valid where they are written; others by a clear,
//!   discard or copy of a whole subresource or tile.
//! * Read strictly, document ALIAS asks for clears and copies of whole subresources or tiles whatever the resource is:
//!   [`Strictness::Strict`].
//! * Invalidations are scoped to smaller granularities in "certain" states, of which document ALIAS names none: in COMMON, and in
//!   every state where all are compatible.
//! * No document says what tight alignment means for aliasing: two tightly aligned buffers conflict by their bytes, and by 64 KiB
//!   with textures.
//! * A transition counts as the moment at which memory changes hands: states before it decide about inheritance.
//! * Clears of unordered access views do not initialise render targets; those of render passes do.
//!
//! # Draws and dispatches
//!
//! Pipelines are not executed, so what they would have written is unknown: reads of it are no violation, and its bytes are
//! overwritten as undefined ones are.
//!
//! * A draw uses the render targets and the depth stencil that are bound, or that the render pass writes, as a write does: it takes
//!   their memory over, wants them initialised and is ordered by barriers. Which of them its pipeline writes is not known: all that are
//!   bound count, except aspects that a depth stencil view leaves as they are.
//! * Draws and dispatches may write whatever shaders reach as an unordered access view: each descriptor of the heap that is set, buffers
//!   at the addresses of root descriptors, for draws also the targets of stream output. Whether they do is not known, so that memory
//!   does not change hands, and nothing is checked. If memory belongs to another resource, what may have been written since the other
//!   was used last counts as valid.
//!
//! # What it does not see
//!
//! `WriteBufferImmediate` names an address and no resource: it counts for the buffer that used the address last. The CPU writes to mapped memory whenever it likes: what is mapped
//! counts as written. Resources created and lists recorded while the tracker was off, and devices beside this one that share a heap,
//! are not judged. Tiles of one resource that are mapped to the same memory are not told apart.

mod access;
#[cfg(debug_assertions)]
mod audit;
mod barriers;
mod clock;
mod content;
mod coverage;
mod granularity;
mod handover;
mod inheritance;
mod interface;
mod judge;
mod laws;
mod mapping;
mod memory;
mod note;
mod options;
mod resource;
mod rule;
mod runs;
mod shape;
mod skipped;
mod state;
mod submission;
#[cfg(test)]
mod tests;
mod tracker;
mod usage;
mod violation;

pub(crate) use self::access::ResourcePart;
pub(crate) use self::clock::{Clock, FenceHistory};
pub(crate) use self::note::{
    AddressedBytes, BarrierTarget, EnhancedBarrier, Note, RecordedCall, RenderedView, Skipped, Subresources,
    UnorderedViews, ViewedPart,
};
pub use self::options::{AliasingTracking, Strictness, UsageModel};
pub(crate) use self::resource::{Identity, Label};
pub use self::rule::Rule;
pub(crate) use self::tracker::{AliasingTracker, CreatedHome, CreatedResource, CreatedState, SubmittedList};
pub use self::violation::{Place, Severity, Subject, Violation};
