//! Compares evacuation with a model of live allocations, and counts its steps.

mod convergence;
mod model;
mod single;
