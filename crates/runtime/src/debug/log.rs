//! The log of a device.

use heapwright_d3d12::{D3D12_MESSAGE_SEVERITY_WARNING, E_NOTIMPL, E_OUTOFMEMORY};

use crate::rules::{Notices, Refusal};

/// Where the calls of a device and of its children report to.
#[derive(Debug)]
pub(crate) struct MessageLog {}

impl MessageLog {
    /// The log of a new device.
    pub(crate) const fn new() -> Self {
        Self {}
    }

    /// Where calls report that belong to no device: DXGI's and the exported functions.
    pub(crate) fn unattached() -> &'static Self {
        static UNATTACHED: MessageLog = MessageLog::new();
        &UNATTACHED
    }

    /// The call `name` was refused.
    pub(crate) fn refused(&self, name: &'static str, refusal: &Refusal) {
        match refusal.hresult() {
            E_NOTIMPL => tracing::warn!(call = name, "{refusal}"),
            // Running out of memory is an answer that applications plan for, not a mistake of theirs.
            E_OUTOFMEMORY => tracing::debug!(call = name, "{refusal}"),
            _ => tracing::error!(call = name, "{refusal}"),
        }
    }

    /// The call `name` goes on, and its rules remark on it.
    pub(crate) fn notices(&self, name: &'static str, notices: &Notices) {
        for notice in notices.iter() {
            match notice.severity {
                D3D12_MESSAGE_SEVERITY_WARNING => tracing::warn!(call = name, "{}", notice.message),
                _ => tracing::info!(call = name, "{}", notice.message),
            }
        }
    }

    /// The call `name` panicked.
    pub(crate) fn panicked(&self, name: &'static str) {
        tracing::error!(call = name, "a defect of heapwright-runtime: the call panicked");
    }
}
