//! The type of checks.

use std::fmt;

use crate::answer::Verdict;
use crate::context::Context;
use crate::scene::Scene;

/// A conformance check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The id, `area/rule`, which never changes.
    pub id: &'static str,
    /// The document and its page or section that state the rule, such as `TIGHT, Placed Resources`; for behaviour that
    /// no document states, whose it is.
    pub spec: &'static str,
    /// The class of the check.
    pub class: Class,
    /// For class [`Documented`](Class::Documented): the implementations that do something else, and what.
    pub differs: Option<&'static str>,
    /// The requirements on the device. The check is skipped unless all are met.
    pub needs: &'static [Need],
    pub(crate) body: Body,
}

/// The function of a check.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    Device(fn(&Context) -> Verdict),
    /// The function receives a new [`Scene`].
    Scene(fn(&Scene<'_>) -> Verdict),
}

impl Body {
    pub(crate) fn run(self, context: &Context) -> Verdict {
        match self {
            Self::Device(body) => body(context),
            Self::Scene(body) => body(&Scene::new(context)?),
        }
    }
}

impl Check {
    /// Returns the part of the id before the slash.
    #[must_use]
    pub fn area(&self) -> &'static str {
        self.id.split_once('/').map_or(self.id, |(area, _)| area)
    }

    /// Returns what the place that [`spec`](Self::spec) names says, in our words.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        rules().find(|(source, _)| *source == self.spec).map_or("", |(_, rule)| rule)
    }
}

/// Returns the rows of `SOURCES.md`: sources, and what each says.
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../SOURCES.md").lines().take_while(|line| !line.starts_with("## "));
    lines.filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")).skip(1)
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("id", &self.id).field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The class of a check: who is affected if the device does something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Behaviour that correct programs rely on.
    Behaviour,
    /// Refusals and reports of errors, which correct programs do not cause.
    Validation,
    /// Statements of a document from which implementations differ, as [`Check::differs`] says. No program can rely on
    /// them, so a device that does something else does not fail.
    Documented,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Behaviour, Self::Validation, Self::Documented];

    /// Returns the name in reports: `behaviour`, `validation` or `documented`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Behaviour => "behaviour",
            Self::Validation => "validation",
            Self::Documented => "documented",
        }
    }
}

/// Creates a check, of class validation if its id ends in `-refused` and of class behaviour otherwise.
pub(crate) const fn check(
    id: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    check_by(id, spec, needs, Body::Device(body))
}

/// Creates a check with either kind of function.
const fn check_by(id: &'static str, spec: &'static str, needs: &'static [Need], body: Body) -> Check {
    let is_refusal = matches!(id.as_bytes().last_chunk(), Some(b"-refused"));
    let class = if is_refusal { Class::Validation } else { Class::Behaviour };
    Check { id, spec, class, differs: None, needs, body }
}

/// Creates a check whose function receives a new [`Scene`].
pub(crate) const fn scene(
    id: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Scene<'_>) -> Verdict,
) -> Check {
    check_by(id, spec, needs, Body::Scene(body))
}

/// Creates a check of class validation whose id does not end in `-refused`.
pub(crate) const fn validation(
    id: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    Check { class: Class::Validation, ..check(id, spec, needs, body) }
}

/// Creates a check of class documented. `differs` says which implementations do something else, and what.
pub(crate) const fn documented(
    id: &'static str,
    spec: &'static str,
    differs: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    Check { class: Class::Documented, differs: Some(differs), ..check(id, spec, needs, body) }
}

/// As [`validation`], with a scene.
pub(crate) const fn validation_scene(
    id: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Scene<'_>) -> Verdict,
) -> Check {
    Check { class: Class::Validation, ..scene(id, spec, needs, body) }
}

/// A requirement of a check on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// `D3D12_FEATURE_ARCHITECTURE` reports UMA FALSE.
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
    /// `D3D12_FEATURE_D3D12_OPTIONS16` is known, and with it the heap type GPU_UPLOAD.
    GpuUploadHeapType,
    /// Resource heap tier 1.
    HeapTier1,
    /// Resource heap tier 2.
    HeapTier2,
    /// Tiled resources tier 1 or more.
    TiledResources,
    /// Tiled resources tier 2 or more, which defines accesses to null tiles.
    NullTiles,
    /// Tiled resources tier 3 or more.
    TiledVolumes,
    /// `StandardSwizzle64KBSupported`.
    StandardSwizzle,
    /// `CrossAdapterRowMajorTextureSupported`.
    CrossAdapterRowMajor,
    /// `EnhancedBarriersSupported`.
    EnhancedBarriers,
    /// `CreateByteOffsetViewsSupported`.
    ByteOffsetViews,
    /// The device has 2D textures of format NV12.
    VideoFormats,
    /// `RecreateAtTier` 1 or more.
    RecreateAt,
    /// `RecreateAtTier` NOT_SUPPORTED.
    NoRecreateAt,
    /// The target has a device factory.
    DeviceFactory,
    /// No `ManualWriteTrackingResourceSupported`, which only tools provide.
    NoWriteTracking,
    /// The target has an adapter.
    Adapter,
    /// The device creates textures.
    Textures,
    /// The device implements `GetCopyableFootprints`.
    Footprints,
    /// The device executes compute shaders of model 5.0, and not only creates pipelines.
    Shaders,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Class, rules};
    use crate::checks;

    #[test]
    fn each_source_has_a_rule_and_each_rule_a_check() {
        let sources: HashSet<&str> = checks::all().map(|check| check.spec).collect();
        let without: Vec<&str> =
            checks::all().filter(|check| check.rule().is_empty()).map(|check| check.spec).collect();
        assert!(without.is_empty(), "SOURCES.md lacks {without:#?}");
        let mut last = "";
        for (source, rule) in rules() {
            assert!(sources.contains(source), "SOURCES.md: no check has the source {source:?}");
            assert!(last < source, "SOURCES.md: {source:?} is out of order, or there twice");
            assert!(rule.ends_with('.') && rule.len() > 20, "SOURCES.md: {source:?} has no sentence");
            last = source;
        }
    }

    /// The section of `SOURCES.md` about differences has a row for each check of class documented, and no other.
    #[test]
    fn each_difference_is_listed() {
        let text = include_str!("../SOURCES.md");
        let (_, section) = text.split_once("\n## Where implementations differ\n").expect("the section");
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let expected: Vec<String> = checks::all()
            .filter_map(|check| Some(format!("| {} | {} |", check.id, check.differs?)))
            .collect();
        assert_eq!(rows, expected);
        for check in checks::all() {
            assert_eq!(check.differs.is_some(), check.class == Class::Documented, "{}", check.id);
        }
    }
}
