use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use heapwright_d3d12::*;

use super::device::DeviceDebug;
use crate::debug::message::{Message, MessageKind};
use crate::debug::{DebugSettings, MessageLog};
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
    log.refused("Call", &Refusal::new(E_FAIL, "not supported"));
    log.refused("Call", &Refusal::new(E_FAIL, "closed").with_id(D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED));
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
        (D3D12_MESSAGE_SEVERITY_INFO, "Call: not supported"),
        (D3D12_MESSAGE_SEVERITY_ERROR, "Call: closed"),
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

/// What a callback that says when it is called, and waits until it may return, needs.
struct Slow {
    began: mpsc::Sender<()>,
    go_on: Mutex<mpsc::Receiver<()>>,
    is_done: AtomicBool,
}

unsafe extern "system" fn call_slowly(_: i32, _: i32, _: i32, _: PCSTR, slow: *mut c_void) {
    // SAFETY: the function is registered with a `Slow` that outlives the log.
    let slow = unsafe { &*slow.cast::<Slow>() };
    slow.began.send(()).expect("the test waits");
    slow.go_on.lock().expect("no panics").recv().expect("the test goes on");
    slow.is_done.store(true, Ordering::SeqCst);
}

/// Applications free what a callback uses when it is unregistered, or with the device.
#[test]
fn unregistering_waits_for_the_calls_of_other_threads() {
    for with_device in [false, true] {
        let ((began, begins), (go_on, waits)) = (mpsc::channel(), mpsc::channel());
        let slow = Slow { began, go_on: Mutex::new(waits), is_done: AtomicBool::new(false) };
        let device = DeviceDebug::new(DebugSettings::ON);
        let log = Arc::clone(device.log());
        let mut cookie = 0;
        // SAFETY: the function may be called from any thread, and what it uses outlives the log.
        unsafe { log.register(call_slowly, (&raw const slow).cast_mut().cast(), false, &mut cookie) };
        let (log, is_done) = (&log, &slow.is_done);
        std::thread::scope(|scope| {
            scope.spawn(|| log.refused("a thread of the driver", &Refusal::invalid("a rule")));
            begins.recv().expect("it is called");
            let unregisters = scope.spawn(move || {
                if with_device {
                    drop(device)
                } else {
                    assert!(log.unregister(cookie))
                }
                is_done.load(Ordering::SeqCst)
            });
            // Time for the thread to get to its wait, or not to wait.
            std::thread::sleep(Duration::from_millis(20));
            go_on.send(()).expect("it waits");
            assert!(unregisters.join().expect("no panics"), "the call has returned");
        });
    }
}
