//! The functions that d3d12.dll and dxgi.dll export, with the same signatures.
//!
//! Rust programs can call them here. For programs in C and C++, the crate heapwright-runtime-cdylib builds the library
//! `heapwright_d3d12_runtime`, which exports them under their own names.
//!
//! All factories of the process enumerate the same single adapter: that of the default host profile, or of the profile
//! chosen with [`HeapwrightChooseDevice`] or the environment.

use std::ffi::{CStr, c_char, c_void};

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::api::debug::DebugLayer;
use crate::api::device_factory::{self, DeviceFactory};
use crate::api::factory::Factory;
use crate::api::inert::{self, Blob};
use crate::api::{call, process_device};
use crate::debug::{MessageLog, SharedSettings};
use crate::rules::Refusal;

/// Chooses the GPU that the process's factories enumerate, and the options of its devices. Not part of D3D12.
///
/// `profile` is the name of a [`HostProfile`](crate::HostProfile), or, with the feature `vulkan`, `vulkan` or
/// `vulkan:INDEX` for a device of the system's Vulkan; `options` is a comma-separated list. Null or empty selects the
/// defaults.
///
/// | option | effect |
/// | --- | --- |
/// | `sdk=VERSION` | [`DeviceOptions::sdk`](crate::DeviceOptions::sdk), such as `618` or `619.4` |
/// | `aliasing=advanced`, `aliasing=simple` | Devices track [aliasing](crate::aliasing) by this usage model. |
/// | `strictness=documented`, `=mild`, `=strict`, `=pedantic` | With `aliasing`: the [strictness](crate::aliasing::Strictness). |
/// | `scramble=SEED`, `scramble=off` | With `aliasing`: the seed for overwriting undefined bytes (default 0), or off. |
///
/// The environment variables HEAPWRIGHT_PROFILE and HEAPWRIGHT_OPTIONS have the same effect for programs that do not
/// call this function. Returns E_INVALIDARG for an unknown profile or option, and E_FAIL after the choice has been made
/// or the process has created a factory or a device.
///
/// # Safety
///
/// Both pointers are null or point to zero-terminated strings.
#[allow(non_snake_case, reason = "named like the D3D12 functions that it is exported with")]
pub unsafe extern "system" fn HeapwrightChooseDevice(
    profile: *const c_char,
    options: *const c_char,
) -> HRESULT {
    run("HeapwrightChooseDevice", || {
        let [profile, options] = [profile, options].map(|text| {
            if text.is_null() {
                return String::new();
            }
            // SAFETY: guaranteed by the caller.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        });
        process_device::choose(&profile, &options)
    })
}

fn run(name: &'static str, body: impl FnOnce() -> Result<(), Refusal>) -> HRESULT {
    call::code(call::run(MessageLog::unattached(), name, body))
}

/// # Safety
///
/// `riid` is null or points to a GUID; `ppfactory` is null or points to writable space for one pointer.
unsafe fn create_factory(
    name: &'static str,
    flags: u32,
    riid: *const GUID,
    ppfactory: *mut *mut c_void,
) -> HRESULT {
    run(name, || {
        // SAFETY: the caller guarantees that ppfactory is null or points to space for one pointer.
        unsafe { call::clear(ppfactory) };
        let factory = Factory::create(process_device::get()?.adapters.clone(), flags);
        // SAFETY: guaranteed by the caller.
        unsafe { call::hand_out(&factory, riid, ppfactory) }
    })
}

/// Creates a DXGI factory that enumerates this runtime's adapters.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID; `ppfactory` is null or points to writable space for one pointer.
#[allow(non_snake_case, reason = "DXGI's name")]
pub unsafe extern "system" fn CreateDXGIFactory(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { create_factory("CreateDXGIFactory", 0, riid, ppfactory) }
}

/// Creates a DXGI factory that enumerates this runtime's adapters. Same as [`CreateDXGIFactory`].
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID; `ppfactory` is null or points to writable space for one pointer.
#[allow(non_snake_case, reason = "DXGI's name")]
pub unsafe extern "system" fn CreateDXGIFactory1(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { create_factory("CreateDXGIFactory1", 0, riid, ppfactory) }
}

/// Creates a DXGI factory that enumerates this runtime's adapters.
///
/// `IDXGIFactory3::GetCreationFlags` returns `flags`, which have no other effect.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID; `ppfactory` is null or points to writable space for one pointer.
#[allow(non_snake_case, reason = "DXGI's name")]
pub unsafe extern "system" fn CreateDXGIFactory2(
    flags: u32,
    riid: *const GUID,
    ppfactory: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { create_factory("CreateDXGIFactory2", flags, riid, ppfactory) }
}

/// Creates a device on an adapter of this runtime, or on the first adapter if `adapter` is null.
///
/// If `ppdevice` is null, checks whether the device could be created and returns S_FALSE if so. The debug layer is on
/// if the process has called `ID3D12Debug::EnableDebugLayer` before.
///
/// # Safety
///
/// As in D3D12: `adapter` is null or an interface pointer; `riid` is null or points to a GUID; `ppdevice` is null or
/// points to writable space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12CreateDevice(
    adapter: *mut c_void,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    riid: *const GUID,
    ppdevice: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller guarantees that the pointer is null or an interface pointer, which outlives the borrow.
    let adapter = unsafe { IUnknown::from_raw_borrowed(&adapter) };
    let settings = SharedSettings::of_process().get();
    // SAFETY: guaranteed by the caller.
    call::code(unsafe {
        device_factory::create_device(
            "D3D12CreateDevice",
            adapter,
            minimum_feature_level,
            settings,
            &[],
            (riid, ppdevice),
        )
    })
}

/// Returns a blob for a root signature. Nothing reads root signatures, so the container is empty.
///
/// # Safety
///
/// `ppblob` and `pperrorblob` are null or point to writable space for one pointer.
unsafe fn serialize(
    name: &'static str,
    version: impl FnOnce() -> Option<D3D_ROOT_SIGNATURE_VERSION>,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    run(name, || {
        // SAFETY: guaranteed by the caller.
        unsafe {
            call::clear(ppblob);
            call::clear(pperrorblob);
        }
        let version = version().ok_or_else(|| Refusal::invalid("pRootSignature is null"))?;
        if !(D3D_ROOT_SIGNATURE_VERSION_1_0..=D3D_ROOT_SIGNATURE_VERSION_1_2).contains(&version) {
            return Err(Refusal::invalid(format!(
                "Version {version} is not a valid D3D_ROOT_SIGNATURE_VERSION"
            )));
        }
        // SAFETY: guaranteed by the callers.
        let out = unsafe { ppblob.as_mut() }.ok_or_else(|| Refusal::invalid("ppBlob is null"))?;
        let blob = Blob::create(&inert::empty_container());
        *out = blob.map_err(|error| Refusal::new(error.code(), "failed to create a blob"))?.into_raw();
        Ok(())
    })
}

/// Serializes a root signature. Only the version is checked; the blob is an empty container.
///
/// # Safety
///
/// As in D3D12: `prootsignature` is null or points to a description; the other pointers are null or point to writable
/// space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12SerializeRootSignature(
    prootsignature: *const D3D12_ROOT_SIGNATURE_DESC,
    version: D3D_ROOT_SIGNATURE_VERSION,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    let version = || (!prootsignature.is_null()).then_some(version);
    // SAFETY: guaranteed by the caller.
    unsafe { serialize("D3D12SerializeRootSignature", version, ppblob, pperrorblob) }
}

