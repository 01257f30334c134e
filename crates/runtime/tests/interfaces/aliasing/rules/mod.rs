//! Each rule of aliasing from both sides, on the runtime's tracker, and wrong trackers that the rows detect.
//!
//! A row is a few commands and what the tracker reports for them. Most commands that follow a rule are checks of area
//! `aliasing` of the conformance suite, which compare bytes on any device; here the tracker must report nothing for
//! them.
//!
//! There is a file for each section of rules: [`granularity`] (G), [`invalidation`] (I), [`barriers`] (B),
//! [`inheritance`] (H) and [`enhanced`] barriers (E); [`interface`] is `IHeapwrightAliasing` itself. [`wrong`] are the
//! wrong devices.

mod barriers;
mod calls;
mod enhanced;
mod granularity;
mod inheritance;
mod interface;
mod invalidation;
mod scene;
mod wrong;

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use heapwright_conformance::{Check, Class, Filter, Options, Outcome, Target, checks};
use heapwright_d3d12::aliasing::IHeapwrightAliasing;
use heapwright_runtime::aliasing::AliasingTracking;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface as _;

use self::scene::{ADVANCED, Row, Scene, Side, Verdict};
use self::wrong::{HONEST, LAWLESS, Lies, WRONG, WrongDevice};
use crate::gpu::Answer as _;

fn rows() -> impl Iterator<Item = &'static Row> {
    [
        granularity::ROWS,
        invalidation::ROWS,
        barriers::ROWS,
        inheritance::ROWS,
        enhanced::ROWS,
        interface::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// Returns the name of a check of area `aliasing`, the rule at the beginning of its name, and whether the check follows
/// it.
fn shown_by(check: &'static Check) -> Option<(&'static str, String, bool)> {
    let name = check.id.strip_prefix("aliasing/")?;
    let (section, rest) = name.split_once('-')?;
    let (number, _) = rest.split_once('-')?;
    let rule = number.parse::<u32>().ok().filter(|_| section.len() == 1)?;
    Some((name, format!("{}-{rule}", section.to_uppercase()), check.class == Class::Behaviour))
}

/// Returns the checks of the conformance suite that follow a rule, by the names that rows have.
fn followed() -> impl Iterator<Item = &'static str> {
    checks::all().filter_map(shown_by).filter_map(|(name, _, is_followed)| is_followed.then_some(name))
}

/// Runs a row.
fn run(row: &Row, lies: &'static Lies) -> Verdict {
    let result = catch_unwind(AssertUnwindSafe(|| (row.body)(&Scene::open(row, lies))));
    result.unwrap_or_else(|_| Err("a call failed".to_owned()))
}

/// Runs a check of the conformance suite on a device that tracks. Returns whether it was skipped.
fn run_check(name: &str, profile: &HostProfile, lies: &'static Lies) -> Result<bool, String> {
    let gpu = Instance::open(profile).expect("a fresh instance");
    if let Some(law) = lies.forgotten_law {
        assert!(gpu.forget_aliasing_law(law), "{law} is no law of aliasing");
    }
    wrong::intercept_device(&gpu.device, lies);
    let tracker: IHeapwrightAliasing = gpu.device.cast().expect("the runtime tracks aliasing");
    let tracking = ADVANCED;
    unsafe { tracker.SetTracking(&raw const tracking) }.succeeds();
    let target = Target { device: gpu.device.clone(), adapter: None, device_factory: None };
    let options = Options { filter: Filter::of_ids([format!("aliasing/{name}")]), ..Options::default() };
    let report = unsafe { heapwright_conformance::run(|| Ok(target.clone()), &options, |_| {}) };
    let [check] =
        report.expect("the device is open").checks.try_into().map_err(|_| format!("no check {name}"))?;
    if check.outcome == Outcome::Failed {
        return Err(check.detail);
    }
    match unsafe { tracker.GetViolationCount() } {
        0 => Ok(check.outcome == Outcome::Skipped),
        count => Err(format!("{count} violations: {:?}", gpu.aliasing_violations().first())),
    }
}

fn whole(profile: &HostProfile) -> HostProfile {
    HostProfile { has_standard_swizzle: true, ..*profile }
}

