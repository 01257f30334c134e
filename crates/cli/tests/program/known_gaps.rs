//! `heapwright conformance --known-gaps`.

use serde_json::{Value, json};

use crate::library::{Behaviour, device, written_in_c};
use crate::support::{Folder, Said, heapwright};

/// A check that every device passes, unless it lies.
const HAS_A_NODE: &str = "device/has-a-node";
/// A check that the UMA GPU skips.
const DISCRETE: &str = "heap-properties/discrete-upload";

fn check(folder: &Folder, gaps: &str, options: &[&str]) -> Said {
    let path = folder.file("gaps.txt", gaps);
    heapwright(["conformance", "--known-gaps", &path].iter().chain(options))
}

fn report(said: &Said) -> Value {
    assert_eq!(said.stderr, "");
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn a_known_failure_is_counted_by_itself_and_is_no_failure() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::HandsOnWithoutNode) else { return };
    let device = device(&path);
    let options = ["--json", "--filter", "device/", "--device", &device];
    // This one fails, so that there is something to know.
    let failing = check(&folder, "", &options);
    let unknown = report(&failing);
    assert_eq!((failing.code, &unknown["failed"], &unknown["known"]), (1, &json!(1), &json!(0)));

    let gaps = format!("# a test's\n\n{HAS_A_NODE}\tthe library hides it\n");
    let said = check(&folder, &gaps, &options);
    let known = report(&said);
    assert_eq!((said.code, &known["failed"], &known["known"]), (0, &json!(0), &json!(1)));
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
fn a_known_gap_that_passes_makes_the_answer_no() {
    let folder = Folder::new();
    let gaps = format!("{HAS_A_NODE} once it had none\n");
    let said = check(&folder, &gaps, &["--json", "--filter", "device/"]);
    let found = report(&said);
    assert_eq!((said.code, &found["failed"]), (1, &json!(0)));
    assert_eq!(found["no_longer_failing"], json!([HAS_A_NODE]));
    let said = check(&folder, &gaps, &["--filter", "device/"]);
    assert_eq!((said.code, said.stderr.as_str()), (1, ""));
    assert!(said.stdout.starts_with(&format!("no longer fails {HAS_A_NODE}: ")), "{}", said.stdout);
    // What is not run is not judged.
    check(&folder, &gaps, &["--filter", "heap/"]).ok();
}

#[test]
fn a_known_gap_that_is_skipped_is_told() {
    let folder = Folder::new();
    let gaps = format!("{DISCRETE} it is not\n");
    let options = ["--device", "host:uma", "--filter", "heap-properties/"];
    let said = check(&folder, &gaps, &[&options[..], &["--json"]].concat());
    let found = report(&said);
    assert_eq!((said.code, &found["known"]), (0, &json!(0)));
    assert_eq!(found["known_but_skipped"], json!([DISCRETE]));
    let table = check(&folder, &gaps, &options).ok();
    assert!(table.contains(&format!("\nknown {DISCRETE}: skipped here\n")), "{table}");
}

/// The list is refused, with this after its path.
#[track_caller]
fn refused(gaps: impl AsRef<[u8]>, expected: &str) {
    let folder = Folder::new();
    let path = folder.file("gaps.txt", gaps);
    for options in [&[][..], &["--json"]] {
        let said = heapwright(["conformance", "--known-gaps", &path].iter().chain(options));
        assert_eq!(said.one_error(2), format!("--known-gaps: {path}{expected}"));
        assert_eq!(said.stdout, "");
    }
}

#[test]
fn a_wrong_line_is_bad_input() {
    refused(
        format!("{HAS_A_NODE} a reason\nheap/no-such-check a reason\n"),
        ":2: no check has the id \"heap/no-such-check\"; `heapwright conformance --json` lists what there is",
    );
    refused(
        format!("# gaps\n{HAS_A_NODE}  \n"),
        &format!(":2: {HAS_A_NODE} has no reason; a line is a check's id, white space and the reason"),
    );
    refused(
        format!("{HAS_A_NODE} a reason\n\n{HAS_A_NODE} another\n"),
        &format!(":3: {HAS_A_NODE} is listed again, but a check is listed once (first on line 1)"),
    );
    refused(b"\xff reason\n", ":1: the line is not UTF-8 text");
}

#[test]
fn a_file_that_cannot_be_read_is_bad_input() {
    let said = heapwright(["conformance", "--known-gaps", "no/such/file"]);
    assert_eq!(said.one_error(2), "--known-gaps: no/such/file: no such file");
    let folder = Folder::new();
    let said = heapwright(["conformance", "--known-gaps", folder.path().to_str().unwrap()]);
    assert!(said.one_error(2).starts_with("--known-gaps: "), "{}", said.stderr);
}
