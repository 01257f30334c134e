//! The functions that d3d12.dll and dxgi.dll export, with the same signatures.
//!
//! Rust programs can call them here. For programs in C and C++, the crate heapwright-runtime-cdylib builds the library
//! `heapwright_d3d12_runtime`, which exports them under their own names.
//!
//! All factories of the process enumerate the same single adapter: that of the default host profile, or of the profile
//! chosen with [`HeapwrightChooseDevice`] or the environment.

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, OnceLock};

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::aliasing::{AliasingTracking, Strictness};
use crate::api::adapter::Adapter;
use crate::api::call;
use crate::api::device::Device;
use crate::api::device_factory::DeviceFactory;
use crate::api::factory::Factory;
use crate::api::inert::{self, Blob};
use crate::ddi::{DeviceArgs, Driver, GpuVirtualAddressRange};
use crate::debug::{DebugLayer, DebugSettings, MessageLog, SharedSettings};
use crate::drivers::host;
use crate::drivers::host::profile::HostProfile;
#[cfg(feature = "vulkan")]
use crate::drivers::vulkan::{self, VulkanGpu};
use crate::rules::{Options, Refusal, feature_level, recreate};

/// The environment variables that choose the process's device, equivalent to [`HeapwrightChooseDevice`].
const ENVIRONMENT: [&str; 2] = ["HEAPWRIGHT_PROFILE", "HEAPWRIGHT_OPTIONS"];

/// The valid options, for messages.
const OPTIONS: &str = "alignment-is-floor, aliasing=advanced, aliasing=simple, strictness=documented, strictness=mild, \
                       strictness=strict, strictness=pedantic, scramble=SEED and scramble=off are allowed";

/// The process's adapter, and the options of the devices created on it.
struct Choice {
    adapters: Vec<Arc<Driver>>,
    options: Options,
    aliasing: Option<AliasingTracking>,
}

impl Choice {
    /// Parses a profile name and comma-separated options. Empty strings select the defaults.
    fn new(profile: &str, options: &str) -> Result<Self, Refusal> {
        let adapter = adapter(profile)?;
        let mut chosen = Options::default();
        let mut aliasing: Option<AliasingTracking> = None;
        let (mut strictness, mut scramble_seed) = (None, None);
        for name in options.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.split_once('=') {
                None if name == "alignment-is-floor" => chosen.alignment_is_floor = true,
                Some(("aliasing", "advanced")) => aliasing = Some(AliasingTracking::ADVANCED),
                Some(("aliasing", "simple")) => aliasing = Some(AliasingTracking::SIMPLE),
                Some(("strictness", "documented")) => strictness = Some(Strictness::Documented),
                Some(("strictness", "mild")) => strictness = Some(Strictness::Mild),
                Some(("strictness", "strict")) => strictness = Some(Strictness::Strict),
                Some(("strictness", "pedantic")) => strictness = Some(Strictness::Pedantic),
                Some(("scramble", "off")) => scramble_seed = Some(None),
                Some(("scramble", seed)) => {
                    let seed = seed.parse().map_err(|_| {
                        Refusal::invalid(format!("{name}: the seed must be a 64-bit number or off"))
                    })?;
                    scramble_seed = Some(Some(seed));
                }
                _ => return Err(Refusal::invalid(format!("'{name}' is not a device option; {OPTIONS}"))),
            }
        }
        match &mut aliasing {
            Some(tracking) => {
                tracking.strictness = strictness.unwrap_or(tracking.strictness);
                tracking.scramble_seed = scramble_seed.unwrap_or(tracking.scramble_seed);
            }
            None if strictness.is_none() && scramble_seed.is_none() => {}
            None => {
                let rule = "strictness= and scramble= require aliasing=";
                return Err(Refusal::invalid(rule));
            }
        }
        Ok(Self { adapters: vec![adapter], options: chosen, aliasing })
    }
}

/// Opens the GPU with a name: a profile, or `vulkan` or `vulkan:INDEX` with the feature `vulkan`. The empty name is the
/// default profile's.
fn adapter(name: &str) -> Result<Arc<Driver>, Refusal> {
    let profile = match name {
        "" => Some(HostProfile::default_profile()),
        name => HostProfile::find(name),
    };
    if let Some(profile) = profile {
        return Ok(Arc::new(host::driver(profile)));
    }
    #[cfg(feature = "vulkan")]
    if let Some(index) = VulkanGpu::parse_name(name) {
        let opened = vulkan::driver(index);
        return Ok(Arc::new(opened.map_err(|error| Refusal::new(E_FAIL, error.to_string()))?));
    }
    Err(Refusal::invalid(format!("'{name}' is not a profile")))
}

/// The process's choice. It is fixed once it has been read.
static CHOICE: OnceLock<Result<Choice, Refusal>> = OnceLock::new();

