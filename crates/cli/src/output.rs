//! Standard output and standard error: the only place that writes to them.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::AutoStream;
use heapwright_report::Visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Where a command's results, errors and progress go.
///
/// Results may hold colours; they reach a terminal only (and not if `NO_COLOR` is set).
pub(crate) struct Output {
    stdout: AutoStream<io::Stdout>,
    stderr: AutoStream<io::Stderr>,
    stderr_is_terminal: bool,
}

/// Why results could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// The reader of a pipe has gone, as `head` does; nothing to report, and to nobody.
    #[error("standard output is closed")]
    Closed,
    /// Anything else, as a full disk.
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

    /// Prints a result and ends the line.
    pub(crate) fn result(&mut self, text: &dyn Display) -> Result<(), OutputError> {
        writeln!(self.stdout, "{text}")?;
        // Not at exit, where an error would go unseen.
        self.stdout.flush()?;
        Ok(())
    }

    /// Prints an error, in one line: it may hold names and paths of others.
    pub(crate) fn error(&mut self, error: &dyn Display) {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        // When standard error is closed there is nowhere left to say so.
        let _ = writeln!(self.stderr, "{style}error:{style:#} {}", Visible(&error.to_string()));
    }

    /// A bar on standard error, where that is a terminal and `is_wanted`; one that draws nothing elsewhere.
    pub(crate) fn progress(&self, is_wanted: bool, task: &str, step_count: u64) -> ProgressBar {
        if !is_wanted || !self.stderr_is_terminal {
            return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg} {wide_bar:.green} {human_pos}/{human_len} {eta:>4}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(step_count).with_style(style).with_message(task.to_owned())
    }
}
