//! The aliasing planner of heapwright: packs resources that do not live at the same time into the smallest heap.
//!
//! | type | meaning |
//! |---|---|
//! | [`Instance`] | buffers with sizes, alignments and lifetimes, checked |
//! | [`solve()`] | finds a [`Packing`] of an instance: an offset for each buffer, the height, and a lower bound |
//! | [`check()`] | checks offsets, independently of the solver |
//! | [`handovers()`] | which buffer takes over memory from which; [`reduce_aliasing_pairs`] makes them fewer at the same height |
//! | [`frame`] | passes on several queues: the plan of their resources, with the barriers and initialisations that are owed |
//!
//! Lifetimes are intervals of time, or follow from a partial order. The planner answers at once and improves the answer
//! within a budget: first fit in several orders, then in turns first fit in changed orders and a search that tries the
//! lower bound first. If the search is exhaustive, the bound rises, so that a height above the load may be proved
//! optimal.
//!
//! Nothing here calls a device or reads a clock. For a budget in steps, results are the same on every machine.
//!
//! # From a frame to its plan
//!
//! This section follows `frame.plan(&options, &mut stop)`:
//!
//! 1. `frame/passes.rs` computes which pass happens before which, the first use of each resource, what it owes, and
//!    which resources never alias.
//! 2. `instance.rs` checks sizes, alignments and lifetimes, and computes the sections, sets of buffers that live at the
//!    same time: instants for intervals, cliques for partial orders. The heaviest one is the load, the first lower
//!    bound.
//! 3. `solve.rs` splits the instance into parts without conflicts between them, and places each by first fit and best
//!    fit in several orders (`greedy.rs`). It keeps the places of an earlier plan, and searches places for the other
//!    resources around them.
//! 4. `keys.rs` changes the order of first fit step by step, and keeps what makes the packing lower. In turns with it,
//!    `search/` looks for a packing at the lower bound, and at heights between the bound and the best packing, in many
//!    short runs (`runs.rs`), on one thread or several. A run that is exhaustive raises the bound. If it is too large,
//!    above about 2,000 buffers, `runs.rs` packs the buffers of its heaviest sections like this, and the others around
//!    them by first fit.
//! 5. `handovers.rs` determines which resource takes over memory from which, and moves resources, at the same height,
//!    so that there are fewer such pairs. `frame/plan.rs` derives the activations: the granularity of both resources
//!    decides which of them share memory, and behind a buffer, of which only a part may have been used, the resources
//!    before it count, too. `frame/passes.rs` divides the passes into submissions, between which queues wait for each
//!    other.

#![forbid(unsafe_code)]

mod check;
pub mod frame;
mod greedy;
mod handovers;
mod instance;
mod keys;
mod runs;
mod search;
mod solve;
#[cfg(test)]
mod tests;

pub use check::{PackingError, check};
pub use handovers::{Handover, aliasing_pairs, handovers, reduce_aliasing_pairs};
pub use instance::{Buffer, Instance, InstanceError, Interval, Violated};
pub use solve::{Load, Packing, SolveOptions, solve};
