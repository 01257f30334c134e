//! Full check of blocks and counters.

use super::{AuditError, Buddy, free_block, order_of};
use crate::ByteSize;

impl Buddy {
    /// Checks that the blocks cover the range without overlap, each at a multiple of its size, that no two free blocks
    /// are buddies, and the sum. O(n log n).
    #[inline]
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        let fail = |finding: String| Err(AuditError::new(finding));
        let mut end = 0;
        for range in self.ranges() {
            let range = range.range();
            if range.start().get() != end {
                return fail(format!("{range} does not start at {end:#x}, where the previous range ends"));
            }
            end = range.end().get();
        }
        if end != self.capacity.get() {
            return fail(format!("the blocks end at {end:#x} instead of {:#x}", self.capacity.get()));
        }
        let used_blocks = self.live.iter().map(|[_, start, size]| (order_of(ByteSize::new(size)), start));
        let free_blocks = self.free.iter().map(|[order, start, _]| (order, start));
        if let Some((order, start)) =
            free_blocks.chain(used_blocks).find(|(order, start)| start & ((1 << order) - 1) != 0)
        {
            return fail(format!(
                "the block of order {order} at {start:#x} is not at a multiple of its size"
            ));
        }
        let is_halved =
            |&[order, start, _]: &[u64; 3]| self.free.contains(free_block(order, start ^ (1 << order)));
        if let Some([order, start, _]) = self.free.iter().find(is_halved) {
            return fail(format!(
                "the free block of order {order} at {start:#x} was not joined with its buddy"
            ));
        }
        let used: u64 = self.live.iter().map(|[.., size]| size).sum();
        if used != self.used.get() {
            return fail(format!("{} are used, recorded {}", ByteSize::new(used), self.used));
        }
        if self.live.last().is_some_and(|[latest, ..]| latest >= self.next_stamp.get()) {
            return fail("a suballocation has a stamp that was not issued yet".to_owned());
        }
        Ok(())
    }
}
