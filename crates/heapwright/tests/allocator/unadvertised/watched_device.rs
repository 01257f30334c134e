//! A device of the runtime that hides some of its capabilities and records requests for them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use heapwright::d3d12::generations::NUMBERED_DEVICES;
use heapwright_intercept::{Methods, intercept, method};
use windows_core::{IUnknown, Interface};

use crate::gpu::*;

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

/// Watches a device of the runtime from now on.
pub(crate) fn watch(device: &ID3D12Device, hides: Hides) -> &'static Watch {
    let newest: ID3D12Device14 = device.cast().expect("the runtime has the newest device interface");
    let caps = DeviceCaps::query(device).expect("a sound device");
    // Objects may outlive the test.
    let watch: &'static Watch = Box::leak(Box::new(Watch {
        hides,
        has_tight_alignment: !hides.features && caps.tight_alignment_tier > 0,
        has_gpu_upload_heaps: !hides.features && caps.gpu_upload_heaps,
        creations: AtomicU64::new(0),
        questions: AtomicU64::new(0),
        mistakes: Mutex::default(),
    }));
    // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh device.
    unsafe { intercept(&newest, watch, |methods| replace(methods)) };
    watch
}

unsafe fn replace(methods: &Methods<Watch>) {
    // SAFETY: the methods are those of a device; the replacements pass on what their callers promise.
    unsafe {
        methods.of::<IUnknown>().replace(method!(QueryInterface), |call, (iid, out)| {
            if iid.as_ref().is_some_and(|iid| NUMBERED_DEVICES.contains(iid)) {
                call.data.questions.fetch_add(1, Ordering::Relaxed);
                if call.data.hides.interfaces {
                    if let Some(out) = out.as_mut() {
                        *out = std::ptr::null_mut();
                    }
                    return E_NOINTERFACE;
                }
            }
            (call.original.QueryInterface)(call.this, iid, out)
        });
        let device = methods.of::<ID3D12Device>();
        device.replace(method!(CheckFeatureSupport), |call, (feature, data, size)| {
            let watch = call.data;
            watch.questions.fetch_add(1, Ordering::Relaxed);
            let bytes = usize::try_from(size).expect("small");
            let is_later = feature > D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT;
            if is_later && watch.hides.features {
                if watch.hides.leaves_junk {
                    data.cast::<u8>().write_bytes(0xff, bytes);
                }
                return E_NOTIMPL;
            }
            let hresult = (call.original.CheckFeatureSupport)(call.this, feature, data, size);
            if watch.hides.address_bits && feature == D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT {
                data.cast::<u8>().write_bytes(0, bytes);
            }
            if watch.hides.address_bits && feature == D3D12_FEATURE_D3D12_OPTIONS {
                let options = data.cast::<D3D12_FEATURE_DATA_D3D12_OPTIONS>();
                (*options).MaxGPUVirtualAddressBitsPerResource = 0;
            }
            hresult
        });
        device.replace(method!(GetResourceAllocationInfo), |call, (out, mask, count, descs)| {
            for desc in std::slice::from_raw_parts(descs, usize::try_from(count).expect("few")) {
                call.data.check_resource(desc);
            }
            (call.original.GetResourceAllocationInfo)(call.this, out, mask, count, descs)
        });
        device.replace(method!(CreateHeap), |call, (desc, riid, heap)| {
            call.data.check_heap(&(*desc).Properties, (*desc).Flags);
            (call.original.CreateHeap)(call.this, desc, riid, heap)
        });
        device.replace(
            method!(CreateCommittedResource),
            |call, (properties, flags, desc, state, clear, riid, resource)| {
                call.data.check_heap(&*properties, flags);
                call.data.check_resource(&*desc);
                let create = call.original.CreateCommittedResource;
                create(call.this, properties, flags, desc, state, clear, riid, resource)
            },
        );
        device.replace(
            method!(CreatePlacedResource),
            |call, (heap, offset, desc, state, clear, riid, resource)| {
                call.data.creations.fetch_add(1, Ordering::Relaxed);
                call.data.check_resource(&*desc);
                let create = call.original.CreatePlacedResource;
                create(call.this, heap, offset, desc, state, clear, riid, resource)
            },
        );
    }
}
