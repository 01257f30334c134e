//! `--device d3d12:PATH` with the runtime's library and small libraries in C, and errors of loading.

use serde_json::Value;

use crate::library::{Behaviour, device, runtime, written_in_c};
use crate::support::{Folder, heapwright, json};

const TRACE: &str = "traces/vision_serving.csv.gz";

fn object(stdout: &str) -> Value {
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    serde_json::from_str(stdout).unwrap()
}

fn conformance(device: &str) -> Value {
    json(["conformance", "--json", "--device", device])
}

#[test]
fn a_trace_replays() {
    let device = device(&runtime());
    for options in [&["--json"][..], &["--json", "--verify"]] {
        let report = json(["replay", "--device", &device, TRACE].iter().chain(options));
        assert_eq!(report["failures"], 0);
        assert_eq!(report["allocations"], 10_004);
    }
    let table = heapwright(["replay", "--compare", "--device", &device, TRACE]).ok();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(!table.contains("no adapter"), "{table}");
}

#[test]
fn the_loaded_runtime_conforms_like_the_simulated_gpu() {
    let (loaded, host) = (conformance(&device(&runtime())), conformance("host"));
    assert_eq!(loaded["device"], device(&runtime()));
    for count in ["passed", "failed", "known", "skipped"] {
        assert_eq!(loaded[count], host[count], "{count}");
    }
    assert!(loaded["passed"].as_u64().unwrap() > 400, "{}", loaded["passed"]);
}

/// A check that crashes, hangs, or makes a later check crash fails. The other results do not change.
#[test]
fn checks_that_crash_or_hang_fail_and_the_others_run() {
    let folder = Folder::new();
    let (Some(broken), Some(honest)) =
        (written_in_c(&folder, Behaviour::Breaks), written_in_c(&folder, Behaviour::Forwards))
    else {
        return;
    };
    let filter = "heap/size-0,heap/size-one,heap/size-n,heap/size-of,heap/size-1,heap/alignment";
    let options = ["conformance", "--json", "--check-timeout", "2", "--filter", filter];
    let check = |path: &std::path::Path| {
        let device = device(path);
        let outcome = heapwright(options.iter().copied().chain(["--device", &device]));
        assert_eq!(outcome.stderr, "");
        (outcome.code, object(&outcome.stdout))
    };
    let ((code, broken), (_, honest)) = (check(&broken), check(&honest));
    assert_eq!(code, 1);
    let pairs = broken["checks"].as_array().unwrap().iter().zip(honest["checks"].as_array().unwrap());
    let mut failed = Vec::new();
    for (broken, honest) in pairs {
        assert_eq!(broken["id"], honest["id"]);
        if broken["result"] == "fail" {
            failed.push((broken["id"].as_str().unwrap(), broken["detail"].as_str().unwrap()));
        } else {
            assert_eq!((&broken["result"], &broken["detail"]), (&honest["result"], &honest["detail"]));
        }
    }
    let aborted = "the process was terminated by signal 6";
    let later = format!("later, in heap/alignment-small-refused, {aborted}");
    let expected = [
        ("heap/size-one-byte", "the process exceeded the time limit of 2 s"),
        ("heap/size-0-refused", aborted),
        ("heap/alignment-4-mib", later.as_str()),
    ];
    assert_eq!(failed, expected);
}

/// A check whose process takes too much memory fails, and the others run. The device takes 1 GiB and then hangs, so the
/// time limit is not what ends the process.
#[test]
#[cfg(target_os = "linux")]
fn a_check_that_takes_memory_without_end_fails() {
    let folder = Folder::new();
    let Some(broken) = written_in_c(&folder, Behaviour::Breaks) else { return };
    let device = device(&broken);
    let limits = ["--check-memory", "512", "--check-timeout", "100000"];
    let filter = ["--filter", "heap/size-64-mib,heap/size-1-mib", "--device", &device];
    let outcome = heapwright(["conformance", "--json"].iter().chain(&limits).chain(&filter));
    assert_eq!(outcome.code, 1);
    let report = object(&outcome.stdout);
    let ended = |check: &Value| (check["id"].clone(), check["result"].clone(), check["detail"].clone());
    let checks: Vec<_> = report["checks"].as_array().unwrap().iter().map(ended).collect();
    let taken = checks.iter().find(|check| check.0 == "heap/size-64-mib").unwrap();
    assert_eq!(taken.1, "fail");
    assert_eq!(taken.2, "the process exceeded the memory limit of 512 MiB");
    assert!(checks.iter().any(|check| check.0 == "heap/size-1-mib" && check.1 == "pass"), "{checks:?}");
}

#[test]
fn a_loaded_device_is_listed_on_demand() {
    let device = device(&runtime());
    let report = json(["devices", "--json", "--device", &device]);
    assert_eq!(report["device"], device);
    assert_eq!(report["default"], false);
    let simulated = json(["devices", "--json", "--device", "host"]);
    assert_eq!(simulated["device"], "host:discrete");
    for key in ["adapter", "resource_heap_tier", "dedicated_video_memory_bytes", "local"] {
        assert_eq!(report[key], simulated[key], "{key}");
        assert_ne!(report[key], Value::Null, "{key}");
    }
    let text = heapwright(["devices", "--device", &device]).ok();
    assert!(text.starts_with(&format!("{device}\n  Direct3D 12 of the library ")), "{text}");
    assert!(text.contains("\n  local      0 B used of a budget of "), "{text}");
    assert!(!heapwright(["devices"]).ok().contains("heapwright_d3d12_runtime"));
}

