//! Breaks on messages.

use heapwright_d3d12::{D3D12_MESSAGE_CATEGORY, D3D12_MESSAGE_ID, D3D12_MESSAGE_SEVERITY};

use super::message::MessageKind;

/// The kinds of messages to break on, and the number of breaks.
///
/// On such a message, D3D12 breaks into the debugger, which ends a program without one. This runtime counts breaks
/// instead, so that tests can read the count and continue.
#[derive(Debug)]
pub(crate) struct Breaks {
    categories: Vec<D3D12_MESSAGE_CATEGORY>,
    severities: Vec<D3D12_MESSAGE_SEVERITY>,
    ids: Vec<D3D12_MESSAGE_ID>,
    count: u64,
}

impl Breaks {
    /// Creates a value that breaks on no message.
    pub(crate) const fn new() -> Self {
        Self { categories: Vec::new(), severities: Vec::new(), ids: Vec::new(), count: 0 }
    }

    pub(crate) fn set_category(&mut self, category: D3D12_MESSAGE_CATEGORY, is_enabled: bool) {
        set(&mut self.categories, category, is_enabled);
    }

    pub(crate) fn set_severity(&mut self, severity: D3D12_MESSAGE_SEVERITY, is_enabled: bool) {
        set(&mut self.severities, severity, is_enabled);
    }

    pub(crate) fn set_id(&mut self, id: D3D12_MESSAGE_ID, is_enabled: bool) {
        set(&mut self.ids, id, is_enabled);
    }

    pub(crate) fn has_category(&self, category: D3D12_MESSAGE_CATEGORY) -> bool {
        self.categories.contains(&category)
    }

    pub(crate) fn has_severity(&self, severity: D3D12_MESSAGE_SEVERITY) -> bool {
        self.severities.contains(&severity)
    }

    pub(crate) fn has_id(&self, id: D3D12_MESSAGE_ID) -> bool {
        self.ids.contains(&id)
    }

    /// Counts a break if any property of `kind` is to break on; a message counts once.
    pub(crate) fn consider(&mut self, kind: MessageKind) {
        if self.has_category(kind.category) || self.has_severity(kind.severity) || self.has_id(kind.id) {
            self.count += 1;
        }
    }

    /// The number of messages that caused a break.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// Adds `value` to the list or removes it.
fn set(list: &mut Vec<i32>, value: i32, is_enabled: bool) {
    list.retain(|entry| *entry != value);
    if is_enabled {
        list.push(value);
    }
}
