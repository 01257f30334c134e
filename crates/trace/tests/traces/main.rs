//! Traces: any input of the readers, damaged files, captures and snapshots of other programs, and sessions.
#![allow(missing_docs, reason = "a test")]

mod captures;
mod damage;
mod files;
mod properties;
mod sessions;
mod snapshots;
