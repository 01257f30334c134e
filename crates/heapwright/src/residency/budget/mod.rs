//! How much memory there is for each segment group.
//!
//! * `budgets`: what may be used, what is used, what is reserved: asked of the operating system, read without a call.
//! * `arithmetic`: what of the operating system's numbers holds, as pure functions.
//! * `background`: the thread that waits for the operating system's notifications.
//! * `trim`: the device's notifications that trimming is advisable.
//! * `pressure`: how full a group is, and who wants to know.

mod arithmetic;
mod background;
mod budgets;
#[cfg(test)]
mod faulty_adapter;
mod pressure;
mod trim;

pub(crate) use self::background::BackgroundUpdates;
pub(crate) use self::budgets::{Budgets, unifies_memory};
pub(crate) use self::pressure::PressureMonitor;
pub use self::pressure::{Pressure, PressureLevel, PressureRegistration};
pub(crate) use self::trim::TrimRequest;
