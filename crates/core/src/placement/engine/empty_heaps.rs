//! Empty heaps, by size.

use std::collections::VecDeque;

use crate::placement::idle_times::Moment;
use crate::placement::{HeapSurvey, SurveyedRange};
use crate::suballoc::AuditError;
use crate::{ByteSize, HeapOffset, HeapRange};

/// A stack of empty heaps for each size: the heap added last is taken first, and the one added first leaves first.
///
/// Heaps have few distinct sizes: a call is O(log n) for n of them, and O(n) where it adds or removes one. Totals are
/// O(1).
#[derive(Clone)]
pub(crate) struct EmptyHeaps<H> {
    /// The stacks, in ascending order of heap size. No stack is empty.
    by_size: Vec<(ByteSize, VecDeque<(Moment, H)>)>,
    count: u64,
    bytes: ByteSize,
}

impl<H> Default for EmptyHeaps<H> {
    fn default() -> Self {
        Self { by_size: Vec::new(), count: 0, bytes: ByteSize::ZERO }
    }
}

impl<H> EmptyHeaps<H> {
    /// Returns the number of heaps.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the total size of the heaps.
    pub(crate) fn bytes(&self) -> ByteSize {
        self.bytes
    }

    pub(crate) fn insert(&mut self, size: ByteSize, since: Moment, heap: H) {
        match self.place_of(size) {
            Ok(place) => self.by_size[place].1.push_back((since, heap)),
            Err(place) => self.by_size.insert(place, (size, VecDeque::from([(since, heap)]))),
        }
        self.count += 1;
        self.bytes = self.bytes.saturating_add(size);
    }

    /// Returns the place of the stack of a size, or where it would be.
    fn place_of(&self, size: ByteSize) -> Result<usize, usize> {
        self.by_size.binary_search_by_key(&size, |&(size, _)| size)
    }

    /// Takes the heap of exactly this size that was added last.
    pub(crate) fn take(&mut self, size: ByteSize) -> Option<H> {
        self.take_by(size, VecDeque::pop_back)
    }

    fn take_by(
        &mut self,
        size: ByteSize,
        pop: impl FnOnce(&mut VecDeque<(Moment, H)>) -> Option<(Moment, H)>,
    ) -> Option<H> {
        let place = self.place_of(size).ok()?;
        let stack = &mut self.by_size[place].1;
        let (_, heap) = pop(stack)?;
        if stack.is_empty() {
            self.by_size.remove(place);
        }
        self.count -= 1;
        self.bytes = self.bytes.saturating_sub(size);
        Some(heap)
    }

    /// Takes up to `most` heaps, of each size those that are empty for longest, if `is_over` says so of their size and
    /// the moment since when they are empty. O(log n) each, and O(n) for n distinct sizes.
    pub(super) fn take_idle(&mut self, most: u64, is_over: impl Fn(ByteSize, Moment) -> bool) -> Vec<H> {
        let mut taken = Vec::new();
        while ByteSize::from_usize(taken.len()).get() < most {
            let mut longest = self.by_size.iter().filter_map(|(size, heaps)| Some((*size, heaps.front()?.0)));
            let over = longest.find(|&(size, since)| is_over(size, since));
            let Some(heap) = over.and_then(|(size, _)| self.take_by(size, VecDeque::pop_front)) else {
                break;
            };
            taken.push(heap);
        }
        taken
    }

    /// Takes a smallest heap of `at_least` to `at_most` bytes.
    pub(crate) fn take_fitting(&mut self, at_least: ByteSize, at_most: ByteSize) -> Option<(ByteSize, H)> {
        let size = self.smallest_from(at_least).filter(|&size| size <= at_most)?;
        Some((size, self.take(size)?))
    }

    /// Takes heaps until their total size is `up_to`, or none are left. To take as few as possible, it takes
    /// the largest heaps first, and last the smallest that suffices.
    pub(crate) fn take_up_to(&mut self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        let (mut taken, mut bytes) = (Vec::new(), ByteSize::ZERO);
        while bytes < up_to {
            let missing = up_to.saturating_sub(bytes);
            let Some(size) = self.smallest_from(missing).or_else(|| self.largest()) else { break };
            let Some(heap) = self.take(size) else { break };
            bytes = bytes.saturating_add(size);
            taken.push((size, heap));
        }
        taken
    }

    /// Returns whether there is a heap of exactly this size.
    pub(super) fn contains(&self, size: ByteSize) -> bool {
        self.place_of(size).is_ok()
    }

    /// Returns the size of the smallest heap of at least `at_least` bytes.
    pub(crate) fn smallest_from(&self, at_least: ByteSize) -> Option<ByteSize> {
        let (Ok(place) | Err(place)) = self.place_of(at_least);
        self.by_size.get(place).map(|&(size, _)| size)
    }

    /// Returns the size of the largest heap.
    pub(crate) fn largest(&self) -> Option<ByteSize> {
        self.by_size.last().map(|&(size, _)| size)
    }

    /// Checks the totals. O(n).
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        let (mut count, mut bytes) = (0, ByteSize::ZERO);
        for &(size, ref stack) in &self.by_size {
            if stack.is_empty() {
                return Err(AuditError::new(format!("the stack of empty heaps of {size} is empty")));
            }
            for _ in stack {
                count += 1;
                bytes = bytes.saturating_add(size);
            }
        }
        if (count, bytes) == (self.count, self.bytes) {
            Ok(())
        } else {
            let (noted, of) = (self.count, self.bytes);
            Err(AuditError::new(format!("counted {count} empty heaps of {bytes}, recorded {noted} of {of}")))
        }
    }
}

impl<H: Clone> EmptyHeaps<H> {
    /// Returns a survey of all heaps in ascending order of size. O(n).
    pub(super) fn survey(&self) -> impl Iterator<Item = HeapSurvey<H>> {
        let each =
            self.by_size.iter().flat_map(|(size, stack)| stack.iter().map(move |(_, heap)| (*size, heap)));
        each.map(|(size, heap)| HeapSurvey {
            heap: heap.clone(),
            size,
            is_closed: false,
            ranges: HeapRange::new(HeapOffset::ZERO, size).map(SurveyedRange::Free).into_iter().collect(),
        })
    }
}
