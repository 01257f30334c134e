//! Checking a HANDLE opens no file descriptor. The test has its own process, because it sets the limit of descriptors
//! to 0.
#![cfg(target_os = "linux")]

use heapwright_d3d12::HANDLE;
use heapwright_d3d12::event::{Event, EventReset, is_event};

#[test]
fn checking_a_handle_opens_no_descriptor() {
    let event = Event::new(EventReset::Auto).expect("an event");
    let file = std::fs::File::open("/dev/null").expect("it exists");
    let file = HANDLE(std::ptr::without_provenance_mut(
        usize::try_from(std::os::fd::AsRawFd::as_raw_fd(&file)).expect("not negative"),
    ));
    let none_left = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is readable.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none_left) }, 0);
    Event::new(EventReset::Auto).expect_err("no descriptors are left");
    assert!(is_event(event.handle()));
    assert!(!is_event(file));
    assert!(!is_event(HANDLE(std::ptr::without_provenance_mut(0x7fff_fff0))), "the handle is not open");
}
