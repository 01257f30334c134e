//! Tests the public behaviour of the suballocators against a simple interval map that cannot fail in the same way.
#![allow(missing_docs, reason = "a test")]

mod every_algorithm;
mod interval_map;
mod linear;
mod shadowed;
mod steps;
mod tlsf;
