//! A name may be the caller's own crate, so it is vouched for.
#![forbid(unsafe_code)]

extern crate self as windows;

heapwright::windows_interop!(mod interop for windows);

fn main() {}
