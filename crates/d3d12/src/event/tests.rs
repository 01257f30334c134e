use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::*;

const SHORT: Option<Duration> = Some(Duration::from_millis(5));
const LONG: Option<Duration> = Some(Duration::from_secs(30));

fn event(reset: EventReset) -> Event {
    Event::new(reset).expect("an event")
}

#[test]
fn an_auto_event_lets_one_wait_through_for_each_signal() {
    let event = event(EventReset::Auto);
    assert!(!event.is_set().expect("asked"));
    event.set().expect("set");
    event.set().expect("set");
    assert!(event.wait(SHORT).expect("waited"), "two signals");
    assert!(!event.wait(SHORT).expect("waited"), "count as one");
}

#[test]
fn a_manual_event_stays_until_it_is_reset() {
    let event = event(EventReset::Manual);
    event.set().expect("set");
    for _ in 0..3 {
        assert!(event.is_set().expect("asked"));
        assert!(event.wait(None).expect("waited"));
    }
    event.reset().expect("reset");
    assert!(!event.is_set().expect("asked"));
    event.reset().expect("a reset of what is not signalled");
}

#[test]
fn a_wait_lasts_as_long_as_its_timeout() {
    let event = event(EventReset::Auto);
    let start = Instant::now();
    assert!(!event.wait(Some(Duration::from_micros(20_500))).expect("waited"));
    assert!(start.elapsed() >= Duration::from_millis(20), "{:?}", start.elapsed());
    event.set().expect("set");
    assert!(event.wait(Some(Duration::MAX)).expect("waited"), "an endless timeout");
}

#[test]
fn a_signal_wakes_a_thread_that_waits() {
    let event = event(EventReset::Auto);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| event.wait(LONG).expect("waited"));
        thread::sleep(Duration::from_millis(10));
        event.set().expect("set");
        assert!(waiter.join().expect("no panic"));
    });
}

/// Each signal comes after the one before has been taken, so each lets exactly one of the threads go on.
#[test]
fn threads_that_share_an_auto_event_share_its_signals() {
    const SIGNALS: usize = 200;
    let event = event(EventReset::Auto);
    let woken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while woken.load(Ordering::SeqCst) < SIGNALS {
                    if event.wait(SHORT).expect("waited") {
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
        let waiters: Vec<_> = (0..4).map(|_| scope.spawn(|| event.wait(LONG).expect("waited"))).collect();
        event.set().expect("set");
        for waiter in waiters {
            assert!(waiter.join().expect("no panic"));
        }
    });
}

#[test]
fn an_event_signal_outlives_the_handle_it_was_made_of() {
    let event = event(EventReset::Auto);
    // SAFETY: the handle is an event's.
    let signal = unsafe { EventSignal::new(event.handle()) }.expect("an event");
    signal.set().expect("set");
    assert!(event.is_set().expect("asked"));
    drop(event);
    signal.set().expect("nobody listens, which is no error");
}

#[test]
fn a_plain_signal_reaches_the_event() {
    let event = event(EventReset::Auto);
    // SAFETY: the handle is an event's.
    unsafe { signal(event.handle()) }.expect("set");
    assert!(event.is_set().expect("asked"));
}

#[test]
fn what_is_no_event_is_refused() {
    // SAFETY: a HANDLE of zero names nothing.
    let error = unsafe { EventSignal::new(HANDLE::default()) }.expect_err("zero is no event");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    // SAFETY: no process has so many handles open.
    unsafe { EventSignal::new(HANDLE(std::ptr::without_provenance_mut(0x7fff_fff0))) }
        .expect_err("nothing is open there");
}

#[test]
fn no_small_negative_number_is_an_event() {
    for number in 1..=6_usize {
        let handle = HANDLE(std::ptr::without_provenance_mut(number.wrapping_neg()));
        assert!(!is_event(handle), "-{number}");
        // SAFETY: on Windows these stand for the process, the thread and its tokens, on other systems for nothing.
        let error = unsafe { EventSignal::new(handle) }.expect_err("no event");
        if cfg!(windows) {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "-{number}");
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[test]
fn a_file_is_no_event() {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::open("/dev/null").expect("it exists");
    let address = usize::try_from(file.as_raw_fd()).expect("not negative");
    // SAFETY: the kernel is asked what the handle is before anything is done with it.
    let error = unsafe { EventSignal::new(HANDLE(std::ptr::without_provenance_mut(address))) };
    assert_eq!(error.expect_err("a file").kind(), io::ErrorKind::InvalidInput);
    // SAFETY: a pointer-sized number that is no descriptor.
    unsafe { EventSignal::new(HANDLE(std::ptr::without_provenance_mut(usize::MAX))) }.expect_err("too large");
}

#[test]
fn events_give_their_handles_back() {
    for _ in 0..20_000 {
        let event = event(EventReset::Auto);
        // SAFETY: the handle is an event's.
        let _signal = unsafe { EventSignal::new(event.handle()) }.expect("an event");
    }
}

#[test]
fn a_handle_that_is_given_away_outlives_the_event() {
    let handle = event(EventReset::Auto).duplicate_handle().expect("handles are left");
    assert!(is_event(handle));
    assert!(!is_event(HANDLE::default()));
    // SAFETY: the handle is an event's, open, and this test's to close; it is not used as an event afterwards.
    unsafe {
        signal(handle).expect("open still");
        system::close(handle);
    }
}

#[test]
fn a_handle_is_told_from_another_event_that_took_its_number() {
    let (event, other) = (event(EventReset::Manual), event(EventReset::Manual));
    let copy = event.duplicate_handle().expect("handles are left");
    assert!(event.is_behind(copy) && event.is_behind(event.handle()));
    assert!(!other.is_behind(copy) && !event.is_behind(other.handle()));
    // SAFETY: the handle is this test's own and not used as a handle afterwards; another thread may take its number.
    unsafe { close(copy) };
    assert!(!event.is_behind(copy) && !event.is_behind(HANDLE::default()));
}
