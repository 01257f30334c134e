//! On which messages to break.

use heapwright_d3d12::{D3D12_MESSAGE_CATEGORY, D3D12_MESSAGE_ID, D3D12_MESSAGE_SEVERITY};

use super::message::MessageKind;

/// What to break on, and how often that happened.
///
/// D3D12 breaks into the debugger and stops a program that has none. Here a break is counted: tests read the count, and
/// no signal ends them.
#[derive(Debug)]
pub(super) struct Breaks {
    categories: Vec<D3D12_MESSAGE_CATEGORY>,
    severities: Vec<D3D12_MESSAGE_SEVERITY>,
    ids: Vec<D3D12_MESSAGE_ID>,
    count: u64,
}

impl Breaks {
    /// Breaks on nothing.
    pub(super) const fn new() -> Self {
        Self { categories: Vec::new(), severities: Vec::new(), ids: Vec::new(), count: 0 }
    }

    pub(super) fn set_category(&mut self, category: D3D12_MESSAGE_CATEGORY, is_enabled: bool) {
        set(&mut self.categories, category, is_enabled);
    }

    pub(super) fn set_severity(&mut self, severity: D3D12_MESSAGE_SEVERITY, is_enabled: bool) {
        set(&mut self.severities, severity, is_enabled);
    }

    pub(super) fn set_id(&mut self, id: D3D12_MESSAGE_ID, is_enabled: bool) {
        set(&mut self.ids, id, is_enabled);
    }

    pub(super) fn has_category(&self, category: D3D12_MESSAGE_CATEGORY) -> bool {
        self.categories.contains(&category)
    }

    pub(super) fn has_severity(&self, severity: D3D12_MESSAGE_SEVERITY) -> bool {
        self.severities.contains(&severity)
    }

    pub(super) fn has_id(&self, id: D3D12_MESSAGE_ID) -> bool {
        self.ids.contains(&id)
    }

    /// Counts a break when `kind` is one to break on; one message is one break.
    pub(super) fn consider(&mut self, kind: MessageKind) {
        if self.has_category(kind.category) || self.has_severity(kind.severity) || self.has_id(kind.id) {
            self.count += 1;
        }
    }

    /// Messages that broke.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

/// Puts `value` into the list, or takes it out.
fn set(list: &mut Vec<i32>, value: i32, is_enabled: bool) {
    list.retain(|entry| *entry != value);
    if is_enabled {
        list.push(value);
    }
}
