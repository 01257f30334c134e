//! The work of paging memory in or out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::ddi::DriverError;

/// The work of paging memory in or out: the action at its beginning, its duration and the action at its end. Both
/// actions may fail.
pub(crate) struct PagingWork {
    begin: Option<PagingAction>,
    /// The result of the beginning.
    begun: Result<(), DriverError>,
    time: Duration,
    complete: PagingAction,
}

/// Number of works that have begun and are not complete: enough for a GPU to copy all the time, and few enough for
/// memory that is evicted to be freed meanwhile.
const BEGUN_AHEAD: usize = 8;

type PagingAction = Box<dyn FnOnce() -> Result<(), DriverError> + Send>;

impl PagingWork {
    /// Creates work that takes `time` and then runs `complete`.
    pub(crate) fn new(
        time: Duration,
        complete: impl FnOnce() -> Result<(), DriverError> + Send + 'static,
    ) -> Self {
        Self { begin: None, begun: Ok(()), time, complete: Box::new(complete) }
    }

    /// Adds the action at the beginning, which has the GPU move contents. If it fails, the action at the
    /// end is omitted.
    pub(crate) fn with_beginning(
        self,
        begin: impl FnOnce() -> Result<(), DriverError> + Send + 'static,
    ) -> Self {
        Self { begin: Some(Box::new(begin)), ..self }
    }

    /// Begins works that have not begun. Returns the first error; the works after it begin nevertheless.
    ///
    /// They must be [run](Self::run_all) in both cases, as others may wait for their end.
    pub(crate) fn begin_all(works: &mut [Self]) -> Result<(), DriverError> {
        let mut result = Ok(());
        for work in works {
            result = result.and(work.begin());
        }
        result
    }

    fn begin(&mut self) -> Result<(), DriverError> {
        if let Some(begin) = self.begin.take() {
            self.begun = begin();
        }
        self.begun
    }

    /// Begins works, a few ahead of the one to be completed, and completes them one after the other, like an engine
    /// that began at `start`. Returns the time at which it ended, and the first error; the works after it run
    /// nevertheless.
    ///
    /// The end times are computed from `start`, so a thread that once sleeps too long does not delay the works after
    /// it.
    pub(crate) fn run_all(
        works: impl IntoIterator<Item = Self>,
        start: Instant,
    ) -> (Instant, Result<(), DriverError>) {
        let mut works = works.into_iter();
        let mut begun = VecDeque::with_capacity(BEGUN_AHEAD);
        let (mut end, mut result) = (start, Ok(()));
        loop {
            begun.extend(works.by_ref().take(BEGUN_AHEAD - begun.len()).map(|mut work| {
                // The error is kept in the work.
                let _ = work.begin();
                work
            }));
            let Some(work) = begun.pop_front() else { return (end, result) };
            end += work.time;
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            result = result.and(work.begun.and_then(|()| (work.complete)()));
        }
    }
}
