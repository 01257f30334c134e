//! Memory of the machine and of a process that runs checks.
//!
//! A limit of the address space would not do: the simulated GPU reserves the address space of its memory, most of which
//! is never accessed. What counts is the memory that is accessed.

use std::process::Child;

/// The limit for processes of checks where the machine's memory is unknown, in MiB.
const FALLBACK: u64 = 8 << 10;

/// Returns half of the machine's memory in MiB.
pub(super) fn half_of_the_machine() -> u64 {
    system::machine().map_or(FALLBACK, |bytes| (bytes / 2) >> 20)
}

/// Returns the physical memory of a process in bytes, or `None` if the system does not tell.
pub(super) fn resident(process: &Child) -> Option<u64> {
    system::resident(process)
}

#[cfg(target_os = "linux")]
mod system {
    use std::process::Child;

    pub(super) fn machine() -> Option<u64> {
        field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
    }

    pub(super) fn resident(process: &Child) -> Option<u64> {
        field(&std::fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?, "VmRSS:")
    }

    /// Returns the bytes of a line such as `VmRSS:      1234 kB`.
    pub(super) fn field(text: &str, name: &str) -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
        kibibytes.checked_mul(1024)
    }
}

#[cfg(windows)]
#[expect(unsafe_code, reason = "asks the system for the memory of a process")]
mod system {
    use std::ffi::c_void;
    use std::os::windows::io::AsRawHandle as _;
    use std::process::Child;

    /// `PROCESS_MEMORY_COUNTERS`.
    #[derive(Default)]
    #[repr(C)]
    struct Counters {
        size: u32,
        page_faults: u32,
        peak_working_set: usize,
        working_set: usize,
        pools: [usize; 4],
        page_file: usize,
        peak_page_file: usize,
    }

    /// `MEMORYSTATUSEX`.
    #[derive(Default)]
    #[repr(C)]
    struct Status {
        size: u32,
        load: u32,
        physical: u64,
        others: [u64; 6],
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn K32GetProcessMemoryInfo(process: *mut c_void, counters: *mut Counters, size: u32) -> i32;
        fn GlobalMemoryStatusEx(status: *mut Status) -> i32;
    }

    fn size_of_u32<T>() -> u32 {
        u32::try_from(size_of::<T>()).unwrap_or(0)
    }

    pub(super) fn machine() -> Option<u64> {
        let mut status = Status { size: size_of_u32::<Status>(), ..Status::default() };
        // SAFETY: the structure is writable, and its first field is its size.
        let succeeds = unsafe { GlobalMemoryStatusEx(&mut status) } != 0;
        succeeds.then_some(status.physical)
    }

    pub(super) fn resident(process: &Child) -> Option<u64> {
        let mut counters = Counters::default();
        let handle = process.as_raw_handle();
        // SAFETY: the child owns the handle, and the structure is writable and as large as stated.
        let succeeds =
            unsafe { K32GetProcessMemoryInfo(handle, &mut counters, size_of_u32::<Counters>()) } != 0;
        succeeds.then(|| u64::try_from(counters.working_set).unwrap_or(u64::MAX))
    }
}

#[cfg(not(any(windows, target_os = "linux")))]
mod system {
    use std::process::Child;

    pub(super) fn machine() -> Option<u64> {
        None
    }

    pub(super) fn resident(_process: &Child) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn fields_are_read() {
        let text = "MemFree:  5 kB\nMemTotal:       16384 kB\nVmRSS:\t12 kB\nBroken: 1 MB\n";
        assert_eq!(system::field(text, "MemTotal:"), Some(16 << 20));
        assert_eq!(system::field(text, "VmRSS:"), Some(12 << 10));
        assert_eq!(system::field(text, "Broken:"), None);
        assert_eq!(system::field(text, "VmSwap:"), None);
    }

    #[test]
    #[cfg(any(windows, target_os = "linux"))]
    fn the_system_tells() {
        assert!(half_of_the_machine() > 0);
        let child = std::process::Command::new(std::env::current_exe().expect("a test"))
            .arg("--list")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("this program");
        // Its output is read only after the question, but it may have ended.
        let memory = resident(&child);
        assert!(memory.is_none_or(|bytes| bytes < 1 << 32), "{memory:?}");
        child.wait_with_output().expect("a list");
    }
}
