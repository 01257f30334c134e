//! Usage and budget of the segment groups, and whether each budget was kept.

use heapwright_trace::session::{Counter, HeapType};

use super::history::{BudgetVerdict, GroupHistory, Paging, SessionHistory};

/// The two segment groups, as indexes of [`SessionHistory::groups`].
pub(super) const LOCAL: usize = 0;
pub(super) const NON_LOCAL: usize = 1;

/// What a counter counts.
#[derive(Clone, Copy)]
enum Quantity {
    Budget,
    Usage,
    Resident,
}

/// Returns the group and the quantity of a counter, unless it is one of the allocator.
fn subject(counter: Counter) -> Option<(usize, Quantity)> {
    Some(match counter {
        Counter::LocalBudget => (LOCAL, Quantity::Budget),
        Counter::LocalUsage => (LOCAL, Quantity::Usage),
        Counter::LocalResident => (LOCAL, Quantity::Resident),
        Counter::NonLocalBudget => (NON_LOCAL, Quantity::Budget),
        Counter::NonLocalUsage => (NON_LOCAL, Quantity::Usage),
        Counter::NonLocalResident => (NON_LOCAL, Quantity::Resident),
        _ => return None,
    })
}

/// Returns the group in which heaps of a type are. That of CUSTOM heaps was not recorded.
fn group_of(heap_type: HeapType) -> usize {
    match heap_type {
        HeapType::Upload | HeapType::Readback => NON_LOCAL,
        HeapType::Default | HeapType::GpuUpload | HeapType::Custom | HeapType::Unknown => LOCAL,
    }
}

/// Follows the counters of the segment groups.
///
/// Counters of one query follow each other, and only their last values belong together.
#[derive(Debug, Default)]
pub(super) struct GroupCounters {
    groups: [CountedGroup; 2],
    /// Bytes of both groups' resident heaps.
    both: Vec<(u32, u64)>,
    is_changed: bool,
}

#[derive(Debug, Default)]
struct CountedGroup {
    budget: Option<u64>,
    usage: Option<u64>,
    /// Resident bytes of the residency manager.
    managed: u64,
    /// Bytes of the resident heaps.
    heaps: u64,
    history: GroupHistory,
}

impl CountedGroup {
    /// Returns the resident bytes that the recording knows. It may have counters without heaps.
    fn own(&self) -> u64 {
        self.heaps.max(self.managed)
    }
}

impl GroupCounters {
    pub(super) fn count(&mut self, counter: Counter, value: u64) {
        let Some((group, quantity)) = subject(counter) else { return };
        let group = &mut self.groups[group];
        match quantity {
            Quantity::Budget => group.budget = Some(value),
            Quantity::Usage => group.usage = Some(value),
            Quantity::Resident => group.managed = value,
        }
        self.is_changed = true;
    }

    /// Adds a heap that is resident from now on.
    pub(super) fn add_heap(&mut self, heap_type: HeapType, size: u64) {
        let bytes = &mut self.groups[group_of(heap_type)].heaps;
        *bytes = bytes.saturating_add(size);
    }

    /// Removes a heap that is resident no more.
    pub(super) fn remove_heap(&mut self, heap_type: HeapType, size: u64) {
        let bytes = &mut self.groups[group_of(heap_type)].heaps;
        *bytes = bytes.saturating_sub(size);
    }

    /// Ends a query, whose values are those after a moment.
    pub(super) fn settle(&mut self, moment: u32) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        for group in &mut self.groups {
            let own = group.own();
            let CountedGroup { budget, usage, history, .. } = group;
            note(&mut history.budget, moment, *budget);
            note(&mut history.usage, moment, *usage);
            note(&mut history.own, moment, Some(own));
            if let (Some(budget), Some(usage)) = (*budget, *usage) {
                history.verdict.get_or_insert_default().compare(moment, usage, budget);
            }
        }
        let [local, non_local] = &self.groups;
        note(&mut self.both, moment, Some(local.own().saturating_add(non_local.own())));
    }

    /// Moves the groups to the history. A group without usage is judged by its heaps that are resident.
    pub(super) fn finish(self, history: &mut SessionHistory) {
        history.groups = self.groups.map(|group| group.history);
        history.has_unified_memory = is_unified(&history.groups);
        if history.has_unified_memory {
            history.groups[LOCAL].own = self.both;
        }
        for group in [LOCAL, NON_LOCAL] {
            let known = &history.groups[group];
            if known.budget.is_empty() || known.verdict.is_some() {
                continue;
            }
            let resident = resident(history, group);
            let mut verdict = BudgetVerdict::default();
            let ends = known.budget.iter().skip(1).map(|&(moment, _)| moment as usize);
            for (&(start, budget), end) in known.budget.iter().zip(ends.chain([resident.len()])) {
                for (moment, &bytes) in (start..).zip(resident.get(start as usize..end).unwrap_or_default()) {
                    verdict.compare(moment, bytes, budget);
                }
            }
            history.groups[group].verdict = Some(verdict);
        }
    }
}

