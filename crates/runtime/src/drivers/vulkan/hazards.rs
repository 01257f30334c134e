//! Which accesses since the last barrier another one depends on.

use std::collections::BTreeMap;

use ash::vk;

/// A range of a buffer: the buffer, the first byte, and the number of bytes.
type Range = (vk::Buffer, u64, u64);

/// The accesses since the last barrier: for each buffer, the smallest range that contains all reads, and likewise all
/// writes. So a conflict may be reported where there is none, but none is missed.
#[derive(Debug, Default)]
pub(super) struct Hazards {
    buffers: BTreeMap<vk::Buffer, Accesses>,
}

#[derive(Debug, Default)]
struct Accesses {
    /// First byte read and the one after the last; empty if they are equal.
    read: (u64, u64),
    written: (u64, u64),
}

impl Hazards {
    /// Returns whether an access must come after some before: it reads what was written, or writes what was read or
    /// written.
    pub(super) fn conflict(&self, read: Option<Range>, write: Range) -> bool {
        let overlaps = |(start, end): (u64, u64), (_, at, size): Range| start < at + size && at < end;
        let of = |range: Range| self.buffers.get(&range.0).map(|own| (own, range));
        let reads = read.and_then(of).is_some_and(|(own, read)| overlaps(own.written, read));
        reads
            || of(write).is_some_and(|(own, write)| overlaps(own.read, write) || overlaps(own.written, write))
    }

    /// Adds an access.
    pub(super) fn add(&mut self, read: Option<Range>, write: Range) {
        if let Some((buffer, at, size)) = read {
            let own = self.buffers.entry(buffer).or_default();
            own.read = union(own.read, (at, at + size));
        }
        let (buffer, at, size) = write;
        let own = self.buffers.entry(buffer).or_default();
        own.written = union(own.written, (at, at + size));
    }

    /// Forgets all accesses, after a barrier.
    pub(super) fn clear(&mut self) {
        self.buffers.clear();
    }
}

/// Returns the smallest range that contains both; an empty one adds nothing.
fn union(own: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    if own.0 == own.1 { other } else { (own.0.min(other.0), own.1.max(other.1)) }
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle as _;

    use super::*;

    /// Compares with a model that keeps every byte: no dependence is missed, and none is reported between accesses that
    /// proceed through memory in one direction.
    #[test]
    fn no_dependence_is_missed() {
        let buffers = [1, 2].map(vk::Buffer::from_raw);
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut hazards, mut reads, mut writes) = (Hazards::default(), Vec::new(), Vec::new());
        let (mut conflicts, mut free) = (0, 0);
        for _ in 0..20_000 {
            let mut range = || (buffers[usize::from(random(2) == 1)], random(64), 1 + random(8));
            let (read, write) = (range(), range());
            let overlap = |a: Range, b: Range| a.0 == b.0 && a.1 < b.1 + b.2 && b.1 < a.1 + a.2;
            let depends = writes.iter().any(|&own| overlap(own, read) || overlap(own, write))
                || reads.iter().any(|&own| overlap(own, write));
            let found = hazards.conflict(Some(read), write);
            assert!(found || !depends, "{read:?} {write:?}");
            if found {
                conflicts += 1;
                hazards.clear();
                reads.clear();
                writes.clear();
            } else {
                free += 1;
            }
            hazards.add(Some(read), write);
            reads.push(read);
            writes.push(write);
        }
        assert!(conflicts > 1000 && free > 1000, "{conflicts} conflicts, {free} accesses without one");
    }

    #[test]
    fn rows_of_a_copy_do_not_depend_on_each_other() {
        let [source, target] = [1, 2].map(vk::Buffer::from_raw);
        let mut hazards = Hazards::default();
        for row in 0..100 {
            let (read, write) = (Some((source, row * 256, 100)), (target, row * 100, 100));
            assert!(!hazards.conflict(read, write));
            hazards.add(read, write);
        }
        assert!(hazards.conflict(Some((target, 0, 1)), (source, 1 << 20, 1)));
    }
}
