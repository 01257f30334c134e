//! The COM objects: what applications hold.
//!
//! A method here checks its pointers, asks [`rules`](crate::rules), calls the driver through
//! [`ddi`](crate::ddi), and wraps what comes back. No method panics across the COM boundary ([`call`]), and
//! what the runtime does not have answers E_NOTIMPL and says so through the log.

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
