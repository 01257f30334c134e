//! A D3D12 that was loaded.

use std::path::{Path, PathBuf};
use std::ptr;

use heapwright_d3d12::{
    CLSID_D3D12DeviceFactory, D3D_FEATURE_LEVEL_11_0, ID3D12Device, ID3D12DeviceFactory, IDXGIAdapter3,
};
use windows_core::Interface;

use crate::LoadError;
use crate::dxgi::{self, Dxgi};
use crate::library::{CreateDevice, GetInterface, Library};

/// A D3D12 that was loaded: the system's, or that of a shared library.
///
/// It is no more than the library's functions: cheap to clone, and nothing is unloaded with it. It may be used from any
/// thread, and locks nothing.
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

/// A device, and the adapter that counts its memory: what heapwright's allocator is made from.
///
/// Both are free-threaded, and neither needs the [`D3d12`] that they came from.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// The device.
    pub device: ID3D12Device,
    /// Its adapter, where there is a DXGI that knows it: without one nobody says budgets and usage.
    pub adapter: Option<IDXGIAdapter3>,
}

impl D3d12 {
    /// Loads the operating system's D3D12 and DXGI: d3d12.dll and dxgi.dll, as Windows finds them by these names.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotWindows`] on every other operating system; [`LoadError::CannotLoad`] and [`LoadError::NoSymbol`] on a
    /// Windows without D3D12.
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

    /// Loads the library at `path`, which exports `D3D12CreateDevice`. It has adapters if it exports `CreateDXGIFactory2` or
    /// `CreateDXGIFactory1` as well.
    ///
    /// A path without a directory is a file in the current one, and is not searched for elsewhere. On Windows the DLLs
    /// that it needs are looked for beside it; elsewhere all that it refers to must be there when it is loaded.
    ///
    /// # Safety
    ///
    /// Loading a library runs code of it, and what is answered calls functions of it, for as long as the process lives. The caller vouches
    /// for the library, and for the libraries that it needs:
    ///
    /// * they may be loaded at this moment: their initialisers do nothing that this program does not expect;
    /// * `D3D12CreateDevice`, `D3D12GetInterface`, `CreateDXGIFactory2` and `CreateDXGIFactory1`, as far as it exports them, have the
    ///   parameters and the calling convention of D3D12's and DXGI's functions, may be called from any thread, and the objects that they
    ///   hand out are what the interfaces say.
    ///
    /// # Errors
    ///
    /// [`LoadError::CannotLoad`] with the system's words; [`LoadError::NoSymbol`]; [`LoadError::ForeignCalls`] for a native
    /// build of Wine's vkd3d.
    ///
    /// ```
    /// use heapwright_loader::{D3d12, LoadError};
    ///
    /// // SAFETY: there is no such file.
    /// let error = unsafe { D3d12::open("no/such/library.so") }.unwrap_err();
    /// assert!(matches!(error, LoadError::CannotLoad { .. }));
    /// assert!(error.to_string().starts_with("cannot load no/such/library.so: "));
    /// ```
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        // SAFETY: the caller's promise.
        let library = unsafe { Library::open(path.as_ref()) }?;
        let create_device = library.create_device()?;
        let (get_interface, path) = (library.get_interface(), library.path().to_owned());
        Ok(Self { library: path, create_device, get_interface, dxgi: Dxgi::find(&library) })
    }

    /// The library: the path that was given, or the name of the system's.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The adapters in DXGI's order, those that render in software last. Empty where there is no DXGI.
    ///
    /// An adapter that does not answer to `IDXGIAdapter3`, which says budgets, is left out. The list is made afresh each time,
    /// with a factory of its own, as adapters come and go: O(adapters) calls of DXGI.
    ///
    /// # Errors
    ///
    /// [`LoadError::Call`] or [`LoadError::NoObject`] when DXGI fails.
    pub fn adapters(&self) -> Result<Vec<IDXGIAdapter3>, LoadError> {
        self.dxgi.as_ref().map_or_else(|| Ok(Vec::new()), Dxgi::adapters)
    }

    /// The adapter of that number, from 0, in the order of [`adapters`](Self::adapters).
    ///
    /// # Errors
    ///
    /// [`LoadError::NoAdapter`]; otherwise as [`adapters`](Self::adapters).
    pub fn adapter(&self, number: usize) -> Result<IDXGIAdapter3, LoadError> {
        let mut adapters = self.adapters()?;
        let count = adapters.len();
        if number >= count {
            return Err(LoadError::NoAdapter { number, count });
        }
        Ok(adapters.swap_remove(number))
    }

    /// Creates a device of feature level 11_0 or higher on `adapter`, or on the default one: the library chooses it, and
    /// DXGI, where there is one, says which it is.
    ///
    /// An adapter is one of this D3D12; what it says of another's is its own affair. While a device of an adapter lives,
    /// D3D12 hands out the same one again.
    ///
    /// # Errors
    ///
    /// [`LoadError::Call`] with what `D3D12CreateDevice` answered: DXGI_ERROR_UNSUPPORTED (0x887a0004) for an adapter without
    /// D3D12. [`LoadError::NoObject`] if it answered success and there is no device.
    ///
    /// ```no_run
    /// use heapwright::ResourceAllocator;
    /// use heapwright_loader::D3d12;
    ///
    /// // SAFETY: it is vkd3d-proton's native build, a D3D12 for Linux.
    /// let d3d12 = unsafe { D3d12::open("libvkd3d-proton-d3d12.so") }?;
    /// let gpu = d3d12.create_device(None)?;
    /// let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_device(&self, adapter: Option<&IDXGIAdapter3>) -> Result<Gpu, LoadError> {
        let adapter_pointer = adapter.map_or(ptr::null_mut(), Interface::as_raw);
        let mut device = ptr::null_mut();
        // SAFETY: the adapter is null or an interface pointer that lives until the call returns, then a GUID, and room for
        // one pointer.
        let hresult = unsafe {
            (self.create_device)(adapter_pointer, D3D_FEATURE_LEVEL_11_0, &ID3D12Device::IID, &mut device)
        };
        // SAFETY: the function was asked for this interface.
        let device: ID3D12Device =
            unsafe { dxgi::object(&self.library, "D3D12CreateDevice", hresult, device) }?;
        let adapter = adapter.cloned().or_else(|| {
            let dxgi = self.dxgi.as_ref()?;
            // SAFETY: the device is a live COM object.
            dxgi.adapter_by_luid(unsafe { device.GetAdapterLuid() })
        });
        Ok(Gpu { device, adapter })
    }

    /// A factory of devices with settings of their own; `None` where the library has none, as it is older or does not let this
    /// program have one (Windows wants developer mode).
    ///
    /// ```no_run
    /// use heapwright_loader::D3d12;
    ///
    /// // SAFETY: it is heapwright's runtime, a D3D12.
    /// let d3d12 = unsafe { D3d12::open("libheapwright_d3d12_runtime.so") }?;
    /// let factory = d3d12.device_factory();
    /// assert!(factory.is_some());
    /// # Ok::<(), heapwright_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        let get_interface = self.get_interface?;
        let mut factory = ptr::null_mut();
        // SAFETY: two GUIDs, and room for one pointer.
        let hresult =
            unsafe { get_interface(&CLSID_D3D12DeviceFactory, &ID3D12DeviceFactory::IID, &mut factory) };
        // SAFETY: the function was asked for this interface.
        unsafe { dxgi::object(&self.library, "D3D12GetInterface", hresult, factory) }.ok()
    }
}
