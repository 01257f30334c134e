//! The rules of commands: from the operands to the commands for the driver, or a refusal.
//!
//! A violation of a rule that D3D12 leaves to the debug layer is a notice, and the command is recorded
//! ([`Notices::tolerate`](super::Notices::tolerate)).
//!
//! * [`copies`], [`texture_copies`], [`tiles`]: copies; `WriteBufferImmediate`; results of queries.
//! * [`clears`], [`resolves`], [`discard`].
//! * [`render_passes`]: render passes, and what is allowed in them.
//! * [`barriers`]: `ResourceBarrier` and `Barrier`.

pub(crate) mod barriers;
pub(crate) mod clears;
pub(crate) mod copies;
pub(crate) mod discard;
pub(crate) mod render_passes;
pub(crate) mod resolves;
pub(crate) mod texture_copies;
pub(crate) mod tiles;
