//! Bytes of texts and lengths of residency sets, whose sums are limited so that readers need a bounded amount of
//! memory.

use std::collections::HashMap;

use super::record::Action;
use super::{MAX_SET_IDS, MAX_TEXT_BYTES};

/// Sums over the records of a session so far.
#[derive(Debug, Default)]
pub(super) struct Totals {
    text_bytes: u64,
    /// Lengths of the residency sets, by id, and their sum.
    sets: HashMap<u64, u32>,
    set_ids: u64,
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
            Action::Reserve { name, .. } => of_name(name),
            Action::CreateHeap(heap) => of_name(&heap.name),
            Action::Name { name, .. } => name.len(),
            Action::SetOption { name, value } => name.len() + value.len(),
            Action::CreatePool { options, .. } | Action::RefusePool { options } => {
                options.iter().map(|(name, value)| name.len() + value.len()).sum()
            }
            Action::DefineSet { set, heaps } => return self.define_set(*set, heaps.len()),
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
        let before = self.sets.get(&set).copied().unwrap_or(0);
        let set_ids = self.set_ids - u64::from(before) + len as u64;
        if set_ids > u64::from(MAX_SET_IDS) {
            return Err(TooMuch { what: "ids in residency sets", limit: MAX_SET_IDS });
        }
        self.set_ids = set_ids;
        self.sets.insert(set, u32::try_from(len).unwrap_or(u32::MAX));
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
