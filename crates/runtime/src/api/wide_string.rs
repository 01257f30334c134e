//! Zero-terminated UTF-16 strings of the application.

use heapwright_d3d12::PCWSTR;

/// The UTF-16 units of `string` before its zero; empty for a null pointer.
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
            // SAFETY: by the caller's promise the string has a zero, and no unit before this one was it: `take_while`
            // asks for none after it.
            unsafe { string.0.add(index).read_unaligned() }
        })
        .take_while(|&unit| unit != 0)
        .collect()
}
