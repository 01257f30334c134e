//! What is known of the contents of a unit.

use heapwright_d3d12::aliasing::*;

use super::coverage::Coverage;
use super::resource::ResourceId;
use super::rule::Rule;

/// The contents of a unit: a subresource, or a tile.
///
/// Initialised is what may be used at all, which matters to render targets and depth stencils; valid is what has a defined
/// value, which is never more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) initialised: Coverage,
    pub(super) valid: Coverage,
    /// Why the rest is not.
    pub(super) cause: Cause,
}

/// Why contents are not defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nobody wrote them since the resource was created, in memory that was zeros, or was not.
    Created { zeroed: bool },
    /// The tile was mapped, to memory that was zeros, or was not.
    Mapped { zeroed: bool },
    /// A barrier activated the resource.
    Activated,
    /// A draw or dispatch that is not executed may have written it, the one of that number: the contents are valid, and unknown.
    Skipped { number: u64 },
    /// Another resource used the memory.
    Invalidated { by: ResourceId, because: Rule },
}

impl Content {
    /// Nothing is initialised.
    pub(super) fn undefined(cause: Cause) -> Self {
        Self { initialised: Coverage::None, valid: Coverage::None, cause }
    }

    /// All is defined.
    pub(super) fn valid() -> Self {
        Self { initialised: Coverage::Full, valid: Coverage::Full, cause: Cause::Created { zeroed: true } }
    }

    /// All has a value, which nobody knows.
    pub(super) fn unknown(number: u64) -> Self {
        Self { cause: Cause::Skipped { number }, ..Self::valid() }
    }

    /// All may be used, nothing has a value.
    pub(super) fn discarded() -> Self {
        Self { initialised: Coverage::Full, ..Self::undefined(Cause::Activated) }
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.cause, Cause::Skipped { .. }) && self.is_valid()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.valid == Coverage::Full
    }

    /// What tools are told.
    pub(super) fn summary(&self) -> HEAPWRIGHT_ALIASING_CONTENTS {
        match (&self.valid, &self.initialised, self.cause) {
            (Coverage::Full, ..) => HEAPWRIGHT_ALIASING_CONTENTS_VALID,
            (Coverage::Parts(_), ..) => HEAPWRIGHT_ALIASING_CONTENTS_PARTLY_VALID,
            (Coverage::None, Coverage::Full | Coverage::Parts(_), _) => {
                HEAPWRIGHT_ALIASING_CONTENTS_DISCARDED
            }
            (_, _, Cause::Created { .. } | Cause::Mapped { .. }) => {
                HEAPWRIGHT_ALIASING_CONTENTS_UNINITIALISED
            }
            (_, _, Cause::Activated | Cause::Skipped { .. } | Cause::Invalidated { .. }) => {
                HEAPWRIGHT_ALIASING_CONTENTS_INVALID
            }
        }
    }
}
