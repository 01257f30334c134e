//! The suite itself: its checks on every simulated GPU.
#![allow(missing_docs, reason = "a test")]
// If a function became safe that the tests call in an unsafe block, they would not compile.
#![deny(unused_unsafe)]

mod runtime;
