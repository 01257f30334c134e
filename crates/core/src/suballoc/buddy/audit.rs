//! Full check of the invariants that the module page lists.

use super::super::slots::SlotIndex;
use super::Buddy;
use super::blocks::{Block, EDGE, head};
use super::order::Order;

/// Returns the first violated invariant. O(n log n) for n blocks.
pub(super) fn audit(buddy: &Buddy) -> Result<(), String> {
    audit_blocks(buddy)?;
    audit_lists(buddy)?;
    buddy.blocks.slots.audit_vacant()
}

fn check(holds: bool, finding: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(finding()) }
}

fn block(buddy: &Buddy, index: SlotIndex) -> Result<&Block, String> {
    buddy.blocks.slots.get(index).ok_or_else(|| format!("{index:?} is not in the table"))
}

/// Returns the size of the block. A used block stores only the requested size.
fn block_size(block: &Block) -> u64 {
    if block.is_used() { Order::holding(block.size()).bytes() } else { block.size() }
}

/// Checks that the blocks in address order cover the range, that no two free blocks are buddies, and that the
/// counters are right.
fn audit_blocks(buddy: &Buddy) -> Result<(), String> {
    let edge = block(buddy, EDGE)?;
    check(edge.is_used(), || "the edge of the range is marked as free".to_owned())?;
    let (mut below_index, mut below, mut index) = (EDGE, edge, edge.above);
    let (mut end, mut used, mut free, mut used_count, mut count) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let mut stamps = Vec::new();
    while index != EDGE {
        let block = block(buddy, index)?;
        check(block.below == below_index, || {
            format!("{block:?} follows {below_index:?} but does not link back to it")
        })?;
        check(block.start() == end, || {
            format!("{block:?} does not start at {end:#x}, where the previous block ends")
        })?;
        check((1..=1 << 63).contains(&block.size()), || format!("{block:?} has an invalid size"))?;
        let size = block_size(block);
        check(size.is_power_of_two(), || format!("the size of {block:?} is not a power of two"))?;
        check(block.start() & (size - 1) == 0, || {
            format!("{block:?} does not start at a multiple of its size")
        })?;
        let is_second_half = block.start() & size != 0;
        let are_buddies = is_second_half && !block.is_used() && !below.is_used() && below.size() == size;
        check(!are_buddies, || {
            format!("{block:?} and the previous block are free buddies that were not merged")
        })?;
        check(count < buddy.blocks.slots.count(), || {
            "the list of blocks is longer than the recorded number".to_owned()
        })?;
        if block.is_used() {
            let stamp = block.stamp().ok_or_else(|| format!("{block:?} is used but has no stamp"))?;
            check(stamp < buddy.next_stamp, || format!("{block:?} has a stamp that was not issued yet"))?;
            stamps.push(stamp);
            used += block.size();
            used_count += 1;
        } else {
            free += size;
        }
        count += 1;
        end += size;
        (below_index, below, index) = (index, block, block.above);
    }
    check(edge.below == below_index, || {
        format!("the highest block is {below_index:?}, recorded {:?}", edge.below)
    })?;
    check(end == buddy.capacity, || format!("the blocks end at {end:#x} instead of {:#x}", buddy.capacity))?;
    check(used == buddy.used, || format!("found {used} used bytes, recorded {}", buddy.used))?;
    check(free == buddy.free, || format!("found {free} free bytes, recorded {}", buddy.free))?;
    check(used_count == buddy.allocation_count, || {
        format!("found {used_count} used blocks, recorded {}", buddy.allocation_count)
    })?;
    check(count == buddy.blocks.slots.count(), || {
        format!("found {count} linked blocks, recorded {}", buddy.blocks.slots.count())
    })?;
    stamps.sort_unstable();
    check(stamps.is_sorted_by(|a, b| a < b), || "two used blocks have the same stamp".to_owned())
}

/// Checks that each free block is in the list of its order, and that the bitmap marks exactly the lists that
/// are not empty.
fn audit_lists(buddy: &Buddy) -> Result<(), String> {
    let mut found = 0_u64;
    for order in (0..Order::COUNT).map(Order::new) {
        let (mut previous, mut index) = (head(order), block(buddy, head(order))?.next_free());
        check((index != head(order)) == (buddy.blocks.free_orders & order.bytes() != 0), || {
            format!("the bitmap is wrong for {order:?}")
        })?;
        while index != head(order) {
            let free = block(buddy, index)?;
            check(!free.is_used(), || format!("{free:?} is used but in the free list of {order:?}"))?;
            check(free.size() == order.bytes(), || {
                format!("{free:?} has the wrong size for the free list of {order:?}")
            })?;
            check(free.previous_free() == previous, || {
                format!("{free:?} follows {previous:?} in its free list but does not link back to it")
            })?;
            found += 1;
            check(found <= buddy.free_range_count(), || {
                "the free lists are longer than the recorded number of free blocks".to_owned()
            })?;
            (previous, index) = (index, free.next_free());
        }
        check(block(buddy, head(order))?.previous_free() == previous, || {
            format!("the last free block of {order:?} is {previous:?}, not the recorded one")
        })?;
    }
    check(found == buddy.free_range_count(), || {
        format!("found {found} of {} free blocks in the free lists", buddy.free_range_count())
    })
}
