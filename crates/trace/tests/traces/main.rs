//! Traces: any input of the readers, damaged files, the traces and captures in the repository, and sessions.
#![allow(missing_docs, reason = "a test")]

mod captures;
mod damage;
mod files;
mod properties;
mod recorded;
mod sessions;
