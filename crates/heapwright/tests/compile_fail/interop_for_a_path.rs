//! A path may refer to the caller's own module, so the caller must vouch for it.
heapwright::windows_interop!(mod interop for crate::windows);

fn main() {}
