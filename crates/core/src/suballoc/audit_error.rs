//! The error of a consistency audit.

use std::error::Error;
use std::fmt;

/// A violated invariant of a suballocator's own structure. It is always a defect in this crate, never a
/// mistake of the caller.
///
/// `Display` names the invariant and where it is violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditError {
    finding: String,
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inconsistent suballocator: {}", self.finding)
    }
}

impl Error for AuditError {}

impl AuditError {
    pub(crate) fn new(finding: String) -> Self {
        Self { finding }
    }
}
