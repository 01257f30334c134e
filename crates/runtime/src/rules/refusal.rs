//! Why a call is refused: the HRESULT that D3D12 answers, D3D12's message id, and a message that names the rule.

use std::borrow::Cow;
use std::fmt;

use heapwright_d3d12::{D3D12_MESSAGE_ID, D3D12_MESSAGE_ID_UNKNOWN, E_INVALIDARG, E_NOTIMPL, E_OUTOFMEMORY};
use windows_core::HRESULT;

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    hresult: HRESULT,
    id: D3D12_MESSAGE_ID,
    message: Cow<'static, str>,
}

impl Refusal {
    /// A refusal with an HRESULT of its own, and no message id.
    pub(crate) fn new(hresult: HRESULT, message: impl Into<Cow<'static, str>>) -> Self {
        Self { hresult, id: D3D12_MESSAGE_ID_UNKNOWN, message: message.into() }
    }

    /// The caller broke a rule: E_INVALIDARG.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(E_INVALIDARG, message)
    }

    /// There is no memory: E_OUTOFMEMORY.
    pub(crate) fn out_of_memory(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(E_OUTOFMEMORY, message)
    }

    /// The runtime does not have this yet: E_NOTIMPL.
    pub(crate) fn not_implemented(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(E_NOTIMPL, what)
    }

    /// The same refusal under the id that D3D12's debug layer has for the rule.
    ///
    /// For rules that D3D12 has no id for, `D3D12_MESSAGE_ID_UNKNOWN` stays.
    #[must_use]
    pub(crate) fn with_id(self, id: D3D12_MESSAGE_ID) -> Self {
        Self { id, ..self }
    }

    /// The same refusal under `id` if it says that a rule is broken and has no id yet.
    ///
    /// For a check whose rules D3D12 reports under one id, but for those that name another.
    #[must_use]
    pub(crate) fn or_id(self, id: D3D12_MESSAGE_ID) -> Self {
        if self.id == D3D12_MESSAGE_ID_UNKNOWN && self.hresult == E_INVALIDARG {
            return self.with_id(id);
        }
        self
    }

    /// The id of the message that the refused call leaves.
    pub(crate) fn id(&self) -> D3D12_MESSAGE_ID {
        self.id
    }

    /// What the call answers.
    pub(crate) fn hresult(&self) -> HRESULT {
        self.hresult
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.hresult == E_NOTIMPL {
            f.write_str(": not implemented by this runtime yet")?;
        }
        Ok(())
    }
}

/// For `map_err`: puts the refusals of a check under `id`, as [`Refusal::or_id`] does.
pub(crate) fn under(id: D3D12_MESSAGE_ID) -> impl FnOnce(Refusal) -> Refusal {
    move |refusal| refusal.or_id(id)
}
