//! Conformance checks for memory management in Direct3D 12, in the manner of the HLK.
//!
//! The checks use COM interfaces only and run on any `ID3D12Device`: on those of Windows, Wine, vkd3d-proton and
//! heapwright's own runtime. Each check has an id, a reference to the specification and a list of requirements. It
//! passes, fails or is skipped, and reports the figures that it found. Its class distinguishes behaviour that correct
//! programs rely on from the validation of incorrect programs, and both from statements of documents from which
//! implementations differ: a device that does something else differs, and does not fail.
//!
//! * [`check`]: the type of checks; [`checks`]: all checks, one file for each area.
//! * [`context`]: the device under test and its capabilities.
//! * [`answer`]: results of calls and checks.
//! * [`runner`]: execution of checks, each isolated from the others.
//! * `queue`: a queue with a list, a fence and staging buffers; `transfer`: subresources in staging buffers; `target`:
//!   textures that are cleared; `scene`: the fixture of checks that compare bytes; `proof`: whether a resource holds
//!   bytes.
//! * `com`: the COM calls; `desc`: valid descriptions to start from; `hresult`: names of HRESULTs.
//!
//! # Requirements on the device
//!
//! Checks call the device with arguments that D3D12 refuses. The behaviour of a device that does not validate them is
//! undefined, so [`run`] is an `unsafe fn`: call it only for devices that validate their arguments, or in a separate
//! process.
//!
//! # Properties of checks
//!
//! A check creates all objects that it needs and releases them before it returns. It allows everything that the
//! documents allow: where implementations differ within them, each behaviour passes. A feature that the device does not
//! know counts as absent. [`Strictness`] decides whether a call that returns `E_NOTIMPL` skips or fails the check.
//!
//! ```
//! use heapwright_conformance::{Filter, Options, Target, run};
//! use heapwright_runtime::{HostProfile, Instance};
//!
//! let open = || {
//!     let gpu = Instance::open(HostProfile::default_profile()).map_err(|error| error.to_string())?;
//!     let device_factory = gpu.device_factory();
//!     Ok(Target { device: gpu.device, adapter: Some(gpu.adapter), device_factory })
//! };
//! let options = Options { filter: Filter::new("features/"), ..Options::default() };
//! // SAFETY: heapwright's runtime checks every argument.
//! let report = unsafe { run(open, &options, |_| {}) }.unwrap();
//! assert_eq!(report.failed().count(), 0);
//! ```

pub mod answer;
pub mod check;
pub mod checks;
mod com;
pub mod context;
mod desc;
mod dxbc;
pub mod hresult;
mod pages;
mod proof;
mod queue;
pub mod runner;
mod scene;
mod target;
mod transfer;

pub use answer::{Stop, Strictness, Verdict};
pub use check::{Check, Class, Need};
pub use context::{Caps, Context, Target};
pub use runner::{CannotRun, CheckReport, Filter, Options, Outcome, Report, run};
