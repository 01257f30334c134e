//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::limited;

/// The targets, and the seconds for which CI runs each, longest first.
const TARGETS: &[(&str, u32)] = &[
    ("device", 60),
    ("aliasing", 20),
    ("capture", 20),
    ("memory_short", 20),
    ("queues", 20),
    ("residency", 20),
    ("session", 20),
    ("snapshot", 20),
    ("suballoc", 20),
    ("report", 10),
    ("trace", 20),
];

/// Flags of the compiler: AddressSanitizer, and LLVM's SanitizerCoverage, which guides libFuzzer. One codegen unit,
/// because functions with coverage are not inlined across units.
const RUSTFLAGS: &str = "-Cdebug-assertions -Ccodegen-units=1 -Zsanitizer=address -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-sanitizer-coverage-stack-depth";

/// Target of the build. Without one, build scripts would get the flags, too.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Time limit of an input, in seconds. libFuzzer reports an input that exceeds it. Inputs usually take milliseconds.
const INPUT_SECONDS: u32 = 30;

/// Additional time for reading the corpus and finishing the last input. A target that runs longer hangs outside of an
/// input, for example at exit, and is killed.
const GRACE: Duration = Duration::from_secs(120);

/// Time limit for building the targets.
const BUILD_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Runs one target, or all, for `seconds` or for as long as CI does. As many targets run at a time as there are
/// processors. A finding is an error that names the directory of the input.
pub(crate) fn run(root: &Path, target: Option<&str>, seconds: Option<u32>) -> Result<(), String> {
    let targets = selected(target)?;
    let programs = programs(root, &targets)?;
    let (waiting, failed) = (Mutex::new(targets.into_iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().map_or(None, |mut waiting| waiting.next());
                    let Some((name, in_ci)) = next else { break };
                    let seconds = seconds.unwrap_or(in_ci);
                    if let Err(message) = fuzz(root, &programs, name, seconds)
                        && let Ok(mut failed) = failed.lock()
                    {
                        failed.push(message);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_default();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Builds one target, or all.
pub(crate) fn build(root: &Path, target: Option<&str>) -> Result<(), String> {
    programs(root, &selected(target)?).map(drop)
}

/// Runs one target, or all, once on each input of its corpus, and on generated ones. The build has neither sanitizer
/// nor coverage, so that stable Rust makes it in a third of the time.
pub(crate) fn run_corpus(root: &Path, target: Option<&str>) -> Result<(), String> {
    let folder = crate::target_folder(root).join("fuzz-corpus");
    let mut build = Command::new("cargo");
    build.args(["build", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]).arg(&folder);
    let targets = selected(target)?;
    for (name, _) in &targets {
        build.args(["--bin", name]);
    }
    match limited::run(build.current_dir(root), BUILD_LIMIT)? {
        Some(status) if status.success() => {}
        _ => return Err("building the fuzz targets failed".to_owned()),
    }
    for (name, _) in targets {
        let inputs = folder.join("inputs").join(name);
        fs::create_dir_all(&inputs).map_err(|error| format!("{}: {error}", inputs.display()))?;
        let mut files = write_inputs(&inputs)?;
        // Findings of earlier runs that were kept, if any.
        if let Ok(corpus) = fs::read_dir(root.join("fuzz/corpus").join(name)) {
            files.extend(corpus.filter_map(|entry| Some(entry.ok()?.path())));
        }
        eprintln!("{name}: {} inputs", files.len());
        let log = inputs.with_extension("log");
        let failed = |error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let mut command = Command::new(folder.join("debug").join(name));
        command.arg(format!("-timeout={INPUT_SECONDS}")).args(&files);
        command.stdout(output.try_clone().map_err(failed)?).stderr(output);
        if !limited::run(&mut command, BUILD_LIMIT)?.is_some_and(|status| status.success()) {
            let text = fs::read(&log).map_err(failed)?;
            return Err(format!("{name} failed on one of its inputs:\n{}", String::from_utf8_lossy(&text)));
        }
    }
    Ok(())
}

/// Writes inputs of 0 to 4 KiB of random bytes, which are the same on every machine, and returns their paths.
fn write_inputs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut random = fastrand::Rng::with_seed(20_261_124);
    let mut files = Vec::new();
    for number in 0..200_usize {
        let bytes: Vec<u8> = (0..number * number / 10).map(|_| random.u8(..)).collect();
        let file = folder.join(format!("{number:03}"));
        fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
        files.push(file);
    }
    Ok(files)
}

fn selected(target: Option<&str>) -> Result<Vec<(&'static str, u32)>, String> {
    let is_selected = |name: &str| target.is_none_or(|target| target == name);
    let targets: Vec<_> = TARGETS.iter().copied().filter(|(name, _)| is_selected(name)).collect();
    if targets.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|&(name, _)| name).collect();
        return Err(format!("unknown fuzz target; available: {}", names.join(", ")));
    }
    Ok(targets)
}

/// Builds the targets and returns the directory of their programs.
fn programs(root: &Path, targets: &[(&str, u32)]) -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.arg(format!("+{}", crate::NIGHTLY)).args([
        "build",
        "--release",
        "--target",
        TRIPLE,
        "--manifest-path",
        "fuzz/Cargo.toml",
    ]);
    let folder = crate::target_folder(root).join("fuzz");
    command.arg("--target-dir").arg(&folder);
    for (name, _) in targets {
        command.args(["--bin", name]);
    }
    // AddressSanitizer's reports name the lines.
    command.env("RUSTFLAGS", RUSTFLAGS).env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    match limited::run(command.current_dir(root), BUILD_LIMIT)? {
        Some(status) if status.success() => Ok(folder.join(TRIPLE).join("release")),
        Some(_) => Err("building the fuzz targets failed".to_owned()),
        None => {
            Err(format!("building the fuzz targets exceeded the time limit of {} s", BUILD_LIMIT.as_secs()))
        }
    }
}

/// Runs a target, and prints its output when it has ended.
fn fuzz(root: &Path, programs: &Path, name: &str, seconds: u32) -> Result<(), String> {
    let (corpus, artifacts) = (root.join("fuzz/corpus").join(name), root.join("fuzz/artifacts").join(name));
    let log = programs.join(name).with_extension("log");
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let file = |result: std::io::Result<File>| result.map_err(|error| format!("{}: {error}", log.display()));
    let output = file(File::create(&log))?;
    let mut command = Command::new(programs.join(name));
    command
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([format!("-max_total_time={seconds}"), format!("-timeout={INPUT_SECONDS}")])
        .args(["-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0"])
        .arg(&corpus)
        .env("ASAN_OPTIONS", "detect_odr_violation=0")
        .current_dir(root)
        .stdout(file(output.try_clone())?)
        .stderr(output);
    eprintln!("fuzzing {name} for {seconds} s");
    let start = Instant::now();
    let limit = Duration::from_secs(seconds.into()) + GRACE;
    let ended = limited::run(&mut command, limit)?;
    let output = fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    eprintln!("{name}, {} s:\n{}", start.elapsed().as_secs(), String::from_utf8_lossy(&output));
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(_) => Err(format!("fuzzing {name} failed; the input is in fuzz/artifacts/{name}")),
        None => Err(format!(
            "fuzzing {name} for {seconds} s exceeded {} s and was killed; it hangs outside of an input, such as in a thread \
             or at exit",
            limit.as_secs()
        )),
    }
}