/// Serializes a root signature of any version. Only the version is checked; the blob is an empty container.
///
/// # Safety
///
/// As in D3D12: `prootsignature` is null or points to a description; the other pointers are null or point to writable
/// space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12SerializeVersionedRootSignature(
    prootsignature: *const D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
    ppblob: *mut *mut c_void,
    pperrorblob: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    let version = || unsafe { prootsignature.as_ref() }.map(|desc| desc.Version);
    // SAFETY: guaranteed by the caller.
    unsafe { serialize("D3D12SerializeVersionedRootSignature", version, ppblob, pperrorblob) }
}

/// Refuses the call `name`, which would read a root signature.
///
/// # Safety
///
/// `ppdeserializer` is null or points to writable space for one pointer.
unsafe fn deserialize(name: &'static str, ppdeserializer: *mut *mut c_void) -> HRESULT {
    run(name, || {
        // SAFETY: guaranteed by the caller.
        unsafe { call::clear(ppdeserializer) };
        Err(Refusal::not_implemented("deserialization of root signatures"))
    })
}

/// Returns E_NOTIMPL: this runtime does not read root signatures. The function exists so that programs that import it
/// can be loaded.
///
/// # Safety
///
/// As in D3D12: `ppdeserializer` is null or points to writable space for one pointer. The other pointers are not used.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12CreateRootSignatureDeserializer(
    _psrcdata: *const c_void,
    _srcdatasizeinbytes: usize,
    _priid: *const GUID,
    ppdeserializer: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { deserialize("D3D12CreateRootSignatureDeserializer", ppdeserializer) }
}

