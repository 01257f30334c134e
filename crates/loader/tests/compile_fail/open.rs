//! The caller must guarantee that the library is safe to load.
fn main() {
    let _ = heapwright_loader::D3d12::open("library.so");
}
