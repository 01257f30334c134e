use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

const SHORT: Option<Duration> = Some(Duration::from_millis(5));
const LONG: Option<Duration> = Some(Duration::from_secs(30));

fn event(reset: EventReset) -> Event {
    Event::new(reset).expect("an event")
}

#[test]
fn each_signal_of_an_auto_event_wakes_one_waiter() {
    let event = event(EventReset::Auto);
    assert!(!event.is_set().expect("is_set"));
    event.set().expect("set");
    event.set().expect("set");
    assert!(event.wait(SHORT).expect("wait"), "two signals");
    assert!(!event.wait(SHORT).expect("wait"), "count as one");
}

#[test]
fn a_manual_event_stays_until_it_is_reset() {
    let event = event(EventReset::Manual);
    event.set().expect("set");
    for _ in 0..3 {
        assert!(event.is_set().expect("is_set"));
        assert!(event.wait(None).expect("wait"));
    }
    event.reset().expect("reset");
    assert!(!event.is_set().expect("is_set"));
    event.reset().expect("reset of an unsignalled event");
}

#[test]
fn a_wait_ends_after_its_timeout() {
    let event = event(EventReset::Auto);
    assert!(!event.wait(Some(Duration::from_micros(20_500))).expect("wait"));
    event.set().expect("set");
    assert!(event.wait(Some(Duration::MAX)).expect("wait"), "an endless timeout");
}

#[test]
fn a_signal_wakes_a_thread_that_waits() {
    let event = event(EventReset::Auto);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| event.wait(LONG).expect("wait"));
        thread::sleep(Duration::from_millis(10));
        event.set().expect("set");
        assert!(waiter.join().expect("no panic"));
    });
}

/// Each signal follows the wake-up for the previous one, so each wakes exactly one thread.
#[test]
fn threads_that_share_an_auto_event_share_its_signals() {
    const SIGNALS: usize = 200;
    let event = event(EventReset::Auto);
    let woken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while woken.load(Ordering::SeqCst) < SIGNALS {
                    if event.wait(SHORT).expect("wait") {
                        woken.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        for signal in 1..=SIGNALS {
            event.set().expect("set");
            while woken.load(Ordering::SeqCst) < signal {
                thread::yield_now();
            }
            assert_eq!(woken.load(Ordering::SeqCst), signal, "one signal, one waiter");
        }
    });
}

#[test]
fn a_manual_event_wakes_all_threads() {
    let event = event(EventReset::Manual);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..4).map(|_| scope.spawn(|| event.wait(LONG).expect("wait"))).collect();
        event.set().expect("set");
        for waiter in waiters {
            assert!(waiter.join().expect("no panic"));
        }
    });
}

#[test]
fn an_event_signal_outlives_its_original_handle() {
    let event = event(EventReset::Auto);
    // SAFETY: the handle refers to an event.
    let signal = unsafe { EventSignal::new(event.handle()) }.expect("an event");
    signal.set().expect("set");
    assert!(event.is_set().expect("is_set"));
    drop(event);
    signal.set().expect("signalling a closed event is not an error");
}

#[test]
fn invalid_handles_are_rejected() {
    // SAFETY: zero is not an open handle.
    let error = unsafe { EventSignal::new(HANDLE::default()) }.expect_err("zero is invalid");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    // SAFETY: the handle is not open.
    unsafe { EventSignal::new(HANDLE(std::ptr::without_provenance_mut(0x7fff_fff0))) }
        .expect_err("the handle is not open");
}

#[test]
fn small_negative_numbers_are_not_events() {
    for number in 1..=6_usize {
        let handle = HANDLE(std::ptr::without_provenance_mut(number.wrapping_neg()));
        assert!(!is_event(handle), "-{number}");
        // SAFETY: these are pseudo handles on Windows, and invalid on other systems.
        let error = unsafe { EventSignal::new(handle) }.expect_err("not an event");
        if cfg!(windows) {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "-{number}");
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[test]
fn a_file_is_not_an_event() {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::open("/dev/null").expect("it exists");
    let address = usize::try_from(file.as_raw_fd()).expect("not negative");
    // SAFETY: the kind of the handle is checked before it is used.
    let error = unsafe { EventSignal::new(HANDLE(std::ptr::without_provenance_mut(address))) };
    assert_eq!(error.expect_err("a file").kind(), io::ErrorKind::InvalidInput);
    // SAFETY: the number is not a valid descriptor.
    unsafe { EventSignal::new(HANDLE(std::ptr::without_provenance_mut(usize::MAX))) }.expect_err("too large");
}

#[test]
fn events_close_their_handles() {
    for _ in 0..20_000 {
        let event = event(EventReset::Auto);
        // SAFETY: the handle refers to an event.
        let _signal = unsafe { EventSignal::new(event.handle()) }.expect("an event");
    }
}

#[test]
fn a_duplicate_handle_outlives_the_event() {
    let handle = event(EventReset::Auto).duplicate_handle().expect("handles are left");
    assert!(is_event(handle));
    assert!(!is_event(HANDLE::default()));
    // SAFETY: the handle is open, refers to an event, is owned by this test, and is not used after it is closed.
    unsafe {
        signal(handle).expect("the handle is open");
        system::close(handle);
    }
}

#[test]
fn a_reused_handle_is_not_the_same_event() {
    let (event, other) = (event(EventReset::Manual), event(EventReset::Manual));
    let copy = event.duplicate_handle().expect("handles are left");
    assert!(event.is_behind(copy) && event.is_behind(event.handle()));
    assert!(!other.is_behind(copy) && !event.is_behind(other.handle()));
    // SAFETY: the handle is owned by this test and only compared afterwards.
    unsafe { close(copy) };
    assert!(!event.is_behind(copy) && !event.is_behind(HANDLE::default()));
}
