//! The memory that is available in each segment group.
//!
//! * `budgets`: budgets, usage and reservations, read without a system call; effective budgets, as pure functions.
//! * `background`: the thread that waits for the operating system's notifications.
//! * `trim`: the device's notifications that trimming is advisable.
//! * `pressure`: the memory pressure of a segment group, and callbacks that are called when it changes.

mod background;
mod budgets;
mod pressure;
mod trim;

pub(crate) use self::background::BackgroundUpdates;
pub(crate) use self::budgets::{Budgets, ManagedGroups};
pub(crate) use self::pressure::PressureMonitor;
pub use self::pressure::{Pressure, PressureLevel, PressureRegistration};
pub(crate) use self::trim::TrimRequest;
