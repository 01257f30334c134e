//! Nothing turns on the feature `preview` but the feature `preview` of a crate above, which nothing turns on by
//! default.

use std::fs;
use std::path::Path;

#[test]
fn only_programs_ask_for_previews() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let crates = fs::read_dir(root.join("crates")).expect("the crates");
    let mut manifests: Vec<_> = crates.map(|entry| entry.expect("readable").path()).collect();
    manifests.extend(["xtask", "fuzz", "interop", "lab"].map(|name| root.join(name)));
    manifests.push(root.to_owned());
    let mut forwarding = Vec::new();
    for folder in manifests {
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        for line in manifest.lines().map(str::trim) {
            if line.starts_with('#') || !line.contains("preview") {
                continue;
            }
            match line.split_once(" = ") {
                Some(("preview", features)) => forwarding.push(features.to_owned()),
                // A test that only runs with the feature.
                Some(("name" | "required-features", _)) => {}
                _ => panic!("{}: {line:?} turns on what previews add", folder.display()),
            }
        }
    }
    forwarding.sort();
    forwarding.dedup();
    assert_eq!(
        forwarding,
        ["[\"heapwright-d3d12/preview\"]", "[]"],
        "the bindings, and the crates above them"
    );
}
