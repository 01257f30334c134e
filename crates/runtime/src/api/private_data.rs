//! Private data, names and destruction callbacks, which objects store for the application.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use heapwright_d3d12::names::WKPDID_D3DDebugObjectNameW;
use heapwright_d3d12::{
    D3D12_MESSAGE_ID_GETPRIVATEDATA_MOREDATA, DXGI_ERROR_MORE_DATA, DXGI_ERROR_NOT_FOUND, PCWSTR, S_FALSE,
};
use windows_core::{GUID, IUnknown, Interface, Ref};

use super::call;
use super::destruction_callbacks::DestructionCallbacks;
use crate::debug::MessageLog;
use crate::rules::Refusal;

/// The private data of an object, by GUID, and its callbacks. Most objects have none of both, and no memory for them.
#[derive(Debug, Default)]
pub(super) struct PrivateData(OnceLock<Box<Stored>>);

/// Few objects have many, so a list suffices.
#[derive(Debug, Default)]
struct Stored {
    entries: Mutex<Vec<(GUID, Datum)>>,
    destruction: DestructionCallbacks,
}

#[derive(Debug)]
enum Datum {
    Bytes(Box<[u8]>),
    /// An interface, or the null that was passed to `SetPrivateDataInterface`.
    Interface(Option<IUnknown>),
}

// SAFETY: an interface that is attached as private data is only cloned (AddRef) and released here, from whichever
// thread uses the object. COM requires of these two that any thread may call them, and D3D12 and DXGI objects are
// free-threaded.
unsafe impl Send for PrivateData {}
// SAFETY: same as above; the mutex orders the accesses.
unsafe impl Sync for PrivateData {}

impl PrivateData {
    /// Implements `SetPrivateData` and reports errors to `log`. A null `pData` removes the GUID's data, whatever
    /// `DataSize` is, and returns S_FALSE if there was none (Windows, by vkd3d-proton's tests/d3d12_device.c,
    /// test_object_interface, and Wine's dlls/dxgi/tests/dxgi.c, test_private_data).
    ///
    /// # Safety
    ///
    /// `guid` is null or points to a GUID, `data` is null or points to `size` bytes.
    pub(super) unsafe fn set(
        &self,
        log: &MessageLog,
        guid: *const GUID,
        size: u32,
        data: *const c_void,
    ) -> windows_core::Result<()> {
        // SAFETY: guaranteed by the caller.
        let is_done = call::run(log, "SetPrivateData", || unsafe { self.set_bytes(guid, size, data) })?;
        if is_done { Ok(()) } else { Err(windows_core::Error::from_hresult(S_FALSE)) }
    }

    /// Sets or removes data. Returns false if there was nothing to remove.
    ///
    /// # Safety
    ///
    /// Same as for [`set`](Self::set).
    unsafe fn set_bytes(&self, guid: *const GUID, size: u32, data: *const c_void) -> Result<bool, Refusal> {
        // SAFETY: by the COM contract, guid is null or points to a GUID.
        let guid = *unsafe { call::read(guid, "guid") }?;
        if data.is_null() {
            return Ok(self.replace(guid, None));
        }
        let len =
            usize::try_from(size).map_err(|_| Refusal::invalid("DataSize exceeds the address space"))?;
        // SAFETY: by the COM contract, pData points to DataSize readable bytes; it is not null.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
        self.replace(guid, Some(Datum::Bytes(bytes.into())));
        Ok(true)
    }

    /// Implements `SetPrivateDataInterface`. A null interface is stored like any other.
    ///
    /// # Safety
    ///
    /// `guid` is null or points to a GUID.
    pub(super) unsafe fn set_interface(
        &self,
        guid: *const GUID,
        object: Ref<'_, IUnknown>,
    ) -> Result<(), Refusal> {
        // SAFETY: by the COM contract, guid is null or points to a GUID.
        let guid = *unsafe { call::read(guid, "guid") }?;
        self.replace(guid, Some(Datum::Interface(object.as_ref().cloned())));
        Ok(())
    }

    /// # Safety
    ///
    /// `name` is null or a zero-terminated UTF-16 string.
    pub(super) unsafe fn set_name(&self, name: PCWSTR) -> Result<(), Refusal> {
        if name.is_null() {
            self.replace(WKPDID_D3DDebugObjectNameW, None);
            return Ok(());
        }
        // SAFETY: by the COM contract, a name that is not null is a zero-terminated UTF-16 string.
        let units = unsafe { call::read_wide(name) };
        // GetPrivateData returns the terminating zero as well.
        let bytes = units.into_iter().chain([0]).flat_map(u16::to_ne_bytes).collect();
        self.replace(WKPDID_D3DDebugObjectNameW, Some(Datum::Bytes(bytes)));
        Ok(())
    }