/// Runs `test` for each item on some threads, and returns the errors.
fn on_threads<T: Send>(
    items: impl Iterator<Item = T> + Send,
    test: impl Fn(T) -> Verdict + Sync,
) -> Vec<String> {
    let (items, errors) = (Mutex::new(items), Mutex::new(Vec::new()));
    let work = || loop {
        let Some(item) = items.lock().expect("no panics").next() else { return };
        if let Err(error) = test(item) {
            errors.lock().expect("no panics").push(error);
        }
    };
    std::thread::scope(|scope| drop([(); 4].map(|()| scope.spawn(work))));
    errors.into_inner().expect("no panics")
}

#[test]
fn the_tracker_reports_each_violation_and_nothing_else() {
    let errors =
        on_threads(rows(), |row| run(row, &HONEST).map_err(|error| format!("{}: {error}", row.name)));
    assert!(errors.is_empty(), "{} rows failed:\n{}", errors.len(), errors.join("\n"));
}

#[test]
fn the_tracker_reports_nothing_for_checks_that_follow_the_rules() {
    let ran = Mutex::new(HashSet::new());
    let profiles = || HostProfile::all().iter().filter(|profile| !profile.is_first_generation);
    let pairs = followed().flat_map(|name| profiles().map(move |profile| (name, profile)));
    let errors = on_threads(pairs, |(name, profile)| {
        let skipped = run_check(name, &whole(profile), &HONEST);
        if !skipped.map_err(|error| format!("{name} on {}: {error}", profile.name))? {
            ran.lock().expect("no panics").insert(name);
        }
        Ok(())
    });
    assert!(errors.is_empty(), "{} checks failed:\n{}", errors.len(), errors.join("\n"));
    let ran = ran.into_inner().expect("no panics");
    let skipped: Vec<_> = followed().filter(|name| !ran.contains(name)).collect();
    assert!(skipped.is_empty(), "skipped on every GPU: {skipped:?}");
}

fn wrong_devices() -> impl Iterator<Item = &'static WrongDevice> {
    WRONG.iter().chain(LAWLESS)
}

#[test]
fn every_wrong_device_is_caught() {
    let pairs = wrong_devices().flat_map(|wrong| wrong.caught_by.iter().map(move |&name| (wrong, name)));
    let missed = on_threads(pairs, |(wrong, name)| {
        let profile = whole(HostProfile::find(wrong.profile).expect("a profile of that name"));
        let verdict = |lies| match rows().find(|row| row.name == name) {
            Some(row) => run(row, lies),
            None => run_check(name, &profile, lies).map(drop),
        };
        verdict(&HONEST).map_err(|error| format!("{name} fails on the honest device: {error}"))?;
        match verdict(&wrong.lies) {
            Ok(()) => Err(format!("{}: {name}", wrong.what)),
            Err(_) => Ok(()),
        }
    });
    assert!(missed.is_empty(), "{} not caught:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn each_law_of_aliasing_is_forgotten_by_some_device() {
    let forgotten: Vec<_> = LAWLESS.iter().filter_map(|wrong| wrong.lies.forgotten_law).collect();
    let kept: Vec<_> = AliasingTracking::laws().filter(|law| !forgotten.contains(law)).collect();
    assert!(kept.is_empty(), "{kept:?}");
}

/// The sections and the rules in each. G-1 to G-6 are rules of creation and B-10 is one of render passes: other checks
/// and tests show them.
const SECTIONS: [(&str, RangeInclusive<u32>); 5] =
    [("G", 7..=10), ("I", 1..=14), ("B", 1..=9), ("H", 1..=9), ("E", 1..=9)];

/// E-9 is an example that must be taken; what it must not do are E-1 to E-8.
const ONE_SIDED: &str = "E-9";

#[test]
fn every_rule_is_shown_from_both_sides() {
    let shown_by_rows = rows().filter_map(|row| {
        let (rule, side) = row.rule?;
        Some((row.name, rule.to_owned(), side == Side::Accepted))
    });
    let shown: Vec<_> = checks::all().filter_map(shown_by).chain(shown_by_rows).collect();
    for (name, rule, _) in &shown {
        assert!(name.starts_with(&format!("{}-", rule.to_lowercase())), "{name} shows {rule}");
    }
    let mut shown: HashSet<(String, bool)> =
        shown.into_iter().map(|(_, rule, accepted)| (rule, accepted)).collect();
    for (section, numbers) in SECTIONS {
        for rule in numbers.map(|number| format!("{section}-{number}")) {
            assert!(shown.remove(&(rule.clone(), true)), "nothing follows {rule}");
            assert!(shown.remove(&(rule.clone(), false)) != (rule == ONE_SIDED), "{rule} is not violated");
        }
    }
    assert!(shown.is_empty(), "unknown rules: {shown:?}");
}
