//! `heapwright residency`: what it prints, and what it refuses.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use heapwright_core::residency::policy::PolicyKind;
use heapwright_trace::session::{Action, Counter, HeapType};
use serde_json::Value;

use crate::support::{
    Folder, Outcome, command, heap, heapwright, heapwright_reading, json_lines, repository, session_at,
};

/// A session of ten heaps of 1 MiB that are used in turn, room for five of them, and a heap of `size` that is always
/// used.
fn small(size: u64) -> Vec<u8> {
    let heap = |id, size| heap(id, size, HeapType::Default);
    let mut actions = vec![heap(10, size), Action::Count { counter: Counter::LocalBudget, value: 6 << 20 }];
    for turn in 0..101 {
        let id = turn % 10;
        if turn < 10 {
            actions.push(heap(id, 1 << 20));
            actions.push(Action::DefineSet { set: id, heaps: vec![id, 10] });
        }
        actions.extend([Action::Submit { queue: 1, fence_value: turn + 1, sets: vec![id] }, Action::Frame]);
    }
    session_at((0..).map(|step| step * 100).zip(actions))
}

fn json(args: &[&str]) -> Vec<Value> {
    json_lines(&heapwright(["residency", "--json"].iter().chain(args)).ok())
}

/// Names of the policies that are simulated if none is named.
fn policies() -> Vec<String> {
    PolicyKind::all().iter().map(|policy| policy.name().to_owned()).collect()
}

#[test]
fn the_json_is_the_same_each_time_in_the_order_of_the_policies() {
    let folder = Folder::new();
    let path = folder.file("small.hws", small(1 << 20));
    let reports = json(&[&path]);
    assert_eq!(reports, json(&[&path]));
    let named = |report: &Value| report["policy"].as_str().unwrap().to_owned();
    assert_eq!(reports.iter().map(named).collect::<Vec<_>>(), policies());
    let defaults: Vec<bool> = reports.iter().map(|report| report["default"] == true).collect();
    assert_eq!((defaults[0], defaults.iter().filter(|&&is_default| is_default).count()), (true, 1));
    // Each use after the first ten is a miss, and the bound is five of nine of them.
    let lru = reports.iter().find(|report| report["policy"] == "lru").unwrap();
    assert_eq!((&lru["workload"], &lru["bytes_in"]), (&"small".into(), &(91_u64 << 20).into()));
    assert!(lru["ratio"].as_f64().unwrap() > 1.7, "{lru}");
    assert_eq!((lru["frames"].as_u64(), lru["heaps"].as_u64()), (Some(102), Some(11)));

    // The name is all by which standard input differs from a file.
    let from_stdin = heapwright_reading(&small(1 << 20), &["residency", "--json", "-"]).ok();
    assert_eq!(json_lines(&from_stdin.replace("\"standard input\"", "\"small\"")), reports);

    let reports = json(&["--policy", "lru", "--policy", "all", &path]);
    let policies: BTreeSet<String> = reports.iter().map(named).collect();
    assert_eq!((reports.len(), policies.len()), (2, 2));
    assert_eq!(named(&reports[0]), "lru", "in the order in which they are given");
}

#[test]
fn the_table_has_a_row_for_each_policy() {
    let folder = Folder::new();
    let stdout = heapwright(["residency", &folder.file("small.hws", small(1 << 20))]).ok();
    let policies = policies();
    assert_eq!(stdout.lines().count(), 1 + policies.len(), "{stdout}");
    let heading: Vec<_> = stdout.lines().next().unwrap().split("  ").map(str::trim).collect();
    let stalls = heading.iter().filter(|title| ["stalls", "in all", "longest"].contains(title));
    assert_eq!(stalls.count(), 3, "{heading:?}");
    let first = stdout.lines().nth(1).unwrap();
    assert!(first.starts_with("small ") && first.contains(&format!("{} (default)", policies[0])), "{stdout}");
    for line in stdout.lines() {
        assert!(line.chars().count() <= 120 && !line.contains('\u{1b}'), "{line:?}");
    }
}

