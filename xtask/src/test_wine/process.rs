//! Running a program until it ends or its time is over.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often is looked whether a program has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Lines of a program's output that are shown when it fails.
const SHOWN_LINES: usize = 40;

/// A program that ran.
pub(super) struct Run {
    /// Nothing if it was ended because its time was over.
    status: Option<ExitStatus>,
    limit: Duration,
    /// What it wrote.
    pub(super) stdout: String,
    pub(super) stderr: String,
    output: PathBuf,
}

impl Run {
    /// Whether it ended by itself, with exit code 0.
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Whether its time was over.
    pub(super) fn was_ended(&self) -> bool {
        self.status.is_none()
    }

    /// How it ended, and the end of what it said.
    pub(super) fn why_not(&self) -> String {
        let how = match self.status {
            None => format!("did not end in {} s", self.limit.as_secs()),
            Some(status) => status.to_string(),
        };
        let mut text = format!("{how} (all it wrote: {}.out, .err)", self.output.display());
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

/// Runs `command` for at most `limit`; what it writes goes to `output` with the endings `.out` and `.err`.
///
/// When the time is over the process is killed. Those that it started are not.
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
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < end => thread::sleep(PAUSE),
            Ok(None) => {
                // It may have ended by now, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            Err(error) => return Err(format!("waiting for {}: {error}", command.get_program().display())),
        }
    };
    // A program may write what is no text.
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
    use super::*;

    fn shell(script: &str, limit: Duration) -> Run {
        let name = format!("xtask-process-{}-{}", std::process::id(), script.len());
        let output = std::env::temp_dir().join(name);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let run = run(command, limit, &output).expect("sh is there");
        for ending in ["out", "err"] {
            fs::remove_file(output.with_added_extension(ending)).expect("it was written");
        }
        run
    }

    #[test]
    fn a_program_that_ends_is_read() {
        let run = shell("printf 'one\\r\\ntwo'; echo no >&2; exit 3", Duration::from_secs(30));
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("one\ntwo", "no\n"));
        assert!(!run.is_success() && !run.was_ended());
        assert!(run.why_not().starts_with("exit status: 3 "), "{}", run.why_not());
        assert!(run.why_not().ends_with("\n    one\n    two\n    no"), "{}", run.why_not());
        assert!(shell("exit 0", Duration::from_secs(30)).is_success());
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let start = Instant::now();
        let run = shell("echo here; exec sleep 60", Duration::from_secs(1));
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(run.was_ended() && !run.is_success());
        assert!(run.why_not().starts_with("did not end in 1 s "), "{}", run.why_not());
        assert_eq!(run.stdout, "here\n");
    }
}
