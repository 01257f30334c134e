//! Null pointers to results: each method with such a pointer is called through its vtable with null in place of each of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::ptr::{from_ref, null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_d3d12::aliasing::IHeapwrightAliasing;
use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::heap_clock::IHeapwrightHeapClock;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;
use heapwright_runtime::exports;
use windows_core::{BOOL, GUID, HRESULT, IUnknown, Interface};

use crate::gpu::{
    Queue, buffer_desc, commit, default_heap, descriptor_heap, heap_desc, instance, of_type, texture_desc,
};

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// S_OK or S_FALSE: the pointer is optional.
    Accepted,
    /// An error.
    Refused,
    /// The method returns no error; nothing is written.
    Nothing,
}

use Expected::{Accepted, Nothing, Refused};

trait Answer {
    fn meets(self, expected: Expected) -> bool;
}

impl Answer for HRESULT {
    fn meets(self, expected: Expected) -> bool {
        self.is_ok() == (expected == Accepted) && expected != Nothing
    }
}

impl Answer for () {
    fn meets(self, expected: Expected) -> bool {
        expected == Nothing
    }
}

/// The pointer to a returned structure.
impl<T> Answer for *mut T {
    fn meets(self, expected: Expected) -> bool {
        expected == Nothing && self.is_null()
    }
}

/// Calls methods of an interface and adds their names to a set.
macro_rules! call_each {
    ($called:ident, $object:expr => $interface:ident:
        $($method:ident($($argument:expr),* $(,)?) => $expected:expr;)*
    ) => {{
        let object: $interface = $object.cast().expect("an interface of the object");
        $(
            let name = concat!(stringify!($interface), "::", stringify!($method));
            let answer = unsafe {
                (Interface::vtable(&object).$method)(Interface::as_raw(&object), $($argument),*)
            };
            assert!(answer.meets($expected), "{name}: {answer:?}, expected {:?}", $expected);
            $called.insert(name.to_owned());
        )*
    }};
}

const NO_MASK: u32 = 0;

/// Returns the names of all methods that were called.
fn call_all() -> BTreeSet<String> {
    let mut called = BTreeSet::new();
    call_device(&mut called);
    call_objects(&mut called);
    call_debug_interfaces(&mut called);
    call_dxgi(&mut called);
    called
}

