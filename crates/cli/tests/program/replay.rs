//! `heapwright replay` on valid traces.

use std::process::Stdio;

use heapwright_trace::session::{Action, HeapType};

use crate::support::*;
use serde_json::Value;

const RECORDED: [&str; 2] = ["traces/vision_serving.csv.gz", "traces/unet_diffusion.csv.gz"];

fn number(object: &Value, key: &str) -> u64 {
    object[key].as_u64().unwrap_or_else(|| panic!("{key} in {object}"))
}

/// Replays and verifies the recorded traces, and checks the output.
#[track_caller]
fn check_recorded(options: &[&str]) {
    let arguments = ["replay", "--verify", "--json"].iter().chain(options).chain(&RECORDED);
    let objects = json_lines(&heapwright(arguments).ok());
    let expected =
        [("vision_serving", 19_100, 10_004, 547_181_424), ("unet_diffusion", 19_701, 9_893, 63_554_960)];
    assert_eq!(objects.len(), expected.len());
    for (object, (trace, events, allocations, peak_live)) in objects.iter().zip(expected) {
        assert_eq!(object["trace"], trace);
        assert_eq!(number(object, "events"), events);
        assert_eq!(number(object, "allocations"), allocations);
        assert_eq!(number(object, "peak_live_bytes"), peak_live);
        assert_eq!(number(object, "failures"), 0);
        let reserved = number(object, "peak_reserved_bytes");
        assert!(reserved >= peak_live, "{object}");
        let overhead = object["overhead"].as_f64().unwrap();
        assert!((overhead - reserved as f64 / peak_live as f64).abs() < 1e-6, "{object}");
        assert!((1..=allocations).contains(&number(object, "heaps_created")), "{object}");
        assert!(object["mean_op_ns"].as_f64().unwrap() > 0.0, "{object}");
        for times in ["alloc_ns", "free_ns"] {
            let [p50, p99, max] = ["p50", "p99", "max"].map(|key| number(&object[times], key));
            assert!(p50 <= p99 && p99 <= max && max > 0, "{object}");
        }
    }
}

#[test]
fn the_recorded_traces_verify_on_every_simulated_gpu_and_mappable_heap_type() {
    check_recorded(&[]);
    for heap_type in ["upload", "readback", "gpu-upload"] {
        check_recorded(&["--heap-type", heap_type]);
    }
    for name in &simulated_devices() {
        check_recorded(&["--device", name]);
    }
}

/// For these traces, VMA and gpu-allocator hold at best 1.78 and 2.80 times the live memory in the mean, and 1.41 and
/// 1.58 times at the peak.
#[test]
fn the_allocator_reserves_little() {
    let objects = json_lines(&heapwright(["replay", "--json"].iter().chain(&RECORDED)).ok());
    for (object, [mean, peak]) in objects.iter().zip([[1.78, 1.25], [1.9, 1.2]]) {
        let measured = |key: &str| object[key].as_f64().unwrap();
        assert!(measured("mean_overhead") <= mean, "{object}");
        assert!(measured("overhead") <= peak, "{object}");
    }
}

/// All figures that are not measured times are the same in each run.
#[test]
fn a_replay_is_reproducible() {
    let replay = || {
        let mut objects = json_lines(&heapwright(["replay", "--json", RECORDED[0]]).ok());
        let object = objects[0].as_object_mut().unwrap();
        for key in ["alloc_ns", "free_ns", "mean_op_ns"] {
            object.remove(key).unwrap();
        }
        objects
    };
    assert_eq!(replay(), replay());
}

#[test]
fn compare_replays_each_trace_with_each_allocator() {
    let stdout = heapwright(["replay", "--compare", "--json", RECORDED[1]]).ok();
    let objects = json_lines(&stdout);
    let of = |key: &str| -> Vec<Value> { objects.iter().map(|object| object[key].clone()).collect() };
    assert_eq!(of("configuration"), ["default", "gpgmm", "dedicated"]);
    assert_eq!(of("failures"), [0, 0, 0]);
    let overhead: Vec<f64> = objects.iter().map(|object| object["overhead"].as_f64().unwrap()).collect();
    assert!(overhead[0] < overhead[1], "{overhead:?}");
    assert_eq!(number(&objects[2], "heaps_created"), number(&objects[2], "allocations"));
    let table = heapwright(["replay", "--compare", RECORDED[1]]).ok();
    for name in ["heapwright", "like GPGMM", "dedicated"] {
        assert_eq!(table.matches(name).count(), 1, "{table}");
    }
}

