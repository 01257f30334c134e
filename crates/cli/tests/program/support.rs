//! Running the program and checking its output.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, DeviceReport, HeapContents, HeapReport, PoolReport,
    ResourceReport,
};
use heapwright::{ByteSize, HeapOffset};
use heapwright_trace::session::{Action, Allocation, Heap, HeapType, Record, ResourceKind, SessionWriter};
use serde_json::Value;
use tempfile::TempDir;

/// Result of running the program.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn from_output(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the program was not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Expects success without standard error, and returns the standard output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// Expects the exit code and one line on standard error, and returns its error message.
    #[track_caller]
    pub(crate) fn one_error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{}", self.stderr);
        let lines: Vec<&str> = self.stderr.lines().collect();
        let [line] = lines[..] else { panic!("not one line: {}", self.stderr) };
        line.strip_prefix("error: ").unwrap_or_else(|| panic!("{line}"))
    }
}

/// Returns a command for the program, in the root of the repository, without log filter.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapwright"));
    command.current_dir(repository()).env_remove("HEAPWRIGHT_LOG");
    command
}

pub(crate) fn heapwright<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Outcome {
    Outcome::from_output(command().args(args).output().unwrap())
}

/// Runs the program, which must succeed, and returns its output, one JSON value.
#[track_caller]
pub(crate) fn json<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Value {
    let stdout = heapwright(args).ok();
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    serde_json::from_str(&stdout).unwrap()
}

/// Parses each line as JSON.
pub(crate) fn json_lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the program with `input` on its standard input.
pub(crate) fn heapwright_reading(input: &[u8], args: &[&str]) -> Outcome {
    let mut command = command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may exit before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    Outcome::from_output(child.wait_with_output().unwrap())
}

/// Returns a report with a heap of 4 MiB, two buffers in it, and a committed resource.
pub(crate) fn report(name: &str) -> AllocatorReport {
    let mut report = AllocatorReport::new(DeviceReport {
        description: "Test GPU".to_owned(),
        architecture: "discrete".to_owned(),
        ..Default::default()
    });
    report.pools.push(PoolReport { name: "default".to_owned(), ..Default::default() });
    let buffer = |offset| AllocationReport {
        offset: HeapOffset::new(offset),
        size: ByteSize::from_mib(1),
        kind: AllocationKind::Buffer,
        ..Default::default()
    };
    let named = AllocationReport { name: Some(name.to_owned()), ..buffer(0) };
    report.heaps.push(HeapReport {
        kind: HeapContents::Buffers,
        algorithm: "tlsf".to_owned(),
        size: ByteSize::from_mib(4),
        allocations: vec![named, buffer(2 << 20)],
        ..Default::default()
    });
    report.committed.push(ResourceReport {
        kind: AllocationKind::RenderTarget,
        size: ByteSize::from_mib(32),
        name: Some("back buffer".to_owned()),
        ..Default::default()
    });
    report.recount();
    report
}

pub(crate) fn report_json(name: &str) -> String {
    serde_json::to_string(&report(name)).unwrap()
}

/// Returns a session of actions at their times in microseconds.
pub(crate) fn session_at(actions: impl IntoIterator<Item = (u64, Action)>) -> Vec<u8> {
    let mut writer = SessionWriter::new(Vec::new()).unwrap();
    for (time_us, action) in actions {
        writer.write(&Record { time_us, action }).unwrap();
    }
    writer.finish().unwrap()
}

/// A heap that is created.
pub(crate) fn heap(id: u64, size: u64, heap_type: HeapType) -> Action {
    Action::CreateHeap(Heap { id, size, alignment: 65536, heap_type, flags: 0, name: None })
}

/// A buffer that is allocated.
pub(crate) fn buffer(id: u64, size: u64, heap_type: HeapType) -> Action {
    let kind = ResourceKind::Buffer;
    Action::Allocate(Allocation { id, size, kind, heap_type, flags: 0, name: None })
}

/// Returns the names of the simulated GPUs.
pub(crate) fn simulated_devices() -> Vec<String> {
    let devices = json_lines(&heapwright(["devices", "--json"]).ok()).into_iter();
    let names = devices.map(|device| device["device"].as_str().unwrap().to_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with("host:")).collect();
    assert!(names.len() > 1, "{names:?}");
    names
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A temporary directory for test files.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file with these bytes and returns its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes a trace with these rows after the header and returns its path.
    pub(crate) fn trace(&self, name: &str, rows: &str) -> String {
        self.file(name, format!("time_us,event,id,size_bytes\n{rows}"))
    }
}

/// `heapwright report --follow` until the end of the test.
pub(crate) struct Following {
    child: Child,
    pub(crate) address: String,
}

impl Following {
    pub(crate) fn start(session: &str) -> Self {
        let mut command = command();
        let mut child = command.args(["report", "--follow", session]).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim_end().to_owned() }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
