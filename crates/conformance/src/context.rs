//! The device under test, its capabilities, and the calls that checks share.

use std::cell::OnceCell;

use heapwright_d3d12::sdk_619::D3D12_FEATURE_DATA_D3D12_OPTIONS22;
use heapwright_d3d12::*;
use windows_core::Interface;

use crate::answer::{Answer, Stop, Verdict, each, failed, require, skipped};
use crate::check::Need;
use crate::checks::shaders;
use crate::com::commands;
use crate::com::device::{self, FeatureData, Home};
use crate::com::memory::Mapping;
use crate::com::tools::{self, Allocation as Addresses};
use crate::com::{self, object, views};
use crate::desc::{COMMON, COPY_DEST, DEFAULT, MIB, READBACK, UPLOAD, buffer, buffer_heap, rgba};
use crate::hresult::Named;
use crate::queue::Queue;

/// A device to test.
#[derive(Debug, Clone)]
pub struct Target {
    /// The device.
    pub device: ID3D12Device,
    /// The device's adapter. Without it, checks of memory accounting are skipped.
    pub adapter: Option<IDXGIAdapter3>,
    /// A factory of devices on that adapter. Without it, checks that create devices are skipped.
    pub device_factory: Option<ID3D12DeviceFactory>,
}

/// The capabilities that a device reports. A feature that it does not know counts as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// `UMA`: the CPU and the GPU share one memory.
    pub uma: bool,
    /// `CacheCoherentUMA`, on a UMA device.
    pub cache_coherent_uma: bool,
    /// `D3D12_RESOURCE_HEAP_TIER`.
    pub resource_heap_tier: i32,
    /// `D3D12_TIGHT_ALIGNMENT_TIER`.
    pub tight_alignment_tier: i32,
    /// `GPUUploadHeapSupported`.
    pub gpu_upload_heaps: bool,
    /// Whether the device knows `D3D12_FEATURE_D3D12_OPTIONS16`.
    pub gpu_upload_heap_type: bool,
    /// `ManualWriteTrackingResourceSupported`.
    pub write_tracking: bool,
    /// `D3D12_TILED_RESOURCES_TIER`.
    pub tiled_resources_tier: i32,
    /// `EnhancedBarriersSupported`.
    pub enhanced_barriers: bool,
    /// `CreateByteOffsetViewsSupported`.
    pub byte_offset_views: bool,
    /// `D3D12_FORMAT_SUPPORT1_TEXTURE2D` of format NV12.
    pub video_formats: bool,
    /// `RelaxedFormatCastingSupported`.
    pub relaxed_format_casting: bool,
    /// `CrossAdapterRowMajorTextureSupported`.
    pub cross_adapter_row_major: bool,
    /// `StandardSwizzle64KBSupported`.
    pub standard_swizzle: bool,
    /// `MaxGPUVirtualAddressBitsPerResource`.
    pub gpu_va_bits_per_resource: u32,
    /// `MaxGPUVirtualAddressBitsPerProcess`.
    pub gpu_va_bits_per_process: u32,
    /// `D3D12_RECREATE_AT_TIER`.
    pub recreate_at_tier: i32,
    /// Whether the device creates textures: a creation call does not return `E_NOTIMPL`.
    pub textures: bool,
    /// Whether `GetCopyableFootprints` writes a result.
    pub footprints: bool,
}

