//! The caller vouches for the library that a name may be.
fn main() {
    let name = heapwright_loader::DeviceName::parse("d3d12:library.so").unwrap();
    let _ = name.open();
}
