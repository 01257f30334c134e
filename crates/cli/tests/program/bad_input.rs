//! Bad input: one line on standard error that names the file, the line and the rule, exit code 2, nothing on standard
//! output.

use std::io::Write as _;

use crate::support::{Folder, Said, command, heapwright};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Replays one file and expects this error, which begins with the file's path.
#[track_caller]
fn refused(path: &str, expected: &str) {
    for options in [&["replay"][..], &["replay", "--json"], &["replay", "--verify"]] {
        let said = heapwright(options.iter().chain(&[path]));
        assert_eq!(said.one_error(2), format!("{path}{expected}"));
        assert_eq!(said.stdout, "");
    }
}

/// Replays a file with these rows and expects this error after its path.
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
    refused(
        &folder.file("t.csv", ""),
        ":1: the file is empty, but a trace starts with the line \"time_us,event,id,size_bytes\"",
    );
}

#[test]
fn truncated_gzip() {
    let folder = Folder::new();
    let rows: String = (0..20_000).map(|id| format!("{id},alloc,{id},{}\n", id * 7919 % 65521 + 1)).collect();
    let mut bytes = gzip(&format!("time_us,event,id,size_bytes\n{rows}"));
    bytes.truncate(bytes.len() / 2);
    let path = folder.file("t.csv.gz", bytes);
    let said = heapwright(["replay", &path]);
    let error = said.one_error(2).strip_prefix(&format!("{path}:")).unwrap();
    let (line, rule) = error.split_once(": ").unwrap();
    assert!((9_000..11_000).contains(&line.parse::<u32>().unwrap()), "{error}");
    assert_eq!(rule, "the gzip data end in the middle (is the file truncated?)");
}

#[test]
fn corrupt_gzip() {
    let folder = Folder::new();
    let mut bytes = gzip("time_us,event,id,size_bytes\n0,alloc,0,16\n");
    let checksum = bytes.len() - 8;
    bytes[checksum] ^= 1;
    let path = folder.file("t.csv.gz", bytes);
    let said = heapwright(["replay", &path]);
    assert!(
        said.one_error(2).starts_with(&format!("{path}:3: the gzip data are corrupt: ")),
        "{}",
        said.stderr
    );
}

#[test]
fn a_wrong_header() {
    let folder = Folder::new();
    refused(
        &folder.file("t.csv", "time,event,id,size\n0,alloc,0,16\n"),
        ":1: wrong header \"time,event,id,size\", the first line must be exactly \"time_us,event,id,size_bytes\"",
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
        ":1: wrong header \"\\u{feff}time_us,event,id,size_bytes\", the first line must be exactly \
         \"time_us,event,id,size_bytes\"",
    );
    refused(
        &folder.file("t.csv", "\u{feff}"),
        ":1: wrong header \"\", the first line must be exactly \"time_us,event,id,size_bytes\"",
    );
}

/// A gzip file of rows without number, which all are valid: it is refused at the limit, in little memory.
#[test]
fn a_file_that_is_larger_than_it_looks() {
    let folder = Folder::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"time_us,event,id,size_bytes\n").unwrap();
    for id in 0..2_200_000_u32 {
        // In an order that no count follows.
        let id = u64::from(id.reverse_bits());
        write!(encoder, "0,alloc,{id},256\n0,free,{id},256\n").unwrap();
    }
    let path = folder.file("bomb.csv.gz", encoder.finish().unwrap());
    let said = heapwright(["replay", &path]);
    let expected = format!("{path}:4194306: the trace has more than 4194304 events, the most that is read");
    assert_eq!(said.one_error(2), expected);
}

#[test]
fn more_that_is_live_than_a_replay_takes() {
    let folder = Folder::new();
    let rows: String = (0..=1_048_576_u32).map(|id| format!("0,alloc,{id},1\n")).collect();
    let path = folder.trace("live.csv", &rows);
    let said = heapwright(["replay", &path]);
    let expected =
        format!("{path}:1048578: more than 1048576 allocations are live at once, the most that is read");
    assert_eq!(said.one_error(2), expected);
}

#[test]
fn malformed_rows() {
    rows_refused(
        "0,alloc,0\n",
        ":2: expected 4 fields (time_us,event,id,size_bytes), found 3: \"0,alloc,0\"",
    );
    rows_refused("0,alloc,0,16\n\n", ":3: expected 4 fields (time_us,event,id,size_bytes), found 0: \"\"");
    rows_refused("zero,alloc,0,16\n", ":2: time_us must be decimal digits, found \"zero\"");
    rows_refused("0,alloc,#1,16\n", ":2: id must be decimal digits, found \"#1\"");
    rows_refused("0,alloc,0,-16\n", ":2: size_bytes must be decimal digits, found \"-16\"");
    rows_refused("0,realloc,0,16\n", ":2: event must be \"alloc\" or \"free\", found \"realloc\"");
}

#[test]
fn numbers_that_do_not_fit() {
    rows_refused(
        "0,alloc,0,18446744073709551616\n",
        ":2: size_bytes does not fit in 64 bits: \"18446744073709551616\"",
    );
    let max = u64::MAX;
    // A trace may hold it; no device does.
    let folder = Folder::new();
    let path = folder.trace("t.csv", &format!("0,alloc,0,{max}\n0,alloc,1,1\n"));
    refused(&path, ":3: more bytes are live at once than fit in 64 bits");
}

