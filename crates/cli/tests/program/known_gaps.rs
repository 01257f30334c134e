//! `heapwright conformance --known-gaps`.

use serde_json::{Value, json};

use crate::library::{Behaviour, device, written_in_c};
use crate::support::{Folder, Outcome, heapwright};

/// A check that every simulated GPU passes.
const HAS_A_NODE: &str = "device/has-a-node";

fn check(folder: &Folder, gaps: &str, options: &[&str]) -> Outcome {
    let path = folder.file("gaps.txt", gaps);
    heapwright(["conformance", "--known-gaps", &path].iter().chain(options))
}

fn report(outcome: &Outcome) -> Value {
    assert_eq!(outcome.stderr, "");
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn a_known_failure_is_counted_separately() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::ForwardsWithoutNode) else { return };
    let device = device(&path);
    let options = ["--json", "--filter", "device/", "--device", &device];
    // The check fails on this device.
    let failing = check(&folder, "", &options);
    let unknown = report(&failing);
    assert_eq!((failing.code, &unknown["failed"], &unknown["known"]), (1, &json!(1), &json!(0)));

    let gaps = format!("# a test's\n\n{HAS_A_NODE}\tthe library hides it\n");
    let outcome = check(&folder, &gaps, &options);
    let known = report(&outcome);
    assert_eq!((outcome.code, &known["failed"], &known["known"]), (0, &json!(0), &json!(1)));
    assert_eq!(known["passed"], unknown["passed"]);
    assert_eq!((&known["no_longer_failing"], &known["known_but_skipped"]), (&json!([]), &json!([])));
    let find = |report: &Value| {
        report["checks"].as_array().unwrap().iter().find(|check| check["id"] == HAS_A_NODE).unwrap().clone()
    };
    assert_eq!(find(&unknown)["result"], "fail");
    assert_eq!(find(&known)["result"], "known");
    assert_eq!(find(&known)["known_gap"], "the library hides it");
    assert_eq!(find(&known)["detail"], find(&unknown)["detail"]);

    let table = check(&folder, &gaps, &["--filter", "device/", "--device", &device]).ok();
    assert!(table.contains(&format!("\nknown {HAS_A_NODE}: the library hides it\n")), "{table}");
    assert!(table.trim_end().ends_with(" 0 failed, 1 known, 1 skipped, 0 differ"), "{table}");
}

/// The format of the list has unit tests.
#[test]
fn a_list_that_cannot_be_used_is_bad_input() {
    let folder = Folder::new();
    let here = folder.path().to_str().unwrap().to_owned();
    let unknown = folder.file("unknown.txt", format!("{HAS_A_NODE} a reason\nheap/no-such-check a reason\n"));
    let binary = folder.file("binary.txt", b"\xff reason\n");
    for (path, expected) in [
        ("no/such/file", ": no such file"),
        (&here, ": is a directory"),
        (&binary, ": the file is not UTF-8"),
        (
            &unknown,
            ":2: unknown check id \"heap/no-such-check\"; `heapwright conformance --list` lists all ids",
        ),
    ] {
        let outcome = heapwright(["conformance", "--known-gaps", path]);
        assert_eq!(outcome.one_error(2), format!("--known-gaps: {path}{expected}"));
        assert_eq!(outcome.stdout, "");
    }
}
