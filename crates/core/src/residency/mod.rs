//! Residency: which heaps are in memory, and which go when it is short.

pub mod offline;
pub mod policy;
