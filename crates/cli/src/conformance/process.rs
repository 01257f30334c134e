//! The parent's side of a process that runs checks: starts it, reads its messages, and terminates it when it exceeds
//! the limits of time and memory.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use heapwright_conformance::{Check, CheckReport};

use super::isolation::{End, Processes};
use super::memory;
use super::worker::Message;

/// Runs checks of a device in processes of this program.
#[derive(Debug)]
pub(super) struct WorkerProcesses {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: Limits,
}

/// The limits of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Time limit of a check.
    pub(super) time: Duration,
    /// Limit of the process's memory in MiB, where the system tells it.
    pub(super) memory: u64,
}

/// A limit that a process exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exceeded {
    Time,
    Memory,
}

/// How often the memory of a process is looked at.
const TICK: Duration = Duration::from_millis(50);

impl WorkerProcesses {
    /// Creates a runner for the device with this name. `verbosity` is the log level of the processes.
    ///
    /// # Errors
    ///
    /// Returns an error if the path of this program cannot be determined.
    pub(super) fn new(device: &str, verbosity: u8, limits: Limits) -> std::io::Result<Self> {
        let mut arguments: Vec<OsString> =
            ["conformance", "--worker", "--device", device].map(OsString::from).into();
        arguments.extend((0..verbosity).map(|_| OsString::from("-v")));
        Ok(Self { program: std::env::current_exe()?, arguments, limits })
    }

    fn start(&self, checks: &[&'static Check]) -> std::io::Result<(Child, ChildStdout)> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Wine on a busy machine sometimes cannot start a process, and the next time can.
        let mut child = command.spawn().or_else(|_| command.spawn())?;
        if let Some(mut input) = child.stdin.take() {
            for check in checks {
                // If the process has exited, its status is reported later.
                if writeln!(input, "{}", check.id).is_err() {
                    break;
                }
            }
        }
        match child.stdout.take() {
            Some(output) => Ok((child, output)),
            None => Err(std::io::Error::other("the process has no standard output")),
        }
    }
}

impl Processes for WorkerProcesses {
    fn run(&mut self, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) -> End {
        let (mut child, output) = match self.start(checks) {
            Ok(started) => started,
            Err(error) => return End::CannotRun(format!("cannot start a process for the checks: {error}")),
        };
        let mut progress = Progress::default();
        let handle = |message| progress.handle(message, checks, each);
        let exceeded = listen(&messages(output), self.limits, || memory::resident(&child), handle);
        if exceeded.is_some() {
            // Fails if the process has just exited.
            let _ = child.kill();
        }
        let status = child.wait();
        if let Some(reason) = progress.cannot_run {
            return End::CannotRun(reason);
        }
        let how = match (exceeded, status) {
            (Some(Exceeded::Time), _) => {
                format!("the process exceeded the time limit of {} s", self.limits.time.as_secs())
            }
            (Some(Exceeded::Memory), _) => {
                format!("the process exceeded the memory limit of {} MiB", self.limits.memory)
            }
            (None, Ok(status)) if status.success() && progress.is_done => return End::Done,
            (None, Ok(status)) => describe(status),
            (None, Err(error)) => format!("cannot determine the exit status of the process: {error}"),
        };
        End::Broken { during: progress.running, how }
    }
}

/// State of a process according to its messages.
#[derive(Debug, Default)]
struct Progress {
    running: Option<&'static str>,
    cannot_run: Option<String>,
    is_done: bool,
}

impl Progress {
    fn handle(&mut self, message: Message, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) {
        let find = |id: &str| checks.iter().copied().find(|check| check.id == id);
        match message {
            Message::Begins { id } => self.running = find(&id).map(|check| check.id),
            Message::Ended { id, result, detail } => {
                self.running = None;
                if let Some(check) = find(&id) {
                    each(CheckReport { check, outcome: result, detail });
                }
            }
            Message::CannotRun { reason } => self.cannot_run = Some(reason),
            Message::Done => self.is_done = true,
        }
    }
}

/// Starts a thread that reads the messages of a process. Other lines are ignored; they are output of the device's
/// library.
fn messages(output: ChildStdout) -> Receiver<Message> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let Ok(line) = line else { break };
            let Ok(message) = serde_json::from_slice(&line) else { continue };
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Calls `handle` with each message until the process closes its output. Returns the limit that the process exceeded:
/// no message arrived in time, or `resident` returned more memory than allowed.
fn listen(
    messages: &Receiver<Message>,
    limits: Limits,
    resident: impl Fn() -> Option<u64>,
    mut handle: impl FnMut(Message),
) -> Option<Exceeded> {
    let mut last = Instant::now();
    loop {
        match messages.recv_timeout(TICK.min(limits.time)) {
            Ok(message) => {
                handle(message);
                last = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if last.elapsed() >= limits.time => return Some(Exceeded::Time),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if resident().is_some_and(|bytes| bytes >> 20 >= limits.memory) {
            return Some(Exceeded::Memory);
        }
    }
}

/// Describes the status of a process that failed.
fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return format!("the process was terminated by signal {signal}");
        }
    }
    match status.code() {
        // Exception codes of Windows are usually written in hexadecimal.
        Some(code) if code < 0 => format!("the process exited with code {code:#x}"),
        Some(code) => format!("the process exited with code {code}"),
        None => "the process exited".to_owned(),
    }
}
