//! Loads libraries, and creates devices from them: the runtime's, and small ones in C that are wrong in one way each.
#![allow(missing_docs, reason = "a test")]

mod runtime;
mod support;
mod written_in_c;
