//! The host memory that this process can still have.
//!
//! Linux provides memory when it is first used, and ends a process if there is none then. So who uses much asks before.
//! Other systems refuse the allocation.

#[cfg(any(target_os = "linux", test))]
use std::path::Path;

/// Returns the number of bytes of host memory that this process can have without swapping, if known.
#[cfg(target_os = "linux")]
pub(super) fn available_memory() -> Option<u64> {
    available(|path| std::fs::read_to_string(path).ok())
}

/// Returns the number of bytes of host memory that this process can have without swapping, if known.
#[cfg(not(target_os = "linux"))]
pub(super) fn available_memory() -> Option<u64> {
    None
}

/// The least of what the machine and each control group (version 2) of this process have available, by the text of the
/// system's files.
#[cfg(any(target_os = "linux", test))]
fn available(read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let machine = || {
        let kib = field(&read(Path::new("/proc/meminfo"))?, "MemAvailable:")?;
        kib.checked_mul(1024)
    };
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(own);
    // A group's limit holds for the groups within it, too.
    let groups = own.ancestors().take_while(|group| group.starts_with(root));
    groups.filter_map(|group| available_in_group(group, &read)).chain(machine()).min()
}

/// Returns the bytes that are available to a control group, or `None` if no limit can be read.
#[cfg(any(target_os = "linux", test))]
fn available_in_group(group: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let number = |file| read(&group.join(file))?.trim().parse::<u64>().ok();
    let limit = number("memory.max")?;
    let used = number("memory.current")?;
    // Files in memory count as used, but make room.
    let stat = read(&group.join("memory.stat")).unwrap_or_default();
    let files: u64 = ["active_file", "inactive_file"].iter().filter_map(|name| field(&stat, name)).sum();
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

/// The number after a name at the beginning of a line.
#[cfg(any(target_os = "linux", test))]
fn field(text: &str, name: &str) -> Option<u64> {
    let words = text.lines().map(str::split_ascii_whitespace);
    words.filter_map(|mut words| (words.next()? == name).then(|| words.next())?).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal: 2048 kB\nMemFree:  1 kB\nMemAvailable:    1024 kB\n";

    fn with(files: &[(&str, &str)]) -> Option<u64> {
        available(|path| {
            files.iter().find(|(name, _)| path == Path::new(name)).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_machines_without_a_limit() {
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("/proc/meminfo", "MemAvailable: much\n")]), None);
        assert_eq!(with(&[("/proc/meminfo", MEMINFO)]), Some(1 << 20));
        let unlimited = [
            ("/proc/meminfo", MEMINFO),
            ("/proc/self/cgroup", "0::/a\n"),
            ("/sys/fs/cgroup/a/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.current", "5\n"),
        ];
        assert_eq!(with(&unlimited), Some(1 << 20));
    }

    #[test]
    fn the_least_of_all_groups() {
        let mut files = vec![
            ("/proc/meminfo", MEMINFO),
            ("/proc/self/cgroup", "1:memory:/other\n0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "9000\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "1000\n"),
        ];
        assert_eq!(with(&files), Some(8000));
        files.push(("/sys/fs/cgroup/a/memory.max", "9000\n"));
        files.push(("/sys/fs/cgroup/a/memory.current", "9000\n"));
        assert_eq!(with(&files), Some(0));
        files.push(("/sys/fs/cgroup/a/memory.stat", "anon 6000\nactive_file 1000\ninactive_file 2000\n"));
        assert_eq!(with(&files), Some(3000), "files make room");
    }

    /// In a container, the group is the root.
    #[test]
    fn the_groups_of_a_container() {
        let files = [
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/memory.max", "100\n"),
            ("/sys/fs/cgroup/memory.current", "200\n"),
        ];
        assert_eq!(with(&files), Some(0), "above a limit that was lowered");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_some() {
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
