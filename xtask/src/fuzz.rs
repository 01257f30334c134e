//! Runs the fuzz targets of `fuzz/` for a while each.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::limited;

const TARGETS: &[&str] =
    &["aliasing", "device", "memory_short", "queues", "report", "residency", "suballoc", "trace"];

/// Seconds that one input may take, after which libFuzzer ends with it as a finding. Its own default is 20 minutes. Inputs
/// take milliseconds, so that a slow machine does not come near.
const INPUT_SECONDS: u32 = 30;

/// How much longer than asked a target may run: cargo looks whether it is built, the corpus is read, the last input is
/// finished. After that it hangs where libFuzzer does not see it, as in a thread that it waits for at exit, and is killed.
const GRACE: Duration = Duration::from_secs(120);

/// How long a target, or cargo-fuzz itself, may be built, on a slow machine and from nothing.
const BUILD_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Runs one target, or all, for `seconds` each; a finding is an error that names the input's file.
pub(crate) fn run(root: &Path, target: Option<&str>, seconds: u32) -> Result<(), String> {
    if let Some(target) = target.filter(|target| !TARGETS.contains(target)) {
        return Err(format!("there is no fuzz target {target}; there are: {}", TARGETS.join(", ")));
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
                    "building fuzz target {name} did not end in {} s",
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
                return Err(format!("fuzzing {name} found something; the input is in fuzz/artifacts/{name}"));
            }
            None => {
                return Err(format!(
                    "fuzzing {name} for {seconds} s did not end in {} s and was killed: it hangs outside of its inputs, \
                     as in a thread or at exit",
                    limit.as_secs()
                ));
            }
        }
    }
    Ok(())
}

/// Installs cargo-fuzz below the target folder, unless it is there, and answers where.
fn install(root: &Path) -> Result<std::path::PathBuf, String> {
    let tools = root.join("target/tools");
    if !tools.join("bin/cargo-fuzz").exists() {
        let mut command = Command::new("cargo");
        command.args(["install", "cargo-fuzz", "--locked", "--quiet", "--root"]).arg(&tools);
        match limited::run(&mut command, BUILD_LIMIT)? {
            Some(status) if status.success() => {}
            Some(_) => return Err("cargo install cargo-fuzz failed".to_owned()),
            None => {
                return Err(format!("cargo install cargo-fuzz did not end in {} s", BUILD_LIMIT.as_secs()));
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
