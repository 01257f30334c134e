//! The violations that the aliasing tracker reports for programs, and the contents of their resources.

mod draws;
mod large;
mod programs;
mod rules;
mod world;
