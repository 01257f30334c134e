//! Invalid input: exit code 2, one line on standard error with file, line and error, and no standard output.

use std::io::Write as _;
use std::path::Path;

use crate::support::{Folder, Outcome, command, heapwright};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Replays a file and expects an error that begins with this after the file's path.
#[track_caller]
fn refused(path: &str, expected: &str) {
    for options in [&["replay"][..], &["replay", "--json"], &["replay", "--verify"]] {
        let outcome = heapwright(options.iter().chain(&[path]));
        let error = outcome.one_error(2);
        assert!(error.starts_with(&format!("{path}{expected}")), "{error}");
        assert_eq!(outcome.stdout, "");
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// One case of each source of errors; `heapwright-trace` tests each of its errors.
#[test]
fn files_that_are_no_traces() {
    let folder = Folder::new();
    refused("no/such/file.csv", ": no such file");
    refused(folder.path().to_str().unwrap(), ": is a directory");
    refused(&folder.file("t.csv", ""), ":1: the file is empty");
    refused(&folder.file("t.csv", "time,event,id,size\n"), ":1: invalid header \"time,event,id,size\"");
    refused(&folder.trace("t.csv", "0,alloc,0,16\n0,alloc,#1,16\n"), ":3: id must be decimal digits");
    refused(&folder.trace("t.csv", "0,alloc,7,16\n0,free,7,17\n"), ":3: free of id 7 has size_bytes 17");
    let mut cut_off = gzip("time_us,event,id,size_bytes\n0,alloc,0,16\n");
    cut_off.truncate(cut_off.len() - 4);
    refused(
        &folder.file("t.csv.gz", cut_off),
        ":3: unexpected end of the gzip data; the file may be truncated",
    );
}

#[test]
fn a_byte_order_mark_is_skipped_once() {
    let folder = Folder::new();
    let csv = "time_us,event,id,size_bytes\n0,alloc,0,16\n";
    let plain = folder.file("plain.csv", format!("\u{feff}{csv}"));
    let packed = folder.file("packed.csv.gz", gzip(&format!("\u{feff}{csv}")));
    heapwright(["replay", &plain, &packed]).ok();
    refused(
        &folder.file("t.csv", format!("\u{feff}\u{feff}{csv}")),
        ":1: invalid header \"\\u{feff}time_us,event,id,size_bytes\"",
    );
    refused(&folder.file("t.csv", "\u{feff}"), ":1: invalid header \"\"");
}

#[test]
fn more_that_is_live_than_a_replay_takes() {
    let folder = Folder::new();
    let rows: String = (0..=1_048_576_u32).map(|id| format!("0,alloc,{id},1\n")).collect();
    let path = folder.trace("live.csv", &rows);
    let outcome = heapwright(["replay", &path]);
    let expected = format!("{path}:1048578: the trace exceeds the limit of 1048576 live allocations");
    assert_eq!(outcome.one_error(2), expected);
}

#[test]
fn a_size_over_the_limit_of_the_device() {
    let folder = Folder::new();
    let path =
        folder.trace("t.csv", "0,alloc,0,16\n0,alloc,1,4611686018427387904\n0,alloc,2,4611686018427387904\n");
    for options in [&["replay"][..], &["replay", "--json", "--verify"]] {
        let outcome = heapwright(options.iter().chain(&[path.as_str()]));
        let start = format!(
            "{path}:3: size_bytes 4611686018427387904 (4.00 EiB) exceeds the maximum resource size of device \
             host:discrete, "
        );
        let limit = outcome.one_error(2).strip_prefix(&start).unwrap_or_else(|| panic!("{}", outcome.stderr));
        assert!(limit.split(' ').next().unwrap().parse::<u64>().unwrap() > 0, "{limit}");
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn invalid_arguments() {
    for (args, expected) in [
        (&[][..], " [OPTIONS] <COMMAND>"),
        (&["replay"], "<TRACE>..."),
        (&["replay", "--heap-type", "fast", "x.csv"], "possible values: auto, default, upload"),
        (&["replay", "--set", "release_size", "x.csv"], "'--set <OPTION=VALUE>': must be OPTION=VALUE"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["--frob"], "unexpected argument '--frob'"),
        (&["plan", "--budget", "-1", "x"], "'-1' for '--budget <BUDGET>': expected a time such as 500ms"),
        (
            &["plan", "--budget", "60", "x"],
            "expected a time such as 500ms or 20s, or a number of steps such as \"20000 steps\"",
        ),
        (
            &["plan", "--capacity", "1GB", "x"],
            "'1GB' for '--capacity <SIZE>': expected a size below 2^64 bytes",
        ),
        (&["plan", "--threads", "257", "x"], "'--threads <COUNT>': expected a number from 1 to 256"),
        (&["plan", "--tier", "-1", "x"], "'-1' for '--tier <TIER>': expected a number from 1 to 2"),
        (
            &["residency", "--policy", "newest", "x"],
            "'newest' for '--policy <NAME>'\n  [possible values: next-use, lru, all]",
        ),
        // The default until 2026-11-29.
        (
            &["residency", "--policy", "adaptive", "x"],
            "'adaptive' for '--policy <NAME>'\n  [possible values: next-use, lru, all]",
        ),
        (&["residency", "--budget", "0"], "'--budget <PERCENT>': expected a number from 1 to 1000"),
        (
            &["conformance", "--check-timeout", "0"],
            "'--check-timeout <SECONDS>': expected a number from 1 to",
        ),
        (&["conformance", "--check-memory", "0"], "'--check-memory <MIB>': expected a number from 1 to"),
    ] {
        let outcome = heapwright(args);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{args:?}");
        assert!(outcome.stderr.contains("--help"), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{args:?}: {}", outcome.stderr);
    }
}

/// Arguments that only their command can judge.
#[test]
fn arguments_without_effect_or_meaning() {
    let table = "crates/aliasing/examples/o3de_lowend_1080p.csv";
    let folder = Folder::new();
    let trace = folder.trace("t.csv", "0,alloc,0,16\n");
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let expect = |args: &[&str], expected: &str| {
        let outcome = heapwright(args);
        assert_eq!(outcome.one_error(2), expected, "{args:?}");
        assert_eq!(outcome.stdout, "", "{args:?}");
        assert!(!Path::new(out).exists(), "{args:?}");
    };
    let of_table = format!("{table}: is a table, and --barriers is for frames (JSON)");
    expect(&["plan", "--barriers", "legacy", table], &of_table);
    for filter in [",", " , ", "", "no-such-check"] {
        expect(
            &["conformance", "--filter", filter],
            &format!(
                "--filter: no check's id contains {filter:?}; `heapwright conformance --list` lists all ids"
            ),
        );
    }
    expect(
        &["replay", "--profile", "captured", &trace],
        &format!("{trace}: records no settings of an allocator, which --profile captured needs"),
    );
    expect(
        &["replay", "--verify", "--heap-type", "default", &trace],
        "--verify requires a heap type that can be mapped, but --heap-type is default; use auto, upload, readback or \
         gpu-upload",
    );
    expect(
        &["replay", "--device", "host:discrete-2gib", "--heap-type", "gpu-upload", &trace],
        "--heap-type gpu-upload: the device does not support GPU upload heaps",
    );
    let to_stdout = |what| {
        format!("the {what} is written to a file, not to standard output (-); a file of this name is ./-")
    };
    expect(&["convert", "--to", "csv", &trace, "-"], &to_stdout("trace"));
    expect(&["report", "-o", "-", &trace], &to_stdout("page"));
}

#[test]
fn an_invalid_log_filter() {
    let output = command().env("HEAPWRIGHT_LOG", "a=b=c").arg("devices").output().unwrap();
    let outcome = Outcome::from_output(output);
    assert!(
        outcome.one_error(2).starts_with("HEAPWRIGHT_LOG=\"a=b=c\": invalid log filter: "),
        "{}",
        outcome.stderr
    );
}

/// Output is opened before the input is read, and old output is unchanged if the input is wrong.
#[test]
fn the_path_of_output_is_checked_first() {
    let folder = Folder::new();
    let wrong = folder.file("r.json", "no report");
    let writing = |path: &str| heapwright(["report", &wrong, "-o", path]).one_error(2).to_owned();
    let path = format!("{}/no/page", folder.path().display());
    assert_eq!(writing(&path), format!("{path}: cannot open the page for writing: no such directory"));
    let error = writing(&wrong);
    assert!(error.starts_with(&format!("{wrong}: the page would overwrite an input file")), "{error}");
    assert_eq!(std::fs::read_to_string(&wrong).unwrap(), "no report");
    let old = folder.file("old", "old");
    let error = writing(&old);
    assert!(error.starts_with(&wrong), "{error}");
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    let new = folder.path().join("new");
    writing(new.to_str().unwrap());
    assert!(!new.exists());
}
