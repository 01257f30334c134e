//! The caller must guarantee that the library is safe to load.
fn main() {
    let name = heapwright_loader::DeviceName::parse("d3d12:library.so").unwrap();
    let _ = name.open();
}
