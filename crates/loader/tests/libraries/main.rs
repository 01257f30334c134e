//! Tests with the runtime's library and with small libraries in C.
#![allow(missing_docs, reason = "a test")]
// If a function became safe that the tests call in an unsafe block, they would not compile.
#![deny(unused_unsafe)]

mod runtime;
mod support;
mod system;
#[cfg(unix)]
mod without_dxgi;
mod written_in_c;