fn call_device(called: &mut BTreeSet<String>) {
    let device: ID3D12Device14 = instance("discrete").device.cast().expect("the newest interface");
    let heap = default_heap(&device, 1 << 20, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    let queue = Queue::direct(&device);
    let heap_desc = heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 16);
    let desc = buffer_desc(1 << 16, D3D12_RESOURCE_FLAG_NONE);
    let desc1 = crate::gpu::newer_desc(&desc);
    let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
    let queue_desc = D3D12_COMMAND_QUEUE_DESC::default();
    let views = D3D12_DESCRIPTOR_HEAP_DESC { NumDescriptors: 1, ..Default::default() };
    let queries = D3D12_QUERY_HEAP_DESC { Count: 1, ..Default::default() };
    let argument =
        D3D12_INDIRECT_ARGUMENT_DESC { Type: D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH, ..Default::default() };
    let signature = D3D12_COMMAND_SIGNATURE_DESC {
        NumArgumentDescs: 1,
        pArgumentDescs: &raw const argument,
        ..Default::default()
    };
    let (none, state) = (null_mut::<c_void>(), D3D12_RESOURCE_STATE_COMMON);
    let (iid, out) = (from_ref(&ID3D12Device::IID), null_mut::<*mut c_void>());
    let (flags, layout) = (D3D12_HEAP_FLAG_NONE, D3D12_BARRIER_LAYOUT_UNDEFINED);
    let heap_handle = heap.as_raw();
    let name = PCWSTR(null());
    let direct = D3D12_COMMAND_LIST_TYPE_DIRECT;
    let mut count = 0_u32;
    call_each! { called, device => ID3D12Object:
        GetPrivateData(iid, null_mut(), null_mut()) => Refused;
    }
    call_each! { called, device => ID3D12Device:
        CreateCommandQueue(&raw const queue_desc, iid, out) => Accepted;
        CreateCommandAllocator(direct, iid, out) => Accepted;
        CreateGraphicsPipelineState(null(), iid, out) => Refused;
        CreateComputePipelineState(null(), iid, out) => Refused;
        CreateCommandList(NO_MASK, direct, queue.allocator.as_raw(), none, iid, out) => Accepted;
        CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, null_mut(), 0) => Refused;
        CreateDescriptorHeap(&raw const views, iid, out) => Accepted;
        CreateRootSignature(NO_MASK, b"DXBC".as_ptr().cast(), 4, iid, out) => Accepted;
        GetResourceAllocationInfo(null_mut(), NO_MASK, 1, &raw const desc) => Nothing;
        GetCustomHeapProperties(null_mut(), NO_MASK, D3D12_HEAP_TYPE_DEFAULT) => Nothing;
        CreateCommittedResource(&raw const properties, flags, &raw const desc, state, null(), iid, out) => Accepted;
        CreateHeap(&raw const heap_desc, iid, out) => Accepted;
        CreatePlacedResource(heap_handle, 0, &raw const desc, state, null(), iid, out) => Accepted;
        CreateReservedResource(&raw const desc, state, null(), iid, out) => Accepted;
        CreateSharedHandle(heap_handle, null(), 0x1000_0000, name, null_mut()) => Refused;
        OpenSharedHandle(HANDLE::default(), iid, out) => Refused;
        OpenSharedHandleByName(name, 0x1000_0000, null_mut()) => Refused;
        CreateFence(0, D3D12_FENCE_FLAG_NONE, iid, out) => Accepted;
        GetCopyableFootprints(&raw const desc, 0, 1, 0, null_mut(), null_mut(), null_mut(), null_mut()) => Nothing;
        CreateQueryHeap(&raw const queries, iid, out) => Accepted;
        CreateCommandSignature(&raw const signature, none, iid, out) => Accepted;
        GetAdapterLuid(null_mut()) => Nothing;
    }
    let tiled = unsafe {
        let mut tiled = None;
        device.CreateReservedResource(&desc, state, None, &mut tiled).expect("a reserved buffer");
        let tiled: ID3D12Resource = tiled.expect("S_OK comes with a resource");
        tiled
    };
    call_each! { called, device => ID3D12Device:
        GetResourceTiling(tiled.as_raw(), null_mut(), null_mut(), null_mut(), null_mut(), 0, null_mut()) => Nothing;
        GetResourceTiling(tiled.as_raw(), null_mut(), null_mut(), null_mut(), &raw mut count, 0, null_mut()) => Nothing;
    }
    call_each! { called, device => ID3D12Device1:
        CreatePipelineLibrary(null(), 0, iid, out) => Accepted;
    }
    let library =
        unsafe { device.CreatePipelineLibrary::<ID3D12PipelineLibrary>(&[]) }.expect("an empty library");
    call_each! { called, library => ID3D12PipelineLibrary:
        LoadGraphicsPipeline(name, null(), iid, out) => Refused;
        LoadComputePipeline(name, null(), iid, out) => Refused;
        Serialize(null_mut(), 0) => Refused;
    }
    call_each! { called, library => ID3D12PipelineLibrary1:
        LoadPipeline(name, null(), iid, out) => Refused;
    }
    call_each! { called, device => ID3D12Device2:
        CreatePipelineState(null(), iid, out) => Refused;
    }
    call_each! { called, device => ID3D12Device3:
        OpenExistingHeapFromAddress(null(), iid, out) => Refused;
        OpenExistingHeapFromFileMapping(HANDLE::default(), iid, out) => Refused;
    }
    call_each! { called, device => ID3D12Device4:
        CreateCommandList1(NO_MASK, direct, D3D12_COMMAND_LIST_FLAG_NONE, iid, out) => Accepted;
        CreateProtectedResourceSession(null(), iid, out) => Refused;
        CreateCommittedResource1(&raw const properties, flags, &raw const desc, state, null(), none, iid, out) => Accepted;
        CreateHeap1(&raw const heap_desc, none, iid, out) => Accepted;
        CreateReservedResource1(&raw const desc, state, null(), none, iid, out) => Accepted;
        GetResourceAllocationInfo1(null_mut(), NO_MASK, 1, &raw const desc, null_mut()) => Nothing;
    }
    call_each! { called, device => ID3D12Device5:
        CreateLifetimeTracker(none, iid, out) => Refused;
        EnumerateMetaCommands(null_mut(), null_mut()) => Refused;
        EnumerateMetaCommands(&raw mut count, null_mut()) => Accepted;
        EnumerateMetaCommandParameters(iid, 0, null_mut(), null_mut(), null_mut()) => Refused;
        CreateMetaCommand(iid, 0, null(), 0, iid, out) => Refused;
        CreateStateObject(null(), iid, out) => Refused;
        GetRaytracingAccelerationStructurePrebuildInfo(null(), null_mut()) => Nothing;
    }
    call_each! { called, device => ID3D12Device6:
        SetBackgroundProcessingMode(0, 0, HANDLE::default(), null_mut::<BOOL>()) => Refused;
    }
    call_each! { called, device => ID3D12Device7:
        AddToStateObject(null(), none, iid, out) => Refused;
        CreateProtectedResourceSession1(null(), iid, out) => Refused;
    }
    call_each! { called, device => ID3D12Device8:
        GetResourceAllocationInfo2(null_mut(), NO_MASK, 1, &raw const desc1, null_mut()) => Nothing;
        CreateCommittedResource2(&raw const properties, flags, &raw const desc1, state, null(), none, iid, out) => Accepted;
        CreatePlacedResource1(heap_handle, 0, &raw const desc1, state, null(), iid, out) => Accepted;
        GetCopyableFootprints1(&raw const desc1, 0, 1, 0, null_mut(), null_mut(), null_mut(), null_mut()) => Nothing;
    }
    call_each! { called, device => ID3D12Device9:
        CreateShaderCacheSession(null(), iid, out) => Refused;
        CreateCommandQueue1(&raw const queue_desc, iid, iid, out) => Accepted;
    }
    call_each! { called, device => ID3D12Device10:
        CreateCommittedResource3(
            &raw const properties, flags, &raw const desc1, layout, null(), none, 0, null(), iid, out
        ) => Accepted;
        CreatePlacedResource2(heap_handle, 0, &raw const desc1, layout, null(), 0, null(), iid, out) => Accepted;
        CreateReservedResource2(&raw const desc, layout, null(), none, 0, null(), iid, out) => Accepted;
    }
    call_each! { called, device => ID3D12Device12:
        GetResourceAllocationInfo3(null_mut(), NO_MASK, 1, &raw const desc1, null(), null(), null_mut()) => Nothing;
    }
    call_each! { called, device => ID3D12Device13:
        OpenExistingHeapFromAddress1(null(), 0, iid, out) => Refused;
    }
    call_each! { called, device => ID3D12Device14:
        CreateRootSignatureFromSubobjectInLibrary(NO_MASK, null(), 0, name, iid, out) => Refused;
    }
    let newest: ID3D12Device15 = device.cast().expect("the newest interface");
    let aliasing: IHeapwrightAliasing = device.cast().expect("heapwright's interface");
    let clock: IHeapwrightHeapClock = device.cast().expect("heapwright's interface");
    unsafe {
        assert!(newest.RegisterTrimNotificationCallback(null_mut()).is_err());
        // As with CreateQueryHeap, without a pointer to the result only the description is checked.
        assert!(newest.CreateQueryHeap1(&raw const queries, 0, iid, out).is_ok());
        assert!(aliasing.GetTracking(null_mut()).is_err());
        assert!(aliasing.GetViolation(0, null_mut()).is_err());
        assert!(aliasing.GetViolationText(0, null_mut(), null_mut()).is_err());
        assert!(aliasing.GetContents(null_mut(), 0, null_mut()).is_err());
        assert!(clock.GetHeapTime(null_mut()).is_err());
    }
}

