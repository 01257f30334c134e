/* Transient resources of frames: ITransientHeaps and ITransientResources. */
#include "environment.hpp"

#include <algorithm>

namespace hw = heapwright::d3d12;

static const UINT64 MIB = 1024 * 1024;
static const UINT STAGES = 4;

/* A description of a frame that owns its arrays. */
struct graph {
    struct pass {
        UINT queue;
        std::vector<hw::TRANSIENT_RESOURCE_USE> uses;
        std::vector<UINT> dependencies = {};
        BOOL may_be_skipped = FALSE;
    };
    std::vector<D3D12_COMMAND_LIST_TYPE> queues;
    std::vector<hw::TRANSIENT_RESOURCE> resources;
    std::vector<pass> passes;
    std::vector<hw::TRANSIENT_PASS> described;

    hw::TRANSIENT_FRAME frame() {
        described.clear();
        for (const pass &each : passes) {
            described.push_back({each.queue, each.may_be_skipped, UINT(each.uses.size()), each.uses.data(),
                UINT(each.dependencies.size()), each.dependencies.data()});
        }
        return {UINT(queues.size()), queues.data(), UINT(resources.size()), resources.data(), UINT(described.size()),
            described.data()};
    }

    HRESULT prepare(hw::ITransientHeaps *heaps, held<hw::ITransientResources> &out) {
        const hw::TRANSIENT_FRAME desc = frame();
        out.release();
        out.self = reinterpret_cast<hw::ITransientResources *>(16);
        const HRESULT result = heaps->Prepare(&desc, &out.self);
        EXPECT(SUCCEEDED(result) == (out.self != nullptr));
        return result;
    }
};

static D3D12_RESOURCE_DESC target_desc() {
    D3D12_RESOURCE_DESC desc = texture_desc(512, 512);
    desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    return desc;
}

/* Each pass fills a buffer of 1 MiB from the one before it. Two of them live at the same time. */
static graph chain(UINT stages = STAGES) {
    graph made = {{D3D12_COMMAND_LIST_TYPE_DIRECT}, {stages, {buffer_desc(MIB), nullptr}}, {}, {}};
    for (UINT number = 0; number <= stages; number++) {
        graph::pass pass = {0, {}};
        if (number < stages) pass.uses.push_back({number, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_COPY_DEST});
        if (number) pass.uses.push_back({number - 1, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_SOURCE});
        made.passes.push_back(pass);
    }
    return made;
}

/* The first pass draws to all of a texture, the second one to a part of another, and the third one copies the first to one in the memory of the
   second. */
static graph targets(const D3D12_CLEAR_VALUE *clear_value) {
    return {{D3D12_COMMAND_LIST_TYPE_DIRECT}, {3, {target_desc(), clear_value}},
        {{0, {{0, hw::TRANSIENT_USE_RENDER, D3D12_RESOURCE_STATE_RENDER_TARGET}}},
            {0, {{1, hw::TRANSIENT_USE_RENDER, D3D12_RESOURCE_STATE_RENDER_TARGET}}},
            {0, {{0, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_SOURCE},
                    {2, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_COPY_DEST}}}},
        {}};
}

static bool create_heaps(
    const environment &env, hw::BARRIER_MODEL barriers, held<hw::IAllocator> &allocator, held<hw::ITransientHeaps> &heaps) {
    const hw::ALLOCATOR_DESC desc = {};
    return EXPECT(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK)
           && EXPECT(allocator->CreateTransientHeaps(barriers, &heaps.self) == S_OK && heaps);
}