/// Returns whether both groups were recorded with the same memory: the device has one.
fn is_unified([local, non_local]: &[GroupHistory; 2]) -> bool {
    let is_used = local.usage.iter().any(|&(_, usage)| usage > 0);
    // Some devices report no limit for the group that they do not have.
    let is_unlimited = non_local.budget.iter().all(|&(_, budget)| budget >= 1 << 63);
    is_used && local.usage == non_local.usage && (local.budget == non_local.budget || is_unlimited)
}

/// Adds a value from a moment on, unless it is the last one.
fn note(values: &mut Vec<(u32, u64)>, moment: u32, value: Option<u64>) {
    let Some(value) = value else { return };
    values.pop_if(|&mut (last, _)| last == moment);
    if values.last().is_none_or(|&(_, last)| last != value) {
        values.push((moment, value));
    }
}

/// Returns the bytes of a group's heaps that are resident at each moment.
fn resident(history: &SessionHistory, group: usize) -> Vec<u64> {
    let is_of_group = |heap: u32| group_of(history.heaps[heap as usize].heap_type) == group;
    let heaps = (0..).zip(&history.heaps).filter(|&(heap, _)| is_of_group(heap));
    let lives = heaps.map(|(_, heap)| (heap.start, heap.end, i128::from(heap.size)));
    // An eviction is a life of negative size.
    let mut evicted_from = std::collections::HashMap::new();
    let mut absences = Vec::new();
    for event in history.paging.iter().filter(|event| is_of_group(event.heap)) {
        match event.paging {
            Paging::Evict => {
                evicted_from.entry(event.heap).or_insert(event.moment);
            }
            Paging::MakeResident => {
                absences
                    .extend(evicted_from.remove(&event.heap).map(|from| (event.heap, from, event.moment)));
            }
        }
    }
    let never_back = evicted_from.into_iter();
    absences.extend(never_back.map(|(heap, from)| (heap, from, history.heaps[heap as usize].end)));
    let absences = absences.into_iter().map(|(heap, from, to)| {
        let size = i128::from(history.heaps[heap as usize].size);
        (from, to.max(from), -size)
    });
    history.sums(lives.chain(absences))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(queries: &[(u32, &[(Counter, u64)])]) -> [GroupHistory; 2] {
        let mut counters = GroupCounters::default();
        for &(moment, values) in queries {
            values.iter().for_each(|&(counter, value)| counters.count(counter, value));
            counters.settle(moment);
        }
        let mut history = SessionHistory::default();
        counters.finish(&mut history);
        history.groups
    }

    /// The budget sinks below the previous usage, but the usage of the same query is lower, too.
    #[test]
    fn values_of_one_query_belong_together() {
        let [local, _] = counted(&[
            (0, &[(Counter::LocalBudget, 30), (Counter::LocalUsage, 20)]),
            (1, &[(Counter::LocalBudget, 15), (Counter::LocalUsage, 10)]),
        ]);
        let expected = BudgetVerdict { first_excess: None, most_over: 0, least_left: Some(5) };
        assert_eq!(local.verdict, Some(expected));
        assert_eq!(local.usage, [(0, 20), (1, 10)]);
    }

    #[test]
    fn an_excess_between_two_moments_counts() {
        let [local, non_local] = counted(&[
            (0, &[(Counter::LocalBudget, 30), (Counter::LocalUsage, 20)]),
            (3, &[(Counter::LocalUsage, 41)]),
            (3, &[(Counter::LocalUsage, 22)]),
            (3, &[(Counter::NonLocalUsage, 50)]),
        ]);
        let expected = BudgetVerdict { first_excess: Some(3), most_over: 11, least_left: Some(0) };
        assert_eq!(local.verdict, Some(expected));
        // The last value of a moment is shown.
        assert_eq!((local.budget, local.usage), (vec![(0, 30)], vec![(0, 20), (3, 22)]));
        assert_eq!(non_local.verdict, None, "its budget is unknown");
    }

    #[test]
    fn one_memory_that_is_recorded_for_both_groups_is_unified() {
        let mut counters = GroupCounters::default();
        counters.add_heap(HeapType::Default, 10);
        counters.add_heap(HeapType::Upload, 20);
        for counter in [Counter::LocalUsage, Counter::NonLocalUsage] {
            counters.count(counter, 37);
        }
        counters.count(Counter::LocalBudget, 40);
        counters.count(Counter::NonLocalBudget, u64::MAX);
        counters.settle(2);
        let mut history = SessionHistory::default();
        counters.finish(&mut history);
        assert!(history.has_unified_memory);
        assert_eq!(
            (&*history.groups[LOCAL].own, history.groups[LOCAL].most_of_others()),
            (&[(2, 30)][..], 7)
        );
    }
}
