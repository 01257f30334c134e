//! The boundary between C++ and Rust: failures and panics become HRESULTs and log lines.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use heapwright::d3d12::hresult::Named;
use heapwright::d3d12::{E_FAIL, S_FALSE, S_OK};
use windows_core::HRESULT;

use crate::failure::Failure;
use crate::log;

/// Runs the body of a function that returns an HRESULT.
#[inline]
pub(crate) fn hresult(call: &str, body: impl FnOnce() -> Result<HRESULT, Failure>) -> HRESULT {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(hresult)) => hresult,
        Ok(Err(failure)) => report(call, &failure),
        Err(panic) => {
            report_panic(call, &*panic);
            E_FAIL
        }
    }
}

/// Runs the body of a function that cannot fail. After a panic, it returns the default.
#[inline]
pub(crate) fn value<T: Default>(call: &str, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        report_panic(call, &*panic);
        T::default()
    })
}

#[cold]
fn report(call: &str, failure: &Failure) -> HRESULT {
    match failure {
        Failure::Library(error) => {
            tracing::error!("{call}: {error}");
            error.hresult()
        }
        Failure::Refused(hresult, rule) => {
            tracing::error!("{call}: {rule} ({:#})", Named(*hresult));
            *hresult
        }
    }
}

#[cold]
fn report_panic(call: &str, panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)");
    log::corruption(&format!("{call}: bug in gpgmm_d3d12: {text}"));
}

/// Returns the structure behind a reference parameter of C++.
///
/// # Safety
///
/// The pointer is null or points to a readable `T`.
#[inline]
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, parameter: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(parameter))
}

/// Stores what `make` returns in a structure that C++ passes.
///
/// # Errors
///
/// E_POINTER for null, and `make`'s; the structure is unchanged then.
///
/// # Safety
///
/// The pointer is null or points to writable space.
pub(crate) unsafe fn write<T>(
    out: *mut T,
    parameter: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<HRESULT, Failure> {
    if out.is_null() {
        return Err(Failure::null(parameter));
    }
    let value = make()?;
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    Ok(S_OK)
}

/// Stores a value in a parameter that may be null: the result is S_FALSE then.
///
/// # Safety
///
/// The pointer is null or points to writable space.
pub(crate) unsafe fn store<T>(out: *mut T, value: T) -> HRESULT {
    if out.is_null() {
        return S_FALSE;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    S_OK
}

/// Returns the elements of an array that C++ passes.
///
/// # Errors
///
/// E_POINTER for null, unless there are no elements.
///
/// # Safety
///
/// The pointer is null or points to `count` readable elements.
pub(crate) unsafe fn array<'a, T>(
    pointer: *const T,
    count: u32,
    parameter: &str,
) -> Result<&'a [T], Failure> {
    match (pointer.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::null(parameter)),
        // SAFETY: the caller's promise.
        (false, count) => Ok(unsafe { std::slice::from_raw_parts(pointer, count as usize) }),
    }
}

#[cfg(test)]
mod tests {
    use heapwright::d3d12::{E_INVALIDARG, E_POINTER};

    use super::*;

    #[test]
    fn panics_do_not_cross_the_boundary() {
        assert_eq!(hresult("Call", || panic!("a bug in a test")), E_FAIL);
        assert_eq!(hresult("Call", || std::panic::panic_any(7)), E_FAIL);
        assert_eq!(value("Call", || -> u64 { panic!("a bug in a {}", "test") }), 0);
        assert_eq!(hresult("Call", || Ok(S_OK)), S_OK);
        assert_eq!(hresult("Call", || Err(Failure::null("pDevice"))), E_POINTER);
        assert_eq!(hresult("Call", || Err(Failure::invalid_argument("too large"))), E_INVALIDARG);
    }
}
