//! The machine, the versions and the date of a report.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A machine and the code that ran on it. Values that cannot be determined are "unknown".
#[derive(Debug)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// Number of threads that the machine runs at once.
    pub cores: usize,
    /// Operating system and architecture.
    pub system: String,
    /// Version of the Rust compiler, which compiles all but VMA.
    pub rustc: String,
    /// Version of the C++ compiler in the PATH, which compiles VMA unless CXX is set.
    pub cxx: String,
    /// The commit, with "and changes" if files differ from it.
    pub commit: String,
    /// The given date, or that of the commit.
    pub date: String,
}

impl Machine {
    /// Describes the current machine. `root` is the repository's folder.
    #[must_use]
    pub fn here(root: &Path, date: Option<String>) -> Self {
        let changes = answer(root, "git", &["status", "--porcelain", "--untracked-files=no"]);
        let mut commit = answer(root, "git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(unknown);
        if changes.is_some() {
            commit.push_str(" and changes");
        }
        let commit_date = || {
            answer(root, "git", &["show", "--no-patch", "--format=%cs", "HEAD"])
                .map_or_else(unknown, |date| format!("{date} (the commit's)"))
        };
        let cxx = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        Self {
            processor: processor().unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            rustc: answer(root, "rustc", &["--version"]).unwrap_or_else(unknown),
            cxx: answer(root, &cxx, &["--version"]).unwrap_or_else(unknown),
            commit,
            date: date.unwrap_or_else(commit_date),
        }
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the first line of a program's output; `None` if it prints nothing or fails.
fn answer(folder: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    text.lines().next().map(str::to_owned)
}

/// Returns the duration of one clock reading in nanoseconds: the minimum of several series.
#[must_use]
pub fn clock_nanoseconds() -> f64 {
    const READINGS: u32 = 10_000;
    let series = (0..20).map(|_| {
        let start = Instant::now();
        for _ in 0..READINGS {
            std::hint::black_box(Instant::now());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
    });
    series.fold(f64::INFINITY, f64::min)
}
