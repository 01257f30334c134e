//! What a consistency audit found wrong.

use thiserror::Error;

/// A rule of a suballocator's own structure that does not hold: a defect in this crate, never a mistake of its caller.
///
/// It prints the rule and where it is broken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("inconsistent suballocator: {finding}")]
pub struct AuditError {
    finding: String,
}

impl AuditError {
    pub(crate) fn new(finding: String) -> Self {
        Self { finding }
    }
}