impl Caps {
    /// Queries the capabilities of a device.
    #[must_use]
    pub fn query(device: &ID3D12Device) -> Self {
        fn ask<T: FeatureData>(device: &ID3D12Device) -> T {
            device::feature(device).result().unwrap_or_default()
        }
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ask(device);
        let architecture: D3D12_FEATURE_DATA_ARCHITECTURE = ask(device);
        let addresses: D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT = ask(device);
        let options16 = device::feature::<D3D12_FEATURE_DATA_D3D12_OPTIONS16>(device).result();
        let options12: D3D12_FEATURE_DATA_D3D12_OPTIONS12 = ask(device);
        let options17: D3D12_FEATURE_DATA_D3D12_OPTIONS17 = ask(device);
        let nv12 = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: DXGI_FORMAT_NV12, ..Default::default() };
        // Creates a texture, since some devices do not accept a null result pointer.
        let texture =
            device::create_resource(device, Home::of(DEFAULT), &rgba(64, 64), COMMON, None).result();
        Self {
            uma: architecture.UMA.as_bool(),
            cache_coherent_uma: architecture.UMA.as_bool() && architecture.CacheCoherentUMA.as_bool(),
            resource_heap_tier: options.ResourceHeapTier,
            tight_alignment_tier: ask::<D3D12_FEATURE_DATA_TIGHT_ALIGNMENT>(device).SupportTier,
            gpu_upload_heaps: options16.is_ok_and(|options| options.GPUUploadHeapSupported.as_bool()),
            gpu_upload_heap_type: options16.is_ok(),
            write_tracking: options17.ManualWriteTrackingResourceSupported.as_bool(),
            tiled_resources_tier: options.TiledResourcesTier,
            enhanced_barriers: options12.EnhancedBarriersSupported.as_bool(),
            byte_offset_views: ask::<D3D12_FEATURE_DATA_D3D12_OPTIONS22>(device)
                .CreateByteOffsetViewsSupported
                .as_bool(),
            video_formats: device::feature_of(device, nv12)
                .result()
                .is_ok_and(|support| support.Support1 & D3D12_FORMAT_SUPPORT1_TEXTURE2D != 0),
            relaxed_format_casting: options12.RelaxedFormatCastingSupported.as_bool(),
            cross_adapter_row_major: options.CrossAdapterRowMajorTextureSupported.as_bool(),
            standard_swizzle: options.StandardSwizzle64KBSupported.as_bool(),
            gpu_va_bits_per_resource: options.MaxGPUVirtualAddressBitsPerResource,
            gpu_va_bits_per_process: addresses.MaxGPUVirtualAddressBitsPerProcess,
            recreate_at_tier: ask::<D3D12_FEATURE_DATA_D3D12_OPTIONS20>(device).RecreateAtTier,
            textures: texture.err() != Some(E_NOTIMPL),
            footprints: device::footprint_total(device, &buffer(256), 1) != device::UNTOUCHED_TOTAL,
        }
    }
}

/// The device under test with its capabilities, which every check receives.
#[derive(Debug)]
pub struct Context {
    target: Target,
    caps: Caps,
    executes_shaders: OnceCell<bool>,
}

/// The result of `GetResourceAllocationInfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) size: u64,
    pub(crate) alignment: u64,
}

impl From<D3D12_RESOURCE_ALLOCATION_INFO> for Allocation {
    fn from(info: D3D12_RESOURCE_ALLOCATION_INFO) -> Self {
        Self { size: info.SizeInBytes, alignment: info.Alignment }
    }
}

impl Context {
    /// Creates a context for a target and queries its capabilities.
    #[must_use]
    pub fn new(target: Target) -> Self {
        let caps = Caps::query(&target.device);
        Self { target, caps, executes_shaders: OnceCell::new() }
    }

    /// Returns the capabilities that the device reports.
    #[must_use]
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Returns whether a dispatch has an effect. Only checks that need it try it, as the dispatch may fail in any way.
    fn executes_shaders(&self) -> bool {
        *self.executes_shaders.get_or_init(|| shaders::are_executed(self).unwrap_or(false))
    }

    pub(crate) fn device(&self) -> &ID3D12Device {
        &self.target.device
    }

    /// Returns the adapter. Checks that call this declare [`Need::Adapter`].
    pub(crate) fn adapter(&self) -> Result<&IDXGIAdapter3, Stop> {
        match &self.target.adapter {
            Some(adapter) => Ok(adapter),
            None => skipped("no adapter was given with the device"),
        }
    }

