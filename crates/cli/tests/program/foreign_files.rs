//! Files of other programs: each command names them, or reads them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Folder, heapwright, json, repository};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The commands that read a file, and what each expects.
const COMMANDS: [(&[&str], &str); 7] = [
    (&["replay"], TRACES),
    (&["residency"], TRACES),
    (&["convert", "--to", "csv"], TRACES),
    (&["recreate"], TRACES),
    (
        &["report"],
        "a session, a capture of GPGMM, a CSV trace, a memory snapshot of PyTorch, an allocator's report, or a dump of D3D12MA or VMA",
    ),
    (&["plan"], "a table (CSV) or a frame (JSON)"),
    (&["conformance", "--filter", "heap/", "--known-gaps"], "a list of checks"),
];
const TRACES: &str = "a CSV trace, a capture of GPGMM, a session or a memory snapshot of PyTorch";

#[test]
fn each_command_names_a_foreign_file() {
    let folder = Folder::new();
    let utf16: Vec<u8> = "time_us,event,id,size_bytes\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, name) in [
        (b"\x89PNG\r\n\x1a\n\0\0".to_vec(), "is a PNG image; "),
        (b"\xfd7zXZ\0\0".to_vec(), "is compressed with xz (decompress it first; gzip is read as it is); "),
        (gzip(b"PK\x03\x04\x14\0\0\0"), "is a ZIP archive (unpack it first); "),
        (utf16, "is text in UTF-16 (save it as UTF-8); "),
        (b"\0\x01\x02".to_vec(), "is a binary file of an unknown format; "),
    ] {
        let file = folder.file("x", bytes);
        let out = folder.path().join("out");
        for (command, expected) in COMMANDS {
            let mut args: Vec<&str> = command.to_vec();
            args.push(&file);
            if command[0] == "convert" {
                args.push(out.to_str().unwrap());
            }
            let outcome = heapwright(&args);
            let option = if command[0] == "conformance" { "--known-gaps: " } else { "" };
            assert_eq!(
                outcome.one_error(2),
                format!("{option}{file}: {name}expected {expected}"),
                "{args:?}"
            );
            assert!(outcome.stdout.is_empty() && !out.exists(), "{args:?}");
        }
    }
}

/// A file for one command is named by the others.
#[test]
fn a_file_for_another_command_is_named() {
    let folder = Folder::new();
    let dumps = repository().join("crates/report/tests/dumps");
    let dump = dumps.join("vma_3.json").to_str().unwrap().to_owned();
    let frame = repository().join("crates/cli/examples/frame.json").to_str().unwrap().to_owned();
    let trace = folder.trace("t.csv", "0,alloc,0,16\n");
    let page = folder.file("p.html", "<!DOCTYPE html>\n<meta name=\"generator\" content=\"heapwright\">");
    for (args, expected) in [
        (
            ["replay", &dump],
            "is a dump of Vulkan Memory Allocator (`heapwright report` shows it); expected a CSV trace",
        ),
        (
            ["plan", &dump],
            "is a dump of Vulkan Memory Allocator (`heapwright report` shows it); expected a table",
        ),
        (["residency", &frame], "is a frame (`heapwright plan` reads it); expected a CSV trace"),
        (["plan", &trace], "is a CSV trace; expected a table"),
        (
            ["replay", &page],
            "is a page of heapwright (the file from which it was made is read); expected a CSV trace",
        ),
    ] {
        let outcome = heapwright(args);
        let error = outcome.one_error(2);
        assert!(error.starts_with(&format!("{}: {expected}", args[1])), "{error}");
    }
}

#[test]
fn dumps_of_other_allocators_have_pages() {
    let folder = Folder::new();
    let dumps = repository().join("crates/report/tests/dumps");
    let text = std::fs::read_to_string(dumps.join("d3d12ma_3.json")).unwrap();
    // As D3D12MA returns it, and compressed.
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [text.clone().into_bytes(), utf16.clone(), gzip(&utf16)] {
        let dump = folder.file("dump.json", bytes);
        let summary = json(["report", "--json", &dump]);
        assert_eq!((&summary["session"], &summary["placements"]), (&"Test GPU".into(), &"reported".into()));
        assert_eq!((&summary["heaps"], &summary["allocations"]), (&4.into(), &7.into()));
        let page = std::fs::read_to_string(folder.path().join("dump.html")).unwrap();
        assert!(page.contains("back buffer") && page.contains("0 - streaming"));
    }
    let without_map = folder.file("d.json", r#"{"General":{"API":"Vulkan"},"MemoryInfo":{}}"#);
    let expected = "DefaultPools: is missing: the dump has no map of its blocks; create it with the argument for the detailed map";
    assert_eq!(heapwright(["report", &without_map]).one_error(2), format!("{without_map}: {expected}"));
}

#[test]
fn memory_snapshots_of_pytorch_are_traces() {
    let folder = Folder::new();
    let snapshots = repository().join("crates/trace/tests/snapshots");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let snapshot = snapshots.join("training.4.pickle").to_str().unwrap().to_owned();
    let csv = path("trace.csv");
    let summary = heapwright(["convert", &snapshot, &csv]).ok();
    assert_eq!(summary, format!("{csv}: 7 events from memory snapshot of PyTorch\n"));
    let converted = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(converted.lines().nth(1), Some("0,alloc,0,4096"));
    for file in [&snapshot, &csv, &snapshots.join("training.json").to_str().unwrap().to_owned()] {
        let replayed = json(["replay", "--json", "--verify", file]);
        assert_eq!((&replayed["allocations"], &replayed["failures"]), (&5.into(), &0.into()), "{file}");
    }
    // The page has PyTorch's own segments.
    let page = path("page.html");
    let summary = json(["report", "--json", &snapshot, "-o", &page]);
    assert_eq!((&summary["placements"], &summary["heaps"]), (&"recorded".into(), &3.into()));
    assert!(std::fs::read_to_string(page).unwrap().contains("forward (model.py:12)"));
    heapwright(["residency", &snapshot]).ok();
}