fn call_objects(called: &mut BTreeSet<String>) {
    let device: ID3D12Device14 = instance("discrete").device.cast().expect("the newest interface");
    let heap = default_heap(&device, 1 << 20, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    let queue = Queue::direct(&device);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 1 << 16);
    let texture = crate::gpu::cpu_texture(&device, &texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [4, 4]));
    let (iid, out) = (from_ref(&ID3D12Device::IID), null_mut::<*mut c_void>());
    call_each! { called, heap => ID3D12DeviceChild:
        GetDevice(iid, out) => Refused;
    }
    call_each! { called, heap => ID3D12Object:
        GetPrivateData(iid, null_mut(), null_mut()) => Refused;
    }
    call_each! { called, heap => ID3D12Heap:
        GetDesc(null_mut()) => Nothing;
    }
    call_each! { called, heap => ID3D12Heap1:
        GetProtectedResourceSession(iid, out) => Refused;
    }
    call_each! { called, heap => ID3D12PageableTools:
        GetAllocation(null_mut()) => Refused;
    }
    call_each! { called, upload => ID3D12Resource:
        Map(0, null(), null_mut()) => Accepted;
        GetDesc(null_mut()) => Nothing;
        GetHeapProperties(null_mut(), null_mut()) => Accepted;
    }
    call_each! { called, texture => ID3D12Resource:
        ReadFromSubresource(null_mut(), 0, 0, 0, null()) => Refused;
    }
    call_each! { called, upload => ID3D12Resource1:
        GetProtectedResourceSession(iid, out) => Refused;
    }
    call_each! { called, upload => ID3D12Resource2:
        GetDesc1(null_mut()) => Nothing;
    }
    let (mut gpu, mut cpu) = (0_u64, 0_u64);
    call_each! { called, queue.queue => ID3D12CommandQueue:
        GetTimestampFrequency(null_mut()) => Refused;
        GetClockCalibration(null_mut(), &raw mut cpu) => Refused;
        GetClockCalibration(&raw mut gpu, null_mut()) => Refused;
        GetDesc(null_mut()) => Nothing;
    }
    assert_eq!((gpu, cpu), (0, 0), "a refused call writes nothing");
    let views = descriptor_heap(
        &device,
        D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        1,
        D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
    )
    .expect("a descriptor heap");
    call_each! { called, views => ID3D12DescriptorHeap:
        GetDesc(null_mut()) => Nothing;
        GetCPUDescriptorHandleForHeapStart(null_mut()) => Nothing;
        GetGPUDescriptorHandleForHeapStart(null_mut()) => Nothing;
    }
    let code = D3D12_SHADER_BYTECODE { pShaderBytecode: b"DXBC".as_ptr().cast(), BytecodeLength: 4 };
    let desc = D3D12_COMPUTE_PIPELINE_STATE_DESC { CS: code, ..Default::default() };
    let pipeline: ID3D12PipelineState =
        unsafe { device.CreateComputePipelineState(&raw const desc) }.expect("an inert pipeline state");
    call_each! { called, pipeline => ID3D12PipelineState:
        GetCachedBlob(null_mut()) => Refused;
    }
}

