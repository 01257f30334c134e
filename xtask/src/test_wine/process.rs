//! Running programs with a time limit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::limited;

/// Number of lines of output that are shown for a failed program.
const SHOWN_LINES: usize = 40;

/// Result of a program.
pub(super) struct Run {
    /// Exit status, or `None` if the program was killed after the time limit.
    status: Option<ExitStatus>,
    limit: Duration,
    /// Standard output.
    pub(super) stdout: String,
    pub(super) stderr: String,
    output: PathBuf,
}

impl Run {
    /// Returns whether the program exited with code 0.
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Returns whether the program exceeded the time limit.
    pub(super) fn was_ended(&self) -> bool {
        self.status.is_none()
    }

    /// Describes the exit status and the end of the output.
    pub(super) fn describe(&self) -> String {
        let how = match self.status {
            None => format!("exceeded the time limit of {} s", self.limit.as_secs()),
            Some(status) => status.to_string(),
        };
        let mut text = format!("{how} (full output: {}.out, .err)", self.output.display());
        for stream in [&self.stdout, &self.stderr] {
            let lines: Vec<&str> = stream.lines().collect();
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                text.push_str("\n    ");
                text.push_str(line);
            }
        }
        text
    }
}

/// Runs `command` with a time limit, and writes its output to `output` with the extensions `.out` and `.err`.
///
/// After the limit the process is killed, but not its children.
pub(super) fn run(mut command: Command, limit: Duration, output: &Path) -> Result<Run, String> {
    let file = |ending: &str| {
        let path = output.with_added_extension(ending);
        let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>((path, file))
    };
    let (out_path, out) = file("out")?;
    let (err_path, err) = file("err")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|error| format!("starting {}: {error}", command.get_program().display()))?;
    let program = command.get_program().display();
    let status =
        limited::wait(&mut child, limit).map_err(|error| format!("waiting for {program}: {error}"))?;
    if status.is_none() {
        // Fails if the process has just exited.
        let _ = child.kill();
        let _ = child.wait();
    }
    // The output may be invalid UTF-8.
    let text = |path: &Path| {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
    };
    Ok(Run {
        status,
        limit,
        stdout: text(&out_path)?,
        stderr: text(&err_path)?,
        output: output.to_path_buf(),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, limit: Duration) -> Run {
        let name = format!("xtask-process-{}-{}", std::process::id(), script.len());
        let output = std::env::temp_dir().join(name);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let run = run(command, limit, &output).expect("sh exists");
        for ending in ["out", "err"] {
            fs::remove_file(output.with_added_extension(ending)).expect("it was written");
        }
        run
    }

    #[test]
    fn status_and_output_are_returned() {
        let run = shell("printf 'one\\r\\ntwo'; echo no >&2; exit 3", Duration::from_secs(30));
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("one\ntwo", "no\n"));
        assert!(!run.is_success() && !run.was_ended());
        assert!(run.describe().starts_with("exit status: 3 "), "{}", run.describe());
        assert!(run.describe().ends_with("\n    one\n    two\n    no"), "{}", run.describe());
        assert!(shell("exit 0", Duration::from_secs(30)).is_success());
    }

    #[test]
    fn a_hanging_program_is_killed() {
        let start = Instant::now();
        let run = shell("echo here; exec sleep 60", Duration::from_secs(1));
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(run.was_ended() && !run.is_success());
        assert!(run.describe().starts_with("exceeded the time limit of 1 s "), "{}", run.describe());
        assert_eq!(run.stdout, "here\n");
    }
}
