//! The COM objects: what applications hold.
//!
//! A method here checks its pointers, asks [`rules`](crate::rules), calls the driver through
//! [`ddi`](crate::ddi), and wraps what comes back. No method panics across the COM boundary ([`call`]), and
//! what the runtime does not have answers E_NOTIMPL and says so through the log.

pub(crate) mod adapter;
pub(crate) mod call;
pub(crate) mod device;
pub(crate) mod device_factory;
pub(crate) mod factory;
mod heap;
mod object;
mod private_data;
mod resource;
