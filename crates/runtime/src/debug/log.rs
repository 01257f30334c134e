//! The log of a device.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::*;

use super::breaks::Breaks;
use super::callback::{Callback, MessageFunction};
use super::category;
use super::filter::FilterStack;
use super::message::{self, Message, MessageKind};
use super::return_id;
use crate::rules::{Notices, Refusal};

/// Where the calls of a device and of its children report to, and what `ID3D12InfoQueue1` shows.
///
/// A message goes its way in this order: the storage filter, the store (which gives up its oldest message when it is
/// full), the breaks, `tracing`, the callbacks. The last two happen outside of the lock, so a callback may call anything,
/// the log included; it is called by the thread whose call left the message.
///
/// A device without the debug layer has a log that stores nothing: its messages go to `tracing` alone, whatever the
/// filters say.
pub(crate) struct MessageLog {
    is_storing: bool,
    state: Mutex<State>,
}

pub(super) struct State {
    /// The oldest first.
    pub(super) messages: VecDeque<Arc<Message>>,
    /// The most messages that are stored; `u64::MAX` is no limit.
    pub(super) limit: u64,
    pub(super) counts: Counts,
    /// Decides what is stored, printed and told.
    pub(super) storage: FilterStack,
    /// Decides what of the stored is shown.
    pub(super) retrieval: FilterStack,
    pub(super) breaks: Breaks,
    /// Nothing goes to `tracing`.
    pub(super) is_muted: bool,
    callbacks: Vec<Callback>,
    last_cookie: u32,
}

/// Messages since the device was created.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) allowed_by_storage_filter: u64,
    pub(super) denied_by_storage_filter: u64,
    pub(super) discarded_by_limit: u64,
}

impl MessageLog {
    /// The log of a new device. `is_storing` says whether the debug layer is on.
    pub(crate) const fn new(is_storing: bool) -> Self {
        Self {
            is_storing,
            state: Mutex::new(State {
                messages: VecDeque::new(),
                limit: D3D12_INFO_QUEUE_DEFAULT_MESSAGE_COUNT_LIMIT.cast_unsigned() as u64,
                counts: Counts {
                    allowed_by_storage_filter: 0,
                    denied_by_storage_filter: 0,
                    discarded_by_limit: 0,
                },
                storage: FilterStack::new(),
                retrieval: FilterStack::new(),
                breaks: Breaks::new(),
                is_muted: false,
                callbacks: Vec::new(),
                last_cookie: 0,
            }),
        }
    }

