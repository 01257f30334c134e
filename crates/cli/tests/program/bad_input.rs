//! Invalid input: exit code 2, one line on standard error with file, line and error, and no standard output.

use std::io::Write as _;

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

/// Replays a file with these rows and expects an error that begins with this after its path.
#[track_caller]
fn rows_refused(rows: &str, expected: &str) {
    let folder = Folder::new();
    refused(&folder.trace("t.csv", rows), expected);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_missing_file() {
    refused("no/such/file.csv", ": no such file");
}

#[test]
fn a_directory() {
    let folder = Folder::new();
    refused(folder.path().to_str().unwrap(), ": is a directory, not a trace file");
}

#[test]
fn an_empty_file() {
    let folder = Folder::new();
    refused(&folder.file("t.csv", ""), ":1: the file is empty");
}

#[test]
fn truncated_gzip() {
    let folder = Folder::new();
    let rows: String = (0..20_000).map(|id| format!("{id},alloc,{id},{}\n", id * 7919 % 65521 + 1)).collect();
    let mut bytes = gzip(&format!("time_us,event,id,size_bytes\n{rows}"));
    bytes.truncate(bytes.len() / 2);
    let path = folder.file("t.csv.gz", bytes);
    let outcome = heapwright(["replay", &path]);
    let error = outcome.one_error(2).strip_prefix(&format!("{path}:")).unwrap();
    let (line, rule) = error.split_once(": ").unwrap();
    assert!((9_000..11_000).contains(&line.parse::<u32>().unwrap()), "{error}");
    assert_eq!(rule, "unexpected end of the gzip data; the file may be truncated");
}

#[test]
fn corrupt_gzip() {
    let folder = Folder::new();
    let mut bytes = gzip("time_us,event,id,size_bytes\n0,alloc,0,16\n");
    let checksum = bytes.len() - 8;
    bytes[checksum] ^= 1;
    let path = folder.file("t.csv.gz", bytes);
    let outcome = heapwright(["replay", &path]);
    assert!(
        outcome.one_error(2).starts_with(&format!("{path}:3: invalid gzip data: ")),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_wrong_header() {
    let folder = Folder::new();
    refused(
        &folder.file("t.csv", "time,event,id,size\n0,alloc,0,16\n"),
        ":1: invalid header \"time,event,id,size\"",
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

/// A small gzip file with many valid rows is rejected at the limit, without using much memory.
#[test]
fn a_file_that_is_larger_than_it_looks() {
    let folder = Folder::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"time_us,event,id,size_bytes\n").unwrap();
    for id in 0..2_200_000_u32 {
        // Ids are not consecutive.
        let id = u64::from(id.reverse_bits());
        write!(encoder, "0,alloc,{id},256\n0,free,{id},256\n").unwrap();
    }
    let path = folder.file("bomb.csv.gz", encoder.finish().unwrap());
    let outcome = heapwright(["replay", &path]);
    let expected = format!("{path}:4194306: the trace exceeds the limit of 4194304 events");
    assert_eq!(outcome.one_error(2), expected);
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
fn malformed_rows() {
    rows_refused("0,alloc,0\n", ":2: expected 4 fields");
    rows_refused("0,alloc,0,16\n\n", ":3: expected 4 fields");
    rows_refused("zero,alloc,0,16\n", ":2: time_us must be decimal digits");
    rows_refused("0,alloc,#1,16\n", ":2: id must be decimal digits");
    rows_refused("0,alloc,0,-16\n", ":2: size_bytes must be decimal digits");
    rows_refused("0,realloc,0,16\n", ":2: event must be");
}

#[test]
fn numbers_that_do_not_fit() {
    rows_refused("0,alloc,0,18446744073709551616\n", ":2: size_bytes does not fit in 64 bits");
    let max = u64::MAX;
    // A trace may contain this size, but no device supports it.
    let folder = Folder::new();
    let path = folder.trace("t.csv", &format!("0,alloc,0,{max}\n0,alloc,1,1\n"));
    refused(&path, ":3: the sum of the sizes of all live allocations");
}

#[test]
fn text_that_is_not_utf8() {
    let folder = Folder::new();
    let path = folder.file("t.csv", b"time_us,event,id,size_bytes\n0,alloc,\xff,16\n");
    refused(&path, ":2: the line is not valid UTF-8");
}

#[test]
fn a_line_without_end() {
    let folder = Folder::new();
    let path = folder.trace("t.csv", &"0".repeat(1_000_000));
    refused(&path, ":2: the line exceeds the limit");
}

#[test]
fn a_free_of_an_id_that_is_not_live() {
    rows_refused("0,free,7,16\n", ":2: free of id 7");
    rows_refused("0,alloc,7,16\n0,free,7,16\n0,free,7,16\n", ":4: free of id 7");
}

#[test]
fn an_id_allocated_twice() {
    rows_refused("0,alloc,7,16\n0,free,7,16\n0,alloc,7,16\n", ":4: id 7 was already allocated on line 2");
}

#[test]
fn a_free_of_another_size() {
    rows_refused("0,alloc,7,16\n0,free,7,17\n", ":3: free of id 7 has size_bytes 17");
}

#[test]
fn time_that_goes_back() {
    rows_refused("5,alloc,0,16\n4,alloc,1,16\n", ":3: time_us decreases from 5 to 4");
}

#[test]
fn size_zero() {
    rows_refused("0,alloc,0,16\n0,alloc,1,0\n", ":3: size_bytes is 0");
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
fn a_path_with_a_line_break_is_still_one_line() {
    let outcome = heapwright(["replay", "no\nsuch.csv"]);
    let reason = outcome
        .one_error(2)
        .strip_prefix("no\\u{a}such.csv: ")
        .unwrap_or_else(|| panic!("{}", outcome.stderr));
    // On Windows such names are invalid.
    assert!(reason == "no such file" || cfg!(windows), "{reason}");
}

#[test]
fn the_error_for_an_unknown_device_lists_all() {
    let outcome = heapwright(["replay", "--device", "metal", "traces/unet_diffusion.csv.gz"]);
    let error = outcome.one_error(2);
    assert!(
        error.starts_with("--device: unknown device \"metal\"; available: host (short for host:discrete), "),
        "{error}"
    );
    assert!(error.contains("host:discrete-2gib"), "{error}");
    assert_eq!(outcome.stdout, "");
}

#[test]
fn verify_on_a_heap_that_the_cpu_cannot_write_to() {
    let outcome =
        heapwright(["replay", "--verify", "--heap-type", "default", "traces/unet_diffusion.csv.gz"]);
    assert_eq!(
        outcome.one_error(2),
        "--verify requires a heap type that can be mapped, but --heap-type is default; use auto, upload, readback or \
         gpu-upload"
    );
}

#[test]
fn gpu_upload_on_a_device_without_it() {
    let device = ["--device", "host:discrete-2gib", "--heap-type", "gpu-upload"];
    let outcome = heapwright(["replay", "traces/unet_diffusion.csv.gz"].iter().chain(&device));
    assert_eq!(outcome.one_error(2), "--heap-type gpu-upload: the device does not support GPU upload heaps");
}

#[test]
fn invalid_arguments() {
    for args in
        [&[][..], &["replay"], &["replay", "--heap-type", "fast", "x.csv"], &["frobnicate"], &["--frob"]]
    {
        let outcome = heapwright(args);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{args:?}");
        assert!(outcome.stderr.contains("--help"), "{args:?}: {}", outcome.stderr);
    }
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
