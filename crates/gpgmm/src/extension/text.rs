//! IText.

use std::ffi::{CString, c_char};

use windows_core::GUID;

use super::interfaces::{IID_TEXT, TextMethods};
use crate::interfaces::This;
use crate::object::{Body, Unknown, body};

/// The body of an IText.
pub(super) struct Text(pub(super) CString);

static METHODS: TextMethods = TextMethods { unknown: Unknown::of::<Text>(), get_text, get_size };

impl Body for Text {
    type Methods = TextMethods;

    fn methods() -> &'static TextMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_TEXT];
}

unsafe extern "system" fn get_text(this: This) -> *const c_char {
    // SAFETY: C++ calls the method of a live object.
    unsafe { body::<Text>(this) }.0.as_ptr()
}

unsafe extern "system" fn get_size(this: This) -> u64 {
    // SAFETY: C++ calls the method of a live object.
    unsafe { body::<Text>(this) }.0.count_bytes() as u64
}
