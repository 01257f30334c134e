//! `heapwright report`: the page, the summary and errors.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use heapwright_report::{JSON_SCHEMA, write_html};
use heapwright_trace::session::{Action, Heap, HeapType};
use serde_json::Value;

use crate::support::*;

/// Returns the expected page.
fn report_html(name: &str) -> String {
    let mut page = Vec::new();
    write_html(&report(name), &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

fn file(folder: &Folder, name: &str) -> String {
    folder.file(name, report_json("vertices"))
}

fn page(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn the_page_is_written_beside_the_report() {
    let folder = Folder::new();
    let path = file(&folder, "frame.json");
    let stdout = heapwright(["report", &path]).ok();
    assert_eq!(page(&folder, "frame.html"), report_html("vertices"));
    let (words, place) = stdout.trim_end().rsplit_once("\n\npage: ").unwrap();
    assert_eq!(place, path.replace(".json", ".html"));
    let expected = "\
Test GPU
  events      1 in 0ns
  used        at most 34.0 MiB, at event 1; 34.0 MiB at the end
  heaps       1 (reported), at most 4.00 MiB reserved; 4.00 MiB at the end, 1.00 MiB of it free in fragments
  allocations 3";
    assert_eq!(words, expected);
}

#[test]
fn output_sets_the_path_and_replaces_a_file() {
    let folder = Folder::new();
    let path = file(&folder, "frame.json");
    let there = folder.file("there.html", "x".repeat(100_000));
    heapwright(["report", &path, "-o", &there]).ok();
    assert_eq!(page(&folder, "there.html"), report_html("vertices"));
    assert!(!folder.path().join("frame.html").exists());
}

#[test]
fn the_summary_as_json_has_the_sums() {
    let folder = Folder::new();
    let summary = json(["report", "--json", &file(&folder, "frame.json")]);
    assert_eq!(summary["end_used_bytes"], 34 << 20);
    assert_eq!(summary["end_reserved_bytes"], 4 << 20);
    assert_eq!(summary["end_fragmentation"], 0.5);
    assert_eq!((&summary["placements"], &summary["session"]), (&"reported".into(), &"Test GPU".into()));
}

#[test]
fn the_schema_is_printed() {
    assert_eq!(heapwright(["report", "--schema"]).ok(), JSON_SCHEMA);
    assert_eq!(heapwright(["report", "--schema", "x.json"]).code, 2);
}

/// Reads a report with these bytes and expects this error after its path, and no page.
#[track_caller]
fn refused(json: impl AsRef<[u8]>, expected: &str) {
    let folder = Folder::new();
    let path = folder.file("r.json", json);
    let outcome = heapwright(["report", &path]);
    assert_eq!(outcome.one_error(2), format!("{path}: {expected}"));
    assert_eq!(outcome.stdout, "");
    assert!(!folder.path().join("r.html").exists());
}

/// Asks the address for the path, as a browser does, and returns what it answers with.
fn get(address: &str, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn answer(address: &str, path: &str) -> String {
    let mut answer = String::new();
    get(address, path).read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_page_follows_a_session_that_grows() {
    let folder = Folder::new();
    let grown =
        session_at([(1, heap(1, 1 << 20, HeapType::Default)), (2, heap(2, 2 << 20, HeapType::Default))]);
    let path = folder.file("s.hws", session_at([(1, heap(1, 1 << 20, HeapType::Default))]));
    let following = Following::start(&path);
    let (address, token) = following.address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    assert!(address.starts_with("127.0.0.1:") && token.len() == 33, "{}", following.address);

    for elsewhere in ["/", "/0/", "/events", &format!("/{token}x"), "/s.hws"] {
        assert!(answer(address, elsewhere).starts_with("HTTP/1.1 404"), "{elsewhere}");
    }
    let page = answer(address, &format!("/{token}"));
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("data-follow"), "{page:.500}");

    // Whether the session grows before or after the page asks, the page is told.
    folder.file("s.hws", &grown);
    let mut events = get(address, &format!("/{token}events")).lines();
    assert!(events.any(|line| line.unwrap() == "data: grown"));
    assert_ne!(answer(address, &format!("/{token}")), page);
    folder.file("s.hws", session_at([]));
    assert!(events.any(|line| line.unwrap() == "data: grown"));
}

#[test]
fn only_the_file_of_a_session_is_followed() {
    let folder = Folder::new();
    let report = file(&folder, "r.json");
    let expected = format!("{report}: --follow needs a session (.hws)");
    assert_eq!(heapwright(["report", "--follow", &report]).one_error(2), expected);
    assert_eq!(heapwright(["report", "--follow", "-"]).code, 2);
    assert_eq!(heapwright(["report", "--follow", "--json", &report]).code, 2);
}

const EXPECTED: &str = "a session, a capture of GPGMM, a CSV trace, a memory snapshot of PyTorch, an allocator's report, or a dump of \
    D3D12MA or VMA";

/// `heapwright-report` has a test for each rule.
#[test]
fn errors_name_the_location() {
    for text in ["", "no report", "time,event\n"] {
        refused(text, &format!("expected {EXPECTED}"));
    }
    refused("{", "line 1, column 1: EOF while parsing an object");
    refused(
        report_json("x").replace("\"offset\":2097152", "\"offset\":1048575"),
        "heaps[0].allocations[1].offset: is 1048575, but the previous allocation ends at 1048576",
    );
}

#[test]
fn files_that_cannot_be_opened_are_errors() {
    let folder = Folder::new();
    let path = file(&folder, "r.json");
    let here = folder.path().to_str().unwrap();
    // On Windows such names are invalid.
    let outcome = heapwright(["report", "no/such\n.json"]);
    let reason = outcome.one_error(2).strip_prefix("no/such\\u{a}.json: ");
    assert!(reason.is_some_and(|reason| reason == "no such file" || cfg!(windows)), "{}", outcome.stderr);
    let expected = format!("{here}: cannot open the page for writing: is a directory");
    assert_eq!(heapwright(["report", &path, "-o", here]).one_error(2), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn endless_input_is_rejected_immediately() {
    use std::io::Write as _;
    use std::process::Stdio;

    let folder = Folder::new();
    let page = folder.path().join("r.html");
    let outcome = heapwright(["report", "/dev/zero", "-o", page.to_str().unwrap()]);
    let binary = format!("/dev/zero: is a binary file of an unknown format; expected {EXPECTED}");
    assert_eq!(outcome.one_error(2), binary);
    assert!(!page.exists());
    // A pipe is closed before everything is written.
    let mut child = command();
    child.current_dir(folder.path()).args(["report", "-"]);
    let mut child = child.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let spaces = vec![b' '; 1 << 20];
    let is_closed = (0..1000).any(|_| stdin.write_all(&spaces).is_err());
    assert!(is_closed, "a gigabyte of spaces was read");
    let outcome = Outcome::from_output(child.wait_with_output().unwrap());
    assert_eq!(outcome.one_error(2), format!("standard input: expected {EXPECTED}"));
}

#[test]
fn a_page_never_overwrites_its_report() {
    let folder = Folder::new();
    let path = file(&folder, "r.html");
    let expected = format!("{path}: the page would overwrite an input file; choose another path with -o");
    assert_eq!(heapwright(["report", &path]).one_error(2), expected);
    let json = std::fs::read_to_string(&path).unwrap();
    assert_eq!(json, report_json("vertices"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let folder = Folder::new();
    let path = file(&folder, "r.json");
    let outcome = heapwright(["report", &path, "-o", "/dev/full"]);
    let error = outcome.one_error(1);
    assert!(error.starts_with("/dev/full: cannot write the page: "), "{error}");
}

/// Returns a session with a heap of 1 MiB and an allocation in it, followed by these actions.
fn session_bytes(more: &[Action]) -> Vec<u8> {
    let heap_type = HeapType::Default;
    let heap =
        Heap { id: 4, size: 1 << 20, alignment: 65536, heap_type, flags: 0, name: Some("meshes".into()) };
    let actions = [
        Action::CreateHeap(heap),
        buffer(1, 4096, heap_type),
        Action::Place { allocation: 1, heap: 4, offset: 65536 },
    ];
    session_at((0..).step_by(5).zip(actions.iter().chain(more).cloned()))
}

#[test]
fn a_session_is_shown_as_recorded() {
    let folder = Folder::new();
    let path = folder.file("s.hws", session_bytes(&[Action::Free { allocation: 1 }]));
    let stdout = heapwright(["report", &path]).ok();
    assert_eq!(
        stdout.trim_end(),
        format!(
            "\
s.hws
  events      2 in 10µs
  used        at most 4.00 KiB, at event 1; 0 B at the end
  heaps       1 (recorded), at most 1.00 MiB reserved; 1.00 MiB at the end, 0 B of it free in fragments
  allocations 1

page: {}",
            path.replace(".hws", ".html")
        )
    );
    let page = page(&folder, "s.html");
    assert!(page.contains("Heaps and placements are shown as recorded."));
    assert!(page.contains(r#""names":["","meshes"]"#), "the heap's name");
}

#[test]
fn a_trace_without_placements_is_replayed() {
    let folder = Folder::new();
    let path = folder.trace("t.csv", "0,alloc,1,70000\n5,alloc,2,4096\n9,free,1,70000\n");
    let summary = json(["report", "--json", &path]);
    assert_eq!(summary["placements"], "replayed");
    assert_eq!(
        (&summary["events"], &summary["allocations"], &summary["failures"]),
        (&3.into(), &2.into(), &0.into())
    );
    assert_eq!(summary["end_used_bytes"], 4096);
    assert!(summary["peak_used_bytes"].as_u64().unwrap() >= 74_096, "{summary}");
    assert!(summary["heaps"].as_u64().unwrap() >= 1, "{summary}");
    assert!(summary["peak_reserved_bytes"].as_u64() >= summary["peak_used_bytes"].as_u64(), "{summary}");
    assert!(page(&folder, "t.html").contains("The file contains no placements."));
}

/// The heaps of the page are those of `heapwright replay`.
#[test]
fn a_replay_has_the_same_heaps_as_the_command_replay() {
    let folder = Folder::new();
    let page = folder.path().join("page.html");
    for trace in ["traces/unet_diffusion.csv.gz", "traces/vision_serving.csv.gz", "workload:serving:1"] {
        let report = json(["report", "--json", trace, "-o", page.to_str().unwrap()]);
        let replay = json(["replay", "--json", trace]);
        assert_eq!(report["peak_reserved_bytes"], replay["peak_reserved_bytes"], "{trace}");
        assert_eq!(report["heaps"], replay["heaps_created"], "{trace}");
        assert_eq!(report["end_reserved_bytes"], replay["held_at_end_bytes"], "{trace}");
    }
}

#[test]
fn allocations_that_fail_are_shown_outside_of_heaps() {
    let folder = Folder::new();
    let path = folder.trace("t.csv", &format!("0,alloc,1,{}\n5,alloc,2,4096\n", 1_u64 << 50));
    let outcome = heapwright(["report", "--json", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let warning = "warning: t.csv: allocations that failed in the replay and are shown outside of heaps: 1";
    assert!(outcome.stderr.lines().any(|line| line == warning), "{}", outcome.stderr);
    let summary: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(summary["failures"], 1);
}

#[test]
fn captures_and_workloads_have_pages() {
    let folder = Folder::new();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let capture = "crates/trace/tests/captures/webnn_mobilenetv2_2022-03.json.gz";
    let summary = json(["report", "--json", capture, "-o", page]);
    assert_eq!(summary["placements"], "recorded");
    assert_eq!((&summary["heaps"], &summary["unknown_references"]), (&7.into(), &0.into()));
    let summary = json(["report", "--json", "workload:editor:1", "-o", page]);
    assert_eq!((&summary["session"], &summary["failures"]), (&"workload:editor:1".into(), &0.into()));
}

#[test]
fn only_pages_are_replaced_unless_the_path_is_given() {
    let folder = Folder::new();
    let (session, report) = (folder.file("s.hws", session_bytes(&[])), file(&folder, "r.json"));
    for (input, page) in [(&session, "s.html"), (&report, "r.html")] {
        let page = folder.file(page, "notes");
        assert_eq!(
            heapwright(["report", input]).one_error(2),
            format!("{page}: is not a page of heapwright and is not replaced; choose a path with -o")
        );
        assert_eq!(std::fs::read_to_string(&page).unwrap(), "notes");
        heapwright(["report", input, "-o", &page]).ok();
        let written = std::fs::read(&page).unwrap();
        heapwright(["report", input]).ok();
        assert_eq!(std::fs::read(&page).unwrap(), written);
    }
}
