//! Which suballocations the GPU is done with, by fence value: shared by `Linear` and `Ring`.
//!
//! Stamps ascend in the order of handing out, so a batch is no list: it ends before a stamp, and begins where the batch
//! before it ended. What is freed one by one needs no note here.
//!
//! # Invariants
//!
//! Along the pending batches, fence values and stamps ascend; and the first has something live in it.

use std::collections::VecDeque;

use super::super::suballocation::Stamp;
use super::FenceOrderError;
use crate::{ByteSize, FenceValue};

/// What was taken back at once, by [`Ring::retire`](super::Ring::retire) or [`Linear::retire`](super::Linear::retire).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// How many suballocations.
    pub suballocations: u64,
    /// The sum of the sizes asked for.
    pub bytes: ByteSize,
}

/// The suballocations between two submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// They are in use until the fence has this value.
    pub(super) fence: FenceValue,
    /// The stamp after that of the last.
    pub(super) end: Stamp,
}

/// The batches that were submitted and not retired.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq))]
pub(super) struct Batches {
    pub(super) pending: VecDeque<Batch>,
    /// The fence value that was submitted last.
    pub(super) latest: Option<FenceValue>,
}

impl Batches {
    /// Closes a batch: all before `end` that are in none yet. O(1), amortised over the growth of the queue.
    ///
    /// `newest` is the stamp of the newest live suballocation.
    pub(super) fn submit(
        &mut self,
        fence: FenceValue,
        end: Stamp,
        newest: Option<Stamp>,
    ) -> Result<(), FenceOrderError> {
        if let Some(latest) = self.latest {
            if fence < latest {
                return Err(FenceOrderError { fence, latest });
            }
        }
        self.latest = Some(fence);
        let Some(newest) = newest else { return Ok(()) };
        match self.pending.back_mut() {
            // Nothing in it is live, so nothing has to be retired.
            Some(last) if newest < last.end => {}
            Some(last) if last.fence == fence => last.end = end,
            _ => self.pending.push_back(Batch { fence, end }),
        }
        Ok(())
    }

    /// Takes out the batches whose fence value was reached, and answers where the last of them ends. O(1) for each.
    pub(super) fn retire(&mut self, completed: FenceValue) -> Option<Stamp> {
        let mut end = None;
        while let Some(batch) = self.pending.front() {
            if batch.fence > completed {
                break;
            }
            end = Some(batch.end);
            self.pending.pop_front();
        }
        end
    }

    /// Takes out the batches in front that have nothing live in them any more, given the stamp of the oldest live
    /// suballocation. O(1) for each.
    #[inline]
    pub(super) fn drop_before(&mut self, oldest: Option<Stamp>) {
        while let Some(batch) = self.pending.front() {
            if oldest.is_some_and(|oldest| batch.end > oldest) {
                break;
            }
            self.pending.pop_front();
        }
    }

    /// Forgets the batches, and the order of fence values.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.latest = None;
    }

    /// The fence value of the oldest batch. O(1).
    pub(super) fn oldest(&self) -> Option<FenceValue> {
        self.pending.front().map(|batch| batch.fence)
    }

    /// Answers the first rule found broken, given the stamps of the oldest live suballocation and of the next one.
    pub(super) fn audit(&self, oldest: Option<Stamp>, next: Stamp) -> Result<(), String> {
        let (mut last_fence, mut last_end) = (None, oldest);
        for batch in &self.pending {
            if last_end.is_none_or(|last| last >= batch.end) {
                return Err(format!("{batch:?} has nothing in it, after {last_end:?}"));
            }
            if last_fence >= Some(batch.fence) {
                return Err(format!("the fence of {batch:?} is not above {last_fence:?}"));
            }
            if batch.end > next {
                return Err(format!("{batch:?} ends with what was not handed out yet, {next:?}"));
            }
            (last_fence, last_end) = (Some(batch.fence), Some(batch.end));
        }
        if last_fence > self.latest {
            return Err(format!("{last_fence:?} was submitted after {:?}, the last", self.latest));
        }
        Ok(())
    }
}
