//! Queues, command lists and fences, and their effects on memory.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod barriers;
mod clears;
mod copies;
mod descriptors;
mod fences;
mod gpu;
mod layouts;
mod lists;
mod removal;
mod render_passes;
mod resolves;
mod textures;
mod tiles;
mod windows;
