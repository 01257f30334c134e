//! Aliasing and data inheritance: which bytes of which resource are valid, and which rule a command broke.
//!
//! Placed and reserved resources may share memory. Microsoft's *Memory Aliasing and Data Inheritance* and related
//! references define when such a resource may be used and what it then contains, but no debug layer checks it. While a
//! device [tracks](AliasingTracking) aliasing, this module does. It judges each access by the GPU or the CPU, each
//! barrier and each change of tile mappings in the order of the queues' execution. What breaks a [`Rule`] is reported
//! as a [`Violation`] and as a message in the info queue, which names both resources, the heap, the bytes, the rule and
//! the command. Contents that become undefined are overwritten, so that programs that rely on them fail here.
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
//! A resource is divided into *units*, whose contents are tracked (subresources, or 64 KiB tiles), and *places*, which
//! other resources can take over (tiles if the layout is defined, otherwise the whole resource). Each heap records the
//! last user of its bytes. A resource that uses a place without being its last user *takes it over*: the barriers and
//! fences since the last access of the other resource are checked, and its contents are inherited or become undefined
//! by the rules. So the cost of an access depends on its number of places, and not on the number of overlapping
//! resources.
//!
//! * `tracker`: the interface to the rest of the runtime; `note`: what lists record for it.
//! * `judge`: the state of all resources; `handover`: transfer of memory; `usage`: reads, writes and discards;
//!   `skipped`, `skipped_views`, `view_tables`: possible writes of draws and dispatches; `barriers`; `call_overlaps`:
//!   resources of one call of `Barrier` that overlap; `mapping`: tile mappings; `changes`: what changed since a
//!   dispatch that is repeated.
//! * `shape`, `granularity`, `memory`: the layout of resources in memory. `content`, `coverage`, `state`: their state.
//! * `inheritance`: the rules of inheritance; `inherited_contents`: the contents that they let pass; `submission`:
//!   ordering by barriers; `clock`: ordering by fences.
//! * `laws`: the laws that the judge enforces, each of which tests can disable; `prohibitions`: the tables of what
//!   violates them.
//! * `rule`, `violation`, `options`: the public types; `interface`: the same over COM.
//!
//! # Where the documents are not clear
//!
//! Ambiguities are interpreted strictly, as errors; [`Strictness`] offers alternatives. The interpretations:
//!
//! * *Memory Aliasing and Data Inheritance* names one of two conditions for writes to invalid memory. Combined with the
//!   reference of `CreatePlacedResource`, it means: resources without ALLOW_RENDER_TARGET and ALLOW_DEPTH_STENCIL
//!   become valid where they are written; others by a clear, discard or copy of a whole subresource or tile.
//! * In the strict sense, the document requires clears and copies of whole subresources or tiles for every resource:
//!   [`Strictness::Strict`].
//! * Invalidations are limited to smaller granularities in "certain" states, none of which the document names: in
//!   COMMON, and in every state if all are compatible.
//! * No document defines the effect of tight alignment on aliasing: two tightly aligned buffers conflict by their
//!   bytes, and by 64 KiB with textures.
//! * Memory is transferred at the time of a transition: the states before it decide about inheritance.
//! * Reserved resources are ordered tile by tile: what used the memory of a tile, and not the rest of its resource, has
//!   to come before another resource's use. A placed resource is ordered as a whole.
//! * Clears of unordered access views do not initialise render targets; those of render passes do.
//!
//! # Draws and dispatches
//!
//! Pipelines are not executed, so what they would have written is unknown. Reads of it are no violation, and its bytes
//! are overwritten like undefined ones.
//!
//! * A draw uses the bound render targets and depth-stencil, or those that the render pass writes, like a write: it
//!   takes over their memory, requires initialisation and is ordered by barriers. It is unknown which of them its
//!   pipeline writes. All that are bound count, except aspects that are read-only in the depth-stencil view.
//! * Draws and dispatches may write everything that shaders can access through unordered access views: each descriptor
//!   of the current heap, buffers at the addresses of root descriptors, and for draws the stream output targets. As it
//!   is unknown whether they do, no memory is transferred, and nothing is checked. If memory belongs to another
//!   resource, contents that may have been written since that resource's last use count as valid.
//!
//! # Limitations
//!
//! `WriteBufferImmediate` names an address and no resource; it counts as a write to the buffer that used the address
//! last. The CPU may write to mapped memory at any time, so mapped resources count as written. Resources created and
//! lists recorded while the tracker was off are not judged, nor are other devices that share a heap. Tiles of one
//! resource that are mapped to the same memory are not distinguished. An access that no fence orders with a change of
//! its tiles' mappings is judged by the mappings that it finds.
//!
//! # One submission
//!
//! While a device tracks aliasing, `ExecuteCommandLists` gives its queue a question instead of
//! commands:
//!
//! 1. Lists record, along with their commands, the calls that made them, and what is no command: barriers, discards,
//!    the loads of render passes (`api/command_list/aliasing_notes.rs`), and what draws and dispatches may write
//!    (`bindings.rs`). A list has no extra cost while the tracker is off.
//! 2. The queue evaluates the question (`Work::Ask`) when all work before it is done, so the tracker sees the accesses
//!    in the order in which they happen. Two queues are ordered by the clocks that fences carry (`clock.rs`), and so is
//!    the CPU, by the fence values that it has seen.
//! 3. The judge goes through the calls. If the resource was the last to use its memory, one lookup suffices. Otherwise
//!    it takes the memory over (`handover.rs`): the heap's map of last users (`memory.rs`) names the previous ones;
//!    barriers since then (`submission.rs`), granules (`granularity.rs`), states and descriptions (`inheritance.rs`)
//!    decide who loses what. Then the contents (`content.rs`, `coverage.rs`) are read, written or discarded
//!    (`usage.rs`). What is a violation stands in tables of laws, conditions and findings, one for each occasion
//!    (`prohibitions.rs`, `laws.rs`); a law that is not in force leaves its rows out.
//! 4. The result is the commands, interleaved with writes that overwrite undefined bytes. Violations go to the info
//!    queue, outside of the lock.

mod access;
#[cfg(debug_assertions)]
mod audit;
mod barriers;
mod call_overlaps;
mod changes;
mod content;
mod coverage;
mod granularity;
mod handover;
mod ids;
mod inheritance;
mod inherited_contents;
mod judge;
mod laws;
mod mapping;
mod memory;
mod note;
mod options;
mod prohibitions;
mod resource;
mod rule;
mod runs;
mod shape;
mod skipped;
mod skipped_views;
mod state;
mod submission;
#[cfg(test)]
mod tests;
mod tracker;
mod usage;
mod view_tables;
mod violation;

pub(crate) use self::access::ResourcePart;
pub(crate) use self::note::{
    AddressedBytes, EnhancedBarrier, Note, RecordedCall, RenderedView, Skipped, Subresources, UnorderedViews,
    ViewedPart,
};
pub use self::options::{AliasingTracking, Strictness, UsageModel};
pub(crate) use self::resource::{Identity, Label};
pub use self::rule::Rule;
pub(crate) use self::tracker::{AliasingTracker, CreatedResource, SubmittedList};
pub use self::violation::{Place, Severity, Subject, Violation};