/// The pipe is closed at the first wrong line or byte.
#[test]
fn endless_records_on_standard_input_are_refused() {
    for (first, more, expected) in [
        (&b"time_us,event,id,size_bytes\n"[..], &b"x\n".repeat(1 << 19), "standard input:2: "),
        (&b"\x89HWS"[..], &vec![0; 1 << 20], "standard input"),
    ] {
        let mut child = command();
        child.args(["residency", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(first).unwrap();
        assert!((0..8).any(|_| stdin.write_all(more).is_err()), "after {}", first.escape_ascii());
        let outcome = Outcome::from_output(child.wait_with_output().unwrap());
        assert!(outcome.one_error(2).contains(expected), "{}", outcome.stderr);
    }
    let said = heapwright_reading(b"", &["residency", "-", "-"]);
    assert_eq!(said.one_error(2), "standard input (-) was given 2 times; it can be read only once");
}

/// A trace that allocates and frees more than a device holds, but not at once: heaps that the allocator gave back are
/// gone.
#[test]
fn heaps_that_were_given_back_take_no_memory() {
    let folder = Folder::new();
    let mib = 1_u64 << 20;
    // 30 GiB in all, 1 GiB at most at once, in sizes that no heap from before fits.
    let mut rows = String::new();
    for id in 0..60_u64 {
        let size = (300 + 7 * (id % 60)) * mib;
        rows.push_str(&format!("{id},alloc,{id},{size}\n{id},free,{id},{size}\n"));
    }
    let reports = json(&["--policy", "lru", &folder.trace("sizes.csv", &rows)]);
    assert!(reports[0]["heaps"].as_u64().unwrap() > 1, "{}", reports[0]);
}

#[test]
fn what_there_is_not_is_told_and_the_others_are_simulated() {
    let folder = Folder::new();
    let good = folder.file("small.hws", small(1 << 20));
    let said = heapwright(["residency", "--json", "--policy", "lru", "levels", &good]);
    assert_eq!(said.one_error(2), "levels: no such file");
    assert_eq!(said.stdout.lines().count(), 1, "{}", said.stdout);
}

#[test]
fn generated_workloads_run_under_all_policies() {
    let reports = json(&["--policy", "all", "workload:levels:2"]);
    let [next_use, lru] = &reports[..] else { panic!("two policies") };
    assert_eq!((&lru["workload"], &lru["policy"]), (&"workload:levels:2".into(), &"lru".into()));
    assert_eq!(next_use["policy"], "next-use");
    assert_eq!(lru["lower_bound_bytes"], next_use["lower_bound_bytes"]);
    assert!(lru["bytes_in"].as_u64() > lru["lower_bound_bytes"].as_u64(), "{lru}");
}

/// docs/performance.md has the ratios to the bound, also of traces that are not in the repository.
#[test]
fn the_documentation_has_the_ratios_of_the_recorded_traces() {
    let page = std::fs::read_to_string(repository().join("docs/performance.md")).unwrap();
    let traces = ["traces/unet_diffusion.csv.gz", "traces/vision_serving.csv.gz"];
    let reports = json(&[&["--policy", "next-use", "--policy", "lru"][..], &traces].concat());
    assert_eq!(reports.len(), 4);
    for of_trace in reports.chunks(2) {
        let [next_use, lru] = [0, 1].map(|policy: usize| of_trace[policy]["ratio"].as_f64().unwrap());
        let row = format!("| {} | {next_use:.2} | {lru:.2} |", of_trace[0]["workload"].as_str().unwrap());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn a_budget_replaces_that_of_the_workload() {
    let folder = Folder::new();
    let path = folder.file("small.hws", small(1 << 20));
    // Eleven heaps of 1 MiB: all of them, then the one that is always used and one more.
    let reports = json(&["--policy", "lru", "--budget", "100", "--budget", "19", &path]);
    let found: Vec<_> =
        reports.iter().map(|report| (&report["workload"], report["bytes_in"].as_u64())).collect();
    assert_eq!(found[0], (&"small:100%".into(), Some(0)));
    // Each use of the ten is a miss, and the one that is always used makes room for those that are created.
    assert!(*found[1].0 == "small:19%" && found[1].1 >= Some(91 << 20), "{found:?}");
    assert_eq!(heapwright(["residency", "--budget", "0", &path]).code, 2);
}

#[test]
fn a_trace_of_ones_own_is_simulated_and_an_empty_one_refused() {
    let folder = Folder::new();
    // Weights of 4 MiB each, then results that come and go.
    let mut rows: String = (0..200).map(|id| format!("{id},alloc,{id},4194304\n")).collect();
    for id in 200..700 {
        rows.push_str(&format!("{id},alloc,{id},65536\n{id},free,{id},65536\n"));
    }
    let [report] = &json(&["--policy", "lru", &folder.trace("mine.csv", &rows)])[..] else { panic!("one") };
    assert_eq!((report["workload"].as_str(), report["submissions"].as_u64()), (Some("mine"), Some(150)));
    assert!(report["bytes_in"].as_u64() > Some(0), "60 % of the weights do not hold them all: {report}");
    let path = folder.trace("empty.csv", "");
    let said = heapwright(["residency", &path]);
    assert_eq!(said.one_error(2), format!("{path}: the trace contains no allocations"));
}

/// With a limited address space the simulated GPU cannot create large heaps, which is not a defect of heapwright.
#[cfg(target_os = "linux")]
#[test]
fn a_workload_that_is_larger_than_the_device_is_bad_input() {
    let folder = Folder::new();
    let path = folder.file("large.hws", small(900 << 30));
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -v 8000000; exec \"$0\" residency --policy lru \"$1\""]);
    limited.args([env!("CARGO_BIN_EXE_heapwright"), &path]).env_remove("HEAPWRIGHT_LOG");
    let said = Outcome::from_output(limited.output().unwrap());
    let error = said.one_error(2);
    for named in ["the workload is larger than the simulated GPU", "900.00 GiB", "E_OUTOFMEMORY"] {
        assert!(error.contains(named), "{error}");
    }
}
