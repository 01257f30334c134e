//! The results of calls, and of checks.

use std::borrow::Cow;
use std::fmt::Display;

use heapwright_d3d12::{E_INVALIDARG, E_NOTIMPL, S_OK};
use windows_core::HRESULT;

use crate::hresult::Named;

/// The result of a check: a summary of its findings, or the reason why it stopped.
pub type Verdict = Result<String, Stop>;

/// The reason why a check stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The device violates the rule; the text says what was expected and what was found.
    Failed(String),
    /// The check does not apply to the device, for the given reason.
    Skipped(String),
    /// The device does not implement what the text names. [`Strictness`] decides between failed and skipped.
    Unimplemented(String),
}

/// The outcome of a check that needs a call which the device does not implement (`E_NOTIMPL`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// The check is skipped.
    #[default]
    SkipUnimplemented,
    /// The check fails.
    FailUnimplemented,
}

/// Returns the error that fails the check.
pub(crate) fn failed<T>(detail: impl Display) -> Result<T, Stop> {
    Err(Stop::Failed(detail.to_string()))
}

/// Returns the error that skips the check.
pub(crate) fn skipped<T>(reason: impl Display) -> Result<T, Stop> {
    Err(Stop::Skipped(reason.to_string()))
}

/// Fails the check unless the condition holds.
pub(crate) fn require(holds: bool, detail: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(String::new()) } else { Err(Stop::Failed(detail())) }
}

/// Fails the check with a formatted message unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        $crate::answer::require($holds, || format!($($message)+))?
    };
}

pub(crate) use ensure;

/// Fails the check unless `found` equals `expected`, and returns the value as the summary.
pub(crate) fn require_eq<T: PartialEq + std::fmt::Debug>(
    what: impl Display,
    found: T,
    expected: T,
) -> Verdict {
    ensure!(found == expected, "{what}: expected {expected:?}, found {found:?}");
    Ok(format!("{what}: {found:?}"))
}

/// Runs a test for each case and returns the number of cases.
pub(crate) fn each<C, T>(
    cases: impl IntoIterator<Item = C>,
    mut test: impl FnMut(C) -> Result<T, Stop>,
) -> Verdict {
    let mut count = 0;
    for case in cases {
        test(case)?;
        count += 1;
    }
    Ok(format!("{count} cases"))
}

/// Fails the check unless `address` is a multiple of `alignment` other than 0.
pub(crate) fn require_address(what: impl Display, address: u64, alignment: u64) -> Verdict {
    ensure!(address != 0, "{what} has no address");
    let excess = address % alignment;
    require(excess == 0, || format!("{what} is {excess} bytes above a multiple of {alignment}"))
}

/// The result of a call, with the call's name for messages.
#[must_use]
pub(crate) struct Answer<T> {
    call: Cow<'static, str>,
    result: Result<T, HRESULT>,
}

impl<T> Answer<T> {
    pub(crate) fn new(call: impl Into<Cow<'static, str>>, result: Result<T, HRESULT>) -> Self {
        Self { call: call.into(), result }
    }

    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> Answer<U> {
        Answer { call: self.call, result: self.result.map(map) }
    }

    /// Returns the value, if the call succeeded.
    pub(crate) fn value(&self) -> Option<&T> {
        self.result.as_ref().ok()
    }

    /// Returns the result as it is, `E_NOTIMPL` included.
    pub(crate) fn result(self) -> Result<T, HRESULT> {
        self.result
    }

    /// Returns the result, or stops the check if the call is not implemented.
    pub(crate) fn implemented(self) -> Result<Result<T, HRESULT>, Stop> {
        match self.result {
            Err(E_NOTIMPL) => Err(Stop::Unimplemented(self.call.into_owned())),
            result => Ok(result),
        }
    }

    /// Returns the value, or fails the check if the call failed.
    pub(crate) fn ok(self, what: impl Display) -> Result<T, Stop> {
        let call = self.call.clone();
        self.implemented()?
            .or_else(|hresult| failed(format!("{call}, {what}: expected S_OK, found {}", Named(hresult))))
    }

    /// Fails the check unless the call succeeded.
    pub(crate) fn taken(self, what: impl Display) -> Verdict {
        self.ok(what).map(|_| "S_OK".to_owned())
    }

    /// Fails the check unless the call returned `E_INVALIDARG`.
    pub(crate) fn refused(self, what: impl Display) -> Verdict {
        self.refused_with(&[E_INVALIDARG], what)
    }

    /// Fails the check unless the call returned one of these HRESULTs, and returns the name of the one found.
    pub(crate) fn refused_with(self, expected: &[HRESULT], what: impl Display) -> Verdict {
        let call = self.call.clone();
        let found = self.refusable()?.err().unwrap_or(S_OK);
        require(expected.contains(&found), || {
            let names: Vec<String> = expected.iter().map(|&one| Named(one).to_string()).collect();
            format!("{call}, {what}: expected {}, found {}", names.join(" or "), Named(found))
        })?;
        Ok(Named(found).to_string())
    }

    /// Fails the check unless the call failed with any HRESULT, and returns its name.
    pub(crate) fn fails(self, what: impl Display) -> Verdict {
        let call = self.call.clone();
        match self.refusable()? {
            Err(hresult) => Ok(Named(hresult).to_string()),
            Ok(_) => failed(format!("{call}, {what}: expected a failure, found S_OK")),
        }
    }

    /// As [`implemented`](Self::implemented), for calls that the device may refuse.
    pub(crate) fn refusable(self) -> Result<Result<T, HRESULT>, Stop> {
        #[cfg(test)]
        refusals::note();
        self.implemented()
    }
}

/// Records whether a check requires a refusal, for the test of the checks' classes.
#[cfg(test)]
pub(crate) mod refusals {
    use std::cell::Cell;

    thread_local! {
        static ASKED: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn note() {
        ASKED.set(true);
    }

    /// Returns whether a check on this thread required a refusal since the last call.
    pub(crate) fn take() -> bool {
        ASKED.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn require_address_rejects_zero() {
        let detail = |address| match require_address("a heap", address, 65_536) {
            Err(Stop::Failed(detail)) => detail,
            _ => String::new(),
        };
        assert_eq!(detail(65_536), "");
        assert_eq!(detail(0), "a heap has no address");
        assert_eq!(detail(65_540), "a heap is 4 bytes above a multiple of 65536");
    }
}

/// Records whether a check executes commands and reads bytes, for the test that counts such checks.
#[cfg(test)]
pub(crate) mod bytes {
    use std::cell::Cell;

    thread_local! {
        static SEEN: Cell<(bool, bool)> = const { Cell::new((false, false)) };
    }

    pub(crate) fn note_execution() {
        SEEN.with(|seen| seen.set((true, seen.get().1)));
    }

    pub(crate) fn note_read() {
        SEEN.with(|seen| seen.set((seen.get().0, true)));
    }

    /// Returns whether commands were executed and bytes read since the last call.
    pub(crate) fn take() -> (bool, bool) {
        SEEN.take()
    }
}
