//! The contents that a resource inherits with memory: bytes of buffers, and tiles of textures.

use std::ops::Range;

use super::content::{Cause, Content};
use super::coverage::{Coverage, Part, Region};
use super::granularity::{KIB_64, common};
use super::inheritance::{self, Circumstances, Transfer};
use super::resource::TrackedResource;
use super::rule::Rule;

/// The effect of a transfer on contents.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Inherited,
    Lost(Rule),
    /// Some units were not inherited: the unit of the old and of the new resource, and the rule.
    Partly(Vec<(u32, u32, Rule)>),
}

/// Returns whether contents are either entirely valid or not valid at all.
pub(super) fn is_all_or_nothing(content: &Content) -> bool {
    !matches!(content.valid, Coverage::Parts(_))
}

/// Combines bytes of a buffer to the contents of a tile: all valid, or none. Returns `None` if mixed. O(units).
pub(super) fn bytes_as_one(from: &TrackedResource, bytes: &Range<u64>) -> Option<Content> {
    let mut contents = Vec::new();
    for unit in from.shape.places_of_bytes(bytes) {
        let content = from.content.get(unit)?;
        let part = from.shape.whole_of_unit(unit)?.intersection(&Region::bytes(bytes.start, bytes.end))?;
        let is_none = !content.valid.regions(part).iter().any(|region| region.intersection(&part).is_some());
        let is_all = content.valid.covers(Part::Region(part));
        contents.push((content, is_none, is_all, part.end[0]));
    }
    let first = contents.first()?.0;
    if contents.iter().all(|(_, _, is_all, _)| *is_all) && contents.last()?.3 == bytes.end {
        return Some(Content::valid());
    }
    contents.iter().all(|(_, is_none, _, _)| *is_none).then(|| Content::undefined(first.cause))
}

/// Transfers tiles of a texture to the same number of bytes of a buffer. O(tiles).
pub(super) fn tiles_to_bytes(
    (from, theirs): (&TrackedResource, u64),
    (to, ours): (&mut TrackedResource, u64),
    size: u64,
    of: Circumstances,
) -> Outcome {
    let tiles = from.shape.places_of_bytes(&(theirs..theirs + size));
    let count = tiles.len();
    let mut failed = Vec::new();
    for tile in tiles {
        let part = common(&(theirs..theirs + size), &from.shape.bytes_of_places(&(tile..tile + 1)));
        if part.is_empty() {
            continue;
        }
        let bytes = part.start - theirs + ours..part.end - theirs + ours;
        let unit = to.shape.places_of_bytes(&bytes).start;
        let from_unit = from.shape.units_of_places(&(tile..tile + 1)).start;
        let content = from.content.get(from_unit);
        let states = inheritance::check_states((from, from_unit), (to, unit), Transfer::WholeTiles, of);
        match (states, content) {
            (Ok(()), Some(content)) if content.is_valid() => {
                for piece in to.shape.bytes(bytes.start, bytes.end - bytes.start) {
                    to.validate(&piece);
                }
            }
            (Ok(()), Some(content)) if is_all_or_nothing(content) => {
                // Discarded contents may be used by the texture, but are undefined for a buffer.
                let cause = match content.cause {
                    Cause::Activated => Cause::Invalidated { by: from.id, because: Rule::I8 },
                    cause => cause,
                };
                to.undefine_bytes(&bytes, cause);
            }
            // The mapping of texels to bytes is unknown here: the texture keeps its contents, and the buffer inherits
            // none.
            (Ok(()), _) => {
                to.undefine_bytes(&bytes, Cause::Invalidated { by: from.id, because: Rule::G9 });
            }
            (Err(because), _) => {
                to.undefine_bytes(&bytes, Cause::Invalidated { by: from.id, because });
                failed.push((from_unit, unit, because));
            }
        }
    }
    match failed.first() {
        None => Outcome::Inherited,
        Some(&(_, _, rule)) if failed.len() == count => Outcome::Lost(rule),
        Some(_) => Outcome::Partly(failed),
    }
}

/// Transfers `size` bytes at `theirs` in one buffer to `ours` in another. O(units).
pub(super) fn inherit_bytes(
    from: &TrackedResource,
    to: &mut TrackedResource,
    theirs: u64,
    ours: u64,
    size: u64,
) {
    let from_units = from.shape.places_of_bytes(&(theirs..theirs + size));
    let to_units = to.shape.places_of_bytes(&(ours..ours + size));
    let is_aligned = ours.is_multiple_of(KIB_64)
        && (size.is_multiple_of(KIB_64) || ours.saturating_add(size) >= to.shape.size);
    if is_aligned && from.content.all(from_units.clone(), Content::is_valid) {
        to.content.set(to_units, &Content::valid());
        return;
    }
    let taken = Region::bytes(ours, ours + size);
    for unit in to_units {
        let Some(whole) = to.shape.whole_of_unit(unit) else { continue };
        let Some(part) = whole.intersection(&taken) else { continue };
        let Some(mut content) = to.content.get(unit).cloned() else { continue };
        content.valid.remove(part, Some(whole));
        content.initialised.remove(part, Some(whole));
        let source = theirs + (part.start[0] - ours)..theirs + (part.end[0] - ours);
        for from_unit in from.shape.places_of_bytes(&source) {
            let Some(other) = from.content.get(from_unit) else { continue };
            if !other.is_valid() {
                content.cause = other.cause;
            }
            let Some(bounds) = from.shape.whole_of_unit(from_unit) else { continue };
            for region in other.valid.regions(bounds) {
                let Some(region) = region.intersection(&Region::bytes(source.start, source.end)) else {
                    continue;
                };
                let moved = Region::bytes(region.start[0] - theirs + ours, region.end[0] - theirs + ours);
                content.valid.add(Part::Region(moved), Some(whole));
                content.initialised.add(Part::Region(moved), Some(whole));
            }
        }
        to.content.set(unit..unit + 1, &content);
    }
}
