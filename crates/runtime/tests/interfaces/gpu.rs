//! Short functions for a device, its queues and its buffers.

use std::ptr::null_mut;

pub(crate) use heapwright_d3d12::resource_desc::upgrade as newer_desc;
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

/// Opens a new instance of a profile.
pub(crate) fn instance(profile: &str) -> Instance {
    Instance::open(HostProfile::find(profile).expect("a profile of that name")).expect("a fresh instance")
}

pub(crate) fn open_named(profile: &str) -> ID3D12Device14 {
    instance(profile).device.cast().expect("the newest interface")
}

pub(crate) fn open() -> ID3D12Device14 {
    open_named("discrete")
}

/// Opens a device with a direct queue.
pub(crate) fn open_direct() -> (ID3D12Device14, Queue) {
    let device = open();
    let queue = Queue::direct(&device);
    (device, queue)
}

pub(crate) fn of_type(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() }
}

pub(crate) fn heap_desc(heap_type: D3D12_HEAP_TYPE, size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC { SizeInBytes: size, Properties: of_type(heap_type), ..Default::default() }
}

pub(crate) fn create_heap(device: &ID3D12Device, desc: &D3D12_HEAP_DESC) -> Result<ID3D12Heap, HRESULT> {
    let mut heap = None;
    unsafe { device.CreateHeap(desc, &mut heap) }.map_err(|error| error.code())?;
    Ok(heap.expect("S_OK comes with a heap"))
}

pub(crate) fn default_heap(device: &ID3D12Device14, size: u64, flags: D3D12_HEAP_FLAGS) -> ID3D12Heap {
    let desc = D3D12_HEAP_DESC { Flags: flags, ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, size) };
    create_heap(device, &desc).expect("a heap")
}

pub(crate) fn buffer_desc(width: u64, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: flags,
        ..Default::default()
    }
}

pub(crate) fn texture_desc(format: DXGI_FORMAT, size: [u32; 2]) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: size[0].into(),
        Height: size[1],
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

pub(crate) fn committed(
    device: &ID3D12Device,
    properties: D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
) -> windows_core::Result<ID3D12Resource> {
    let mut resource = None;
    unsafe { device.CreateCommittedResource(&properties, flags, desc, state, None, &mut resource) }?;
    Ok(resource.expect("S_OK comes with a resource"))
}

pub(crate) fn placed(
    device: &ID3D12Device,
    heap: &ID3D12Heap,
    offset: u64,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
) -> windows_core::Result<ID3D12Resource> {
    let mut resource = None;
    unsafe { device.CreatePlacedResource(heap, offset, desc, state, None, &mut resource) }?;
    Ok(resource.expect("S_OK comes with a resource"))
}

/// Creates a texture in system memory that the CPU reads and writes.
pub(crate) fn cpu_texture(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES {
        CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
        MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
        ..of_type(D3D12_HEAP_TYPE_CUSTOM)
    };
    committed(device, properties, D3D12_HEAP_FLAG_NONE, desc, D3D12_RESOURCE_STATE_COMMON).expect("taken")
}

pub(crate) fn commit_with(
    device: &ID3D12Device14,
    heap_type: D3D12_HEAP_TYPE,
    width: u64,
    flags: D3D12_RESOURCE_FLAGS,
) -> ID3D12Resource {
    let (desc, state) = (buffer_desc(width, flags), D3D12_RESOURCE_STATE_COMMON);
    committed(device, of_type(heap_type), D3D12_HEAP_FLAG_NONE, &desc, state).expect("a buffer")
}

pub(crate) fn commit(device: &ID3D12Device14, heap_type: D3D12_HEAP_TYPE, width: u64) -> ID3D12Resource {
    commit_with(device, heap_type, width, D3D12_RESOURCE_FLAG_NONE)
}

