//! A device of the runtime that hides some of its capabilities and records requests for them.
//!
//! The object's method table is patched, because a wrapper object could not observe QueryInterface.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use heapwright::d3d12::generations::NUMBERED_DEVICES;
use heapwright::d3d12::*;
use windows_core::{GUID, HRESULT, Interface};

/// The capabilities that a device hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hides {
    features: bool,
    interfaces: bool,
    leaves_junk: bool,
    address_bits: bool,
}

impl Hides {
    pub(crate) const NOTHING: Self =
        Self { features: false, interfaces: false, leaves_junk: false, address_bits: false };
    /// Returns E_NOTIMPL for every feature later than the first D3D12.
    pub(crate) const FEATURES: Self = Self { features: true, ..Self::NOTHING };
    /// The same, and the structure is filled with ones.
    pub(crate) const FEATURES_AND_LEAVES_JUNK: Self = Self { leaves_junk: true, ..Self::FEATURES };
    /// Hides the features and every numbered interface.
    pub(crate) const EVERYTHING: Self = Self { interfaces: true, ..Self::FEATURES_AND_LEAVES_JUNK };
    /// Reports addresses of zero bits.
    pub(crate) const ADDRESS_BITS: Self = Self { address_bits: true, ..Self::NOTHING };
}

/// The record of the requests to a device.
pub(crate) struct Watch {
    hides: Hides,
    has_tight_alignment: bool,
    has_gpu_upload_heaps: bool,
    creations: AtomicU64,
    questions: AtomicU64,
    mistakes: Mutex<BTreeSet<String>>,
}

impl Watch {
    /// Returns the requests for capabilities that were not advertised.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        self.mistakes.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Returns the number of heap and resource creations.
    pub(crate) fn creations(&self) -> u64 {
        self.creations.load(Ordering::Relaxed)
    }

    /// Returns the number of queries for features and numbered interfaces.
    pub(crate) fn questions(&self) -> u64 {
        self.questions.load(Ordering::Relaxed)
    }

    fn check(&self, is_sound: bool, what: impl FnOnce() -> String) {
        if !is_sound {
            self.mistakes.lock().unwrap_or_else(PoisonError::into_inner).insert(what());
        }
    }

    fn check_heap(&self, properties: &D3D12_HEAP_PROPERTIES, flags: D3D12_HEAP_FLAGS) {
        self.creations.fetch_add(1, Ordering::Relaxed);
        let first = D3D12_HEAP_FLAG_SHARED
            | D3D12_HEAP_FLAG_DENY_BUFFERS
            | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
            | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;
        // The interface that introduced these two flags implies them.
        let with_eight = D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
        let known = if self.hides.interfaces { first } else { first | with_eight };
        self.check(flags & !known == 0, || format!("heap flags {:#x}", flags & !known));
        let is_gpu_upload = properties.Type == D3D12_HEAP_TYPE_GPU_UPLOAD
            || properties.CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE
                && properties.MemoryPoolPreference == D3D12_MEMORY_POOL_L1;
        self.check(self.has_gpu_upload_heaps || !is_gpu_upload, || format!("{properties:?}"));
    }

    fn check_resource(&self, desc: &D3D12_RESOURCE_DESC) {
        let later = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE
            | D3D12_RESOURCE_FLAG_VIDEO_DECODE_REFERENCE_ONLY
            | D3D12_RESOURCE_FLAG_VIDEO_ENCODE_REFERENCE_ONLY;
        let flags = desc.Flags & later;
        self.check(flags == 0, || format!("resource flags {flags:#x}"));
        let is_tight = desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0;
        self.check(self.has_tight_alignment || !is_tight, || "USE_TIGHT_ALIGNMENT".into());
        let alignments: &[u64] = match (desc.Dimension, desc.SampleDesc.Count) {
            _ if is_tight => &[0],
            (D3D12_RESOURCE_DIMENSION_BUFFER, _) => &[0, 64 << 10],
            (_, 1) => &[0, 4 << 10, 64 << 10],
            _ => &[0, 64 << 10, 4 << 20],
        };
        self.check(alignments.contains(&desc.Alignment), || format!("alignment in {desc:?}"));
    }
}

/// A method table with some methods replaced, followed by the data that the replacements need.
#[repr(C)]
struct Table {
    replaced: ID3D12Device14_Vtbl,
    original: ID3D12Device14_Vtbl,
    watch: Watch,
}

