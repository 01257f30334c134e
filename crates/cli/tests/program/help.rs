//! Help texts, whose examples must work, and the list of devices.

use std::collections::BTreeSet;

use crate::support::heapwright;
use serde_json::Value;

fn examples(help: &str) -> Vec<Vec<&str>> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  heapwright "));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn every_example_in_the_help_runs() {
    let mut done = BTreeSet::new();
    for command in [
        &["--help"][..],
        &["replay", "--help"],
        &["devices", "--help"],
        &["conformance", "--help"],
        &["residency", "--help"],
        &["plan", "--help"],
    ] {
        let help = heapwright(command).ok();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{command:?} has no example");
        for example in examples.into_iter().filter(|example| done.insert(example.join(" "))) {
            assert!(!heapwright(&example).ok().is_empty(), "{example:?}");
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
    let mut documented = [
        "device",
        "default",
        "description",
        "adapter",
        "architecture",
        "resource_heap_tier",
        "tight_alignment_tier",
        "gpu_upload_heaps",
        "gpu_va_bits_per_resource",
        "gpu_va_bits_per_process",
        "interface_version",
        "dedicated_video_memory_bytes",
        "shared_system_memory_bytes",
        "local",
        "non_local",
    ];
    documented.sort_unstable();
    for device in &devices {
        let keys: Vec<&str> = device.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, documented);
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
    let help = heapwright(["devices", "--help"]).ok();
    for key in documented {
        assert!(help.contains(key), "{key} is not documented");
    }
}

#[test]
fn devices_are_listed_as_text() {
    let stdout = heapwright(["devices"]).ok();
    assert!(stdout.starts_with("host:discrete  (default)\n"), "{stdout}");
    let devices = heapwright(["devices", "--json"]).ok().lines().count();
    assert_eq!(stdout.split("\n\n").count(), devices, "{stdout}");
    for line in stdout.lines() {
        assert!(line.chars().count() <= 120 && !line.contains('\u{1b}'), "{line:?}");
    }
}
