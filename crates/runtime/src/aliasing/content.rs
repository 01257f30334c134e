//! The tracked state of the contents of a unit.

use heapwright_d3d12::aliasing::*;

use super::coverage::Coverage;
use super::ids::ResourceId;
use super::rule::Rule;

/// The contents of a unit: a subresource, or a tile.
///
/// Initialised contents may be used, which matters for render targets and depth-stencils. Valid contents have a defined
/// value; they are a subset of the initialised ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) initialised: Coverage,
    pub(super) valid: Coverage,
    /// The reason why the remaining contents are undefined.
    pub(super) cause: Cause,
}

/// The reason why contents are undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Not written since the resource was created; `zeroed` tells whether the memory was zeroed.
    Created { zeroed: bool },
    /// Not written since the tile was mapped; `zeroed` tells whether the memory was zeroed.
    Mapped { zeroed: bool },
    /// A barrier activated the resource.
    Activated,
    /// The draw or dispatch with this number, which is not executed, may have written them: they are valid, but
    /// unknown.
    Skipped { number: u64 },
    /// Another resource used the memory.
    Invalidated { by: ResourceId, because: Rule },
}

impl Cause {
    /// Returns the resource that used the memory.
    pub(super) fn by(self) -> Option<ResourceId> {
        match self {
            Self::Invalidated { by, .. } => Some(by),
            _ => None,
        }
    }

    /// Returns the rule by which another resource's use of the memory has this effect.
    pub(super) fn because(self) -> Option<Rule> {
        match self {
            Self::Invalidated { because, .. } => Some(because),
            _ => None,
        }
    }
}

impl Content {
    /// Creates contents of which nothing is initialised.
    pub(super) fn undefined(cause: Cause) -> Self {
        Self { initialised: Coverage::None, valid: Coverage::None, cause }
    }

    /// Creates contents that are entirely defined.
    pub(super) fn valid() -> Self {
        Self { initialised: Coverage::Full, valid: Coverage::Full, cause: Cause::Created { zeroed: true } }
    }

    /// Creates contents that are entirely defined, with unknown values.
    pub(super) fn unknown(number: u64) -> Self {
        Self { cause: Cause::Skipped { number }, ..Self::valid() }
    }

    /// Creates contents that are initialised, but have no defined value.
    pub(super) fn discarded() -> Self {
        Self { initialised: Coverage::Full, ..Self::undefined(Cause::Activated) }
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.cause, Cause::Skipped { .. }) && self.is_valid()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.valid == Coverage::Full
    }

    /// Returns the state as reported to tools.
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
