//! `heapwright conformance` on the simulated GPUs, and its errors.

use serde_json::Value;

use crate::support::{Folder, heapwright, json, simulated_devices};

/// One device: crates/conformance runs the suite on each, and CI runs this program on each. The addresses of a
/// simulated GPU differ between runs; the output does not depend on them.
#[test]
fn the_json_is_complete_and_the_same_each_time() {
    let device = simulated_devices().remove(0);
    let outcome = heapwright(["conformance", "--json", "--device", &device]);
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.stdout.lines().count(), 1);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["device"], device);
    let checks = report["checks"].as_array().unwrap();
    let failed: Vec<&Value> = checks.iter().filter(|check| check["result"] == "fail").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!((outcome.code, &report["failed"]), (0, &0.into()));
    assert!(checks.len() >= 200, "{}", checks.len());
    for (result, count) in [("pass", &report["passed"]), ("skip", &report["skipped"])] {
        let found = checks.iter().filter(|check| check["result"] == result).count();
        assert_eq!(u64::try_from(found).ok(), count.as_u64(), "{result}");
    }
    let again = heapwright(["conformance", "--json", "--device", &device]).ok();
    let other: Value = serde_json::from_str(&again).unwrap();
    let pairs = checks.iter().zip(other["checks"].as_array().unwrap());
    let differing: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
    assert!(differing.is_empty(), "{device}, another run: {differing:#?}");
    assert!(again == outcome.stdout, "{device}: the output of another run differs");
    for check in checks {
        for key in ["class", "detail", "id", "result", "rule", "spec"] {
            let text = check[key].as_str().unwrap();
            assert!(!text.is_empty() && text.lines().count() == 1, "{check}");
        }
    }
}

#[test]
fn a_filter_selects_by_parts_of_ids() {
    let report = json(["conformance", "--json", "--filter", "heap/size-0,tight/placed-buffer-alignment"]);
    let ids: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        [
            "heap/size-0-refused",
            "tight/placed-buffer-alignment-max",
            "tight/placed-buffer-alignment-min",
            "tight/placed-buffer-alignment-power-of-two",
        ]
    );
}

#[test]
fn the_text_has_a_table_and_reasons_for_skips() {
    let stdout = heapwright(["conformance", "--device", "host:uma"]).ok();
    assert!(stdout.starts_with("area"), "{stdout}");
    assert!(stdout.contains("\nheap-properties "), "{stdout}");
    assert!(stdout.contains(": the GPU is UMA\n"), "{stdout}");
    assert!(stdout.trim_end().lines().last().unwrap().starts_with("host:uma: "), "{stdout}");
    for line in stdout.lines() {
        assert!(line.chars().count() <= 120 && !line.contains('\u{1b}'), "{line:?}");
    }
    let listed = heapwright(["conformance", "-v", "--device", "host:uma"]).ok();
    assert!(listed.contains("\nskipped heap-properties/discrete-upload: the GPU is UMA\n"), "{listed}");
}

/// The failure is a known gap that passes.
#[test]
fn the_exit_code_depends_on_the_required_classes() {
    let folder = Folder::new();
    let gaps = folder.file("gaps.txt", "heap/size-0-refused it takes nothing\n");
    let options = ["conformance", "--filter", "heap/size", "--known-gaps", &gaps];
    for (class, code) in [("all", 1), ("validation", 1), ("behaviour", 0)] {
        let outcome = heapwright(options.iter().copied().chain(["--require", class]));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (code, ""), "{class}: {}", outcome.stdout);
        assert!(outcome.stdout.contains("\nbehaviour: "), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("\nvalidation: "), "{}", outcome.stdout);
    }
    assert_eq!(heapwright(options).code, 1, "all is the default");
    let wrong = heapwright(["conformance", "--require", "some"]);
    assert_eq!(wrong.code, 2);
}

#[test]
fn the_log_has_every_started_check() {
    let outcome = heapwright(["conformance", "-vv", "--filter", "heap/size-0-refused"]);
    assert!(outcome.stderr.contains("check started check=\"heap/size-0-refused\""), "{}", outcome.stderr);
}
