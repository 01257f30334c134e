//! Counts of records and live objects, which are limited so that readers need a bounded amount of memory.

use super::record::Action;
use super::totals::{TooMuch, Totals};
use super::write_error::WriteError;
use super::{MAX_EVENTS, MAX_LIVE, MAX_OTHER_RECORDS};

/// The contents of a session so far.
#[derive(Debug)]
pub(super) struct Counts {
    events: Count,
    others: Count,
    allocations: Count,
    heaps: Count,
    totals: Totals,
}

#[derive(Debug)]
struct Count {
    what: &'static str,
    now: u32,
    limit: u32,
}

impl Default for Counts {
    fn default() -> Self {
        let new = |what, limit| Count { what, now: 0, limit };
        Self {
            events: new("allocations and frees", MAX_EVENTS),
            others: new("records other than allocations and frees", MAX_OTHER_RECORDS),
            allocations: new("live allocations", MAX_LIVE),
            heaps: new("live heaps", MAX_LIVE),
            totals: Totals::default(),
        }
    }
}

impl Counts {
    /// Counts a record, which is written as one. A record that exceeds a limit is not counted.
    pub(super) fn add(&mut self, action: &Action) -> Result<(), WriteError> {
        let (records, objects) = match action {
            Action::Allocate(_) => (&mut self.events, Some((&mut self.allocations, true))),
            Action::Free { .. } => (&mut self.events, Some((&mut self.allocations, false))),
            Action::CreateHeap(_) => (&mut self.others, Some((&mut self.heaps, true))),
            Action::DestroyHeap { .. } => (&mut self.others, Some((&mut self.heaps, false))),
            _ => (&mut self.others, None),
        };
        records.check()?;
        if let Some((objects, true)) = &objects {
            objects.check()?;
        }
        self.totals.add(action).map_err(|TooMuch { what, limit }| WriteError::TooMany { what, limit })?;
        match objects {
            Some((objects, true)) => objects.now += 1,
            // A free may name no allocation; only readers check that.
            Some((objects, false)) => objects.now = objects.now.saturating_sub(1),
            None => {}
        }
        records.now += 1;
        Ok(())
    }
}

impl Count {
    /// Returns an error if there is no room for one more.
    fn check(&self) -> Result<(), WriteError> {
        let &Self { what, now, limit } = self;
        if now < limit { Ok(()) } else { Err(WriteError::TooMany { what, limit }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Allocation, Heap, HeapType, ResourceKind};

    #[test]
    fn each_limit_is_reached_and_not_exceeded() {
        let mut counts = Counts::default();
        counts.events.limit = 6;
        counts.others.limit = 5;
        counts.allocations.limit = 2;
        counts.heaps.limit = 1;
        let mut add = |action: Action| match counts.add(&action) {
            Ok(()) => "",
            Err(WriteError::TooMany { what, .. }) => what,
            Err(other) => panic!("{other}"),
        };
        let heap_type = HeapType::Default;
        let allocate = || {
            let kind = ResourceKind::Buffer;
            Action::Allocate(Allocation { id: 0, size: 1, kind, heap_type, flags: 0, name: None })
        };
        let heap =
            || Action::CreateHeap(Heap { id: 0, size: 1, alignment: 1, heap_type, flags: 0, name: None });
        let free = Action::Free { allocation: 0 };
        assert_eq!([add(allocate()), add(allocate()), add(allocate())], ["", "", "live allocations"]);
        assert_eq!([add(free.clone()), add(free.clone()), add(free.clone())], [""; 3]);
        assert_eq!(
            [add(allocate()), add(allocate()), add(free)],
            ["", "allocations and frees", "allocations and frees"]
        );
        assert_eq!([add(heap()), add(heap()), add(Action::DestroyHeap { heap: 0 })], ["", "live heaps", ""]);
        assert_eq!([add(heap()), add(Action::Frame), add(Action::Frame)], [""; 3]);
        assert_eq!(add(Action::Frame), "records other than allocations and frees");
    }
}
