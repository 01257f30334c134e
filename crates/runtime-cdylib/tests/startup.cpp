/*
 * A C++ program with the startup code of applications, similar to the public samples: device, queues, fences, root signature,
 * pipeline state, upload and readback buffers, a texture, and frames with barriers and copies. The debug layer must not report
 * messages. argv[1] is the library's path.
 */
#include "common.hpp"

typedef HRESULT(WINAPI *serialize)(const D3D12_ROOT_SIGNATURE_DESC *, D3D_ROOT_SIGNATURE_VERSION, ID3DBlob **, ID3DBlob **);
typedef HRESULT(WINAPI *serialize_versioned)(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *, ID3DBlob **, ID3DBlob **);
typedef HRESULT(WINAPI *choose_device)(const char *, const char *);

static const UINT FRAMES = 2;
static const UINT WIDTH = 64, HEIGHT = 32;
static const UINT PITCH = WIDTH * 4;

struct application {
    held<ID3D12Device> device;
    held<ID3D12CommandQueue> queue, copy_queue;
    held<ID3D12Fence> fence, copy_fence;
    held<ID3D12RootSignature> root_signature;
    held<ID3D12PipelineState> graphics, compute;
    held<ID3D12CommandSignature> indirect;
    held<ID3D12DescriptorHeap> targets, views, samplers;
    held<ID3D12Resource> vertices, texture, target, upload, constants, readback;
    held<ID3D12QueryHeap> queries;
    held<ID3D12CommandAllocator> allocators[FRAMES], bundle_allocator;
    held<ID3D12GraphicsCommandList> list, bundle;
    HANDLE event = nullptr;
    UINT64 value = 0;

    ~application() {
        if (event) close_event(event);
    }
};

static D3D12_RESOURCE_BARRIER transition(ID3D12Resource *resource, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
    D3D12_RESOURCE_BARRIER barrier = {};
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = resource;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = before;
    barrier.Transition.StateAfter = after;
    return barrier;
}

/* Feature queries of typical applications. */
static bool ask(ID3D12Device *device) {
    const D3D_FEATURE_LEVEL levels[] = {D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_0, D3D_FEATURE_LEVEL_12_1};
    D3D12_FEATURE_DATA_FEATURE_LEVELS level = {3, levels, D3D_FEATURE_LEVEL(0)};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, &level, sizeof level) == S_OK);
    CHECK(level.MaxSupportedFeatureLevel == D3D_FEATURE_LEVEL_12_1);
    D3D12_FEATURE_DATA_SHADER_MODEL model = {D3D_SHADER_MODEL_6_0};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_SHADER_MODEL, &model, sizeof model) == S_OK);
    CHECK(model.HighestShaderModel == D3D_SHADER_MODEL_6_0);
    D3D12_FEATURE_DATA_ROOT_SIGNATURE signature = {D3D_ROOT_SIGNATURE_VERSION_1_1};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_ROOT_SIGNATURE, &signature, sizeof signature) == S_OK);
    CHECK(signature.HighestVersion == D3D_ROOT_SIGNATURE_VERSION_1_1);
    D3D12_FEATURE_DATA_D3D12_OPTIONS options = {};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options) == S_OK);
    CHECK(options.ResourceBindingTier >= D3D12_RESOURCE_BINDING_TIER_2);
    D3D12_FEATURE_DATA_D3D12_OPTIONS1 options1 = {};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS1, &options1, sizeof options1) == S_OK);
    CHECK(options1.WaveOps && options1.WaveLaneCountMin > 0);
    D3D12_FEATURE_DATA_FORMAT_INFO format = {DXGI_FORMAT_D24_UNORM_S8_UINT, 0};
    CHECK(device->CheckFeatureSupport(D3D12_FEATURE_FORMAT_INFO, &format, sizeof format) == S_OK);
    CHECK(format.PlaneCount == 2);
    return true;
}

