//! Traces: any input of the readers, damaged files, the traces and captures in the repository, sessions and workloads.
#![allow(missing_docs, reason = "a test")]

mod captures;
mod damage;
mod files;
mod properties;
mod recorded;
mod sessions;
mod workload;
