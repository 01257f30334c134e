//! Why a call failed.

use std::fmt::Display;

use heapwright::Error;
use heapwright::d3d12::{E_INVALIDARG, E_POINTER};
use windows_core::HRESULT;

/// The result of what may fail within a call.
pub(crate) type Fallible<T> = Result<T, Failure>;

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Library(Error),
    /// An HRESULT, and the rule that the call broke.
    Refused(HRESULT, String),
}

impl Failure {
    pub(crate) fn invalid_argument(rule: impl Into<String>) -> Self {
        Self::Refused(E_INVALIDARG, rule.into())
    }

    /// Adds where in a structure the library found an error.
    pub(crate) fn at(place: impl Display, error: &Error) -> Self {
        Self::Refused(error.hresult(), format!("{place}: {error}"))
    }

    pub(crate) fn null(parameter: &str) -> Self {
        Self::Refused(E_POINTER, format!("{parameter} is null"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}
