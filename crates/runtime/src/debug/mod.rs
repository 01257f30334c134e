//! D3D12's debug layer: messages to the application in addition to HRESULTs.
//!
//! * `log`: `MessageLog`, to which the calls of a device and its children report; `message`, `category`, `filter`
//!   and `callback` are its parts.
//! * `settings`: the settings of the debug layer.
//! * `live`: the counts of live objects.
//!
//! The COM objects and interfaces that show them are in `api/debug`.

mod callback;
mod category;
pub(crate) mod filter;
mod live;
mod log;
pub(crate) mod message;
mod settings;

pub(crate) use live::{LiveObject, LiveObjects, ObjectKind};
pub(crate) use log::MessageLog;
pub(crate) use settings::{DebugSettings, SharedSettings};
