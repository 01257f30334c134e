//! Programs on a tracker without a runtime around it.

mod agreement;
mod model;
mod programs;
mod stage;
