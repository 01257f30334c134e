//! `--device d3d12:PATH` with the runtime's library, with small ones in C, and what is said where there is nothing to load.

use serde_json::Value;

use crate::library::{Behaviour, device, runtime, written_in_c};
use crate::support::{Folder, heapwright};

const TRACE: &str = "traces/vision_serving.csv.gz";

fn object(stdout: &str) -> Value {
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    serde_json::from_str(stdout).unwrap()
}

fn conformance(device: &str) -> Value {
    object(&heapwright(["conformance", "--json", "--device", device]).ok())
}

#[test]
fn a_trace_replays() {
    let device = device(&runtime());
    for options in [&["--json"][..], &["--json", "--verify"]] {
        let said = heapwright(["replay", "--device", &device, TRACE].iter().chain(options));
        let report = object(&said.ok());
        assert_eq!(report["failures"], 0);
        assert_eq!(report["allocations"], 10_004);
    }
    let table = heapwright(["replay", "--compare", "--device", &device, TRACE]).ok();
    assert_eq!(table.lines().count(), 11, "{table}");
    assert!(!table.contains("no adapter"), "{table}");
}

#[test]
fn it_conforms_as_the_simulated_gpu_that_it_is() {
    let (loaded, host) = (conformance(&device(&runtime())), conformance("host"));
    assert_eq!(loaded["device"], device(&runtime()));
    for count in ["passed", "failed", "known", "skipped"] {
        assert_eq!(loaded[count], host[count], "{count}");
    }
    assert!(loaded["passed"].as_u64().unwrap() > 400, "{}", loaded["passed"]);
}

/// A check that ends its process or does not end fails with its name, and so does one after which a later one does; the others
/// are as ever.
#[test]
fn what_breaks_the_process_fails_and_the_rest_goes_on() {
    let folder = Folder::new();
    let (Some(broken), Some(honest)) =
        (written_in_c(&folder, Behaviour::Breaks), written_in_c(&folder, Behaviour::HandsOn))
    else {
        return;
    };
    let options = ["conformance", "--json", "--check-timeout", "2", "--filter", "heap/size,heap/alignment"];
    let check = |path: &std::path::Path| {
        let device = device(path);
        let said = heapwright(options.iter().copied().chain(["--device", &device]));
        assert_eq!(said.stderr, "");
        (said.code, object(&said.stdout))
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
    let aborted = "the process was ended by signal 6";
    let later = format!("later, in heap/alignment-small-refused, {aborted}");
    let expected = [
        ("heap/size-one-byte", "the process did not get on for 2 s"),
        ("heap/size-0-refused", aborted),
        ("heap/alignment-4-mib", later.as_str()),
    ];
    assert_eq!(failed, expected);
}

#[test]
fn it_is_shown_on_demand() {
    let device = device(&runtime());
    let report = object(&heapwright(["devices", "--json", "--device", &device]).ok());
    assert_eq!(report["device"], device);
    assert_eq!(report["default"], false);
    let simulated = object(&heapwright(["devices", "--json", "--device", "host"]).ok());
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

#[test]
fn without_adapter_devices_say_so() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::HandsOn) else { return };
    let device = device(&path);
    let report = object(&heapwright(["devices", "--json", "--device", &device]).ok());
    for key in ["adapter", "dedicated_video_memory_bytes", "shared_system_memory_bytes", "local", "non_local"]
    {
        assert_eq!(report.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(report["resource_heap_tier"], 2);
    let text = heapwright(["devices", "--device", &device]).ok();
    assert!(text.contains("\n  adapter    none, discrete\n"), "{text}");
    let end = "\n  memory     unknown, as are usage and budgets: there is no adapter\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn without_adapter_a_trace_replays() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::HandsOn) else { return };
    let device = device(&path);
    let report = object(&heapwright(["replay", "--json", "--verify", "--device", &device, TRACE]).ok());
    assert_eq!(report["failures"], 0);
    let compared = heapwright(["replay", "--compare", "--device", &device, TRACE]).ok();
    assert_eq!(compared.lines().count(), 13, "{compared}");
    assert!(
        compared.ends_with("\n\nno adapter: usage and budgets of the device are not known\n"),
        "{compared}"
    );

    let written = folder.path().join("held.json");
    let written = written.to_str().unwrap();
    heapwright(["replay", "--json", "--report", written, "--device", &device, TRACE]).ok();
    let held = object(std::fs::read_to_string(written).unwrap().trim_end());
    let groups = held["segment_groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    for group in groups {
        assert_eq!((group.get("budget"), group.get("current_usage")), (None, None), "{group}");
    }
    heapwright(["report", "--json", written]).ok();
}

/// What fails is told with all that is known.
#[test]
fn without_adapter_a_failure_says_that_usage_is_not_known() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::HandsOn) else { return };
    let gib = 1_u64 << 30;
    let rows: String = (0..24).map(|id| format!("{id},alloc,{id},{gib}\n")).collect();
    let trace = folder.trace("big.csv", &rows);
    let said = heapwright(["replay", "--json", "--device", &device(&path), &trace]);
    let error = said.one_error(1);
    assert!(error.contains(" of 24 allocations failed; the first, 1.00 GiB for id "), "{error}");
    assert!(error.contains(" reserved (no adapter says usage and budget): "), "{error}");
    assert!(object(&said.stdout)["failures"].as_u64().unwrap() > 0);
}

