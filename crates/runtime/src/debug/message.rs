//! One message.

use std::fmt;

use heapwright_d3d12::*;

use crate::rules::Refusal;

/// What filters and breaks look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageKind {
    pub(super) category: D3D12_MESSAGE_CATEGORY,
    pub(super) severity: D3D12_MESSAGE_SEVERITY,
    pub(super) id: D3D12_MESSAGE_ID,
}

/// A message as the log keeps it.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: MessageKind,
    /// 8-bit text; its only zero is the last byte.
    description: Box<[u8]>,
}

impl Message {
    /// A message with `description` up to its first zero.
    pub(super) fn new(kind: MessageKind, description: impl Into<Vec<u8>>) -> Self {
        let mut description = description.into();
        if let Some(end) = description.iter().position(|byte| *byte == 0) {
            description.truncate(end);
        }
        description.push(0);
        Self { kind, description: description.into() }
    }

    /// The text with its terminating zero.
    pub(super) fn description(&self) -> &[u8] {
        &self.description
    }

    /// The text, with what is not UTF-8 replaced.
    pub(super) fn text(&self) -> impl fmt::Display {
        let (_terminator, text) = self.description.split_last().unwrap_or((&0, &[]));
        String::from_utf8_lossy(text)
    }
}

/// How severe it is that a call is refused.
///
/// A broken rule is an error. What this runtime does not have is a warning. Running out of memory and asking for private
/// data that is not there are answers that applications plan for.
pub(super) fn severity(refusal: &Refusal) -> D3D12_MESSAGE_SEVERITY {
    match refusal.hresult() {
        E_NOTIMPL => D3D12_MESSAGE_SEVERITY_WARNING,
        E_OUTOFMEMORY | DXGI_ERROR_NOT_FOUND | DXGI_ERROR_MORE_DATA => D3D12_MESSAGE_SEVERITY_INFO,
        _ => D3D12_MESSAGE_SEVERITY_ERROR,
    }
}

/// Whether `category` is one of D3D12's.
pub(super) fn is_category(category: D3D12_MESSAGE_CATEGORY) -> bool {
    (D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED..=D3D12_MESSAGE_CATEGORY_SHADER).contains(&category)
}

/// Whether `severity` is one of D3D12's.
pub(super) fn is_severity(severity: D3D12_MESSAGE_SEVERITY) -> bool {
    (D3D12_MESSAGE_SEVERITY_CORRUPTION..=D3D12_MESSAGE_SEVERITY_MESSAGE).contains(&severity)
}
