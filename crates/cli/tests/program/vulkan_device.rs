//! `--device vulkan`: without Vulkan or a device, and with one.

use crate::support::heapwright;
#[cfg(not(windows))]
use crate::support::{Outcome, command};

/// Runs the program where the Vulkan loader, if there is one, finds no driver. In Wine the loader is that of the host,
/// which does not see the program's environment.
#[cfg(not(windows))]
fn without_driver(args: &[&str]) -> Outcome {
    let mut command = command();
    for list in ["VK_ICD_FILENAMES", "VK_DRIVER_FILES"] {
        command.env(list, "/no/such/driver.json");
    }
    Outcome::from_output(command.args(args).output().unwrap())
}

#[cfg(not(windows))]
#[test]
fn without_a_device_every_command_says_so() {
    for arguments in [&["devices"][..], &["conformance"], &["replay", "traces/unet_diffusion.csv.gz"]] {
        for device in ["vulkan", "vulkan:0", "vulkan:7"] {
            let outcome = without_driver(&[arguments, &["--device", device]].concat());
            let error = outcome.one_error(2);
            let reasons = ["--device: no Vulkan loader: ", "--device: no Vulkan device: "];
            assert!(reasons.iter().any(|reason| error.starts_with(reason)), "{error}");
            assert_eq!(outcome.stdout, "");
        }
    }
}

#[cfg(not(windows))]
#[test]
fn without_a_device_the_others_are_listed() {
    let listed = without_driver(&["devices", "--json"]).ok();
    assert!(listed.lines().count() > 1);
    assert!(!listed.contains("vulkan"), "{listed}");
}

#[test]
fn a_device_that_is_listed_replays_and_the_next_does_not_exist() {
    let listed = heapwright(["devices", "--json"]).ok();
    let count = listed.lines().filter(|line| line.starts_with("{\"device\":\"vulkan:")).count();
    if count == 0 {
        eprintln!("skipped: the system has no Vulkan device");
        return;
    }
    let replayed = heapwright(["replay", "--verify", "--device", "vulkan", "traces/unet_diffusion.csv.gz"]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    let outcome = heapwright(["devices", "--device", "vulkan:1000"]);
    assert!(
        outcome.one_error(2).starts_with("--device: there is no Vulkan device 1000"),
        "{}",
        outcome.stderr
    );
}