    /// Where calls report that belong to no device: DXGI's and the exported functions. It stores nothing.
    pub(crate) fn unattached() -> &'static Self {
        static UNATTACHED: MessageLog = MessageLog::new(false);
        &UNATTACHED
    }

    /// The call `name` was refused.
    pub(crate) fn refused(&self, name: &'static str, refusal: &Refusal) {
        self.report(name, message::severity(refusal), return_id::of(name, refusal), refusal);
    }

    /// The call `name` goes on, and its rules remark on it.
    pub(crate) fn notices(&self, name: &'static str, notices: &Notices) {
        for notice in notices.iter() {
            self.report(name, notice.severity, notice.id, &notice.message);
        }
    }

    /// The call `name` panicked.
    pub(crate) fn panicked(&self, name: &'static str) {
        let text = "a defect of heapwright-runtime: the call panicked";
        self.report(name, D3D12_MESSAGE_SEVERITY_CORRUPTION, D3D12_MESSAGE_ID_UNKNOWN, &text);
    }

    /// The call `name`, or what the device does later because of it, leaves a message.
    pub(crate) fn report(
        &self,
        name: &'static str,
        severity: D3D12_MESSAGE_SEVERITY,
        id: D3D12_MESSAGE_ID,
        text: &dyn fmt::Display,
    ) {
        if !self.is_storing {
            trace(severity, name, text);
            return;
        }
        let kind = MessageKind { category: category::of(id, name), severity, id };
        let message = Arc::new(Message::new(kind, format!("{name}: {text}")));
        self.publish(&message, || trace(severity, name, text));
    }

    /// Takes a message from the application.
    pub(super) fn add(&self, message: Message) {
        let message = Arc::new(message);
        let trace = || trace(message.kind.severity, "ID3D12InfoQueue::AddMessage", &message.text());
        if self.is_storing { self.publish(&message, trace) } else { trace() }
    }

    /// Sends a message on its way.
    fn publish(&self, message: &Arc<Message>, trace: impl FnOnce()) {
        let (is_traced, callbacks) = {
            let mut state = self.lock();
            let passes = state.offer(message);
            let callbacks: Vec<_> =
                state.callbacks.iter().filter(|each| passes || each.ignores_filters).copied().collect();
            (passes && !state.is_muted, callbacks)
        };
        if is_traced {
            trace();
            #[cfg(windows)]
            show(message);
        }
        for callback in callbacks {
            callback.call(message);
        }
    }

    /// Registers a function and writes the cookie that names it, before anybody can call it.
    ///
    /// # Safety
    ///
    /// `function` may be called with `context` from any thread, until it is unregistered and the calls that had begun by
    /// then have returned.
    pub(super) unsafe fn register(
        &self,
        function: MessageFunction,
        context: *mut c_void,
        ignores_filters: bool,
        cookie: &mut u32,
    ) {
        let mut state = self.lock();
        let mut next = state.last_cookie;
        // Cookies wrap around, past zero and those in use.
        loop {
            next = next.wrapping_add(1);
            if next != 0 && !state.callbacks.iter().any(|callback| callback.cookie == next) {
                break;
            }
        }
        state.last_cookie = next;
        *cookie = next;
        // SAFETY: the caller's promise.
        state.callbacks.push(unsafe { Callback::new(function, context, next, ignores_filters) });
    }

    /// Forgets a function; false when no function has the cookie.
    pub(super) fn unregister(&self, cookie: u32) -> bool {
        let mut state = self.lock();
        let before = state.callbacks.len();
        state.callbacks.retain(|callback| callback.cookie != cookie);
        state.callbacks.len() < before
    }

    /// Forgets all functions: the device is gone, and what its queues still report is for nobody.
    pub(super) fn unregister_all(&self) {
        self.lock().callbacks.clear();
    }

    /// How many messages passed the storage filter and were such that the application asked to break on.
    pub(crate) fn break_count(&self) -> u64 {
        self.lock().breaks.count()
    }

    /// Severity and text of what is stored and passes the retrieval filter, the oldest first.
    pub(crate) fn stored(&self) -> Vec<(D3D12_MESSAGE_SEVERITY, String)> {
        let state = self.lock();
        state.retrievable().map(|message| (message.kind.severity, message.text().to_string())).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is changed in steps of which none panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Stores `message` if the storage filter lets it pass, and says whether it did.
    fn offer(&mut self, message: &Arc<Message>) -> bool {
        if !self.storage.passes(message.kind) {
            self.counts.denied_by_storage_filter += 1;
            return false;
        }
        self.counts.allowed_by_storage_filter += 1;
        self.messages.push_back(Arc::clone(message));
        self.discard_beyond_limit();
        self.breaks.consider(message.kind);
        true
    }

    /// Gives up the oldest messages until the limit is kept.
    pub(super) fn discard_beyond_limit(&mut self) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        while self.messages.len() > limit {
            self.messages.pop_front();
            self.counts.discarded_by_limit += 1;
        }
    }

    /// The messages that the retrieval filter lets pass, the oldest first.
    pub(super) fn retrievable(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.iter().filter(|message| self.retrieval.passes(message.kind))
    }
}

/// Shows a message to the debugger, as D3D12's debug layer does.
#[cfg(windows)]
fn show(message: &Message) {
    windows_core::link!("kernel32.dll" "system" fn OutputDebugStringW(text: PCWSTR));
    let severity = match message.kind.severity {
        D3D12_MESSAGE_SEVERITY_CORRUPTION => "CORRUPTION",
        D3D12_MESSAGE_SEVERITY_ERROR => "ERROR",
        D3D12_MESSAGE_SEVERITY_WARNING => "WARNING",
        D3D12_MESSAGE_SEVERITY_INFO => "INFO",
        _ => "MESSAGE",
    };
    let line = format!("D3D12 {severity}: {} [ #{} ]\n", message.text(), message.kind.id);
    let units: Vec<u16> = line.encode_utf16().chain([0]).collect();
    // SAFETY: the text is zero-terminated and outlives the call.
    unsafe { OutputDebugStringW(PCWSTR(units.as_ptr())) };
}

/// Writes a message to `tracing`.
fn trace(severity: D3D12_MESSAGE_SEVERITY, name: &str, text: &dyn fmt::Display) {
    match severity {
        D3D12_MESSAGE_SEVERITY_CORRUPTION | D3D12_MESSAGE_SEVERITY_ERROR => {
            tracing::error!(call = name, "{text}");
        }
        D3D12_MESSAGE_SEVERITY_WARNING => tracing::warn!(call = name, "{text}"),
        D3D12_MESSAGE_SEVERITY_INFO => tracing::info!(call = name, "{text}"),
        _ => tracing::debug!(call = name, "{text}"),
    }
}
