//! Help texts, whose examples must work, and the list of devices.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{Folder, buffer, heap, heapwright, report_json, repository, session_at};
use heapwright_trace::session::{Action, HeapType};
use serde_json::Value;

fn examples(help: &str) -> Vec<Vec<&str>> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  heapwright "));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Returns the names of the commands, without `help`.
fn commands() -> Vec<String> {
    let help = heapwright(["--help"]).ok();
    let names = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    let names =
        names.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|&name| name != "help").map(str::to_owned).collect()
}

/// The examples name files of the repository, and others, which are prepared or written in a temporary folder.
#[test]
fn every_example_in_the_help_runs() {
    let folder = Folder::new();
    let session = session_at([
        (0, Action::SelectAllocator { allocator: 1 }),
        (0, heap(1, 65536, HeapType::Default)),
        (1, buffer(1, 65536, HeapType::Default)),
        (2, Action::Place { allocation: 1, heap: 1, offset: 0 }),
        (3, Action::DefineSet { set: 1, heaps: vec![1] }),
        (4, Action::Submit { queue: 0, fence_value: 1, sets: vec![1] }),
        (5_000_000, Action::Free { allocation: 1 }),
    ]);
    folder.file("session.hws", session);
    let capture = repository().join("crates/trace/tests/captures/webnn_mobilenetv2_2022-03.json.gz");
    folder.file("capture.json", fs::read(capture).unwrap());
    folder.file("report.json", report_json("vertices"));
    for (name, from) in [
        ("vma_dump.json", "crates/report/tests/dumps/vma_3.json"),
        ("snapshot.pickle", "crates/trace/tests/snapshots/training.4.pickle"),
    ] {
        folder.file(name, fs::read(repository().join(from)).unwrap());
    }
    folder.trace("trace.csv", "0,alloc,0,16\n");
    let in_folder = |word: &str| {
        let is_file = Path::new(word).extension().is_some() || word == "allocations";
        if is_file && !word.contains('=') && !repository().join(word).exists() {
            folder.path().join(word).into_os_string()
        } else {
            word.into()
        }
    };
    let (mut commands, mut done) = (commands(), BTreeSet::new());
    assert!(commands.len() == 8, "{commands:?}");
    commands.push(String::new());
    for command in &commands {
        let help = heapwright([command.as_str(), "--help"].iter().filter(|word| !word.is_empty())).ok();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{command} has no example");
        for example in examples.iter().filter(|example| done.insert(example.join(" "))) {
            assert!(!heapwright(example.iter().map(|word| in_folder(word))).ok().is_empty(), "{example:?}");
        }
    }
}

#[test]
fn short_help_fits_on_a_screen_and_long_help_on_two() {
    for command in commands() {
        for (option, limit) in [("-h", 40), ("--help", 80)] {
            let help = heapwright([command.as_str(), option]).ok();
            let lines = help.lines().count();
            assert!(lines <= limit, "{command} {option}: {lines} lines");
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{command} {option}: {line}");
            }
        }
    }
}

#[test]
fn the_version_is_the_package_version() {
    assert_eq!(heapwright(["--version"]).ok(), concat!("heapwright ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn devices_are_listed_as_json() {
    let stdout = heapwright(["devices", "--json"]).ok();
    let devices: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(devices.iter().filter(|device| device["default"] == true).count(), 1);
    for device in &devices {
        let name = device["device"].as_str().unwrap();
        if name.starts_with("vulkan:") || cfg!(windows) && name.starts_with("d3d12:") {
            continue;
        }
        assert!(name.starts_with("host:"), "{name}");
        if name == "host:first-generation" {
            assert_eq!(device["interface_version"], 0);
            for key in ["adapter", "dedicated_video_memory_bytes", "local", "non_local"] {
                assert!(device[key].is_null(), "the profile has no adapter: {device}");
            }
            continue;
        }
        assert!(device["local"]["budget_bytes"].as_u64().unwrap() > 0, "{device}");
        assert_eq!(device["local"]["current_usage_bytes"], 0, "{device}");
    }
    assert!(devices.iter().any(|device| device["device"] == "host:first-generation"));
}

#[test]
fn devices_are_listed_as_text() {
    let stdout = heapwright(["devices"]).ok();
    // Two lines of headings, a row for each, and the default.
    assert!(stdout.lines().nth(2).unwrap().starts_with("host:discrete  "), "{stdout}");
    assert!(stdout.ends_with("\n\ndefault: host:discrete\n"), "{stdout}");
    let devices = heapwright(["devices", "--json"]).ok().lines().count();
    assert_eq!(stdout.lines().count(), 2 + devices + 2, "{stdout}");
    let details = heapwright(["devices", "--device", "host"]).ok();
    assert!(details.starts_with("host:discrete  (default)\n"), "{details}");
    for line in stdout.lines() {
        assert!(line.chars().count() <= 120 && !line.contains('\u{1b}'), "{line:?}");
    }
}
