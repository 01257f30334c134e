//! Reasons why a request has no memory.

use heapwright_core::ByteSize;
use heapwright_core::placement::PlacementError;
use heapwright_d3d12::*;

use crate::Error;
use crate::error::{Attempt, MemorySource, Obstacle};

/// The reason why a request has no memory: the attempts, and whether further attempts are pointless.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) fatal: Option<Error>,
}

impl Refusal {
    pub(crate) fn of(source: MemorySource, obstacle: Obstacle) -> Self {
        Self { attempts: vec![Attempt { source, obstacle }], fatal: None }
    }

    /// Adds the result of another attempt.
    pub(crate) fn append(&mut self, other: Self) {
        self.attempts.extend(other.attempts);
        self.fatal = self.fatal.take().or(other.fatal);
    }

    /// Returns whether a heap of the required size is not allowed, or does not match the algorithm.
    pub(crate) fn is_about_size(&self) -> bool {
        self.attempts.iter().any(|attempt| matches!(attempt.obstacle, Obstacle::HeapSize { .. }))
    }

    /// Returns whether every obstacle was a shortage of memory. An HRESULT other than E_OUTOFMEMORY is not a shortage,
    /// because releasing memory would not change it.
    pub(crate) fn is_shortage(&self) -> bool {
        let is_shortage = |attempt: &Attempt| !matches!(attempt.obstacle, Obstacle::Device(hresult) if hresult != E_OUTOFMEMORY);
        self.fatal.is_none() && self.attempts.iter().all(is_shortage)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { attempts: Vec::new(), fatal: Some(error) }
    }
}

/// A request that no heap of its kind can serve.
impl From<PlacementError> for Refusal {
    fn from(error: PlacementError) -> Self {
        let (size, obstacle) = match error {
            PlacementError::TooLarge { requested } => {
                (requested, Obstacle::HeapSize { limit: ByteSize::ZERO })
            }
            PlacementError::NeedsOwnHeap { requested, largest } => {
                (requested, Obstacle::HeapSize { limit: largest })
            }
            PlacementError::OneHeapFull { requested } => (requested, Obstacle::HeapCount { limit: 1 }),
            PlacementError::NoUpperEnd { .. } => {
                return Error::invalid_argument("ResourceAllocationDesc::flags", error.to_string()).into();
            }
            error => return Error::invalid_argument("resource size", error.to_string()).into(),
        };
        Self::of(MemorySource::NewHeap(size), obstacle)
    }
}