#[allow(clippy::mut_from_ref, reason = "mapped memory is not the resource's own")]
pub(crate) fn bytes(resource: &ID3D12Resource) -> &mut [u8] {
    let mut start = null_mut();
    let width = usize::try_from(unsafe { resource.GetDesc() }.Width).expect("small");
    unsafe {
        resource.Map(0, None, &mut start).succeeds();
        std::slice::from_raw_parts_mut(start.cast(), width)
    }
}

/// Returns the local video memory in use.
pub(crate) fn local_usage(adapter: &IDXGIAdapter3) -> u64 {
    memory_info(adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL).CurrentUsage
}

pub(crate) fn memory_info(
    adapter: &IDXGIAdapter3,
    group: DXGI_MEMORY_SEGMENT_GROUP,
) -> DXGI_QUERY_VIDEO_MEMORY_INFO {
    let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
    unsafe { adapter.QueryVideoMemoryInfo(0, group, &mut info) }.succeeds();
    info
}

/// Asks `CheckFeatureSupport` about the feature that `data` belongs to.
pub(crate) fn feature<T>(device: &ID3D12Device, feature: D3D12_FEATURE, mut data: T) -> (HRESULT, T) {
    let size = u32::try_from(size_of::<T>()).expect("small");
    let result = unsafe { device.CheckFeatureSupport(feature, (&raw mut data).cast(), size) };
    (result, data)
}

/// Names an object.
pub(crate) fn name(object: &ID3D12Object, name: &str) {
    let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    unsafe { object.SetName(PCWSTR(name.as_ptr())) }.succeeds();
}

/// Returns the messages that the device stores, with their IDs, and clears them.
pub(crate) fn messages(device: &ID3D12Device14) -> Vec<(D3D12_MESSAGE_ID, String)> {
    let queue: ID3D12InfoQueue = device.cast().expect("the debug layer is on");
    let count = unsafe { queue.GetNumStoredMessagesAllowedByRetrievalFilter() };
    let message = |index| {
        let mut size = 0;
        assert_eq!(unsafe { queue.GetMessage(index, None, &mut size) }, S_FALSE);
        let mut room = vec![0_u64; size.div_ceil(8)];
        let message = room.as_mut_ptr().cast::<D3D12_MESSAGE>();
        unsafe {
            queue.GetMessage(index, Some(message), &mut size).succeeds();
            let text = std::ffi::CStr::from_ptr((*message).pDescription.cast());
            ((*message).ID, text.to_str().expect("UTF-8").to_owned())
        }
    };
    let messages = (0..count).map(message).collect();
    unsafe { queue.ClearStoredMessages() };
    messages
}

/// Returns the ID of the rule that a call breaks, which returns E_INVALIDARG.
#[track_caller]
pub(crate) fn broken_rule(device: &ID3D12Device14, call: impl FnOnce() -> HRESULT) -> D3D12_MESSAGE_ID {
    messages(device);
    assert_eq!(call(), E_INVALIDARG);
    messages(device).first().expect("a message").0
}

/// The result of a call: some methods of the bindings return an HRESULT, some a `Result`.
pub(crate) trait Answer {
    fn hresult(&self) -> HRESULT;

    #[track_caller]
    fn succeeds(&self) {
        assert_eq!(self.hresult(), S_OK);
    }
}

impl Answer for HRESULT {
    fn hresult(&self) -> HRESULT {
        *self
    }
}

impl<T> Answer for windows_core::Result<T> {
    fn hresult(&self) -> HRESULT {
        self.as_ref().map_or_else(|error| error.code(), |_| S_OK)
    }
}

pub(crate) fn code(answer: impl Answer) -> HRESULT {
    answer.hresult()
}

/// A queue with an allocator, a list and a fence.
pub(crate) struct Queue {
    pub(crate) queue: ID3D12CommandQueue,
    pub(crate) allocator: ID3D12CommandAllocator,
    pub(crate) list: ID3D12GraphicsCommandList7,
    pub(crate) fence: ID3D12Fence,
}