fn call_debug_interfaces(called: &mut BTreeSet<String>) {
    let device: ID3D12Device14 = instance("discrete").device.cast().expect("the newest interface");
    let (iid, out) = (from_ref(&ID3D12Device::IID), null_mut::<*mut c_void>());
    call_each! { called, device => ID3D12DebugDevice1:
        GetDebugParameter(D3D12_DEBUG_DEVICE_PARAMETER_FEATURE_FLAGS, null_mut(), 4) => Refused;
    }
    call_each! { called, device => ID3D12DebugDevice2:
        GetDebugParameter(D3D12_DEBUG_DEVICE_PARAMETER_FEATURE_FLAGS, null_mut(), 4) => Refused;
    }
    call_each! { called, device => ID3D12DeviceConfiguration:
        GetDesc(null_mut()) => Nothing;
        GetEnabledExperimentalFeatures(null_mut(), 0) => Accepted;
        GetEnabledExperimentalFeatures(null_mut(), 1) => Refused;
        SerializeVersionedRootSignature(null(), null_mut(), null_mut()) => Refused;
        CreateVersionedRootSignatureDeserializer(null(), 0, iid, out) => Refused;
    }
    call_each! { called, device => ID3D12InfoQueue:
        GetMessage(0, null_mut(), null_mut()) => Refused;
        GetStorageFilter(null_mut(), null_mut()) => Refused;
        GetRetrievalFilter(null_mut(), null_mut()) => Refused;
    }
    unsafe extern "system" fn ignore(
        _: D3D12_MESSAGE_CATEGORY,
        _: D3D12_MESSAGE_SEVERITY,
        _: D3D12_MESSAGE_ID,
        _: PCSTR,
        _: *mut c_void,
    ) {
    }
    call_each! { called, device => ID3D12InfoQueue1:
        RegisterMessageCallback(Some(ignore), 0, null_mut(), null_mut()) => Refused;
    }
}