/// Returns E_NOTIMPL. Same as [`D3D12CreateRootSignatureDeserializer`].
///
/// # Safety
///
/// Same as for [`D3D12CreateRootSignatureDeserializer`].
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12CreateVersionedRootSignatureDeserializer(
    _psrcdata: *const c_void,
    _srcdatasizeinbytes: usize,
    _priid: *const GUID,
    ppdeserializer: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: guaranteed by the caller.
    unsafe { deserialize("D3D12CreateVersionedRootSignatureDeserializer", ppdeserializer) }
}

/// Returns an interface to the debug layer's settings, which apply to devices created afterwards.
///
/// # Safety
///
/// As in D3D12: `riid` is null or points to a GUID; `ppvdebug` is null or points to writable space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12GetDebugInterface(
    riid: *const GUID,
    ppvdebug: *mut *mut c_void,
) -> HRESULT {
    run("D3D12GetDebugInterface", || {
        // SAFETY: guaranteed by the caller.
        unsafe { call::clear(ppvdebug) };
        // SAFETY: guaranteed by the caller.
        unsafe { call::hand_out(&DebugLayer::create(SharedSettings::of_process().clone()), riid, ppvdebug) }
    })
}

/// Returns an object of the class `CLSID_D3D12Debug` or `CLSID_D3D12DeviceFactory`.
///
/// D3D12's other classes return E_NOTIMPL. Among them is `CLSID_D3D12SDKConfiguration`, because the loaded runtime
/// cannot be exchanged. `CLSID_D3D12Tools` is only available from `ID3D12DeviceFactory::GetConfigurationInterface`,
/// because tool settings apply to the devices of one factory (DirectX-Specs, *Recreate At GPUVA*). Unknown classes
/// return E_NOINTERFACE.
///
/// # Safety
///
/// As in D3D12: `rclsid` and `riid` are null or point to a GUID; `ppv` is null or points to writable space for one
/// pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12GetInterface(
    rclsid: *const GUID,
    riid: *const GUID,
    ppv: *mut *mut c_void,
) -> HRESULT {
    run("D3D12GetInterface", || {
        // SAFETY: guaranteed by the caller.
        unsafe { call::clear(ppv) };
        // SAFETY: guaranteed by the caller.
        let class = unsafe { call::read(rclsid, "rclsid") }?;
        if *class == CLSID_D3D12Debug {
            // SAFETY: guaranteed by the caller.
            return unsafe {
                call::hand_out(&DebugLayer::create(SharedSettings::of_process().clone()), riid, ppv)
            };
        }
        if *class == CLSID_D3D12DeviceFactory {
            // SAFETY: guaranteed by the caller.
            return unsafe { call::hand_out(&DeviceFactory::create(), riid, ppv) };
        }
        Err(device_factory::no_class(class))
    })
}

/// Enables experimental features. There are none: any feature returns E_NOINTERFACE, as D3D12 does for features that it
/// does not know. Without features, the call succeeds.
///
/// # Safety
///
/// As in D3D12: `piids` is null or points to `numfeatures` GUIDs. The other pointers are not used.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12EnableExperimentalFeatures(
    numfeatures: u32,
    piids: *const GUID,
    _pconfigurationstructs: *mut c_void,
    _pconfigurationstructsizes: *mut u32,
) -> HRESULT {
    run("D3D12EnableExperimentalFeatures", || device_factory::check_experimental_features(numfeatures, piids))
}
