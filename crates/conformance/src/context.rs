//! The device under test, what it has, and its calls by name.

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::answer::{Answer, Stop, Strictness, Verdict, failed, skipped};
use crate::check::Need;
use crate::com::commands::{self, List};
use crate::com::device::{self, FeatureData, Home};
use crate::com::memory::Mapping;
use crate::com::tools::{self, Allocation as Addresses};
use crate::com::{self, object, tracker};
use crate::desc::{buffer, buffer_heap, properties, rgba};
use crate::hresult::Named;

/// What is tested.
#[derive(Debug, Clone)]
pub struct Target {
    /// The device.
    pub device: ID3D12Device,
    /// The adapter that it is on; without it the checks of memory accounting are skipped.
    pub adapter: Option<IDXGIAdapter3>,
    /// A factory of devices on that adapter; without it the checks are skipped that need devices of their own.
    pub device_factory: Option<ID3D12DeviceFactory>,
}

/// What the device says that it has. A feature that it does not know counts as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// One memory for CPU and GPU.
    pub uma: bool,
    /// The GPU snoops the CPU's caches.
    pub cache_coherent_uma: bool,
    /// `D3D12_RESOURCE_HEAP_TIER`.
    pub resource_heap_tier: i32,
    /// `D3D12_TIGHT_ALIGNMENT_TIER`.
    pub tight_alignment_tier: i32,
    /// `GPUUploadHeapSupported`.
    pub gpu_upload_heaps: bool,
    /// `D3D12_FEATURE_D3D12_OPTIONS16` is answered.
    pub gpu_upload_heap_type: bool,
    /// `ManualWriteTrackingResourceSupported`.
    pub write_tracking: bool,
    /// `D3D12_TILED_RESOURCES_TIER`.
    pub tiled_resources_tier: i32,
    /// `EnhancedBarriersSupported`.
    pub enhanced_barriers: bool,
    /// `RelaxedFormatCastingSupported`.
    pub relaxed_format_casting: bool,
    /// `CrossAdapterRowMajorTextureSupported`.
    pub cross_adapter_row_major: bool,
    /// `StandardSwizzle64KBSupported`.
    pub standard_swizzle: bool,
    /// Largest resource, in bits of GPU virtual address.
    pub gpu_va_bits_per_resource: u32,
    /// GPU virtual address space of a process, in bits.
    pub gpu_va_bits_per_process: u32,
    /// `D3D12_RECREATE_AT_TIER`.
    pub recreate_at_tier: i32,
    /// Creating a texture is not answered with E_NOTIMPL.
    pub textures: bool,
    /// `GetCopyableFootprints` writes something.
    pub footprints: bool,
    /// The device answers to `IHeapwrightAliasing`.
    pub aliasing_tracker: bool,
}

impl Caps {
    /// Asks a device once.
    #[must_use]
    pub fn query(device: &ID3D12Device) -> Self {
        fn ask<T: FeatureData>(device: &ID3D12Device) -> T {
            device::feature(device).unwrap_or_default()
        }
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ask(device);
        let architecture: D3D12_FEATURE_DATA_ARCHITECTURE = ask(device);
        let addresses: D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT = ask(device);
        let options16 = device::feature::<D3D12_FEATURE_DATA_D3D12_OPTIONS16>(device);
        let options12: D3D12_FEATURE_DATA_D3D12_OPTIONS12 = ask(device);
        let default_heap = properties(D3D12_HEAP_TYPE_DEFAULT);
        Self {
            uma: architecture.UMA.as_bool(),
            cache_coherent_uma: architecture.UMA.as_bool() && architecture.CacheCoherentUMA.as_bool(),
            resource_heap_tier: options.ResourceHeapTier,
            tight_alignment_tier: ask::<D3D12_FEATURE_DATA_TIGHT_ALIGNMENT>(device).SupportTier,
            gpu_upload_heaps: options16.is_ok_and(|options| options.GPUUploadHeapSupported.as_bool()),
            gpu_upload_heap_type: options16.is_ok(),
            write_tracking: ask::<D3D12_FEATURE_DATA_D3D12_OPTIONS17>(device)
                .ManualWriteTrackingResourceSupported
                .as_bool(),
            tiled_resources_tier: options.TiledResourcesTier,
            enhanced_barriers: options12.EnhancedBarriersSupported.as_bool(),
            relaxed_format_casting: options12.RelaxedFormatCastingSupported.as_bool(),
            cross_adapter_row_major: options.CrossAdapterRowMajorTextureSupported.as_bool(),
            standard_swizzle: options.StandardSwizzle64KBSupported.as_bool(),
            gpu_va_bits_per_resource: options.MaxGPUVirtualAddressBitsPerResource,
            gpu_va_bits_per_process: addresses.MaxGPUVirtualAddressBitsPerProcess,
            recreate_at_tier: ask::<D3D12_FEATURE_DATA_D3D12_OPTIONS20>(device).RecreateAtTier,
            // One is made: not every device takes a call that only checks, which has nothing to write to.
            textures: device::create_resource(
                device,
                Home::Committed(&default_heap, D3D12_HEAP_FLAG_NONE),
                &rgba(64, 64),
                D3D12_RESOURCE_STATE_COMMON,
                None,
            )
            .err()
                != Some(E_NOTIMPL),
            footprints: device::footprint_total(device, &buffer(256), 1) != device::UNTOUCHED_TOTAL,
            aliasing_tracker: tracker::is_there(device),
        }
    }
}

