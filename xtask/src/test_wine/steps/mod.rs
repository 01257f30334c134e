//! The steps that run in Wine.
//!
//! - [`conformance`]: the conformance suite.
//! - [`gpgmm`]: the C++ program that uses gpgmm_d3d12.h.
//! - [`native`]: C and C++ programs.
//! - [`program`]: the program heapwright.

mod conformance;
mod gpgmm;
mod native;
mod program;

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;

use super::build::{self, Built, TestProgram};
use super::known_gaps::KnownGaps;
use super::process;
use super::summary::{Counts, Device};
use super::tests::Runner;
use super::wine::Wine;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Step {
    /// All tests, on the runtime
    Tests,
    /// heapwright devices and replay, on the runtime
    Program,
    /// A C program, with the runtime's DLL
    C,
    /// C++ programs with the official headers, with the runtime's DLL
    Cpp,
    /// The C++ program that uses every member of gpgmm_d3d12.h, and the samples, on the runtime
    Gpgmm,
    /// The examples, on the runtime
    Examples,
    /// The library's integration tests, on Wine's Direct3D 12
    WineTests,
    /// heapwright conformance, on Wine's Direct3D 12
    WineConformance,
    /// heapwright devices and replay, on Wine's Direct3D 12
    WineProgram,
    /// The examples, on Wine's Direct3D 12
    WineExamples,
    /// The C++ program that uses every member of gpgmm_d3d12.h, and the samples, on Wine's Direct3D 12
    WineGpgmm,
    /// The programs of interop/, which use the crate `windows`, on Wine's Direct3D 12
    WineInterop,
}

/// Test programs that are not run on the runtime, because they take long and do not depend on the system.
///
/// - The wrong devices test the checks themselves.
/// - The C and C++ programs have separate steps, because there is no compiler in Wine.
const NOT_OF_WINDOWS: &[&str] = &["conformance/wrong_devices", "gpgmm/programs", "runtime-cdylib/programs"];

/// Test programs that `--short` leaves out: they take long, and use the system for nothing but memory and threads.
const LONG: &[&str] = &[
    "conformance/suite",
    "conformance/unit",
    "heapwright/defragmentation",
    "heapwright/residency_stress",
    "simulation/policies",
    "tiles/tiles",
    "transient/transient",
];

/// Tests of crates/cli/tests/program, by the beginning of their names, that `--short` leaves out for the same reason.
const LONG_OF_PROGRAM: &[&str] = &[
    "captured_replay::",
    "conformance::",
    "help::every_example_in_the_help_runs",
    "loaded_device::the_loaded_runtime_conforms_like_the_simulated_gpu",
    "replay::compare_replays_each_trace_with_each_allocator",
    "replay::the_recorded_traces_verify_on_every_simulated_gpu_and_mappable_heap_type",
    "report::a_replay_has_the_same_heaps_as_the_command_replay",
    "residency::",
    "results::",
    "schema::",
];

/// Time limit of an example.
const LIMIT_OF_EXAMPLE: Duration = Duration::from_secs(600);

/// Environment of the steps.
pub(super) struct Place<'a> {
    pub(super) root: &'a Path,
    pub(super) target_folder: &'a Path,
    /// Directory for files of test-wine.
    pub(super) folder: &'a Path,
    pub(super) logs: &'a Path,
    pub(super) wine: &'a Wine,
    pub(super) built: &'a Built,
    pub(super) is_short: bool,
    /// Compiled once for both devices.
    pub(super) gpgmm_programs: OnceCell<Result<gpgmm::Programs, String>>,
}

impl Step {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tests => "all tests",
            Self::Program | Self::WineProgram => "heapwright devices, replay",
            Self::C => "C program",
            Self::Cpp => "C++ program, official headers",
            Self::Gpgmm | Self::WineGpgmm => "C++ programs, gpgmm_d3d12.h",
            Self::Examples | Self::WineExamples => "examples",
            Self::WineTests => "the library's integration tests",
            Self::WineConformance => "heapwright conformance",
            Self::WineInterop => "programs with windows 0.58, 0.62",
        }
    }

    pub(super) fn device(self) -> Device {
        match self {
            Self::Tests | Self::Program | Self::C | Self::Cpp | Self::Gpgmm | Self::Examples => Device::Ours,
            Self::WineTests
            | Self::WineConformance
            | Self::WineProgram
            | Self::WineExamples
            | Self::WineGpgmm
            | Self::WineInterop => Device::Wine,
        }
    }

    /// Runs the step. An error is counted as a failure.
    pub(super) fn run(self, place: &Place<'_>) -> Counts {
        let counts = match self {
            Self::Tests => Ok(tests(place)),
            Self::Program => program::run(place, "host"),
            Self::C => native::c(place),
            Self::Cpp => native::cpp(place),
            Self::Gpgmm => gpgmm::run(place, None),
            Self::WineGpgmm => gpgmm::run(place, Some("system")),
            Self::Examples => Ok(examples(place, None, &place.built.examples)),
            Self::WineTests => wine_tests(place),
            Self::WineConformance => conformance::run(place),
            Self::WineProgram => program::run(place, "d3d12"),
            Self::WineExamples => Ok(examples(place, Some("d3d12"), &place.built.examples)),
            Self::WineInterop => interop(place),
        };
        counts.unwrap_or_else(Counts::failure)
    }
}

/// The environment variable with the file that lists the tests which took the device that the environment names.
const TEST_LOG: &str = "HEAPWRIGHT_TEST_LOG";

