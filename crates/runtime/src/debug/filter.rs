//! Message filters and their stacks.

use heapwright_d3d12::{D3D12_MESSAGE_CATEGORY, D3D12_MESSAGE_ID, D3D12_MESSAGE_SEVERITY};

use super::message::MessageKind;

/// Lists of kinds of messages (`D3D12_INFO_QUEUE_FILTER_DESC`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KindList {
    pub(crate) categories: Vec<D3D12_MESSAGE_CATEGORY>,
    pub(crate) severities: Vec<D3D12_MESSAGE_SEVERITY>,
    pub(crate) ids: Vec<D3D12_MESSAGE_ID>,
}

impl KindList {
    pub(crate) const fn new() -> Self {
        Self { categories: Vec::new(), severities: Vec::new(), ids: Vec::new() }
    }

    /// Returns whether one of the lists has the property of a message.
    pub(crate) fn has_any(&self, kind: MessageKind) -> bool {
        self.categories.contains(&kind.category)
            || self.severities.contains(&kind.severity)
            || self.ids.contains(&kind.id)
    }

    /// Adds the values that the lists do not contain yet.
    fn extend(&mut self, other: &Self) {
        fn add(to: &mut Vec<i32>, from: &[i32]) {
            for value in from {
                if !to.contains(value) {
                    to.push(*value);
                }
            }
        }
        add(&mut self.categories, &other.categories);
        add(&mut self.severities, &other.severities);
        add(&mut self.ids, &other.ids);
    }
}

/// Adds a value to a list of messages' properties, or removes it.
pub(crate) fn set(list: &mut Vec<i32>, value: i32, is_listed: bool) {
    list.retain(|entry| *entry != value);
    if is_listed {
        list.push(value);
    }
}

/// A filter (`D3D12_INFO_QUEUE_FILTER`).
///
/// D3D12's documentation does not define how the lists combine. In this runtime, a message passes if
///
/// * each of the allow list's three lists is empty or contains its value, and
/// * none of the deny list's three lists contains its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) allow: KindList,
    pub(crate) deny: KindList,
}

impl Filter {
    fn passes(&self, kind: MessageKind) -> bool {
        let allows = |list: &[i32], value| list.is_empty() || list.contains(&value);
        allows(&self.allow.categories, kind.category)
            && allows(&self.allow.severities, kind.severity)
            && allows(&self.allow.ids, kind.id)
            && !self.deny.has_any(kind)
    }
}

/// A stack of filters, of which only the top one applies. An empty stack lets every message pass.
#[derive(Debug)]
pub(crate) struct FilterStack {
    filters: Vec<Filter>,
}

impl FilterStack {
    /// Creates an empty stack.
    pub(crate) const fn new() -> Self {
        Self { filters: Vec::new() }
    }

    /// Returns whether the top filter lets a message pass.
    pub(crate) fn passes(&self, kind: MessageKind) -> bool {
        self.filters.last().is_none_or(|top| top.passes(kind))
    }

    /// Adds entries to the lists of the top filter, which is created if the stack is empty.
    pub(crate) fn add_entries(&mut self, entries: &Filter) {
        if self.filters.is_empty() {
            self.push_empty();
        }
        if let Some(top) = self.filters.last_mut() {
            top.allow.extend(&entries.allow);
            top.deny.extend(&entries.deny);
        }
    }

    /// Replaces the top filter by one that lets every message pass.
    pub(crate) fn clear(&mut self) {
        if let Some(top) = self.filters.last_mut() {
            *top = Filter::default();
        }
    }

    pub(crate) fn push(&mut self, filter: Filter) {
        self.filters.push(filter);
    }

    pub(crate) fn push_empty(&mut self) {
        self.push(Filter::default());
    }

    pub(crate) fn push_copy(&mut self) {
        self.push(self.top());
    }

    /// Removes the top filter, if there is one.
    pub(crate) fn pop(&mut self) {
        self.filters.pop();
    }

    /// Returns a copy of the top filter, or a filter that lets every message pass if the stack is empty.
    pub(crate) fn top(&self) -> Filter {
        self.filters.last().cloned().unwrap_or_default()
    }

    /// The number of filters.
    pub(crate) fn size(&self) -> u32 {
        u32::try_from(self.filters.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use heapwright_d3d12::*;

    use super::*;

    const KIND: MessageKind = MessageKind {
        category: D3D12_MESSAGE_CATEGORY_EXECUTION,
        severity: D3D12_MESSAGE_SEVERITY_WARNING,
        id: D3D12_MESSAGE_ID_MAP_INVALID_NULLRANGE,
    };

    fn list(categories: &[i32], severities: &[i32], ids: &[i32]) -> KindList {
        KindList { categories: categories.into(), severities: severities.into(), ids: ids.into() }
    }

    #[test]
    fn allow_lists_narrow_and_deny_lists_win() {
        let other = D3D12_MESSAGE_CATEGORY_CLEANUP;
        let none = KindList::default();
        let cases = [
            (none.clone(), none.clone(), true),
            (list(&[KIND.category], &[], &[]), none.clone(), true),
            (list(&[other], &[], &[]), none.clone(), false),
            (list(&[other, KIND.category], &[KIND.severity], &[KIND.id]), none.clone(), true),
            (list(&[KIND.category], &[KIND.severity], &[1]), none.clone(), false),
            (none.clone(), list(&[], &[], &[KIND.id]), false),
            (none.clone(), list(&[other], &[], &[1]), true),
            (list(&[KIND.category], &[], &[]), list(&[], &[KIND.severity], &[]), false),
        ];
        for (allow, deny, passes) in cases {
            let filter = Filter { allow, deny };
            assert_eq!(filter.passes(KIND), passes, "{filter:?}");
        }
    }

    #[test]
    fn only_the_top_filter_of_the_stack_applies() {
        let deny = Filter { deny: list(&[], &[KIND.severity], &[]), ..Filter::default() };
        let mut stack = FilterStack::new();
        assert!(stack.passes(KIND));
        stack.pop();
        stack.clear();
        assert_eq!(stack.size(), 0, "neither needs a filter");
        stack.add_entries(&deny);
        stack.add_entries(&deny);
        assert_eq!((stack.size(), stack.top() == deny), (1, true), "entries are added once");
        assert!(!stack.passes(KIND));
        stack.push_empty();
        assert!(stack.passes(KIND));
        stack.pop();
        stack.push_copy();
        stack.clear();
        assert_eq!(stack.size(), 2);
        assert!(stack.passes(KIND), "the copy was cleared");
        stack.pop();
        assert!(!stack.passes(KIND), "the original was not");
        stack.push(Filter::default());
        assert!(stack.passes(KIND));
    }
}
