//! Published eviction policies, and generated workloads to compare them with those of `heapwright-core`.
//!
//! For development only: no published crate depends on it. `cargo run --release -p heapwright-policies`
//! prints tables. The tests check the default policy against its limits, and all policies against the
//! contract of [`EvictionPolicy`](heapwright_core::residency::policy::EvictionPolicy) and textbook
//! implementations.

mod aged_lru;
mod lirs;
mod s3_fifo;
mod sieve;
pub mod workloads;

use heapwright_core::residency::policy::PolicyKind;

pub use aged_lru::{AgedLru, AgedLruDesc};
pub use lirs::Lirs;
pub use s3_fifo::S3Fifo;
pub use sieve::Sieve;

/// Returns every policy: those of `heapwright-core`, the default first, then those of this crate.
#[must_use]
pub fn kinds() -> Vec<PolicyKind> {
    let mut kinds = PolicyKind::all().to_vec();
    kinds.extend([
        PolicyKind::custom("d3dx12-residency", || Box::new(AgedLru::new(AgedLruDesc::default()))),
        PolicyKind::custom("sieve", || Box::new(Sieve::new())),
        PolicyKind::custom("s3-fifo", || Box::new(S3Fifo::new())),
        PolicyKind::custom("lirs", || Box::new(Lirs::new())),
    ]);
    kinds
}