impl Place<'_> {
    /// Returns the path of the list of tests that take any device, which [`tests`] writes.
    pub(super) fn device_tests(&self) -> PathBuf {
        self.folder.join("device-tests.log")
    }

    /// Returns the folder of the programs of crates/gpgmm.
    fn gpgmm_folder(&self) -> PathBuf {
        self.folder.join("gpgmm")
    }

    /// Returns the path of a file of known gaps.
    fn known_gaps(&self, name: &str) -> PathBuf {
        self.root.join("xtask/src/test_wine/known_gaps").join(name)
    }

    /// Runs a program in Wine with a time limit, after which all programs in Wine are terminated.
    fn run(&self, command: Command, limit: Duration, log: &str) -> Result<process::Run, String> {
        let run = process::run(command, limit, &self.logs.join(log))?;
        if run.was_ended() {
            self.wine.end_programs();
        }
        Ok(run)
    }
}

/// Runs the test programs on the runtime.
fn tests(place: &Place<'_>) -> Counts {
    let environment = vec![stress(40_000), (TEST_LOG, place.device_tests().display().to_string())];
    let runner = Runner { wine: place.wine, logs: place.logs, step: "ours", environment };
    let is_left_out = |name: &str| NOT_OF_WINDOWS.contains(&name) || place.is_short && LONG.contains(&name);
    let mut counts = Counts::default();
    for listed in NOT_OF_WINDOWS.iter().chain(LONG) {
        if !place.built.tests.iter().any(|program| program.name == *listed) {
            counts.failed.push(format!("{listed} is left out, but there is no such test program"));
        }
    }
    for program in place.built.tests.iter().filter(|program| !is_left_out(&program.name)) {
        let is_cli = place.is_short && program.name == "cli/program";
        let without = if is_cli { LONG_OF_PROGRAM } else { &[] };
        counts.add(runner.run(program, &KnownGaps::default(), without));
    }
    counts
}

/// Runs the library's integration tests on Wine's Direct3D 12. Only tests that log this device are counted; the others
/// use the simulated GPU and ran in [`tests`]. With `--short`, those that took no device there are not run again.
fn wine_tests(place: &Place<'_>) -> Result<Counts, String> {
    let gaps = KnownGaps::read(&place.known_gaps("tests.txt"))?;
    let log = place.folder.join("ran.log");
    remove(&log)?;
    let environment = vec![
        ("HEAPWRIGHT_TEST_DEVICE", "d3d12".to_owned()),
        (TEST_LOG, log.display().to_string()),
        // Tests the simulated GPU.
        stress(400),
    ];
    let runner = Runner { wine: place.wine, logs: place.logs, step: "wine", environment };
    let is_of_library =
        |program: &&TestProgram| program.name.starts_with("heapwright/") && program.name != "heapwright/unit";
    let programs: Vec<&TestProgram> = place.built.tests.iter().filter(is_of_library).collect();
    let device_tests = if place.is_short { fs::read_to_string(place.device_tests()).ok() } else { None };
    let mut counts = Counts::default();
    for program in &programs {
        let Some(list) = &device_tests else {
            counts.add(runner.run(program, &gaps, &[]));
            continue;
        };
        let binary = program.name.strip_prefix("heapwright/").unwrap_or(&program.name);
        let of_binary = |line| {
            let (test, _device) = str::split_once(line, '\t')?;
            test.strip_prefix(binary)?.strip_prefix("::")
        };
        let tests: Vec<&str> = list.lines().filter_map(of_binary).collect();
        if !tests.is_empty() {
            counts.add(runner.run_only(program, &gaps, &tests));
        }
    }
    let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
    for entry in gaps.of_none(&names) {
        counts.failed.push(format!("{entry} is listed as a known gap, but the program does not exist"));
    }
    let log = fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    counts.passed = log.lines().filter(|line| line.ends_with("\td3d12")).count();
    if counts.passed == 0 {
        counts.failed.push("no test ran on Wine's Direct3D 12".to_owned());
    }
    Ok(counts)
}

/// Deletes a file that an earlier run may have left.
pub(super) fn remove(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the environment variable for the number of submissions of the residency stress test, which is reduced
/// because the full test runs on Linux.
fn stress(submissions: u32) -> (&'static str, String) {
    ("HEAPWRIGHT_STRESS_SUBMISSIONS", submissions.to_string())
}

/// Runs programs that take an optional device and must exit successfully.
fn examples(place: &Place<'_>, device: Option<&str>, programs: &[(String, PathBuf)]) -> Counts {
    let mut counts = Counts::default();
    if programs.is_empty() {
        counts.failed.push("there are no examples".to_owned());
    }
    for (name, path) in programs {
        let mut command = place.wine.command(path);
        command.args(device.iter().flat_map(|device| ["--device", device]));
        let result = place.run(command, LIMIT_OF_EXAMPLE, &format!("{name}-{}", device.unwrap_or("default")));
        let result = result.and_then(|run| if run.is_success() { Ok(()) } else { Err(run.describe()) });
        counts.add(Counts::one(result.map_err(|error| format!("{name}: {error}"))));
    }
    counts
}

/// Builds and runs the programs of interop/, which use the system's Direct3D 12.
fn interop(place: &Place<'_>) -> Result<Counts, String> {
    let programs = build::build_interop(place.root, place.target_folder)?;
    Ok(examples(place, None, &programs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_are_left_out_exist() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/tests/program");
        for name in LONG_OF_PROGRAM {
            let (module, test) = name.split_once("::").unwrap();
            let source = fs::read_to_string(folder.join(module).with_added_extension("rs")).unwrap();
            assert!(test.is_empty() || source.contains(&format!("fn {test}()")), "{name}");
        }
    }
}
