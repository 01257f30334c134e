//! Options of aliasing tracking.

use heapwright_d3d12::aliasing::*;

use crate::rules::Refusal;

/// The usage model by which an application selects one of several overlapping resources (reference of
/// `CreatePlacedResource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageModel {
    /// Before use, each resource is activated by an aliasing barrier that names it. No data is inherited.
    Simple,
    /// Barriers are required between overlapping resources in one `ExecuteCommandLists`. Data is inherited if the rules
    /// allow it.
    Advanced,
}

/// The interpretation of the documents where they are ambiguous.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strictness {
    /// As documented, interpreted strictly where the documents are ambiguous.
    #[default]
    Documented,
    /// Less strict: clears of unordered access views initialise render targets and depth-stencils like other clears.
    Mild,
    /// Stricter: for every resource, contents that another one has invalidated become valid only by a copy or a clear
    /// of a whole subresource or tile.
    Strict,
    /// Like [`Strict`](Self::Strict), with a warning for the first use of a resource without activation in the advanced
    /// model, and remarks on barriers without effect and barriers that wait for everything.
    Pedantic,
}

/// The configuration of aliasing tracking. [`DeviceOptions::aliasing`](crate::DeviceOptions::aliasing) enables it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AliasingTracking {
    /// The usage model of the application.
    pub model: UsageModel,
    /// The interpretation of the documents where they are ambiguous.
    pub strictness: Strictness,
    /// The seed of the data with which undefined bytes are overwritten; `None` leaves them unchanged.
    pub scramble_seed: Option<u64>,
}

impl AliasingTracking {
    /// The advanced usage model, as documented, with undefined contents overwritten.
    pub const ADVANCED: Self =
        Self { model: UsageModel::Advanced, strictness: Strictness::Documented, scramble_seed: Some(0) };

    /// The simple usage model, as documented, with undefined contents overwritten.
    pub const SIMPLE: Self = Self { model: UsageModel::Simple, ..Self::ADVANCED };

    /// Converts from the interface's structure; `None` for `OFF`.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for an unknown usage model or strictness.
    pub(crate) fn from_d3d12(tracking: &HEAPWRIGHT_ALIASING_TRACKING) -> Result<Option<Self>, Refusal> {
        let model = match tracking.Model {
            HEAPWRIGHT_ALIASING_MODEL_OFF => return Ok(None),
            HEAPWRIGHT_ALIASING_MODEL_SIMPLE => UsageModel::Simple,
            HEAPWRIGHT_ALIASING_MODEL_ADVANCED => UsageModel::Advanced,
            other => {
                return Err(Refusal::invalid(format!(
                    "HEAPWRIGHT_ALIASING_TRACKING::Model {other} is not a valid usage model"
                )));
            }
        };
        let strictness = match tracking.Strictness {
            HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED => Strictness::Documented,
            HEAPWRIGHT_ALIASING_STRICTNESS_MILD => Strictness::Mild,
            HEAPWRIGHT_ALIASING_STRICTNESS_STRICT => Strictness::Strict,
            HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC => Strictness::Pedantic,
            other => {
                return Err(Refusal::invalid(format!(
                    "HEAPWRIGHT_ALIASING_TRACKING::Strictness {other} is not a valid strictness"
                )));
            }
        };
        let scramble_seed = (tracking.Scramble != 0).then_some(tracking.ScrambleSeed);
        Ok(Some(Self { model, strictness, scramble_seed }))
    }

    /// Converts to the interface's structure.
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
