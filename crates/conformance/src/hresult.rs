//! HRESULTs by the names that people know.

use std::fmt;

use heapwright_d3d12::*;
use windows_core::HRESULT;

/// An HRESULT that prints as `E_INVALIDARG`, or as a number where it has no name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named(pub HRESULT);

const NAMES: [(HRESULT, &str); 16] = [
    (S_OK, "S_OK"),
    (S_FALSE, "S_FALSE"),
    (E_INVALIDARG, "E_INVALIDARG"),
    (E_NOTIMPL, "E_NOTIMPL"),
    (E_NOINTERFACE, "E_NOINTERFACE"),
    (E_OUTOFMEMORY, "E_OUTOFMEMORY"),
    (E_FAIL, "E_FAIL"),
    (E_POINTER, "E_POINTER"),
    (DXGI_ERROR_NOT_FOUND, "DXGI_ERROR_NOT_FOUND"),
    (DXGI_ERROR_MORE_DATA, "DXGI_ERROR_MORE_DATA"),
    (DXGI_ERROR_UNSUPPORTED, "DXGI_ERROR_UNSUPPORTED"),
    (DXGI_ERROR_INVALID_CALL, "DXGI_ERROR_INVALID_CALL"),
    (DXGI_ERROR_DEVICE_REMOVED, "DXGI_ERROR_DEVICE_REMOVED"),
    (DXGI_ERROR_DEVICE_HUNG, "DXGI_ERROR_DEVICE_HUNG"),
    (DXGI_ERROR_DEVICE_RESET, "DXGI_ERROR_DEVICE_RESET"),
    (DXGI_ERROR_ACCESS_DENIED, "DXGI_ERROR_ACCESS_DENIED"),
];

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(hresult, _)| *hresult == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{:#010x}", self.0.0.cast_unsigned()),
        }
    }
}
