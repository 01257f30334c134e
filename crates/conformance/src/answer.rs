//! What a call answered, and what it should have.

use std::fmt::Display;

use heapwright_d3d12::{E_INVALIDARG, E_NOTIMPL};
use windows_core::HRESULT;

use crate::hresult::Named;

/// How a check ends: with what it found, or before its end.
pub type Verdict = Result<String, Stop>;

/// Why a check ended before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The device does not keep the rule: what was expected and what was found.
    Failed(String),
    /// The check does not apply: the reason.
    Skipped(String),
}

/// What a call that answers `E_NOTIMPL` means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// The check does not apply, and is skipped.
    #[default]
    SkipUnimplemented,
    /// The check has failed.
    FailUnimplemented,
}

/// A failed check, as an error to return.
pub(crate) fn failed<T>(detail: impl Display) -> Result<T, Stop> {
    Err(Stop::Failed(detail.to_string()))
}

/// A skipped check, as an error to return.
pub(crate) fn skipped<T>(reason: impl Display) -> Result<T, Stop> {
    Err(Stop::Skipped(reason.to_string()))
}

/// Fails the check unless `holds`.
pub(crate) fn require(holds: bool, detail: impl FnOnce() -> String) -> Result<(), Stop> {
    if holds { Ok(()) } else { Err(Stop::Failed(detail())) }
}

/// Fails the check unless both are equal.
pub(crate) fn require_eq<T: PartialEq + std::fmt::Debug>(
    what: impl Display,
    found: T,
    expected: T,
) -> Result<(), Stop> {
    require(found == expected, || format!("{what}: expected {expected:?}, found {found:?}"))
}

/// Fails the check unless `address` is a multiple of `alignment` other than 0, which is no address.
pub(crate) fn require_address(what: impl Display, address: u64, alignment: u64) -> Result<(), Stop> {
    require(address != 0, || format!("{what} has no address"))?;
    require(address.is_multiple_of(alignment), || {
        format!("{what} is {} bytes behind a multiple of {alignment}", address % alignment)
    })
}

impl Strictness {
    /// How a check ends whose device has nothing behind `call`. Every such ending comes from here.
    pub(crate) fn unimplemented(self, call: &str) -> Stop {
        match self {
            Self::SkipUnimplemented => Stop::Skipped(format!("the device does not implement {call}")),
            Self::FailUnimplemented => Stop::Failed(format!("the device does not implement {call}")),
        }
    }
}

/// What a call answered, with the call's name.
#[must_use]
pub(crate) struct Answer<T> {
    call: String,
    result: Result<T, HRESULT>,
    strictness: Strictness,
}

impl<T> Answer<T> {
    pub(crate) fn new(call: impl Into<String>, result: Result<T, HRESULT>, strictness: Strictness) -> Self {
        Self { call: call.into(), result, strictness }
    }

    /// The result, unless the call is not implemented.
    pub(crate) fn implemented(self) -> Result<Result<T, HRESULT>, Stop> {
        match self.result {
            Err(E_NOTIMPL) => Err(self.strictness.unimplemented(&self.call)),
            result => Ok(result),
        }
    }

    /// What was made; fails the check where nothing was.
    pub(crate) fn ok(self, what: impl Display) -> Result<T, Stop> {
        let call = self.call.clone();
        self.implemented()?
            .or_else(|hresult| failed(format!("{call}, {what}: expected S_OK, found {}", Named(hresult))))
    }

    /// Fails the check unless the call was refused with E_INVALIDARG.
    pub(crate) fn refused(self, what: impl Display) -> Result<(), Stop> {
        self.refused_with(&[E_INVALIDARG], what)
    }

    /// Fails the check unless the call was refused with one of these.
    pub(crate) fn refused_with(self, expected: &[HRESULT], what: impl Display) -> Result<(), Stop> {
        #[cfg(test)]
        refusals::note();
        let names = || expected.iter().map(|&one| Named(one).to_string()).collect::<Vec<_>>().join(" or ");
        let call = self.call.clone();
        match self.implemented()? {
            Err(hresult) if expected.contains(&hresult) => Ok(()),
            Err(hresult) => failed(format!("{call}, {what}: expected {}, found {}", names(), Named(hresult))),
            Ok(_) => failed(format!("{call}, {what}: expected {}, found S_OK", names())),
        }
    }

    /// The result of a call that may be refused, for who decides what that means.
    pub(crate) fn asked_to_refuse(self) -> Result<Result<T, HRESULT>, Stop> {
        #[cfg(test)]
        refusals::note();
        self.implemented()
    }

    /// Fails the check unless the call was refused, no matter how; with what it was.
    pub(crate) fn fails(self, what: impl Display) -> Result<String, Stop> {
        #[cfg(test)]
        refusals::note();
        let call = self.call.clone();
        match self.implemented()? {
            Err(hresult) => Ok(Named(hresult).to_string()),
            Ok(_) => failed(format!("{call}, {what}: expected a refusal, found S_OK")),
        }
    }
}

/// Whether checks ask for refusals, for the test that looks at their classes.
#[cfg(test)]
pub(crate) mod refusals {
    use std::cell::Cell;

    thread_local! {
        static ASKED: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn note() {
        ASKED.set(true);
    }

    /// Whether this thread has asked for one since the last call.
    pub(crate) fn take() -> bool {
        ASKED.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_zero_is_none() {
        let detail = |address| match require_address("a heap", address, 65_536) {
            Err(Stop::Failed(detail)) => detail,
            _ => String::new(),
        };
        assert_eq!(detail(65_536), "");
        assert_eq!(detail(0), "a heap has no address");
        assert_eq!(detail(65_540), "a heap is 4 bytes behind a multiple of 65536");
    }
}
