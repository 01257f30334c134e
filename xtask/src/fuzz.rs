//! Runs the fuzz targets of `fuzz/` for a while each.

use std::path::Path;
use std::process::Command;

const TARGETS: &[&str] = &["aliasing", "device", "queues", "report", "residency", "suballoc", "trace"];

/// Runs one target, or all, for `seconds` each; a finding is an error that names the input's file.
pub(crate) fn run(root: &Path, target: Option<&str>, seconds: u32) -> Result<(), String> {
    if let Some(target) = target.filter(|target| !TARGETS.contains(target)) {
        return Err(format!("there is no fuzz target {target}; there are: {}", TARGETS.join(", ")));
    }
    let tool = install(root)?;
    for &name in TARGETS.iter().filter(|&&name| target.is_none_or(|target| target == name)) {
        eprintln!("fuzzing {name} for {seconds} s");
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", "--fuzz-dir", "fuzz", name, "--"])
            .args([format!("-max_total_time={seconds}"), "-rss_limit_mb=4096".to_owned()])
            .args(["-print_final_stats=1", "-verbosity=0"])
            .env("PATH", path_with(&tool)?)
            .current_dir(root)
            .status()
            .map_err(|error| format!("starting cargo fuzz: {error}"))?;
        if !status.success() {
            return Err(format!("fuzzing {name} found something; the input is in fuzz/artifacts/{name}"));
        }
    }
    Ok(())
}

/// Installs cargo-fuzz below the target folder, unless it is there, and answers where.
fn install(root: &Path) -> Result<std::path::PathBuf, String> {
    let tools = root.join("target/tools");
    if !tools.join("bin/cargo-fuzz").exists() {
        let status = Command::new("cargo")
            .args(["install", "cargo-fuzz", "--locked", "--quiet", "--root"])
            .arg(&tools)
            .status()
            .map_err(|error| format!("starting cargo install: {error}"))?;
        if !status.success() {
            return Err("cargo install cargo-fuzz failed".to_owned());
        }
    }
    Ok(tools.join("bin"))
}

fn path_with(folder: &Path) -> Result<std::ffi::OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| error.to_string())
}
