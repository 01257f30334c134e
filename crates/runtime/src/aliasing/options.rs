//! What is tracked.

use heapwright_d3d12::aliasing::*;

/// How an application says which of several overlapping resources it uses (reference of `CreatePlacedResource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageModel {
    /// Each resource is activated by an aliasing barrier that names it before it is used; nothing is inherited.
    Simple,
    /// Barriers where one `ExecuteCommandLists` uses several overlapping resources; data is inherited where the rules allow it.
    Advanced,
}

/// What a device tracks of aliasing; [`DeviceOptions::aliasing`](crate::DeviceOptions::aliasing) begins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AliasingTracking {
    /// The usage model that the application follows.
    pub model: UsageModel,
    /// What the tracker goes by; [`AliasingLaws::D3D12`] as a rule.
    pub laws: AliasingLaws,
    /// Bytes whose contents become undefined are overwritten with what this seed makes; `None` leaves them as they are.
    pub scramble_seed: Option<u64>,
}

impl AliasingTracking {
    /// The advanced usage model, by D3D12's laws, with undefined contents overwritten.
    pub const ADVANCED: Self =
        Self { model: UsageModel::Advanced, laws: AliasingLaws::D3D12, scramble_seed: Some(0) };

    /// The same with the simple usage model.
    pub const SIMPLE: Self = Self { model: UsageModel::Simple, ..Self::ADVANCED };

    /// As the interface has it; nothing for `OFF`.
    ///
    /// # Errors
    ///
    /// What is no usage model.
    pub(crate) fn from_d3d12(tracking: &HEAPWRIGHT_ALIASING_TRACKING) -> Result<Option<Self>, i32> {
        let model = match tracking.Model {
            HEAPWRIGHT_ALIASING_MODEL_OFF => return Ok(None),
            HEAPWRIGHT_ALIASING_MODEL_SIMPLE => UsageModel::Simple,
            HEAPWRIGHT_ALIASING_MODEL_ADVANCED => UsageModel::Advanced,
            other => return Err(other),
        };
        let scramble_seed = (tracking.Scramble != 0).then_some(tracking.ScrambleSeed);
        Ok(Some(Self { model, laws: tracking.Laws, scramble_seed }))
    }

    /// For the interface.
    pub(crate) fn to_d3d12(tracking: Option<Self>) -> HEAPWRIGHT_ALIASING_TRACKING {
        let off = HEAPWRIGHT_ALIASING_TRACKING {
            Model: HEAPWRIGHT_ALIASING_MODEL_OFF,
            Scramble: 0,
            ScrambleSeed: 0,
            Laws: AliasingLaws::D3D12,
        };
        let Some(tracking) = tracking else { return off };
        HEAPWRIGHT_ALIASING_TRACKING {
            Model: match tracking.model {
                UsageModel::Simple => HEAPWRIGHT_ALIASING_MODEL_SIMPLE,
                UsageModel::Advanced => HEAPWRIGHT_ALIASING_MODEL_ADVANCED,
            },
            Scramble: i32::from(tracking.scramble_seed.is_some()),
            ScrambleSeed: tracking.scramble_seed.unwrap_or(0),
            Laws: tracking.laws,
        }
    }
}
