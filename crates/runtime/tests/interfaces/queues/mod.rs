//! Queues, command lists and fences, and their effects on memory.

pub(crate) mod barriers;
mod clears;
mod copies;
mod descriptors;
mod fences;
mod layouts;
mod lists;
mod removal;
mod render_passes;
mod resolves;
pub(crate) mod textures;
mod tiles;
pub(crate) mod timestamps;
mod video;
mod windows;
