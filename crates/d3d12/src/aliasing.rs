//! `IHeapwrightAliasing`: a device that judges aliasing, and what it says.
//!
//! The interface is heapwright's own, not D3D12's: whether a command uses memory that another resource has invalidated is
//! something that no debug layer tells. A device of heapwright-runtime answers to it; on others `QueryInterface` fails. The
//! rules have the ids that the crate heapwright-runtime documents (module `aliasing`): `B-1`, `I-2`, and so on.
#![expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    reason = "the names follow D3D12's, and what windows-interface expands to is its own"
)]

use std::ffi::c_void;

use windows_core::{HRESULT, IUnknown, IUnknown_Vtbl, interface};

/// How an application says which of several overlapping resources it uses (reference of `CreatePlacedResource`).
pub type HEAPWRIGHT_ALIASING_MODEL = i32;
/// Nothing is tracked.
pub const HEAPWRIGHT_ALIASING_MODEL_OFF: HEAPWRIGHT_ALIASING_MODEL = 0;
/// Each resource is activated by an aliasing barrier before it is used; nothing is inherited.
pub const HEAPWRIGHT_ALIASING_MODEL_SIMPLE: HEAPWRIGHT_ALIASING_MODEL = 1;
/// Barriers where one `ExecuteCommandLists` uses several overlapping resources; data is inherited where the rules allow it.
pub const HEAPWRIGHT_ALIASING_MODEL_ADVANCED: HEAPWRIGHT_ALIASING_MODEL = 2;

/// How bad it is.
pub type HEAPWRIGHT_ALIASING_SEVERITY = i32;
/// A rule is broken: contents are undefined, or the GPU may do anything.
pub const HEAPWRIGHT_ALIASING_SEVERITY_ERROR: HEAPWRIGHT_ALIASING_SEVERITY = 0;
/// The documents are not clear, or it works and is probably not meant.
pub const HEAPWRIGHT_ALIASING_SEVERITY_WARNING: HEAPWRIGHT_ALIASING_SEVERITY = 1;
/// It works, and could be cheaper.
pub const HEAPWRIGHT_ALIASING_SEVERITY_INFO: HEAPWRIGHT_ALIASING_SEVERITY = 2;

/// How the documents are read where they leave a choice.
pub type HEAPWRIGHT_ALIASING_STRICTNESS = i32;
/// As they say, and strictly where they are not clear.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED: HEAPWRIGHT_ALIASING_STRICTNESS = 0;
/// Milder: clears of unordered access views initialise render targets and depth stencils as other clears do.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_MILD: HEAPWRIGHT_ALIASING_STRICTNESS = 1;
/// Stricter: whatever the resource is, contents that another has invalidated become valid by a copy or a clear of a whole subresource
/// or tile alone. Document ALIAS can be read so; the reference of `CreatePlacedResource` asks it of render targets and depth stencils.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_STRICT: HEAPWRIGHT_ALIASING_STRICTNESS = 2;
/// As `STRICT`, with a warning where the advanced model uses a resource for the first time without an activation, and a remark on
/// barriers that do nothing or wait for everything.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC: HEAPWRIGHT_ALIASING_STRICTNESS = 3;

/// What is to be tracked.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HEAPWRIGHT_ALIASING_TRACKING {
    /// Which of the two usage models the application follows, or `OFF`.
    pub Model: HEAPWRIGHT_ALIASING_MODEL,
    /// How the documents are read where they leave a choice.
    pub Strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
    /// Bytes whose contents become undefined are overwritten.
    pub Scramble: i32,
    /// Chooses what they are overwritten with.
    pub ScrambleSeed: u64,
}

/// A rule that a command broke.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HEAPWRIGHT_ALIASING_VIOLATION {
    /// The id of the rule, filled up with zeros: `I-2`.
    pub Rule: [u8; 8],
    /// The id of the rule that made it so: why contents are invalid, or were not inherited. All zeros without one.
    pub Because: [u8; 8],
    /// How bad it is.
    pub Severity: HEAPWRIGHT_ALIASING_SEVERITY,
    /// The subresource or tile of the resource, `u32::MAX` where it is about the whole.
    pub Unit: u32,
    /// Numbers the resource that was accessed, from 1 on; 0 without one.
    pub Resource: u64,
    /// Numbers the other resource; 0 without one.
    pub Other: u64,
    /// The first byte in the heap that it is about.
    pub HeapOffset: u64,
    /// How many bytes, 0 where it is about no bytes.
    pub HeapSize: u64,
    /// The list in its `ExecuteCommandLists`, from 0 on.
    pub List: u32,
    /// The call recorded to that list, from 0 on; `u32::MAX` for an access by the CPU.
    pub Call: u32,
}

