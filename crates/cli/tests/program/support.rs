//! Runs the program and takes its words apart.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// What the program said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn from_output(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the program was not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// All is well, and nothing was said on standard error.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// The program ended with `code` and said one line on standard error, this one.
    #[track_caller]
    pub(crate) fn one_error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{}", self.stderr);
        let lines: Vec<&str> = self.stderr.lines().collect();
        let [line] = lines[..] else { panic!("not one line: {}", self.stderr) };
        line.strip_prefix("error: ").unwrap_or_else(|| panic!("{line}"))
    }
}

/// The program in the repository's root, with the environment that tests need.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapwright"));
    command.current_dir(repository()).env_remove("HEAPWRIGHT_LOG");
    command
}

pub(crate) fn heapwright<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Said {
    Said::from_output(command().args(args).output().unwrap())
}

/// What `--device` takes for each simulated GPU. On Windows the system's adapters are listed as well.
pub(crate) fn simulated_devices() -> Vec<String> {
    let stdout = heapwright(["devices", "--json"]).ok();
    let devices = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names = devices.map(|device| device["device"].as_str().unwrap().to_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with("host:")).collect();
    assert!(names.len() > 1, "{names:?}");
    names
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of made-up traces, deleted with it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file with these bytes; its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A trace with these rows after the header; its path.
    pub(crate) fn trace(&self, name: &str, rows: &str) -> String {
        self.file(name, format!("time_us,event,id,size_bytes\n{rows}"))
    }
}
