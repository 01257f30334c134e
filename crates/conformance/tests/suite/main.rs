//! The suite itself: its rules of aliasing, and its checks on every simulated GPU.
#![allow(missing_docs, reason = "a test")]

mod aliasing_rules;
mod runtime;
