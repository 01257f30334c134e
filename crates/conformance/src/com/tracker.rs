//! `IHeapwrightAliasing`: what a device that judges aliasing says.

use heapwright_d3d12::aliasing::{
    HEAPWRIGHT_ALIASING_CONTENTS, HEAPWRIGHT_ALIASING_MODEL, HEAPWRIGHT_ALIASING_MODEL_OFF,
    HEAPWRIGHT_ALIASING_STRICTNESS, HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED, HEAPWRIGHT_ALIASING_TRACKING,
    HEAPWRIGHT_ALIASING_VIOLATION, IHeapwrightAliasing,
};
use heapwright_d3d12::{E_FAIL, ID3D12Device, ID3D12Resource, S_OK};
use windows_core::Interface;

use super::{Result, done};

/// A device that tracks. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Tracker(IHeapwrightAliasing);

const OFF: HEAPWRIGHT_ALIASING_TRACKING = HEAPWRIGHT_ALIASING_TRACKING {
    Model: HEAPWRIGHT_ALIASING_MODEL_OFF,
    Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED,
    Scramble: 0,
    ScrambleSeed: 0,
};

/// Whether the device has a tracker.
pub(crate) fn is_there(device: &ID3D12Device) -> bool {
    device.cast::<IHeapwrightAliasing>().is_ok()
}

impl Tracker {
    /// `SetTracking`: begins to track by a model and a strictness. With a seed, what becomes undefined is overwritten.
    pub(crate) fn begin(
        device: &ID3D12Device,
        model: HEAPWRIGHT_ALIASING_MODEL,
        strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
        scramble_seed: Option<u64>,
    ) -> Result<Self> {
        let tracker: IHeapwrightAliasing = device.cast().map_err(|error| error.code())?;
        let tracking = HEAPWRIGHT_ALIASING_TRACKING {
            Model: model,
            Strictness: strictness,
            Scramble: scramble_seed.is_some().into(),
            ScrambleSeed: scramble_seed.unwrap_or(0),
        };
        // SAFETY: tracking is a valid structure.
        done(unsafe { tracker.SetTracking(&raw const tracking) })?;
        Ok(Self(tracker))
    }

    /// `GetTracking`.
    pub(crate) fn tracking(&self) -> Result<HEAPWRIGHT_ALIASING_TRACKING> {
        let mut tracking = OFF;
        // SAFETY: tracking takes the structure.
        done(unsafe { self.0.GetTracking(&raw mut tracking) })?;
        Ok(tracking)
    }

    /// All violations that were found, each with its message.
    pub(crate) fn violations(&self) -> Result<Vec<(HEAPWRIGHT_ALIASING_VIOLATION, String)>> {
        // SAFETY: the tracker is live.
        let count = unsafe { self.0.GetViolationCount() };
        (0..count).map(|index| self.violation(index)?.ok_or(E_FAIL)).collect()
    }

    /// `GetViolation` and `GetViolationText`; `None` for one that does not exist or is not kept.
    pub(crate) fn violation(&self, index: u64) -> Result<Option<(HEAPWRIGHT_ALIASING_VIOLATION, String)>> {
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
        // SAFETY: violation takes the structure.
        let hresult = unsafe { self.0.GetViolation(index, &raw mut violation) };
        done(hresult)?;
        if hresult != S_OK {
            return Ok(None);
        }
        let mut size = 0;
        // SAFETY: without text only the size is written.
        done(unsafe { self.0.GetViolationText(index, &raw mut size, std::ptr::null_mut()) })?;
        let mut text = vec![0_u8; size];
        // SAFETY: text has size bytes.
        done(unsafe { self.0.GetViolationText(index, &raw mut size, text.as_mut_ptr()) })?;
        Ok(Some((violation, String::from_utf8_lossy(&text).into_owned())))
    }

    /// `ClearViolations`.
    pub(crate) fn forget(&self) {
        // SAFETY: the tracker is live.
        unsafe { self.0.ClearViolations() };
    }

    /// `GetContents`; `None` where the unit is not tracked.
    pub(crate) fn contents(
        &self,
        resource: &ID3D12Resource,
        unit: u32,
    ) -> Result<Option<HEAPWRIGHT_ALIASING_CONTENTS>> {
        let mut contents = -1;
        // SAFETY: the resource is live, contents takes the number.
        let hresult = unsafe { self.0.GetContents(resource.as_raw(), unit, &raw mut contents) };
        done(hresult)?;
        Ok((hresult == S_OK).then_some(contents))
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        let off = OFF;
        // SAFETY: off is a valid structure. A device that was removed may refuse; there is nobody to tell.
        let _ = unsafe { self.0.SetTracking(&raw const off) };
    }
}
