//! The numbers and names of the threads that record.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Names of the threads that have recorded something, by number, from 1.
static THREAD_NAMES: Mutex<Vec<Option<String>>> = Mutex::new(Vec::new());

/// Returns the name of a thread.
pub(super) fn thread_name(number: u32) -> Option<String> {
    let names = THREAD_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(usize::try_from(number).ok()?.checked_sub(1)?)?.clone()
}

/// Returns the number of this thread, which is unique in the process; 0 while the thread ends.
pub(super) fn thread_number() -> u32 {
    thread_local!(static NUMBER: u32 = {
        let mut names = THREAD_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        names.push(thread::current().name().map(str::to_owned));
        u32::try_from(names.len()).unwrap_or(u32::MAX)
    });
    NUMBER.try_with(|&number| number).unwrap_or(0)
}
