//! Opens Direct3D 12 devices of the system, or of any shared library that exports `D3D12CreateDevice`.
//!
//! heapwright works with the device of any implementation of Direct3D 12. This crate loads an implementation at run
//! time, without linking to d3d12.dll: [`D3d12::system`] loads that of Windows, and [`D3d12::open`] another one, such
//! as a native build of vkd3d-proton on Linux or heapwright's runtime.
//!
//! ```no_run
//! use heapwright_loader::D3d12;
//!
//! // SAFETY: this is vkd3d-proton's native build, an implementation of Direct3D 12 for Linux.
//! let d3d12 = unsafe { D3d12::open("libvkd3d-proton-d3d12.so") }?;
//! let gpu = d3d12.create_device(None)?;
//! println!("{:?}, with an adapter: {}", gpu.device, gpu.adapter.is_some());
//! # Ok::<(), heapwright_loader::LoadError>(())
//! ```
//!
//! * [`D3d12`]: a loaded implementation, which enumerates adapters and creates devices ([`Gpu`]).
//! * [`DeviceName`]: the names `d3d12`, `d3d12:N` and `d3d12:PATH`, for command lines.
//! * [`LoadError`]: the errors.
//! * `dxgi`: factories and adapters.
//! * `library`: shared libraries and their exported functions.
//!
//! # Safety
//!
//! Loading a library runs its code, and it is impossible to check that the code implements Direct3D 12 and DXGI
//! correctly. Therefore [`D3d12::open`] is unsafe. [`D3d12::system`] is safe, because the operating system's libraries
//! are trusted like those that a program is linked to. Two kinds of unsuitable libraries are detected: those without
//! `D3D12CreateDevice`, and those with a different calling convention ([`LoadError::ForeignCalls`]).
//!
//! Libraries are never unloaded, because devices, adapters and the objects that they create use the library's code.

mod d3d12;
mod device_name;
mod dxgi;
mod error;
mod library;

pub use d3d12::{D3d12, Gpu};
pub use device_name::DeviceName;
pub use error::LoadError;
