//! Check that the slabs agree with the memory in which they lie.

use super::super::RangeUse;
use super::suballocator::Slabs;

/// Returns the first violated invariant.
pub(super) fn audit(slabs: &Slabs) -> Result<(), String> {
    slabs.table.audit()?;
    let mut found = 0;
    for range_use in slabs.tlsf.ranges() {
        let RangeUse::Used(memory) = range_use else { continue };
        let at = super::slabs::position(memory.id.slot().get());
        let Some(number) = slabs.slab_in.get(at).and_then(|number| number.checked_sub(1)) else { continue };
        found += 1;
        let parent = slabs.table.parents.get(super::slabs::position(number)).copied().flatten();
        if parent != Some(memory.id) {
            return Err(format!("slab {number} records parent {parent:?}, but lies in {:?}", memory.id));
        }
        let (mut end, mut bytes) = (memory.range.start(), 0);
        for range_use in slabs.table.slots(number) {
            if range_use.range().start() != end {
                return Err(format!("the slots of slab {number} have a gap at {end}"));
            }
            end = range_use.range().end();
            bytes += range_use.range().size().get();
        }
        if end != memory.range.end() || bytes != memory.range.size().get() {
            return Err(format!("slab {number} ends at {end}, but its memory is {}", memory.range));
        }
    }
    if found != slabs.table.totals().slab_count {
        return Err(format!("found {found} slabs in the heap, recorded {}", slabs.table.totals().slab_count));
    }
    let claims = slabs.slab_in.iter().filter(|&&number| number != 0).count();
    if u64::try_from(claims) != Ok(found) {
        return Err(format!("{claims} ranges are marked as slabs, but {found} are slabs"));
    }
    Ok(())
}
