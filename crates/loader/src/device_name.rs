//! Names of devices, for command lines and environment variables.

use std::path::PathBuf;

use crate::{D3d12, Gpu, LoadError};

/// A device name: `d3d12`, `d3d12:N` or `d3d12:PATH`.
///
/// ```
/// use heapwright_loader::DeviceName;
///
/// assert_eq!(DeviceName::parse("d3d12"), Some(DeviceName::System));
/// assert_eq!(DeviceName::parse("d3d12:1"), Some(DeviceName::Adapter(1)));
/// assert_eq!(DeviceName::parse("d3d12:./lib.so"), Some(DeviceName::Library("./lib.so".into())));
/// assert_eq!(DeviceName::parse("d3d12:"), None);
/// assert_eq!(DeviceName::parse("vulkan"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceName {
    /// `d3d12`: the system's Direct3D 12 on its default adapter.
    System,
    /// `d3d12:N`, with decimal digits: the system's adapter at this index of [`D3d12::adapters`].
    Adapter(usize),
    /// `d3d12:PATH`: the library at this path, on its default adapter.
    Library(PathBuf),
}

/// The whole name, or the part before the colon.
const D3D12: &str = "d3d12";

impl DeviceName {
    /// Parses a name. Returns `None` if it has none of the three forms. Numbers that exceed `usize` are valid and name
    /// no adapter.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(D3D12)?;
        if rest.is_empty() {
            return Some(Self::System);
        }
        let rest = rest.strip_prefix(':').filter(|rest| !rest.is_empty())?;
        Some(if rest.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Adapter(rest.parse().unwrap_or(usize::MAX))
        } else {
            Self::Library(PathBuf::from(rest))
        })
    }

    /// Loads the library and creates the device.
    ///
    /// # Safety
    ///
    /// For [`Library`](Self::Library), the requirements of [`D3d12::open`] must be met. There are none for other names.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NoAdapter`] if the adapter does not exist, and the errors of [`D3d12::system`],
    /// [`D3d12::open`] and [`D3d12::create_device`].
    pub unsafe fn open(&self) -> Result<Gpu, LoadError> {
        match self {
            Self::System => D3d12::system()?.create_device(None),
            Self::Adapter(number) => {
                let system = D3d12::system()?;
                let adapter = system.adapter(*number)?;
                system.create_device(Some(&adapter))
            }
            // SAFETY: guaranteed by the caller.
            Self::Library(path) => unsafe { D3d12::open(path) }?.create_device(None),
        }
    }
}
