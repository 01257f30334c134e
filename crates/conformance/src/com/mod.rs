//! The COM calls of the checks, each wrapped once.
//!
//! All `unsafe` code of the checks is here. The wrappers pass live interfaces, and either pointers to valid structures
//! of the size that the call expects or null where a check tests that. They rely on the device to keep COM's side of
//! the contract and to validate what D3D12 validates, which the caller of [`run`](crate::run) guarantees.
//!
//! * [`device`]: creation, features, allocation info.
//! * [`object`]: identity, private data, names, residency.
//! * [`memory`]: mapped memory as bytes.
//! * [`tools`]: the GPU virtual addresses of objects.
//! * [`commands`]: queues, lists and fences; [`barriers`]: legacy and enhanced barriers; [`views`]: descriptors.
//! * [`clears`]: clears, discards and resolves.
//! * [`pipelines`]: root signatures, pipeline states and dispatches.
//! * [`adapter`]: DXGI's memory figures.

pub(crate) mod adapter;
pub(crate) mod barriers;
pub(crate) mod clears;
pub(crate) mod commands;
pub(crate) mod device;
pub(crate) mod memory;
pub(crate) mod object;
pub(crate) mod pipelines;
pub(crate) mod tools;
pub(crate) mod views;

use std::borrow::Cow;

use heapwright_d3d12::{E_POINTER, ID3D12Resource};
use windows_core::{HRESULT, Interface};

use crate::answer::Answer;

pub(crate) type Result<T> = std::result::Result<T, HRESULT>;

/// The result of a call that returns an object.
fn returned<T>(call: impl Into<Cow<'static, str>>, result: windows_core::Result<T>) -> Answer<T> {
    Answer::new(call, result.map_err(|error| error.code()))
}

/// The result of a call that writes an object to a pointer. S_OK without an object counts as `E_POINTER`.
fn created<T>(
    call: impl Into<Cow<'static, str>>,
    result: windows_core::Result<()>,
    object: Option<T>,
) -> Answer<T> {
    Answer::new(call, result.map_err(|error| error.code()).and_then(|()| object.ok_or(E_POINTER)))
}

/// The result of a call that returns an HRESULT. All success codes count as success.
fn done(call: impl Into<Cow<'static, str>>, hresult: HRESULT) -> Answer<()> {
    Answer::new(call, if hresult.is_ok() { Ok(()) } else { Err(hresult) })
}

/// Another interface of an object.
pub(crate) fn cast<I: Interface>(object: &impl Interface) -> Result<I> {
    object.cast().map_err(|error| error.code())
}

/// An interface that a structure borrows: the structure does not release it, and the owner outlives the call.
fn borrowed(resource: Option<&ID3D12Resource>) -> std::mem::ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: an optional reference to an interface is null or points to a pointer, and so is the optional interface;
    // ManuallyDrop leaves the reference count alone.
    std::mem::ManuallyDrop::new(resource.map(|resource| unsafe { std::mem::transmute_copy(resource) }))
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("the number of items fits in 32 bits")
}
