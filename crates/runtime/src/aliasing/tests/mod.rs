//! Programs on a tracker without a runtime around it.

mod programs;
mod stage;
