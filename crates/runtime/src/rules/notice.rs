//! What a rule remarks on without refusing the call.

use std::borrow::Cow;

use heapwright_d3d12::{
    D3D12_MESSAGE_ID, D3D12_MESSAGE_SEVERITY, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_SEVERITY_INFO,
    D3D12_MESSAGE_SEVERITY_WARNING,
};

use super::Refusal;

/// A remark on a call that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// `D3D12_MESSAGE_SEVERITY_ERROR`, `WARNING` or `INFO`.
    pub(crate) severity: D3D12_MESSAGE_SEVERITY,
    /// D3D12's own id for the rule, or `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) id: D3D12_MESSAGE_ID,
    /// What was found and what comes of it.
    pub(crate) message: Cow<'static, str>,
}

impl Notice {
    /// A broken rule that D3D12 leaves to the debug layer: the call goes on without it.
    pub(crate) fn error(broken: &Refusal) -> Self {
        let message = broken.to_string().into();
        Self { severity: D3D12_MESSAGE_SEVERITY_ERROR, id: broken.id(), message }
    }

    /// Something that is allowed and probably not meant. `id` may be `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) fn warning(id: D3D12_MESSAGE_ID, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity: D3D12_MESSAGE_SEVERITY_WARNING, id, message: message.into() }
    }

    /// Something that the application may want to know. `id` may be `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) fn info(id: D3D12_MESSAGE_ID, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity: D3D12_MESSAGE_SEVERITY_INFO, id, message: message.into() }
    }
}

/// The remarks of one rule, in the order in which it made them.
///
/// A rule that has something to remark keeps them in its result, in a field `notices`; whoever asked the rule passes
/// them on to the log of the device. Empty, as nearly always, it holds no memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notices(Vec<Notice>);

impl Notices {
    /// Adds a remark.
    pub(crate) fn push(&mut self, notice: Notice) {
        self.0.push(notice);
    }

    /// Keeps what a rule says that D3D12 leaves to the debug layer.
    pub(crate) fn tolerate(&mut self, checked: Result<(), Refusal>) {
        if let Err(broken) = checked {
            self.push(Notice::error(&broken));
        }
    }

    /// The remarks, the first made first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter()
    }
}
