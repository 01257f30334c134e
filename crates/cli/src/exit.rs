//! What the exit code says.

use std::process::ExitCode;

/// How a command ended. A later one outweighs an earlier one, so the worst of several is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything was done, and the answer is yes.
    Done,
    /// It was done, and the answer is no: an allocation failed, a check found something.
    No,
    /// It could not be done as asked: a file or an argument is wrong. Also what clap exits with.
    BadInput,
}

impl Exit {
    /// The worse of the two.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::BadInput => 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_wins() {
        assert_eq!(Exit::Done.and(Exit::No), Exit::No);
        assert_eq!(Exit::BadInput.and(Exit::No), Exit::BadInput);
        assert_eq!(Exit::Done.and(Exit::Done), Exit::Done);
    }
}
