//! Runs checks one after the other, each isolated from the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use windows_core::HRESULT;

use crate::answer::{Stop, Strictness, Verdict};
use crate::check::{Check, Class};
use crate::checks;
use crate::com::device;
use crate::context::{Context, Target};
use crate::hresult::Named;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The device follows the rule.
    Passed,
    /// The device violates the rule or was removed, or the check panicked.
    Failed,
    /// The device does something else than the document that the check names, as other implementations do: the check is
    /// of class [`Documented`](crate::Class::Documented).
    Differs,
    /// The check does not apply to this device.
    Skipped,
}

/// The result of one check.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// The check that was run.
    pub check: &'static Check,
    /// The outcome of the check.
    pub outcome: Outcome,
    /// One line: the figures found, the expected and the found value, or the reason why the check was skipped.
    pub detail: String,
}

/// The results of all checks that were run, in the order of [`checks::all`].
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// One report for each check that the filter matched.
    pub checks: Vec<CheckReport>,
}

impl Report {
    /// Returns the checks with this outcome.
    pub fn ended(&self, outcome: Outcome) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(move |check| check.outcome == outcome)
    }

    /// Returns the checks that passed.
    pub fn passed(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Passed)
    }

    /// Returns the checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Failed)
    }

    /// Returns the checks of class [`Documented`](crate::Class::Documented) whose document the device does not follow.
    pub fn differing(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Differs)
    }

    /// Returns the checks that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Skipped)
    }
}

/// Selects the checks to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Parts of ids, of which any selects a check. Empty selects all checks.
    parts: Vec<String>,
    /// The ids of the checks to select; `None` selects all checks.
    only: Option<Vec<String>>,
}

impl Filter {
    /// Selects the checks whose id contains `text`. Commas separate alternatives.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Self { parts: parts.map(str::to_owned).collect(), ..Self::default() }
    }

    /// Selects the checks with these ids.
    #[must_use]
    pub fn of_ids(ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { only: Some(ids.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// Returns whether the check with this id is selected.
    #[must_use]
    pub fn takes(&self, id: &str) -> bool {
        let is_asked_for = self.parts.is_empty() || self.parts.iter().any(|part| id.contains(part.as_str()));
        let is_among = self.only.as_ref().is_none_or(|ids| ids.iter().any(|only| only == id));
        is_asked_for && is_among
    }

    /// Returns the selected checks in the order of [`checks::all`].
    pub fn checks(&self) -> impl Iterator<Item = &'static Check> {
        checks::all().filter(|check| self.takes(check.id))
    }
}

/// Options of [`run`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The checks to run.
    pub filter: Filter,
    /// The outcome of checks that need a call which the device does not implement.
    pub strictness: Strictness,
}

/// The error of a run whose `open` failed, with the text that it returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotRun(pub String);

impl std::fmt::Display for CannotRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CannotRun {}

/// Runs checks on devices from `open`: one at first, and a new one after each check that removed its device or
/// panicked.
///
/// `each` is called with every result. The id of each check is logged at level debug before the check begins, so that
/// the last id logged names the check that ended the process.
///
/// # Errors
///
/// Returns an error if `open` fails.
///
/// # Safety
///
/// Checks pass arguments that D3D12 refuses, such as null pointers, sizes of zero and invalid descriptions, and rely on
/// the lifetimes that D3D12 guarantees; for example, a placed resource keeps its heap alive. On a device that does not
/// validate these arguments or does not keep such memory the behaviour is undefined. The caller must ensure that every
/// device which `open` returns handles the selected checks, or call this function in a process of its own that exits
/// afterwards.
pub unsafe fn run(
    mut open: impl FnMut() -> Result<Target, String>,
    options: &Options,
    mut each: impl FnMut(&CheckReport),
) -> Result<Report, CannotRun> {
    let mut report = Report::default();
    let mut held: Option<Context> = None;
    for check in options.filter.checks() {
        let context = match held.take() {
            Some(context) => context,
            None => Context::new(open().map_err(CannotRun)?),
        };
        tracing::debug!(check = check.id, "check started");
        let (outcome, detail, is_usable) = run_one(check, &context, options.strictness);
        held = is_usable.then_some(context);
        let ended = CheckReport { check, outcome, detail };
        each(&ended);
        report.checks.push(ended);
    }
    Ok(report)
}

/// Runs one check. Returns its outcome, the detail, and whether the device can be used again.
fn run_one(check: &'static Check, context: &Context, strictness: Strictness) -> (Outcome, String, bool) {
    if let Some(stop) = check.needs.iter().find_map(|&need| context.missing(need)) {
        let (outcome, detail) = ended(stop, check.class, strictness);
        return (outcome, detail, true);
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        let verdict = check.body.run(context);
        (verdict, device::removed_reason(context.device()))
    }));
    match result {
        Err(panic) => (Outcome::Failed, format!("the check panicked: {}", message(&*panic)), false),
        Ok((verdict, removed)) => {
            // Where nothing was measured, the rule holds, and that is all there is to say.
            let or_rule = |detail: String| if detail.is_empty() { check.rule().to_owned() } else { detail };
            conclude(verdict.map(or_rule), removed, check.class, strictness)
        }
    }
}

fn conclude(
    verdict: Verdict,
    removed: HRESULT,
    class: Class,
    strictness: Strictness,
) -> (Outcome, String, bool) {
    let is_usable = removed.is_ok();
    let (outcome, detail) = match verdict {
        Ok(detail) => (Outcome::Passed, detail),
        Err(stop) => ended(stop, class, strictness),
    };
    match outcome {
        Outcome::Passed | Outcome::Differs if !is_usable => {
            (Outcome::Failed, format!("the device was removed: {} ({detail})", Named(removed)), false)
        }
        outcome => (outcome, detail, is_usable),
    }
}

