//! Batches of suballocations by fence value, used by `Linear`.
//!
//! Stamps ascend in allocation order, so a batch is not a list: it ends before a stamp, and begins where the
//! previous batch ended. Suballocations that are freed individually need no entry here.
//!
//! # Invariants
//!
//! Fence values and stamps ascend along the pending batches, and the first batch contains a live
//! suballocation.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

use super::super::suballocation::Stamp;
use crate::{ByteSize, FenceValue};

/// The suballocations that one call of [`Linear::retire`](super::Linear::retire) freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// The number of suballocations.
    pub suballocations: u64,
    /// The sum of the requested sizes.
    pub bytes: ByteSize,
}

/// The suballocations between two submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// The fence value until which the GPU uses them.
    pub(super) fence: FenceValue,
    /// The stamp after that of the last suballocation.
    pub(super) end: Stamp,
}

/// The batches that were submitted and not yet retired.
#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Batches {
    pub(super) pending: VecDeque<Batch>,
    /// The fence value that was submitted last.
    pub(super) latest: Option<FenceValue>,
}

impl Batches {
    /// Closes a batch: all suballocations before `end` that are in no batch yet. Amortized O(1).
    ///
    /// `newest` is the stamp of the newest live suballocation.
    #[inline]
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
            // The new batch has no live suballocation, so nothing is left to retire.
            Some(last) if newest < last.end => {}
            Some(last) if last.fence == fence => last.end = end,
            _ => self.pending.push_back(Batch { fence, end }),
        }
        Ok(())
    }

    /// Removes the leading batches that have no live suballocation left, given the stamp of the oldest live
    /// suballocation. O(1) per batch.
    #[inline]
    pub(super) fn drop_before(&mut self, oldest: Option<Stamp>) {
        while let Some(batch) = self.pending.front() {
            if oldest.is_some_and(|oldest| batch.end > oldest) {
                break;
            }
            self.pending.pop_front();
        }
    }

    /// Removes all batches, and resets the order of fence values.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.latest = None;
    }

    /// Returns the fence value of the oldest batch. O(1).
    pub(super) fn oldest(&self) -> Option<FenceValue> {
        self.pending.front().map(|batch| batch.fence)
    }
}

/// A batch was submitted with a fence value below that of an earlier batch. The state is unchanged.
///
/// A queue signals a fence in submission order, so its values only increase. For a fence that starts from the
/// beginning, for example after device removal, call `clear` first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceOrderError {
    /// The fence value that was passed.
    pub fence: FenceValue,
    /// The fence value that was submitted last.
    pub latest: FenceValue,
}

impl fmt::Display for FenceOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fence value {} is less than {}, which was submitted earlier", self.fence, self.latest)
    }
}

impl Error for FenceOrderError {}
