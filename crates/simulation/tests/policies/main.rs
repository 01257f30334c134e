//! Eviction policies: their contract, textbook implementations, and their results in generated workloads; generated
//! traces.

mod bound;
mod contract;
mod textbook;
mod traces;
