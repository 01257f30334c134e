//! Exit codes of the program.

use std::process::ExitCode;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_returns_the_more_severe_exit() {
        assert_eq!(Exit::Success.and(Exit::Failure), Exit::Failure);
        assert_eq!(Exit::BadInput.and(Exit::Failure), Exit::BadInput);
        assert_eq!(Exit::Success.and(Exit::Success), Exit::Success);
    }
}
