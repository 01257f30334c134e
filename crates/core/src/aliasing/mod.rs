//! The aliasing planner: packs resources that do not live at the same time into the smallest heap.
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
//! within a budget: first fit in several orders, then a search that tries the lower bound first. If the search is
//! exhaustive, the bound rises, so that a height above the load may be proved optimal.
//!
//! Nothing here calls a device or reads a clock. For a budget in steps, results are the same on every machine.

mod check;
mod fewer_pairs;
pub mod frame;
mod greedy;
mod handovers;
mod heaviest;
mod hints;
mod instance;
mod runs;
mod search;
mod sections;
mod solve;
#[cfg(all(test, not(loom)))]
mod tests;

pub use check::{PackingError, check};
pub use fewer_pairs::reduce_aliasing_pairs;
pub use handovers::{Handover, aliasing_pairs, handovers};
pub use instance::{Buffer, Instance, InstanceError, Interval, Violated};
pub use solve::{Load, Packing, SolveOptions, solve};
