//! `cargo xtask wgpu`: wgpu on heapwright beside wgpu as it is.
//!
//! `interop/wgpu/suballocation.rs` replaces a file of wgpu-hal, in a copy of that crate below the target directory. The
//! program of `interop/wgpu` is built with both, and both run in Wine, in turn. Their results must be the same; their
//! figures are printed side by side.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::wine::{self, Wine};
use super::{TARGET, process, require_programs};
use crate::command;

/// The version of wgpu-hal for which the replacement was written.
const VERSION: &str = "30.0.2";

/// The file of wgpu-hal that is replaced.
const REPLACED: &str = "src/dx12/suballocation.rs";

/// What to do if wgpu-hal does not fit the replacement.
const ADAPT: &str = "adapt interop/wgpu/suballocation.rs to it, and VERSION in xtask/src/test_wine/wgpu.rs and interop/wgpu/Cargo.toml";

/// Time limit of a run of the program.
const LIMIT: Duration = Duration::from_secs(600);

/// What allocates the memory of wgpu: the names of the columns and of the folders.
const ALLOCATORS: [&str; 2] = ["gpu-allocator", "heapwright"];

/// Arguments of `cargo xtask wgpu`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask wgpu --runs 5")]
pub(crate) struct Args {
    /// Only check that wgpu-hal compiles for Windows with heapwright.
    #[arg(long)]
    check: bool,
    /// Run both programs this many times in turn, and print medians.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Run on Wine's Direct3D 12 instead of the runtime.
    #[arg(long)]
    wine: bool,
    /// Have wgpu create shaders of its own, as its default instance flags do.
    #[arg(long)]
    default_flags: bool,
}

/// Builds the program with both allocators, runs both and compares what they print.
pub(crate) fn run(root: &Path, args: &Args) -> Result<(), String> {
    let folder = crate::target_folder(root).join("wgpu");
    let patched = patch(root, &folder)?;
    if args.check {
        return cargo(root, &folder, "check", Some(&patched));
    }
    require_programs()?;
    // In one target directory, so that the dependencies of both are built once.
    let built = folder.join("target").join(TARGET).join("release/interop-wgpu.exe");
    for (allocator, patched) in ALLOCATORS.into_iter().zip([None, Some(&*patched)]) {
        cargo(root, &folder, "build", patched)?;
        let run = folder.join("run").join(allocator);
        fs::create_dir_all(&run).map_err(|error| format!("{}: {error}", run.display()))?;
        copy_file(&built, &run.join("interop-wgpu.exe"))?;
    }
    let runtime = if args.wine { None } else { Some(build_runtime(root, &folder)?) };
    let wine = Wine::start(&folder)?;
    wine::add_shim(&wine, &folder)?;
    let mut printed = ALLOCATORS.map(|_| Printed::default());
    for _ in 0..args.runs {
        for (allocator, printed) in ALLOCATORS.into_iter().zip(&mut printed) {
            let run = folder.join("run").join(allocator);
            printed.read(&run_program(&wine, &run, runtime.as_deref(), args.default_flags)?)?;
        }
    }
    let [stock, ours] = printed;
    print!("{}", table(&stock, &ours));
    let results = [stock.results, ours.results].map(|mut results| {
        // On Wine's adapter, stock wgpu never reaches the threshold.
        results.retain(|name, _| !args.wine || name != "out-of-memory-at-a-share-of-the-budget");
        results
    });
    if results[0].is_empty() || results[0] != results[1] {
        return Err(format!("the results of {ALLOCATORS:?} differ: {results:#?}"));
    }
    Ok(())
}

