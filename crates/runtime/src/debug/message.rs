//! Messages.

use std::fmt;

use heapwright_d3d12::*;

use crate::rules::Refusal;

/// The properties of a message that filters and breaks compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageKind {
    pub(crate) category: D3D12_MESSAGE_CATEGORY,
    pub(crate) severity: D3D12_MESSAGE_SEVERITY,
    pub(crate) id: D3D12_MESSAGE_ID,
}

/// A message in the log.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: MessageKind,
    /// 8-bit text with a single zero, at its end.
    description: Box<[u8]>,
}

impl Message {
    /// Creates a message with `description` up to its first zero.
    pub(crate) fn new(kind: MessageKind, description: impl Into<Vec<u8>>) -> Self {
        let mut description = description.into();
        if let Some(end) = description.iter().position(|byte| *byte == 0) {
            description.truncate(end);
        }
        description.push(0);
        Self { kind, description: description.into() }
    }

    /// The text with its terminating zero.
    pub(crate) fn description(&self) -> &[u8] {
        &self.description
    }

    /// The text, with invalid UTF-8 replaced.
    pub(crate) fn text(&self) -> impl fmt::Display {
        let (_terminator, text) = self.description.split_last().unwrap_or((&0, &[]));
        String::from_utf8_lossy(text)
    }
}

/// Returns the severity of a refusal.
///
/// A broken rule is an error, and a missing feature of this runtime a warning. Applications expect the out-of-memory
/// error, failed look-ups, and that `CheckFeatureSupport` answers E_FAIL for what is not supported, so these are
/// informational.
pub(crate) fn severity(refusal: &Refusal) -> D3D12_MESSAGE_SEVERITY {
    match refusal.hresult() {
        E_NOTIMPL => D3D12_MESSAGE_SEVERITY_WARNING,
        E_FAIL if refusal.id() == D3D12_MESSAGE_ID_UNKNOWN => D3D12_MESSAGE_SEVERITY_INFO,
        E_OUTOFMEMORY | DXGI_ERROR_NOT_FOUND | DXGI_ERROR_MORE_DATA => D3D12_MESSAGE_SEVERITY_INFO,
        _ => D3D12_MESSAGE_SEVERITY_ERROR,
    }
}

/// Returns whether `category` is a category of D3D12.
pub(crate) fn is_category(category: D3D12_MESSAGE_CATEGORY) -> bool {
    (D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED..=D3D12_MESSAGE_CATEGORY_SHADER).contains(&category)
}

/// Returns whether `severity` is a severity of D3D12.
pub(crate) fn is_severity(severity: D3D12_MESSAGE_SEVERITY) -> bool {
    (D3D12_MESSAGE_SEVERITY_CORRUPTION..=D3D12_MESSAGE_SEVERITY_MESSAGE).contains(&severity)
}