pub(crate) fn create_queue(
    device: &ID3D12Device14,
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> ID3D12CommandQueue {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
    unsafe { device.CreateCommandQueue(&desc) }.expect("a queue")
}

pub(crate) fn create_fence(device: &ID3D12Device14, value: u64) -> ID3D12Fence {
    unsafe { device.CreateFence(value, D3D12_FENCE_FLAG_NONE) }.expect("a fence")
}

impl Queue {
    pub(crate) fn new(device: &ID3D12Device14, list_type: D3D12_COMMAND_LIST_TYPE) -> Self {
        let queue = create_queue(device, list_type);
        let (allocator, list) = unsafe {
            let allocator: ID3D12CommandAllocator =
                device.CreateCommandAllocator(list_type).expect("an allocator");
            let list = device.CreateCommandList(0, list_type, &allocator, None).expect("a list");
            (allocator, list)
        };
        Self { queue, allocator, list, fence: create_fence(device, 0) }
    }

    pub(crate) fn direct(device: &ID3D12Device14) -> Self {
        Self::new(device, D3D12_COMMAND_LIST_TYPE_DIRECT)
    }

    pub(crate) fn execute(&self, lists: &[&ID3D12GraphicsCommandList7]) {
        let lists: Vec<_> = lists.iter().map(|list| Some(list.cast().expect("a command list"))).collect();
        unsafe { self.queue.ExecuteCommandLists(&lists) };
    }

    /// Closes the list, executes it and waits for it. The list records again afterwards.
    pub(crate) fn run(&self) {
        unsafe { self.list.Close() }.succeeds();
        self.execute(&[&self.list]);
        self.drain();
        unsafe {
            self.allocator.Reset().succeeds();
            self.list.Reset(&self.allocator, None).succeeds();
        }
    }

    pub(crate) fn drain(&self) {
        unsafe {
            let value = self.fence.GetCompletedValue() + 1;
            self.queue.Signal(&self.fence, value).succeeds();
            self.fence.SetEventOnCompletion(value, HANDLE::default()).succeeds();
        }
    }

    /// Returns the result of `Close` after `record`. The list records again afterwards.
    pub(crate) fn close_after(&self, record: impl FnOnce(&ID3D12GraphicsCommandList7)) -> HRESULT {
        record(&self.list);
        let closed = unsafe { self.list.Close() };
        unsafe { self.list.Reset(&self.allocator, None).succeeds() };
        code(closed)
    }
}

pub(crate) fn descriptor_heap(
    device: &ID3D12Device14,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    count: u32,
    flags: D3D12_DESCRIPTOR_HEAP_FLAGS,
) -> windows_core::Result<ID3D12DescriptorHeap> {
    let desc = D3D12_DESCRIPTOR_HEAP_DESC {
        Type: heap_type,
        NumDescriptors: count,
        Flags: flags,
        ..Default::default()
    };
    unsafe { device.CreateDescriptorHeap(&desc) }
}

/// Creates a descriptor heap of one view of a texture, and the view.
pub(crate) fn view_of(
    device: &ID3D12Device14,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    texture: &ID3D12Resource,
) -> (ID3D12DescriptorHeap, D3D12_CPU_DESCRIPTOR_HANDLE) {
    let heap = descriptor_heap(device, heap_type, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE).expect("a heap");
    let view = unsafe { heap.GetCPUDescriptorHandleForHeapStart() };
    unsafe {
        if heap_type == D3D12_DESCRIPTOR_HEAP_TYPE_DSV {
            device.CreateDepthStencilView(texture, None, view);
        } else {
            device.CreateRenderTargetView(texture, None, view);
        }
    }
    (heap, view)
}

/// A descriptor for the CPU, and one that shaders see, for clears of unordered access views.
pub(crate) struct ClearViews {
    _cpu_heap: ID3D12DescriptorHeap,
    gpu_heap: ID3D12DescriptorHeap,
    pub(crate) cpu: D3D12_CPU_DESCRIPTOR_HANDLE,
    pub(crate) gpu: D3D12_GPU_DESCRIPTOR_HANDLE,
}

impl ClearViews {
    pub(crate) fn new(device: &ID3D12Device14) -> Self {
        let heap = |flags| {
            let views = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
            descriptor_heap(device, views, 1, flags).expect("a heap")
        };
        let cpu_heap = heap(D3D12_DESCRIPTOR_HEAP_FLAG_NONE);
        let gpu_heap = heap(D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
        let cpu = unsafe { cpu_heap.GetCPUDescriptorHandleForHeapStart() };
        let gpu = unsafe { gpu_heap.GetGPUDescriptorHandleForHeapStart() };
        Self { _cpu_heap: cpu_heap, gpu_heap, cpu, gpu }
    }

    /// Sets the descriptor heap of the list, and clears all of the view or rectangles of it.
    pub(crate) fn clear(
        &self,
        list: &ID3D12GraphicsCommandList7,
        resource: &ID3D12Resource,
        value: u32,
        rects: &[RECT],
    ) {
        unsafe {
            list.SetDescriptorHeaps(&[Some(self.gpu_heap.clone())]);
            list.ClearUnorderedAccessViewUint(self.gpu, self.cpu, resource, &[value, 0, 0, 0], rects);
        }
    }
}

/// Describes a render target view of slices of one mip level of an array.
pub(crate) fn slices_view(
    format: DXGI_FORMAT,
    mip: u32,
    first: u32,
    count: u32,
) -> D3D12_RENDER_TARGET_VIEW_DESC {
    let slices =
        D3D12_TEX2D_ARRAY_RTV { MipSlice: mip, FirstArraySlice: first, ArraySize: count, PlaneSlice: 0 };
    D3D12_RENDER_TARGET_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2DARRAY,
        Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 { Texture2DArray: slices },
    }
}

/// Describes an unordered access view of elements of a buffer.
pub(crate) fn elements_view(format: DXGI_FORMAT, first: u64, count: u32) -> D3D12_UNORDERED_ACCESS_VIEW_DESC {
    let elements = D3D12_BUFFER_UAV { FirstElement: first, NumElements: count, ..Default::default() };
    D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 { Buffer: elements },
    }
}

