//! Names of HRESULTs.

use std::fmt;

use windows_core::HRESULT;

use crate::bindings::*;

/// Displays an HRESULT with its name.
///
/// `{}` writes `E_INVALIDARG`, and `{:#}` writes `E_INVALIDARG (0x80070057)`. An unknown HRESULT is written as a
/// number.
///
/// ```
/// use heapwright_d3d12::hresult::Named;
/// use heapwright_d3d12::{DXGI_ERROR_UNSUPPORTED, windows_core::HRESULT};
///
/// assert_eq!(Named(DXGI_ERROR_UNSUPPORTED).to_string(), "DXGI_ERROR_UNSUPPORTED");
/// assert_eq!(format!("{:#}", Named(DXGI_ERROR_UNSUPPORTED)), "DXGI_ERROR_UNSUPPORTED (0x887a0004)");
/// assert_eq!(format!("{:#}", Named(HRESULT(0x1234))), "0x00001234");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named(pub HRESULT);

/// HRESULTs of Direct3D 12, DXGI and COM. The last ones are from winerror.h, because the metadata lacks them.
const NAMES: &[(HRESULT, &str)] = &[
    (S_OK, "S_OK"),
    (S_FALSE, "S_FALSE"),
    (E_FAIL, "E_FAIL"),
    (E_INVALIDARG, "E_INVALIDARG"),
    (E_NOINTERFACE, "E_NOINTERFACE"),
    (E_NOTIMPL, "E_NOTIMPL"),
    (E_OUTOFMEMORY, "E_OUTOFMEMORY"),
    (E_POINTER, "E_POINTER"),
    (D3D12_ERROR_ADAPTER_NOT_FOUND, "D3D12_ERROR_ADAPTER_NOT_FOUND"),
    (D3D12_ERROR_DRIVER_VERSION_MISMATCH, "D3D12_ERROR_DRIVER_VERSION_MISMATCH"),
    (D3D12_ERROR_INVALID_REDIST, "D3D12_ERROR_INVALID_REDIST"),
    (DXGI_ERROR_ACCESS_DENIED, "DXGI_ERROR_ACCESS_DENIED"),
    (DXGI_ERROR_ALREADY_EXISTS, "DXGI_ERROR_ALREADY_EXISTS"),
    (DXGI_ERROR_DEVICE_HUNG, "DXGI_ERROR_DEVICE_HUNG"),
    (DXGI_ERROR_DEVICE_REMOVED, "DXGI_ERROR_DEVICE_REMOVED"),
    (DXGI_ERROR_DEVICE_RESET, "DXGI_ERROR_DEVICE_RESET"),
    (DXGI_ERROR_DRIVER_INTERNAL_ERROR, "DXGI_ERROR_DRIVER_INTERNAL_ERROR"),
    (DXGI_ERROR_INVALID_CALL, "DXGI_ERROR_INVALID_CALL"),
    (DXGI_ERROR_MORE_DATA, "DXGI_ERROR_MORE_DATA"),
    (DXGI_ERROR_NAME_ALREADY_EXISTS, "DXGI_ERROR_NAME_ALREADY_EXISTS"),
    (DXGI_ERROR_NOT_CURRENTLY_AVAILABLE, "DXGI_ERROR_NOT_CURRENTLY_AVAILABLE"),
    (DXGI_ERROR_NOT_FOUND, "DXGI_ERROR_NOT_FOUND"),
    (DXGI_ERROR_SDK_COMPONENT_MISSING, "DXGI_ERROR_SDK_COMPONENT_MISSING"),
    (DXGI_ERROR_UNSUPPORTED, "DXGI_ERROR_UNSUPPORTED"),
    (DXGI_ERROR_WAIT_TIMEOUT, "DXGI_ERROR_WAIT_TIMEOUT"),
    (DXGI_ERROR_WAS_STILL_DRAWING, "DXGI_ERROR_WAS_STILL_DRAWING"),
    (number(0x8000_4004), "E_ABORT"),
    (number(0x8000_FFFF), "E_UNEXPECTED"),
    (number(0x8007_0005), "E_ACCESSDENIED"),
    (number(0x8007_0006), "E_HANDLE"),
];

const fn number(bits: u32) -> HRESULT {
    HRESULT(bits.cast_signed())
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.0.cast_unsigned();
        match NAMES.iter().find(|(hresult, _)| *hresult == self.0) {
            Some((_, name)) if f.alternate() => write!(f, "{name} ({number:#010x})"),
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{number:#010x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_unique() {
        for (place, (hresult, name)) in NAMES.iter().enumerate() {
            assert!(!NAMES[..place].iter().any(|(other, known)| other == hresult || known == name), "{name}");
        }
    }
}
