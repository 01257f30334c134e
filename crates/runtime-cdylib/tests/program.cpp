/*
 * A C++ program that uses the library with the official headers of Debian's package directx-headers-dev. argv[1] is the
 * library's path.
 *
 * The headers are of 2022. Later declarations are repeated here.
 */
#include "common.hpp"

/* Declarations that the headers lack. */
static const D3D12_FEATURE OPTIONS16 = D3D12_FEATURE(45);
static const D3D12_FEATURE TIGHT_ALIGNMENT = D3D12_FEATURE(54);
static const D3D12_RESOURCE_FLAGS USE_TIGHT_ALIGNMENT = D3D12_RESOURCE_FLAGS(0x400);
struct options16 { BOOL dynamic_depth_bias, gpu_upload_heap; };
struct tight_alignment { UINT tier; };

static const UINT64 KIB64 = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT;

static bool ask_for_features(ID3D12Device *device) {
    D3D12_FEATURE_DATA_ARCHITECTURE1 architecture = {0, TRUE, TRUE, TRUE, TRUE};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE1, &architecture, sizeof architecture) == S_OK);
    CHECK(!architecture.TileBasedRenderer && !architecture.UMA && !architecture.CacheCoherentUMA);

    D3D12_FEATURE_DATA_D3D12_OPTIONS options = {};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options) == S_OK);
    CHECK(options.ResourceHeapTier == D3D12_RESOURCE_HEAP_TIER_2);

    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT bits = {};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, &bits, sizeof bits) == S_OK);
    CHECK(bits.MaxGPUVirtualAddressBitsPerResource >= 31 && bits.MaxGPUVirtualAddressBitsPerResource <= 64);
    CHECK(bits.MaxGPUVirtualAddressBitsPerProcess >= bits.MaxGPUVirtualAddressBitsPerResource);

    const D3D_FEATURE_LEVEL levels[] = {D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_0};
    D3D12_FEATURE_DATA_FEATURE_LEVELS level = {2, levels, D3D_FEATURE_LEVEL(0)};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, &level, sizeof level) == S_OK);
    CHECK(level.MaxSupportedFeatureLevel == D3D_FEATURE_LEVEL_12_0);

    options16 newer = {FALSE, FALSE};
    CHECK(device->CheckFeatureSupport(OPTIONS16, &newer, sizeof newer) == S_OK);
    CHECK(newer.gpu_upload_heap == TRUE);
    tight_alignment tight = {0};
    CHECK(device->CheckFeatureSupport(TIGHT_ALIGNMENT, &tight, sizeof tight) == S_OK);
    CHECK(tight.tier == 1);

    /* A structure of the wrong size, and an unknown feature. */
    CHECK(device->CheckFeatureSupport(OPTIONS16, &newer, sizeof newer - 1) == E_INVALIDARG);
    CHECK(FAILED(device->CheckFeatureSupport(D3D12_FEATURE(9999), &newer, sizeof newer)));
    return true;
}

