//! `heapwright convert`, and captures and sessions as input of other commands.

use std::fs;
#[cfg(target_os = "linux")]
use std::{io::Write as _, process::Stdio};

use serde_json::Value;

use crate::support::{Folder, heapwright, json, repository};
#[cfg(target_os = "linux")]
use crate::support::{Outcome, command, heapwright_reading};

const CAPTURES: &str = "crates/trace/tests/captures";

fn capture(name: &str) -> String {
    format!("{CAPTURES}/{name}.json.gz")
}

fn replay(path: &str) -> Value {
    json(["replay", "--json", path])
}

#[test]
fn captures_are_replayed_with_little_overhead() {
    // Peak live bytes in units of 64 KiB, and the limit of the overhead. New heaps have at least 4 MiB, as creating one
    // takes a GPU longer than it takes to use a few MiB more.
    for (name, allocations, live_mib, limit) in [
        ("dawn_queue_write_buffer_2023-04", 4, 12.125, 1.30),
        ("directml_superresolution_2022-04", 46, 701.625, 1.10),
        ("webnn_mobilenetv2_2022-03", 9, 48.125, 1.09),
    ] {
        let replayed = replay(&capture(name));
        assert_eq!(replayed["trace"], name);
        assert_eq!((&replayed["allocations"], &replayed["failures"]), (&allocations.into(), &0.into()));
        let reserved_mib = replayed["peak_reserved_bytes"].as_f64().unwrap() / f64::from(1 << 20);
        assert!(reserved_mib <= live_mib * limit, "{name}: {reserved_mib} MiB for {live_mib} MiB");
        if name.starts_with("directml") {
            // GPGMM's heaps of this capture have 1068 MiB.
            assert!(reserved_mib <= 1068.0 * 0.75, "{reserved_mib} MiB");
        }
    }
}

#[test]
fn a_converted_capture_is_replayed_as_the_capture_is() {
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let capture = capture("directml_superresolution_2022-04");
    let session = path("session.hws");
    let summary = heapwright(["convert", &capture, &session]).ok();
    assert_eq!(summary, format!("{session}: 163 records, 92 of them events, from GPGMM capture\n"));
    let csv = path("trace.csv");
    assert_eq!(heapwright(["convert", &session, &csv]).ok(), format!("{csv}: 92 events from session\n"));
    // The content counts, not the extension.
    let renamed = path("renamed.csv");
    fs::copy(&session, &renamed).unwrap();
    let expected = replay(&capture);
    for converted in [&session, &csv, &renamed] {
        let replayed = replay(converted);
        for key in
            ["events", "peak_live_bytes", "peak_reserved_bytes", "mean_reserved_bytes", "heaps_created"]
        {
            assert_eq!(replayed[key], expected[key], "{converted}: {key}");
        }
    }
    let chrome = path("chrome.json");
    assert!(heapwright(["convert", &session, &chrome]).ok().contains(" 92 of them events, from session"));
    assert_eq!(replay(&chrome)["peak_live_bytes"], expected["peak_live_bytes"]);
    let again = path("again");
    heapwright(["convert", "--to", "session", &session, &again]).ok();
    assert_eq!(fs::read(&again).unwrap(), fs::read(&session).unwrap());
}

#[test]
fn a_truncated_session_is_used_with_a_warning() {
    let folder = Folder::new();
    let whole = folder.path().join("whole.hws");
    heapwright(["convert", &capture("webnn_mobilenetv2_2022-03"), whole.to_str().unwrap()]).ok();
    let bytes = fs::read(&whole).unwrap();
    // The end has 12 bytes.
    let cut = folder.file("cut.hws", &bytes[..bytes.len() - 5]);
    let warning = format!(
        "warning: {cut}: byte {}: the session has no end, as after a crash; only the complete blocks before it were read\n",
        bytes.len() - 12
    );
    let csv = folder.path().join("cut.csv");
    let page = folder.path().join("cut.html");
    for args in [
        &["replay", &cut][..],
        &["report", &cut],
        &["convert", &cut, csv.to_str().unwrap()],
        &["residency", &cut, "--budget", "90", "--budget", "100"],
    ] {
        let outcome = heapwright(args);
        assert_eq!((outcome.code, &outcome.stderr), (0, &warning), "{args:?}");
    }
    assert!(fs::read_to_string(page).unwrap().contains("The session has no end, as after a crash"));
}

