//! Checks in the manner of the HLK for the memory half of Direct3D 12, over COM interfaces alone.
//!
//! They run on any `ID3D12Device`: Windows', Wine's, vkd3d-proton's, heapwright's own runtime. Each check has an id, the
//! place in the specification that it follows, and what it needs; it passes, fails or is skipped, and says why with the
//! figures that it found. Its class tells what correct programs rely on from what the device is to refuse.
//!
//! * [`check`]: what a check is; [`checks`]: all of them, one file an area.
//! * [`context`]: the device under test, its caps, asked once, and its calls.
//! * [`answer`]: what a call answered, and what it should have.
//! * [`runner`]: runs checks one by one, each isolated from the others.
//! * `com`: the unsafe calls; `desc`: descriptions to begin with; `hresult`: names of HRESULTs.
//!
//! # What a device must stand
//!
//! Checks call the device with arguments that D3D12 refuses. A device that trusts its callers instead may do anything then, so
//! [`run`] is an `unsafe fn`: call it for devices that check, or in a process of its own.
//!
//! # What a check may assume
//!
//! It creates all that it needs and holds nothing when it returns. It allows whatever the documents allow: where
//! implementations are known to differ within them, each behaviour passes. A feature that the device does not know counts
//! as absent. A call that answers `E_NOTIMPL` skips the check, or fails it, as [`Strictness`] says.
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
pub mod hresult;
pub mod runner;

pub use answer::{Stop, Strictness, Verdict};
pub use check::{Check, Class, Need, Shows, Side};
pub use context::{Caps, Context, Target};
pub use runner::{CannotRun, CheckReport, Filter, Options, Outcome, Report, run};