static bool ask_for_sizes(ID3D12Device *device) {
    /* Two buffers of 100000 bytes: the second begins at 128 KiB. */
    const D3D12_RESOURCE_DESC pair[2] = {buffer_desc(100000), buffer_desc(100000)};
    D3D12_RESOURCE_ALLOCATION_INFO info;
    std::memset(&info, 0xee, sizeof info);
    CHECK(RETURNED(info, device, GetResourceAllocationInfo, 25, 0u, 2u, pair));
    CHECK(info.Alignment == KIB64 && info.SizeInBytes == 4 * KIB64);

    const D3D12_RESOURCE_DESC small = buffer_desc(100, USE_TIGHT_ALIGNMENT);
    CHECK(RETURNED(info, device, GetResourceAllocationInfo, 25, 0u, 1u, &small));
    CHECK(info.Alignment == 256 && info.SizeInBytes == 256);

    const D3D12_RESOURCE_DESC texture = texture_desc(256, 256);
    CHECK(RETURNED(info, device, GetResourceAllocationInfo, 25, 0u, 1u, &texture));
    CHECK(info.Alignment == KIB64 && info.SizeInBytes == 4 * KIB64);

    /* An invalid description. */
    const D3D12_RESOURCE_DESC wrong = buffer_desc(0);
    CHECK(RETURNED(info, device, GetResourceAllocationInfo, 25, 0u, 1u, &wrong));
    CHECK(info.SizeInBytes == UINT64_MAX);

    held<ID3D12Device4> device4;
    CHECK(device->QueryInterface(device4.id(), device4.out()) == S_OK && device4);
    D3D12_RESOURCE_ALLOCATION_INFO1 each[2];
    std::memset(each, 0xee, sizeof each);
    CHECK(RETURNED(info, device4, GetResourceAllocationInfo1, 56, 0u, 2u, pair, each));
    CHECK(info.SizeInBytes == 4 * KIB64);
    CHECK(each[0].Offset == 0 && each[0].SizeInBytes == 2 * KIB64 && each[0].Alignment == KIB64);
    CHECK(each[1].Offset == 2 * KIB64 && each[1].SizeInBytes == 2 * KIB64 && each[1].Alignment == KIB64);

    D3D12_HEAP_PROPERTIES properties;
    std::memset(&properties, 0xee, sizeof properties);
    CHECK(RETURNED(properties, device, GetCustomHeapProperties, 26, 0u, D3D12_HEAP_TYPE_READBACK));
    CHECK(properties.Type == D3D12_HEAP_TYPE_CUSTOM);
    CHECK(properties.CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_WRITE_BACK);
    CHECK(properties.MemoryPoolPreference == D3D12_MEMORY_POOL_L0);

    D3D12_PLACED_SUBRESOURCE_FOOTPRINT footprint;
    UINT rows = 0;
    UINT64 row_size = 0, total = 0;
    const D3D12_RESOURCE_DESC odd = texture_desc(5, 3);
    device->GetCopyableFootprints(&odd, 0, 1, 512, &footprint, &rows, &row_size, &total);
    CHECK(footprint.Offset == 512 && footprint.Footprint.RowPitch == 256 && footprint.Footprint.Width == 5);
    CHECK(rows == 3 && row_size == 20 && total == 2 * 256 + 20);
    return true;
}

/* A heap, and a buffer placed in its second 64 KiB. */
struct placed {
    held<ID3D12Heap> heap;
    held<ID3D12Resource> buffer;
};

static bool place(ID3D12Device *device, D3D12_HEAP_TYPE type, D3D12_RESOURCE_STATES state, placed *out) {
    D3D12_HEAP_DESC wanted = {};
    wanted.SizeInBytes = 4 * KIB64;
    wanted.Properties.Type = type;
    wanted.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    CHECK(device->CreateHeap(&wanted, out->heap.id(), out->heap.out()) == S_OK && out->heap);
    D3D12_HEAP_DESC got;
    std::memset(&got, 0xee, sizeof got);
    CHECK(RETURNED(got, out->heap, GetDesc, 8));
    CHECK(got.SizeInBytes == wanted.SizeInBytes && got.Alignment == KIB64 && got.Flags == wanted.Flags);
    CHECK(got.Properties.Type == type);

    const D3D12_RESOURCE_DESC desc = buffer_desc(100000);
    CHECK(device->CreatePlacedResource(
              out->heap, KIB64, &desc, state, nullptr, out->buffer.id(), out->buffer.out()) == S_OK && out->buffer);
    D3D12_RESOURCE_DESC made;
    std::memset(&made, 0xee, sizeof made);
    CHECK(RETURNED(made, out->buffer, GetDesc, 10));
    CHECK(made.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && made.Width == 100000 && made.Height == 1);
    CHECK(made.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR && made.Flags == D3D12_RESOURCE_FLAG_NONE);
    CHECK(out->buffer->GetGPUVirtualAddress() % KIB64 == 0);

    D3D12_HEAP_PROPERTIES properties;
    D3D12_HEAP_FLAGS flags;
    CHECK(out->buffer->GetHeapProperties(&properties, &flags) == S_OK);
    CHECK(properties.Type == type && (flags & wanted.Flags) == wanted.Flags);

    held<ID3D12Device> its_device;
    CHECK(out->buffer->GetDevice(its_device.id(), its_device.out()) == S_OK && its_device == device);
    return true;
}

static uint8_t pattern(size_t place) { return uint8_t(place * 7 + place / 256); }

