//! Runs checks one by one, each isolated from the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use windows_core::HRESULT;

use crate::answer::{Stop, Strictness};
use crate::check::Check;
use crate::checks;
use crate::com::device;
use crate::context::{Context, Target};
use crate::hresult::Named;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The device keeps the rule.
    Passed,
    /// It does not, or the check panicked, or the device was removed.
    Failed,
    /// The check does not apply to this device.
    Skipped,
}

/// A check that was run.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// Which one.
    pub check: &'static Check,
    /// How it ended.
    pub outcome: Outcome,
    /// The figures that it found, what was expected and found, or why it does not apply. One line.
    pub detail: String,
}

/// All that were run, in the order of the registry.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// One for each check that the filter took.
    pub checks: Vec<CheckReport>,
}

impl Report {
    /// Checks that ended so.
    pub fn ended(&self, outcome: Outcome) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(move |check| check.outcome == outcome)
    }

    /// Checks that passed.
    pub fn passed(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Passed)
    }

    /// Checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Failed)
    }

    /// Checks that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = &CheckReport> {
        self.ended(Outcome::Skipped)
    }
}

/// Which checks are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Parts of ids; any of them takes a check. Empty takes all.
    parts: Vec<String>,
    /// Whole ids, of which one must be a check's; `None` takes all.
    only: Option<Vec<String>>,
    /// Whole ids that are not taken.
    skipped: Vec<String>,
}

impl Filter {
    /// Takes checks whose id holds `text`; commas separate alternatives.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Self { parts: parts.map(str::to_owned).collect(), ..Self::default() }
    }

    /// Takes the checks of these ids.
    #[must_use]
    pub fn of_ids(ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { only: Some(ids.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// Leaves out the checks of these ids: what a check does may be the end of a process whose device trusts every
    /// pointer.
    #[must_use]
    pub fn without(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.skipped.extend(ids.into_iter().map(Into::into));
        self
    }

    /// Whether the check of that id is run.
    #[must_use]
    pub fn takes(&self, id: &str) -> bool {
        let is_asked_for = self.parts.is_empty() || self.parts.iter().any(|part| id.contains(part.as_str()));
        let is_among = self.only.as_ref().is_none_or(|ids| ids.iter().any(|only| only == id));
        is_asked_for && is_among && !self.skipped.iter().any(|skipped| skipped == id)
    }

    /// The checks that it takes, in the order of the registry.
    pub fn checks(&self) -> impl Iterator<Item = &'static Check> {
        checks::all().filter(|check| self.takes(check.id))
    }
}

/// How checks are run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which.
    pub filter: Filter,
    /// What a call that is not implemented means.
    pub strictness: Strictness,
}

/// No device to run on: what the caller's closure said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotRun(pub String);

impl std::fmt::Display for CannotRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CannotRun {}

/// Runs checks on the devices that `open` gives: one at first, and a fresh one after a check that lost its device or
/// panicked. `each` hears of every check as it ends. As one begins its id is logged, at level debug: where the process
/// ends, the last one is to blame.
///
/// # Errors
///
/// When `open` fails.
///
/// # Safety
///
/// Checks pass what D3D12 refuses (null pointers, sizes of zero, descriptions that are invalid in every way) and rely on the lifetimes that it
/// guarantees (a placed resource keeps its heap). A device that trusts such arguments, or does not keep such memory, has undefined behaviour:
/// the process may end, or go on with memory that is overwritten. The caller vouches that each device that `open` gives stands the checks
/// that `options` takes, or runs this in a process of its own, in which nothing is done afterwards that has to be right.
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
            None => Context::new(open().map_err(CannotRun)?, options.strictness),
        };
        tracing::debug!(check = check.id, "begins");
        let (outcome, detail, is_usable) = run_one(check, &context);
        held = is_usable.then_some(context);
        let ended = CheckReport { check, outcome, detail };
        each(&ended);
        report.checks.push(ended);
    }
    Ok(report)
}