static bool create_pipelines(application &app, void *library) {
    auto old = reinterpret_cast<serialize>(find(library, "D3D12SerializeRootSignature"));
    auto versioned = reinterpret_cast<serialize_versioned>(find(library, "D3D12SerializeVersionedRootSignature"));
    // Programs that import these functions cannot be loaded without them.
    CHECK(find(library, "D3D12CreateRootSignatureDeserializer"));
    CHECK(find(library, "D3D12CreateVersionedRootSignatureDeserializer"));
    CHECK(old && versioned);

    D3D12_ROOT_PARAMETER parameter = {};
    parameter.ParameterType = D3D12_ROOT_PARAMETER_TYPE_CBV;
    D3D12_ROOT_SIGNATURE_DESC desc = {};
    desc.NumParameters = 1;
    desc.pParameters = &parameter;
    desc.Flags = D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT;
    held<ID3DBlob> blob, errors, newer;
    CHECK(old(&desc, D3D_ROOT_SIGNATURE_VERSION_1_0, &blob.self, &errors.self) == S_OK && blob && !errors);
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC versioned_desc = {};
    versioned_desc.Version = D3D_ROOT_SIGNATURE_VERSION_1_0;
    versioned_desc.Desc_1_0 = desc;
    CHECK(versioned(&versioned_desc, &newer.self, nullptr) == S_OK && newer && newer->GetBufferSize() > 0);
    auto &signature = app.root_signature;
    CHECK(app.device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), signature.id(), signature.out()) == S_OK);

    /* Shaders are not interpreted. */
    static const char shader[] = "DXBC and so on";
    D3D12_GRAPHICS_PIPELINE_STATE_DESC state = {};
    state.pRootSignature = signature;
    state.VS = {shader, sizeof shader};
    state.PS = {shader, sizeof shader};
    state.SampleMask = ~0u;
    state.PrimitiveTopologyType = D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE;
    state.NumRenderTargets = 1;
    state.RTVFormats[0] = DXGI_FORMAT_R8G8B8A8_UNORM;
    state.SampleDesc.Count = 1;
    CHECK(app.device->CreateGraphicsPipelineState(&state, app.graphics.id(), app.graphics.out()) == S_OK);
    D3D12_COMPUTE_PIPELINE_STATE_DESC compute = {};
    compute.pRootSignature = signature;
    compute.CS = {shader, sizeof shader};
    CHECK(app.device->CreateComputePipelineState(&compute, app.compute.id(), app.compute.out()) == S_OK);

    D3D12_INDIRECT_ARGUMENT_DESC argument = {};
    argument.Type = D3D12_INDIRECT_ARGUMENT_TYPE_DRAW;
    D3D12_COMMAND_SIGNATURE_DESC indirect = {};
    indirect.ByteStride = sizeof(D3D12_DRAW_ARGUMENTS);
    indirect.NumArgumentDescs = 1;
    indirect.pArgumentDescs = &argument;
    CHECK(app.device->CreateCommandSignature(&indirect, nullptr, app.indirect.id(), app.indirect.out()) == S_OK);
    return true;
}

static bool create_heap(application &app, D3D12_DESCRIPTOR_HEAP_TYPE type, D3D12_DESCRIPTOR_HEAP_FLAGS flags, held<ID3D12DescriptorHeap> &heap) {
    D3D12_DESCRIPTOR_HEAP_DESC desc = {type, 4, flags, 0};
    CHECK(app.device->CreateDescriptorHeap(&desc, heap.id(), heap.out()) == S_OK);
    return true;
}

static bool commit(application &app, D3D12_HEAP_TYPE type, const D3D12_RESOURCE_DESC &desc, D3D12_RESOURCE_STATES state, held<ID3D12Resource> &resource, const D3D12_CLEAR_VALUE *clear = nullptr) {
    D3D12_HEAP_PROPERTIES properties = {};
    properties.Type = type;
    properties.CreationNodeMask = properties.VisibleNodeMask = 1;
    CHECK(app.device->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, state, clear, resource.id(), resource.out()) == S_OK);
    return true;
}

