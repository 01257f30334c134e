//! `IHeapwrightAliasing`: validation of memory aliasing.
//!
//! The interface is not part of Direct3D 12. It reports commands that use memory which another resource has
//! invalidated, which debug layers do not detect. Devices of heapwright-runtime implement it. Rules are identified as
//! in that crate's module `aliasing`: `B-1`, `I-2`, and so on. They follow Microsoft's document [*Memory Aliasing and
//! Data Inheritance*][document].
//!
//! [document]: https://learn.microsoft.com/windows/win32/direct3d12/memory-aliasing-and-data-inheritance
#![expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    reason = "the names follow D3D12's, and what windows-interface expands to is its own"
)]

use std::ffi::c_void;

use windows_core::{HRESULT, IUnknown, IUnknown_Vtbl, interface};

/// Usage model for overlapping resources, as defined in the reference of `CreatePlacedResource`.
pub type HEAPWRIGHT_ALIASING_MODEL = i32;
/// Tracking is disabled.
pub const HEAPWRIGHT_ALIASING_MODEL_OFF: HEAPWRIGHT_ALIASING_MODEL = 0;
/// The simple model: each resource is activated by an aliasing barrier before use, and no data is inherited.
pub const HEAPWRIGHT_ALIASING_MODEL_SIMPLE: HEAPWRIGHT_ALIASING_MODEL = 1;
/// The advanced model: barriers are required between overlapping resources in one `ExecuteCommandLists`, and data is
/// inherited if the rules allow it.
pub const HEAPWRIGHT_ALIASING_MODEL_ADVANCED: HEAPWRIGHT_ALIASING_MODEL = 2;

/// Severity of a violation.
pub type HEAPWRIGHT_ALIASING_SEVERITY = i32;
/// A rule is violated: contents or behaviour are undefined.
pub const HEAPWRIGHT_ALIASING_SEVERITY_ERROR: HEAPWRIGHT_ALIASING_SEVERITY = 0;
/// The documentation is ambiguous, or the usage is valid but probably unintended.
pub const HEAPWRIGHT_ALIASING_SEVERITY_WARNING: HEAPWRIGHT_ALIASING_SEVERITY = 1;
/// The usage is valid but could be more efficient.
pub const HEAPWRIGHT_ALIASING_SEVERITY_INFO: HEAPWRIGHT_ALIASING_SEVERITY = 2;

/// Interpretation of the documentation where it leaves a choice.
pub type HEAPWRIGHT_ALIASING_STRICTNESS = i32;
/// As documented, and strict where the documentation is ambiguous.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED: HEAPWRIGHT_ALIASING_STRICTNESS = 0;
/// Milder: clears of unordered access views initialise render targets and depth stencils as other clears do.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_MILD: HEAPWRIGHT_ALIASING_STRICTNESS = 1;
/// Stricter: contents of any resource that another resource has invalidated become valid only by a copy or a clear of a
/// whole subresource or tile. The documentation of aliasing can be interpreted so; the reference of
/// `CreatePlacedResource` requires it only of render targets and depth stencils.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_STRICT: HEAPWRIGHT_ALIASING_STRICTNESS = 2;
/// As `STRICT`, with a warning if a resource is used for the first time without an activation in the advanced model,
/// and a remark on barriers that have no effect or wait for all work.
pub const HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC: HEAPWRIGHT_ALIASING_STRICTNESS = 3;

/// Configuration of tracking.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HEAPWRIGHT_ALIASING_TRACKING {
    /// Usage model of the application, or `OFF`.
    pub Model: HEAPWRIGHT_ALIASING_MODEL,
    /// Interpretation of the documentation where it leaves a choice.
    pub Strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
    /// Whether bytes are overwritten when their contents become undefined.
    pub Scramble: i32,
    /// Seed of the values that they are overwritten with.
    pub ScrambleSeed: u64,
}

