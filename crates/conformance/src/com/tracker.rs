//! `IHeapwrightAliasing`, the interface of devices that track aliasing.

use heapwright_d3d12::aliasing::{
    HEAPWRIGHT_ALIASING_CONTENTS, HEAPWRIGHT_ALIASING_MODEL, HEAPWRIGHT_ALIASING_MODEL_OFF,
    HEAPWRIGHT_ALIASING_STRICTNESS, HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED, HEAPWRIGHT_ALIASING_TRACKING,
    HEAPWRIGHT_ALIASING_VIOLATION, IHeapwrightAliasing,
};
use heapwright_d3d12::{E_FAIL, ID3D12Device, ID3D12Resource, S_OK};
use windows_core::Interface;

use super::{cast, done};
use crate::answer::Answer;

/// A device that tracks aliasing. Dropping it turns tracking off.
#[derive(Debug)]
pub(crate) struct Tracker(IHeapwrightAliasing);

const OFF: HEAPWRIGHT_ALIASING_TRACKING = HEAPWRIGHT_ALIASING_TRACKING {
    Model: HEAPWRIGHT_ALIASING_MODEL_OFF,
    Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED,
    Scramble: 0,
    ScrambleSeed: 0,
};

/// Returns whether the device can track aliasing.
pub(crate) fn is_available(device: &ID3D12Device) -> bool {
    device.cast::<IHeapwrightAliasing>().is_ok()
}

impl Tracker {
    /// Turns tracking on. With a seed, memory whose contents become undefined is overwritten.
    pub(crate) fn begin(
        device: &ID3D12Device,
        model: HEAPWRIGHT_ALIASING_MODEL,
        strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
        scramble_seed: Option<u64>,
    ) -> Answer<Self> {
        let tracking = HEAPWRIGHT_ALIASING_TRACKING {
            Model: model,
            Strictness: strictness,
            Scramble: scramble_seed.is_some().into(),
            ScrambleSeed: scramble_seed.unwrap_or(0),
        };
        let tracker = cast::<IHeapwrightAliasing>(device).and_then(|tracker| {
            // SAFETY: tracking is a valid structure.
            let hresult = unsafe { tracker.SetTracking(&raw const tracking) };
            if hresult.is_ok() { Ok(Self(tracker)) } else { Err(hresult) }
        });
        Answer::new("IHeapwrightAliasing::SetTracking", tracker)
    }

    pub(crate) fn tracking(&self) -> Answer<HEAPWRIGHT_ALIASING_TRACKING> {
        let mut tracking = OFF;
        // SAFETY: tracking is the structure that the call writes.
        let hresult = unsafe { self.0.GetTracking(&raw mut tracking) };
        done("IHeapwrightAliasing::GetTracking", hresult).map(|()| tracking)
    }

    /// Returns all violations with their messages.
    pub(crate) fn violations(&self) -> Answer<Vec<(HEAPWRIGHT_ALIASING_VIOLATION, String)>> {
        // SAFETY: the tracker is live.
        let count = unsafe { self.0.GetViolationCount() };
        let found = (0..count).map(|index| self.read_violation(index)?.ok_or(E_FAIL)).collect();
        Answer::new("IHeapwrightAliasing::GetViolation", found)
    }

    /// Returns a violation and its message, or `None` if it does not exist or was not kept.
    pub(crate) fn violation(&self, index: u64) -> Answer<Option<(HEAPWRIGHT_ALIASING_VIOLATION, String)>> {
        Answer::new("IHeapwrightAliasing::GetViolation", self.read_violation(index))
    }

    fn read_violation(&self, index: u64) -> super::Result<Option<(HEAPWRIGHT_ALIASING_VIOLATION, String)>> {
        let mut violation = HEAPWRIGHT_ALIASING_VIOLATION {
            Rule: [0; 8],
            Because: [0; 8],
            Severity: -1,
            Unit: 0,
            Resource: 0,
            Other: 0,
            HeapOffset: 0,
            HeapSize: 0,
            List: 0,
            Call: 0,
        };
        // SAFETY: violation is the structure that the call writes.
        let hresult = unsafe { self.0.GetViolation(index, &raw mut violation) };
        if hresult != S_OK {
            return if hresult.is_ok() { Ok(None) } else { Err(hresult) };
        }
        let mut size = 0;
        // SAFETY: with a null pointer only the size is written.
        let hresult = unsafe { self.0.GetViolationText(index, &raw mut size, std::ptr::null_mut()) };
        hresult.ok().map_err(|error| error.code())?;
        let mut text = vec![0_u8; size];
        // SAFETY: text has size bytes.
        let hresult = unsafe { self.0.GetViolationText(index, &raw mut size, text.as_mut_ptr()) };
        hresult.ok().map_err(|error| error.code())?;
        Ok(Some((violation, String::from_utf8_lossy(&text).into_owned())))
    }

    pub(crate) fn clear_violations(&self) {
        // SAFETY: the tracker is live.
        unsafe { self.0.ClearViolations() };
    }

    /// Returns the state of a unit's contents, or `None` if the unit is not tracked.
    pub(crate) fn contents(
        &self,
        resource: &ID3D12Resource,
        unit: u32,
    ) -> Answer<Option<HEAPWRIGHT_ALIASING_CONTENTS>> {
        let mut contents = -1;
        // SAFETY: the resource is live, and contents is the number that the call writes.
        let hresult = unsafe { self.0.GetContents(resource.as_raw(), unit, &raw mut contents) };
        done("IHeapwrightAliasing::GetContents", hresult).map(|()| (hresult == S_OK).then_some(contents))
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        let off = OFF;
        // SAFETY: off is a valid structure. A removed device may refuse, which is of no consequence.
        let _ = unsafe { self.0.SetTracking(&raw const off) };
    }
}