/* Returns the errors of the debug layer since `live_objects` was called. */
static unsigned reported_errors(const environment &env) {
    held<ID3D12InfoQueue> queue;
    if (!env.is_ours || env.device->QueryInterface(queue.id(), queue.out()) != S_OK) return 0;
    unsigned errors = 0;
    for (UINT64 index = 0; index < queue->GetNumStoredMessages(); index++) {
        SIZE_T length = 0;
        queue->GetMessage(index, nullptr, &length);
        std::vector<UINT64> bytes(length / 8 + 1);
        auto message = reinterpret_cast<D3D12_MESSAGE *>(bytes.data());
        if (queue->GetMessage(index, message, &length) != S_OK || message->Severity > D3D12_MESSAGE_SEVERITY_ERROR) continue;
        std::printf("debug layer: %s\n", message->pDescription);
        errors++;
    }
    return errors;
}

/* Frames that the GPU executes. */
static void executed(const environment &env, hw::BARRIER_MODEL wanted) {
    held<hw::IAllocator> allocator;
    held<hw::ITransientHeaps> heaps;
    direct_queue gpu;
    REQUIRE(create_heaps(env, wanted, allocator, heaps) && gpu.create(env));
    held<IResourceAllocation> input, output;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, MIB, &input.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_READBACK, MIB, &output.self) == S_OK);
    graph stages = chain();
    held<hw::ITransientResources> resources;
    REQUIRE(stages.prepare(heaps, resources) == S_OK);
    EXPECT(resources->GetSize() == 2 * MIB && resources->GetSubmissionCount() == 1);
    /* The first and the third stage have the same memory. */
    hw::TRANSIENT_PLACEMENT places[3] = {};
    held<ID3D12Resource> buffers[STAGES];
    for (UINT i = 0; i < STAGES; i++) REQUIRE(resources->GetResource(i, &buffers[i].self) == S_OK && buffers[i]);
    for (UINT i = 0; i < 3; i++) EXPECT(resources->GetPlacement(i, &places[i]) == S_OK && places[i].Heap == 0);
    EXPECT(places[0].Offset == places[2].Offset && places[0].Offset != places[1].Offset);
    EXPECT(places[0].Offset + places[1].Offset == MIB);
    for (int frame = 1; frame <= 3; frame++) {
        held<hw::ITransientResources> again;
        EXPECT(stages.prepare(heaps, again) == S_OK && again.self == resources.self);
        void *bytes = nullptr;
        REQUIRE(input->Map(0, nullptr, &bytes) == S_OK);
        std::memset(bytes, frame, MIB);
        input->Unmap(0, nullptr);
        for (UINT pass = 0; pass <= STAGES; pass++) {
            EXPECT(resources->BeginPass(gpu.recorded, pass) == S_OK);
            gpu.recorded->CopyBufferRegion(pass < STAGES ? buffers[pass].self : output->GetResource(), 0,
                pass ? buffers[pass - 1].self : input->GetResource(), 0, MIB);
            EXPECT(resources->EndPass(gpu.recorded, pass) == S_OK);
        }
        gpu.execute();
        REQUIRE(output->Map(0, nullptr, &bytes) == S_OK);
        auto read = static_cast<const char *>(bytes);
        EXPECT(std::all_of(read, read + MIB, [&](char byte) { return byte == frame; }));
        output->Unmap(0, nullptr);
    }

    D3D12_CLEAR_VALUE clear_value = {};
    clear_value.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    graph textures = targets(&clear_value);
    REQUIRE(textures.prepare(heaps, resources) == S_OK);
    held<ID3D12Resource> drawn[3];
    for (UINT i = 0; i < 3; i++) REQUIRE(resources->GetResource(i, &drawn[i].self) == S_OK);
    EXPECT(resources->GetSize() == 2 * MIB);
    held<ID3D12DescriptorHeap> views[2];
    D3D12_CPU_DESCRIPTOR_HANDLE view[2] = {};
    D3D12_DESCRIPTOR_HEAP_DESC views_desc = {};
    views_desc.Type = D3D12_DESCRIPTOR_HEAP_TYPE_RTV;
    views_desc.NumDescriptors = 1;
    for (UINT i = 0; i < 2; i++) {
        REQUIRE(env.device->CreateDescriptorHeap(&views_desc, views[i].id(), views[i].out()) == S_OK);
        REQUIRE(RETURNED(view[i], views[i].self, GetCPUDescriptorHandleForHeapStart, 9));
        env.device->CreateRenderTargetView(drawn[i], nullptr, view[i]);
    }
    /* In the state that the pass declared, active and initialised: otherwise the debug layer, which tracks aliasing, reports it. */
    const float color[4] = {};
    const D3D12_RECT part = {0, 0, 8, 8};
    for (int frame = 0; frame < 2; frame++) {
        for (UINT pass = 0; pass < 3; pass++) {
            EXPECT(resources->BeginPass(gpu.recorded, pass) == S_OK);
            if (pass == 2) gpu.recorded->CopyResource(drawn[2], drawn[0]);
            else gpu.recorded->ClearRenderTargetView(view[pass], color, pass, &part);
            EXPECT(resources->EndPass(gpu.recorded, pass) == S_OK);
        }
        gpu.execute();
    }
    /* A device without enhanced barriers has legacy ones, whatever is wanted. */
    D3D12_FEATURE_DATA_D3D12_OPTIONS12 options = {};
    const bool has_enhanced = env.device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS12, &options, sizeof options) == S_OK
                              && options.EnhancedBarriersSupported;
    EXPECT(resources->GetBarrierModel() == (has_enhanced ? wanted : hw::BARRIER_MODEL_LEGACY));

    EXPECT(resources->BeginPass(nullptr, 0) == E_POINTER && resources->EndPass(nullptr, 0) == E_POINTER);
    EXPECT(resources->BeginPass(gpu.recorded, 3) == E_INVALIDARG && resources->EndPass(gpu.recorded, 3) == E_INVALIDARG);
    EXPECT(gpu.recorded->Close() == S_OK);
    EXPECT(reported_errors(env) == 0);
}

