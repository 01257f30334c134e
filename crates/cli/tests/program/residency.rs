//! `heapwright residency`: what it prints, what it draws, and what it refuses.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::support::{Folder, Outcome, command, heapwright, heapwright_reading, json_lines};
use serde_json::Value;

/// A scenario that is quick without optimisation: ten heaps of 1 MiB in turn, room for six, and a heap that is always used.
const SMALL: &str = r#"
name = "small"
description = "ten in turn"
frames = 101
frames-in-flight = 1
cpu-ms = 0.5
paging = { gb-per-s = 1.048576, latency-us = 0 }

[[budget]]
from-frame = 0
local = "6 MiB"

[[heaps]]
name = "always"
count = 1
size = "1 MiB"
resident = true

[[heaps]]
name = "turns"
count = 10
size = "1 MiB"

[[submission]]
gpu-ms = 2.0
use = [{ all = { heaps = "always" } }, { cyclic = { heaps = "turns", count = 1 } }]
"#;

fn small_with(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    SMALL.replacen(from, to, 1)
}

fn json(args: &[&str]) -> Vec<Value> {
    json_lines(&heapwright(["residency", "--json"].iter().chain(args)).ok())
}

/// Names of a kind, as --list has them.
fn listed(kind: &str) -> Vec<String> {
    let all = json(&["--list"]);
    let of_kind = all.iter().filter(|listed| listed["kind"] == kind);
    of_kind.map(|listed| listed["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn lru_pages_all_of_a_cycle_in_and_the_bound_is_the_closed_form() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let reports = json(&["--policy", "lru", &path]);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    let mib = |key: &str| report[key].as_u64().unwrap() as f64 / f64::from(1 << 20);
    // Each use is a miss, 101 of them.
    assert_eq!(mib("bytes_in"), 101.0);
    // Five of ten fit: ten cold, then (10 - 5) / (10 - 1) of the other 91, to the byte.
    let bound = mib("lower_bound_bytes");
    assert!((bound - (10.0 + 91.0 * 5.0 / 9.0)).abs() <= 1.0, "{bound}");
    assert_eq!(mib("cold_bytes"), 10.0);
    assert!(mib("belady_bytes") >= bound);
    assert_eq!(report["ratio"], (101.0 / bound * 1e4).round() / 1e4);
    // Five fit before the first has to go, and five are there at the end; the sixth place is that of the one always used.
    assert_eq!(mib("bytes_out"), 96.0);
    // 0.5 ms of the CPU, then 1 ms for a heap in and from the sixth on 1 ms for one out, then 2 ms of the GPU: one after the other, as
    // the CPU is never ahead.
    assert_eq!(report["frame_ms"], serde_json::json!({ "p50": 4.5, "p99": 4.5 }));
    assert_eq!(report["stalls"], 0);
    assert_eq!(report["over_budget_frames"], 0);
    assert_eq!((report["frames"].as_u64(), report["heaps"].as_u64()), (Some(101), Some(11)));
}

#[test]
fn the_gpu_is_waited_for_when_everything_is_in_flight() {
    let folder = Folder::new();
    let text = small_with("local = \"6 MiB\"", "local = \"2 MiB\"").replace("flight = 1", "flight = 3");
    let reports = json(&["--policy", "lru", &folder.file("tight.toml", text)]);
    // Room for one in turn: before each but the first the one before must be done.
    assert_eq!(reports[0]["stalls"], 100);
    assert!(reports[0]["stall_ms"].as_f64().unwrap() > 100.0);
}

#[test]
fn a_submission_larger_than_the_budget_is_counted_and_done() {
    let folder = Folder::new();
    let text = small_with("local = \"6 MiB\"", "local = \"1 MiB\"");
    let reports = json(&["--policy", "lru", &folder.file("tight.toml", text)]);
    assert_eq!(reports[0]["over_budget_frames"], 101);
}

#[test]
fn a_budget_that_shrinks_is_kept_and_locked_heaps_stay() {
    let folder = Folder::new();
    let budgets = "local = \"6 MiB\"\n[[budget]]\nfrom-frame = 50\nlocal = \"3 MiB\"\n";
    let text = small_with("local = \"6 MiB\"\n", budgets).replace("resident = true", "locked = true");
    // Usage over the budget would be an error.
    for report in json(&[&folder.file("shrinks.toml", text)]) {
        assert_eq!(report["over_budget_frames"], 0, "{report}");
        assert!(report["ratio"].as_f64().unwrap() >= 1.0, "{report}");
    }
}

#[test]
fn both_segment_groups_are_paged() {
    let folder = Folder::new();
    let text = small_with(
        "size = \"1 MiB\"\n\n[[submission]]",
        "size = \"1 MiB\"\nsegment = \"non-local\"\n\n[[submission]]",
    )
    .replace("local = \"6 MiB\"", "local = \"1 MiB\"\nnon-local = \"5 MiB\"");
    let reports = json(&["--policy", "lru", &folder.file("far.toml", text)]);
    assert_eq!(reports[0]["bytes_in"], 101 << 20);
    assert_eq!(reports[0]["over_budget_frames"], 0);
}

#[test]
fn every_built_in_scenario_is_simulated_and_above_its_bound() {
    for name in listed("scenario").iter().chain(&listed("control")).chain(&listed("trace")) {
        // Without optimisation they take 7 and 3 seconds; the others a second at most.
        if cfg!(debug_assertions) && ["tiny-heaps", "open-world"].contains(&name.as_str()) {
            continue;
        }
        let reports = json(&[name]);
        assert_eq!(reports.len(), listed("policy").len());
        for report in reports {
            assert_eq!(report["scenario"], name.as_str());
            let ratio = report["ratio"].as_f64().unwrap();
            assert!(ratio >= 1.0, "{report}");
            // What the default policy promises; a control has nothing to learn. A trace is paged in units of the
            // allocator's heaps, which are large.
            assert!(report["default"] != true || ratio <= 1.7 || name == "zipf", "{report}");
            assert!(report["bytes_in"].as_u64() >= report["cold_bytes"].as_u64(), "{report}");
            assert!(report["belady_bytes"].as_u64() >= report["lower_bound_bytes"].as_u64(), "{report}");
        }
    }
}

#[test]
fn the_json_is_the_same_each_time() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let reports = json(&[&path]);
    assert_eq!(reports, json(&[&path]));
    let policies: Vec<&str> = reports.iter().map(|report| report["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, listed("policy"));
    assert_eq!(reports.iter().filter(|report| report["default"] == true).count(), 1);
    assert_eq!(reports[0]["default"], true, "the default policy is the first");
}

#[test]
fn the_table_has_a_row_for_each_policy_and_a_summary() {
    let folder = Folder::new();
    let stdout = heapwright(["residency", &folder.file("small.toml", SMALL)]).ok();
    let (rows, summary) = stdout.split_once("\n\n").unwrap();
    let policies = listed("policy");
    assert_eq!(rows.lines().count(), 1 + policies.len(), "{stdout}");
    assert_eq!(summary.lines().count(), 1 + policies.len(), "{stdout}");
    assert!(rows.lines().nth(1).unwrap().starts_with("small "), "{stdout}");
    assert!(rows.lines().nth(1).unwrap().contains(&format!("{} (default)", policies[0])), "{stdout}");
    for line in stdout.lines() {
        assert!(line.chars().count() <= 120 && !line.contains('\u{1b}'), "{line:?}");
    }
}

#[test]
fn a_scenario_or_a_trace_may_be_on_standard_input() {
    let args = ["residency", "--json", "--policy", "lru", "-"];
    let folder = Folder::new();
    let file = heapwright(["residency", "--json", "--policy", "lru", &folder.file("s.toml", SMALL)]).ok();
    for text in [SMALL.to_owned(), format!("\u{feff}{SMALL}")] {
        assert_eq!(heapwright_reading(text.as_bytes(), &args).ok(), file);
        let path = folder.file("mark.toml", &text);
        assert_eq!(heapwright(["residency", "--json", "--policy", "lru", &path]).ok(), file);
    }
    for mark in ["", "\u{feff}"] {
        let trace = format!("{mark}time_us,event,id,size_bytes\n0,alloc,0,65536\n");
        let said = heapwright_reading(trace.as_bytes(), &args).ok();
        assert!(said.starts_with("{\"scenario\":\"standard input\",\"policy\":\"lru\""), "{said}");
    }
    let said = heapwright_reading(b"frames = 1", &args);
    assert_eq!(said.one_error(2), "standard input:1: missing field `name`");
    let said = heapwright_reading(b"", &["residency", "-", "-"]);
    assert_eq!(said.one_error(2), "standard input (-) was given 2 times; it can be read only once");
}

/// The pipe is closed at the first wrong line or byte, and at the limit for what must be copied.
#[test]
fn endless_records_on_standard_input_are_refused() {
    let spaces = vec![b' '; 1 << 20];
    for (first, more, most_mib, expected) in [
        (&b"time_us,event,id,size_bytes\n"[..], &b"x\n".repeat(1 << 19), 8, "standard input:2: "),
        (&b"\x89HWS"[..], &vec![0; 1 << 20], 8, "standard input"),
        (&b"["[..], &spaces, 300, "more than 256.00 MiB"),
    ] {
        let mut child = command();
        child.args(["residency", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(first).unwrap();
        let is_closed = (0..most_mib).any(|_| stdin.write_all(more).is_err());
        assert!(is_closed, "{most_mib} MiB were read after {:?}", first.escape_ascii().to_string());
        let outcome = Outcome::from_output(child.wait_with_output().unwrap());
        let error = outcome.one_error(2);
        assert!(error.contains(expected), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_scenario_without_end_is_refused() {
    let folder = Folder::new();
    let path = folder.path().join("endless.toml");
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    let said = heapwright(["residency", path.to_str().unwrap()]);
    let expected = format!("{}: file is larger than the limit of 16777216 bytes", path.display());
    assert_eq!(said.one_error(2), expected);
}

/// A trace that allocates and frees more than a device holds, but not at once: heaps that the allocator gave back are gone.
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

/// Simulates a file and expects this error, which begins with the file's path.
#[track_caller]
fn refused(text: &str, expected: &str) {
    let folder = Folder::new();
    let path = folder.file("s.toml", text);
    let said = heapwright(["residency", &path]);
    let error = said.one_error(2);
    assert!(error.starts_with(&format!("{path}{expected}")), "{error}");
    assert_eq!(said.stdout, "");
}

#[test]
fn a_wrong_file_is_told_with_line_and_rule() {
    refused("", ":1: missing field `name`");
    refused("name = ", ":1: string values must be quoted, expected literal string");
    refused(&small_with("frames = 101", "frames = 0"), ":4: frames must be");
    refused(
        &small_with("frames = 101", "frames = \"many\""),
        ":4: invalid type: string \"many\", expected u32",
    );
    refused(&small_with("name = \"small\"", "name = \"a b\""), ":2: name must consist of letters");
    refused(&small_with("gb-per-s = 1.048576", "gb-per-s = 0"), ":7: gb-per-s must be above 0");
    refused(&small_with("from-frame = 0", "from-frame = 1"), ":9: from-frame of the first budget must be 0");
    refused(
        &small_with("\"6 MiB\"", "\"6 MB\""),
        ":11: invalid value: string \"6 MB\", expected a size such as \"64 KiB\", \"1.5 GiB\" (units: B, KiB, MiB, GiB, TiB)",
    );
    refused(&small_with("count = 10", "count = 0"), ":19: heaps \"turns\": count must be");
    refused(&small_with("name = \"turns\"", "name = \"always\""), ":19: duplicate name \"always\"");
    refused(
        &small_with("cyclic = { heaps = \"turns\"", "cyclic = { heaps = \"turn\""),
        ":26: no heaps named \"turn\"; defined names: \"always\", \"turns\"",
    );
    refused(
        &small_with("heaps = \"turns\", count = 1", "heaps = \"turns\", count = 11"),
        ":26: count must be between 1 and 10",
    );
    refused(&small_with("{ all = { heaps = \"always\" } }", "{ }"), ":26: a use must have exactly one of");
    refused(&small_with("gpu-ms = 2.0", "gpu-ms = -2.0"), ":24: gpu-ms must be");
    refused(&small_with("gpu-ms = 2.0", "gpu-ms = nan"), ":24: gpu-ms must be");
    let said = heapwright(["residency", &Folder::new().path().join("none.toml").display().to_string()]);
    assert!(said.one_error(2).ends_with("none.toml: no such file"), "{}", said.stderr);
}

#[test]
fn too_much_is_refused_before_it_is_simulated() {
    let count = small_with("count = 10\n", "count = 10000\n");
    let text = count.replace("size = \"1 MiB\"", "size = \"1 GiB\"");
    refused(&text, ": the heaps exceed 8.00 TiB");
}

#[test]
fn an_unknown_name_is_told_what_there_is() {
    let said = heapwright(["residency", "level-chnage"]);
    let error = said.one_error(2);
    assert!(
        error.starts_with("unknown scenario or file \"level-chnage\"; available: open-world, "),
        "{error}"
    );
    for input in
        ["generated:SHAPE:SEED", "workload:SHAPE:SEED", ".toml", ".hws", "captures of GPGMM (.json)", "CSV"]
    {
        assert!(error.contains(input), "{error}");
    }
    for name in listed("scenario").iter().chain(&listed("control")).chain(&listed("trace")) {
        assert!(error.contains(name), "{error}");
    }
    let said = heapwright(["residency", "--policy", "newest"]);
    let error = said.one_error(2);
    assert!(
        error.starts_with("--policy: unknown eviction policy \"newest\"; available: adaptive, "),
        "{error}"
    );
    assert!(error.ends_with(", d3dx12-residency, all"), "{error}");
    let said = heapwright(["residency", "generated:worlds:1"]);
    let error = said.one_error(2);
    assert!(
        error.starts_with("no generated program is called \"generated:worlds:1\"; expected generated:"),
        "{error}"
    );
}

#[test]
fn generated_workloads_run_under_published_policies() {
    let [lru, aged] =
        &json(&["--policy", "lru", "--policy", "d3dx12-residency", "generated:two-queues:8"])[..]
    else {
        panic!("two policies")
    };
    assert_eq!((&lru["scenario"], &lru["policy"]), (&"generated:two-queues:8".into(), &"lru".into()));
    assert_eq!(aged["policy"], "d3dx12-residency");
    assert_eq!(lru["lower_bound_bytes"], aged["lower_bound_bytes"]);
    assert!(lru["bytes_in"].as_u64() > lru["lower_bound_bytes"].as_u64(), "{lru}");
    let shapes = listed("generated");
    assert!(shapes.contains(&"generated:two-queues:SEED".to_owned()), "{shapes:?}");
    assert!(listed("published").contains(&"d3dx12-residency".to_owned()));
}

#[test]
fn all_policies_are_simulated_on_request() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let reports = json(&["--policy", "lru", "--policy", "all", &path]);
    let policies: BTreeSet<&str> = reports.iter().map(|report| report["policy"].as_str().unwrap()).collect();
    assert_eq!((reports.len(), policies.len()), (4, 4));
    assert_eq!(reports[0]["policy"], "lru", "in the order in which they are given");
}

#[test]
fn a_budget_replaces_that_of_the_scenario() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    // Eleven heaps of 1 MiB: all of them, then the one that is always used and one more.
    let reports = json(&["--policy", "lru", "--budget", "100", "--budget", "19", &path]);
    let found: Vec<_> = reports.iter().map(|report| (&report["scenario"], &report["bytes_in"])).collect();
    assert_eq!(found[0], (&"small:100%".into(), &(10_u64 << 20).into()));
    assert_eq!(found[1], (&"small:19%".into(), &(101_u64 << 20).into()));
    let said = heapwright(["residency", "--budget", "0", &path]);
    assert_eq!(said.code, 2, "{}", said.stderr);
}

#[test]
fn a_wrong_file_does_not_keep_the_others_from_being_simulated() {
    let folder = Folder::new();
    let (good, bad) = (folder.file("small.toml", SMALL), folder.file("bad.toml", "frames = 1"));
    let said = heapwright(["residency", "--json", "--policy", "lru", &bad, &good]);
    assert_eq!(
        (said.code, said.stdout.lines().count(), said.stderr.lines().count()),
        (2, 1, 1),
        "{}",
        said.stderr
    );
}

#[test]
fn a_trace_of_ones_own_is_simulated_and_an_empty_one_refused() {
    let folder = Folder::new();
    // Weights of 4 MiB each, then results that come and go.
    let mut rows: String = (0..200).map(|id| format!("{id},alloc,{id},4194304\n")).collect();
    for id in 200..700 {
        rows.push_str(&format!("{id},alloc,{id},65536\n{id},free,{id},65536\n"));
    }
    let reports = json(&["--policy", "lru", &folder.trace("mine.csv", &rows)]);
    assert_eq!(
        (reports[0]["scenario"].as_str(), reports[0]["submissions"].as_u64()),
        (Some("mine"), Some(150))
    );
    assert!(
        reports[0]["bytes_in"].as_u64().unwrap() > 0,
        "60 % of the weights do not hold them all: {}",
        reports[0]
    );
    let path = folder.trace("empty.csv", "");
    let said = heapwright(["residency", &path]);
    assert_eq!(said.one_error(2), format!("{path}: the trace contains no allocations"));
}

/// With a limited address space the simulated GPU cannot create large heaps, which is not a defect of heapwright.
#[cfg(target_os = "linux")]
#[test]
fn a_scenario_that_is_larger_than_the_device_is_bad_input() {
    let folder = Folder::new();
    let text = small_with("size = \"1 MiB\"\nresident = true", "size = \"900 GiB\"\nresident = true");
    let path = folder.file("large.toml", text);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -v 8000000; exec \"$0\" residency --policy lru \"$1\""]);
    limited.args([env!("CARGO_BIN_EXE_heapwright"), &path]).env_remove("HEAPWRIGHT_LOG");
    let said = Outcome::from_output(limited.output().unwrap());
    let error = said.one_error(2);
    for named in ["the scenario is larger than the simulated GPU", "900.00 GiB", "E_OUTOFMEMORY"] {
        assert!(error.contains(named), "{error}");
    }
}

/// The program contains the traces of the repository, so that it can be built from its package alone.
#[test]
fn the_packaged_traces_are_those_of_the_repository() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["vision_serving.csv.gz", "unet_diffusion.csv.gz"] {
        let packaged = fs::read(folder.join("traces").join(name)).unwrap();
        let published = fs::read(folder.join("../../traces").join(name)).unwrap();
        assert!(packaged == published, "{name}");
    }
}