/// The means are over the events, not over time. The values at the end differ from the peaks.
#[test]
fn means_and_final_values_are_reported() {
    let folder = Folder::new();
    let mib = 1 << 20;
    let rows = format!(
        "0,alloc,1,{}\n1,alloc,2,{}\n2,free,1,{}\n900,free,2,{}\n1000,alloc,3,{mib}\n",
        2 * mib,
        4 * mib,
        2 * mib,
        4 * mib
    );
    let trace = folder.trace("t.csv", &rows);
    // With one heap per buffer, reserved equals live.
    let objects = json_lines(&heapwright(["replay", "--json", "--compare", &trace]).ok());
    let [default, _, dedicated] = &objects[..] else { panic!("{objects:?}") };
    assert_eq!(dedicated["configuration"], "dedicated");
    // 2, 6, 4, 0 and 1 MiB are live after the events.
    for object in [default, dedicated] {
        assert_eq!(number(object, "mean_live_bytes"), 13 * mib / 5, "{object}");
        assert_eq!(number(object, "end_live_bytes"), mib, "{object}");
        let mean = number(object, "mean_reserved_bytes");
        let overhead = object["mean_overhead"].as_f64().unwrap();
        assert!((overhead - mean as f64 / (13 * mib / 5) as f64).abs() < 1e-6, "{object}");
        assert!(mean <= number(object, "peak_reserved_bytes"), "{object}");
    }
    assert_eq!(number(dedicated, "mean_reserved_bytes"), 13 * mib / 5);
    assert_eq!(number(dedicated, "held_at_end_bytes"), mib);
    assert_eq!(number(dedicated, "idle_reserved_bytes"), 0);
    assert!(number(default, "held_at_end_bytes") >= mib, "{default}");
    let table = heapwright(["replay", "-v", &trace]).ok();
    for heading in ["mean", "overhead", "at end", "when idle"] {
        assert!(table.contains(heading), "{table}");
    }
}

#[test]
fn the_table_has_a_row_per_trace_and_no_colours_in_a_pipe() {
    let stdout = heapwright(["replay"].iter().chain(&RECORDED)).ok();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{stdout}");
    assert!(lines[1].starts_with("trace ") && lines[1].ends_with("failed"), "{stdout}");
    assert!(lines[2..].iter().all(|line| line.ends_with(" 0")), "{stdout}");
    let stdout = heapwright(["replay", "--verbose"].iter().chain(&RECORDED)).ok();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 14, "{stdout}");
    for (heading, last) in [(1, "heaps"), (6, "when idle"), (11, "failed")] {
        assert!(lines[heading].starts_with("trace ") && lines[heading].ends_with(last), "{stdout}");
    }
    let peaks = [["vision_serving", "522", "MiB"], ["unet_diffusion", "60.6", "MiB"]];
    let calls = [["vision_serving", "19,100", "10,004"], ["unet_diffusion", "19,701", "9,893"]];
    for (line, start) in lines[2..4].iter().chain(&lines[12..]).zip(peaks.into_iter().chain(calls)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.starts_with(&start), "{stdout}");
    }
    assert!(lines[12..].iter().all(|line| line.ends_with(" 0")), "{stdout}");
    for line in lines {
        assert!(line.chars().count() <= 100 && !line.contains('\u{1b}'), "{line:?}");
    }
}

