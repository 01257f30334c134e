//! A device and its newer interfaces, queried once.

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::Error;

/// A device with each interface that may create a resource. `None` if the device does not support it.
#[derive(Debug, Clone)]
pub(crate) struct Devices {
    pub(crate) device: ID3D12Device,
    pub(crate) device1: Option<ID3D12Device1>,
    pub(crate) device4: Option<ID3D12Device4>,
    pub(crate) device8: Option<ID3D12Device8>,
    pub(crate) device10: Option<ID3D12Device10>,
    pub(crate) device12: Option<ID3D12Device12>,
}

impl Devices {
    pub(crate) fn of(device: &ID3D12Device) -> Self {
        Self {
            device: device.clone(),
            device1: device.cast().ok(),
            device4: device.cast().ok(),
            device8: device.cast().ok(),
            device10: device.cast().ok(),
            device12: device.cast().ok(),
        }
    }

    /// Rejects heap flags that the device does not support and that matter; `field` names them.
    ///
    /// CREATE_NOT_ZEROED is a hint, which is never rejected: see [`known_heap_flags`](Self::known_heap_flags).
    #[inline]
    pub(crate) fn check_heap_flags(&self, flags: D3D12_HEAP_FLAGS, field: &'static str) -> Result<(), Error> {
        if flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0 && self.device8.is_none() {
            let what = format!("{field}: CREATE_NOT_RESIDENT (requires ID3D12Device8)");
            return Err(Error::unsupported(what));
        }
        Ok(())
    }

    /// Removes the heap flags that came with `ID3D12Device8`'s release of D3D12, if the device is older.
    #[inline]
    pub(crate) fn known_heap_flags(&self, flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
        const LATER: D3D12_HEAP_FLAGS =
            D3D12_HEAP_FLAG_CREATE_NOT_ZEROED | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
        if self.device8.is_some() { flags } else { flags & !LATER }
    }
}