/* The numbers of an array, for comparisons. */
static std::vector<UINT> numbers(const UINT *first, UINT count) { return {first, first + count}; }

/* Passes on two queues: who waits for whom. */
static void queues(hw::ITransientHeaps *heaps) {
    const auto written = [](UINT resource) {
        return hw::TRANSIENT_RESOURCE_USE{resource, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_COPY_DEST};
    };
    const auto read = [](UINT resource) {
        return hw::TRANSIENT_RESOURCE_USE{resource, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_SOURCE};
    };
    for (auto second : {D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY}) {
        graph made = {{D3D12_COMMAND_LIST_TYPE_DIRECT, second}, {3, {buffer_desc(MIB), nullptr}},
            {{0, {written(0)}}, {0, {read(0)}}, {1, {read(0), written(1)}, {1}}, {0, {read(1), written(2)}, {2}}}, {}};
        held<hw::ITransientResources> resources;
        REQUIRE(made.prepare(heaps, resources) == S_OK && resources->GetSubmissionCount() == 3);
        const struct {
            UINT queue;
            std::vector<UINT> passes, waits, previous;
        } expected[] = {{0, {0, 1}, {}, {1}}, {1, {2}, {0}, {0}}, {0, {3}, {1}, {}}};
        for (UINT i = 0; i < 3; i++) {
            hw::TRANSIENT_SUBMISSION got = {};
            REQUIRE(resources->GetSubmission(i, &got) == S_OK);
            EXPECT(got.Queue == expected[i].queue && numbers(got.pPasses, got.PassCount) == expected[i].passes);
            EXPECT(numbers(got.pWaits, got.WaitCount) == expected[i].waits);
            EXPECT(numbers(got.pPreviousFrameWaits, got.PreviousFrameWaitCount) == expected[i].previous);
        }
        hw::TRANSIENT_SUBMISSION none = {};
        EXPECT(resources->GetSubmission(3, &none) == E_INVALIDARG && resources->GetSubmission(0, nullptr) == E_POINTER);
        hw::TRANSIENT_PLACEMENT place = {};
        EXPECT(resources->GetPlacement(3, &place) == E_INVALIDARG && resources->GetPlacement(0, nullptr) == E_POINTER);
        held<ID3D12Resource> resource;
        EXPECT(resources->GetResource(3, &resource.self) == E_INVALIDARG && !resource);
        EXPECT(resources->GetResource(0, nullptr) == E_POINTER);
    }
}

