//! The message log of a device.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use heapwright_d3d12::*;

use super::callback::{Callback, MessageFunction};
use super::category;
use super::filter::{FilterStack, KindList};
use super::message::{self, Message, MessageKind};
use crate::rules::{Notices, Refusal};

/// The log to which the calls of a device and its children report, and which `ID3D12InfoQueue1` reads.
///
/// A message passes these stages in order: the storage filter, the store (which discards its oldest message when full),
/// the breaks, `tracing`, and the callbacks. The last two run outside of the lock, so a callback may call anything,
/// including the log. It runs on the thread whose call reported the message.
///
/// The log of a device without the debug layer stores nothing: its messages go only to `tracing`, independently of
/// filters.
pub(crate) struct MessageLog {
    is_storing: bool,
    state: Mutex<State>,
    /// Notified when a call of a callback ends.
    called: Condvar,
}

pub(crate) struct State {
    /// Stored messages, oldest first.
    pub(crate) messages: VecDeque<Arc<Message>>,
    /// The maximum number of stored messages; `u64::MAX` means no limit.
    pub(crate) limit: u64,
    pub(crate) counts: Counts,
    /// Decides which messages are stored, printed and passed to callbacks.
    pub(crate) storage: FilterStack,
    /// Decides which stored messages are visible.
    pub(crate) retrieval: FilterStack,
    /// The properties of messages that D3D12 would stop the program at.
    pub(crate) breaks: KindList,
    break_count: u64,
    /// Whether output to `tracing` is off.
    pub(crate) is_muted: bool,
    callbacks: Vec<Callback>,
    /// Callbacks that are being called, or are about to be: by which thread, and their cookies.
    calls: Vec<(ThreadId, u32)>,
    last_cookie: u32,
}

/// Numbers of messages since the device was created.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) allowed_by_storage_filter: u64,
    pub(crate) denied_by_storage_filter: u64,
    pub(crate) discarded_by_limit: u64,
}