/* Copies from an upload heap to video memory and to a readback heap on the GPU. */
static bool copy(ID3D12Device *device) {
    placed upload, video, readback;
    CHECK(place(device, D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ, &upload));
    CHECK(place(device, D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COPY_DEST, &video));
    CHECK(place(device, D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COPY_DEST, &readback));

    void *bytes = nullptr;
    const D3D12_RANGE nothing = {0, 0};
    CHECK(video.buffer->Map(0, nullptr, &bytes) == E_INVALIDARG && !bytes);
    CHECK(upload.buffer->Map(0, &nothing, &bytes) == S_OK && bytes);
    for (size_t i = 0; i < 100000; i++) static_cast<uint8_t *>(bytes)[i] = pattern(i);
    upload.buffer->Unmap(0, nullptr);

    const D3D12_COMMAND_QUEUE_DESC queue_desc = {
        D3D12_COMMAND_LIST_TYPE_DIRECT, 0, D3D12_COMMAND_QUEUE_FLAG_NONE, 0};
    held<ID3D12CommandQueue> queue;
    held<ID3D12CommandAllocator> allocator;
    held<ID3D12GraphicsCommandList> list;
    held<ID3D12Fence> fence;
    CHECK(device->CreateCommandQueue(&queue_desc, queue.id(), queue.out()) == S_OK && queue);
    CHECK(device->CreateCommandAllocator(queue_desc.Type, allocator.id(), allocator.out()) == S_OK);
    CHECK(device->CreateCommandList(0, queue_desc.Type, allocator, nullptr, list.id(), list.out()) == S_OK);
    CHECK(device->CreateFence(5, D3D12_FENCE_FLAG_NONE, fence.id(), fence.out()) == S_OK && fence);
    D3D12_COMMAND_QUEUE_DESC got;
    CHECK(RETURNED(got, queue, GetDesc, 18));
    CHECK(got.Type == queue_desc.Type && got.NodeMask == 1);

    list->CopyBufferRegion(video.buffer, 0, upload.buffer, 0, 100000);
    D3D12_RESOURCE_BARRIER barrier = {};
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = video.buffer;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = D3D12_RESOURCE_STATE_COPY_DEST;
    barrier.Transition.StateAfter = D3D12_RESOURCE_STATE_COPY_SOURCE;
    list->ResourceBarrier(1, &barrier);
    list->CopyBufferRegion(readback.buffer, 1000, video.buffer, 500, 90000);
    CHECK(list->Close() == S_OK);
    ID3D12CommandList *lists[] = {list};
    queue->ExecuteCommandLists(1, lists);

    HANDLE event = create_event();
    CHECK(fence->GetCompletedValue() == 5);
    CHECK(fence->SetEventOnCompletion(7, event) == S_OK);
    CHECK(queue->Signal(fence, 7) == S_OK);
    CHECK(wait_for(event));
    CHECK(fence->GetCompletedValue() == 7);
    close_event(event);
    CHECK(device->GetDeviceRemovedReason() == S_OK);

    bytes = nullptr;
    const D3D12_RANGE read = {1000, 91000};
    CHECK(readback.buffer->Map(0, &read, &bytes) == S_OK && bytes);
    bool is_same = true;
    for (size_t i = 0; i < 90000; i++) is_same &= static_cast<uint8_t *>(bytes)[1000 + i] == pattern(500 + i);
    readback.buffer->Unmap(0, &nothing);
    CHECK(is_same);

    /* A resource keeps its heap's memory alive without changing the visible reference count. */
    CHECK(upload.heap.release() == 0);
    CHECK(upload.buffer.release() == 0);
    return true;
}

