//! All checks, one file an area.
//!
//! An area's file is a table of checks, and below it the functions that several of them share.

mod allocation_info;
mod buffer;
mod commands;
mod copies;
mod device;
mod features;
mod fences;
mod footprints;
mod heap;
mod heap_properties;
mod layouts;
mod mapping;
mod recreate;
mod residency;
mod swizzle;
mod texture;
mod tight;
mod tiles;
mod upload;

use crate::check::Check;

const AREAS: [&[Check]; 19] = [
    device::CHECKS,
    features::CHECKS,
    heap_properties::CHECKS,
    heap::CHECKS,
    buffer::CHECKS,
    mapping::CHECKS,
    allocation_info::CHECKS,
    tight::CHECKS,
    upload::CHECKS,
    texture::CHECKS,
    footprints::CHECKS,
    layouts::CHECKS,
    swizzle::CHECKS,
    tiles::CHECKS,
    recreate::CHECKS,
    residency::CHECKS,
    fences::CHECKS,
    copies::CHECKS,
    commands::CHECKS,
];

/// Every check, area by area.
pub fn all() -> impl Iterator<Item = &'static Check> {
    AREAS.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut ids = HashSet::new();
        for check in all() {
            assert!(ids.insert(check.id), "{} is there twice", check.id);
            let (area, what) = check.id.split_once('/').expect("an area and a name");
            for word in [area, what] {
                let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(!word.is_empty() && word.chars().all(is_plain), "{}", check.id);
            }
            assert!(!check.spec.is_empty(), "{} has no place in a specification", check.id);
        }
        assert!(ids.len() >= 200, "{} checks", ids.len());
    }

    #[test]
    fn an_area_is_one_table() {
        let mut areas = HashSet::new();
        for table in AREAS {
            let area = table[0].area();
            assert!(areas.insert(area), "{area} is in two tables");
            assert!(table.iter().all(|check| check.area() == area), "{area}");
        }
    }
}
