//! `IHeapwrightHeapClock`, which both device objects implement.

use heapwright_d3d12::heap_clock::IHeapwrightHeapClock_Impl;
use heapwright_d3d12::{E_NOTIMPL, S_OK};
use windows_core::HRESULT;

use super::first_generation::FirstGenerationDevice_Impl;
use super::{Device, Device_Impl};
use crate::api::call;
use crate::rules::Refusal;

/// Gets the modelled time of a device's heaps.
///
/// # Safety
///
/// `nanoseconds` is null or points to space for a number.
unsafe fn get_heap_time(device: &Device, nanoseconds: *mut u64) -> HRESULT {
    let answer = call::run(device.log(), "IHeapwrightHeapClock::GetHeapTime", || {
        let Some(time) = device.driver().modelled_heap_time() else { return Ok(E_NOTIMPL) };
        // SAFETY: as the function requires.
        let out = unsafe { nanoseconds.as_mut() }.ok_or_else(|| Refusal::invalid("nanoseconds is null"))?;
        *out = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(S_OK)
    });
    answer.unwrap_or_else(|error| error.code())
}

impl IHeapwrightHeapClock_Impl for Device_Impl {
    unsafe fn GetHeapTime(&self, nanoseconds: *mut u64) -> HRESULT {
        // SAFETY: by the COM contract the pointer is null or points to space for its number.
        unsafe { get_heap_time(self, nanoseconds) }
    }
}

impl IHeapwrightHeapClock_Impl for FirstGenerationDevice_Impl {
    unsafe fn GetHeapTime(&self, nanoseconds: *mut u64) -> HRESULT {
        // SAFETY: as above.
        unsafe { get_heap_time(self.device(), nanoseconds) }
    }
}
