//! Standard output and standard error. No other module writes to them.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::AutoStream;
use heapwright_report::Visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::exit::{Exit, Failed};

/// Writer of a command's results, errors and progress.
///
/// Results may contain colours, which are removed unless standard output is a terminal and `NO_COLOR` is unset.
pub(crate) struct Output {
    stdout: AutoStream<io::Stdout>,
    stderr: AutoStream<io::Stderr>,
    stderr_is_terminal: bool,
    is_closed: bool,
}

/// Returns the error of writing to standard output, such as that of a full disk.
pub(crate) fn cannot_write(error: &io::Error) -> Failed {
    Failed::failure(format_args!("cannot write to standard output: {error}"))
}

impl Output {
    pub(crate) fn new() -> Self {
        Self {
            stdout: AutoStream::auto(io::stdout()),
            stderr: AutoStream::auto(io::stderr()),
            stderr_is_terminal: io::stderr().is_terminal(),
            is_closed: false,
        }
    }

    /// Prints a result and a line feed.
    ///
    /// After the reader has closed the pipe, as `head` does, nothing is printed and the command continues: its files
    /// are written, and its exit code is that of all of its work.
    pub(crate) fn result(&mut self, text: &dyn Display) -> Result<(), Failed> {
        if self.is_closed {
            return Ok(());
        }
        // An error at exit would be ignored.
        let printed = writeln!(self.stdout, "{text}").and_then(|()| self.stdout.flush());
        self.is_closed = printed.as_ref().is_err_and(is_closed_pipe);
        if self.is_closed { Ok(()) } else { printed.map_err(|error| cannot_write(&error)) }
    }

    /// Prints a result as JSON on one line.
    pub(crate) fn json(&mut self, result: &impl Serialize) -> Result<(), Failed> {
        // Only maps with keys that are not strings can fail.
        self.result(&serde_json::to_string(result).expect("results have no such maps"))
    }

    /// Prints why something has no result, and returns the exit code.
    pub(crate) fn failed(&mut self, failed: &Failed) -> Exit {
        self.error(failed);
        failed.exit
    }

    /// Returns whether the reader has closed the pipe.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Prints an error as one line. Control characters, as in names and paths, are escaped.
    pub(crate) fn error(&mut self, error: &dyn Display) {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        // If standard error is closed, the error cannot be reported.
        let _ = writeln!(self.stderr, "{style}error:{style:#} {}", Visible(&error.to_string()));
    }

    /// Prints a line that belongs to the error before it.
    pub(crate) fn detail(&mut self, detail: &dyn Display) {
        // If standard error is closed, the line cannot be printed.
        let _ = writeln!(self.stderr, "    {}", Visible(&detail.to_string()));
    }

    /// Prints a warning as one line, as [`error`](Self::error) does.
    pub(crate) fn warning(&mut self, warning: &dyn Display) {
        let style = anstyle::AnsiColor::Yellow.on_default().bold();
        // If standard error is closed, the warning cannot be reported.
        let _ = writeln!(self.stderr, "{style}warning:{style:#} {}", Visible(&warning.to_string()));
    }

    /// Returns a progress bar on standard error, which is hidden unless `is_wanted` and standard error is a terminal.
    /// Control characters of the task are escaped.
    pub(crate) fn progress(&self, is_wanted: bool, task: &str, step_count: u64) -> ProgressBar {
        if !is_wanted || !self.stderr_is_terminal {
            return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg} {wide_bar:.green} {human_pos}/{human_len} {eta:>4}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(step_count).with_style(style).with_message(Visible(task).to_string())
    }
}

/// Returns whether the error is that the reader has closed the pipe.
pub(crate) fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
