//! Tests of the suite itself: devices with one defect each are caught, and an honest device passes.
//!
//! A wrong device is a device of the runtime, some of whose methods are replaced (`heapwright_intercept`) by functions
//! that pass calls on and falsify their arguments or results. The objects stay the runtime's own, so identities,
//! `GetDevice`, heaps handed back to the device and command lists work as usual, and neither the runtime nor the suite
//! can tell.
//!
//! * [`lies`]: the possible lies.
//! * [`device`], [`creation`], [`new_memory`], [`memory`], [`commands`], [`fences`], [`barriers`], [`recreate`],
//!   [`shared_handles`]: the replaced methods.
//! * [`table`]: the wrong devices, as data.

mod barriers;
mod commands;
mod creation;
mod device;
mod fences;
mod lies;
mod memory;
mod new_memory;
mod recreate;
mod shared_handles;
mod table;

use std::collections::BTreeMap;
use std::sync::Mutex;

use heapwright_conformance::{Filter, Options, Outcome, Report, Target, run};
use heapwright_d3d12::D3D12_RESOURCE_DESC;
use heapwright_runtime::{HostProfile, Instance};

use crate::lies::{HONEST, Lies};
use crate::table::WrongDevice;

/// Opens a new device of a profile that tells these lies.
fn open(profile: &HostProfile, lies: Lies) -> Result<Target, String> {
    let gpu = Instance::open(profile).map_err(|error| error.to_string())?;
    // Objects may outlive the test that made them, so the lies must, too.
    let lies: &'static Lies = Box::leak(Box::new(lies));
    device::intercept(&gpu.device, &gpu.adapter, lies);
    let device_factory = gpu.device_factory();
    if let Some(factory) = &device_factory {
        recreate::intercept_factory(factory, lies);
    }
    Ok(Target { device: gpu.device, adapter: Some(gpu.adapter), device_factory })
}

fn run_with(profile: &HostProfile, lies: Lies, filter: &str) -> Report {
    let options = Options { filter: Filter::new(filter), ..Options::default() };
    // SAFETY: the lies falsify calls that the runtime has checked.
    unsafe { run(|| open(profile, lies), &options, |_| {}) }.expect("the profile opens")
}

fn profile(wrong: &WrongDevice) -> &'static HostProfile {
    HostProfile::find(wrong.profile).unwrap_or_else(|| panic!("{}: no profile {}", wrong.what, wrong.profile))
}

#[test]
fn an_honest_device_passes_as_if_nothing_were_intercepted() {
    // Only the methods of the newest interface are intercepted.
    for profile in HostProfile::all().iter().filter(|profile| !profile.is_first_generation) {
        let plain = || {
            let gpu = Instance::open(profile).map_err(|error| error.to_string())?;
            let device_factory = gpu.device_factory();
            Ok(Target { device: gpu.device, adapter: Some(gpu.adapter), device_factory })
        };
        // SAFETY: the runtime checks every argument.
        let plain = unsafe { run(plain, &Options::default(), |_| {}) }.expect("the profile opens");
        let honest = run_with(profile, HONEST, "");
        let ended = |report: &Report| -> Vec<_> {
            report.checks.iter().map(|check| (check.check.id, check.outcome)).collect()
        };
        assert_eq!(ended(&honest), ended(&plain), "{}", profile.name);
        let failed: Vec<_> = honest.failed().map(|check| (check.check.id, &check.detail)).collect();
        assert!(failed.is_empty(), "{}: {failed:#?}", profile.name);
    }
}

#[test]
fn every_wrong_device_is_caught() {
    let mut devices: BTreeMap<(&str, &str), Vec<&WrongDevice>> = BTreeMap::new();
    for wrong in table::all() {
        for &id in wrong.caught_by {
            devices.entry((wrong.profile, id)).or_default().push(wrong);
        }
    }
    let (checks, missed) = (Mutex::new(devices.into_iter()), Mutex::new(Vec::new()));
    let catch = || loop {
        let Some(((_, id), wrongs)) = checks.lock().expect("no panics").next() else { return };
        let ended = |lies| {
            let report = run_with(profile(wrongs[0]), lies, id);
            let check = report.checks.into_iter().find(|check| check.check.id == id);
            check.unwrap_or_else(|| panic!("{}: there is no check {id}", wrongs[0].what))
        };
        let honest = ended(HONEST);
        for wrong in wrongs.iter().copied() {
            let found = ended(wrong.lies);
            let is_caught = matches!(
                (honest.outcome, found.outcome),
                (Outcome::Passed, Outcome::Failed | Outcome::Differs)
                // A check of class documented: the runtime does as Windows does, and the other device follows the
                // document.
                | (Outcome::Differs, Outcome::Passed)
            );
            if !is_caught {
                let (before, after) = (honest.outcome, found.outcome);
                let [honest, found] = [&honest.detail, &found.detail];
                let name = wrong.what;
                let text = format!("{name}: {id}: honest {before:?} ({honest}), wrong {after:?} ({found})");
                missed.lock().expect("no panics").push(text);
            }
        }
    };
    // Checks wait ten seconds for a signal that a device loses.
    std::thread::scope(|scope| drop([(); 8].map(|()| scope.spawn(catch))));
    let missed = missed.into_inner().expect("no panics");
    assert!(missed.is_empty(), "{} not caught:\n{}", missed.len(), missed.join("\n"));
}

/// vkd3d-proton refuses the footprints of a description that asks for tight alignment and states the alignment that
/// `GetDesc` returned. Footprints do not depend on alignment, so the checks do not depend on the answer.
#[test]
fn footprints_are_asked_for_without_an_alignment() {
    let refused: fn(&D3D12_RESOURCE_DESC) -> bool = |desc| desc.Alignment != 0;
    let lies = Lies { refused_footprints: Some(refused), ..HONEST };
    let discrete = HostProfile::find("discrete").expect("a profile of that name");
    for filter in ["copies/", "tight/", "aliasing/g-"] {
        let report = run_with(discrete, lies, filter);
        let failed = report.failed().map(|check| (check.check.id, &check.detail));
        // This one asks for footprints with an alignment on purpose.
        let failed: Vec<_> = failed
            .filter(|(id, _)| *id != "tight/explicit-alignment-of-textures-is-taken-throughout")
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
        assert!(report.checks.iter().any(|check| check.outcome == Outcome::Passed), "{filter}");
    }
}

#[test]
fn there_are_many_wrong_devices_and_no_two_have_one_name() {
    assert!(table::all().count() >= 315, "{}", table::all().count());
    let mut names: Vec<&str> = table::all().map(|wrong| wrong.what).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "two devices are the same");
}

#[test]
fn a_wrong_device_fails_nothing_that_is_unrelated() {
    let wrong = table::all().next().expect("there are wrong devices");
    let report = run_with(profile(wrong), wrong.lies, "");
    assert!(report.failed().count() >= 1);
    for unrelated in ["heap/", "heap-properties/", "mapping/"] {
        assert_eq!(
            report.failed().filter(|check| check.check.id.starts_with(unrelated)).count(),
            0,
            "{unrelated}"
        );
    }
}