static bool create_resources(application &app) {
    const D3D12_CLEAR_VALUE clear = {DXGI_FORMAT_R8G8B8A8_UNORM, {{0, 1, 0, 1}}};
    auto target = texture_desc(WIDTH, HEIGHT);
    target.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    /* A readback buffer and an upload buffer with their usual states. */
    if (!commit(app, D3D12_HEAP_TYPE_DEFAULT, buffer_desc(4096), D3D12_RESOURCE_STATE_COMMON, app.vertices) ||
        !commit(app, D3D12_HEAP_TYPE_DEFAULT, texture_desc(WIDTH, HEIGHT), D3D12_RESOURCE_STATE_COPY_DEST, app.texture) ||
        !commit(app, D3D12_HEAP_TYPE_DEFAULT, target, D3D12_RESOURCE_STATE_RENDER_TARGET, app.target, &clear) ||
        !commit(app, D3D12_HEAP_TYPE_UPLOAD, buffer_desc(PITCH * HEIGHT), D3D12_RESOURCE_STATE_GENERIC_READ, app.upload) ||
        !commit(app, D3D12_HEAP_TYPE_UPLOAD, buffer_desc(256), D3D12_RESOURCE_STATE_GENERIC_READ, app.constants) ||
        !commit(app, D3D12_HEAP_TYPE_READBACK, buffer_desc(3 * PITCH * HEIGHT, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE), D3D12_RESOURCE_STATE_COPY_DEST, app.readback))
        return false;
    if (!create_heap(app, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE, app.targets) ||
        !create_heap(app, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, app.views) ||
        !create_heap(app, D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, app.samplers))
        return false;
    D3D12_CPU_DESCRIPTOR_HANDLE view = {}, sampler_view = {}, target_view = {};
    CHECK(RETURNED(target_view, app.targets.self, GetCPUDescriptorHandleForHeapStart, 9));
    CHECK(RETURNED(view, app.views.self, GetCPUDescriptorHandleForHeapStart, 9));
    CHECK(RETURNED(sampler_view, app.samplers.self, GetCPUDescriptorHandleForHeapStart, 9));
    app.device->CreateRenderTargetView(app.target, nullptr, target_view);
    app.device->CreateShaderResourceView(app.texture, nullptr, view);
    D3D12_CONSTANT_BUFFER_VIEW_DESC constants = {app.constants->GetGPUVirtualAddress(), 256};
    view.ptr += app.device->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    app.device->CreateConstantBufferView(&constants, view);
    D3D12_SAMPLER_DESC sampler = {};
    sampler.AddressU = sampler.AddressV = sampler.AddressW = D3D12_TEXTURE_ADDRESS_MODE_WRAP;
    app.device->CreateSampler(&sampler, sampler_view);

    D3D12_QUERY_HEAP_DESC queries = {D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 2, 0};
    CHECK(app.device->CreateQueryHeap(&queries, app.queries.id(), app.queries.out()) == S_OK);

    /* The buffer stays mapped. */
    unsigned char *bytes = nullptr;
    const D3D12_RANGE nothing = {0, 0};
    CHECK(app.upload->Map(0, &nothing, reinterpret_cast<void **>(&bytes)) == S_OK);
    for (UINT i = 0; i < PITCH * HEIGHT; i++) bytes[i] = static_cast<unsigned char>(i * 7);
    return true;
}

