//! Bytes of texts, lengths of residency sets and uses of heaps, whose sums are limited so that readers need a bounded amount of memory
//! and of time.

use std::collections::HashMap;

use super::record::Action;
use super::{MAX_HEAP_USES, MAX_SET_IDS, MAX_TEXT_BYTES};

/// Sums over the records of a session so far.
#[derive(Debug, Default)]
pub(super) struct Totals {
    text_bytes: u64,
    /// The residency sets, by id, and the sum of their lengths.
    sets: HashMap<u64, Set>,
    set_ids: u64,
    /// Number of submissions, with refused ones.
    submissions: u64,
    heap_uses: u64,
}

#[derive(Debug, Default)]
struct Set {
    len: u32,
    /// Number of the last submission that named the set, from 1 on.
    submission: u64,
}

/// An exceeded limit, and the thing that it limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMuch {
    pub(super) what: &'static str,
    pub(super) limit: u32,
}

impl Totals {
    /// Adds a record, unless it exceeds a limit.
    pub(super) fn add(&mut self, action: &Action) -> Result<(), TooMuch> {
        let of_name = |name: &Option<Box<str>>| name.as_ref().map_or(0, |name| name.len());
        let bytes = match action {
            Action::Allocate(allocation) => of_name(&allocation.name),
            Action::CreateHeap(heap) => of_name(&heap.name),
            Action::Name { name, .. } => name.len(),
            Action::SetOption { name, value } => name.len() + value.len(),
            Action::CreatePool { options, .. } => {
                options.iter().map(|(name, value)| name.len() + value.len()).sum()
            }
            Action::DefineSet { set, heaps } => return self.define_set(*set, heaps.len()),
            Action::Submit { sets, .. } => return self.submit(sets),
            _ => return Ok(()),
        };
        let text_bytes = self.text_bytes + bytes as u64;
        if text_bytes > u64::from(MAX_TEXT_BYTES) {
            return Err(TooMuch { what: "bytes of names and options", limit: MAX_TEXT_BYTES });
        }
        self.text_bytes = text_bytes;
        Ok(())
    }

    fn define_set(&mut self, set: u64, len: usize) -> Result<(), TooMuch> {
        let before = self.sets.get(&set).map_or(0, |set| set.len);
        let set_ids = self.set_ids - u64::from(before) + len as u64;
        if set_ids > u64::from(MAX_SET_IDS) {
            return Err(TooMuch { what: "ids in residency sets", limit: MAX_SET_IDS });
        }
        self.set_ids = set_ids;
        self.sets.entry(set).or_default().len = u32::try_from(len).unwrap_or(u32::MAX);
        Ok(())
    }

    /// Adds the lengths of the sets that a submission names, each set once.
    fn submit(&mut self, sets: &[u64]) -> Result<(), TooMuch> {
        self.submissions += 1;
        let mut heap_uses = self.heap_uses;
        for set in sets {
            // Only readers check that the sets exist.
            let Some(set) = self.sets.get_mut(set) else { continue };
            if std::mem::replace(&mut set.submission, self.submissions) != self.submissions {
                heap_uses += u64::from(set.len);
            }
        }
        if heap_uses > u64::from(MAX_HEAP_USES) {
            return Err(TooMuch { what: "uses of heaps by submissions", limit: MAX_HEAP_USES });
        }
        self.heap_uses = heap_uses;
        Ok(())
    }

    #[cfg(feature = "read")]
    pub(super) fn has_set(&self, set: u64) -> bool {
        self.sets.contains_key(&set)
    }

    #[cfg(feature = "read")]
    pub(super) fn set_count(&self) -> usize {
        self.sets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_reach_their_limits_and_do_not_exceed_them() {
        let mut totals = Totals::default();
        let mut define = |set, len: u32| {
            totals.add(&Action::DefineSet { set, heaps: vec![1; len as usize] }).map_err(|it| it.what)
        };
        assert_eq!(define(1, MAX_SET_IDS - 5), Ok(()));
        assert_eq!(define(2, 6), Err("ids in residency sets"));
        assert_eq!(define(2, 5), Ok(()));
        // A set that is defined again replaces its heaps.
        assert_eq!([define(1, 10), define(1, MAX_SET_IDS - 4)], [Ok(()), Err("ids in residency sets")]);
        assert_eq!(define(1, MAX_SET_IDS - 5), Ok(()));

        let submit = |totals: &mut Totals, sets: &[u64]| {
            let submit = Action::Submit { queue: 0, fence_value: 0, sets: sets.to_vec() };
            totals.add(&submit).map_err(|it| it.what)
        };
        // Set 1 has 5 heaps less than the limit, and set 2 has 5; a set that is named several times counts once.
        for _ in 1..MAX_HEAP_USES / MAX_SET_IDS {
            assert_eq!(submit(&mut totals, &[1, 2, 1, 3, 1]), Ok(()));
        }
        assert_eq!(submit(&mut totals, &[1]), Ok(()));
        assert_eq!(submit(&mut totals, &[2, 1]), Err("uses of heaps by submissions"));
        assert_eq!(submit(&mut totals, &[2, 2]), Ok(()));
        assert_eq!(submit(&mut totals, &[2]), Err("uses of heaps by submissions"));

        let mut totals = Totals::default();
        let mut add = |action: Action| totals.add(&action).map_err(|it| it.what);
        let text = |len: usize| -> Box<str> { "x".repeat(len).into() };
        let half = MAX_TEXT_BYTES as usize / 2;
        assert_eq!(add(Action::Name { allocation: 1, name: text(half) }), Ok(()));
        assert_eq!(add(Action::SetOption { name: text(half - 9), value: text(3) }), Ok(()));
        let options = vec![(text(1), text(6))];
        assert_eq!(add(Action::CreatePool { pool: 1, options }), Err("bytes of names and options"));
        assert_eq!(add(Action::Name { allocation: 1, name: text(6) }), Ok(()));
        assert_eq!(add(Action::Name { allocation: 1, name: text(1) }), Err("bytes of names and options"));
    }
}