fn ended(stop: Stop, class: Class, strictness: Strictness) -> (Outcome, String) {
    match stop {
        Stop::Failed(detail) if class == Class::Documented => (Outcome::Differs, detail),
        Stop::Failed(detail) => (Outcome::Failed, detail),
        Stop::Skipped(reason) => (Outcome::Skipped, reason),
        Stop::Unimplemented(call) => {
            let outcome = match strictness {
                Strictness::SkipUnimplemented => Outcome::Skipped,
                Strictness::FailUnimplemented => Outcome::Failed,
            };
            (outcome, format!("the device does not implement {call}"))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned()).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use heapwright_runtime::{HostProfile, Instance};

    use super::*;
    use crate::answer::{bytes, refusals};

    fn open(profile: &HostProfile) -> Result<Target, String> {
        let gpu = Instance::open(profile).map_err(|error| error.to_string())?;
        let device_factory = gpu.device_factory();
        Ok(Target { device: gpu.device, adapter: Some(gpu.adapter), device_factory })
    }

    /// Only bytes tell a device that does what it accepts from one that does nothing.
    #[test]
    fn many_checks_read_bytes() {
        let (mut executed, mut read) = (HashSet::new(), HashSet::new());
        for profile in HostProfile::all() {
            let profile = HostProfile { has_standard_swizzle: true, ..*profile };
            bytes::take();
            let each = |ended: &CheckReport| {
                let (executes, reads) = bytes::take();
                if ended.outcome == Outcome::Passed && reads {
                    read.insert(ended.check.id);
                    executed.extend(executes.then_some(ended.check.id));
                }
            };
            // SAFETY: the runtime checks every argument.
            unsafe { run(|| open(&profile), &Options::default(), each) }.expect("the profile opens");
        }
        assert!(
            executed.len() >= 350 && read.len() >= 150,
            "{} execute, {} read",
            executed.len(),
            read.len()
        );
    }

    /// A check of class behaviour must also pass on a device that does not validate.
    #[test]
    fn check_class_determines_whether_refusals_are_required() {
        let whole = HostProfile { has_standard_swizzle: true, ..*HostProfile::default_profile() };
        let old = HostProfile { resource_heap_tier: 1, tiled_resources_tier: 1, ddi_version: 88, ..whole };
        let none = HostProfile { tiled_resources_tier: 0, tight_buffer_alignment: None, ..whole };
        let uma = *HostProfile::find("uma").expect("a known profile");
        let mut wrong = Vec::new();
        for profile in [whole, old, none, uma] {
            refusals::take();
            let each = |ended: &CheckReport| {
                let (asks, check) = (refusals::take(), ended.check);
                if asks && check.class == Class::Behaviour && ended.outcome == Outcome::Passed {
                    wrong.push(check.id);
                }
            };
            // SAFETY: the runtime checks every argument.
            unsafe { run(|| open(&profile), &Options::default(), each) }.expect("the profile opens");
        }
        wrong.sort_unstable();
        wrong.dedup();
        assert!(wrong.is_empty(), "{} checks of class behaviour require refusals: {wrong:#?}", wrong.len());
    }

    #[test]
    fn filters_match_parts_of_ids() {
        assert!(Filter::default().takes("heap/size"));
        assert!(Filter::new("heap/").takes("heap/size"));
        assert!(Filter::new("tight/, size").takes("heap/size"));
        assert!(!Filter::new("tight/").takes("heap/size"));
        assert_eq!(Filter::new("").checks().count(), checks::all().count());
        let ids: Vec<&str> = Filter::of_ids(["heap/size-64-kib"]).checks().map(|check| check.id).collect();
        assert_eq!(ids, ["heap/size-64-kib"]);
        assert_eq!(Filter::of_ids(["heap/size"]).checks().count(), 0, "a part of an id selects nothing");
    }

    #[test]
    fn a_removed_device_fails_the_check_and_is_not_reused() {
        let lost = heapwright_d3d12::DXGI_ERROR_DEVICE_REMOVED;
        let conclude = |verdict, class| conclude(verdict, lost, class, Strictness::default());
        let (outcome, detail, is_usable) = conclude(Ok("fine".to_owned()), Class::Behaviour);
        assert_eq!((outcome, is_usable), (Outcome::Failed, false));
        assert_eq!(detail, "the device was removed: DXGI_ERROR_DEVICE_REMOVED (fine)");
        let (outcome, _, is_usable) = conclude(Err(Stop::Skipped("no".to_owned())), Class::Behaviour);
        assert_eq!((outcome, is_usable), (Outcome::Skipped, false));
        let (outcome, _, is_usable) = conclude(Err(Stop::Failed("other".to_owned())), Class::Documented);
        assert_eq!((outcome, is_usable), (Outcome::Failed, false));
    }

    #[test]
    fn a_documented_rule_that_is_not_followed_is_no_failure() {
        let other = || Err(Stop::Failed("other".to_owned()));
        for (class, expected) in [
            (Class::Behaviour, Outcome::Failed),
            (Class::Validation, Outcome::Failed),
            (Class::Documented, Outcome::Differs),
        ] {
            let (outcome, detail, is_usable) = conclude(other(), HRESULT(0), class, Strictness::default());
            assert_eq!((outcome, &*detail, is_usable), (expected, "other", true));
        }
    }
}
