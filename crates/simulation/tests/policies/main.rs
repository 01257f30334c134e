//! Eviction policies: their contract, textbook implementations, and their results in generated workloads.

mod bound;
mod contract;
mod textbook;