#[test]
fn a_trace_without_events_has_nothing_to_measure() {
    let folder = Folder::new();
    let empty = folder.trace("empty.csv", "");
    let objects = json_lines(&heapwright(["replay", "--verify", "--json", &empty]).ok());
    let nothing = serde_json::json!({ "p50": null, "p99": null, "max": null });
    let expected = serde_json::json!({
        "trace": "empty", "configuration": "default", "events": 0, "allocations": 0, "peak_live_bytes": 0, "peak_reserved_bytes": 0,
        "overhead": null, "mean_live_bytes": 0, "mean_reserved_bytes": 0, "mean_overhead": null,
        "mean_overhead_by_time": null, "end_live_bytes": 0, "held_at_end_bytes": 0, "idle_reserved_bytes": 0, "heaps_created": 0, "alloc_ns": nothing, "free_ns": nothing, "mean_op_ns": null,
        "failures": 0,
    });
    assert_eq!(objects, [expected]);
    let short = heapwright(["replay", &empty]).ok();
    assert!(short.lines().nth(2).unwrap().ends_with(" 0"), "{short}");
    let table = heapwright(["replay", "-v", &empty]).ok();
    let row = |line| table.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row(2), ["empty", "0", "B", "0", "B", "-", "0", "B", "0", "B", "-", "-", "0"]);
    assert_eq!(row(10), ["empty", "0", "0", "-", "-", "-", "-", "-", "-", "-", "0"]);
}

/// Allocations that exceed the device's memory are counted as failures, and the others are replayed.
#[test]
fn failures_are_reported_with_number_and_usage() {
    let folder = Folder::new();
    let mib = 1_u64 << 20;
    let rows: String = (0..40).map(|id| format!("{id},alloc,{id},{}\n", 100 * mib)).collect();
    let frees: String = (0..40).map(|id| format!("99,free,{id},{}\n", 100 * mib)).collect();
    let trace = folder.trace("big.csv", &(rows + &frees + "99,alloc,99,4096\n"));
    let outcome = heapwright(["replay", "--json", "--device", "host:discrete-2gib", &trace]);
    let objects = json_lines(&outcome.stdout);
    let failures = number(&objects[0], "failures");
    assert!((20..=25).contains(&failures), "{objects:?}");
    assert_eq!(number(&objects[0], "peak_live_bytes"), 4_000 * mib);
    assert!(number(&objects[0], "peak_reserved_bytes") <= 2_048 * mib, "{objects:?}");
    assert_eq!(outcome.code, 1);
    let error = outcome.stderr.strip_prefix("error: ").unwrap();
    // Size and budget are on the first line, and what was tried on those behind it.
    assert!(error.lines().next().unwrap().chars().count() <= 160 + trace.len(), "{error}");
    assert!(error.lines().skip(1).all(|line| line.starts_with("    ")), "{error}");
    let first_line = 40 - failures + 2;
    let start = format!(
        "{trace}:{first_line}: {failures} of 41 allocations failed; first failure: 100.00 MiB for id "
    );
    assert!(error.starts_with(&start), "{error}");
    for part in
        [" CurrentUsage at ", " of a budget of ", "\n    with ", " reserved\n", "\n    out of memory: "]
    {
        assert!(error.contains(part), "{error}");
    }
    let verified =
        heapwright(["replay", "--verify", "--device", "host:discrete-2gib", "--heap-type", "upload", &trace]);
    assert_eq!(verified.ok().lines().count(), 3);
}

#[test]
fn a_trace_may_be_on_standard_input() {
    let file = std::fs::read(repository().join(RECORDED[1])).unwrap();
    let outcome = heapwright_reading(&file, &["replay", "--json", "--verify", "-"]);
    let objects = json_lines(&outcome.ok());
    assert_eq!((objects.len(), number(&objects[0], "allocations")), (1, 9_893));
    assert_eq!(objects[0]["trace"], "standard input");
    let outcome = heapwright_reading(b"time_us,event,id,size_bytes\n0,alloc,0,0\n", &["replay", "-"]);
    let expected = "standard input:2: size_bytes is 0, but must be at least 1";
    assert_eq!(outcome.one_error(2), expected);
    let outcome = heapwright_reading(b"", &["replay", "-", RECORDED[1], "-"]);
    assert_eq!(outcome.one_error(2), "standard input (-) was given 2 times; it can be read only once");
}

