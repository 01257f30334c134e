//! Shared libraries that stay loaded, and the functions of D3D12 and DXGI that they export.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

use heapwright_d3d12::D3D_FEATURE_LEVEL;
use windows_core::{GUID, HRESULT};

use crate::LoadError;

/// `D3D12CreateDevice`: adapter, minimum feature level, interface, where the device goes.
pub(crate) type CreateDevice =
    unsafe extern "system" fn(*mut c_void, D3D_FEATURE_LEVEL, *const GUID, *mut *mut c_void) -> HRESULT;

/// `D3D12GetInterface`: class, interface, where the object goes.
pub(crate) type GetInterface =
    unsafe extern "system" fn(*const GUID, *const GUID, *mut *mut c_void) -> HRESULT;

/// `CreateDXGIFactory1`: interface, where the factory goes.
pub(crate) type CreateFactory1 = unsafe extern "system" fn(*const GUID, *mut *mut c_void) -> HRESULT;

/// `CreateDXGIFactory2`: flags, interface, where the factory goes.
pub(crate) type CreateFactory2 = unsafe extern "system" fn(u32, *const GUID, *mut *mut c_void) -> HRESULT;

/// A shared library, loaded for ever: its functions may be called at any time.
#[derive(Debug)]
pub(crate) struct Library {
    /// As it was asked for.
    path: PathBuf,
    module: module::Module,
}

impl Library {
    /// Loads the file at `path`, and what it needs from beside it.
    ///
    /// # Safety
    ///
    /// As [`D3d12::open`](crate::D3d12::open).
    pub(crate) unsafe fn open(path: &Path) -> Result<Self, LoadError> {
        let cannot_load = |reason| LoadError::CannotLoad { library: path.to_owned(), reason };
        // Not a search along the system's path, which a name without a directory would be.
        let absolute = std::path::absolute(path).map_err(|error| cannot_load(error.to_string()))?;
        // SAFETY: the caller's promise.
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

    /// `D3D12CreateDevice`, which every D3D12 has.
    pub(crate) fn create_device(&self) -> Result<CreateDevice, LoadError> {
        if let Some(symbol) = FOREIGN_CALLS.iter().find(|symbol| self.module.exports(symbol)) {
            return Err(LoadError::ForeignCalls { library: self.path.clone(), symbol });
        }
        const SYMBOL: &str = "D3D12CreateDevice";
        // SAFETY: the type is that function's, and the calling convention that of its header (FOREIGN_CALLS are those that
        // are known to have another).
        let function = unsafe { self.module.function::<CreateDevice>(SYMBOL) };
        function.ok_or_else(|| LoadError::NoSymbol { library: self.path.clone(), symbol: SYMBOL })
    }

    /// `D3D12GetInterface`, since Windows 10 20H1.
    pub(crate) fn get_interface(&self) -> Option<GetInterface> {
        // SAFETY: the type is that function's.
        unsafe { self.module.function::<GetInterface>("D3D12GetInterface") }
    }

    /// `CreateDXGIFactory2`, since Windows 8.1.
    pub(crate) fn create_factory2(&self) -> Option<CreateFactory2> {
        // SAFETY: the type is that function's.
        unsafe { self.module.function::<CreateFactory2>("CreateDXGIFactory2") }
    }

    /// `CreateDXGIFactory1`.
    pub(crate) fn create_factory1(&self) -> Option<CreateFactory1> {
        // SAFETY: the type is that function's.
        unsafe { self.module.function::<CreateFactory1>("CreateDXGIFactory1") }
    }
}

/// What a D3D12 exports whose functions follow another calling convention than this program's "system".
///
/// vkd3d, as Wine's people build it for Linux, has Microsoft's on x86-64. Its library of D3D12's functions is known by those
/// that it adds; vkd3d-proton, which follows the system's, has dropped them.
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

    /// What the operating system loaded.
    #[derive(Debug)]
    pub(super) struct Module(ManuallyDrop<os::Library>);

    impl Module {
        /// Loads a file; `path` is absolute.
        ///
        /// # Safety
        ///
        /// The initialisers of the library, and of those that it needs, may run now.
        pub(super) unsafe fn open(path: &Path) -> Result<Self, String> {
            // SAFETY: the caller's promise for the initialisers; finalisers never run, as the library is never unloaded.
            #[cfg(unix)]
            let library = unsafe { os::Library::open(Some(path.as_os_str()), os::RTLD_NOW | os::RTLD_LOCAL) };
            // SAFETY: as above; the flag has Windows look beside the file for what it needs, and asks for an absolute path.
            #[cfg(windows)]
            let library =
                unsafe { os::Library::load_with_flags(path.as_os_str(), os::LOAD_WITH_ALTERED_SEARCH_PATH) };
            library.map(|library| Self(ManuallyDrop::new(library))).map_err(|error| {
                let mut reason = reason(&error, path);
                // Windows' words name neither the file nor what it needs; other systems' do.
                if cfg!(windows) && reason.ends_with(MODULE_NOT_FOUND) && path.exists() {
                    reason.push_str("; the file is there, a DLL that it needs is not");
                }
                reason
            })
        }

        /// Loads a library that Windows finds by its name.
        #[cfg(windows)]
        pub(super) fn of_system(name: &str) -> Result<Self, String> {
            // SAFETY: a library of the system, which is trusted; it is never unloaded.
            let library = unsafe { os::Library::new(name) };
            library
                .map(|library| Self(ManuallyDrop::new(library)))
                .map_err(|error| reason(&error, Path::new(name)))
        }

        /// The exported function of that name.
        ///
        /// # Safety
        ///
        /// `F` is a function pointer, and the type of that function.
        pub(super) unsafe fn function<F: Copy>(&self, symbol: &str) -> Option<F> {
            // SAFETY: the caller's promise. A null pointer is none.
            let found = unsafe { self.0.get::<Option<F>>(symbol.as_bytes()) };
            // The pointer outlives the borrow: the library is never unloaded.
            found.ok().and_then(|function| *function)
        }

        /// Whether anything of that name is exported.
        pub(super) fn exports(&self, symbol: &str) -> bool {
            // SAFETY: a function pointer of any type may be looked at; this one is not called.
            unsafe { self.function::<unsafe extern "system" fn()>(symbol) }.is_some()
        }
    }

    /// How the words for Windows' ERROR_MOD_NOT_FOUND end.
    const MODULE_NOT_FOUND: &str = "(os error 126)";

    /// The system's words, without the path that they may begin with.
    fn reason(error: &libloading::Error, path: &Path) -> String {
        let words = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        let path = format!("{}: ", path.display());
        words.strip_prefix(&path).unwrap_or(&words).trim_end().to_owned()
    }
}

#[cfg(not(any(unix, windows)))]
mod module {
    use std::path::Path;

    /// There are no shared libraries here.
    #[derive(Debug)]
    pub(super) enum Module {}

    impl Module {
        /// # Safety
        ///
        /// None is needed: nothing is loaded.
        pub(super) unsafe fn open(_path: &Path) -> Result<Self, String> {
            Err("this operating system has no shared libraries".to_owned())
        }

        /// # Safety
        ///
        /// None is needed: there is no module to ask.
        pub(super) unsafe fn function<F: Copy>(&self, _symbol: &str) -> Option<F> {
            match *self {}
        }

        pub(super) fn exports(&self, _symbol: &str) -> bool {
            match *self {}
        }
    }
}