/// A violation of a rule by a command.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HEAPWRIGHT_ALIASING_VIOLATION {
    /// Id of the rule, padded with zeros, such as `I-2`.
    pub Rule: [u8; 8],
    /// Id of the rule by which the contents are invalid or were not inherited, or zeros.
    pub Because: [u8; 8],
    /// Severity of the violation.
    pub Severity: HEAPWRIGHT_ALIASING_SEVERITY,
    /// Subresource or tile of the resource, or `u32::MAX` for the whole resource.
    pub Unit: u32,
    /// Number of the accessed resource, counted from 1, or 0.
    pub Resource: u64,
    /// Number of the other resource, counted from 1, or 0.
    pub Other: u64,
    /// Offset of the affected bytes in the heap.
    pub HeapOffset: u64,
    /// Number of affected bytes, or 0.
    pub HeapSize: u64,
    /// Index of the command list in its `ExecuteCommandLists`.
    pub List: u32,
    /// Index of the call in the command list, or `u32::MAX` for an access by the CPU.
    pub Call: u32,
}

impl HEAPWRIGHT_ALIASING_VIOLATION {
    /// Converts an id to a string.
    #[must_use]
    pub fn id(bytes: &[u8; 8]) -> &str {
        let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..len]).unwrap_or("")
    }
}

/// State of the contents of a unit.
pub type HEAPWRIGHT_ALIASING_CONTENTS = i32;
/// The contents have not been written since the resource was created or its tile was mapped.
pub const HEAPWRIGHT_ALIASING_CONTENTS_UNINITIALISED: HEAPWRIGHT_ALIASING_CONTENTS = 0;
/// The contents are defined.
pub const HEAPWRIGHT_ALIASING_CONTENTS_VALID: HEAPWRIGHT_ALIASING_CONTENTS = 1;
/// The contents are undefined, because another resource has used the memory.
pub const HEAPWRIGHT_ALIASING_CONTENTS_INVALID: HEAPWRIGHT_ALIASING_CONTENTS = 2;
/// The contents were initialised by a discard. They may be written but not read.
pub const HEAPWRIGHT_ALIASING_CONTENTS_DISCARDED: HEAPWRIGHT_ALIASING_CONTENTS = 3;
/// A part of the contents is defined.
pub const HEAPWRIGHT_ALIASING_CONTENTS_PARTLY_VALID: HEAPWRIGHT_ALIASING_CONTENTS = 4;

/// A device that tracks whether the contents of resources are valid.
///
/// Commands are validated when they are executed. Wait for a fence before you query violations.
#[interface("34f828a8-665a-46e5-8bf7-63e3c3008c4b")]
pub unsafe trait IHeapwrightAliasing: IUnknown {
    /// Enables tracking, changes its configuration, or disables it with `OFF`. Removes all violations.
    ///
    /// Resources that are created and command lists that are recorded without tracking are not validated.
    pub fn SetTracking(&self, tracking: *const HEAPWRIGHT_ALIASING_TRACKING) -> HRESULT;
    /// Gets the current configuration.
    pub fn GetTracking(&self, tracking: *mut HEAPWRIGHT_ALIASING_TRACKING) -> HRESULT;
    /// Returns the number of violations since tracking was enabled, including those that are no longer stored.
    pub fn GetViolationCount(&self) -> u64;
    /// Gets the violation at this index. Returns S_FALSE if it does not exist or is no longer stored.
    pub fn GetViolation(&self, index: u64, violation: *mut HEAPWRIGHT_ALIASING_VIOLATION) -> HRESULT;
    /// Gets the message of a violation in UTF-8, without terminating zero. `size` is the size of `text` on input and
    /// the size of the message on output. If `text` is null, only the size is returned.
    pub fn GetViolationText(&self, index: u64, size: *mut usize, text: *mut u8) -> HRESULT;
    /// Removes all violations.
    pub fn ClearViolations(&self);
    /// Gets the state of the contents of a unit: a subresource, or a tile of 64 KiB if the resource has tiles.
    /// `resource` is an `ID3D12Resource`. Returns S_FALSE if it is not tracked or the unit does not exist.
    pub fn GetContents(
        &self,
        resource: *mut c_void,
        unit: u32,
        contents: *mut HEAPWRIGHT_ALIASING_CONTENTS,
    ) -> HRESULT;
}

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
