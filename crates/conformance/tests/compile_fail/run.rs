//! The caller vouches for the device, which checks hand what it must refuse.
fn main() {
    let _ = heapwright_conformance::run(|| Err(String::new()), &Default::default(), |_| {});
}
