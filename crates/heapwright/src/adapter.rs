//! Properties of an adapter and of its memory, as plain values.

use heapwright_core::{ByteSize, SegmentGroup};
use heapwright_d3d12::*;

use crate::Error;

/// The identity of an adapter, and its memory sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterDesc {
    /// The adapter's display name.
    pub description: String,
    /// The PCI vendor id.
    pub vendor_id: u32,
    /// The PCI device id.
    pub device_id: u32,
    /// Video memory that is not shared with the CPU, in bytes.
    pub dedicated_video_memory: ByteSize,
    /// System memory that the adapter may use, in bytes.
    pub shared_system_memory: ByteSize,
}

impl AdapterDesc {
    /// Queries an adapter.
    ///
    /// # Errors
    ///
    /// Returns the adapter's error.
    pub fn query(adapter: &IDXGIAdapter3) -> Result<Self, Error> {
        let mut desc = DXGI_ADAPTER_DESC2::default();
        // SAFETY: the adapter is a live COM object and the description is writable.
        let hresult = unsafe { adapter.GetDesc2(&mut desc) };
        if hresult.is_err() {
            return Err(Error::device("IDXGIAdapter2::GetDesc2", hresult));
        }
        let name = desc.Description.split(|&unit| unit == 0).next().unwrap_or_default();
        Ok(Self {
            description: String::from_utf16_lossy(name),
            vendor_id: desc.VendorId,
            device_id: desc.DeviceId,
            dedicated_video_memory: ByteSize::from_usize(desc.DedicatedVideoMemory),
            shared_system_memory: ByteSize::from_usize(desc.SharedSystemMemory),
        })
    }
}

/// Checks whether an adapter is the one of a device, if it tells its LUID.
pub(crate) fn check_adapter(device: &ID3D12Device, adapter: &IDXGIAdapter3) -> Result<(), Error> {
    let mut desc = DXGI_ADAPTER_DESC2::default();
    // SAFETY: the adapter is a live COM object and the description is writable.
    let is_known = unsafe { adapter.GetDesc2(&mut desc) }.is_ok();
    // SAFETY: the device is a live COM object.
    if is_known && desc.AdapterLuid != unsafe { device.GetAdapterLuid() } {
        return Err(Error::invalid_argument("adapter", "is not the adapter of the device"));
    }
    Ok(())
}

/// Conversion of a segment group to DXGI's enumeration.
pub(crate) trait ToDxgi {
    fn to_dxgi(self) -> DXGI_MEMORY_SEGMENT_GROUP;
}

impl ToDxgi for SegmentGroup {
    fn to_dxgi(self) -> DXGI_MEMORY_SEGMENT_GROUP {
        match self {
            Self::Local => DXGI_MEMORY_SEGMENT_GROUP_LOCAL,
            Self::NonLocal => DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL,
        }
    }
}

/// DXGI's four numbers for one segment group and this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoMemoryInfo {
    /// The usage, in bytes, that the operating system wants this process to stay below.
    pub budget: ByteSize,
    /// Bytes that this process uses.
    pub current_usage: ByteSize,
    /// Bytes that may be reserved.
    pub available_for_reservation: ByteSize,
    /// Bytes that are reserved.
    pub current_reservation: ByteSize,
}

impl VideoMemoryInfo {
    /// Queries an adapter about its first node.
    ///
    /// On Windows this is a kernel call; do not use it on a hot path.
    ///
    /// # Errors
    ///
    /// Returns the adapter's error.
    pub fn query(adapter: &IDXGIAdapter3, group: SegmentGroup) -> Result<Self, Error> {
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the adapter is a live COM object and the structure is writable.
        let hresult = unsafe { adapter.QueryVideoMemoryInfo(0, group.to_dxgi(), &mut info) };
        if hresult.is_err() {
            return Err(Error::device("IDXGIAdapter3::QueryVideoMemoryInfo", hresult));
        }
        Ok(Self {
            budget: ByteSize::new(info.Budget),
            current_usage: ByteSize::new(info.CurrentUsage),
            available_for_reservation: ByteSize::new(info.AvailableForReservation),
            current_reservation: ByteSize::new(info.CurrentReservation),
        })
    }
}

impl VideoMemoryInfo {
    /// Returns whether the values show that the memory is counted: some implementations other than Windows' report
    /// zeros for memory that they do not count.
    pub(crate) fn is_report(&self) -> bool {
        !(self.budget.is_zero() && self.current_usage.is_zero())
    }
}

/// A fraction, 0 to 1, with the exact value of the `f64` that it was created from: `mantissa / 2^shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    mantissa: u64,
    shift: u32,
}

impl Fraction {
    /// Converts a number. A number outside of 0 to 1 becomes the nearer of the two; NaN becomes 0.
    pub(crate) fn new(part: f64) -> Self {
        const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
        let part = if part > 0.0 { part.min(1.0) } else { 0.0 };
        let bits = part.to_bits();
        let fraction = bits & ((1 << MANTISSA_BITS) - 1);
        // At most the exponent of 1.0, 1023, so that the shift below is not negative.
        let exponent = u32::try_from(bits >> MANTISSA_BITS).unwrap_or(0);
        match exponent {
            0 => Self { mantissa: fraction, shift: 1074 },
            _ => Self { mantissa: fraction | (1 << MANTISSA_BITS), shift: 1075 - exponent.min(1075) },
        }
    }

    /// Returns the fraction of so many bytes, rounded down.
    pub(crate) fn of(self, bytes: ByteSize) -> ByteSize {
        // 53 and 64 bits, so the product does not overflow.
        let product = u128::from(self.mantissa) * u128::from(bytes.get());
        let part = product.checked_shr(self.shift).unwrap_or(0);
        // At most `bytes`, because the fraction is at most 1.
        u64::try_from(part).map_or(bytes, ByteSize::new)
    }
}