/// How a check ended, with the detail, and whether the device can be used for another.
fn run_one(check: &'static Check, context: &Context) -> (Outcome, String, bool) {
    if let Some(stop) = check.needs.iter().find_map(|&need| context.missing(need)) {
        let (outcome, detail) = ended(stop);
        return (outcome, detail, true);
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        let verdict = (check.body)(context);
        (verdict, device::removed_reason(context.device()))
    }));
    match result {
        Err(panic) => (Outcome::Failed, format!("the check panicked: {}", message(&*panic)), false),
        Ok((verdict, removed)) => conclude(verdict, removed),
    }
}

fn conclude(verdict: Result<String, Stop>, removed: HRESULT) -> (Outcome, String, bool) {
    let is_usable = removed.is_ok();
    match verdict.map_err(ended) {
        Ok(detail) if is_usable => (Outcome::Passed, detail, true),
        Ok(detail) => {
            (Outcome::Failed, format!("the device was removed: {} ({detail})", Named(removed)), false)
        }
        Err((outcome, detail)) => (outcome, detail, is_usable),
    }
}

fn ended(stop: Stop) -> (Outcome, String) {
    match stop {
        Stop::Failed(detail) => (Outcome::Failed, detail),
        Stop::Skipped(reason) => (Outcome::Skipped, reason),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned()).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use heapwright_runtime::{HostProfile, Instance};

    use super::*;
    use crate::answer::refusals;
    use crate::check::Class;

    /// A check that asks the device to refuse something fails where nothing is validated.
    #[test]
    fn the_class_says_whether_a_check_asks_for_refusals() {
        let whole = HostProfile { has_standard_swizzle: true, ..*HostProfile::default_profile() };
        let old = HostProfile { resource_heap_tier: 1, tiled_resources_tier: 1, ddi_version: 88, ..whole };
        let none = HostProfile { tiled_resources_tier: 0, tight_buffer_alignment: None, ..whole };
        let uma = *HostProfile::find("uma").expect("a profile of that name");
        let mut wrong = Vec::new();
        for profile in [whole, old, none, uma] {
            let open = || {
                let gpu = Instance::open(&profile).map_err(|error| error.to_string())?;
                let device_factory = gpu.device_factory();
                Ok(Target { device: gpu.device, adapter: Some(gpu.adapter), device_factory })
            };
            refusals::take();
            let each = |ended: &CheckReport| {
                let (asks, check) = (refusals::take(), ended.check);
                if asks && check.class == Class::Behaviour && ended.outcome == Outcome::Passed {
                    wrong.push(check.id);
                }
            };
            // SAFETY: the runtime checks every argument.
            unsafe { run(open, &Options::default(), each) }.expect("the profile opens");
        }
        wrong.sort_unstable();
        wrong.dedup();
        assert!(wrong.is_empty(), "{} ask for refusals and are of class behaviour: {wrong:#?}", wrong.len());
    }

    #[test]
    fn a_filter_takes_parts_of_ids() {
        assert!(Filter::default().takes("heap/size"));
        assert!(Filter::new("heap/").takes("heap/size"));
        assert!(Filter::new("tight/, size").takes("heap/size"));
        assert!(!Filter::new("tight/").takes("heap/size"));
        assert_eq!(Filter::new("").checks().count(), checks::all().count());
        let ids: Vec<&str> = Filter::of_ids(["heap/size-64-kib"]).checks().map(|check| check.id).collect();
        assert_eq!(ids, ["heap/size-64-kib"]);
        assert_eq!(Filter::of_ids(["heap/size"]).checks().count(), 0, "a part of an id is none");
    }

    #[test]
    fn a_lost_device_fails_the_check_and_is_not_used_again() {
        let lost = heapwright_d3d12::DXGI_ERROR_DEVICE_REMOVED;
        let (outcome, detail, is_usable) = conclude(Ok("fine".to_owned()), lost);
        assert_eq!((outcome, is_usable), (Outcome::Failed, false));
        assert_eq!(detail, "the device was removed: DXGI_ERROR_DEVICE_REMOVED (fine)");
        let (outcome, _, is_usable) = conclude(Err(Stop::Skipped("no".to_owned())), lost);
        assert_eq!((outcome, is_usable), (Outcome::Skipped, false));
    }
}
