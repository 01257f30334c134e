//! The reader of traces: any input, broken files, and the traces in the repository.
#![allow(missing_docs, reason = "a test")]

mod files;
mod properties;
mod recorded;
