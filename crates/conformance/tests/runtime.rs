//! The runtime of this repository keeps every rule that is checked, on every simulated GPU.

use heapwright_conformance::{Options, Outcome, Strictness, Target, run};
use heapwright_runtime::{HostProfile, Instance};

fn open(profile: &HostProfile) -> Result<Target, String> {
    let gpu = Instance::open(profile).map_err(|error| error.to_string())?;
    let device_factory = gpu.device_factory();
    Ok(Target { device: gpu.device, adapter: profile.has_adapter.then_some(gpu.adapter), device_factory })
}

#[test]
fn every_profile_passes() {
    let mut failures = Vec::new();
    for profile in HostProfile::all() {
        let report = run(|| open(profile), &Options::default(), |_| {}).expect("the profile opens");
        assert!(report.checks.len() >= 200, "{} checks", report.checks.len());
        failures.extend(
            report.failed().map(|check| format!("{}: {}: {}", profile.name, check.check.id, check.detail)),
        );
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_second_run_says_the_same() {
    let profile = HostProfile::default_profile();
    let ended = || {
        let report = run(|| open(profile), &Options::default(), |_| {}).expect("the profile opens");
        report.checks.iter().map(|check| (check.check.id, check.outcome)).collect::<Vec<_>>()
    };
    assert_eq!(ended(), ended());
}

#[test]
fn strictness_turns_what_is_not_there_into_failures() {
    let profile = HostProfile::default_profile();
    let count = |strictness, outcome| {
        let options = Options { strictness, ..Options::default() };
        let report = run(|| open(profile), &options, |_| {}).expect("the profile opens");
        report
            .ended(outcome)
            .filter(|check| check.detail.starts_with("the device does not implement"))
            .count()
    };
    let skipped = count(Strictness::SkipUnimplemented, Outcome::Skipped);
    assert_eq!(count(Strictness::SkipUnimplemented, Outcome::Failed), 0);
    assert_eq!(count(Strictness::FailUnimplemented, Outcome::Skipped), 0);
    assert_eq!(count(Strictness::FailUnimplemented, Outcome::Failed), skipped);
}

#[test]
fn without_an_adapter_the_rest_runs() {
    let open = || {
        let target = open(HostProfile::default_profile())?;
        Ok(Target { adapter: None, ..target })
    };
    let report = run(open, &Options::default(), |_| {}).expect("the profile opens");
    let skipped: Vec<&str> = report
        .skipped()
        .filter(|check| check.detail.contains("no adapter"))
        .map(|check| check.check.id)
        .collect();
    assert!(skipped.contains(&"upload/charged-to-local"), "{skipped:?}");
    assert!(report.passed().count() > 150);
}

#[test]
fn without_a_device_factory_the_rest_runs() {
    let open = || {
        let target = open(HostProfile::default_profile())?;
        Ok(Target { device_factory: None, ..target })
    };
    let report = run(open, &Options::default(), |_| {}).expect("the profile opens");
    let skipped = report.skipped().filter(|check| check.detail.contains("no device factory"));
    assert!(skipped.count() >= 20);
    assert!(report.passed().any(|check| check.check.id == "recreate/heap-allocation"));
    assert_eq!(report.failed().count(), 0);
}
