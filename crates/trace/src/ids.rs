//! Mapping between the ids in a file and dense indices.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::event::AllocationIndex;

/// A map from ids to indices.
///
/// Consecutive ids, as most recorders write them, are not stored. From the first id that is not consecutive on, ids are
/// stored in a hash map. It uses the standard library's keyed hash function, because input may be malicious.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    names: IdNames,
    index_of_other: HashMap<u64, AllocationIndex>,
}

impl Ids {
    /// Assigns the next index to `id`. Returns the existing index as an error if it has one.
    pub(crate) fn insert(&mut self, id: u64) -> Result<AllocationIndex, AllocationIndex> {
        let index = AllocationIndex::new(self.names.len());
        if self.names.continue_count(id) {
            return Ok(index);
        }
        if let Some(taken) = self.names.find_counted(id) {
            return Err(taken);
        }
        match self.index_of_other.entry(id) {
            Entry::Occupied(taken) => Err(*taken.get()),
            Entry::Vacant(vacant) => {
                vacant.insert(index);
                self.names.others.push(id);
                Ok(index)
            }
        }
    }

    /// Returns the index of an id, whether the allocation is live or not.
    pub(crate) fn find(&self, id: u64) -> Option<AllocationIndex> {
        self.names.find_counted(id).or_else(|| self.index_of_other.get(&id).copied())
    }

    /// Converts the map into one from indices to ids.
    pub(crate) fn into_names(self) -> IdNames {
        self.names
    }
}

/// A map from indices to ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdNames {
    /// Id of the first allocation.
    first: u64,
    /// Number of allocations with the consecutive ids `first`, `first + 1` and so on.
    counted: u32,
    /// Ids of the remaining allocations.
    others: Vec<u64>,
}

impl IdNames {
    /// Returns the id of an allocation.
    ///
    /// # Panics
    ///
    /// Panics if the index is out of range.
    pub(crate) fn id(&self, index: AllocationIndex) -> u64 {
        match index.get().checked_sub(self.counted) {
            None => self.first + u64::from(index.get()),
            Some(other) => self.others[other as usize],
        }
    }

    fn len(&self) -> u32 {
        self.counted + u32::try_from(self.others.len()).expect("a trace has fewer than 2^32 events")
    }

    /// Extends the consecutive ids by `id` if it is the next. Returns whether it was.
    fn continue_count(&mut self, id: u64) -> bool {
        if self.counted == 0 {
            self.first = id;
        } else if !self.others.is_empty() || self.first.checked_add(u64::from(self.counted)) != Some(id) {
            return false;
        }
        self.counted += 1;
        true
    }

    fn find_counted(&self, id: u64) -> Option<AllocationIndex> {
        let place = u32::try_from(id.checked_sub(self.first)?).ok()?;
        (place < self.counted).then(|| AllocationIndex::new(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts unique `ids` and checks the mapping in both directions.
    fn check(ids: &[u64]) -> Ids {
        let mut map = Ids::default();
        for (place, &id) in ids.iter().enumerate() {
            assert_eq!(map.find(id), None);
            assert_eq!(map.insert(id).unwrap().as_usize(), place);
        }
        for (place, &id) in ids.iter().enumerate() {
            assert_eq!(map.find(id).unwrap().as_usize(), place);
            assert_eq!(map.insert(id).unwrap_err().as_usize(), place);
        }
        let names = map.names.clone();
        for (place, &id) in (0..).zip(ids) {
            assert_eq!(names.id(AllocationIndex::new(place)), id);
        }
        map
    }

    #[test]
    fn consecutive_ids_are_not_stored() {
        let ids = check(&(5..1000).collect::<Vec<_>>());
        assert!(ids.index_of_other.is_empty() && ids.names.others.is_empty());
        assert_eq!((ids.find(4), ids.find(1000)), (None, None));
    }

    #[test]
    fn ids_in_any_order_are_found() {
        check(&[3, 4, 5, 9, 6, 0, u64::MAX, 7, 10, 1]);
        check(&[u64::MAX, 0, u64::MAX - 1, 1]);
        assert_eq!(Ids::default().find(0), None);
    }
}
