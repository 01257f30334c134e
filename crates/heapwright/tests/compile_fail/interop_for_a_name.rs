//! A name may refer to the caller's own crate, so the caller must vouch for it.
#![forbid(unsafe_code)]

extern crate self as windows;

heapwright::windows_interop!(mod interop for windows);

fn main() {}
