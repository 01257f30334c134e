//! The runtime of this repository passes every check on every simulated GPU.

use heapwright_conformance::{CheckReport, Options, Outcome, Report, Strictness, Target};
use heapwright_runtime::{HostProfile, Instance};

fn open(profile: &HostProfile) -> Result<Target, String> {
    let gpu = Instance::open(profile).map_err(|error| error.to_string())?;
    let device_factory = gpu.device_factory();
    Ok(Target { device: gpu.device, adapter: profile.has_adapter.then_some(gpu.adapter), device_factory })
}

fn run(
    open: impl FnMut() -> Result<Target, String>,
    options: &Options,
    each: impl FnMut(&CheckReport),
) -> Report {
    // SAFETY: the runtime checks every argument.
    unsafe { heapwright_conformance::run(open, options, each) }.expect("the profile opens")
}

#[test]
fn every_profile_passes() {
    let mut failures = Vec::new();
    for profile in HostProfile::all() {
        let report = run(|| open(profile), &Options::default(), |_| {});
        assert!(report.checks.len() >= 200, "{} checks", report.checks.len());
        failures.extend(
            report.failed().map(|check| format!("{}: {}: {}", profile.name, check.check.id, check.detail)),
        );
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

/// Checks that do not apply are skipped on any GPU.
#[test]
fn gpus_that_lack_something_fail_nothing() {
    let whole = HostProfile { has_standard_swizzle: true, ..*HostProfile::default_profile() };
    let discrete = *HostProfile::default_profile();
    let compressing = *HostProfile::find("compressing").expect("a profile of that name");
    let uma = *HostProfile::find("uma").expect("a profile of that name");
    let mut gpus = Vec::new();
    for tiled_resources_tier in [0, 1, 2] {
        gpus.push((
            format!("tiled resources tier {tiled_resources_tier}"),
            HostProfile { tiled_resources_tier, ..whole },
        ));
    }
    for (name, base) in [("compressing", compressing), ("uma", uma)] {
        gpus.push((format!("{name} without tiles"), HostProfile { tiled_resources_tier: 0, ..base }));
        gpus.push((format!("{name}, heap tier 1"), HostProfile { resource_heap_tier: 1, ..base }));
    }
    gpus.extend([
        (
            "neither tiles nor mixed heaps".to_owned(),
            HostProfile { tiled_resources_tier: 0, resource_heap_tier: 1, ..whole },
        ),
        ("no row-major".to_owned(), HostProfile { has_cross_adapter_row_major: false, ..discrete }),
        ("no tight alignment".to_owned(), HostProfile { tight_buffer_alignment: None, ..discrete }),
        ("no developer mode".to_owned(), HostProfile { developer_mode: false, ..discrete }),
        ("DDI 0098".to_owned(), HostProfile { ddi_version: 98, ..whole }),
        ("DDI 0111".to_owned(), HostProfile { ddi_version: 111, ..whole }),
        // Fewer addresses than memory.
        (
            "34 address bits".to_owned(),
            HostProfile { gpu_va_bits_per_process: 34, gpu_va_bits_per_resource: 34, ..discrete },
        ),
    ]);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let run_all = |(name, profile): &(String, HostProfile)| {
            let report = run(|| open(profile), &Options::default(), |_| {});
            let failed = report.failed().map(|check| format!("{name}: {}: {}", check.check.id, check.detail));
            failed.collect::<Vec<_>>()
        };
        let threads: Vec<_> = gpus.iter().map(|gpu| scope.spawn(move || run_all(gpu))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panics")).collect()
    });
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_second_run_says_the_same() {
    let profile = HostProfile::default_profile();
    let ended = || {
        let report = run(|| open(profile), &Options::default(), |_| {});
        report.checks.iter().map(|check| (check.check.id, check.outcome)).collect::<Vec<_>>()
    };
    assert_eq!(ended(), ended());
}

#[test]
fn strictness_turns_what_is_not_there_into_failures() {
    let profile = HostProfile::default_profile();
    let skipped_and_failed = |strictness| {
        let options = Options { strictness, ..Options::default() };
        let report = run(|| open(profile), &options, |_| {});
        [Outcome::Skipped, Outcome::Failed].map(|outcome| {
            let ended = report.ended(outcome);
            ended.filter(|check| check.detail.starts_with("the device does not implement")).count()
        })
    };
    let [skipped, failed] = skipped_and_failed(Strictness::SkipUnimplemented);
    assert_eq!(failed, 0);
    assert_eq!(skipped_and_failed(Strictness::FailUnimplemented), [0, skipped]);
}

#[test]
fn without_an_adapter_the_rest_runs() {
    let open = || {
        let target = open(HostProfile::default_profile())?;
        Ok(Target { adapter: None, ..target })
    };
    let report = run(open, &Options::default(), |_| {});
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
    let report = run(open, &Options::default(), |_| {});
    let skipped = report.skipped().filter(|check| check.detail.contains("no device factory"));
    assert!(skipped.count() >= 20);
    assert!(report.passed().any(|check| check.check.id == "recreate/heap-allocation"));
    assert_eq!(report.failed().count(), 0);
}
