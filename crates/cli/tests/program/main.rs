//! Runs the program as a user does, and looks at exit code, standard output and standard error.

mod bad_input;
mod conformance;
mod help;
mod known_gaps;
mod library;
mod loaded_device;
mod replay;
mod report;
mod residency;
mod support;
