//! The caller vouches for the library.
fn main() {
    let _ = heapwright_loader::D3d12::open("library.so");
}