    /// Returns the reason why the device does not meet a need, or `None` if it does.
    pub(crate) fn missing(&self, need: Need) -> Option<Stop> {
        let caps = &self.caps;
        let (holds, reason) = match need {
            Need::Discrete => (!caps.uma, "the GPU is UMA"),
            Need::Uma => (caps.uma, "the GPU is not UMA"),
            Need::NonCoherentUma => (caps.uma && !caps.cache_coherent_uma, "the GPU is not non-coherent UMA"),
            Need::CacheCoherentUma => (caps.cache_coherent_uma, "the GPU is not cache-coherent UMA"),
            Need::TightAlignment => {
                (caps.tight_alignment_tier > 0, "the tight alignment tier is NOT_SUPPORTED")
            }
            Need::NoTightAlignment => (caps.tight_alignment_tier == 0, "the device has tight alignment"),
            Need::GpuUploadHeaps => (caps.gpu_upload_heaps, "the device has no GPU upload heaps"),
            Need::GpuUploadHeapType => {
                (caps.gpu_upload_heap_type, "the device does not know heap type GPU_UPLOAD")
            }
            Need::NoGpuUploadHeaps => (!caps.gpu_upload_heaps, "the device has GPU upload heaps"),
            Need::HeapTier1 => (caps.resource_heap_tier < 2, "the resource heap tier is above 1"),
            Need::HeapTier2 => (caps.resource_heap_tier >= 2, "the resource heap tier is 1"),
            Need::TiledResources => (caps.tiled_resources_tier > 0, "the device has no tiled resources"),
            Need::NullTiles => (caps.tiled_resources_tier >= 2, "the tiled resources tier is below 2"),
            Need::TiledVolumes => (caps.tiled_resources_tier >= 3, "the tiled resources tier is below 3"),
            Need::StandardSwizzle => (caps.standard_swizzle, "StandardSwizzle64KBSupported is FALSE"),
            Need::CrossAdapterRowMajor => {
                (caps.cross_adapter_row_major, "CrossAdapterRowMajorTextureSupported is FALSE")
            }
            Need::EnhancedBarriers => (caps.enhanced_barriers, "the device has no enhanced barriers"),
            Need::ByteOffsetViews => {
                (caps.byte_offset_views, "the device has no views of buffers by byte offsets")
            }
            Need::VideoFormats => (caps.video_formats, "the device has no textures of format NV12"),
            Need::RecreateAt => (caps.recreate_at_tier > 0, "the RecreateAt tier is NOT_SUPPORTED"),
            Need::NoRecreateAt => (caps.recreate_at_tier == 0, "the RecreateAt tier is above 0"),
            Need::DeviceFactory => {
                (self.target.device_factory.is_some(), "no device factory was given with the device")
            }
            Need::NoWriteTracking => (!caps.write_tracking, "a tool provides manual write tracking"),
            Need::Adapter => (self.target.adapter.is_some(), "no adapter was given with the device"),
            Need::Textures => (caps.textures, "textures"),
            Need::Footprints => (caps.footprints, "GetCopyableFootprints"),
            Need::Shaders => (self.executes_shaders(), "the execution of shaders"),
        };
        let stop = match need {
            Need::Textures | Need::Footprints | Need::Shaders => Stop::Unimplemented,
            _ => Stop::Skipped,
        };
        (!holds).then(|| stop(reason.to_owned()))
    }

    /// Returns a newer interface of the device, or skips the check if the device does not have it.
    pub(crate) fn interface<T: Interface>(&self, name: &str) -> Result<T, Stop> {
        self.device().cast().or_else(|_| skipped(format!("the device has no {name}")))
    }

    /// Returns the structure of a feature without inputs, which every device that knows the feature fills in.
    pub(crate) fn known<T: FeatureData>(&self) -> Result<T, Stop> {
        self.feature().ok("the device supports the query")
    }