/// Copies wgpu-hal below `folder`, with the replacement in place, and returns the copy.
fn patch(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let copy = folder.join("wgpu-hal");
    let manifest = copy.join("Cargo.toml");
    let source = source_of_wgpu_hal(root)?;
    for file in files_below(&source)? {
        // These two are written below. A file that is written although it is the same would be compiled again.
        if file != Path::new(REPLACED) && file != Path::new("Cargo.toml") {
            copy_file(&source.join(&file), &copy.join(&file))?;
        }
    }
    if !source.join(REPLACED).exists() {
        return Err(format!("wgpu-hal has no {REPLACED} any more: {ADAPT}"));
    }
    copy_file(&root.join("interop/wgpu/suballocation.rs"), &copy.join(REPLACED))?;
    let text = read(&source.join("Cargo.toml"))?;
    let heapwright = root.join("crates/heapwright").display().to_string();
    let dependency = format!(
        "\n[target.'cfg(windows)'.dependencies.heapwright]\npath = {heapwright:?}\ndefault-features = false\n"
    );
    write(&manifest, (text + &dependency).as_bytes())?;
    Ok(copy)
}

/// Returns the folder of wgpu-hal in cargo's registry.
fn source_of_wgpu_hal(root: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version=1", "--locked", "--filter-platform", TARGET]);
    command.arg("--manifest-path").arg(root.join("interop/wgpu/Cargo.toml"));
    let metadata: serde_json::Value = serde_json::from_str(&command::output(&mut command)?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let hal = packages.iter().find(|package| package["name"] == "wgpu-hal");
    let hal = hal.ok_or_else(|| format!("wgpu does not depend on wgpu-hal any more: {ADAPT}"))?;
    if hal["version"] != VERSION {
        return Err(format!("wgpu-hal is {} instead of {VERSION}: {ADAPT}", hal["version"]));
    }
    let manifest = hal["manifest_path"].as_str().map(Path::new).and_then(Path::parent);
    manifest.map(Path::to_owned).ok_or_else(|| "cargo metadata: wgpu-hal has no manifest_path".to_owned())
}

/// Lists the files below a folder, relative to it.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        let place = folder.join(&inside);
        let entries = fs::read_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", place.display()))?;
            let path = inside.join(entry.file_name());
            if entry.path().is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file if it is not the same already, so that cargo does not compile it again.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    write(to, &fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?)
}

/// Builds or checks a copy of the program: the replacement changes its lock file.
fn cargo(root: &Path, folder: &Path, verb: &str, patched: Option<&Path>) -> Result<(), String> {
    let place = folder.join(ALLOCATORS[usize::from(patched.is_some())]);
    for file in ["Cargo.toml", "Cargo.lock", "main.rs"] {
        copy_file(&root.join("interop/wgpu").join(file), &place.join(file))?;
    }
    let mut command = Command::new("cargo");
    command.args([verb, "--release", "--target", TARGET, "--target-dir"]).arg(folder.join("target"));
    match patched {
        Some(patched) => {
            let patch = format!("patch.crates-io.wgpu-hal.path={:?}", patched.display().to_string());
            command.arg("--config").arg(patch);
        }
        None => drop(command.arg("--locked")),
    }
    command::run(command.current_dir(&place)).map_err(|error| match patched {
        Some(_) => format!(
            "wgpu-hal {VERSION} does not compile with heapwright. If heapwright's interface has changed, adapt \
             interop/wgpu/suballocation.rs ({error})"
        ),
        None => format!("wgpu does not compile as it is: {error}"),
    })
}

/// Builds the runtime for Windows, optimized, and returns its library.
fn build_runtime(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let target = folder.join("target");
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--package", "heapwright-runtime-cdylib", "--target", TARGET]);
    command::run(command.arg("--target-dir").arg(&target).current_dir(root))?;
    Ok(target.join(TARGET).join("release/heapwright_d3d12_runtime.dll"))
}