/// Watches a device of the runtime from now on. The table lives as long as the process, as objects may
/// outlive the test.
pub(crate) fn watch(device: &ID3D12Device, hides: Hides) -> &'static Watch {
    let newest: ID3D12Device14 = device.cast().expect("the runtime has the newest device interface");
    let caps = heapwright::DeviceCaps::query(device).expect("a sound device");
    let object = newest.as_raw().cast::<*const ID3D12Device14_Vtbl>();
    // SAFETY: a COM object begins with the pointer to its method table, which is plain function pointers.
    let original = unsafe { (*object).read() };
    // SAFETY: as above; this is another copy.
    let mut replaced = unsafe { (*object).read() };
    let nine = &mut replaced.base__.base__.base__.base__.base__;
    let base = &mut nine.base__.base__.base__.base__.base__.base__.base__.base__.base__;
    base.base__.base__.QueryInterface = query_interface;
    base.CheckFeatureSupport = check_feature_support;
    base.GetResourceAllocationInfo = allocation_info;
    base.CreateHeap = create_heap;
    base.CreateCommittedResource = create_committed;
    base.CreatePlacedResource = create_placed;
    let watch = Watch {
        hides,
        has_tight_alignment: !hides.features && caps.tight_alignment_tier > 0,
        has_gpu_upload_heaps: !hides.features && caps.gpu_upload_heaps,
        creations: AtomicU64::new(0),
        questions: AtomicU64::new(0),
        mistakes: Mutex::default(),
    };
    let table: &'static Table = Box::leak(Box::new(Table { replaced, original, watch }));
    // SAFETY: the table begins with a method table of the same type and is never freed; nobody else uses a fresh device.
    unsafe { object.write(&raw const table.replaced) };
    &table.watch
}

/// Returns the record of a watched device, and its original methods.
///
/// # Safety
///
/// `this` is a watched device.
unsafe fn watched(this: *mut c_void) -> (&'static Watch, &'static ID3D12Device_Vtbl) {
    // SAFETY: by the caller's contract the object begins with a pointer to the first field of a table,
    // which is never freed.
    let table: &'static Table = unsafe { &**this.cast::<*const Table>() };
    let nine = &table.original.base__.base__.base__.base__.base__;
    (&table.watch, &nine.base__.base__.base__.base__.base__.base__.base__.base__.base__)
}

// The methods below are only in the tables of watched devices and pass their arguments on: their contracts
// are those of the original methods.

fn is_numbered(iid: &GUID) -> bool {
    NUMBERED_DEVICES.contains(iid)
}

unsafe extern "system" fn query_interface(
    this: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (watch, table) = watched(this);
        if iid.as_ref().is_some_and(is_numbered) {
            watch.questions.fetch_add(1, Ordering::Relaxed);
            if watch.hides.interfaces {
                if let Some(out) = out.as_mut() {
                    *out = std::ptr::null_mut();
                }
                return E_NOINTERFACE;
            }
        }
        (table.base__.base__.QueryInterface)(this, iid, out)
    }
}

unsafe extern "system" fn check_feature_support(
    this: *mut c_void,
    feature: D3D12_FEATURE,
    data: *mut c_void,
    size: u32,
) -> HRESULT {
    // SAFETY: see above; the data has the size that the caller gave.
    unsafe {
        let (watch, table) = watched(this);
        watch.questions.fetch_add(1, Ordering::Relaxed);
        let bytes = usize::try_from(size).expect("small");
        let is_later = feature > D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT;
        if is_later && watch.hides.features {
            if watch.hides.leaves_junk {
                data.cast::<u8>().write_bytes(0xff, bytes);
            }
            return E_NOTIMPL;
        }
        let hresult = (table.CheckFeatureSupport)(this, feature, data, size);
        if watch.hides.address_bits && feature == D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT {
            data.cast::<u8>().write_bytes(0, bytes);
        }
        if watch.hides.address_bits && feature == D3D12_FEATURE_D3D12_OPTIONS {
            (*data.cast::<D3D12_FEATURE_DATA_D3D12_OPTIONS>()).MaxGPUVirtualAddressBitsPerResource = 0;
        }
        hresult
    }
}

unsafe extern "system" fn allocation_info(
    this: *mut c_void,
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    mask: u32,
    count: u32,
    descs: *const D3D12_RESOURCE_DESC,
) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (watch, table) = watched(this);
        for desc in std::slice::from_raw_parts(descs, usize::try_from(count).expect("few")) {
            watch.check_resource(desc);
        }
        (table.GetResourceAllocationInfo)(this, out, mask, count, descs);
        out
    }
}

unsafe extern "system" fn create_heap(
    this: *mut c_void,
    desc: *const D3D12_HEAP_DESC,
    riid: *const GUID,
    heap: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (watch, table) = watched(this);
        watch.check_heap(&(*desc).Properties, (*desc).Flags);
        (table.CreateHeap)(this, desc, riid, heap)
    }
}

unsafe extern "system" fn create_committed(
    this: *mut c_void,
    properties: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    riid: *const GUID,
    resource: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (watch, table) = watched(this);
        watch.check_heap(&*properties, flags);
        watch.check_resource(&*desc);
        (table.CreateCommittedResource)(this, properties, flags, desc, state, clear, riid, resource)
    }
}

unsafe extern "system" fn create_placed(
    this: *mut c_void,
    heap: *mut c_void,
    offset: u64,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    riid: *const GUID,
    resource: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (watch, table) = watched(this);
        watch.creations.fetch_add(1, Ordering::Relaxed);
        watch.check_resource(&*desc);
        (table.CreatePlacedResource)(this, heap, offset, desc, state, clear, riid, resource)
    }
}
