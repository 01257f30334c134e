//! Why there is no D3D12, no adapter, or no device.

use std::path::PathBuf;

use heapwright_d3d12::hresult::Named;
use windows_core::HRESULT;

/// Why there is no D3D12, no list of adapters, or no device. Printed, it is one line that names the library.
///
/// Paths, and a system's words about them, are printed as they are: whoever shows them where a control character does harm
/// escapes them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// This operating system has no D3D12 of its own.
    #[error("only Windows has a D3D12 of its own; elsewhere d3d12:PATH loads a library that has one")]
    NotWindows,
    /// The system could not load the library.
    #[error("cannot load {library}: {reason}", library = .library.display())]
    CannotLoad {
        /// As it was asked for.
        library: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The library does not export what every D3D12 exports.
    #[error("{library} is no D3D12: it does not export {symbol}", library = .library.display())]
    NoSymbol {
        /// As it was asked for.
        library: PathBuf,
        /// The function that is missing.
        symbol: &'static str,
    },
    /// The library's functions follow another calling convention than the system's, so that calling them would crash.
    #[error(
        "{library} is vkd3d (it exports {symbol}): on x86-64 its functions follow Microsoft's calling convention and not \
         the system's, so this program cannot call them; vkd3d-proton's follow the system's",
        library = .library.display()
    )]
    ForeignCalls {
        /// As it was asked for.
        library: PathBuf,
        /// The function that it was recognised by.
        symbol: &'static str,
    },
    /// The system has no adapter of that number.
    #[error("there is no adapter {number}; the system has {}", adapters(*.count))]
    NoAdapter {
        /// The number, from 0.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// A function of the library answered with an error.
    #[error("{library}: {call} answered {:#}", Named(*.hresult), library = .library.display())]
    Call {
        /// As it was asked for.
        library: PathBuf,
        /// The function or method.
        call: &'static str,
        /// Its answer.
        hresult: HRESULT,
    },
    /// A function of the library answered success and gave a null pointer.
    #[error("{library}: {call} answered success without an object", library = .library.display())]
    NoObject {
        /// As it was asked for.
        library: PathBuf,
        /// The function.
        call: &'static str,
    },
}

impl LoadError {
    /// Whether there is nothing of the name: no library, one that is not what it should be, or no adapter of the number.
    /// Otherwise it was loaded, and one of its functions failed.
    #[must_use]
    pub fn is_about_name(&self) -> bool {
        match self {
            Self::NotWindows
            | Self::CannotLoad { .. }
            | Self::NoSymbol { .. }
            | Self::NoAdapter { .. }
            | Self::ForeignCalls { .. } => true,
            Self::Call { .. } | Self::NoObject { .. } => false,
        }
    }
}

/// `no adapters`, `1 adapter, number 0`, `3 adapters, numbers 0 to 2`.
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
    fn an_adapter_that_is_not_there_is_told_how_many_are() {
        let message = |count| LoadError::NoAdapter { number: 7, count }.to_string();
        assert_eq!(message(0), "there is no adapter 7; the system has no adapters");
        assert_eq!(message(1), "there is no adapter 7; the system has 1 adapter, number 0");
        assert_eq!(message(3), "there is no adapter 7; the system has 3 adapters, numbers 0 to 2");
    }
}
