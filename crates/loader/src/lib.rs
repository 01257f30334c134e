//! Opens Direct3D 12 devices of the system, or of any shared library that exports `D3D12CreateDevice`.
//!
//! The library heapwright takes a device and asks not where it comes from. A program on any operating system gets one here
//! without linking d3d12.dll: [`D3d12::system`] is Windows' own D3D12, [`D3d12::open`] another implementation, such as
//! a native build of vkd3d-proton on Linux, or heapwright's runtime as a library.
//!
//! ```no_run
//! use heapwright_loader::D3d12;
//!
//! // SAFETY: it is vkd3d-proton's native build, a D3D12 for Linux.
//! let d3d12 = unsafe { D3d12::open("libvkd3d-proton-d3d12.so") }?;
//! let gpu = d3d12.create_device(None)?;
//! println!("{:?}, with an adapter: {}", gpu.device, gpu.adapter.is_some());
//! # Ok::<(), heapwright_loader::LoadError>(())
//! ```
//!
//! * [`D3d12`]: a D3D12 that was loaded; its adapters, and [`Gpu`]s on them.
//! * [`DeviceName`]: `d3d12`, `d3d12:N` and `d3d12:PATH`, as programs are told which device to take.
//! * [`LoadError`]: why there is none.
//! * `dxgi`: factories and adapters.
//! * `library`: shared libraries and the functions that they export.
//!
//! # What is trusted
//!
//! To load a library is to run it. Nobody can check that it does what D3D12 and DXGI say; as with a library that is linked,
//! whoever names it vouches for it, and [`D3d12::open`] is an `unsafe fn` that says for what. [`D3d12::system`] is not: the
//! operating system's own libraries are trusted, as those that a program is linked with. What can be recognised is refused: a library without `D3D12CreateDevice`, and one whose
//! functions are called in another way than this program calls them ([`LoadError::ForeignCalls`]).
//!
//! A library is never unloaded: devices, adapters and whatever they create run its code, and nothing says when the last of
//! them is gone.

mod d3d12;
mod device_name;
mod dxgi;
mod error;
mod library;

pub use d3d12::{D3d12, Gpu};
pub use device_name::DeviceName;
pub use error::LoadError;