/// Returns the process's choice, which is the same for every factory. Without an earlier choice, reads the environment.
fn process_choice() -> Result<&'static Choice, Refusal> {
    let chosen = CHOICE.get_or_init(|| {
        let [profile, options] = ENVIRONMENT.map(|name| std::env::var(name).unwrap_or_default());
        Choice::new(&profile, &options)
    });
    chosen.as_ref().map_err(Clone::clone)
}

/// Chooses the GPU that the process's factories enumerate, and the options of its devices. Not part of D3D12.
///
/// `profile` is the name of a [`HostProfile`], or, with the feature `vulkan`, `vulkan` or `vulkan:INDEX` for a device of
/// the system's Vulkan; `options` is a comma-separated list. Null or empty selects the
/// defaults.
///
/// | option | effect |
/// | --- | --- |
/// | `alignment-is-floor` | [`DeviceOptions::alignment_is_floor`](crate::DeviceOptions::alignment_is_floor) |
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
        let choice = Choice::new(&profile, &options)?;
        let is_late = |_| Refusal::new(E_FAIL, "the process has already chosen its device");
        CHOICE.set(Ok(choice)).map_err(is_late)
    })
}

fn code(result: windows_core::Result<()>) -> HRESULT {
    result.map_or_else(|error| error.code(), |()| S_OK)
}

fn run(name: &'static str, body: impl FnOnce() -> Result<(), Refusal>) -> HRESULT {
    code(call::run(MessageLog::unattached(), name, body))
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
        let factory = Factory::create(process_choice()?.adapters.clone(), flags);
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
    code(unsafe {
        create_device("D3D12CreateDevice", adapter, minimum_feature_level, settings, &[], (riid, ppdevice))
    })
}

/// Creates a device for the call `name`, with `reserve_ranges` reserved, and writes the requested interface to `out`.
///
/// # Safety
///
/// In `out`, the first pointer is null or points to a GUID; the second is null or points to writable space for one
/// pointer.
pub(crate) unsafe fn create_device(
    name: &'static str,
    adapter: Option<&IUnknown>,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    settings: DebugSettings,
    reserve_ranges: &[GpuVirtualAddressRange],
    out: (*const GUID, *mut *mut c_void),
) -> windows_core::Result<()> {
    let check = || {
        let driver = match adapter {
            None => {
                let adapters = &process_choice()?.adapters;
                adapters.first().map(Arc::clone).ok_or_else(|| Refusal::invalid("no adapter is available"))?
            }
            Some(adapter) => adapter
                .cast_object::<Adapter>()
                .map(|adapter| Arc::clone(adapter.driver()))
                .map_err(|_| Refusal::invalid("pAdapter is not an adapter of this runtime"))?,
        };
        feature_level::check_minimum(minimum_feature_level, driver.caps())?;
        recreate::check_ranges(reserve_ranges, driver.caps())?;
        Ok(driver)
    };
    let (riid, ppv) = out;
    // SAFETY: guaranteed by the caller.
    unsafe {
        call::create(MessageLog::unattached(), name, riid, ppv, check, |driver| {
            let args = DeviceArgs { reserve_ranges };
            let choice = process_choice()?;
            let device = Device::create(driver, &args, settings, choice.options)?;
            if choice.aliasing.is_some() {
                device.aliasing().set(choice.aliasing);
            }
            Ok(Device::shown(&device))
        })
    }
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
        Err(no_class(class))
    })
}

/// Returns the error for a class without an object.
pub(crate) fn no_class(class: &GUID) -> Refusal {
    let missing = [
        (CLSID_D3D12SDKConfiguration, "D3D12SDKConfiguration"),
        (CLSID_D3D12Tools, "D3D12Tools without ID3D12DeviceFactory::GetConfigurationInterface"),
        (CLSID_D3D12DeviceRemovedExtendedData, "D3D12DeviceRemovedExtendedData"),
        (CLSID_D3D12DSRDeviceFactory, "D3D12DSRDeviceFactory"),
    ];
    missing.iter().find(|(id, _)| id == class).map_or_else(
        || Refusal::new(E_NOINTERFACE, format!("{class:?} is not a D3D12 class")),
        |(_, name)| Refusal::not_implemented(format!("class {name}")),
    )
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
    run("D3D12EnableExperimentalFeatures", || check_experimental_features(numfeatures, piids))
}

/// Refuses all experimental features. Enabling none of them succeeds.
pub(crate) fn check_experimental_features(count: u32, ids: *const GUID) -> Result<(), Refusal> {
    match count {
        0 => Ok(()),
        _ if ids.is_null() => Err(Refusal::invalid(format!("pIIDs is null and NumFeatures is {count}"))),
        _ => Err(Refusal::new(E_NOINTERFACE, "this runtime does not support experimental features")),
    }
}