/// What a check works with.
#[derive(Debug)]
pub struct Context {
    target: Target,
    caps: Caps,
    strictness: Strictness,
}

/// What `GetResourceAllocationInfo` answers.
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
    /// A context for a target, which is asked for its caps.
    #[must_use]
    pub fn new(target: Target, strictness: Strictness) -> Self {
        let caps = Caps::query(&target.device);
        Self { target, caps, strictness }
    }

    /// What the device says that it has.
    #[must_use]
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    pub(crate) fn device(&self) -> &ID3D12Device {
        &self.target.device
    }

    /// The adapter; checks that call this need [`Need::Adapter`].
    pub(crate) fn adapter(&self) -> Result<&IDXGIAdapter3, Stop> {
        match &self.target.adapter {
            Some(adapter) => Ok(adapter),
            None => skipped("no adapter was given with the device"),
        }
    }

    /// Why the device does not have what a check needs, if so.
    pub(crate) fn missing(&self, need: Need) -> Option<Stop> {
        let caps = &self.caps;
        let (holds, reason) = match need {
            Need::Discrete => (!caps.uma, "the GPU is UMA"),
            Need::Uma => (caps.uma, "the GPU is not UMA"),
            Need::NonCoherentUma => {
                (caps.uma && !caps.cache_coherent_uma, "the GPU is not UMA without cache coherence")
            }
            Need::CacheCoherentUma => (caps.cache_coherent_uma, "the GPU is not cache-coherent UMA"),
            Need::TightAlignment => {
                (caps.tight_alignment_tier > 0, "the tight alignment tier is NOT_SUPPORTED")
            }
            Need::NoTightAlignment => (caps.tight_alignment_tier == 0, "the device has tight alignment"),
            Need::GpuUploadHeaps => (caps.gpu_upload_heaps, "the device has no GPU upload heaps"),
            Need::GpuUploadHeapType => {
                (caps.gpu_upload_heap_type, "the device is older than the heap type GPU_UPLOAD")
            }
            Need::NoGpuUploadHeaps => (!caps.gpu_upload_heaps, "the device has GPU upload heaps"),
            Need::HeapTier1 => (caps.resource_heap_tier < 2, "the resource heap tier is above 1"),
            Need::HeapTier2 => (caps.resource_heap_tier >= 2, "the resource heap tier is 1"),
            Need::TiledResources => (caps.tiled_resources_tier > 0, "the device has no tiled resources"),
            Need::NullTiles => (caps.tiled_resources_tier >= 2, "the tiled resources tier is below 2"),
            Need::TiledVolumes => (caps.tiled_resources_tier >= 3, "the tiled resources tier is below 3"),
            Need::StandardSwizzle => {
                (caps.standard_swizzle, "the device has no standard swizzle (StandardSwizzle64KBSupported)")
            }
            Need::CrossAdapterRowMajor => (
                caps.cross_adapter_row_major,
                "the device has no cross-adapter textures (CrossAdapterRowMajorTextureSupported)",
            ),
            Need::EnhancedBarriers => (caps.enhanced_barriers, "the device has no enhanced barriers"),
            Need::RecreateAt => (caps.recreate_at_tier > 0, "the RecreateAt tier is NOT_SUPPORTED"),
            Need::NoRecreateAt => (caps.recreate_at_tier == 0, "the device has the RecreateAt tier"),
            Need::DeviceFactory => {
                (self.target.device_factory.is_some(), "no device factory was given with the device")
            }
            Need::NoWriteTracking => (!caps.write_tracking, "a tool provides manual write tracking"),
            Need::Adapter => (self.target.adapter.is_some(), "no adapter was given with the device"),
            Need::AliasingTracker => {
                (caps.aliasing_tracker, "the device does not track aliasing (no IHeapwrightAliasing)")
            }
            Need::Textures if !caps.textures => return Some(self.strictness.unimplemented("textures")),
            Need::Footprints if !caps.footprints => {
                return Some(self.strictness.unimplemented("GetCopyableFootprints"));
            }
            Need::Textures | Need::Footprints => (true, ""),
        };
        (!holds).then(|| Stop::Skipped(reason.to_owned()))
    }

    /// A newer interface of the device; a device without it skips the check.
    pub(crate) fn interface<T: Interface>(&self, name: &str) -> Result<T, Stop> {
        self.device().cast().or_else(|_| skipped(format!("the device has no {name}")))
    }

    pub(crate) fn answer<T>(&self, call: impl Into<String>, result: com::Result<T>) -> Answer<T> {
        Answer::new(call, result, self.strictness)
    }

    /// A feature's structure.
    pub(crate) fn feature<T: FeatureData>(&self, name: &str) -> Answer<T> {
        self.feature_of(name, T::default())
    }

    /// A feature's structure with inputs.
    pub(crate) fn feature_of<T: FeatureData>(&self, name: &str, data: T) -> Answer<T> {
        let known = device::feature_of(self.device(), data);
        // The first D3D12 answers E_INVALIDARG to every feature that came later: it does not have it.
        let is_first = || self.device().cast::<ID3D12Device1>().is_err();
        let later = T::FEATURE > D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT;
        let found = if known.is_err() && later && is_first() { Err(E_NOTIMPL) } else { known };
        self.answer(format!("CheckFeatureSupport of {name}"), found)
    }

    pub(crate) fn create_heap(&self, desc: &D3D12_HEAP_DESC) -> Answer<ID3D12Heap> {
        self.answer(heap_call(desc), device::create_heap(self.device(), desc))
    }

    /// A resource by the first generation's calls.
    pub(crate) fn create_resource(
        &self,
        home: Home<'_>,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        clear: Option<&D3D12_CLEAR_VALUE>,
    ) -> Answer<ID3D12Resource> {
        let result = device::create_resource(self.device(), home, desc, state, clear);
        self.answer(resource_call(home, desc), result)
    }

    /// A placed resource in the state that the heap's type asks for.
    pub(crate) fn place(
        &self,
        heap: &ID3D12Heap,
        offset: u64,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Answer<ID3D12Resource> {
        let state = state_of(com::memory::heap_desc(heap).Properties.Type);
        self.create_resource(Home::Placed(heap, offset), desc, state, None)
    }

    /// A committed resource of an abstract heap type in the state that the type asks for.
    pub(crate) fn commit(
        &self,
        heap_type: D3D12_HEAP_TYPE,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Answer<ID3D12Resource> {
        let home = properties(heap_type);
        self.create_resource(Home::Committed(&home, D3D12_HEAP_FLAG_NONE), desc, state_of(heap_type), None)
    }

    /// A committed resource with properties and flags of one's choice, in state COMMON.
    pub(crate) fn commit_with(
        &self,
        properties: &D3D12_HEAP_PROPERTIES,
        flags: D3D12_HEAP_FLAGS,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Answer<ID3D12Resource> {
        let home = Home::Committed(properties, flags);
        self.create_resource(home, desc, D3D12_RESOURCE_STATE_COMMON, None)
    }

    /// `GetResourceAllocationInfo`; invalid input gives a size of `u64::MAX`.
    pub(crate) fn allocation(&self, descs: &[D3D12_RESOURCE_DESC]) -> Allocation {
        device::allocation_info(self.device(), 0, descs).into()
    }

    /// `GetResourceAllocationInfo` of a valid description.
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

    /// Maps a buffer.
    pub(crate) fn map(&self, resource: &ID3D12Resource) -> Answer<Mapping> {
        self.answer("Map", Mapping::of(resource))
    }

    pub(crate) fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> Answer<()> {
        self.answer("MakeResident", object::make_resident(self.device(), objects))
    }

    pub(crate) fn evict(&self, objects: &[Option<ID3D12Pageable>]) -> Answer<()> {
        self.answer("Evict", object::evict(self.device(), objects))
    }

    pub(crate) fn create_fence(&self, value: u64) -> Answer<ID3D12Fence> {
        self.answer("CreateFence", commands::create_fence(self.device(), value, D3D12_FENCE_FLAG_NONE))
    }

    /// Fails the check unless `call` is refused, or the debug layer has a message for it.
    ///
    /// For mistakes that D3D12 leaves to the debug layer: where that is off and the call succeeds, the check is skipped.
    pub(crate) fn reported(&self, what: &str, call: impl FnOnce() -> Result<Answer<()>, Stop>) -> Verdict {
        let count = || object::message_count(self.device());
        let before = count();
        match (call()?.asked_to_refuse()?, before, count()) {
            (Err(hresult), ..) => Ok(Named(hresult).to_string()),
            (Ok(()), Some(before), Some(after)) if after > before => {
                Ok("a message of the debug layer".to_owned())
            }
            (Ok(()), Some(_), _) => {
                failed(format!("{what}: neither refused nor reported by the debug layer"))
            }
            (Ok(()), None, _) => skipped("the debug layer is off, to which D3D12 leaves the mistake"),
        }
    }

    /// Where a heap or a resource is.
    pub(crate) fn allocation_of<I: Interface>(&self, object: &I) -> Result<Addresses, Stop> {
        self.answer("GetAllocation", tools::allocation(object)).ok("a live object")
    }

    /// Sets where the next heap or resource of this thread is to be.
    pub(crate) fn set_next_address(&self, device: &ID3D12Device, address: u64) -> Result<(), Stop> {
        let answer = tools::set_next_address(device, address);
        self.answer("QueryInterface for ID3D12DeviceTools", answer).ok("a device with the RecreateAt tier")
    }

    fn device_factory(&self) -> Result<&ID3D12DeviceFactory, Stop> {
        match &self.target.device_factory {
            Some(factory) => Ok(factory),
            None => skipped("no device factory was given with the device"),
        }
    }

    /// The tools of the device factory; checks that call this need [`Need::DeviceFactory`].
    pub(crate) fn tools(&self) -> Result<ID3D12Tools1, Stop> {
        let found = tools::of_factory(self.device_factory()?);
        self.answer("GetConfigurationInterface of D3D12Tools", found).ok("a device factory")
    }

    /// One more device on the adapter, with what the factory's tools have set.
    pub(crate) fn factory_device(&self) -> Result<ID3D12Device, Stop> {
        let created = tools::create_device(self.device_factory()?, self.target.adapter.as_ref());
        self.answer("ID3D12DeviceFactory::CreateDevice", created).ok("on the adapter of the device")
    }

    /// A queue with an allocator, a list and a fence.
    pub(crate) fn queue(&self, list_type: D3D12_COMMAND_LIST_TYPE) -> Result<Queue<'_>, Stop> {
        Queue::new(self, list_type)
    }
}

/// The state in which a resource of a heap type begins, for devices old and new.
pub(crate) fn state_of(heap_type: D3D12_HEAP_TYPE) -> D3D12_RESOURCE_STATES {
    match heap_type {
        D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// Heap flags that a device may lack, by name.
const HEAP_FLAG_NAMES: [(D3D12_HEAP_FLAGS, &str); 8] = [
    (D3D12_HEAP_FLAG_SHARED, "SHARED"),
    (D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, "SHARED_CROSS_ADAPTER"),
    (D3D12_HEAP_FLAG_ALLOW_DISPLAY, "ALLOW_DISPLAY"),
    (D3D12_HEAP_FLAG_HARDWARE_PROTECTED, "HARDWARE_PROTECTED"),
    (D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH, "ALLOW_WRITE_WATCH"),
    (D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS, "ALLOW_SHADER_ATOMICS"),
    (D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT, "CREATE_NOT_RESIDENT"),
    (D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING, "TOOLS_USE_MANUAL_WRITE_TRACKING"),
];

fn with_flag_names(mut call: String, flags: D3D12_HEAP_FLAGS) -> String {
    for (flag, name) in HEAP_FLAG_NAMES {
        if flags & flag != 0 {
            call.push_str(" with ");
            call.push_str(name);
        }
    }
    call
}

fn heap_call(desc: &D3D12_HEAP_DESC) -> String {
    with_flag_names("CreateHeap".to_owned(), desc.Flags)
}

fn resource_call(home: Home<'_>, desc: &D3D12_RESOURCE_DESC) -> String {
    let kind = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { "a buffer" } else { "a texture" };
    match home {
        Home::Placed(..) => format!("CreatePlacedResource of {kind}"),
        Home::Committed(_, flags) => with_flag_names(format!("CreateCommittedResource of {kind}"), flags),
        Home::Reserved => format!("CreateReservedResource of {kind}"),
    }
}

/// A queue with what it takes to record, execute and wait.
pub(crate) struct Queue<'a> {
    context: &'a Context,
    pub(crate) queue: ID3D12CommandQueue,
    pub(crate) allocator: ID3D12CommandAllocator,
    pub(crate) list: List,
    pub(crate) fence: ID3D12Fence,
    executed: std::cell::Cell<u64>,
    /// Lists that were executed together, kept until they have run.
    held: std::cell::RefCell<Vec<(List, ID3D12CommandAllocator)>>,
}

impl<'a> Queue<'a> {
    fn new(context: &'a Context, list_type: D3D12_COMMAND_LIST_TYPE) -> Result<Self, Stop> {
        let device = context.device();
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
        let what = "for a copy";
        let queue = context.answer("CreateCommandQueue", commands::create_queue(device, &desc)).ok(what)?;
        let allocator = commands::create_allocator(device, list_type);
        let allocator = context.answer("CreateCommandAllocator", allocator).ok(what)?;
        let list = commands::create_list(device, list_type, &allocator);
        let list = context.answer("CreateCommandList", list).ok(what)?;
        context.answer("ID3D12GraphicsCommandList::Close", list.close()).ok("an empty list")?;
        let fence = context.create_fence(0).ok(what)?;
        Ok(Self {
            context,
            queue,
            allocator,
            list,
            fence,
            executed: std::cell::Cell::new(0),
            held: std::cell::RefCell::default(),
        })
    }

    /// Records, and leaves the list closed.
    pub(crate) fn record(&self, commands: impl FnOnce(&List) -> Result<(), Stop>) -> Result<(), Stop> {
        let context = self.context;
        let what = "a list that is not in use";
        let reset = commands::reset_allocator(&self.allocator);
        context.answer("ID3D12CommandAllocator::Reset", reset).ok(what)?;
        context.answer("ID3D12GraphicsCommandList::Reset", self.list.reset(&self.allocator)).ok(what)?;
        commands(&self.list)?;
        context.answer("ID3D12GraphicsCommandList::Close", self.list.close()).ok("valid commands")
    }

    /// Executes what was recorded; does not wait.
    pub(crate) fn submit(&self) -> Result<u64, Stop> {
        let context = self.context;
        context.answer("ExecuteCommandLists", commands::execute(&self.queue, &[&self.list])).ok("a list")?;
        self.signal()
    }

    /// Signals the fence; the value that it will have.
    fn signal(&self) -> Result<u64, Stop> {
        let value = self.executed.get() + 1;
        self.executed.set(value);
        let signal = commands::queue_signal(&self.queue, &self.fence, value);
        self.context.answer("ID3D12CommandQueue::Signal", signal).ok("a fence")?;
        Ok(value)
    }

    /// Records several lists and executes them in one call; does not wait.
    pub(crate) fn submit_together(&self, lists: &[&dyn Fn(&List)]) -> Result<u64, Stop> {
        let (context, list_type) = (self.context, commands::queue_desc(&self.queue).Type);
        let what = "one of several lists";
        let mut closed = Vec::new();
        for record in lists {
            let allocator = commands::create_allocator(context.device(), list_type);
            let allocator = context.answer("CreateCommandAllocator", allocator).ok(what)?;
            let list = commands::create_list(context.device(), list_type, &allocator);
            let list = context.answer("CreateCommandList", list).ok(what)?;
            record(&list);
            context.answer("ID3D12GraphicsCommandList::Close", list.close()).ok(what)?;
            closed.push((list, allocator));
        }
        let all: Vec<&List> = closed.iter().map(|(list, _)| list).collect();
        context.answer("ExecuteCommandLists", commands::execute(&self.queue, &all)).ok("several lists")?;
        let value = self.signal()?;
        self.held.borrow_mut().extend(closed);
        Ok(value)
    }

    /// Waits for all that was submitted.
    pub(crate) fn wait(&self, value: u64) -> Result<(), Stop> {
        if !commands::wait_until(&self.fence, value, commands::PATIENCE) {
            return failed(format!(
                "the queue did not reach fence value {value} in {:?}; the fence is at {}",
                commands::PATIENCE,
                commands::completed(&self.fence)
            ));
        }
        self.held.borrow_mut().clear();
        let reason = device::removed_reason(self.context.device());
        if reason.is_err() {
            return failed(format!("the commands removed the device: {}", Named(reason)));
        }
        Ok(())
    }

    /// Records, executes and waits.
    pub(crate) fn run(&self, commands: impl FnOnce(&List)) -> Result<(), Stop> {
        self.record(|list| {
            commands(list);
            Ok(())
        })?;
        self.wait(self.submit()?)
    }
}

/// A device of the factory that has reserved addresses, to create objects at them.
pub(crate) struct Recreation<'a> {
    context: &'a Context,
    device: ID3D12Device,
}

impl<'a> Recreation<'a> {
    /// A device that reserves `ranges` and nothing else.
    pub(crate) fn open(context: &'a Context, ranges: &[Addresses]) -> Result<Self, Stop> {
        Self::open_after(context, |tools| {
            context.answer("ReserveGPUVARangesAtCreate", tools::reserve(tools, ranges)).ok("recorded ranges")
        })
    }

    /// A device that reserves what `set` tells the factory's tools. The list is empty before and afterwards.
    pub(crate) fn open_after(
        context: &'a Context,
        set: impl FnOnce(&ID3D12Tools1) -> Result<(), Stop>,
    ) -> Result<Self, Stop> {
        let tools = context.tools()?;
        tools::clear(&tools);
        let device = set(&tools).and_then(|()| context.factory_device());
        tools::clear(&tools);
        Ok(Self { context, device: device? })
    }

    pub(crate) fn device(&self) -> &ID3D12Device {
        &self.device
    }

    /// Sets where the next object is to be.
    pub(crate) fn set_next(&self, address: u64) -> Result<(), Stop> {
        self.context.set_next_address(&self.device, address)
    }

    /// A DEFAULT heap for buffers.
    pub(crate) fn heap(&self, size: u64) -> Answer<ID3D12Heap> {
        let desc = buffer_heap(D3D12_HEAP_TYPE_DEFAULT, size);
        self.context.answer(heap_call(&desc), device::create_heap(&self.device, &desc))
    }

    /// A DEFAULT heap for buffers where `addresses` begin.
    pub(crate) fn heap_at(&self, addresses: Addresses, size: u64) -> Answer<ID3D12Heap> {
        // A device without the interface is found out by the heap's address.
        let _ = tools::set_next_address(&self.device, addresses.start);
        self.heap(size)
    }

    /// A committed DEFAULT buffer at an address.
    pub(crate) fn buffer_at(&self, address: u64, width: u64) -> Answer<ID3D12Resource> {
        let _ = tools::set_next_address(&self.device, address);
        let home = properties(D3D12_HEAP_TYPE_DEFAULT);
        self.create(Home::Committed(&home, D3D12_HEAP_FLAG_NONE), width)
    }

    /// A placed buffer, at the address that was set, if one was.
    pub(crate) fn place(&self, heap: &ID3D12Heap, offset: u64, width: u64) -> Answer<ID3D12Resource> {
        self.create(Home::Placed(heap, offset), width)
    }

    fn create(&self, home: Home<'_>, width: u64) -> Answer<ID3D12Resource> {
        let (desc, state) = (buffer(width), D3D12_RESOURCE_STATE_COMMON);
        let created = device::create_resource(&self.device, home, &desc, state, None);
        self.context.answer(resource_call(home, &desc), created)
    }
}
