//! README.md tells how many checks there are.

use heapwright_conformance::checks;

use crate::support::repository;

#[test]
fn the_number_of_checks_in_the_readme_is_true() {
    let readme =
        std::fs::read_to_string(repository().join("README.md")).expect("README.md of the repository");
    let sentence = format!("has {} checks for any implementation of Direct3D 12", checks::all().count());
    assert!(readme.contains(&sentence), "README.md: expected {sentence:?}");
}
