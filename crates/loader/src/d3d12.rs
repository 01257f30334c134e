//! Loaded implementations of Direct3D 12.

use std::path::{Path, PathBuf};
use std::ptr;

use heapwright_d3d12::{
    CLSID_D3D12DeviceFactory, D3D_FEATURE_LEVEL_11_0, ID3D12Device, ID3D12DeviceFactory, IDXGIAdapter3,
};
use windows_core::Interface;

use crate::LoadError;
use crate::dxgi::{self, Dxgi};
use crate::library::{CreateDevice, GetInterface, Library};

/// A loaded implementation of Direct3D 12: the system's, or that of a shared library.
///
/// Cloning is cheap. The library stays loaded after the value is dropped. Methods may be called from any thread and
/// take no locks.
///
/// ```no_run
/// use heapwright_loader::D3d12;
///
/// let d3d12 = D3d12::system()?;
/// for adapter in d3d12.adapters()? {
///     let gpu = d3d12.create_device(Some(&adapter))?;
///     println!("{:?}", gpu.device);
/// }
/// # Ok::<(), heapwright_loader::LoadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct D3d12 {
    library: PathBuf,
    create_device: CreateDevice,
    get_interface: Option<GetInterface>,
    dxgi: Option<Dxgi>,
}

/// A device and its adapter, from which heapwright's allocator can be created.
///
/// Both are free-threaded and may outlive the [`D3d12`] that created them.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// The device.
    pub device: ID3D12Device,
    /// The device's adapter, or `None` if the library has no DXGI. Budgets and usage are then unknown.
    pub adapter: Option<IDXGIAdapter3>,
}

impl D3d12 {
    /// Loads the operating system's d3d12.dll and dxgi.dll.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NotWindows`] on other operating systems, and [`LoadError::CannotLoad`] or
    /// [`LoadError::NoSymbol`] on Windows without Direct3D 12.
    pub fn system() -> Result<Self, LoadError> {
        #[cfg(not(windows))]
        return Err(LoadError::NotWindows);
        #[cfg(windows)]
        {
            let library = Library::of_system("d3d12.dll")?;
            let create_device = library.create_device()?;
            let dxgi = Library::of_system("dxgi.dll")?;
            let (get_interface, path) = (library.get_interface(), library.path().to_owned());
            Ok(Self { library: path, create_device, get_interface, dxgi: Dxgi::find(&dxgi) })
        }
    }