fn call_dxgi(called: &mut BTreeSet<String>) {
    let opened = instance("discrete");
    let (iid, out) = (from_ref(&IDXGIAdapter::IID), null_mut::<*mut c_void>());
    let event = Event::new(EventReset::Manual).expect("an event");
    let signal = event.handle();
    let none = null_mut::<c_void>();
    let local = DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
    let luid = unsafe { opened.device.GetAdapterLuid() };
    call_each! { called, opened.adapter => IDXGIObject:
        GetPrivateData(iid, null_mut(), null_mut()) => Refused;
        GetParent(iid, out) => Refused;
    }
    call_each! { called, opened.adapter => IDXGIAdapter:
        EnumOutputs(0, null_mut()) => Refused;
        GetDesc(null_mut()) => Refused;
        CheckInterfaceSupport(iid, null_mut()) => Refused;
    }
    call_each! { called, opened.adapter => IDXGIAdapter1:
        GetDesc1(null_mut()) => Refused;
    }
    call_each! { called, opened.adapter => IDXGIAdapter2:
        GetDesc2(null_mut()) => Refused;
    }
    call_each! { called, opened.adapter => IDXGIAdapter3:
        RegisterHardwareContentProtectionTeardownStatusEvent(signal, null_mut()) => Refused;
        QueryVideoMemoryInfo(0, local, null_mut()) => Refused;
        RegisterVideoMemoryBudgetChangeNotificationEvent(signal, null_mut()) => Refused;
    }
    call_each! { called, opened.adapter => IDXGIAdapter4:
        GetDesc3(null_mut()) => Refused;
    }
    let factory: IDXGIFactory6 = unsafe { opened.adapter.GetParent() }.expect("a factory");
    call_each! { called, factory => IDXGIObject:
        GetParent(iid, out) => Refused;
    }
    call_each! { called, factory => IDXGIFactory:
        EnumAdapters(0, null_mut()) => Refused;
        GetWindowAssociation(null_mut()) => Refused;
        CreateSwapChain(none, null(), null_mut()) => Refused;
        CreateSoftwareAdapter(HMODULE::default(), null_mut()) => Refused;
    }
    call_each! { called, factory => IDXGIFactory1:
        EnumAdapters1(0, null_mut()) => Refused;
    }
    call_each! { called, factory => IDXGIFactory2:
        CreateSwapChainForHwnd(none, HWND::default(), null(), null(), none, null_mut()) => Refused;
        CreateSwapChainForCoreWindow(none, none, null(), none, null_mut()) => Refused;
        GetSharedResourceAdapterLuid(HANDLE::default(), null_mut()) => Refused;
        RegisterStereoStatusWindow(HWND::default(), 0, null_mut()) => Refused;
        RegisterStereoStatusEvent(signal, null_mut()) => Refused;
        RegisterOcclusionStatusWindow(HWND::default(), 0, null_mut()) => Refused;
        RegisterOcclusionStatusEvent(signal, null_mut()) => Refused;
        CreateSwapChainForComposition(none, null(), none, null_mut()) => Refused;
    }
    call_each! { called, factory => IDXGIFactory4:
        EnumAdapterByLuid(luid, iid, out) => Refused;
        EnumWarpAdapter(iid, out) => Refused;
    }
    call_each! { called, factory => IDXGIFactory5:
        CheckFeatureSupport(DXGI_FEATURE_PRESENT_ALLOW_TEARING, null_mut(), 4) => Refused;
    }
    call_each! { called, factory => IDXGIFactory6:
        EnumAdapterByGpuPreference(0, DXGI_GPU_PREFERENCE_UNSPECIFIED, iid, out) => Refused;
    }
    assert_eq!(unsafe { factory.EnumAdapters(0) }.map(drop), Ok(()), "nothing was lost by the refusals");
    let mut device_factory: Option<ID3D12DeviceFactory> = None;
    let class = from_ref(&CLSID_D3D12DeviceFactory);
    let answer = unsafe {
        exports::D3D12GetInterface(class, &ID3D12DeviceFactory::IID, (&raw mut device_factory).cast())
    };
    assert_eq!(answer, S_OK);
    call_each! { called, device_factory.expect("S_OK comes with a factory") => ID3D12DeviceFactory:
        GetConfigurationInterface(from_ref(&CLSID_D3D12Debug), iid, out) => Refused;
        CreateDevice(opened.adapter.as_raw(), D3D_FEATURE_LEVEL_11_0, iid, out) => Accepted;
    }
}

