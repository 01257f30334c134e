//! `IHeapwrightAliasing`, which the device object implements.

use std::ffi::c_void;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use super::call;
use super::device::Device_Impl;
use super::resource_driver;
use crate::aliasing::{AliasingTracking, Rule, Severity, Violation};
use crate::rules::Refusal;

/// Converts the result of a call for the method table.
fn answer(result: windows_core::Result<HRESULT>) -> HRESULT {
    result.unwrap_or_else(|error| error.code())
}

impl IHeapwrightAliasing_Impl for Device_Impl {
    unsafe fn SetTracking(&self, tracking: *const HEAPWRIGHT_ALIASING_TRACKING) -> HRESULT {
        answer(call::run(self.log(), "IHeapwrightAliasing::SetTracking", || {
            // SAFETY: by the COM contract the pointer is null or points to its structure.
            let tracking = unsafe { call::read(tracking, "pTracking") }?;
            self.aliasing().set(AliasingTracking::from_d3d12(tracking)?);
            Ok(S_OK)
        }))
    }

    unsafe fn GetTracking(&self, tracking: *mut HEAPWRIGHT_ALIASING_TRACKING) -> HRESULT {
        answer(call::run(self.log(), "IHeapwrightAliasing::GetTracking", || {
            // SAFETY: by the COM contract the pointer is null or points to space for its structure.
            let out = unsafe { tracking.as_mut() }.ok_or_else(|| Refusal::invalid("pTracking is null"))?;
            *out = AliasingTracking::to_d3d12(self.aliasing().tracking());
            Ok(S_OK)
        }))
    }

    unsafe fn GetViolationCount(&self) -> u64 {
        call::run_infallible(self.log(), "IHeapwrightAliasing::GetViolationCount", 0, || {
            self.aliasing().violation_count()
        })
    }

    unsafe fn GetViolation(&self, index: u64, violation: *mut HEAPWRIGHT_ALIASING_VIOLATION) -> HRESULT {
        answer(call::run(self.log(), "IHeapwrightAliasing::GetViolation", || {
            // SAFETY: by the COM contract the pointer is null or points to space for its structure.
            let out = unsafe { violation.as_mut() }.ok_or_else(|| Refusal::invalid("pViolation is null"))?;
            let Some(found) = self.aliasing().violation(index) else { return Ok(S_FALSE) };
            *out = to_d3d12(&found);
            Ok(S_OK)
        }))
    }

    unsafe fn GetViolationText(&self, index: u64, size: *mut usize, text: *mut u8) -> HRESULT {
        answer(call::run(self.log(), "IHeapwrightAliasing::GetViolationText", || {
            // SAFETY: by the COM contract the pointer is null or points to a size.
            let size = unsafe { size.as_mut() }.ok_or_else(|| Refusal::invalid("pSize is null"))?;
            let Some(found) = self.aliasing().violation(index) else { return Ok(S_FALSE) };
            let message = found.to_string();
            let room = std::mem::replace(size, message.len());
            if text.is_null() {
                return Ok(S_OK);
            }
            if room < message.len() {
                return Err(Refusal::invalid(format!(
                    "*pSize is {room}, but the message has {} bytes",
                    message.len()
                )));
            }
            // SAFETY: by the COM contract text points to *pSize bytes, which are enough.
            unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), text, message.len()) };
            Ok(S_OK)
        }))
    }

    unsafe fn ClearViolations(&self) {
        call::run_infallible(self.log(), "IHeapwrightAliasing::ClearViolations", (), || {
            self.aliasing().clear_violations();
        });
    }

    unsafe fn GetContents(
        &self,
        resource: *mut c_void,
        unit: u32,
        contents: *mut HEAPWRIGHT_ALIASING_CONTENTS,
    ) -> HRESULT {
        answer(call::run(self.log(), "IHeapwrightAliasing::GetContents", || {
            // SAFETY: by the COM contract the pointer is null or points to space for a number.
            let out = unsafe { contents.as_mut() }.ok_or_else(|| Refusal::invalid("pContents is null"))?;
            // SAFETY: by the interface's contract the pointer is null or a resource's interface.
            let resource = unsafe { ID3D12Resource::from_raw_borrowed(&resource) };
            let driver = resource_driver(self, resource, "pResource")?;
            match self.aliasing().contents(&driver, unit) {
                Some(found) => {
                    *out = found;
                    Ok(S_OK)
                }
                None => Ok(S_FALSE),
            }
        }))
    }
}

fn to_d3d12(found: &Violation) -> HEAPWRIGHT_ALIASING_VIOLATION {
    let id = |rule: Option<Rule>| {
        let mut bytes = [0; 8];
        if let Some(rule) = rule {
            let text = rule.id().as_bytes();
            bytes[..text.len()].copy_from_slice(text);
        }
        bytes
    };
    HEAPWRIGHT_ALIASING_VIOLATION {
        Rule: id(Some(found.rule)),
        Because: id(found.because),
        Severity: match found.severity {
            Severity::Error => HEAPWRIGHT_ALIASING_SEVERITY_ERROR,
            Severity::Warning => HEAPWRIGHT_ALIASING_SEVERITY_WARNING,
            Severity::Info => HEAPWRIGHT_ALIASING_SEVERITY_INFO,
        },
        Unit: found.unit.unwrap_or(u32::MAX),
        Resource: found.resource.as_ref().map_or(0, |subject| subject.number),
        Other: found.other.as_ref().map_or(0, |subject| subject.number),
        HeapOffset: found.bytes.start,
        HeapSize: found.bytes.end - found.bytes.start,
        List: found.place.list.unwrap_or(u32::MAX),
        Call: found.place.list.map_or(u32::MAX, |_| found.place.call),
    }
}
