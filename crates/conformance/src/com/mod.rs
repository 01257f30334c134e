//! The COM calls of the checks, each wrapped once.
//!
//! This is the only place with `unsafe`. The wrappers pass live interfaces, and pointers to valid structures of the
//! size that the call expects, or null where a check is about that. They rely on the device to keep COM's side of
//! the contract, and to check what D3D12 checks: that is what the caller of [`run`](crate::run) vouches for.
//!
//! * [`device`]: creation, features, allocation info.
//! * [`object`]: identity, private data, names, residency.
//! * [`memory`]: mapped memory as bytes.
//! * [`tools`]: where objects are, and where they are to be.
//! * [`commands`]: queues, lists and fences; [`barriers`]: barriers of both generations.
//! * [`passes`]: what lists do beside copies: rectangles, resolves, render passes, barriers of textures.
//! * [`pipelines`]: root signatures, pipeline states, command signatures, bundles and queries.
//! * [`tracker`]: what a device that judges aliasing says.
//! * [`adapter`]: DXGI's memory figures.

pub(crate) mod adapter;
pub(crate) mod barriers;
pub(crate) mod commands;
pub(crate) mod device;
pub(crate) mod memory;
pub(crate) mod object;
pub(crate) mod passes;
pub(crate) mod pipelines;
pub(crate) mod tools;
pub(crate) mod tracker;

use heapwright_d3d12::{E_POINTER, S_OK};
use windows_core::HRESULT;

/// What a call answered.
pub(crate) type Result<T> = std::result::Result<T, HRESULT>;

/// A creation call's result. S_OK without an object counts as `E_POINTER`.
fn created<T>(result: windows_core::Result<()>, object: Option<T>) -> Result<T> {
    result.map_err(|error| error.code())?;
    object.ok_or(E_POINTER)
}

/// An HRESULT as a result; success codes beside S_OK count as success.
fn done(hresult: HRESULT) -> Result<()> {
    if hresult == S_OK || hresult.is_ok() { Ok(()) } else { Err(hresult) }
}