    /// Returns the name set with `SetName`, for messages. An empty one is none.
    pub(super) fn name(&self) -> Option<String> {
        let entries = self.0.get()?.lock();
        let (_, datum) = entries.iter().find(|(key, _)| *key == WKPDID_D3DDebugObjectNameW)?;
        let Datum::Bytes(bytes) = datum else { return None };
        let units = bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
        let units: Vec<u16> = units.take_while(|&unit| unit != 0).collect();
        (!units.is_empty()).then(|| String::from_utf16_lossy(&units))
    }

    /// Implements `GetPrivateData` and reports errors to `log`. Data that was never set is no error: D3D12 has no
    /// message for it.
    ///
    /// # Safety
    ///
    /// `guid` is null or points to a GUID; `size` is null or points to a writable number; `data` is null or points to
    /// as many writable bytes as `*size`.
    pub(super) unsafe fn get(
        &self,
        log: &MessageLog,
        guid: *const GUID,
        size: *mut u32,
        data: *mut c_void,
    ) -> windows_core::Result<()> {
        // SAFETY: guaranteed by the caller.
        let is_found = call::run(log, "GetPrivateData", || unsafe { self.copy_to(guid, size, data) })?;
        if is_found { Ok(()) } else { Err(windows_core::Error::from_hresult(DXGI_ERROR_NOT_FOUND)) }
    }

    /// Copies data. Returns false if there is none.
    ///
    /// # Safety
    ///
    /// Same as for [`get`](Self::get).
    unsafe fn copy_to(&self, guid: *const GUID, size: *mut u32, data: *mut c_void) -> Result<bool, Refusal> {
        // SAFETY: by the COM contract, guid is null or points to a GUID.
        let guid = *unsafe { call::read(guid, "guid") }?;
        // SAFETY: by the COM contract, pDataSize is null or points to a writable number.
        let size = unsafe { size.as_mut() }.ok_or_else(|| Refusal::invalid("pDataSize is null"))?;
        let entries = self.stored().lock();
        let Some((_, datum)) = entries.iter().find(|(key, _)| *key == guid) else {
            *size = 0;
            return Ok(false);
        };
        let available = usize::try_from(*size).unwrap_or(usize::MAX);
        let needed = datum.len();
        *size = u32::try_from(needed).unwrap_or(u32::MAX);
        if data.is_null() {
            return Ok(true);
        }
        if available < needed {
            let message = format!("the buffer is too small; the private data has {needed} bytes");
            return Err(
                Refusal::new(DXGI_ERROR_MORE_DATA, message).with_id(D3D12_MESSAGE_ID_GETPRIVATEDATA_MOREDATA)
            );
        }
        match datum {
            // SAFETY: by the COM contract, pData has room for the *pDataSize bytes that the caller specified, which is
            // at least the length of the copy. The two do not overlap, because the source is our own allocation.
            Datum::Bytes(bytes) => unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len());
            },
            // SAFETY: same as above, for one pointer, which may be unaligned. The caller takes over the reference.
            Datum::Interface(object) => unsafe {
                let raw = object.clone().map_or(std::ptr::null_mut(), IUnknown::into_raw);
                data.cast::<*mut c_void>().write_unaligned(raw);
            },
        }
        Ok(true)
    }

    /// Replaces the data of `guid` with `datum`. Returns whether there is data now or was before.
    fn replace(&self, guid: GUID, datum: Option<Datum>) -> bool {
        let is_some = datum.is_some();
        let previous = {
            let mut entries = self.stored().lock();
            let position = entries.iter().position(|(key, _)| *key == guid);
            match (position, datum) {
                (Some(index), Some(datum)) => Some(std::mem::replace(&mut entries[index].1, datum)),
                (Some(index), None) => Some(entries.swap_remove(index).1),
                (None, Some(datum)) => {
                    entries.push((guid, datum));
                    None
                }
                (None, None) => None,
            }
        };
        // Releasing an interface may run the application's code, so the lock must not be held.
        let had_some = previous.is_some();
        drop(previous);
        is_some || had_some
    }

    /// Returns the callbacks.
    pub(super) fn destruction(&self) -> &DestructionCallbacks {
        &self.stored().destruction
    }

    fn stored(&self) -> &Stored {
        self.0.get_or_init(Box::default)
    }
}

impl Stored {
    fn lock(&self) -> MutexGuard<'_, Vec<(GUID, Datum)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Datum {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Interface(_) => size_of::<*mut c_void>(),
        }
    }
}
