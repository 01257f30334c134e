//! The interfaces of the debug layer.
//!
//! * `info_queue`: the log as `ID3D12InfoQueue1`, which the device object implements.
//! * `layer`: `ID3D12Debug` to `ID3D12Debug6`, which change the settings.
//! * `device`: `ID3D12DebugDevice`, which reports live objects.

mod device;
mod info_queue;
mod layer;

use heapwright_d3d12::ID3D12Device;

pub(crate) use self::device::DeviceDebug;
pub(crate) use self::layer::DebugLayer;
use super::device::Device;

/// Returns the number of messages of `device` that matched a break, or `None` if the device belongs to another runtime.
///
/// D3D12 stops the program on such a message. This runtime counts breaks instead, so that tests can request them and
/// continue.
///
/// ```
/// use heapwright_d3d12::{D3D12_MESSAGE_SEVERITY_ERROR, ID3D12Heap, ID3D12InfoQueue};
/// use heapwright_runtime::{HostProfile, Instance, break_count};
/// use windows_core::Interface as _;
///
/// let gpu = Instance::open(HostProfile::default_profile())?;
/// let queue: ID3D12InfoQueue = gpu.device.cast()?;
/// // SAFETY: live COM objects; a null description is one of D3D12's mistakes to make.
/// unsafe {
///     queue.SetBreakOnSeverity(D3D12_MESSAGE_SEVERITY_ERROR, true).ok()?;
///     let mut heap: Option<ID3D12Heap> = None;
///     gpu.device.CreateHeap(std::ptr::null(), &mut heap).expect_err("no description");
/// }
/// assert_eq!(break_count(&gpu.device), Some(1));
/// # Ok::<(), windows_core::Error>(())
/// ```
pub fn break_count(device: &ID3D12Device) -> Option<u64> {
    Some(Device::behind(device)?.log().break_count())
}

#[cfg(test)]
mod tests;
