//! Compares evacuation with a model of live allocations, and measures its results.

mod convergence;
mod model;
mod single;
