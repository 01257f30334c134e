//! Refusals of calls: the HRESULT that D3D12 returns, D3D12's message id, and a message that names the rule; and
//! remarks on calls that are not refused.

use std::borrow::Cow;
use std::fmt;

use heapwright_d3d12::{
    D3D12_MESSAGE_ID, D3D12_MESSAGE_ID_UNKNOWN, D3D12_MESSAGE_SEVERITY, D3D12_MESSAGE_SEVERITY_ERROR,
    D3D12_MESSAGE_SEVERITY_INFO, D3D12_MESSAGE_SEVERITY_WARNING, E_INVALIDARG, E_NOTIMPL, E_OUTOFMEMORY,
};
use windows_core::HRESULT;

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    hresult: HRESULT,
    id: D3D12_MESSAGE_ID,
    message: Cow<'static, str>,
}

impl Refusal {
    /// Creates a refusal with the given HRESULT and without a message id.
    pub(crate) fn new(hresult: HRESULT, message: impl Into<Cow<'static, str>>) -> Self {
        Self { hresult, id: D3D12_MESSAGE_ID_UNKNOWN, message: message.into() }
    }

    /// Creates a refusal with E_INVALIDARG: the caller broke a rule.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(E_INVALIDARG, message)
    }

    /// Creates a refusal with E_OUTOFMEMORY.
    pub(crate) fn out_of_memory(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(E_OUTOFMEMORY, message)
    }

    /// Creates a refusal with E_NOTIMPL: the runtime does not implement `what` yet.
    pub(crate) fn not_implemented(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(E_NOTIMPL, what)
    }

    /// Creates a refusal with E_NOTIMPL: the runtime does not implement the call, which the log names, yet.
    pub(crate) fn call_not_implemented() -> Self {
        Self::new(E_NOTIMPL, "")
    }

    /// Sets the id that D3D12's debug layer has for the rule.
    ///
    /// Rules without an id in D3D12 keep `D3D12_MESSAGE_ID_UNKNOWN`.
    #[must_use]
    pub(crate) fn with_id(self, id: D3D12_MESSAGE_ID) -> Self {
        Self { id, ..self }
    }

    /// Sets the id if the HRESULT is E_INVALIDARG and no id is set yet.
    ///
    /// For a check whose rules D3D12 reports under one id, except for rules with an id of their own.
    #[must_use]
    pub(crate) fn or_id(self, id: D3D12_MESSAGE_ID) -> Self {
        if self.id == D3D12_MESSAGE_ID_UNKNOWN && self.hresult == E_INVALIDARG {
            return self.with_id(id);
        }
        self
    }

    /// The id of the message that is logged for the refused call.
    pub(crate) fn id(&self) -> D3D12_MESSAGE_ID {
        self.id
    }

    /// The HRESULT that the refused call returns.
    pub(crate) fn hresult(&self) -> HRESULT {
        self.hresult
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.hresult, &*self.message) {
            (E_NOTIMPL, "") => f.write_str("not implemented by this runtime yet"),
            (E_NOTIMPL, what) => write!(f, "{what}: not implemented by this runtime yet"),
            (_, message) => f.write_str(message),
        }
    }
}

/// Returns a closure for `map_err` that applies [`Refusal::or_id`] to a refusal.
pub(crate) fn under(id: D3D12_MESSAGE_ID) -> impl FnOnce(Refusal) -> Refusal {
    move |refusal| refusal.or_id(id)
}

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
