//! Why a batch was not closed.

use std::error::Error;
use std::fmt;

use crate::FenceValue;

/// A batch was submitted under a fence value below that of an earlier one. Nothing was changed.
///
/// A queue signals a fence in the order of submission, so its values only go up. For a fence that starts anew, as after
/// the loss of a device, call `clear` first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceOrderError {
    /// The value that was given.
    pub fence: FenceValue,
    /// The value that was submitted last.
    pub latest: FenceValue,
}

impl fmt::Display for FenceOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fence value {} was submitted after {}", self.fence, self.latest)
    }
}

impl Error for FenceOrderError {}
