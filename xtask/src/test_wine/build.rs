//! Building everything for Windows with one call of cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::TARGET;

/// Name of the profile in Cargo.toml.
const PROFILE: &str = "test-wine";

/// All packages whose tests depend on the system. crates/core only uses std's locks and memory.
const PACKAGES: &[&str] = &[
    "heapwright",
    "heapwright-cli",
    "heapwright-conformance",
    "heapwright-d3d12",
    "heapwright-examples",
    "heapwright-gpgmm",
    "heapwright-intercept",
    "heapwright-loader",
    "heapwright-report",
    "heapwright-runtime",
    "heapwright-runtime-cdylib",
    "heapwright-simulation",
    "heapwright-tiles",
    "heapwright-trace",
    "heapwright-transient",
];

/// Artifacts that cargo built.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Test programs.
    pub(super) tests: Vec<TestProgram>,
    /// Examples, by name.
    pub(super) examples: Vec<(String, PathBuf)>,
    /// Programs, by name.
    programs: Vec<(String, PathBuf)>,
    /// heapwright_d3d12_runtime.dll.
    runtime: Option<PathBuf>,
    /// gpgmm_d3d12.dll.
    gpgmm: Option<PathBuf>,
}

/// A test program.
#[derive(Debug)]
pub(super) struct TestProgram {
    /// Directory of the package, in which tests run.
    pub(super) folder: PathBuf,
    /// Name of the package, a slash, and the name of the integration test or "unit".
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl Built {
    pub(super) fn program(&self) -> Result<&Path, String> {
        let program = self.programs.iter().find(|(name, _)| name == "heapwright");
        program.map(|(_, path)| path.as_path()).ok_or_else(|| "cargo built no program heapwright".to_owned())
    }

    pub(super) fn runtime(&self) -> Result<&Path, String> {
        self.runtime.as_deref().ok_or_else(|| "cargo built no heapwright_d3d12_runtime.dll".to_owned())
    }

    pub(super) fn gpgmm(&self) -> Result<&Path, String> {
        self.gpgmm.as_deref().ok_or_else(|| "cargo built no gpgmm_d3d12.dll".to_owned())
    }

    /// Adds the artifact in a line of cargo's output with `--message-format=json`. Other messages are ignored.
    fn add_message(&mut self, line: &str) -> Option<()> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" {
            return None;
        }
        let target = &message["target"];
        let (name, kind) = (target["name"].as_str()?, target["kind"][0].as_str()?);
        let executable = message["executable"].as_str().map(PathBuf::from);
        let is_test = message["profile"]["test"] == true;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        match executable {
            Some(path) if is_test => {
                let package = folder.file_name()?.to_str()?;
                let test = if kind == "test" { name } else { "unit" };
                let name = format!("{package}/{test}");
                self.tests.push(TestProgram { folder: folder.to_path_buf(), name, path });
            }
            // The examples of other crates use no device.
            Some(_) if kind == "example" && !folder.ends_with("crates/examples") => {}
            Some(path) if kind == "example" => self.examples.push((name.to_owned(), path)),
            Some(path) => self.programs.push((name.to_owned(), path)),
            None => {
                let library = match name {
                    "heapwright_d3d12_runtime" => &mut self.runtime,
                    "gpgmm_d3d12" => &mut self.gpgmm,
                    _ => return Some(()),
                };
                let mut files =
                    message["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
                *library = files.find(|path| path.extension().is_some_and(|ending| ending == "dll"));
            }
        }
        Some(())
    }
}

/// Builds all tests, programs, examples and libraries.
pub(super) fn build(root: &Path) -> Result<Built, String> {
    let mut command = cargo(root, "test");
    command.arg("--no-run");
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    let mut built = read(command, "the build for Windows")?;
    if built.tests.is_empty() {
        return Err("cargo built no tests".to_owned());
    }
    built.tests.sort_by(|a, b| a.name.cmp(&b.name));
    built.examples.sort();
    Ok(built)
}

/// Builds the programs of `interop/`, a separate workspace, and returns their names and paths.
pub(super) fn build_interop(root: &Path, target_folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    command.arg("--manifest-path").arg(root.join("interop/Cargo.toml"));
    command.arg("--target-dir").arg(target_folder);
    // Programs that run for a second are not worth optimizing.
    command.args(["--config", "profile.dev.debug=false"]).current_dir(root);
    let mut programs = read(command, "the build of interop/")?.programs;
    if programs.is_empty() {
        return Err("cargo built no programs of interop/".to_owned());
    }
    programs.sort();
    Ok(programs)
}

fn cargo(root: &Path, verb: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args([verb, "--profile", PROFILE, "--target", TARGET]);
    command.arg("--message-format=json-render-diagnostics").current_dir(root);
    command
}

/// Runs cargo and returns the artifacts.
fn read(mut command: Command, what: &str) -> Result<Built, String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("starting cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("{what} failed"));
    }
    let mut built = Built::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        built.add_message(line);
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_classified() {
        let mut built = Built::default();
        let artifact = |name: &str, kind: &str, is_test: bool, executable: Option<&str>, file: &str| {
            let package = if name == "hello" { "examples" } else { "core" };
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": format!("/w/crates/{package}/Cargo.toml"),
                "target": {"name": name, "kind": [kind]},
                "profile": {"test": is_test},
                "executable": executable,
                "filenames": [file],
            })
            .to_string()
        };
        for line in [
            "   Compiling something",
            r#"{"reason":"build-finished","success":true}"#,
            &artifact("heapwright_core", "lib", true, Some("/t/unit.exe"), "/t/unit.exe"),
            &artifact("ring", "test", true, Some("/t/ring.exe"), "/t/ring.exe"),
            &artifact("hello", "example", false, Some("/t/hello.exe"), "/t/hello.exe"),
            &artifact("packing", "example", false, Some("/t/packing.exe"), "/t/packing.exe"),
            &artifact("heapwright", "bin", false, Some("/t/heapwright.exe"), "/t/heapwright.exe"),
            &artifact("heapwright", "lib", false, None, "/t/libheapwright.rlib"),
            &artifact("heapwright_d3d12_runtime", "cdylib", false, None, "/t/heapwright_d3d12_runtime.dll"),
            &artifact("gpgmm_d3d12", "cdylib", false, None, "/t/gpgmm_d3d12.dll"),
        ] {
            built.add_message(line);
        }
        let tests: Vec<(&str, &str)> =
            built.tests.iter().map(|test| (test.name.as_str(), test.path.to_str().unwrap())).collect();
        assert_eq!(tests, [("core/unit", "/t/unit.exe"), ("core/ring", "/t/ring.exe")]);
        assert_eq!(built.tests[0].folder, Path::new("/w/crates/core"));
        assert_eq!(built.examples, [("hello".to_owned(), PathBuf::from("/t/hello.exe"))]);
        assert_eq!(built.program(), Ok(Path::new("/t/heapwright.exe")));
        assert_eq!(built.runtime(), Ok(Path::new("/t/heapwright_d3d12_runtime.dll")));
        assert_eq!(built.gpgmm(), Ok(Path::new("/t/gpgmm_d3d12.dll")));
    }
}