/* What permits which use of a resource that an earlier pass wrote or did not. */
static void uses(hw::ITransientHeaps *heaps) {
    const auto buffer = buffer_desc(MIB, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    const struct {
        bool is_target, is_written;
        hw::TRANSIENT_USE use;
        D3D12_RESOURCE_STATES state;
        HRESULT result;
        D3D12_COMMAND_LIST_TYPE queue = D3D12_COMMAND_LIST_TYPE_DIRECT;
    } rows[] = {{false, true, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_SOURCE, S_OK},
        {false, false, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_SOURCE, E_INVALIDARG},
        {false, true, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_DEST, E_INVALIDARG},
        {true, false, hw::TRANSIENT_USE_RENDER, D3D12_RESOURCE_STATE_RENDER_TARGET, S_OK},
        {true, false, hw::TRANSIENT_USE_RENDER, D3D12_RESOURCE_STATE_RESOLVE_DEST, S_OK},
        {false, false, hw::TRANSIENT_USE_RENDER, D3D12_RESOURCE_STATE_RENDER_TARGET, E_INVALIDARG},
        {true, false, hw::TRANSIENT_USE_CLEAR, D3D12_RESOURCE_STATE_RENDER_TARGET, S_OK},
        {true, false, hw::TRANSIENT_USE_CLEAR, D3D12_RESOURCE_STATE_RESOLVE_DEST, E_INVALIDARG},
        {false, false, hw::TRANSIENT_USE_CLEAR, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, S_OK},
        {false, false, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_COPY_DEST, S_OK},
        {false, false, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, E_INVALIDARG},
        {false, false, hw::TRANSIENT_USE_WRITE_UNORDERED, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, S_OK},
        {true, false, hw::TRANSIENT_USE_WRITE_UNORDERED, D3D12_RESOURCE_STATE_RENDER_TARGET, E_INVALIDARG},
        {false, false, hw::TRANSIENT_USE_WRITE_UNORDERED, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, S_OK, D3D12_COMMAND_LIST_TYPE_COMPUTE},
        {false, false, hw::TRANSIENT_USE_WRITE_UNORDERED, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, E_INVALIDARG,
            D3D12_COMMAND_LIST_TYPE_COPY},
        {true, false, hw::TRANSIENT_USE_RENDER, D3D12_RESOURCE_STATE_RENDER_TARGET, E_INVALIDARG, D3D12_COMMAND_LIST_TYPE_COMPUTE},
        {false, true, hw::TRANSIENT_USE_UPDATE, D3D12_RESOURCE_STATE_COPY_DEST, S_OK},
        {false, false, hw::TRANSIENT_USE_UPDATE, D3D12_RESOURCE_STATE_COPY_DEST, E_INVALIDARG},
        {false, true, hw::TRANSIENT_USE_UPDATE, D3D12_RESOURCE_STATE_COPY_SOURCE, E_INVALIDARG},
        {false, true, hw::TRANSIENT_USE(6), D3D12_RESOURCE_STATE_COPY_SOURCE, E_INVALIDARG}};
    for (const auto &row : rows) {
        graph made = {{row.queue}, {{row.is_target ? target_desc() : buffer, nullptr}}, {}, {}};
        if (row.is_written) made.passes.push_back({0, {{0, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_COPY_DEST}}});
        made.passes.push_back({0, {{0, row.use, row.state}}});
        held<hw::ITransientResources> resources;
        if (!EXPECT(made.prepare(heaps, resources) == row.result)) std::printf("use %d in state %#x\n", row.use, unsigned(row.state));
    }
}

/* Descriptions of which one member is wrong. */
static void wrong_frames(hw::ITransientHeaps *heaps) {
    held<hw::ITransientResources> resources;
    const auto refused = [&](HRESULT expected, std::function<void(graph &)> change) {
        graph made = chain();
        change(made);
        EXPECT(made.prepare(heaps, resources) == expected);
    };
    const UINT past = STAGES + 1;
    refused(S_OK, [](graph &) {});
    refused(E_INVALIDARG, [](graph &made) { made.queues[0] = D3D12_COMMAND_LIST_TYPE_BUNDLE; });
    refused(E_INVALIDARG, [](graph &made) { made.passes[1].queue = 1; });
    refused(E_INVALIDARG, [](graph &made) { made.passes[1].uses[0].Resource = STAGES; });
    refused(E_INVALIDARG, [](graph &made) { made.passes[1].dependencies = {1}; });
    refused(E_INVALIDARG, [&](graph &made) { made.passes[1].dependencies = {past}; });
    refused(S_OK, [](graph &made) { made.passes[1].dependencies = {0}; });
    refused(E_INVALIDARG, [](graph &made) { made.resources[0].Desc.Width = 0; });
    const D3D12_CLEAR_VALUE clear_value = {};
    refused(E_INVALIDARG, [&](graph &made) { made.resources[0].pClearValue = &clear_value; });

    /* The arrays. */
    graph made = chain();
    const hw::TRANSIENT_FRAME whole = made.frame();
    EXPECT(heaps->Prepare(nullptr, &resources.self) == E_POINTER && !resources);
    EXPECT(heaps->Prepare(&whole, nullptr) == E_POINTER);
    hw::TRANSIENT_FRAME part = whole;
    part.pQueues = nullptr;
    EXPECT(heaps->Prepare(&part, &resources.self) == E_POINTER && !resources);
    part = whole;
    part.pResources = nullptr;
    EXPECT(heaps->Prepare(&part, &resources.self) == E_POINTER && !resources);
    part = whole;
    part.pPasses = nullptr;
    EXPECT(heaps->Prepare(&part, &resources.self) == E_POINTER && !resources);
    made.described[2].pUses = nullptr;
    EXPECT(heaps->Prepare(&whole, &resources.self) == E_POINTER && !resources);
    made.frame();
    made.described[2].DependencyCount = 1;
    made.described[2].pDependencies = nullptr;
    EXPECT(heaps->Prepare(&whole, &resources.self) == E_POINTER && !resources);
    /* A frame of nothing. */
    const hw::TRANSIENT_FRAME empty = {};
    EXPECT(heaps->Prepare(&empty, &resources.self) == S_OK && resources && resources->GetSize() == 0);
    EXPECT(resources->GetSubmissionCount() == 0);
}

/* What follows from MayBeSkipped, and when the memory is free. */
static void memory(hw::IAllocator *allocator, hw::ITransientHeaps *heaps) {
    const auto used = [&] {
        RESOURCE_ALLOCATOR_STATS stats = {};
        EXPECT(allocator->QueryStats(&stats) == S_OK);
        return stats.UsedHeapUsage;
    };
    EXPECT(used() == 0);
    graph stages = chain(), others = chain(3);
    held<hw::ITransientResources> first, second;
    REQUIRE(stages.prepare(heaps, first) == S_OK);
    hw::ITransientResources *const before = first;
    EXPECT(used() == 2 * MIB);
    /* Another frame is another object, in the same memory as it is on the same queue. */
    REQUIRE(others.prepare(heaps, second) == S_OK);
    EXPECT(second.self != before && second->GetSize() == 2 * MIB && used() == 2 * MIB);
    second.release();
    EXPECT(stages.prepare(heaps, second) == S_OK && second.self != before);
    first.release();
    second.release();
    EXPECT(used() == 2 * MIB && heaps->ReleaseFrame() == S_OK && used() == 0);
    /* A resource that others read, and whose first pass some frames skip, shares no memory. */
    stages.passes[2].may_be_skipped = TRUE;
    REQUIRE(stages.prepare(heaps, first) == S_OK);
    EXPECT(first->GetSize() == 3 * MIB && heaps->ReleaseFrame() == S_OK && used() == 3 * MIB);
    first.release();
    EXPECT(used() == 0);
}

/* The heaps of a frame in the residency list of its command list. */
static void residency(const environment &env) {
    held<IResidencyManager> manager;
    held<hw::IAllocator> allocator;
    held<hw::ITransientHeaps> heaps;
    held<hw::ITransientResources> resources;
    held<IResidencyList> list;
    direct_queue gpu;
    const hw::ALLOCATOR_DESC desc = {};
    REQUIRE(CreateResidencyManager({}, env.device, env.dxgi3(), &manager.self) == S_OK && gpu.create(env));
    REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), manager, &allocator.self) == S_OK);
    REQUIRE(allocator->CreateTransientHeaps(hw::BARRIER_MODEL_LEGACY, &heaps.self) == S_OK);
    REQUIRE(chain().prepare(heaps, resources) == S_OK && CreateResidencyList(&list.self) == S_OK);
    EXPECT(resources->AddToResidencyList(nullptr) == E_POINTER);
    EXPECT(resources->AddToResidencyList(reinterpret_cast<IResidencyList *>(heaps.self)) == E_INVALIDARG);
    EXPECT(resources->AddToResidencyList(list) == S_OK);
    EXPECT(gpu.recorded->Close() == S_OK);
    ID3D12CommandList *lists[] = {gpu.recorded};
    EXPECT(manager->ExecuteCommandLists(gpu.queue, lists, &list.self, 1) == S_OK);
    gpu.wait();
    /* The list does not keep the heaps, and these keep the allocator. Any of them may be released before the others. */
    held<IResourceAllocation> buffer;
    held<IResourceAllocator> same;
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, MIB, &buffer.self) == S_OK && allocator.release() == 0);
    EXPECT(buffer->GetResourceAllocator(&same.self) == S_OK && same.release() == 0);
    heaps.release();
    EXPECT(buffer->GetResourceAllocator(&same.self) == E_FAIL && !same);
    EXPECT(manager->ExecuteCommandLists(gpu.queue, lists, &list.self, 1) == S_OK);
    gpu.wait();
    resources.release();
    /* On resource heap tier 1, the buffer keeps the empty heap, which is one of its kind. */
    buffer.release();
    EXPECT(manager->ExecuteCommandLists(gpu.queue, lists, &list.self, 1) == E_INVALIDARG);
}

void test_transient_frames(const environment &env) {
    executed(env, hw::BARRIER_MODEL_ENHANCED);
    executed(env, hw::BARRIER_MODEL_LEGACY);
    residency(env);
    held<hw::IAllocator> allocator;
    held<hw::ITransientHeaps> heaps, none;
    REQUIRE(create_heaps(env, hw::BARRIER_MODEL_LEGACY, allocator, heaps));
    EXPECT(allocator->CreateTransientHeaps(hw::BARRIER_MODEL(2), &none.self) == E_INVALIDARG && !none);
    EXPECT(allocator->CreateTransientHeaps(hw::BARRIER_MODEL_LEGACY, nullptr) == E_POINTER);
    memory(allocator, heaps);
    queues(heaps);
    uses(heaps);
    wrong_frames(heaps);
    /* Without a manager, nothing is added. */
    held<hw::ITransientResources> resources;
    held<IResidencyList> list;
    REQUIRE(chain().prepare(heaps, resources) == S_OK && CreateResidencyList(&list.self) == S_OK);
    EXPECT(resources->AddToResidencyList(list) == S_OK);
}