    /// Calls `CheckFeatureSupport` for a feature without inputs.
    pub(crate) fn feature<T: FeatureData>(&self) -> Answer<T> {
        device::feature(self.device())
    }

    pub(crate) fn create_heap(&self, desc: &D3D12_HEAP_DESC) -> Answer<ID3D12Heap> {
        device::create_heap(self.device(), desc)
    }

    pub(crate) fn create_resource(
        &self,
        home: Home<'_>,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        clear: Option<&D3D12_CLEAR_VALUE>,
    ) -> Answer<ID3D12Resource> {
        device::create_resource(self.device(), home, desc, state, clear)
    }

    /// Creates a placed resource in the initial state that the heap's type requires.
    pub(crate) fn place(
        &self,
        heap: &ID3D12Heap,
        offset: u64,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Answer<ID3D12Resource> {
        let state = state_of(com::memory::heap_desc(heap).Properties.Type);
        self.create_resource(Home::Placed(heap, offset), desc, state, None)
    }

    /// Creates a resource by its layout: placed, or committed of heap type DEFAULT.
    pub(crate) fn create_by_layout(
        &self,
        heap: Option<(&ID3D12Heap, u64)>,
        desc: &D3D12_RESOURCE_DESC,
        layout: D3D12_BARRIER_LAYOUT,
        castable: &[DXGI_FORMAT],
    ) -> Result<Answer<ID3D12Resource>, Stop> {
        let newer: ID3D12Device10 = self.interface("ID3D12Device10")?;
        Ok(device::create_resource_by_layout(&newer, heap, &device::upgrade(desc), layout, castable))
    }

    /// Creates a committed resource in the initial state that the heap type requires.
    pub(crate) fn commit(
        &self,
        heap_type: D3D12_HEAP_TYPE,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Answer<ID3D12Resource> {
        self.create_resource(Home::of(heap_type), desc, state_of(heap_type), None)
    }

    /// Creates a committed resource of heap type DEFAULT in a state.
    pub(crate) fn created(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.create_resource(Home::of(DEFAULT), desc, state, None).ok("a resource")
    }

    /// Creates a heap of one descriptor.
    pub(crate) fn descriptors(
        &self,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
        flags: D3D12_DESCRIPTOR_HEAP_FLAGS,
    ) -> Result<ID3D12DescriptorHeap, Stop> {
        let desc =
            D3D12_DESCRIPTOR_HEAP_DESC { Type: heap_type, NumDescriptors: 1, Flags: flags, NodeMask: 0 };
        views::create_descriptor_heap(self.device(), &desc).ok("one descriptor")
    }

    /// Creates a committed resource in state COMMON.
    pub(crate) fn commit_with(
        &self,
        properties: &D3D12_HEAP_PROPERTIES,
        flags: D3D12_HEAP_FLAGS,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Answer<ID3D12Resource> {
        let home = Home::Committed(*properties, flags);
        self.create_resource(home, desc, COMMON, None)
    }

    /// Calls `GetResourceAllocationInfo`. The size is `u64::MAX` for invalid descriptions.
    pub(crate) fn allocation(&self, descs: &[D3D12_RESOURCE_DESC]) -> Allocation {
        device::allocation_info(self.device(), 0, descs).into()
    }

    /// Calls `GetResourceAllocationInfo` and fails the check if the description is refused.
    pub(crate) fn valid_allocation(
        &self,
        what: &str,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Result<Allocation, Stop> {
        let found = self.allocation(std::slice::from_ref(desc));
        if found.size == u64::MAX {
            return failed(format!(
                "GetResourceAllocationInfo, {what}: SizeInBytes is UINT64_MAX for a valid description"
            ));
        }
        Ok(found)
    }

    /// Fails the check unless every call that takes a description refuses each of these.
    pub(crate) fn refuses(&self, descs: &[D3D12_RESOURCE_DESC]) -> Verdict {
        each(descs, |desc| {
            let what = format!("{desc:?}");
            self.commit(DEFAULT, desc).refused(&what)?;
            if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
                let heap = self.create_heap(&buffer_heap(DEFAULT, 8 * MIB)).ok("8 MiB")?;
                self.place(&heap, 0, desc).refused(&what)?;
            }
            let found = self.allocation(std::slice::from_ref(desc)).size;
            require(found == u64::MAX, || {
                format!("GetResourceAllocationInfo, {what}: expected UINT64_MAX, found {found:#x}")
            })
        })
    }

    pub(crate) fn map(&self, resource: &ID3D12Resource) -> Answer<Mapping> {
        Mapping::of(resource)
    }

    pub(crate) fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> Answer<()> {
        object::make_resident(self.device(), objects)
    }

    pub(crate) fn evict(&self, objects: &[Option<ID3D12Pageable>]) -> Answer<()> {
        object::evict(self.device(), objects)
    }

    pub(crate) fn create_fence(&self, value: u64) -> Answer<ID3D12Fence> {
        commands::create_fence(self.device(), value, D3D12_FENCE_FLAG_NONE)
    }

    /// Fails the check unless `call` is refused or the debug layer reports it.
    ///
    /// This is for mistakes that only the debug layer detects: if it is off and the call succeeds, the check is
    /// skipped.
    pub(crate) fn reported(&self, what: &str, call: impl FnOnce() -> Result<Answer<()>, Stop>) -> Verdict {
        let count = || object::message_count(self.device());
        let before = count();
        match (call()?.refusable()?, before, count()) {
            (Err(hresult), ..) => Ok(Named(hresult).to_string()),
            (Ok(()), Some(before), Some(after)) if after > before => {
                Ok("a message of the debug layer".to_owned())
            }
            (Ok(()), Some(_), _) => {
                failed(format!("{what}: neither refused nor reported by the debug layer"))
            }
            (Ok(()), None, _) => skipped("only the debug layer detects the mistake, and it is off"),
        }
    }

    /// Returns the addresses of a heap or a resource.
    pub(crate) fn allocation_of<I: Interface>(&self, object: &I) -> Result<Addresses, Stop> {
        tools::allocation(object).ok("a live object")
    }

    fn device_factory(&self) -> Result<&ID3D12DeviceFactory, Stop> {
        match &self.target.device_factory {
            Some(factory) => Ok(factory),
            None => skipped("no device factory was given with the device"),
        }
    }

    /// Returns the tools of the device factory. Checks that call this declare [`Need::DeviceFactory`].
    pub(crate) fn tools(&self) -> Result<ID3D12Tools1, Stop> {
        tools::of_factory(self.device_factory()?).ok("a device factory")
    }

    /// Creates another device on the adapter, with the settings of the factory's tools.
    pub(crate) fn factory_device(&self) -> Result<ID3D12Device, Stop> {
        tools::create_device(self.device_factory()?, self.target.adapter.as_ref())
            .ok("on the device's adapter")
    }

    /// Creates a queue with an allocator, a list and a fence.
    pub(crate) fn queue(&self, list_type: D3D12_COMMAND_LIST_TYPE) -> Result<Queue, Stop> {
        Queue::on(self.device(), list_type)
    }
}

/// Returns an object as the calls of residency take it.
pub(crate) fn pageable<I: Interface>(object: &I) -> Result<[Option<ID3D12Pageable>; 1], Stop> {
    com::cast(object).map(|pageable| [Some(pageable)]).or_else(|_| failed("the object has no ID3D12Pageable"))
}

/// Returns the initial state for a resource of a heap type that all devices accept.
pub(crate) fn state_of(heap_type: D3D12_HEAP_TYPE) -> D3D12_RESOURCE_STATES {
    match heap_type {
        UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        READBACK => COPY_DEST,
        _ => COMMON,
    }
}
