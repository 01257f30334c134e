//! Remarks of rules that do not refuse the call.

use std::borrow::Cow;

use heapwright_d3d12::{
    D3D12_MESSAGE_ID, D3D12_MESSAGE_SEVERITY, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_SEVERITY_INFO,
    D3D12_MESSAGE_SEVERITY_WARNING,
};

use super::Refusal;

/// A remark on a call that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The severity: `D3D12_MESSAGE_SEVERITY_ERROR`, `WARNING` or `INFO`.
    pub(crate) severity: D3D12_MESSAGE_SEVERITY,
    /// D3D12's message id for the rule, or `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) id: D3D12_MESSAGE_ID,
    /// The finding and its consequence.
    pub(crate) message: Cow<'static, str>,
}

impl Notice {
    /// Creates an error for a broken rule that D3D12 leaves to the debug layer: the call succeeds nevertheless.
    pub(crate) fn error(broken: &Refusal) -> Self {
        let message = broken.to_string().into();
        Self { severity: D3D12_MESSAGE_SEVERITY_ERROR, id: broken.id(), message }
    }

    /// Creates a warning about a valid but probably unintended use. `id` may be `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) fn warning(id: D3D12_MESSAGE_ID, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity: D3D12_MESSAGE_SEVERITY_WARNING, id, message: message.into() }
    }

    /// Creates an informational remark. `id` may be `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) fn info(id: D3D12_MESSAGE_ID, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity: D3D12_MESSAGE_SEVERITY_INFO, id, message: message.into() }
    }
}

/// The remarks of one rule, in the order in which they were made.
///
/// A rule returns its remarks in the field `notices` of its result, and the caller passes them on to the log of the
/// device. An empty value, by far the most common, owns no memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notices(Vec<Notice>);

impl Notices {
    /// Adds a remark.
    pub(crate) fn push(&mut self, notice: Notice) {
        self.0.push(notice);
    }

    /// Adds an error if `checked` is a refusal. For rules that D3D12 leaves to the debug layer.
    pub(crate) fn tolerate(&mut self, checked: Result<(), Refusal>) {
        if let Err(broken) = checked {
            self.push(Notice::error(&broken));
        }
    }

    /// Returns the remarks, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter()
    }
}
