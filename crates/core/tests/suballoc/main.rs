//! Tests the public behaviour of the suballocators against a simple interval map that cannot fail in the same way.
#![allow(missing_docs, reason = "a test")]

#[macro_use]
mod every_algorithm;
mod buddy;
mod interval_map;
mod linear;
mod ring;
mod shadowed;
mod shadowed_block;
mod slabs;
mod tlsf;
mod virtual_block;
