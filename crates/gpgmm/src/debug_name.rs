//! Debug names as C++ passes them: zero-terminated strings of the platform's `WCHAR`.

use std::sync::{Arc, Mutex, PoisonError};

use heapwright::d3d12::{S_FALSE, S_OK};
use windows_core::{GUID, HRESULT};

use crate::failure::Failure;
use crate::object::{Body, This, getter, method};

/// `WCHAR`: a UTF-16 code unit on Windows. Elsewhere it is `wchar_t`, as in Microsoft's headers for Linux, which is a
/// code point.
#[cfg(windows)]
pub(crate) type WideChar = u16;
#[cfg(not(windows))]
pub(crate) type WideChar = u32;

/// The name that `GetDebugName` returned or `SetDebugName` set, which stays in place until it is set again.
#[derive(Default)]
pub(crate) struct DebugName(Mutex<Option<Box<[WideChar]>>>);

impl DebugName {
    /// Returns the name, or null. `of_library` is the name that the library knows.
    pub(crate) fn get(&self, of_library: impl FnOnce() -> Option<Arc<str>>) -> *const WideChar {
        let mut name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if name.is_none() {
            *name = of_library().map(|text| encode(&text));
        }
        name.as_deref().map_or(std::ptr::null(), <[WideChar]>::as_ptr)
    }

    /// Sets the name, in the library with `in_library`. Null changes nothing and returns S_FALSE.
    ///
    /// # Safety
    ///
    /// `name` is null or points to a zero-terminated string.
    pub(crate) unsafe fn set(
        &self,
        name: *const WideChar,
        in_library: impl FnOnce(&str) -> Result<(), heapwright::Error>,
    ) -> Result<HRESULT, Failure> {
        // SAFETY: the caller's promise.
        let Some(text) = (unsafe { text(name) }) else { return Ok(S_FALSE) };
        let encoded = encode(&text);
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        in_library(&text)?;
        *current = Some(encoded);
        Ok(S_OK)
    }
}

pub(crate) const IID_DEBUG_OBJECT: GUID = GUID::from_u128(0x1e2f3ab8_9d4f_4f0c_9a43_52e0f1a6c3d1);

/// A kind of objects with IDebugObject, of which GetDebugName and SetDebugName are the first two methods.
pub(crate) trait Named: Body {
    /// The interface, for the log.
    const INTERFACE: &'static str;

    /// Returns the name as C++ has it.
    fn debug_name(&self) -> &DebugName;

    /// Returns the name that the library has.
    fn library_name(&self) -> Option<Arc<str>>;

    /// Sets the name that the library has.
    fn set_library_name(&self, name: &str) -> Result<(), heapwright::Error>;
}

pub(crate) unsafe extern "system" fn get_debug_name<B: Named>(this: This) -> *const WideChar {
    let name = |object: &B| object.debug_name().get(|| object.library_name()) as usize;
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, &format!("{}::GetDebugName", B::INTERFACE), name) as *const WideChar }
}

pub(crate) unsafe extern "system" fn set_debug_name<B: Named>(this: This, name: *const WideChar) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or a terminated string.
    unsafe {
        method(this, &format!("{}::SetDebugName", B::INTERFACE), |object: &B| {
            object.debug_name().set(name, |name| object.set_library_name(name))
        })
    }
}

/// Returns a string that C++ passes, or `None` for null.
///
/// # Safety
///
/// `text` is null or points to a zero-terminated string.
pub(crate) unsafe fn text(text: *const WideChar) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| decode(unsafe { terminated(text) }))
}

/// Returns the address of a name, or null.
pub(crate) fn address_of(name: &Option<Box<[WideChar]>>) -> usize {
    name.as_deref().map_or(0, |name| name.as_ptr() as usize)
}

/// Returns the text of a string of [`encode`].
pub(crate) fn decode_terminated(encoded: &[WideChar]) -> String {
    decode(encoded.split_last().map_or(&[], |(_zero, characters)| characters))
}

/// Returns the characters before the terminating zero.
///
/// # Safety
///
/// `start` points to a zero-terminated string that outlives `'a`.
unsafe fn terminated<'a>(start: *const WideChar) -> &'a [WideChar] {
    let mut len = 0;
    // SAFETY: all characters up to the terminator are readable.
    while unsafe { start.add(len).read() } != 0 {
        len += 1;
    }
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(start, len) }
}

#[cfg(windows)]
fn decode(characters: &[WideChar]) -> String {
    String::from_utf16_lossy(characters)
}

#[cfg(not(windows))]
fn decode(characters: &[WideChar]) -> String {
    let character = |&code: &u32| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    characters.iter().map(character).collect()
}

#[cfg(windows)]
pub(crate) fn encode(text: &str) -> Box<[WideChar]> {
    text.encode_utf16().chain([0]).collect()
}

#[cfg(not(windows))]
pub(crate) fn encode(text: &str) -> Box<[WideChar]> {
    text.chars().map(u32::from).chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_way_there_and_back() {
        for text in ["", "shadow map", "\u{1f4be} \u{fc}ber"] {
            let encoded = encode(text);
            // SAFETY: the string is terminated.
            assert_eq!(decode(unsafe { terminated(encoded.as_ptr()) }), text);
        }
        assert_eq!(decode(&[0xd800, WideChar::from(b'a')]), "\u{fffd}a");
    }

    #[test]
    fn the_librarys_name_is_returned_until_another_is_set() {
        let name = DebugName::default();
        assert!(name.get(|| None).is_null());
        let first = name.get(|| Some("heap".into()));
        // SAFETY: the name has not been set again.
        assert_eq!(decode(unsafe { terminated(first) }), "heap");
        assert_eq!(name.get(|| None), first);
        // SAFETY: null, and a terminated string.
        unsafe {
            assert_eq!(name.set(std::ptr::null(), |_| unreachable!()).expect("null is allowed"), S_FALSE);
            assert_eq!(name.set(encode("new").as_ptr(), |_| Ok(())).expect("set"), S_OK);
            assert_eq!(decode(terminated(name.get(|| None))), "new");
        }
    }
}
