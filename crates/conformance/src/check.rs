//! What a check is.

use std::fmt;

use crate::answer::Verdict;
use crate::context::Context;

/// A check: data, and the function that runs it.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name for ever, `area/what-holds`.
    pub id: &'static str,
    /// The place in the specification that it follows.
    pub spec: &'static str,
    /// What fails with it: correct programs, or the refusal of wrong ones.
    pub class: Class,
    /// Where it applies; all must hold, otherwise it is skipped.
    pub needs: &'static [Need],
    /// The rule of aliasing that it shows one side of.
    pub shows: Option<Shows>,
    pub(crate) body: fn(&Context) -> Verdict,
}

impl Check {
    /// The part of the id before the slash.
    #[must_use]
    pub fn area(&self) -> &'static str {
        self.id.split_once('/').map_or(self.id, |(area, _)| area)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("id", &self.id).field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What fails with a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// What a correct program relies on.
    Behaviour,
    /// What the device refuses or reports: a program that is correct does not notice.
    Validation,
}

impl Class {
    /// Both, behaviour first.
    pub const ALL: [Self; 2] = [Self::Behaviour, Self::Validation];

    /// The name in reports: `behaviour`, `validation`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Behaviour => "behaviour",
            Self::Validation => "validation",
        }
    }
}

/// A numbered rule of aliasing, and which side of it a check shows.
///
/// The rules are those of heapwright-runtime's module `aliasing`: G (granularity), I (invalidation), B (legacy barriers),
/// H (inheritance) and E (enhanced barriers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shows {
    /// The id, `B-4`.
    pub rule: &'static str,
    /// What the device is to do about what the check does.
    pub side: Side,
}

/// What a device is to do about what a check does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Take it without a word.
    Accepted,
    /// Refuse it, or report the rule.
    Refused,
}

/// Whether a check's name says that something is refused.
const fn is_refusal(id: &str) -> bool {
    const END: &[u8] = b"-refused";
    let id = id.as_bytes();
    if id.len() < END.len() {
        return false;
    }
    let mut place = 0;
    while place < END.len() {
        if id[id.len() - END.len() + place] != END[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// A check of something: of what is refused where its id ends in `-refused`, else of behaviour.
pub(crate) const fn check(
    id: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    let class = if is_refusal(id) { Class::Validation } else { Class::Behaviour };
    Check { id, spec, class, needs, shows: None, body }
}

impl Check {
    /// The same check, in which the device must refuse something though its name does not say so.
    pub(crate) const fn validates(self) -> Self {
        Self { class: Class::Validation, ..self }
    }

    /// The same check, of which something that keeps `rule` is accepted.
    pub(crate) const fn accepts(self, rule: &'static str) -> Self {
        Self { shows: Some(Shows { rule, side: Side::Accepted }), ..self }
    }

    /// The same check, of which something that breaks `rule` is refused or reported.
    pub(crate) const fn refuses(self, rule: &'static str) -> Self {
        Self { shows: Some(Shows { rule, side: Side::Refused }), class: Class::Validation, ..self }
    }
}

/// What a device must have for a check to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// `D3D12_FEATURE_ARCHITECTURE` says UMA FALSE.
    Discrete,
    /// UMA TRUE, CacheCoherentUMA FALSE.
    NonCoherentUma,
    /// UMA TRUE, CacheCoherentUMA TRUE.
    CacheCoherentUma,
    /// UMA TRUE, coherent or not.
    Uma,
    /// Tight alignment tier 1 or more.
    TightAlignment,
    /// Tight alignment tier NOT_SUPPORTED.
    NoTightAlignment,
    /// `GPUUploadHeapSupported`.
    GpuUploadHeaps,
    /// No `GPUUploadHeapSupported`.
    NoGpuUploadHeaps,
    /// An answer to whether there are GPU upload heaps: a D3D12 without one is older than the heap type.
    GpuUploadHeapType,
    /// Resource heap tier 1.
    HeapTier1,
    /// Resource heap tier 2.
    HeapTier2,
    /// Tiled resources tier 1 or more.
    TiledResources,
    /// Tiled resources tier 1, which leaves null tiles undefined, is not what the device has: tier 2 or more.
    NullTiles,
    /// Tiled resources tier 3 or more.
    TiledVolumes,
    /// `StandardSwizzle64KBSupported`.
    StandardSwizzle,
    /// `CrossAdapterRowMajorTextureSupported`.
    CrossAdapterRowMajor,
    /// `EnhancedBarriersSupported`.
    EnhancedBarriers,
    /// `RecreateAtTier` 1 or more.
    RecreateAt,
    /// `RecreateAtTier` NOT_SUPPORTED.
    NoRecreateAt,
    /// The caller gave a device factory.
    DeviceFactory,
    /// No `ManualWriteTrackingResourceSupported`, as where no tool runs.
    NoWriteTracking,
    /// The caller gave an adapter.
    Adapter,
    /// The device makes textures.
    Textures,
    /// The device answers `GetCopyableFootprints`.
    Footprints,
    /// The device says which rule of aliasing a command broke: it answers to `IHeapwrightAliasing`.
    AliasingTracker,
}
