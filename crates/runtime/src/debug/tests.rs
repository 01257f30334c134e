use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_d3d12::*;

use super::device::DeviceDebug;
use super::log::MessageLog;
use super::message::{Message, MessageKind};
use super::settings::DebugSettings;
use crate::rules::{Notice, Notices, Refusal};

const KIND: MessageKind = MessageKind {
    category: D3D12_MESSAGE_CATEGORY_MISCELLANEOUS,
    severity: D3D12_MESSAGE_SEVERITY_MESSAGE,
    id: D3D12_MESSAGE_ID_UNKNOWN,
};

fn stored(log: &MessageLog) -> Vec<(D3D12_MESSAGE_SEVERITY, String)> {
    log.lock().retrievable().map(|message| (message.kind.severity, message.text().to_string())).collect()
}

#[test]
fn severities_follow_from_the_result() {
    let log = MessageLog::new(true);
    log.refused("Call", &Refusal::invalid("a rule"));
    log.refused("Call", &Refusal::not_implemented("this"));
    log.refused("Call", &Refusal::call_not_implemented());
    log.refused("Call", &Refusal::out_of_memory("1 byte"));
    log.refused("Call", &Refusal::new(DXGI_ERROR_NOT_FOUND, "no such data"));
    log.panicked("Call");
    let mut notices = Notices::default();
    notices.push(Notice::warning(D3D12_MESSAGE_ID_UNKNOWN, "odd"));
    notices.push(Notice::info(D3D12_MESSAGE_ID_UNKNOWN, "good to know"));
    log.notices("Call", &notices);
    let expected = [
        (D3D12_MESSAGE_SEVERITY_ERROR, "Call: a rule"),
        (D3D12_MESSAGE_SEVERITY_WARNING, "Call: this: not implemented by this runtime yet"),
        (D3D12_MESSAGE_SEVERITY_WARNING, "Call: not implemented by this runtime yet"),
        (D3D12_MESSAGE_SEVERITY_INFO, "Call: 1 byte"),
        (D3D12_MESSAGE_SEVERITY_INFO, "Call: no such data"),
        (D3D12_MESSAGE_SEVERITY_CORRUPTION, "Call: the call panicked; this is a bug in heapwright-runtime"),
        (D3D12_MESSAGE_SEVERITY_WARNING, "Call: odd"),
        (D3D12_MESSAGE_SEVERITY_INFO, "Call: good to know"),
    ];
    assert_eq!(stored(&log), expected.map(|(severity, text)| (severity, text.to_string())));
}

#[test]
fn a_description_ends_at_its_first_zero() {
    let message = Message::new(KIND, b"before\0after".as_slice());
    assert_eq!(message.description(), b"before\0");
    assert_eq!(Message::new(KIND, Vec::new()).description(), b"\0");
    assert_eq!(Message::new(KIND, vec![0xff]).text().to_string(), "\u{fffd}");
}

#[test]
fn a_log_without_the_debug_layer_stores_nothing() {
    let log = MessageLog::new(false);
    log.refused("Call", &Refusal::invalid("a rule"));
    log.add(Message::new(KIND, "text"));
    assert!(stored(&log).is_empty());
    assert_eq!(log.lock().counts.allowed_by_storage_filter, 0);
}

/// Increments the counter that is its context.
unsafe extern "system" fn count(_: i32, _: i32, _: i32, _: PCSTR, context: *mut c_void) {
    // SAFETY: the function is registered with a counter that outlives the log.
    unsafe { &*context.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn callbacks_stop_when_the_device_is_destroyed() {
    let told = AtomicU32::new(0);
    let device = DeviceDebug::new(DebugSettings::ON);
    let log = Arc::clone(device.log());
    let mut cookie = 0;
    // SAFETY: the function counts, and the counter outlives the log.
    unsafe { log.register(count, (&raw const told).cast_mut().cast(), false, &mut cookie) };
    log.refused("Call", &Refusal::invalid("a rule"));
    drop(device);
    log.refused("a queue that still runs", &Refusal::invalid("a rule"));
    assert_eq!((told.load(Ordering::Relaxed), stored(&log).len()), (1, 2));
}
