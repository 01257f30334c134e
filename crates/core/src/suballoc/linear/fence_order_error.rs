//! The error of a batch with a decreasing fence value.

use std::error::Error;
use std::fmt;

use crate::FenceValue;

/// A batch was submitted with a fence value below that of an earlier batch. The state is unchanged.
///
/// A queue signals a fence in submission order, so its values only increase. For a fence that starts from the
/// beginning, for example after device removal, call `clear` first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceOrderError {
    /// The fence value that was passed.
    pub fence: FenceValue,
    /// The fence value that was submitted last.
    pub latest: FenceValue,
}

impl fmt::Display for FenceOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fence value {} is less than {}, which was submitted earlier", self.fence, self.latest)
    }
}

impl Error for FenceOrderError {}
