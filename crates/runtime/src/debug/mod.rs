//! What the runtime tells the application beside HRESULTs.
//!
//! * `log`: [`MessageLog`], where the calls of a device and of its children report to.

mod log;

pub(crate) use log::MessageLog;
