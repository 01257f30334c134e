//! `cargo xtask test`: `cargo test`, in which a test that hangs is killed and named.
//!
//! cargo starts each test program, and rustdoc the doc tests, with [`run_program`]. The standard library's test harness
//! reports tests that run for more than 60 seconds, which also works on stable Rust and with its output in a pipe.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::libtest::LongRunning;
use crate::{command, limited};

/// Time limit of a test, and of a program that prints nothing. The longest tests take a few seconds on a machine with
/// nothing else to do.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Time after which the harness reports that a test is running.
const REPORTED_AFTER: Duration = Duration::from_secs(60);

/// Interval for checking the limits.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs `cargo test` with `arguments`.
pub(crate) fn run(root: &Path, arguments: &[OsString]) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| format!("path of xtask: {error}"))?;
    let this = this.to_str().ok_or_else(|| format!("{}: not UTF-8", this.display()))?;
    // A TOML array; JSON's strings are valid in TOML.
    let runner = serde_json::json!([this, "test-program"]);
    let mut command = Command::new("cargo");
    command.args(["test", "--config", &format!("target.'cfg(all())'.runner = {runner}")]).args(arguments);
    command::run(command.current_dir(root))
}

/// Runs a test program. When a test exceeds the limit, the program is killed, and the error names the test.
pub(crate) fn run_program(program: &OsStr, arguments: &[OsString]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // With a single thread, the harness does not report tests that run for long.
        let threads = thread::available_parallelism().map_or(2, usize::from).max(2);
        command.env("RUST_TEST_THREADS", threads.to_string());
    }
    run_with_limit(command, LIMIT)
}

fn run_with_limit(mut command: Command, limit: Duration) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("starting {name}: {error}"))?;
    let (sender, lines) = mpsc::channel();
    let output = child.stdout.take();
    // Not joined: the pipe stays open while a process that the program started has it.
    thread::spawn(move || output.map(|output| forward(output, &sender)));

    let (mut running, mut last_line) = (LongRunning::default(), Instant::now());
    let mut is_open = true;
    loop {
        match lines.recv_timeout(PAUSE) {
            Ok(line) => {
                last_line = Instant::now();
                running.add_line(&line, last_line);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if is_open => is_open = false,
            Err(RecvTimeoutError::Disconnected) => thread::sleep(PAUSE / 10),
        }
        if let Some(status) = child.try_wait().map_err(|error| format!("waiting for {name}: {error}"))? {
            // The rest of its output. A process that it left behind may keep the pipe open.
            while lines.recv_timeout(PAUSE).is_ok() {}
            return if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) };
        }
        let hanging = match running.first() {
            Some((test, since)) if since.elapsed() + REPORTED_AFTER > limit => format!("test {test}"),
            None if last_line.elapsed() > limit => "the program, outside of a reported test,".to_owned(),
            _ => continue,
        };
        limited::kill_with_descendants(&mut child);
        return Err(format!(
            "{name}: {hanging} exceeded the time limit of {} s and was killed",
            limit.as_secs()
        ));
    }
}

/// Prints each line of a program's output, and sends it.
fn forward(output: ChildStdout, sender: &Sender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while let Ok(1..) = output.read_until(b'\n', &mut line) {
        // Both fail only when this program is about to end.
        let _ = std::io::stdout().write_all(&line);
        let _ = sender.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_with_limit(command, limit)
    }

    #[test]
    fn a_hanging_test_is_killed_and_named() {
        let script = "echo 'test a has been running for over 60 seconds'
            echo 'test b::c has been running for over 60 seconds'
            echo 'test a ... ok'; sleep 600";
        let error = shell(script, REPORTED_AFTER + Duration::from_secs(1)).unwrap_err();
        assert_eq!(error, "sh: test b::c exceeded the time limit of 61 s and was killed");
    }

    #[test]
    fn a_program_that_hangs_between_tests_is_killed() {
        let error = shell("echo 'test a ... ok'; sleep 600", Duration::from_secs(1)).unwrap_err();
        assert!(error.starts_with("sh: the program, outside of a reported test, exceeded "), "{error}");
    }

    #[test]
    fn the_status_of_a_program_is_returned() {
        let limit = Duration::from_secs(60);
        assert_eq!(shell("echo 'test a ... ok'", limit), Ok(()));
        // Closing standard output does not end the program.
        assert_eq!(shell("exec >&-; sleep 1; exit 3", limit), Err("sh: exit status: 3".to_owned()));
    }
}
