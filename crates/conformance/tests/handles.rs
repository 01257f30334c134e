//! Checks that the suite leaks no HANDLE. A test program of its own, because it counts the open handles of
//! the process.
#![cfg(any(windows, target_os = "linux"))]

use heapwright_conformance::{Options, Target, run};
use heapwright_runtime::{HostProfile, Instance};

#[cfg(target_os = "linux")]
fn open_handles() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux has it").count()
}

#[cfg(windows)]
fn open_handles() -> usize {
    use heapwright_d3d12::{GetCurrentProcess, HANDLE};

    windows_core::link!("kernel32.dll" "system" fn GetProcessHandleCount(process: HANDLE, count: *mut u32) -> i32);
    let mut count = 0;
    // SAFETY: the process's own pseudo handle, and a pointer to a number that is written.
    let is_done = unsafe { GetProcessHandleCount(GetCurrentProcess(), &raw mut count) };
    assert!(is_done != 0, "{}", std::io::Error::last_os_error());
    usize::try_from(count).expect("fewer than the addresses")
}

#[test]
fn a_run_closes_what_it_opens() {
    let open = || {
        let gpu = Instance::open(HostProfile::default_profile()).map_err(|error| error.to_string())?;
        let device_factory = gpu.device_factory();
        Ok(Target { device: gpu.device, adapter: Some(gpu.adapter), device_factory })
    };
    // SAFETY: the runtime checks every argument.
    let run = || unsafe { run(open, &Options::default(), |_| {}) }.expect("the profile opens");
    // Handles that the system opens once per process, on first use, stay open.
    #[cfg(windows)]
    run();
    let before = open_handles();
    run();
    assert_eq!(open_handles(), before);
}