#[test]
fn without_adapter_the_checks_of_budgets_are_skipped() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::HandsOn) else { return };
    let (loaded, host) = (conformance(&device(&path)), conformance("host"));
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

/// Every command answers this to that device.
#[track_caller]
fn refused(device: &str, code: i32, expected: &str) {
    for command in [&["devices"][..], &["conformance"], &["replay", TRACE]] {
        let said = heapwright(command.iter().chain(&["--device", device]));
        assert_eq!(said.one_error(code), expected, "{command:?}");
        assert_eq!(said.stdout, "", "{command:?}");
    }
}

#[cfg(not(windows))]
#[test]
fn only_windows_has_a_d3d12_of_its_own() {
    let message =
        "--device: only Windows has a D3D12 of its own; elsewhere d3d12:PATH loads a library that has one";
    for device in ["d3d12", "d3d12:0", "d3d12:7"] {
        refused(device, 2, message);
    }
}

#[cfg(windows)]
#[test]
fn an_adapter_that_is_not_there() {
    let said = heapwright(["devices", "--device", "d3d12:4096"]);
    let error = said.one_error(2);
    assert!(error.starts_with("--device: there is no adapter 4096; the system has "), "{error}");
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
        &format!("--device: {path} is no D3D12: it does not export D3D12CreateDevice"),
    );
}

#[test]
fn a_device_that_does_not_open() {
    let folder = Folder::new();
    let Some(path) = written_in_c(&folder, Behaviour::Fails) else { return };
    let path = path.to_str().unwrap();
    refused(
        &format!("d3d12:{path}"),
        1,
        &format!(
            "cannot open device d3d12:{path}: {path}: D3D12CreateDevice answered DXGI_ERROR_UNSUPPORTED (0x887a0004); where the \
             library is over Vulkan, as vkd3d-proton is, that may mean that there is no Vulkan driver, or none that it can use \
             (vulkaninfo --summary lists them; VKD3D_DEBUG=warn has vkd3d-proton say more)"
        ),
    );
}

#[test]
fn an_unknown_device_is_told_how_to_load_one() {
    for device in ["d3d12:", "d3d11", "D3D12", "vulkan"] {
        for command in [&["devices"][..], &["conformance"], &["replay", TRACE]] {
            let said = heapwright(command.iter().chain(&["--device", device]));
            let error = said.one_error(2);
            assert!(
                error.starts_with(&format!("--device: no device {device:?}; there are host (")),
                "{error}"
            );
            assert!(error.ends_with(", d3d12:PATH (a library that exports D3D12CreateDevice)"), "{error}");
        }
    }
}

#[test]
fn every_command_explains_what_device_takes() {
    for command in ["replay", "conformance", "devices"] {
        let help = heapwright([command, "--help"]).ok();
        for part in
            ["host:PROFILE ", "d3d12 ", "d3d12:N ", "d3d12:PATH ", "D3D12CreateDevice", "--device d3d12:/opt"]
        {
            assert!(help.contains(part), "{command}: {part}");
        }
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}
