//! Tests with the runtime's library and with small libraries in C.
#![allow(missing_docs, reason = "a test")]

mod runtime;
mod support;
mod system;
#[cfg(unix)]
mod without_dxgi;
mod written_in_c;