#[test]
fn invalid_input_is_an_error_and_the_output_is_unchanged() {
    let folder = Folder::new();
    let csv = repository().join("traces/unet_diffusion.csv.gz").to_str().unwrap().to_owned();
    let session = folder.path().join("s.hws").to_str().unwrap().to_owned();
    heapwright(["convert", &csv, &session]).ok();
    let mut bytes = fs::read(&session).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    let corrupted = folder.file("corrupted.hws", &bytes);
    let output = folder.file("output.hws", "before");
    let message = "the block does not match its checksum; the file is corrupted";
    for args in [
        &["replay", &corrupted][..],
        &["convert", &corrupted, &output],
        &["convert", "--to", "csv", &corrupted, &output],
        &["report", &corrupted, "-o", &output],
    ] {
        let outcome = heapwright(args);
        let error = outcome.one_error(2);
        assert!(error.starts_with(&format!("{corrupted}: byte ")) && error.ends_with(message), "{error}");
    }
    assert_eq!(fs::read_to_string(&output).unwrap(), "before");

    let report = folder.file("report.json", "{\"heaps\": []}");
    let outcome = heapwright(["replay", &report]);
    let expected = "byte 12: the JSON object has no array traceEvents; it is not a capture of GPGMM";
    assert_eq!(outcome.one_error(2), format!("{report}: {expected}"));

    for (output, expected) in [
        ("c", "c: unknown extension; use .csv, .hws, .json, or --to"),
        ("no/such/c.csv", "no/such/c.csv: cannot open the trace for writing: no such directory"),
    ] {
        assert_eq!(heapwright(["convert", &csv, output]).one_error(2), expected);
    }
    assert_eq!(heapwright(["convert", "missing", "c.csv"]).one_error(2), "missing: no such file");
    let onto_itself = heapwright(["convert", &session, &session]);
    assert_eq!(onto_itself.one_error(2), format!("{session}: the session would overwrite an input file"));
    let link = folder.path().join("link.hws").to_str().unwrap().to_owned();
    fs::hard_link(&session, &link).unwrap();
    let before = fs::read(&session).unwrap();
    let onto_link = heapwright(["convert", &session, &link]);
    assert_eq!(onto_link.one_error(2), format!("{link}: the session would overwrite an input file"));
    assert_eq!(fs::read(&session).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn an_output_that_is_not_written_leaves_a_dangling_link_alone() {
    let folder = Folder::new();
    let (link, target) = (folder.path().join("link.html"), folder.path().join("target.html"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let bad = folder.file("bad.json", "no report");
    let outcome = heapwright(["report", &bad, "-o", link.to_str().unwrap()]);
    outcome.one_error(2);
    assert!(link.is_symlink() && !target.exists());
}

/// A pipe is named by a path in `convert <(zcat trace.csv.gz) ...`, too.
#[cfg(target_os = "linux")]
#[test]
fn pipes_are_read_once() {
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let csv = fs::read(repository().join("traces/unet_diffusion.csv.gz")).unwrap();
    let session = path("s.hws");
    let converted = heapwright_reading(&csv, &["convert", "/dev/stdin", &session]).ok();
    assert!(converted.starts_with(&format!("{session}: ")), "{converted}");
    let recorded = fs::read(&session).unwrap();
    let again = path("again.hws");
    heapwright_reading(&recorded, &["convert", "/dev/stdin", &again]).ok();
    assert_eq!(fs::read(&again).unwrap(), recorded);
    // A file on standard input is a file.
    for name in ["/dev/stdin", "-"] {
        let convert_to = |path: &str| {
            let mut convert = command();
            convert.args(["convert", name, path]).stdin(fs::File::open(&session).unwrap());
            Outcome::from_output(convert.output().unwrap())
        };
        convert_to(&again).ok();
        let onto_itself = convert_to(&session);
        assert_eq!(onto_itself.one_error(2), format!("{session}: the session would overwrite an input file"));
        assert_eq!(fs::read(&session).unwrap(), recorded);
    }

    let outcome = heapwright_reading(&recorded, &["recreate", "/dev/stdin"]);
    assert!(outcome.one_error(2).starts_with("/dev/stdin can be read only once, "), "{}", outcome.stderr);

    for input in [&csv, &recorded] {
        let simulated =
            |name| heapwright_reading(input, &["residency", "--json", "--policy", "lru", name]).ok();
        let bytes_in = |json: String| serde_json::from_str::<Value>(&json).unwrap()["bytes_in"].clone();
        assert_eq!(bytes_in(simulated("/dev/stdin")), bytes_in(simulated("-")));
    }
    let page = path("p.html");
    heapwright_reading(&recorded, &["report", "/dev/stdin", "-o", &page]).ok();
    // The default page is that of standard input.
    let mut report = command();
    report
        .current_dir(folder.path())
        .args(["report", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = report.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&recorded).unwrap();
    Outcome::from_output(child.wait_with_output().unwrap()).ok();
    assert!(folder.path().join("report.html").exists());
}

#[cfg(unix)]
#[test]
fn names_of_outputs_are_escaped() {
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let convert = heapwright(["convert", "traces/unet_diffusion.csv.gz", &path("\u{1b}[31m.hws")]).ok();
    let workload = heapwright(["convert", "workload:training:3", &path("\u{1b}[31m.csv")]).ok();
    for (printed, name) in [(convert, "/\\u{1b}[31m.hws: "), (workload, "/\\u{1b}[31m.csv: ")] {
        assert!(printed.contains(name) && !printed.contains('\u{1b}'), "{printed:?}");
    }
}