#[test]
fn text_that_is_not_utf8() {
    let folder = Folder::new();
    let path = folder.file("t.csv", b"time_us,event,id,size_bytes\n0,alloc,\xff,16\n");
    refused(&path, ":2: the line is not UTF-8 text: \"0,alloc,\\xff,16\"");
}

#[test]
fn a_line_without_end() {
    let folder = Folder::new();
    let path = folder.trace("t.csv", &"0".repeat(1_000_000));
    refused(&path, ":2: the line is longer than 256 bytes, the most that a row may have");
}

#[test]
fn a_free_of_an_id_that_is_not_live() {
    rows_refused("0,free,7,16\n", ":2: free of id 7, which is not live: it was never allocated");
    rows_refused(
        "0,alloc,7,16\n0,free,7,16\n0,free,7,16\n",
        ":4: free of id 7, which is not live: it was already freed on line 3",
    );
}

#[test]
fn an_id_allocated_twice() {
    rows_refused(
        "0,alloc,7,16\n0,free,7,16\n0,alloc,7,16\n",
        ":4: id 7 is allocated again, but an id is used once (first allocated on line 2)",
    );
}

#[test]
fn a_free_of_another_size() {
    rows_refused(
        "0,alloc,7,16\n0,free,7,17\n",
        ":3: free of id 7 gives size_bytes 17, but 16 were allocated on line 2",
    );
}

#[test]
fn time_that_goes_back() {
    rows_refused(
        "5,alloc,0,16\n4,alloc,1,16\n",
        ":3: time_us goes back from 5 to 4, but events are in order of time",
    );
}

#[test]
fn size_zero() {
    rows_refused("0,alloc,0,16\n0,alloc,1,0\n", ":3: size_bytes is 0, but an allocation has at least 1 byte");
}

#[test]
fn a_size_over_the_limit_of_the_device() {
    let folder = Folder::new();
    let path =
        folder.trace("t.csv", "0,alloc,0,16\n0,alloc,1,4611686018427387904\n0,alloc,2,4611686018427387904\n");
    for options in [&["replay"][..], &["replay", "--json", "--verify"]] {
        let said = heapwright(options.iter().chain(&[path.as_str()]));
        let start = format!(
            "{path}:3: size_bytes 4611686018427387904 (4.00 EiB) is over the limit of device host:discrete for one \
             resource, "
        );
        let limit = said.one_error(2).strip_prefix(&start).unwrap_or_else(|| panic!("{}", said.stderr));
        assert!(limit.split(' ').next().unwrap().parse::<u64>().unwrap() > 0, "{limit}");
        assert_eq!(said.stdout, "");
    }
}

#[test]
fn a_path_with_a_line_break_is_still_one_line() {
    let said = heapwright(["replay", "no\nsuch.csv"]);
    let reason =
        said.one_error(2).strip_prefix("no\\u{a}such.csv: ").unwrap_or_else(|| panic!("{}", said.stderr));
    // On Windows no file can be called so, which is the reason there.
    assert!(reason == "no such file" || cfg!(windows), "{reason}");
}

#[test]
fn an_unknown_device_is_told_what_exists() {
    let said = heapwright(["replay", "--device", "vulkan", "traces/unet_diffusion.csv.gz"]);
    let error = said.one_error(2);
    assert!(
        error.starts_with("--device: no device \"vulkan\"; there are host (which is host:discrete), "),
        "{error}"
    );
    assert!(error.contains("host:discrete-2gib"), "{error}");
    assert_eq!(said.stdout, "");
}

#[test]
fn verify_on_a_heap_that_the_cpu_cannot_write_to() {
    let said = heapwright(["replay", "--verify", "--heap-type", "default", "traces/unet_diffusion.csv.gz"]);
    assert_eq!(
        said.one_error(2),
        "--verify writes through Map, which --heap-type default does not allow; \
         use upload, readback or gpu-upload, or leave --heap-type out"
    );
}

#[test]
fn gpu_upload_on_a_device_without_it() {
    let device = ["--device", "host:discrete-2gib", "--heap-type", "gpu-upload"];
    let said = heapwright(["replay", "traces/unet_diffusion.csv.gz"].iter().chain(&device));
    assert_eq!(said.one_error(2), "--heap-type gpu-upload: the device has no GPU upload heaps");
}

#[test]
fn arguments_that_make_no_sense() {
    for args in
        [&[][..], &["replay"], &["replay", "--heap-type", "fast", "x.csv"], &["frobnicate"], &["--frob"]]
    {
        let said = heapwright(args);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}");
        assert!(said.stderr.contains("--help"), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn a_log_filter_that_makes_no_sense() {
    let output = command().env("HEAPWRIGHT_LOG", "a=b=c").arg("devices").output().unwrap();
    let said = Said::from_output(output);
    assert!(
        said.one_error(2).starts_with("HEAPWRIGHT_LOG=\"a=b=c\" is not a log filter: "),
        "{}",
        said.stderr
    );
}
