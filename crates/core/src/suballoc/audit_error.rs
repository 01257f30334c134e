//! What a consistency audit found wrong.

use std::error::Error;
use std::fmt;

/// A rule of a suballocator's own structure that does not hold: a defect in this crate, never a mistake of its caller.
///
/// It prints the rule and where it is broken.
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
