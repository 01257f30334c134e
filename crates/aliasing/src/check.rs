//! Checks of a packing, written apart from the solver: they use the lifetimes as they were given.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use super::instance::{Instance, Lifetimes};
use heapwright_core::{ByteSize, HeapOffset};

/// Why offsets are no packing of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackingError {
    /// There are more or fewer offsets than buffers.
    Count {
        /// Number of buffers.
        buffers: usize,
        /// Number of offsets.
        offsets: usize,
    },
    /// The offset of a buffer is not a multiple of its alignment.
    Unaligned {
        /// Index of the buffer.
        buffer: usize,
    },
    /// A buffer is not at its fixed offset.
    Moved {
        /// Index of the buffer.
        buffer: usize,
    },
    /// The end of a buffer has more than 64 bits.
    Overflow {
        /// Index of the buffer.
        buffer: usize,
    },
    /// Two buffers that live at the same time overlap.
    Overlap {
        /// Index of a buffer.
        first: usize,
        /// Index of the other.
        second: usize,
    },
}

impl fmt::Display for PackingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { buffers, offsets } => {
                write!(f, "there are {buffers} buffers and {offsets} offsets")
            }
            Self::Unaligned { buffer } => {
                write!(f, "the offset of buffer {buffer} is not a multiple of its alignment")
            }
            Self::Moved { buffer } => write!(f, "buffer {buffer} is not at its fixed offset"),
            Self::Overflow { buffer } => write!(f, "the end of buffer {buffer} has more than 64 bits"),
            Self::Overlap { first, second } => {
                write!(f, "buffers {first} and {second} live at the same time and overlap in memory")
            }
        }
    }
}

impl Error for PackingError {}

/// Checks that `offsets` is a packing of the instance and returns its height: the size that a heap must have.
///
/// # Errors
///
/// Returns the first violation that is found.
pub fn check(instance: &Instance, offsets: &[HeapOffset]) -> Result<ByteSize, PackingError> {
    let buffers = instance.buffers();
    if buffers.len() != offsets.len() {
        return Err(PackingError::Count { buffers: buffers.len(), offsets: offsets.len() });
    }
    let mut height = 0;
    let mut ranges = Vec::with_capacity(buffers.len());
    for (buffer, (desc, &offset)) in buffers.iter().zip(offsets).enumerate() {
        if !offset.is_aligned(desc.alignment) {
            return Err(PackingError::Unaligned { buffer });
        }
        if desc.fixed_offset.is_some_and(|fixed| fixed != offset) {
            return Err(PackingError::Moved { buffer });
        }
        let end = offset.get().checked_add(desc.size.get()).ok_or(PackingError::Overflow { buffer })?;
        height = height.max(end);
        ranges.push((offset.get(), end));
    }
    match &instance.lifetimes {
        Lifetimes::Intervals(lives) => {
            let mut events: Vec<(i64, bool, usize)> = Vec::with_capacity(2 * lives.len());
            for (buffer, intervals) in lives.iter().enumerate() {
                for interval in intervals {
                    events.push((interval.lower, true, buffer));
                    events.push((interval.upper, false, buffer));
                }
            }
            events.sort_unstable();
            // The live buffers by offset; they are disjoint, so only neighbours can overlap a new one.
            let mut live: BTreeMap<u64, usize> = BTreeMap::new();
            for (_, begins, buffer) in events {
                let (start, end) = ranges[buffer];
                if !begins {
                    live.remove(&start);
                    continue;
                }
                let below = live.range(..=start).next_back().filter(|&(_, &other)| ranges[other].1 > start);
                let above = live.range(start..).next().filter(|&(&other, _)| other < end);
                if let Some((_, &other)) = below.or(above) {
                    return Err(PackingError::Overlap {
                        first: other.min(buffer),
                        second: other.max(buffer),
                    });
                }
                live.insert(start, buffer);
            }
        }
        Lifetimes::Order(order) => {
            for second in 0..buffers.len() {
                for first in 0..second {
                    let (a, b) = (ranges[first], ranges[second]);
                    if a.0 < b.1 && b.0 < a.1 && !order.get(first, second) && !order.get(second, first) {
                        return Err(PackingError::Overlap { first, second });
                    }
                }
            }
        }
    }
    Ok(ByteSize::new(height))
}
