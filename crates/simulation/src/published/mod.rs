//! Published eviction policies, to compare those of `heapwright-core` with.
//!
//! # What was tried for the default policy
//!
//! Combinations of policies in `generated:development` and in the five recorded traces at budgets of 40 to 90 %: bytes paged
//! in, divided by those of the best of seven policies for each workload (geometric mean and maximum) and by LRU's (maximum),
//! each with 64 MiB added (2026-11-23, when heaps were evicted ahead of need after each frame). All simulate the resident sets of their experts, as
//! [`Adaptive`](heapwright_core::residency::policy::Adaptive) does.
//!
//! | combination | mean | maximum | of LRU | in the traces |
//! |---|---|---|---|---|
//! | `next-use` alone | 1.037 | 2.65 | 1.81 | 1.048, 1.43, 1.43 |
//! | the leader changes if the other one is better by C/8 (C is the capacity), as until 2026-11-23 | 1.040 | 1.61 | 1.16 | 1.049, 1.17, 1.08 |
//! | `next-use` leads if better by C/16, without a limit relative to LRU | 1.041 | 1.46 | 1.11 | 1.051, 1.15, 1.06 |
//! | it leads if better by C/32, and 21/20 of LRU and C/20 are not exceeded | 1.035 | 1.46 | 1.11 | 1.038, 1.15, 1.01 |
//! | **C/32, 17/16 of LRU and C/64** | 1.035 | 1.50 | 1.10 | 1.042, 1.15, 1.06 |
//! | with S3-FIFO as third expert | 1.036 | 1.37 | 1.14 | 1.036, 1.15, 1.03 |
//! | with S3-FIFO and SIEVE, without a limit relative to LRU | 1.042 | 1.34 | 1.18 | 1.046, 1.15, 1.03 |
//! | each heap follows an expert by a fixed threshold and the experts' weights (Hedge) | 1.056 | 1.53 | 1.12 | 1.065, 1.28, 1.28 |
//!
//! A maximum of 1.15 of the best is out of reach for combinations: the better of `next-use` and LRU in hindsight is at 1.46,
//! and that of `next-use`, LRU and S3-FIFO at 1.15. The worst workloads page in little more than a capacity in all, so one wrong set
//! of victims decides. S3-FIFO improves them, for 24 bytes per heap and a worse ratio to LRU.

mod aged_lru;
mod lirs;
mod s3_fifo;
mod sieve;

use heapwright_core::residency::policy::PolicyKind;

pub use aged_lru::{AgedLru, AgedLruDesc};
pub use lirs::Lirs;
pub use s3_fifo::S3Fifo;
pub use sieve::Sieve;

/// Returns every policy: those of `heapwright-core`, the default first, then the published ones.
#[must_use]
pub fn policy_kinds() -> Vec<PolicyKind> {
    let mut kinds = PolicyKind::all().to_vec();
    kinds.extend([
        PolicyKind::custom("d3dx12-residency", || Box::new(AgedLru::new(AgedLruDesc::default()))),
        PolicyKind::custom("sieve", || Box::new(Sieve::new())),
        PolicyKind::custom("s3-fifo", || Box::new(S3Fifo::new())),
        PolicyKind::custom("lirs", || Box::new(Lirs::new())),
    ]);
    kinds
}