impl HEAPWRIGHT_ALIASING_VIOLATION {
    /// An id as text.
    #[must_use]
    pub fn id(bytes: &[u8; 8]) -> &str {
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..len]).unwrap_or("")
    }
}

/// What is known of the contents of a unit.
pub type HEAPWRIGHT_ALIASING_CONTENTS = i32;
/// Never written since the resource was created, or its tile mapped.
pub const HEAPWRIGHT_ALIASING_CONTENTS_UNINITIALISED: HEAPWRIGHT_ALIASING_CONTENTS = 0;
/// Defined.
pub const HEAPWRIGHT_ALIASING_CONTENTS_VALID: HEAPWRIGHT_ALIASING_CONTENTS = 1;
/// Another resource has used the memory.
pub const HEAPWRIGHT_ALIASING_CONTENTS_INVALID: HEAPWRIGHT_ALIASING_CONTENTS = 2;
/// Initialised by a discard: may be written, not read.
pub const HEAPWRIGHT_ALIASING_CONTENTS_DISCARDED: HEAPWRIGHT_ALIASING_CONTENTS = 3;
/// Some of it is defined.
pub const HEAPWRIGHT_ALIASING_CONTENTS_PARTLY_VALID: HEAPWRIGHT_ALIASING_CONTENTS = 4;

/// A device that tracks which bytes of which resource are valid.
///
/// What queues do is judged when they do it: wait for a fence before asking for violations.
#[interface("34f828a8-665a-46e5-8bf7-63e3c3008c4b")]
pub unsafe trait IHeapwrightAliasing: IUnknown {
    /// Begins to track, goes on by other rules, or ends with `OFF`. What was found so far is forgotten.
    ///
    /// Resources that were created, and lists that were recorded, while nothing was tracked are not judged.
    pub fn SetTracking(&self, tracking: *const HEAPWRIGHT_ALIASING_TRACKING) -> HRESULT;
    /// What is tracked now.
    pub fn GetTracking(&self, tracking: *mut HEAPWRIGHT_ALIASING_TRACKING) -> HRESULT;
    /// How many violations were found since tracking began, those included that are not kept any more.
    pub fn GetViolationCount(&self) -> u64;
    /// The violation of that number, from 0 on; S_FALSE for one that does not exist or is not kept.
    pub fn GetViolation(&self, index: u64, violation: *mut HEAPWRIGHT_ALIASING_VIOLATION) -> HRESULT;
    /// Its message in UTF-8, without a zero at the end. `size` is the room in `text` and becomes the size of the message; a null
    /// `text` asks for the size alone.
    pub fn GetViolationText(&self, index: u64, size: *mut usize, text: *mut u8) -> HRESULT;
    /// Forgets what was found so far.
    pub fn ClearViolations(&self);
    /// What is known of the contents of a resource's unit: a subresource, or a tile of 64 KiB where it has tiles. The resource is
    /// an `ID3D12Resource`. S_FALSE where it is not tracked or has no such unit.
    pub fn GetContents(
        &self,
        resource: *mut c_void,
        unit: u32,
        contents: *mut HEAPWRIGHT_ALIASING_CONTENTS,
    ) -> HRESULT;
}

// SAFETY: the interface is the device's, and devices are free-threaded (`threading`).
unsafe impl Send for IHeapwrightAliasing {}
// SAFETY: as above.
unsafe impl Sync for IHeapwrightAliasing {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_end_at_the_first_zero() {
        assert_eq!(HEAPWRIGHT_ALIASING_VIOLATION::id(b"I-14\0\0\0\0"), "I-14");
        assert_eq!(HEAPWRIGHT_ALIASING_VIOLATION::id(&[0; 8]), "");
        assert_eq!(HEAPWRIGHT_ALIASING_VIOLATION::id(b"12345678"), "12345678");
    }
}
