//! So is a path.
heapwright::windows_interop!(mod interop for crate::windows);

fn main() {}
