//! D3D12's debug layer: messages to the application in addition to HRESULTs.
//!
//! * `log`: `MessageLog`, to which the calls of a device and its children report; `message`, `category`, `return_id`,
//!   `filter`, `breaks` and `callback` are its parts.
//! * `info_queue`: the log as `ID3D12InfoQueue1`, which the device object implements.
//! * `settings` and `layer`: the settings of the debug layer, and `ID3D12Debug` to `ID3D12Debug6`, which change them.
//! * `device` and `live`: `ID3D12DebugDevice`, which reports live objects, and their counts.
//!
//! # When messages are stored
//!
//! A device that is created while the debug layer is on stores its messages, and so does each device of
//! [`Instance::open`](crate::Instance::open). Other devices store none: their messages go only to `tracing`.
//!
//! Every device supports `QueryInterface` for `ID3D12InfoQueue1`, whereas D3D12 returns E_NOINTERFACE without the debug
//! layer. The queue of a device without the debug layer stays empty.
//!
//! # Breaks
//!
//! `SetBreakOnSeverity` and its relatives count breaks instead of stopping the program; [`break_count`] returns the
//! count.

mod breaks;
mod callback;
mod category;
mod device;
mod filter;
mod info_queue;
mod layer;
mod live;
mod log;
mod message;
mod return_id;
mod settings;

use heapwright_d3d12::ID3D12Device;

pub(crate) use device::DeviceDebug;
pub(crate) use layer::DebugLayer;
pub(crate) use live::{LiveObject, ObjectKind};
pub(crate) use log::MessageLog;
pub(crate) use settings::{DebugSettings, SharedSettings};

use crate::api::device::Device;

/// Returns the number of messages of `device` that matched a break, or `None` if the device belongs to another runtime.
///
/// D3D12 stops the program on such a message. This runtime counts breaks instead, so that tests can request them and
/// continue.
///
/// ```
/// use heapwright_d3d12::{D3D12_MESSAGE_SEVERITY_ERROR, ID3D12Heap, ID3D12InfoQueue};
/// use heapwright_runtime::{HostProfile, Instance, debug};
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
/// assert_eq!(debug::break_count(&gpu.device), Some(1));
/// # Ok::<(), windows_core::Error>(())
/// ```
pub fn break_count(device: &ID3D12Device) -> Option<u64> {
    Some(Device::behind(device)?.log().break_count())
}

#[cfg(test)]
mod tests;
