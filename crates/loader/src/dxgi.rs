//! DXGI factories and adapters.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr;

use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use crate::LoadError;
use crate::library::{CreateFactory1, CreateFactory2, Library};

/// A library that exports a function to create DXGI factories.
#[derive(Debug, Clone)]
pub(crate) struct Dxgi {
    library: PathBuf,
    create: CreateFactory,
}

#[derive(Debug, Clone, Copy)]
enum CreateFactory {
    Two(CreateFactory2),
    One(CreateFactory1),
}

/// More adapters than any system has.
const MOST_ADAPTERS: u32 = 1024;

impl Dxgi {
    /// Returns the DXGI of `library`, or `None` if it has none.
    pub(crate) fn find(library: &Library) -> Option<Self> {
        let two = library.create_factory2().map(CreateFactory::Two);
        let create = two.or_else(|| library.create_factory1().map(CreateFactory::One))?;
        Some(Self { library: library.path().to_owned(), create })
    }

    /// Returns the adapters with `IDXGIAdapter3`, software adapters last.
    pub(crate) fn adapters(&self) -> Result<Vec<IDXGIAdapter3>, LoadError> {
        let factory = self.factory()?;
        let (mut hardware, mut software) = (Vec::new(), Vec::new());
        for index in 0.. {
            // SAFETY: the factory is a live COM object.
            let adapter = match unsafe { factory.EnumAdapters1(index) } {
                Ok(_) if index == MOST_ADAPTERS => {
                    let library = self.library.clone();
                    return Err(LoadError::EndlessAdapters { library, count: MOST_ADAPTERS });
                }
                Ok(adapter) => adapter,
                Err(error) if error.code() == DXGI_ERROR_NOT_FOUND => break,
                Err(error) => return Err(self.failed("IDXGIFactory1::EnumAdapters1", error.code())),
            };
            let Ok(newer) = adapter.cast::<IDXGIAdapter3>() else { continue };
            let is_software = self.is_software(&adapter)?;
            if is_software { &mut software } else { &mut hardware }.push(newer);
        }
        hardware.append(&mut software);
        Ok(hardware)
    }

    /// Returns the adapter with this LUID, or `None` if the factory does not find it or does not support the query.
    pub(crate) fn adapter_by_luid(&self, luid: LUID) -> Option<IDXGIAdapter3> {
        let factory = self.factory().ok()?.cast::<IDXGIFactory4>().ok()?;
        // SAFETY: the factory is a live COM object.
        unsafe { factory.EnumAdapterByLuid::<IDXGIAdapter3>(luid) }.ok()
    }

    fn factory(&self) -> Result<IDXGIFactory1, LoadError> {
        let mut factory = ptr::null_mut();
        let (call, hresult) = match self.create {
            CreateFactory::Two(create) => {
                // SAFETY: both pointers are valid.
                ("CreateDXGIFactory2", unsafe { create(0, &IDXGIFactory1::IID, &mut factory) })
            }
            CreateFactory::One(create) => {
                // SAFETY: both pointers are valid.
                ("CreateDXGIFactory1", unsafe { create(&IDXGIFactory1::IID, &mut factory) })
            }
        };
        // SAFETY: the function was called with this interface's IID.
        unsafe { object(&self.library, call, hresult, factory) }
    }

    fn is_software(&self, adapter: &IDXGIAdapter1) -> Result<bool, LoadError> {
        let mut desc = DXGI_ADAPTER_DESC1::default();
        // SAFETY: the adapter is a live COM object and the description is writable.
        let hresult = unsafe { adapter.GetDesc1(&mut desc) };
        if hresult.is_err() {
            return Err(self.failed("IDXGIAdapter1::GetDesc1", hresult));
        }
        Ok(desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE.cast_unsigned() != 0)
    }

    fn failed(&self, call: &'static str, hresult: HRESULT) -> LoadError {
        LoadError::Call { library: self.library.clone(), call, hresult }
    }
}

/// Converts the HRESULT and the pointer that a function returned to an object.
///
/// # Safety
///
/// If `hresult` is a success code, `pointer` must be null or an owned interface pointer of `T`.
pub(crate) unsafe fn object<T: Interface>(
    library: &Path,
    call: &'static str,
    hresult: HRESULT,
    pointer: *mut c_void,
) -> Result<T, LoadError> {
    let library = || library.to_owned();
    if hresult.is_err() {
        return Err(LoadError::Call { library: library(), call, hresult });
    }
    if pointer.is_null() {
        return Err(LoadError::NoObject { library: library(), call });
    }
    // SAFETY: guaranteed by the caller; the pointer is not null.
    Ok(unsafe { T::from_raw(pointer) })
}

#[cfg(test)]
mod tests;
