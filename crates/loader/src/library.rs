//! Shared libraries and the functions of Direct3D 12 and DXGI that they export.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

use heapwright_d3d12::D3D_FEATURE_LEVEL;
use windows_core::{GUID, HRESULT};

use crate::LoadError;

/// `D3D12CreateDevice`: adapter, minimum feature level, IID, device (out).
pub(crate) type CreateDevice =
    unsafe extern "system" fn(*mut c_void, D3D_FEATURE_LEVEL, *const GUID, *mut *mut c_void) -> HRESULT;

/// `D3D12GetInterface`: CLSID, IID, object (out).
pub(crate) type GetInterface =
    unsafe extern "system" fn(*const GUID, *const GUID, *mut *mut c_void) -> HRESULT;

/// `CreateDXGIFactory1`: IID, factory (out).
pub(crate) type CreateFactory1 = unsafe extern "system" fn(*const GUID, *mut *mut c_void) -> HRESULT;

/// `CreateDXGIFactory2`: flags, IID, factory (out).
pub(crate) type CreateFactory2 = unsafe extern "system" fn(u32, *const GUID, *mut *mut c_void) -> HRESULT;

/// A shared library that is never unloaded, so its functions may be called at any time.
#[derive(Debug)]
pub(crate) struct Library {
    /// The path or name that the caller passed.
    path: PathBuf,
    module: module::Module,
}

impl Library {
    /// Loads the file at `path`.
    ///
    /// # Safety
    ///
    /// The requirements of [`D3d12::open`](crate::D3d12::open) must be met.
    pub(crate) unsafe fn open(path: &Path) -> Result<Self, LoadError> {
        let cannot_load = |reason| LoadError::CannotLoad { library: path.to_owned(), reason };
        // With a name without directory, the system would use its search path.
        let absolute = std::path::absolute(path).map_err(|error| cannot_load(error.to_string()))?;
        // SAFETY: guaranteed by the caller.
        let module = unsafe { module::Module::open(&absolute) }.map_err(cannot_load)?;
        Ok(Self { path: path.to_owned(), module })
    }