/// Runs the program in a folder and returns what it printed and its size. The runtime is put beside it as d3d12.dll and
/// dxgi.dll.
fn run_program(
    wine: &Wine,
    folder: &Path,
    runtime: Option<&Path>,
    default_flags: bool,
) -> Result<String, String> {
    let program = folder.join("interop-wgpu.exe");
    let mut command = wine.command(&program);
    if let Some(runtime) = runtime {
        for name in ["d3d12.dll", "dxgi.dll"] {
            copy_file(runtime, &folder.join(name))?;
        }
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d;d3d12,dxgi=n");
    } else {
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d;d3d12,dxgi=b");
    }
    if default_flags {
        command.arg("--default-flags");
    }
    let run = process::run(command, LIMIT, &folder.join("log"))?;
    if run.was_ended() {
        wine.end_programs();
    }
    if !run.is_success() {
        return Err(format!("{}: {}", program.display(), run.describe()));
    }
    let size = fs::metadata(&program).map_err(|error| format!("{}: {error}", program.display()))?.len();
    Ok(format!("{}\nfigure size-of-the-program-bytes {size}\n", run.stdout))
}

/// What the runs of a program printed.
#[derive(Debug, Default)]
struct Printed {
    /// Of the first run: every run has the same.
    results: BTreeMap<String, String>,
    /// Figures of all runs, in the order in which the program prints them.
    figures: Vec<(String, Vec<u64>)>,
}

impl Printed {
    /// Reads the lines of a run.
    fn read(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["result", name, value] => {
                    let old = self.results.entry(name.to_owned()).or_insert_with(|| value.to_owned());
                    if old != value {
                        return Err(format!("{name} is {old} in one run and {value} in another"));
                    }
                }
                ["figure", name, value] => {
                    let value = value.parse().map_err(|_| format!("{line:?} has no number"))?;
                    match self.figures.iter_mut().find(|(known, _)| known == name) {
                        Some((_, values)) => values.push(value),
                        None => self.figures.push((name.to_owned(), vec![value])),
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the median of a figure.
    fn median(&self, name: &str) -> Option<u64> {
        let mut values = self.figures.iter().find(|(known, _)| known == name)?.1.clone();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    }
}

/// Returns a table of medians, in which names that end with a unit are shown in milliseconds and MiB.
fn table(stock: &Printed, ours: &Printed) -> String {
    let [a, b] = ALLOCATORS;
    let mut text = format!("{:<44}{a:>16}{b:>16}{:>10}\n", "", "ratio");
    for (name, _) in &stock.figures {
        let (label, unit) = match name.rsplit_once('-') {
            Some((label, "microseconds")) => (format!("{label}, ms"), 1000.0),
            Some((label, "bytes")) => (format!("{label}, MiB"), 1_048_576.0),
            _ => (name.clone(), 1.0),
        };
        #[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
        let [stock, ours] =
            [stock.median(name), ours.median(name)].map(|value| value.map(|value| value as f64));
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1}", value / unit));
        let ratio = match (stock, ours) {
            (Some(stock), Some(ours)) if stock > 0.0 => format!("{:.2}", ours / stock),
            _ => "-".to_owned(),
        };
        let _ = writeln!(text, "{label:<44}{:>16}{:>16}{ratio:>10}", shown(stock), shown(ours));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_runs_are_shown_beside_each_other() {
        let [mut stock, mut ours] = [Printed::default(), Printed::default()];
        for time in [3000, 1000, 2000] {
            stock.read(&format!("noise\nresult same yes\nfigure time-microseconds {time}\n")).expect("sound");
        }
        ours.read("figure time-microseconds 1500\nfigure held-bytes 1048576").expect("sound");
        assert_eq!(stock.results, BTreeMap::from([("same".to_owned(), "yes".to_owned())]));
        let table = table(&stock, &ours);
        let row: Vec<&str> = table.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(row, ["time,", "ms", "2.0", "1.5", "0.75"]);
        assert_eq!(ours.median("held-bytes"), Some(1_048_576));
        ours.read("figure peak many").expect_err("no number");
        stock.read("result same no").expect_err("runs that differ");
    }
}