/// Returns the methods of implemented interfaces that take pointers to results, by the generated traits.
fn methods_with_results() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match fs::read_to_string(&path) {
                Ok(text) => sources.push_str(&text),
                Err(_) => folders.push(path),
            }
        }
    }
    let implemented: BTreeSet<&str> = sources
        .lines()
        .filter_map(|line| line.trim().strip_prefix("impl ")?.split_once("_Impl for "))
        .map(|(interface, _)| interface.trim_start_matches("heapwright_d3d12::"))
        .collect();
    let mut found = BTreeSet::new();
    for file in ["library.rs", "complete.rs"] {
        let text = fs::read_to_string(root.join("../d3d12/src/bindings").join(file)).expect("the bindings");
        let (mut interface, mut declaration) = (None, String::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("pub trait ") {
                interface = rest.split_once("_Impl: ").map(|(name, _)| name.to_owned());
            } else if line == "}" {
                interface = None;
            }
            let Some(interface) = interface.as_ref().filter(|name| implemented.contains(name.as_str()))
            else {
                continue;
            };
            declaration.push_str(line.trim());
            if !line.ends_with(';') {
                continue;
            }
            let of = std::mem::take(&mut declaration);
            let method = of.split_once("fn ").and_then(|(_, rest)| rest.split_once('(')).expect("a method").0;
            if has_result(&of) {
                found.insert(format!("{interface}::{method}"));
            }
        }
    }
    found
}

/// Returns whether a method takes a pointer to a result: a parameter, or the result of its trait's method.
fn has_result(declaration: &str) -> bool {
    let (parameters, answer) = declaration.rsplit_once(')').expect("parameters");
    let (parameters, answer) = match answer.strip_prefix(';') {
        // `fn f(...) -> Result<()>;` ends with a parenthesis of its own.
        None if answer.starts_with(">;") => declaration.split_once(" -> ").unwrap_or((parameters, answer)),
        _ => (parameters, answer),
    };
    let is_structure = |of: &str| {
        ["_DESC;", "_DESC1;", "_INFO;", "_PROPERTIES;", "_HANDLE;", "LUID;"]
            .iter()
            .any(|end| of.ends_with(end))
    };
    let returns_value = answer.contains("Result<") && !answer.contains("Result<()>");
    parameters.contains("*mut ") && !parameters.contains("pcontext: *mut core::ffi::c_void,)")
        || parameters.contains("OutRef<")
        || returns_value
        || is_structure(answer)
}

