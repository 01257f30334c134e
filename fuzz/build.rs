//! Sets `cfg(fuzzing)` for the targets, which include files of crates/core. With a compiler flag, their dependencies
//! would be built for it alone.

fn main() {
    println!("cargo::rustc-cfg=fuzzing");
    println!("cargo::rerun-if-changed=build.rs");
}
