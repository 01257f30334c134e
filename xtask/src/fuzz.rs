//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::limited;

const TARGETS: &[&str] = &[
    "aliasing",
    "capture",
    "device",
    "memory_short",
    "queues",
    "report",
    "residency",
    "session",
    "suballoc",
    "trace",
];

/// Time limit of an input, in seconds. libFuzzer reports an input that exceeds it. Inputs usually take milliseconds.
const INPUT_SECONDS: u32 = 30;

/// Additional time for cargo, reading the corpus and finishing the last input. A target that runs longer hangs outside of an
/// input, for example at exit, and is killed.
const GRACE: Duration = Duration::from_secs(120);

/// Time limit for building a target or cargo-fuzz.
const BUILD_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Runs one target, or all, for `seconds` each. A finding is an error that names the directory of the input.
pub(crate) fn run(root: &Path, target: Option<&str>, seconds: u32) -> Result<(), String> {
    if let Some(target) = target.filter(|target| !TARGETS.contains(target)) {
        return Err(format!("unknown fuzz target {target}; available: {}", TARGETS.join(", ")));
    }
    let tool = install(root)?;
    let cargo_fuzz = |what: &str| {
        let mut command = Command::new("cargo");
        command.args(["+nightly", "fuzz", what, "--fuzz-dir", "fuzz"]).current_dir(root);
        path_with(&tool).map(|path| {
            command.env("PATH", path);
            command
        })
    };
    for &name in TARGETS.iter().filter(|&&name| target.is_none_or(|target| target == name)) {
        eprintln!("building fuzz target {name}");
        match limited::run(cargo_fuzz("build")?.arg(name), BUILD_LIMIT)? {
            Some(status) if status.success() => {}
            Some(_) => return Err(format!("building fuzz target {name} failed")),
            None => {
                return Err(format!(
                    "building fuzz target {name} exceeded the time limit of {} s",
                    BUILD_LIMIT.as_secs()
                ));
            }
        }
        eprintln!("fuzzing {name} for {seconds} s");
        let mut command = cargo_fuzz("run")?;
        command
            .args([name, "--"])
            .args([format!("-max_total_time={seconds}"), format!("-timeout={INPUT_SECONDS}")])
            .args(["-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0"]);
        let limit = Duration::from_secs(seconds.into()) + GRACE;
        match limited::run(&mut command, limit)? {
            Some(status) if status.success() => {}
            Some(_) => {
                return Err(format!("fuzzing {name} failed; the input is in fuzz/artifacts/{name}"));
            }
            None => {
                return Err(format!(
                    "fuzzing {name} for {seconds} s exceeded {} s and was killed; it hangs outside of an input, such as in \
                     a thread or at exit",
                    limit.as_secs()
                ));
            }
        }
    }
    Ok(())
}

/// Installs cargo-fuzz in the target directory if it is missing, and returns the directory of its program.
fn install(root: &Path) -> Result<std::path::PathBuf, String> {
    let tools = root.join("target/tools");
    if !tools.join("bin/cargo-fuzz").exists() {
        let mut command = Command::new("cargo");
        command.args(["install", "cargo-fuzz", "--locked", "--quiet", "--root"]).arg(&tools);
        match limited::run(&mut command, BUILD_LIMIT)? {
            Some(status) if status.success() => {}
            Some(_) => return Err("cargo install cargo-fuzz failed".to_owned()),
            None => {
                return Err(format!(
                    "cargo install cargo-fuzz exceeded the time limit of {} s",
                    BUILD_LIMIT.as_secs()
                ));
            }
        }
    }
    Ok(tools.join("bin"))
}

fn path_with(folder: &Path) -> Result<std::ffi::OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| error.to_string())
}
