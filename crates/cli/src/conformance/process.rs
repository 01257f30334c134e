//! A process of this program that runs checks: started, listened to, and ended when it takes too long.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use heapwright_conformance::{Check, CheckReport};

use super::isolation::{End, Processes};
use super::worker::Message;

/// Starts this program once more for checks of a device.
#[derive(Debug)]
pub(super) struct WorkerProcesses {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// How long a check may take.
    limit: Duration,
}

impl WorkerProcesses {
    /// For the device of that name. `verbosity` is what the log of the processes says.
    ///
    /// # Errors
    ///
    /// The system does not say where the program is.
    pub(super) fn new(device: &str, verbosity: u8, limit: Duration) -> std::io::Result<Self> {
        let mut arguments: Vec<OsString> =
            ["conformance", "--worker", "--device", device].map(OsString::from).into();
        arguments.extend((0..verbosity).map(|_| OsString::from("-v")));
        Ok(Self { program: std::env::current_exe()?, arguments, limit })
    }

    fn start(&self, checks: &[&'static Check]) -> std::io::Result<(Child, ChildStdout)> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            for check in checks {
                // A process that is gone already says so by its end.
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
        let mut heard = Heard::default();
        let is_in_time = listen(&messages(output), self.limit, |message| heard.take(message, checks, each));
        if !is_in_time {
            // It may have ended just now, which is as good.
            let _ = child.kill();
        }
        let status = child.wait();
        if let Some(reason) = heard.cannot_run {
            return End::CannotRun(reason);
        }
        let how = match status {
            _ if !is_in_time => format!("the process did not get on for {} s", self.limit.as_secs()),
            Ok(status) if status.success() && heard.is_done => return End::Done,
            Ok(status) => ending(status),
            Err(error) => format!("the end of the process is unknown: {error}"),
        };
        End::Broken { during: heard.running, how }
    }
}

/// What a process has said so far.
#[derive(Debug, Default)]
struct Heard {
    running: Option<&'static str>,
    cannot_run: Option<String>,
    is_done: bool,
}

impl Heard {
    fn take(&mut self, message: Message, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) {
        let find = |id: &str| checks.iter().copied().find(|check| check.id == id);
        match message {
            Message::Begins { id } => self.running = find(&id).map(|check| check.id),
            Message::Ended { id, result, detail } => {
                self.running = None;
                if let Some(check) = find(&id) {
                    each(CheckReport { check, outcome: result.into(), detail });
                }
            }
            Message::CannotRun { reason } => self.cannot_run = Some(reason),
            Message::Done => self.is_done = true,
        }
    }
}

/// Reads the lines of a process on a thread of its own. What is no message is a device's own talk.
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

/// Hands messages on until there are no more; answers false where one did not come in time.
fn listen(messages: &Receiver<Message>, limit: Duration, mut take: impl FnMut(Message)) -> bool {
    loop {
        match messages.recv_timeout(limit) {
            Ok(message) => take(message),
            Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

/// How a process ended that should not have.
fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return format!("the process was ended by signal {signal}");
        }
    }
    match status.code() {
        // Windows' exceptions are known by their hexadecimal numbers.
        Some(code) if code < 0 => format!("the process ended with code {code:#x}"),
        Some(code) => format!("the process ended with code {code}"),
        None => "the process ended".to_owned(),
    }
}
