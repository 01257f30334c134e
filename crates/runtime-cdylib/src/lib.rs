//! heapwright's Direct3D 12 memory runtime as a shared library for C and C++ programs.
//!
//! It exports these functions:
//!
//! | function | defined by |
//! |---|---|
//! | `CreateDXGIFactory`, `CreateDXGIFactory1`, `CreateDXGIFactory2` | dxgi.dll |
//! | `D3D12CreateDevice`, `D3D12GetInterface`, `D3D12GetDebugInterface`, `D3D12EnableExperimentalFeatures` | d3d12.dll |
//! | `D3D12SerializeRootSignature`, `D3D12SerializeVersionedRootSignature` | d3d12.dll |
//! | `D3D12CreateRootSignatureDeserializer`, `D3D12CreateVersionedRootSignatureDeserializer`, which return E_NOTIMPL | d3d12.dll |
//! | `HeapwrightChooseDevice`, which selects the GPU and its options, like the environment variables HEAPWRIGHT_PROFILE and HEAPWRIGHT_OPTIONS | heapwright |
//!
//! Interfaces have COM's layout: a pointer to a vtable, whose functions use the system's C calling convention (stdcall
//! on 32-bit Windows). A method that returns a structure takes a pointer to it after `this` and returns that pointer,
//! as with MSVC and in vkd3d-proton's native build. `WCHAR` has 16 bits.
//!
//! The exports are in a separate crate, because their names conflict with the import library of d3d12.dll in Rust
//! programs that use both heapwright-runtime and Windows' d3d12.dll.

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
/// The requirements of DXGI apply: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateDXGIFactory(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::CreateDXGIFactory(riid, ppfactory) }
}

/// DXGI's `CreateDXGIFactory1`.
///
/// # Safety
///
/// The requirements of DXGI apply: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateDXGIFactory1(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::CreateDXGIFactory1(riid, ppfactory) }
}

/// DXGI's `CreateDXGIFactory2`.
///
/// # Safety
///
/// The requirements of DXGI apply: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateDXGIFactory2(
    flags: u32,
    riid: *const GUID,
    ppfactory: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::CreateDXGIFactory2(flags, riid, ppfactory) }
}

/// D3D12's `D3D12CreateDevice`.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `adapter` is null or an interface pointer, `riid` is null or points to a
/// GUID, `ppdevice` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12CreateDevice(
    adapter: *mut c_void,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    riid: *const GUID,
    ppdevice: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::D3D12CreateDevice(adapter, minimum_feature_level, riid, ppdevice) }
}

/// D3D12's `D3D12GetDebugInterface`.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `riid` is null or points to a GUID, `ppvdebug` is null or points to space for
/// one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12GetDebugInterface(
    riid: *const GUID,
    ppvdebug: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::D3D12GetDebugInterface(riid, ppvdebug) }
}

/// D3D12's `D3D12GetInterface`.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `rclsid` and `riid` are null or point to a GUID, `ppv` is null or points to
/// space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12GetInterface(
    rclsid: *const GUID,
    riid: *const GUID,
    ppv: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::D3D12GetInterface(rclsid, riid, ppv) }
}

/// D3D12's `D3D12EnableExperimentalFeatures`.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `piids` is null or points to `numfeatures` GUIDs. The other pointers are not
/// used.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12EnableExperimentalFeatures(
    numfeatures: u32,
    piids: *const GUID,
    pconfigurationstructs: *mut c_void,
    pconfigurationstructsizes: *mut u32,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
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
/// The requirements of Direct3D 12 apply: `prootsignature` is null or points to a description, the others are null or
/// point to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12SerializeRootSignature(
    prootsignature: *const D3D12_ROOT_SIGNATURE_DESC,
    version: D3D_ROOT_SIGNATURE_VERSION,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::D3D12SerializeRootSignature(prootsignature, version, ppblob, pperrorblob) }
}

/// D3D12's `D3D12SerializeVersionedRootSignature`.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `prootsignature` is null or points to a description, the others are null or
/// point to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12SerializeVersionedRootSignature(
    prootsignature: *const D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::D3D12SerializeVersionedRootSignature(prootsignature, ppblob, pperrorblob) }
}

/// D3D12's `D3D12CreateRootSignatureDeserializer`, which returns E_NOTIMPL.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `ppdeserializer` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12CreateRootSignatureDeserializer(
    psrcdata: *const c_void,
    srcdatasizeinbytes: usize,
    priid: *const GUID,
    ppdeserializer: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe {
        exports::D3D12CreateRootSignatureDeserializer(psrcdata, srcdatasizeinbytes, priid, ppdeserializer)
    }
}

/// D3D12's `D3D12CreateVersionedRootSignatureDeserializer`, which returns E_NOTIMPL.
///
/// # Safety
///
/// The requirements of Direct3D 12 apply: `ppdeserializer` is null or points to space for one pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn D3D12CreateVersionedRootSignatureDeserializer(
    psrcdata: *const c_void,
    srcdatasizeinbytes: usize,
    priid: *const GUID,
    ppdeserializer: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let read = exports::D3D12CreateVersionedRootSignatureDeserializer;
        read(psrcdata, srcdatasizeinbytes, priid, ppdeserializer)
    }
}

/// Selects the GPU and the options of its devices. See [`heapwright_runtime::exports::HeapwrightChooseDevice`].
///
/// # Safety
///
/// Both pointers must be null or point to zero-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn HeapwrightChooseDevice(
    profile: *const c_char,
    options: *const c_char,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { exports::HeapwrightChooseDevice(profile, options) }
}
