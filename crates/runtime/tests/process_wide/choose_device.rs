//! `HeapwrightChooseDevice`, which C and C++ programs call. It affects the whole process, hence a single
//! test.

use std::ffi::CStr;
use std::ptr::null;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use heapwright_runtime::exports::{D3D12CreateDevice, HeapwrightChooseDevice};
use windows_core::{HRESULT, Interface};

fn choose(options: &CStr) -> HRESULT {
    // SAFETY: the strings are zero-terminated.
    unsafe { HeapwrightChooseDevice(null(), options.as_ptr()) }
}

#[test]
fn a_program_chooses_aliasing_tracking_and_its_seed() {
    let wrong = [
        c"aliasing",
        c"aliasing=both",
        c"scramble=7",
        c"aliasing=simple,scramble=-1",
        c"strictness=strict",
        c"aliasing=simple,strictness=none",
        c"manual-write-tracking",
    ];
    for options in wrong {
        assert_eq!(choose(options), E_INVALIDARG, "{options:?}");
    }
    assert_eq!(choose(c" aliasing=simple, strictness=mild, scramble=7,sdk=618 "), S_OK);
    assert_eq!(choose(c""), E_FAIL, "the device has already been chosen");
    let mut device = std::ptr::null_mut();
    let level = D3D_FEATURE_LEVEL_11_0;
    let mut tracking =
        HEAPWRIGHT_ALIASING_TRACKING { Model: -1, Scramble: 0, ScrambleSeed: 0, Strictness: -1 };
    // SAFETY: the pointers are valid for the calls, and the device is the caller's to release.
    unsafe {
        let adapter = std::ptr::null_mut();
        assert_eq!(D3D12CreateDevice(adapter, level, &IHeapwrightAliasing::IID, &raw mut device), S_OK);
        let aliasing = IHeapwrightAliasing::from_raw(device);
        assert_eq!(aliasing.GetTracking(&raw mut tracking), S_OK);
    }
    let model = HEAPWRIGHT_ALIASING_MODEL_SIMPLE;
    assert_eq!((tracking.Model, tracking.Scramble, tracking.ScrambleSeed), (model, 1, 7));
    assert_eq!(tracking.Strictness, HEAPWRIGHT_ALIASING_STRICTNESS_MILD);
}