/* Copies a buffer to a committed texture and reads it back on the GPU. */
static bool copy_texture(ID3D12Device *device) {
    const D3D12_RESOURCE_DESC desc = texture_desc(32, 8);
    D3D12_PLACED_SUBRESOURCE_FOOTPRINT footprint;
    UINT64 total = 0;
    device->GetCopyableFootprints(&desc, 0, 1, 0, &footprint, nullptr, nullptr, &total);
    CHECK(footprint.Footprint.RowPitch == 256 && total == 7 * 256 + 128);

    held<ID3D12Resource> upload, texture, readback;
    D3D12_HEAP_PROPERTIES heap = {};
    const D3D12_RESOURCE_DESC buffer = buffer_desc(total);
    heap.Type = D3D12_HEAP_TYPE_UPLOAD;
    CHECK(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &buffer, D3D12_RESOURCE_STATE_GENERIC_READ,
              nullptr, upload.id(), upload.out()) == S_OK);
    heap.Type = D3D12_HEAP_TYPE_READBACK;
    CHECK(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &buffer, D3D12_RESOURCE_STATE_COPY_DEST,
              nullptr, readback.id(), readback.out()) == S_OK);
    heap.Type = D3D12_HEAP_TYPE_DEFAULT;
    CHECK(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COPY_DEST,
              nullptr, texture.id(), texture.out()) == S_OK);
    CHECK(texture->GetGPUVirtualAddress() == 0);

    void *bytes = nullptr;
    CHECK(upload->Map(0, nullptr, &bytes) == S_OK);
    for (size_t i = 0; i < total; i++) static_cast<uint8_t *>(bytes)[i] = pattern(i);
    upload->Unmap(0, nullptr);

    const D3D12_COMMAND_QUEUE_DESC queue_desc = {
        D3D12_COMMAND_LIST_TYPE_DIRECT, 0, D3D12_COMMAND_QUEUE_FLAG_NONE, 0};
    held<ID3D12CommandQueue> queue;
    held<ID3D12CommandAllocator> allocator;
    held<ID3D12GraphicsCommandList> list;
    held<ID3D12Fence> fence;
    CHECK(device->CreateCommandQueue(&queue_desc, queue.id(), queue.out()) == S_OK);
    CHECK(device->CreateCommandAllocator(queue_desc.Type, allocator.id(), allocator.out()) == S_OK);
    CHECK(device->CreateCommandList(0, queue_desc.Type, allocator, nullptr, list.id(), list.out()) == S_OK);
    CHECK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, fence.id(), fence.out()) == S_OK);

    D3D12_TEXTURE_COPY_LOCATION linear = {}, opaque = {};
    linear.pResource = upload;
    linear.Type = D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT;
    linear.PlacedFootprint = footprint;
    opaque.pResource = texture;
    opaque.Type = D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX;
    list->CopyTextureRegion(&opaque, 0, 0, 0, &linear, nullptr);
    D3D12_RESOURCE_BARRIER barrier = {};
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = texture;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = D3D12_RESOURCE_STATE_COPY_DEST;
    barrier.Transition.StateAfter = D3D12_RESOURCE_STATE_COPY_SOURCE;
    list->ResourceBarrier(1, &barrier);
    linear.pResource = readback;
    list->CopyTextureRegion(&linear, 0, 0, 0, &opaque, nullptr);
    CHECK(list->Close() == S_OK);
    ID3D12CommandList *lists[] = {list};
    queue->ExecuteCommandLists(1, lists);
    CHECK(queue->Signal(fence, 1) == S_OK);
    /* Without an event, the call waits. */
    CHECK(fence->SetEventOnCompletion(1, nullptr) == S_OK);
    CHECK(fence->GetCompletedValue() == 1);

    CHECK(readback->Map(0, nullptr, &bytes) == S_OK);
    bool is_same = true;
    for (size_t row = 0; row < 8; row++) {
        for (size_t i = 0; i < 128; i++) {
            is_same &= static_cast<uint8_t *>(bytes)[row * 256 + i] == pattern(row * 256 + i);
        }
    }
    readback->Unmap(0, nullptr);
    CHECK(is_same);
    return true;
}

static bool read_messages(ID3D12Device *device) {
    held<ID3D12InfoQueue> queue;
    CHECK(device->QueryInterface(queue.id(), queue.out()) == S_OK && queue);
    queue->ClearStoredMessages();
    CHECK(queue->GetNumStoredMessages() == 0);
    D3D12_HEAP_DESC desc = {};
    held<ID3D12Heap> heap;
    CHECK(device->CreateHeap(&desc, heap.id(), heap.out()) == E_INVALIDARG && !heap);
    CHECK(queue->GetNumStoredMessages() == 1);
    SIZE_T length = 0;
    CHECK(queue->GetMessage(0, nullptr, &length) == S_FALSE);
    alignas(D3D12_MESSAGE) char bytes[2048];
    CHECK(length > sizeof(D3D12_MESSAGE) && length <= sizeof bytes);
    auto message = reinterpret_cast<D3D12_MESSAGE *>(bytes);
    CHECK(queue->GetMessage(0, message, &length) == S_OK);
    CHECK(message->Severity == D3D12_MESSAGE_SEVERITY_ERROR && message->ID != 0);
    CHECK(std::strlen(message->pDescription) + 1 == message->DescriptionByteLength);
    CHECK(std::strstr(message->pDescription, "CreateHeap"));
    queue->ClearStoredMessages();
    CHECK(queue->GetNumStoredMessages() == 0);
    return true;
}

#ifdef _WIN32
/* mingw's headers define the IIDs of DXGI. */
template <typename T> static HRESULT as(IUnknown *object, held<T> &out) {
    return object->QueryInterface(__uuidof(T), out.out());
}

