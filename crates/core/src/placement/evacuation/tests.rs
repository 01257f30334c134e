//! Evacuation beside a model of what is live, and how far it gets.

mod convergence;
mod model;
mod single;
mod threads;