#[test]
fn valid_traces_are_replayed_despite_an_invalid_one() {
    let folder = Folder::new();
    let good = folder.trace("good.csv", "0,alloc,0,100\n");
    let wrong = folder.trace("wrong.csv", "0,alloc,0,0\n");
    let outcome = heapwright(["replay", "--json", &good, &wrong, "no-such-file.csv", &good]);
    assert_eq!(outcome.code, 2);
    assert_eq!(json_lines(&outcome.stdout).len(), 2);
    assert_eq!(outcome.stderr.lines().count(), 2, "{}", outcome.stderr);
}

/// What was printed before counts: neither the exit code, nor the other errors, nor the files change.
#[test]
fn a_closed_pipe_changes_nothing_else() {
    let folder = Folder::new();
    let table = folder.file("table.csv", "id,start,end,size\na,0,2,100\n");
    let gaps = folder.file("gaps.txt", "heap/size-0-refused it takes nothing\n");
    let good = folder.trace("good.csv", "0,alloc,0,100\n");
    let wrong = folder.trace("wrong.csv", "0,alloc,0,0\n");
    let args: [(&[&str], i32); 8] = [
        (&["replay", RECORDED[0], RECORDED[1]], 0),
        (&["replay", "--json", RECORDED[0], RECORDED[1]], 0),
        (&["devices"], 0),
        (&["--help"], 0),
        (&["plan", "--capacity", "10", &table], 1),
        (&["conformance", "--filter", "heap/size", "--known-gaps", &gaps], 1),
        (&["replay", "--json", &good, &wrong], 2),
        (&["residency", "--json", "--policy", "lru", "workload:training:2"], 0),
    ];
    for (args, code) in args {
        let whole = heapwright(args);
        assert_eq!(whole.code, code, "{args:?}");
        let mut child = command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let outcome = Outcome::from_output(child.wait_with_output().unwrap());
        assert_eq!((outcome.code, outcome.stderr), (code, whole.stderr), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for args in [&["replay", RECORDED[1]][..], &["--help"], &["plan", "-h"], &["--version"]] {
        let output = command().args(args).stdout(full.try_clone().unwrap()).output().unwrap();
        let outcome = Outcome::from_output(output);
        assert!(outcome.one_error(1).starts_with("cannot write to standard output: "), "{args:?}");
    }
}

/// Returns a session with as many allocators, of which the last ones make an allocation each. All are dropped.
fn session_of_allocators(count: u64, allocating: u64) -> Vec<u8> {
    let of_allocator = |allocator| {
        let mut actions = vec![Action::SelectAllocator { allocator }];
        if allocator >= count - allocating {
            // The last value counts.
            for value in ["no size", "65536"] {
                actions.push(Action::SetOption { name: "release_size".into(), value: value.into() });
            }
            actions.push(buffer(allocator, 64, HeapType::Default));
        }
        actions.push(Action::DropAllocator);
        actions.into_iter().map(|action| (0, action))
    };
    session_at((0..count).flat_map(of_allocator))
}

/// Those that do nothing are not created.
#[test]
fn only_allocators_that_do_something_are_replayed() {
    let folder = Folder::new();
    let file = folder.file("many.hws", session_of_allocators(20_000, 1024));
    let replayed = json(["replay", "--profile", "captured", "--json", &file]);
    assert_eq!(number(&replayed, "allocations"), 1024);
    let file = folder.file("too-many.hws", session_of_allocators(1025, 1025));
    let expected = format!(
        "{file}: there are more than 1024 allocators that do something; a replay has at most as many"
    );
    assert_eq!(heapwright(["replay", &file]).one_error(2), expected);
    // One allocation, in the innermost of many, before it is nested.
    let nested = (0..1025_u64).flat_map(|allocator| {
        let parent = Action::NestAllocator { parent: allocator.saturating_sub(1) };
        let allocation = (allocator == 1024).then(|| buffer(1, 64, HeapType::Default));
        [Action::SelectAllocator { allocator }].into_iter().chain(allocation).chain([parent])
    });
    let nested = nested.map(|action| (0, action));
    let file = folder.file("nested.hws", session_at(nested));
    assert!(heapwright(["replay", &file]).one_error(2).contains("more than 1024 allocators"));
}