    /// Loads a library of the system.
    #[cfg(windows)]
    pub(crate) fn of_system(name: &str) -> Result<Self, LoadError> {
        let library = PathBuf::from(name);
        match module::Module::of_system(name) {
            Ok(module) => Ok(Self { path: library, module }),
            Err(reason) => Err(LoadError::CannotLoad { library, reason }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `D3D12CreateDevice`, which is required.
    pub(crate) fn create_device(&self) -> Result<CreateDevice, LoadError> {
        if let Some(symbol) = FOREIGN_CALLS.iter().find(|symbol| self.module.exports(symbol)) {
            return Err(LoadError::ForeignCalls { library: self.path.clone(), symbol });
        }
        const SYMBOL: &str = "D3D12CreateDevice";
        // SAFETY: this is the function's type. Libraries with another calling convention are detected by FOREIGN_CALLS.
        let function = unsafe { self.module.function::<CreateDevice>(SYMBOL) };
        function.ok_or_else(|| LoadError::NoSymbol { library: self.path.clone(), symbol: SYMBOL })
    }

    /// Returns `D3D12GetInterface`, available since Windows 10 20H1.
    pub(crate) fn get_interface(&self) -> Option<GetInterface> {
        // SAFETY: this is the function's type.
        unsafe { self.module.function::<GetInterface>("D3D12GetInterface") }
    }

    /// Returns `CreateDXGIFactory2`, available since Windows 8.1.
    pub(crate) fn create_factory2(&self) -> Option<CreateFactory2> {
        // SAFETY: this is the function's type.
        unsafe { self.module.function::<CreateFactory2>("CreateDXGIFactory2") }
    }

    /// Returns `CreateDXGIFactory1`.
    pub(crate) fn create_factory1(&self) -> Option<CreateFactory1> {
        // SAFETY: this is the function's type.
        unsafe { self.module.function::<CreateFactory1>("CreateDXGIFactory1") }
    }
}

/// Functions exported by libraries that do not use the "system" calling convention.
///
/// Native builds of Wine's vkd3d use Microsoft's calling convention on x86-64 and export these functions. vkd3d-proton
/// uses the system's calling convention and does not export them.
const FOREIGN_CALLS: &[&str] = if cfg!(all(target_arch = "x86_64", not(windows))) {
    &["vkd3d_create_event", "D3D12CreateDeviceVKD3D"]
} else {
    &[]
};

#[cfg(any(unix, windows))]
mod module {
    use std::error::Error as _;
    use std::mem::ManuallyDrop;
    use std::path::Path;

    #[cfg(unix)]
    use libloading::os::unix as os;
    #[cfg(windows)]
    use libloading::os::windows as os;

    /// A module loaded by the operating system.
    #[derive(Debug)]
    pub(super) struct Module(ManuallyDrop<os::Library>);

    impl Module {
        /// Loads the file at an absolute path.
        ///
        /// # Safety
        ///
        /// The initialization routines of the library and its dependencies must be safe to run now.
        pub(super) unsafe fn open(path: &Path) -> Result<Self, String> {
            // SAFETY: guaranteed by the caller. Termination routines never run, because the library is never unloaded.
            #[cfg(unix)]
            let library = unsafe { os::Library::open(Some(path.as_os_str()), os::RTLD_NOW | os::RTLD_LOCAL) };
            // SAFETY: as above. The flag searches for dependencies in the library's directory and requires an absolute
            // path.
            #[cfg(windows)]
            let library =
                unsafe { os::Library::load_with_flags(path.as_os_str(), os::LOAD_WITH_ALTERED_SEARCH_PATH) };
            library.map(|library| Self(ManuallyDrop::new(library))).map_err(|error| {
                let mut reason = reason(&error, path);
                // Windows' message does not name the missing file.
                if cfg!(windows) && reason.ends_with(MODULE_NOT_FOUND) && path.exists() {
                    reason.push_str("; the file exists, but one of its dependencies is missing");
                }
                reason
            })
        }

        /// Loads a library of the system by name.
        #[cfg(windows)]
        pub(super) fn of_system(name: &str) -> Result<Self, String> {
            // SAFETY: libraries of the system are trusted, and it is never unloaded.
            let library = unsafe { os::Library::new(name) };
            library
                .map(|library| Self(ManuallyDrop::new(library)))
                .map_err(|error| reason(&error, Path::new(name)))
        }

        /// Returns the exported function with this name, or `None` if there is none.
        ///
        /// # Safety
        ///
        /// `F` must be the function pointer type of that function.
        pub(super) unsafe fn function<F: Copy>(&self, symbol: &str) -> Option<F> {
            // SAFETY: guaranteed by the caller. A null pointer becomes `None`.
            let found = unsafe { self.0.get::<Option<F>>(symbol.as_bytes()) };
            // The pointer remains valid, because the library is never unloaded.
            found.ok().and_then(|function| *function)
        }

        /// Returns whether the library exports this symbol.
        pub(super) fn exports(&self, symbol: &str) -> bool {
            // SAFETY: the function is not called.
            unsafe { self.function::<unsafe extern "system" fn()>(symbol) }.is_some()
        }
    }

    /// End of the message of Windows' ERROR_MOD_NOT_FOUND.
    const MODULE_NOT_FOUND: &str = "(os error 126)";

    /// Returns the system's message without a leading path.
    fn reason(error: &libloading::Error, path: &Path) -> String {
        let words = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        let path = format!("{}: ", path.display());
        words.strip_prefix(&path).unwrap_or(&words).trim_end().to_owned()
    }
}

#[cfg(not(any(unix, windows)))]
mod module {
    use std::path::Path;

    /// A module on systems without shared libraries, which cannot exist.
    #[derive(Debug)]
    pub(super) enum Module {}

    impl Module {
        /// # Safety
        ///
        /// There are no requirements, because nothing is loaded.
        pub(super) unsafe fn open(_path: &Path) -> Result<Self, String> {
            Err("shared libraries are not supported on this operating system".to_owned())
        }

        /// # Safety
        ///
        /// There are no requirements, because the method cannot be called.
        pub(super) unsafe fn function<F: Copy>(&self, _symbol: &str) -> Option<F> {
            match *self {}
        }

        pub(super) fn exports(&self, _symbol: &str) -> bool {
            match *self {}
        }
    }
}
