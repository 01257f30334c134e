//! The COM objects that applications use.
//!
//! A method checks its pointers, applies [`rules`](crate::rules), calls the driver through [`ddi`](crate::ddi) and
//! wraps the result. No method panics across the COM boundary ([`call`]). Methods that the runtime does not implement
//! return E_NOTIMPL and log it.
//!
//! The generated `_Impl` traits declare methods as safe functions although they take raw pointers. This is sound
//! because they are reachable only through method tables: callers have an interface, whose methods are `unsafe fn`. The
//! COM contract therefore begins at these methods, and every function that they pass a pointer, a HANDLE or a structure
//! with a union to is an `unsafe fn` that documents its requirements.

pub(crate) mod adapter;
mod aliasing;
mod budget_notification;
pub(crate) mod call;
mod command_allocator;
mod command_list;
mod command_queue;
pub(crate) mod debug;
mod descriptor_heap;
mod destruction_callbacks;
pub(crate) mod device;
pub(crate) mod device_factory;
pub(crate) mod factory;
mod fence;
mod heap;
pub(crate) mod inert;
pub(crate) mod methods;
mod object;
mod pipeline_library;
mod private_data;
pub(crate) mod process_device;
mod query_heap;
mod resource;
mod shared_handle;
mod tile_mappings;
mod tools;
mod trim_notification;

use std::sync::Arc;

use heapwright_d3d12::ID3D12Resource;

use self::device::Device;
use crate::drivers::resource::DriverResource;
use crate::rules::Refusal;

/// Returns the driver's part of a resource of `device` that the application passed as `name`.
///
/// # Errors
///
/// Returns E_INVALIDARG for null and for anything that is not a resource of the device.
pub(crate) fn resource_driver(
    device: &Device,
    resource: Option<&ID3D12Resource>,
    name: &str,
) -> Result<Arc<DriverResource>, Refusal> {
    Ok(Arc::clone(object::own::<resource::Resource>(device, resource, name)?.driver()))
}
