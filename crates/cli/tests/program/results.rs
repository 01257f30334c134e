//! `heapwright conformance` with --list, --results, --baseline and --table.

use crate::support::{Folder, heapwright, repository};

const FILTER: [&str; 2] = ["--filter", "heap/size-0-refused,heap/size-1-mib"];

#[test]
fn the_list_names_checks_with_class_source_and_rule() {
    let list = heapwright(["conformance", "--list", "--filter", "heap/size-0-refused"]).ok();
    let expected = "heap/size-0-refused  validation  Learn, D3D12_HEAP_DESC::SizeInBytes: A heap has a size above 0, \
                    which need not be a multiple of its alignment.\n";
    assert_eq!(list, expected);
}

#[test]
fn changes_since_a_baseline_are_printed_and_regressions_fail() {
    let folder = Folder::new();
    let results = folder.path().join("results.json");
    let results = results.to_str().unwrap();
    heapwright(["conformance", "--results", results].iter().chain(&FILTER)).ok();
    let same = heapwright(["conformance", "--baseline", results].iter().chain(&FILTER)).ok();
    assert!(same.ends_with("\nsince host:discrete: 0 changed, 0 new\n"), "{same}");

    let text = std::fs::read_to_string(results).unwrap();
    let earlier = folder.file("earlier.json", text.replacen("\"pass\"", "\"fail\"", 1));
    let better = heapwright(["conformance", "--baseline", &earlier].iter().chain(&FILTER)).ok();
    assert!(better.contains("\nchanged heap/size-1-mib: fail -> pass: 1048576 bytes\n"), "{better}");

    let table = heapwright(["conformance", "--table", results, &earlier].iter().chain(&FILTER)).ok();
    let expected = "\
| check | host:discrete | host:discrete |
|---|---|---|
| **passed** | 2 | 1 |
| **failed** | 0 | 1 |
| **known gaps** | 0 | 0 |
| **skipped** | 0 | 0 |
| **differ** | 0 | 0 |
| heap/size-1-mib | pass | fail |
";
    assert_eq!(table, expected);
}

#[test]
fn files_that_are_no_results_are_bad_input() {
    let folder = Folder::new();
    let path = folder.file("results.json", "{}");
    for option in ["--table", "--baseline"] {
        let outcome = heapwright(["conformance", option, &path].iter().chain(&FILTER));
        assert_eq!(outcome.code, 2);
        assert!(
            outcome.stderr.contains("is no file of `heapwright conformance --results`"),
            "{}",
            outcome.stderr
        );
    }
    let outcome = heapwright(["conformance", "--results", "no/such/file.json"].iter().chain(&FILTER));
    let expected = "no/such/file.json: cannot open the results for writing: no such directory";
    assert_eq!(outcome.one_error(2), expected);
}

/// The other files are made at the same time.
#[test]
fn the_recorded_results_are_of_these_checks() {
    let recorded = repository().join("crates/conformance/results/host-discrete.json");
    let text = heapwright(["conformance", "--baseline", recorded.to_str().unwrap()]).ok();
    assert!(text.ends_with("\nsince host:discrete: 0 changed, 0 new\n"), "{text}");
}
