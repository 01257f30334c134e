//! Errors of loading a library and creating a device.

use std::path::PathBuf;

use heapwright_d3d12::hresult::Named;
use windows_core::HRESULT;

/// An error of loading a library, enumerating adapters or creating a device.
///
/// The `Display` form is one line that names the library. Paths and messages of the system are not escaped; escape
/// control characters before printing them to a terminal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The operating system does not include Direct3D 12.
    #[error("only Windows includes Direct3D 12; use d3d12:PATH to load it from a library")]
    NotWindows,
    /// The library cannot be loaded.
    #[error("cannot load {library}: {reason}", library = .library.display())]
    CannotLoad {
        /// The library, as passed by the caller.
        library: PathBuf,
        /// The system's error message.
        reason: String,
    },
    /// The library does not export a required function.
    #[error("{library} is not a Direct3D 12 library: it does not export {symbol}", library = .library.display())]
    NoSymbol {
        /// The library, as passed by the caller.
        library: PathBuf,
        /// Name of the missing function.
        symbol: &'static str,
    },
    /// The library's functions do not use the system's calling convention, so calling them would crash.
    #[error(
        "{library} is a build of vkd3d (it exports {symbol}), whose functions use Microsoft's calling convention on x86-64; \
         only libraries with the system's calling convention are supported, such as vkd3d-proton",
        library = .library.display()
    )]
    ForeignCalls {
        /// The library, as passed by the caller.
        library: PathBuf,
        /// Name of the function that identifies vkd3d.
        symbol: &'static str,
    },
    /// The system has no adapter with this number.
    #[error("adapter {number} does not exist; the system has {}", adapters(*.count))]
    NoAdapter {
        /// Number of the adapter, counted from 0.
        number: usize,
        /// Number of adapters.
        count: usize,
    },
    /// A function of the library returned an error.
    #[error("{library}: {call} failed with {:#}", Named(*.hresult), library = .library.display())]
    Call {
        /// The library, as passed by the caller.
        library: PathBuf,
        /// Name of the function or method.
        call: &'static str,
        /// The returned HRESULT.
        hresult: HRESULT,
    },
    /// The library enumerates adapters without end.
    #[error("{library}: IDXGIFactory1::EnumAdapters1 returned {count} adapters, and DXGI_ERROR_NOT_FOUND for none", library = .library.display())]
    EndlessAdapters {
        /// The library, as passed by the caller.
        library: PathBuf,
        /// Number of adapters.
        count: u32,
    },
    /// A function of the library succeeded but returned a null pointer.
    #[error("{library}: {call} succeeded but returned a null pointer", library = .library.display())]
    NoObject {
        /// The library, as passed by the caller.
        library: PathBuf,
        /// Name of the function.
        call: &'static str,
    },
}

impl LoadError {
    /// Returns whether the name of the library or adapter is the cause: the library cannot be loaded or is not a
    /// Direct3D 12 library, or the adapter does not exist. Otherwise a function of a loaded library failed.
    #[must_use]
    pub fn is_about_name(&self) -> bool {
        match self {
            Self::NotWindows
            | Self::CannotLoad { .. }
            | Self::NoSymbol { .. }
            | Self::NoAdapter { .. }
            | Self::ForeignCalls { .. } => true,
            Self::Call { .. } | Self::EndlessAdapters { .. } | Self::NoObject { .. } => false,
        }
    }
}

/// Formats a number of adapters: `no adapters`, `1 adapter, number 0`, `3 adapters, numbers 0 to 2`.
fn adapters(count: usize) -> String {
    match count {
        0 => "no adapters".to_owned(),
        1 => "1 adapter, number 0".to_owned(),
        _ => format!("{count} adapters, numbers 0 to {}", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_missing_adapter_has_the_valid_numbers() {
        let message = |count| LoadError::NoAdapter { number: 7, count }.to_string();
        assert_eq!(message(0), "adapter 7 does not exist; the system has no adapters");
        assert_eq!(message(1), "adapter 7 does not exist; the system has 1 adapter, number 0");
        assert_eq!(message(3), "adapter 7 does not exist; the system has 3 adapters, numbers 0 to 2");
    }
}
