//! Zero-terminated UTF-16 strings passed by the application.

use heapwright_d3d12::PCWSTR;

/// Returns the UTF-16 units of `string` before its terminating zero. Returns an empty vector for a null pointer.
///
/// # Safety
///
/// `string` is null or a zero-terminated UTF-16 string. It may be unaligned.
pub(super) unsafe fn read(string: PCWSTR) -> Vec<u16> {
    if string.is_null() {
        return Vec::new();
    }
    (0..)
        .map(|index| {
            // SAFETY: the caller guarantees a terminating zero, and no earlier unit was it: `take_while` requests no
            // unit after it.
            unsafe { string.0.add(index).read_unaligned() }
        })
        .take_while(|&unit| unit != 0)
        .collect()
}
