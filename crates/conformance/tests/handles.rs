//! The suite leaves no HANDLE open. A test program of its own: it counts what the process has open.
#![cfg(target_os = "linux")]

use heapwright_conformance::{Options, Target, run};
use heapwright_runtime::{HostProfile, Instance};

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux has it").count()
}

#[test]
fn a_run_closes_what_it_opens() {
    let open = || {
        let gpu = Instance::open(HostProfile::default_profile()).map_err(|error| error.to_string())?;
        Ok(Target { device: gpu.device, adapter: Some(gpu.adapter) })
    };
    let before = open_descriptors();
    run(open, &Options::default(), |_| {}).expect("the profile opens");
    assert_eq!(open_descriptors(), before);
}
