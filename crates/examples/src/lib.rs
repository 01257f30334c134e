//! Programs that use heapwright: `cargo run -p heapwright-examples --example hello_allocator`.
