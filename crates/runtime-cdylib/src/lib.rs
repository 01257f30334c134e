//! heapwright's D3D12 memory runtime as a library that programs in C and C++ load.
//!
//! It exports the functions of d3d12.dll and dxgi.dll that begin everything, under their own names:
//!
//! | function | of |
//! |---|---|
//! | `CreateDXGIFactory`, `CreateDXGIFactory1`, `CreateDXGIFactory2` | dxgi.dll |
//! | `D3D12CreateDevice`, `D3D12GetInterface`, `D3D12GetDebugInterface`, `D3D12EnableExperimentalFeatures` | d3d12.dll |
//! | `D3D12SerializeRootSignature`, `D3D12SerializeVersionedRootSignature` | d3d12.dll |
//! | `D3D12CreateRootSignatureDeserializer`, `D3D12CreateVersionedRootSignatureDeserializer`, which return E_NOTIMPL | d3d12.dll |
//! | `HeapwrightChooseDevice`, which chooses the GPU and the options as the environment variables HEAPWRIGHT_PROFILE and HEAPWRIGHT_OPTIONS do | none |
//!
//! Interfaces have COM's layout: a pointer to a table of functions, which follow the C calling convention of the system
//! (on Windows stdcall where that differs). A method that returns a structure takes a pointer to it right after `this`
//! and returns that pointer, as MSVC compiles it and as vkd3d-proton's native build declares it. `WCHAR` has 16 bits.
//!
//! The functions are in a crate of their own so that Rust programs can use heapwright-runtime beside Windows' d3d12.dll:
//! a crate that exports these names would clash with its import library.

use std::ffi::{c_char, c_void};

use heapwright_d3d12::{
    D3D_FEATURE_LEVEL, D3D_ROOT_SIGNATURE_VERSION, D3D12_ROOT_SIGNATURE_DESC,
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
};
use heapwright_runtime::exports;
use windows_core::{GUID, HRESULT};

/// DXGI's `CreateDXGIFactory`.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateDXGIFactory(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::CreateDXGIFactory(riid, ppfactory) }
}

/// DXGI's `CreateDXGIFactory1`.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateDXGIFactory1(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::CreateDXGIFactory1(riid, ppfactory) }
}

/// DXGI's `CreateDXGIFactory2`.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateDXGIFactory2(
    flags: u32,
    riid: *const GUID,
    ppfactory: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::CreateDXGIFactory2(flags, riid, ppfactory) }
}

/// D3D12's `D3D12CreateDevice`.
///
/// # Safety
///
/// As in D3D12: `adapter` is null or an interface pointer, `riid` is null or points to a GUID, `ppdevice` is null or
/// points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12CreateDevice(
    adapter: *mut c_void,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    riid: *const GUID,
    ppdevice: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::D3D12CreateDevice(adapter, minimum_feature_level, riid, ppdevice) }
}

/// D3D12's `D3D12GetDebugInterface`.
///
/// # Safety
///
/// As in D3D12: `riid` is null or points to a GUID, `ppvdebug` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12GetDebugInterface(
    riid: *const GUID,
    ppvdebug: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::D3D12GetDebugInterface(riid, ppvdebug) }
}

/// D3D12's `D3D12GetInterface`.
///
/// # Safety
///
/// As in D3D12: `rclsid` and `riid` are null or point to a GUID, `ppv` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12GetInterface(
    rclsid: *const GUID,
    riid: *const GUID,
    ppv: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::D3D12GetInterface(rclsid, riid, ppv) }
}

/// D3D12's `D3D12EnableExperimentalFeatures`.
///
/// # Safety
///
/// As in D3D12: `piids` is null or points to `numfeatures` GUIDs. The other pointers are not used.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12EnableExperimentalFeatures(
    numfeatures: u32,
    piids: *const GUID,
    pconfigurationstructs: *mut c_void,
    pconfigurationstructsizes: *mut u32,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe {
        exports::D3D12EnableExperimentalFeatures(
            numfeatures,
            piids,
            pconfigurationstructs,
            pconfigurationstructsizes,
        )
    }
}

/// D3D12's `D3D12SerializeRootSignature`.
///
/// # Safety
///
/// As in D3D12: `prootsignature` is null or points to a description, the others are null or point to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12SerializeRootSignature(
    prootsignature: *const D3D12_ROOT_SIGNATURE_DESC,
    version: D3D_ROOT_SIGNATURE_VERSION,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::D3D12SerializeRootSignature(prootsignature, version, ppblob, pperrorblob) }
}

/// D3D12's `D3D12SerializeVersionedRootSignature`.
///
/// # Safety
///
/// As in D3D12: `prootsignature` is null or points to a description, the others are null or point to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12SerializeVersionedRootSignature(
    prootsignature: *const D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::D3D12SerializeVersionedRootSignature(prootsignature, ppblob, pperrorblob) }
}

/// D3D12's `D3D12CreateRootSignatureDeserializer`, which returns E_NOTIMPL.
///
/// # Safety
///
/// As in D3D12: `ppdeserializer` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12CreateRootSignatureDeserializer(
    psrcdata: *const c_void,
    srcdatasizeinbytes: usize,
    priid: *const GUID,
    ppdeserializer: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe {
        exports::D3D12CreateRootSignatureDeserializer(psrcdata, srcdatasizeinbytes, priid, ppdeserializer)
    }
}

/// D3D12's `D3D12CreateVersionedRootSignatureDeserializer`, which returns E_NOTIMPL.
///
/// # Safety
///
/// As in D3D12: `ppdeserializer` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12CreateVersionedRootSignatureDeserializer(
    psrcdata: *const c_void,
    srcdatasizeinbytes: usize,
    priid: *const GUID,
    ppdeserializer: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe {
        let read = exports::D3D12CreateVersionedRootSignatureDeserializer;
        read(psrcdata, srcdatasizeinbytes, priid, ppdeserializer)
    }
}

/// Chooses the GPU and the options of its devices: [`heapwright_runtime::exports::HeapwrightChooseDevice`].
///
/// # Safety
///
/// Both pointers are null or point to zero-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn HeapwrightChooseDevice(
    profile: *const c_char,
    options: *const c_char,
) -> HRESULT {
    // SAFETY: the caller's promise, which is the same.
    unsafe { exports::HeapwrightChooseDevice(profile, options) }
}
