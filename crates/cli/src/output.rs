//! Standard output and standard error. No other module writes to them.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::AutoStream;
use heapwright_report::Visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Writer of a command's results, errors and progress.
///
/// Results may contain colours, which are removed unless standard output is a terminal and `NO_COLOR` is unset.
pub(crate) struct Output {
    stdout: AutoStream<io::Stdout>,
    stderr: AutoStream<io::Stderr>,
    stderr_is_terminal: bool,
}

/// Error of writing to standard output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// The reader has closed the pipe, as `head` does. This is not reported.
    #[error("standard output is closed")]
    Closed,
    /// Any other error, such as a full disk.
    #[error("cannot write to standard output: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for OutputError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Io(error) }
    }
}

impl Output {
    pub(crate) fn new() -> Self {
        Self {
            stdout: AutoStream::auto(io::stdout()),
            stderr: AutoStream::auto(io::stderr()),
            stderr_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Prints a result and a line feed.
    pub(crate) fn result(&mut self, text: &dyn Display) -> Result<(), OutputError> {
        writeln!(self.stdout, "{text}")?;
        // An error at exit would be ignored.
        self.stdout.flush()?;
        Ok(())
    }

    /// Prints an error as one line. Control characters, as in names and paths, are escaped.
    pub(crate) fn error(&mut self, error: &dyn Display) {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        // If standard error is closed, the error cannot be reported.
        let _ = writeln!(self.stderr, "{style}error:{style:#} {}", Visible(&error.to_string()));
    }

    /// Prints a warning as one line, as [`error`](Self::error) does.
    pub(crate) fn warning(&mut self, warning: &dyn Display) {
        let style = anstyle::AnsiColor::Yellow.on_default().bold();
        // If standard error is closed, the warning cannot be reported.
        let _ = writeln!(self.stderr, "{style}warning:{style:#} {}", Visible(&warning.to_string()));
    }

    /// Returns a progress bar on standard error. It is hidden unless `is_wanted` and standard error is a terminal.
    pub(crate) fn progress(&self, is_wanted: bool, task: &str, step_count: u64) -> ProgressBar {
        if !is_wanted || !self.stderr_is_terminal {
            return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg} {wide_bar:.green} {human_pos}/{human_len} {eta:>4}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(step_count).with_style(style).with_message(task.to_owned())
    }
}
