//! What is tracked.

use heapwright_d3d12::aliasing::*;

use crate::rules::Refusal;

/// How an application says which of several overlapping resources it uses (reference of `CreatePlacedResource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageModel {
    /// Each resource is activated by an aliasing barrier that names it before it is used; nothing is inherited.
    Simple,
    /// Barriers where one `ExecuteCommandLists` uses several overlapping resources; data is inherited where the rules allow it.
    Advanced,
}

/// How the documents are read where they leave a choice.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strictness {
    /// As they say, and strictly where they are not clear.
    #[default]
    Documented,
    /// Milder: clears of unordered access views initialise render targets and depth stencils as other clears do.
    Mild,
    /// Stricter: whatever the resource is, contents that another has invalidated become valid by a copy or a clear of a whole
    /// subresource or tile alone.
    Strict,
    /// As [`Strict`](Self::Strict), with a warning where the advanced model uses a resource for the first time without an activation,
    /// and a remark on barriers that do nothing or wait for everything.
    Pedantic,
}

/// What a device tracks of aliasing; [`DeviceOptions::aliasing`](crate::DeviceOptions::aliasing) begins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AliasingTracking {
    /// The usage model that the application follows.
    pub model: UsageModel,
    /// How the documents are read where they leave a choice.
    pub strictness: Strictness,
    /// Bytes whose contents become undefined are overwritten with what this seed makes; `None` leaves them as they are.
    pub scramble_seed: Option<u64>,
}

impl AliasingTracking {
    /// The advanced usage model, as documented, with undefined contents overwritten.
    pub const ADVANCED: Self =
        Self { model: UsageModel::Advanced, strictness: Strictness::Documented, scramble_seed: Some(0) };

    /// The same with the simple usage model.
    pub const SIMPLE: Self = Self { model: UsageModel::Simple, ..Self::ADVANCED };

    /// The names of all laws that the judge may go by, for tests of checks.
    #[cfg(feature = "mutation")]
    #[doc(hidden)]
    pub fn laws() -> impl Iterator<Item = &'static str> {
        super::laws::AliasingLaws::all().iter_names().map(|(name, _)| name)
    }

    /// As the interface has it; nothing for `OFF`.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for what is no usage model or no strictness.
    pub(crate) fn from_d3d12(tracking: &HEAPWRIGHT_ALIASING_TRACKING) -> Result<Option<Self>, Refusal> {
        let model = match tracking.Model {
            HEAPWRIGHT_ALIASING_MODEL_OFF => return Ok(None),
            HEAPWRIGHT_ALIASING_MODEL_SIMPLE => UsageModel::Simple,
            HEAPWRIGHT_ALIASING_MODEL_ADVANCED => UsageModel::Advanced,
            other => return Err(Refusal::invalid(format!("Model {other} is no usage model"))),
        };
        let strictness = match tracking.Strictness {
            HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED => Strictness::Documented,
            HEAPWRIGHT_ALIASING_STRICTNESS_MILD => Strictness::Mild,
            HEAPWRIGHT_ALIASING_STRICTNESS_STRICT => Strictness::Strict,
            HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC => Strictness::Pedantic,
            other => return Err(Refusal::invalid(format!("Strictness {other} is no strictness"))),
        };
        let scramble_seed = (tracking.Scramble != 0).then_some(tracking.ScrambleSeed);
        Ok(Some(Self { model, strictness, scramble_seed }))
    }

    /// For the interface.
    pub(crate) fn to_d3d12(tracking: Option<Self>) -> HEAPWRIGHT_ALIASING_TRACKING {
        let (model, strictness, scramble_seed) = match tracking {
            None => (HEAPWRIGHT_ALIASING_MODEL_OFF, Strictness::Documented, None),
            Some(Self { model: UsageModel::Simple, strictness, scramble_seed }) => {
                (HEAPWRIGHT_ALIASING_MODEL_SIMPLE, strictness, scramble_seed)
            }
            Some(Self { model: UsageModel::Advanced, strictness, scramble_seed }) => {
                (HEAPWRIGHT_ALIASING_MODEL_ADVANCED, strictness, scramble_seed)
            }
        };
        HEAPWRIGHT_ALIASING_TRACKING {
            Model: model,
            Strictness: match strictness {
                Strictness::Documented => HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED,
                Strictness::Mild => HEAPWRIGHT_ALIASING_STRICTNESS_MILD,
                Strictness::Strict => HEAPWRIGHT_ALIASING_STRICTNESS_STRICT,
                Strictness::Pedantic => HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC,
            },
            Scramble: i32::from(scramble_seed.is_some()),
            ScrambleSeed: scramble_seed.unwrap_or(0),
        }
    }
}
