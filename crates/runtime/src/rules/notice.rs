//! What a rule remarks on without refusing the call.

use std::borrow::Cow;

use heapwright_d3d12::{
    D3D12_MESSAGE_ID, D3D12_MESSAGE_ID_UNKNOWN, D3D12_MESSAGE_SEVERITY, D3D12_MESSAGE_SEVERITY_INFO,
    D3D12_MESSAGE_SEVERITY_WARNING,
};

/// A remark on a call that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// `D3D12_MESSAGE_SEVERITY_WARNING` or `INFO`.
    pub(crate) severity: D3D12_MESSAGE_SEVERITY,
    /// D3D12's own id for the rule, or `D3D12_MESSAGE_ID_UNKNOWN`.
    pub(crate) id: D3D12_MESSAGE_ID,
    /// What was found and what comes of it.
    pub(crate) message: Cow<'static, str>,
}

impl Notice {
    /// Something that is allowed and probably not meant.
    pub(crate) fn warning(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(D3D12_MESSAGE_SEVERITY_WARNING, message.into())
    }

    /// Something that the application may want to know.
    pub(crate) fn info(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(D3D12_MESSAGE_SEVERITY_INFO, message.into())
    }

    /// The same remark under the id that D3D12's debug layer has for the rule.
    #[must_use]
    pub(crate) fn with_id(self, id: D3D12_MESSAGE_ID) -> Self {
        Self { id, ..self }
    }

    fn new(severity: D3D12_MESSAGE_SEVERITY, message: Cow<'static, str>) -> Self {
        Self { severity, id: D3D12_MESSAGE_ID_UNKNOWN, message }
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

    /// The remarks, the first made first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter()
    }
}