#[test]
fn no_method_writes_to_a_null_pointer() {
    let called = call_all();
    let missing: Vec<String> = methods_with_results().difference(&called).cloned().collect();
    // ID3DDestructionNotifier has a test of its own.
    assert_eq!(missing, ["ID3DDestructionNotifier::RegisterDestructionCallback"]);
}

static DESTROYED: AtomicU32 = AtomicU32::new(0);

unsafe extern "system" fn destroyed(data: *mut c_void) {
    DESTROYED.fetch_or(1 << data.addr(), Ordering::Relaxed);
}

#[test]
fn a_destruction_callback_needs_no_id() {
    let device: ID3D12Device14 = instance("discrete").device.cast().expect("the newest interface");
    let heap = default_heap(&device, 1 << 20, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    let notifier: ID3DDestructionNotifier = heap.cast().expect("heaps tell of their destruction");
    let register = |data: usize, function: PFN_DESTRUCTION_CALLBACK, id: *mut u32| unsafe {
        let data = std::ptr::without_provenance::<c_void>(data);
        (Interface::vtable(&notifier).RegisterDestructionCallback)(notifier.as_raw(), function, data, id)
    };
    let mut id = 99;
    assert_eq!(register(0, None, &raw mut id), DXGI_ERROR_INVALID_CALL);
    assert_eq!(register(0, None, null_mut()), DXGI_ERROR_INVALID_CALL);
    assert_eq!(id, 99, "a refused call writes nothing");
    assert_eq!((register(1, Some(destroyed), &raw mut id), id), (S_OK, 1));
    assert_eq!(register(2, Some(destroyed), null_mut()), S_OK);
    assert_eq!((register(3, Some(destroyed), &raw mut id), id), (S_OK, 2), "the call before took no number");
    assert_eq!((register(4, Some(destroyed), &raw mut id), id), (S_OK, 3));
    unsafe {
        assert_eq!(notifier.UnregisterDestructionCallback(1), S_OK);
        assert_eq!(notifier.UnregisterDestructionCallback(0), DXGI_ERROR_NOT_FOUND);
    }
    drop((heap, notifier));
    assert_eq!(DESTROYED.load(Ordering::Relaxed), 1 << 2 | 1 << 3 | 1 << 4);
}

/// The exported functions, which have no vtable.
#[test]
fn exported_functions_refuse_null() {
    let (iid, out) = (from_ref(&IUnknown::IID), null_mut::<*mut c_void>());
    let class: *const GUID = from_ref(&CLSID_D3D12DeviceFactory);
    let root = D3D12_ROOT_SIGNATURE_DESC::default();
    let version = D3D_ROOT_SIGNATURE_VERSION_1_0;
    let answers: BTreeMap<&str, HRESULT> = unsafe {
        [
            ("CreateDXGIFactory", exports::CreateDXGIFactory(iid, out)),
            ("CreateDXGIFactory1", exports::CreateDXGIFactory1(iid, out)),
            ("CreateDXGIFactory2", exports::CreateDXGIFactory2(0, iid, out)),
            ("D3D12GetDebugInterface", exports::D3D12GetDebugInterface(iid, out)),
            ("D3D12GetInterface", exports::D3D12GetInterface(class, iid, out)),
            ("D3D12SerializeRootSignature", exports::D3D12SerializeRootSignature(&root, version, out, out)),
            (
                "D3D12CreateRootSignatureDeserializer",
                exports::D3D12CreateRootSignatureDeserializer(null(), 0, iid, out),
            ),
        ]
        .into()
    };
    for (name, answer) in answers {
        assert!(answer.is_err(), "{name}: {answer:?}");
    }
    let create = exports::D3D12CreateDevice;
    assert_eq!(unsafe { create(null_mut(), D3D_FEATURE_LEVEL_11_0, iid, out) }, S_FALSE, "a check alone");
}
