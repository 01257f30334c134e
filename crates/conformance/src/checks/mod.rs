//! All checks, one file for each area; aliasing has a folder.
//!
//! The file of an area contains a table of checks, followed by the functions that they share.

mod aliasing;
mod allocation_info;
mod buffer;
mod commands;
mod contents;
mod copies;
mod device;
mod existing_heaps;
mod features;
mod fences;
mod footprints;
mod formats;
mod heap;
mod heap_properties;
mod layouts;
mod mapping;
mod queries;
mod recording;
mod recreate;
mod residency;
pub(crate) mod shaders;
mod swizzle;
mod texture;
mod tight;
mod tight_floor;
mod tiles;
mod upload;
mod video;
mod views;

use crate::check::Check;

const TABLES: [&[Check]; 37] = [
    device::CHECKS,
    features::CHECKS,
    heap_properties::CHECKS,
    heap::CHECKS,
    existing_heaps::CHECKS,
    buffer::CHECKS,
    mapping::CHECKS,
    allocation_info::CHECKS,
    tight::CHECKS,
    tight_floor::CHECKS,
    contents::PLACEMENT,
    upload::CHECKS,
    texture::CHECKS,
    footprints::CHECKS,
    layouts::CHECKS,
    swizzle::CHECKS,
    tiles::CHECKS,
    recreate::CHECKS,
    residency::CHECKS,
    contents::RESIDENCY,
    fences::CHECKS,
    copies::CHECKS,
    contents::COPIES,
    contents::QUEUES,
    commands::CHECKS,
    recording::CHECKS,
    formats::CHECKS,
    video::CHECKS,
    views::CHECKS,
    queries::CHECKS,
    shaders::CHECKS,
    aliasing::granularity::CHECKS,
    aliasing::invalidation::CHECKS,
    aliasing::barriers::CHECKS,
    aliasing::inheritance::CHECKS,
    contents::ALIASING,
    aliasing::enhanced::CHECKS,
];

/// Returns all checks, grouped by area.
pub fn all() -> impl Iterator<Item = &'static Check> {
    TABLES.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut ids = HashSet::new();
        for check in all() {
            assert!(ids.insert(check.id), "duplicate check id {}", check.id);
            let (area, what) = check.id.split_once('/').expect("an area and a name");
            for word in [area, what] {
                let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(!word.is_empty() && word.chars().all(is_plain), "{}", check.id);
            }
            assert!(!check.spec.is_empty(), "{} names no specification", check.id);
        }
        assert!(ids.len() >= 200, "{} checks", ids.len());
    }

    #[test]
    fn tables_of_an_area_are_adjacent() {
        let mut areas: Vec<&str> = Vec::new();
        for table in TABLES {
            let area = table[0].area();
            assert!(table.iter().all(|check| check.area() == area), "{area}");
            if areas.last() != Some(&area) {
                assert!(!areas.contains(&area), "the tables of area {area} are not adjacent");
                areas.push(area);
            }
        }
    }
}