/* One frame: the copy queue uploads, the direct queue waits for it, clears, copies and reads back. */
static bool frame(application &app, UINT index) {
    auto &allocator = app.allocators[index % FRAMES];
    CHECK(allocator->Reset() == S_OK);
    CHECK(app.list->Reset(allocator, app.graphics) == S_OK);
    ID3D12DescriptorHeap *heaps[] = {app.views, app.samplers};
    app.list->SetDescriptorHeaps(2, heaps);
    app.list->SetGraphicsRootSignature(app.root_signature);
    app.list->SetGraphicsRootConstantBufferView(0, app.constants->GetGPUVirtualAddress());
    const D3D12_VIEWPORT viewport = {0, 0, float(WIDTH), float(HEIGHT), 0, 1};
    const D3D12_RECT scissor = {0, 0, LONG(WIDTH), LONG(HEIGHT)};
    app.list->RSSetViewports(1, &viewport);
    app.list->RSSetScissorRects(1, &scissor);
    app.list->EndQuery(app.queries, D3D12_QUERY_TYPE_TIMESTAMP, 0);

    if (index) {
        auto back = transition(app.texture, D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE, D3D12_RESOURCE_STATE_COPY_DEST);
        app.list->ResourceBarrier(1, &back);
    }
    D3D12_TEXTURE_COPY_LOCATION buffer = {}, image = {};
    buffer.pResource = app.upload;
    buffer.Type = D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT;
    buffer.PlacedFootprint.Footprint = {DXGI_FORMAT_R8G8B8A8_UNORM, WIDTH, HEIGHT, 1, PITCH};
    image.pResource = app.texture;
    image.Type = D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX;
    app.list->CopyTextureRegion(&image, 0, 0, 0, &buffer, nullptr);
    auto source = transition(app.texture, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
    app.list->ResourceBarrier(1, &source);

    D3D12_CPU_DESCRIPTOR_HANDLE target = {};
    CHECK(RETURNED(target, app.targets.self, GetCPUDescriptorHandleForHeapStart, 9));
    app.list->OMSetRenderTargets(1, &target, FALSE, nullptr);
    const float green[] = {0, 1, 0, 1};
    app.list->ClearRenderTargetView(target, green, 0, nullptr);
    app.list->IASetPrimitiveTopology(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
    auto done = transition(app.target, D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_STATE_COPY_SOURCE);
    app.list->ResourceBarrier(1, &done);

    buffer.pResource = app.readback;
    app.list->CopyTextureRegion(&buffer, 0, 0, 0, &image, nullptr);
    image.pResource = app.target;
    buffer.PlacedFootprint.Offset = PITCH * HEIGHT;
    app.list->CopyTextureRegion(&buffer, 0, 0, 0, &image, nullptr);
    const D3D12_RESOURCE_BARRIER ends[] = {
        transition(app.target, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_RENDER_TARGET),
        transition(app.texture, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE),
    };
    app.list->ResourceBarrier(2, ends);
    app.list->EndQuery(app.queries, D3D12_QUERY_TYPE_TIMESTAMP, 1);
    app.list->ResolveQueryData(app.queries, D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, app.readback, 2 * PITCH * HEIGHT);
    CHECK(app.list->Close() == S_OK);

    app.value++;
    CHECK(app.copy_queue->Signal(app.copy_fence, app.value) == S_OK);
    CHECK(app.queue->Wait(app.copy_fence, app.value) == S_OK);
    ID3D12CommandList *lists[] = {app.list};
    app.queue->ExecuteCommandLists(1, lists);
    CHECK(app.queue->Signal(app.fence, app.value) == S_OK);
    if (app.fence->GetCompletedValue() < app.value) {
        CHECK(app.fence->SetEventOnCompletion(app.value, app.event) == S_OK);
        CHECK(wait_for(app.event));
    }
    const unsigned char *found = nullptr;
    CHECK(app.readback->Map(0, nullptr, const_cast<void **>(reinterpret_cast<const void **>(&found))) == S_OK);
    bool is_same = true;
    for (UINT i = 0; i < PITCH * HEIGHT; i++) is_same = is_same && found[i] == static_cast<unsigned char>(i * 7);
    CHECK(is_same);
    static const unsigned char green_texel[] = {0, 255, 0, 255};
    CHECK(std::memcmp(found + PITCH * HEIGHT, green_texel, 4) == 0);
    const D3D12_RANGE nothing = {0, 0};
    app.readback->Unmap(0, &nothing);
    return true;
}

static bool run(const char *path) {
    void *library = open_library(path);
    CHECK(library);
    auto device_function = reinterpret_cast<create_device>(find(library, "D3D12CreateDevice"));
    auto debug_function = reinterpret_cast<get_debug_interface>(find(library, "D3D12GetDebugInterface"));
    auto choose = reinterpret_cast<choose_device>(find(library, "HeapwrightChooseDevice"));
    CHECK(device_function && debug_function && choose);
    CHECK(choose("no such GPU", nullptr) == E_INVALIDARG);
    CHECK(choose("uma", "sdk=619.4") == S_OK);
    held<ID3D12Debug> debug;
    CHECK(debug_function(debug.id(), debug.out()) == S_OK);
    debug->EnableDebugLayer();

    application app;
    CHECK(device_function(nullptr, D3D_FEATURE_LEVEL_11_0, app.device.id(), app.device.out()) == S_OK);
    CHECK(choose("discrete", nullptr) == E_FAIL);
    D3D12_FEATURE_DATA_ARCHITECTURE architecture = {};
    CHECK(app.device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof architecture) == S_OK);
    CHECK(architecture.UMA);

    D3D12_COMMAND_QUEUE_DESC direct = {}, copy = {};
    copy.Type = D3D12_COMMAND_LIST_TYPE_COPY;
    CHECK(app.device->CreateCommandQueue(&direct, app.queue.id(), app.queue.out()) == S_OK);
    CHECK(app.device->CreateCommandQueue(&copy, app.copy_queue.id(), app.copy_queue.out()) == S_OK);
    CHECK(app.device->CreateFence(0, D3D12_FENCE_FLAG_NONE, app.fence.id(), app.fence.out()) == S_OK);
    CHECK(app.device->CreateFence(0, D3D12_FENCE_FLAG_NONE, app.copy_fence.id(), app.copy_fence.out()) == S_OK);
    app.event = create_event();
    if (!ask(app.device) || !create_pipelines(app, library) || !create_resources(app)) return false;

    for (auto &allocator : app.allocators)
        CHECK(app.device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_DIRECT, allocator.id(), allocator.out()) == S_OK);
    CHECK(app.device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_DIRECT, app.allocators[0], app.graphics, app.list.id(), app.list.out()) == S_OK);
    CHECK(app.list->Close() == S_OK);
    CHECK(app.device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_BUNDLE, app.bundle_allocator.id(), app.bundle_allocator.out()) == S_OK);
    CHECK(app.device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_BUNDLE, app.bundle_allocator, app.graphics, app.bundle.id(), app.bundle.out()) == S_OK);
    CHECK(app.bundle->Close() == S_OK);
    for (UINT index = 0; index < 3; index++)
        if (!frame(app, index)) return false;

    held<ID3D12InfoQueue> messages;
    CHECK(app.device->QueryInterface(messages.id(), messages.out()) == S_OK);
    for (UINT64 i = 0; i < messages->GetNumStoredMessages(); i++) {
        alignas(8) static char room[4096];
        SIZE_T size = sizeof room;
        if (messages->GetMessage(i, reinterpret_cast<D3D12_MESSAGE *>(room), &size) == S_OK)
            std::printf("the debug layer: %s\n", reinterpret_cast<D3D12_MESSAGE *>(room)->pDescription);
    }
    CHECK(messages->GetNumStoredMessages() == 0);
    CHECK(app.device->GetDeviceRemovedReason() == S_OK);
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