static bool find_adapter(void *library, held<IDXGIAdapter3> &adapter) {
    auto function = reinterpret_cast<create_factory>(find(library, "CreateDXGIFactory2"));
    CHECK(function);
    held<IDXGIFactory4> factory;
    held<IDXGIAdapter1> first, past;
    CHECK(function(0, __uuidof(IDXGIFactory4), factory.out()) == S_OK && factory);
    CHECK(factory->EnumAdapters1(0, &first.self) == S_OK && first);
    CHECK(factory->EnumAdapters1(1000, &past.self) == DXGI_ERROR_NOT_FOUND && !past);
    CHECK(as(first, adapter) == S_OK && adapter);
    DXGI_ADAPTER_DESC1 desc;
    std::memset(&desc, 0xee, sizeof desc);
    CHECK(adapter->GetDesc1(&desc) == S_OK);
    CHECK(desc.Description[0] != 0 && desc.Description[127] == 0 && desc.DedicatedVideoMemory > 0);
    held<IDXGIAdapter3> same;
    CHECK(factory->EnumAdapterByLuid(desc.AdapterLuid, __uuidof(IDXGIAdapter3), same.out()) == S_OK && same);
    return true;
}

static bool ask_for_memory(IDXGIAdapter3 *adapter, ID3D12Device *device) {
    DXGI_ADAPTER_DESC1 desc;
    CHECK(adapter->GetDesc1(&desc) == S_OK);
    LUID id = {};
    CHECK(RETURNED(id, device, GetAdapterLuid, 43));
    CHECK(id.LowPart == desc.AdapterLuid.LowPart && id.HighPart == desc.AdapterLuid.HighPart);

    DXGI_QUERY_VIDEO_MEMORY_INFO before, with, after;
    CHECK(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL, &before) == S_OK);
    CHECK(before.Budget > 0 && before.CurrentUsage <= before.Budget);
    CHECK(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &before) == S_OK);
    CHECK(before.Budget > 0 && before.Budget <= desc.DedicatedVideoMemory);
    {
        D3D12_HEAP_DESC wanted = {};
        wanted.SizeInBytes = 64 << 20;
        wanted.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
        held<ID3D12Heap> heap;
        CHECK(device->CreateHeap(&wanted, heap.id(), heap.out()) == S_OK);
        CHECK(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &with) == S_OK);
        CHECK(with.CurrentUsage == before.CurrentUsage + (64 << 20));
        ID3D12Pageable *objects[] = {heap};
        CHECK(device->Evict(1, objects) == S_OK);
        CHECK(device->MakeResident(1, objects) == S_OK);
    }
    CHECK(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &after) == S_OK);
    CHECK(after.CurrentUsage == before.CurrentUsage);
    return true;
}
#endif

static bool run(const char *path) {
    void *library = open_library(path);
    CHECK(library);
    auto device_function = reinterpret_cast<create_device>(find(library, "D3D12CreateDevice"));
    auto debug_function = reinterpret_cast<get_debug_interface>(find(library, "D3D12GetDebugInterface"));
    CHECK(device_function && debug_function);

    held<ID3D12Debug> debug;
    CHECK(debug_function(debug.id(), debug.out()) == S_OK && debug);
    debug->EnableDebugLayer();

    /* The headers for Linux have no DXGI, so the default adapter is used. */
    IUnknown *chosen = nullptr;
#ifdef _WIN32
    held<IDXGIAdapter3> adapter;
    if (!find_adapter(library, adapter)) return false;
    chosen = adapter;
#endif
    held<ID3D12Device> device;
    CHECK(device_function(chosen, D3D_FEATURE_LEVEL_11_0, device.id(), nullptr) == S_FALSE);
    CHECK(device_function(chosen, D3D_FEATURE_LEVEL_11_0, device.id(), device.out()) == S_OK && device);
    CHECK(device->GetNodeCount() == 1);

    if (!ask_for_features(device) || !ask_for_sizes(device)) return false;
    if (!copy(device) || !copy_texture(device) || !read_messages(device)) return false;
#ifdef _WIN32
    if (!ask_for_memory(adapter, device)) return false;
#endif
    CHECK(device->AddRef() == 2);
    CHECK(device->Release() == 1);
    CHECK(device.release() == 0);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        std::puts("missing argument: path of the library");
        return 2;
    }
    if (!run(argv[1])) return 1;
    std::printf("all is well: %u checks\n", checks);
    return 0;
}
