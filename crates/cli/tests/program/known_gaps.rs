//! `heapwright conformance --known-gaps`.

use serde_json::{Value, json};

use crate::library::{Behaviour, device, written_in_c};
use crate::support::{Folder, Outcome, heapwright};

/// A check that every simulated GPU passes.
const HAS_A_NODE: &str = "device/has-a-node";
/// A check that the UMA GPU skips.
const DISCRETE: &str = "heap-properties/discrete-upload";

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
    assert!(table.trim_end().ends_with(" 0 failed, 1 known, 1 skipped"), "{table}");
}

#[test]
fn a_known_gap_that_passes_is_a_failure() {
    let folder = Folder::new();
    let gaps = format!("{HAS_A_NODE} once it had none\n");
    let outcome = check(&folder, &gaps, &["--json", "--filter", "device/"]);
    let found = report(&outcome);
    assert_eq!((outcome.code, &found["failed"]), (1, &json!(0)));
    assert_eq!(found["no_longer_failing"], json!([HAS_A_NODE]));
    let outcome = check(&folder, &gaps, &["--filter", "device/"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
    assert!(outcome.stdout.starts_with(&format!("no longer fails {HAS_A_NODE}: ")), "{}", outcome.stdout);
    // Checks that do not run do not count.
    check(&folder, &gaps, &["--filter", "heap/"]).ok();
}

#[test]
fn a_known_gap_that_is_skipped_is_reported() {
    let folder = Folder::new();
    let gaps = format!("{DISCRETE} it is not\n");
    let options = ["--device", "host:uma", "--filter", "heap-properties/"];
    let outcome = check(&folder, &gaps, &[&options[..], &["--json"]].concat());
    let found = report(&outcome);
    assert_eq!((outcome.code, &found["known"]), (0, &json!(0)));
    assert_eq!(found["known_but_skipped"], json!([DISCRETE]));
    let table = check(&folder, &gaps, &options).ok();
    assert!(table.contains(&format!("\nknown {DISCRETE}: skipped\n")), "{table}");
}

/// Reads the list and expects this error after its path.
#[track_caller]
fn refused(gaps: impl AsRef<[u8]>, expected: &str) {
    let folder = Folder::new();
    let path = folder.file("gaps.txt", gaps);
    for options in [&[][..], &["--json"]] {
        let outcome = heapwright(["conformance", "--known-gaps", &path].iter().chain(options));
        assert_eq!(outcome.one_error(2), format!("--known-gaps: {path}{expected}"));
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn an_invalid_line_is_bad_input() {
    refused(
        format!("{HAS_A_NODE} a reason\nheap/no-such-check a reason\n"),
        ":2: unknown check id \"heap/no-such-check\"; `heapwright conformance --json` lists all ids",
    );
    refused(
        format!("# gaps\n{HAS_A_NODE}  \n"),
        &format!(
            ":2: {HAS_A_NODE} has no reason; a line consists of a check's id, white space and the reason"
        ),
    );
    refused(
        format!("{HAS_A_NODE} a reason\n\n{HAS_A_NODE} another\n"),
        &format!(":3: duplicate entry for {HAS_A_NODE}, first listed on line 1"),
    );
    refused(b"\xff reason\n", ": the file is not UTF-8");
}

#[test]
fn a_file_that_cannot_be_read_is_bad_input() {
    let outcome = heapwright(["conformance", "--known-gaps", "no/such/file"]);
    assert_eq!(outcome.one_error(2), "--known-gaps: no/such/file: no such file");
    let folder = Folder::new();
    let path = folder.path().to_str().unwrap();
    let outcome = heapwright(["conformance", "--known-gaps", path]);
    assert_eq!(outcome.one_error(2), format!("--known-gaps: {path}: is a directory"));
}