/// The device of a library that has no DXGI: it is listed, replays and is checked, and what needs an adapter is said to
/// be unknown.
#[test]
fn a_device_without_adapter() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::Forwards) else { return };
    let device = device(&path);
    let report = json(["devices", "--json", "--device", &device]);
    for key in ["adapter", "dedicated_video_memory_bytes", "shared_system_memory_bytes", "local", "non_local"]
    {
        assert_eq!(report.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(report["resource_heap_tier"], 2);
    let text = heapwright(["devices", "--device", &device]).ok();
    assert!(text.contains("\n  adapter    none, discrete\n"), "{text}");
    let end = "\n  memory     unknown; usage and budgets are also unknown because there is no adapter\n";
    assert!(text.ends_with(end), "{text}");

    let report = json(["replay", "--json", "--verify", "--device", &device, TRACE]);
    assert_eq!(report["failures"], 0);
    let compared = heapwright(["replay", "--compare", "--device", &device, TRACE]).ok();
    assert_eq!(compared.lines().count(), 7, "{compared}");
    assert!(compared.ends_with("\n\nno adapter: the device's usage and budgets are unknown\n"), "{compared}");
    let rows: String = (0..24).map(|id| format!("{id},alloc,{id},{}\n", 1_u64 << 30)).collect();
    let outcome = heapwright(["replay", "--json", "--device", &device, &folder.trace("big.csv", &rows)]);
    let error = &outcome.stderr;
    assert!(error.contains(" of 24 allocations failed; first failure: 1.00 GiB for id "), "{error}");
    assert!(error.contains(" heaps, usage and budget unknown without an adapter\n"), "{error}");
    assert!(object(&outcome.stdout)["failures"].as_u64().unwrap() > 0);

    let (loaded, host) = (conformance(&device), conformance("host"));
    assert_eq!(loaded["failed"], 0);
    let checks = loaded["checks"].as_array().unwrap();
    let without: Vec<&Value> =
        checks.iter().filter(|check| check["detail"] == "no adapter was given with the device").collect();
    assert!(!without.is_empty() && without.iter().all(|check| check["result"] == "skip"), "{without:?}");
    let skipped = |report: &Value| report["skipped"].as_u64().unwrap();
    assert!(skipped(&loaded) > skipped(&host));
    let sum = |report: &Value| report["passed"].as_u64().unwrap() + skipped(report);
    assert_eq!(sum(&loaded), sum(&host));
}

/// Expects this error of every command for the device.
#[track_caller]
fn refused(device: &str, code: i32, expected: &str) {
    for command in [&["devices"][..], &["conformance"], &["replay", TRACE]] {
        let outcome = heapwright(command.iter().chain(&["--device", device]));
        assert_eq!(outcome.one_error(code), expected, "{command:?}");
        assert_eq!(outcome.stdout, "", "{command:?}");
    }
}

#[cfg(not(windows))]
#[test]
fn only_windows_has_system_devices() {
    let message = "--device: only Windows includes Direct3D 12; use d3d12:PATH to load it from a library";
    for device in ["d3d12", "d3d12:0", "d3d12:7"] {
        refused(device, 2, message);
    }
}

#[cfg(windows)]
#[test]
fn an_adapter_that_does_not_exist() {
    let outcome = heapwright(["devices", "--device", "d3d12:4096"]);
    let error = outcome.one_error(2);
    assert!(error.starts_with("--device: adapter 4096 does not exist; the system has "), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_that_cannot_be_loaded() {
    refused(
        "d3d12:no/such/library.so",
        2,
        "--device: cannot load no/such/library.so: cannot open shared object file: No such file or directory",
    );
    refused("d3d12:Cargo.toml", 2, "--device: cannot load Cargo.toml: invalid ELF header");
    refused(
        "d3d12:no\nsuch",
        2,
        "--device: cannot load no\\u{a}such: cannot open shared object file: No such file or directory",
    );
}

#[test]
fn a_library_without_the_function() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::Missing) else { return };
    let path = path.to_str().unwrap();
    refused(
        &format!("d3d12:{path}"),
        2,
        &format!("--device: {path} is not a Direct3D 12 library: it does not export D3D12CreateDevice"),
    );
}

#[test]
fn a_device_that_cannot_be_opened() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::Fails) else { return };
    let path = path.to_str().unwrap();
    refused(
        &format!("d3d12:{path}"),
        1,
        &format!(
            "cannot open device d3d12:{path}: {path}: D3D12CreateDevice failed with DXGI_ERROR_UNSUPPORTED (0x887a0004); if \
             the library uses Vulkan, as vkd3d-proton does, check that a suitable Vulkan driver is installed (vulkaninfo \
             --summary lists drivers; VKD3D_DEBUG=warn enables vkd3d-proton's log)"
        ),
    );
}

#[test]
fn every_command_explains_the_device_option() {
    let help = heapwright(["devices", "--help"]).ok();
    for part in ["host:PROFILE ", "vulkan:INDEX ", "d3d12 ", "d3d12:N ", "d3d12:PATH ", "docs/formats.md"] {
        assert!(help.contains(part), "{part}");
    }
    for command in ["replay", "conformance", "recreate", "devices"] {
        let help = heapwright([command, "--help"]).ok();
        assert!(help.contains("heapwright devices"), "{command}");
    }
}
