//! Names of devices, as a command line or an environment variable has them.

use std::path::PathBuf;

use crate::{D3d12, Gpu, LoadError};

/// What `d3d12`, `d3d12:N` and `d3d12:PATH` name.
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
    /// `d3d12`: the system's D3D12, on the adapter that it chooses.
    System,
    /// `d3d12:N`, digits alone: the adapter of that number, from 0, in the order of [`D3d12::adapters`].
    Adapter(usize),
    /// `d3d12:PATH`: what the library at the path makes of no adapter.
    Library(PathBuf),
}

/// The name, or what stands before the colon.
const D3D12: &str = "d3d12";

impl DeviceName {
    /// Reads a name; `None` for what is none of the three. A number that does not fit is that of no adapter.
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

    /// Loads what is named, and creates the device.
    ///
    /// # Safety
    ///
    /// As [`D3d12::open`] where a [`Library`](Self::Library) is named. The other names ask for nothing.
    ///
    /// # Errors
    ///
    /// [`LoadError::NoAdapter`] for a number that is past the last; otherwise as [`D3d12::system`], [`D3d12::open`] and
    /// [`D3d12::create_device`].
    pub unsafe fn open(&self) -> Result<Gpu, LoadError> {
        match self {
            Self::System => D3d12::system()?.create_device(None),
            Self::Adapter(number) => {
                let system = D3d12::system()?;
                let adapter = system.adapter(*number)?;
                system.create_device(Some(&adapter))
            }
            // SAFETY: the caller's promise.
            Self::Library(path) => unsafe { D3d12::open(path) }?.create_device(None),
        }
    }
}