impl MessageLog {
    /// Creates the log of a new device. `is_storing` is whether the debug layer is on.
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
                breaks: KindList::new(),
                break_count: 0,
                is_muted: false,
                callbacks: Vec::new(),
                calls: Vec::new(),
                last_cookie: 0,
            }),
            called: Condvar::new(),
        }
    }

    /// The log of calls that belong to no device: DXGI's and the exported functions. It stores nothing.
    pub(crate) fn unattached() -> &'static Self {
        static UNATTACHED: MessageLog = MessageLog::new(false);
        &UNATTACHED
    }

    /// Reports that the call `name` was refused.
    pub(crate) fn refused(&self, name: &'static str, refusal: &Refusal) {
        self.report(name, message::severity(refusal), refusal.id(), refusal);
    }

    /// Reports the remarks of rules on the call `name`, which was not refused.
    pub(crate) fn notices(&self, name: &'static str, notices: &Notices) {
        for notice in notices.iter() {
            self.report(name, notice.severity, notice.id, &notice.message);
        }
    }

    /// Reports that the call `name` panicked.
    pub(crate) fn panicked(&self, name: &'static str) {
        let text = "the call panicked; this is a bug in heapwright-runtime";
        self.report(name, D3D12_MESSAGE_SEVERITY_CORRUPTION, D3D12_MESSAGE_ID_UNKNOWN, &text);
    }

    /// Reports a message from the call `name`, or from what the device does later because of it.
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

    /// Adds a message of the application.
    pub(crate) fn add(&self, message: Message) {
        let message = Arc::new(message);
        let trace = || trace(message.kind.severity, "ID3D12InfoQueue::AddMessage", &message.text());
        if self.is_storing { self.publish(&message, trace) } else { trace() }
    }

    /// Stores a message and passes it on.
    fn publish(&self, message: &Arc<Message>, trace: impl FnOnce()) {
        let (is_traced, callbacks) = {
            let mut state = self.lock();
            let passes = state.offer(message);
            let callbacks: Vec<_> =
                state.callbacks.iter().filter(|each| passes || each.ignores_filters).copied().collect();
            let thread = std::thread::current().id();
            state.calls.extend(callbacks.iter().map(|callback| (thread, callback.cookie)));
            (passes && !state.is_muted, callbacks)
        };
        if is_traced {
            trace();
            #[cfg(windows)]
            show(message);
        }
        for callback in callbacks {
            callback.call(message);
            self.end_call(callback.cookie);
        }
    }

    /// Notes that this thread's call of a callback has returned.
    fn end_call(&self, cookie: u32) {
        let own = (std::thread::current().id(), cookie);
        let mut state = self.lock();
        if let Some(index) = state.calls.iter().rposition(|call| *call == own) {
            state.calls.swap_remove(index);
        }
        drop(state);
        self.called.notify_all();
    }

    /// Registers a function and writes its cookie before the function can be called.
    ///
    /// # Safety
    ///
    /// `function` must be callable with `context` from any thread, until it is unregistered and the calls that began
    /// before have returned.
    pub(crate) unsafe fn register(
        &self,
        function: MessageFunction,
        context: *mut c_void,
        ignores_filters: bool,
        cookie: &mut u32,
    ) {
        let mut state = self.lock();
        let mut next = state.last_cookie;
        // Cookies wrap around and skip zero and those in use.
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

    /// Unregisters a function, and waits until other threads' calls of it have returned. Returns false if no function
    /// has the cookie.
    ///
    /// A function may unregister itself or another one: a thread that is calling one does not wait, as two that waited
    /// for each other would never end.
    pub(crate) fn unregister(&self, cookie: u32) -> bool {
        let mut state = self.lock();
        let before = state.callbacks.len();
        state.callbacks.retain(|callback| callback.cookie != cookie);
        let is_found = state.callbacks.len() < before;
        self.wait_for_calls(state, |own| own == cookie);
        is_found
    }

    /// Unregisters all functions: the device is gone, and reports of its queues have no recipient. Waits like
    /// [`unregister`](Self::unregister).
    pub(crate) fn unregister_all(&self) {
        let mut state = self.lock();
        state.callbacks.clear();
        self.wait_for_calls(state, |_| true);
    }

    /// Waits until no other thread calls a callback with such a cookie, unless this thread calls one itself.
    fn wait_for_calls(&self, state: MutexGuard<'_, State>, is_meant: impl Fn(u32) -> bool) {
        let own = std::thread::current().id();
        if state.calls.iter().any(|&(thread, _)| thread == own) {
            return;
        }
        let is_called = |state: &mut State| state.calls.iter().any(|&(_, cookie)| is_meant(cookie));
        drop(self.called.wait_while(state, is_called).unwrap_or_else(PoisonError::into_inner));
    }

    /// The number of messages that passed the storage filter and matched a break.
    pub(crate) fn break_count(&self) -> u64 {
        self.lock().break_count
    }

    /// Returns severity and text of the stored messages that pass the retrieval filter, oldest first.
    pub(crate) fn stored(&self) -> Vec<(D3D12_MESSAGE_SEVERITY, String)> {
        let state = self.lock();
        state.retrievable().map(|message| (message.kind.severity, message.text().to_string())).collect()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // No change of the state panics halfway, so a poisoned lock is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Stores `message` if the storage filter lets it pass, and returns whether it did.
    fn offer(&mut self, message: &Arc<Message>) -> bool {
        if !self.storage.passes(message.kind) {
            self.counts.denied_by_storage_filter += 1;
            return false;
        }
        self.counts.allowed_by_storage_filter += 1;
        self.messages.push_back(Arc::clone(message));
        self.discard_beyond_limit();
        self.break_count += u64::from(self.breaks.has_any(message.kind));
        true
    }

    /// Discards the oldest messages beyond the limit.
    pub(crate) fn discard_beyond_limit(&mut self) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        while self.messages.len() > limit {
            self.messages.pop_front();
            self.counts.discarded_by_limit += 1;
        }
    }

    /// Returns the stored messages that pass the retrieval filter, oldest first.
    pub(crate) fn retrievable(&self) -> impl Iterator<Item = &Arc<Message>> {
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