pub(crate) fn reserve_as(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    let mut resource = None;
    unsafe { device.CreateReservedResource(desc, D3D12_RESOURCE_STATE_COMMON, None, &mut resource) }
        .expect("a reserved resource");
    resource.expect("S_OK comes with a resource")
}

pub(crate) fn reserve(device: &ID3D12Device14, width: u64) -> ID3D12Resource {
    reserve_as(device, &buffer_desc(width, D3D12_RESOURCE_FLAG_NONE))
}

/// Maps a region of a reserved resource, without `size` one tile and without `start` all of it, to `ranges`: flags,
/// first tile of the heap, and count.
pub(crate) fn update_tiles(
    queue: &Queue,
    resource: &ID3D12Resource,
    start: Option<D3D12_TILED_RESOURCE_COORDINATE>,
    size: Option<D3D12_TILE_REGION_SIZE>,
    heap: Option<&ID3D12Heap>,
    ranges: &[(D3D12_TILE_RANGE_FLAGS, u32, u32)],
) {
    let flags: Vec<_> = ranges.iter().map(|range| range.0).collect();
    let offsets: Vec<_> = ranges.iter().map(|range| range.1).collect();
    let counts: Vec<_> = ranges.iter().map(|range| range.2).collect();
    unsafe {
        queue.queue.UpdateTileMappings(
            resource,
            1,
            start.as_ref().map(std::ptr::from_ref),
            size.as_ref().map(std::ptr::from_ref),
            heap,
            u32::try_from(ranges.len()).expect("few"),
            Some(flags.as_ptr()),
            Some(offsets.as_ptr()),
            Some(counts.as_ptr()),
            D3D12_TILE_MAPPING_FLAG_NONE,
        );
    }
}

pub(crate) const TILE: u64 = 65536;