    /// Loads the library at `path`, which must export `D3D12CreateDevice`.
    ///
    /// The library has adapters if it also exports `CreateDXGIFactory2` or `CreateDXGIFactory1`. A path without a
    /// directory names a file in the current directory; the system's search path is not used. On Windows, dependencies
    /// are searched for in the library's directory. On other systems all undefined symbols are resolved when the
    /// library is loaded.
    ///
    /// # Safety
    ///
    /// Loading a library runs its code, and the returned value calls its functions. The caller must ensure that:
    ///
    /// * the initialization routines of the library and its dependencies can safely run at this time;
    /// * the functions `D3D12CreateDevice`, `D3D12GetInterface`, `CreateDXGIFactory2` and `CreateDXGIFactory1`, if
    ///   exported, have the parameters and calling convention of Direct3D 12 and DXGI, may be called from any thread
    ///   during the lifetime of the process, and return objects that implement the requested interfaces.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::CannotLoad`] if the system cannot load the library, [`LoadError::NoSymbol`] if it does not
    /// export `D3D12CreateDevice`, and [`LoadError::ForeignCalls`] for a native build of Wine's vkd3d.
    ///
    /// ```
    /// use heapwright_loader::{D3d12, LoadError};
    ///
    /// // SAFETY: the file does not exist, so no code is run.
    /// let error = unsafe { D3d12::open("no/such/library.so") }.unwrap_err();
    /// assert!(matches!(error, LoadError::CannotLoad { .. }));
    /// assert!(error.to_string().starts_with("cannot load no/such/library.so: "));
    /// ```
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        // SAFETY: guaranteed by the caller.
        let library = unsafe { Library::open(path.as_ref()) }?;
        let create_device = library.create_device()?;
        let (get_interface, path) = (library.get_interface(), library.path().to_owned());
        Ok(Self { library: path, create_device, get_interface, dxgi: Dxgi::find(&library) })
    }

    /// Returns the path that the caller passed, or the name of the system's library.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Returns the adapters in DXGI's order, software adapters last. Empty if the library has no DXGI.
    ///
    /// Adapters without `IDXGIAdapter3`, which is required for budgets, are omitted. Each call creates a new factory
    /// and enumerates again, because adapters can be added and removed.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::Call`] or [`LoadError::NoObject`] if a call of DXGI fails.
    pub fn adapters(&self) -> Result<Vec<IDXGIAdapter3>, LoadError> {
        self.dxgi.as_ref().map_or_else(|| Ok(Vec::new()), Dxgi::adapters)
    }

    /// Returns the adapter at the given index of [`adapters`](Self::adapters).
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NoAdapter`] if the index is out of range, and the errors of [`adapters`](Self::adapters).
    pub fn adapter(&self, number: usize) -> Result<IDXGIAdapter3, LoadError> {
        let mut adapters = self.adapters()?;
        let count = adapters.len();
        if number >= count {
            return Err(LoadError::NoAdapter { number, count });
        }
        Ok(adapters.swap_remove(number))
    }

    /// Creates a device with feature level 11_0 or higher on `adapter`, or on the default adapter.
    ///
    /// The adapter should belong to this library. While a device of an adapter is alive, Direct3D 12 returns the same
    /// device again.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::Call`] with the HRESULT of `D3D12CreateDevice`, such as `DXGI_ERROR_UNSUPPORTED` for an
    /// adapter without Direct3D 12, and [`LoadError::NoObject`] if it succeeds without returning a device.
    ///
    /// ```no_run
    /// use heapwright_loader::D3d12;
    ///
    /// // SAFETY: this is vkd3d-proton's native build, an implementation of Direct3D 12 for Linux.
    /// let d3d12 = unsafe { D3d12::open("libvkd3d-proton-d3d12.so") }?;
    /// let gpu = d3d12.create_device(None)?;
    /// // SAFETY: the device is alive. A ResourceAllocator takes both, &gpu.device and gpu.adapter.as_ref().
    /// let nodes = unsafe { gpu.device.GetNodeCount() };
    /// assert!(gpu.adapter.is_some() && nodes > 0);
    /// # Ok::<(), heapwright_loader::LoadError>(())
    /// ```
    pub fn create_device(&self, adapter: Option<&IDXGIAdapter3>) -> Result<Gpu, LoadError> {
        let adapter_pointer = adapter.map_or(ptr::null_mut(), Interface::as_raw);
        let mut device = ptr::null_mut();
        // SAFETY: the adapter is null or a live interface pointer; the other pointers are valid.
        let hresult = unsafe {
            (self.create_device)(adapter_pointer, D3D_FEATURE_LEVEL_11_0, &ID3D12Device::IID, &mut device)
        };
        // SAFETY: the function was called with this interface's IID.
        let device: ID3D12Device =
            unsafe { dxgi::object(&self.library, "D3D12CreateDevice", hresult, device) }?;
        let adapter = adapter.cloned().or_else(|| {
            let dxgi = self.dxgi.as_ref()?;
            // SAFETY: the device is a live COM object.
            dxgi.adapter_by_luid(unsafe { device.GetAdapterLuid() })
        });
        Ok(Gpu { device, adapter })
    }

    /// Returns a factory of independent devices, or `None` if the library does not support it or denies it. Windows
    /// requires developer mode.
    ///
    /// ```no_run
    /// use heapwright_loader::D3d12;
    ///
    /// // SAFETY: this is heapwright's runtime, an implementation of Direct3D 12.
    /// let d3d12 = unsafe { D3d12::open("libheapwright_d3d12_runtime.so") }?;
    /// let factory = d3d12.device_factory();
    /// assert!(factory.is_some());
    /// # Ok::<(), heapwright_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        let get_interface = self.get_interface?;
        let mut factory = ptr::null_mut();
        // SAFETY: all pointers are valid.
        let hresult =
            unsafe { get_interface(&CLSID_D3D12DeviceFactory, &ID3D12DeviceFactory::IID, &mut factory) };
        // SAFETY: the function was called with this interface's IID.
        unsafe { dxgi::object(&self.library, "D3D12GetInterface", hresult, factory) }.ok()
    }
}
