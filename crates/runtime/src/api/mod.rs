//! The COM objects: what applications hold.
//!
//! A method here checks its pointers, asks [`rules`](crate::rules), calls the driver through
//! [`ddi`](crate::ddi), and wraps what comes back. No method panics across the COM boundary ([`call`]), and
//! what the runtime does not have answers E_NOTIMPL and says so through the log.
//!
//! The generated `_Impl` traits declare methods as safe functions although they take raw pointers. That is sound as only the
//! tables of functions reach them: a caller has an interface, whose methods are `unsafe fn`. So a method here is where the COM
//! contract begins, and every function behind it that is handed a pointer, a HANDLE or a structure with a union is an
//! `unsafe fn`, which says what it relies on.

pub(crate) mod adapter;
mod budget_notification;
pub(crate) mod call;
mod clock;
mod command_allocator;
mod command_list;
mod command_queue;
mod descriptor_heap;
pub(crate) mod device;
pub(crate) mod device_factory;
pub(crate) mod factory;
mod fence;
mod heap;
pub(crate) mod inert;
pub(crate) mod methods;
mod object;
mod private_data;
mod query_heap;
mod resource;
mod shared_handle;
mod tile_mappings;
mod tile_regions;
mod tools;
mod trim_notification;
mod views;
mod wide_string;

use std::sync::Arc;

use heapwright_d3d12::ID3D12Resource;

use self::device::Device;
use crate::ddi::driver_resource::DriverResource;
use crate::rules::Refusal;

/// The driver's half of a resource of `device` that the application passed as `name`.
///
/// # Errors
///
/// E_INVALIDARG for null and for what is no resource of the device.
pub(crate) fn resource_driver(
    device: &Device,
    resource: Option<&ID3D12Resource>,
    name: &str,
) -> Result<Arc<dyn DriverResource>, Refusal> {
    Ok(Arc::clone(object::own::<resource::Resource>(device, resource, name)?.driver()))
}
