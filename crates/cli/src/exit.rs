//! Exit codes of the program, and why a command has no result.

use std::fmt::{self, Display};
use std::process::ExitCode;

use heapwright_simulation::UnknownGenerated;
use heapwright_trace::TraceError;

/// Result of a command, in order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// The command succeeded.
    Success,
    /// The command ran and found a failure, such as a failed allocation or check.
    Failure,
    /// A file or an argument is invalid. clap uses the same code.
    BadInput,
}

impl Exit {
    /// Returns the more severe of the two.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::BadInput => 2,
        })
    }
}

/// Why a command, or a part of its work, has no result. Its `Display` form is the message.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    message: String,
}

impl Failed {
    /// A file or an argument is invalid.
    pub(crate) fn bad_input(message: impl Display) -> Self {
        Self { exit: Exit::BadInput, message: message.to_string() }
    }

    /// The work has failed.
    pub(crate) fn failure(message: impl Display) -> Self {
        Self { exit: Exit::Failure, message: message.to_string() }
    }

    /// Returns the failure of something that has a name, such as an option.
    pub(crate) fn of(self, name: impl Display) -> Self {
        Self { message: format!("{name}: {}", self.message), ..self }
    }
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<TraceError> for Failed {
    fn from(error: TraceError) -> Self {
        Self::bad_input(error)
    }
}

impl From<UnknownGenerated> for Failed {
    fn from(error: UnknownGenerated) -> Self {
        Self::bad_input(error)
    }
}
