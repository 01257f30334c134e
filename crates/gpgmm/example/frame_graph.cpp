/*
 * A frame graph whose resources share memory: data goes from stage to stage, each a pass with a buffer of its own, one of them on a copy
 * queue. Only two of the four buffers live at the same time.
 */
#include "device.hpp"

#include <heapwright_d3d12.h>

#include <cstring>
#include <utility>
#include <vector>

using namespace gpgmm::d3d12;
namespace hw = heapwright::d3d12;

static const UINT STAGES = 4, PASSES = STAGES + 1;
static const UINT64 STAGE_SIZE = 1 << 20;
static const D3D12_COMMAND_LIST_TYPE QUEUES[] = {D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COPY};

/* A queue of the frame, with a fence that it signals behind each submission. */
struct frame_queue {
    owned<ID3D12CommandQueue> queue;
    owned<ID3D12Fence> fence;
    UINT64 value = 0;

    HRESULT create(ID3D12Device *device, D3D12_COMMAND_LIST_TYPE type) {
        D3D12_COMMAND_QUEUE_DESC desc = {};
        desc.Type = type;
        HRESULT result = device->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), queue.any());
        if (SUCCEEDED(result)) result = device->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.any());
        return result;
    }
};

/* The command list of a submission. */
struct recording {
    hw::TRANSIENT_SUBMISSION submission = {};
    owned<ID3D12CommandAllocator> memory;
    owned<ID3D12GraphicsCommandList> list;
    UINT64 value = 0; /* of the queue's fence, when the submission is done */

    HRESULT create(ID3D12Device *device, hw::ITransientResources *resources, UINT index) {
        HRESULT result = resources->GetSubmission(index, &submission);
        const auto type = QUEUES[submission.Queue];
        if (SUCCEEDED(result)) result = device->CreateCommandAllocator(type, __uuidof(ID3D12CommandAllocator), memory.any());
        if (SUCCEEDED(result)) {
            result = device->CreateCommandList(0, type, memory.pointer, nullptr, __uuidof(ID3D12GraphicsCommandList), list.any());
        }
        return result;
    }
};

struct frame_graph {
    /* The frame: which pass uses which resource, and how. */
    hw::TRANSIENT_RESOURCE stages[STAGES] = {};
    hw::TRANSIENT_RESOURCE_USE uses[PASSES][2] = {};
    UINT dependencies[PASSES] = {};
    hw::TRANSIENT_PASS passes[PASSES] = {};
    hw::TRANSIENT_FRAME frame = {};

    owned<hw::ITransientHeaps> heaps;
    owned<hw::ITransientResources> resources;
    owned<ID3D12Resource> buffers[STAGES];
    std::vector<recording> recordings;
    frame_queue queues[2];

    frame_graph() {
        for (auto &stage : stages) stage.Desc = buffer_of(STAGE_SIZE);
        for (UINT n = 0; n < PASSES; n++) {
            hw::TRANSIENT_PASS &pass = passes[n];
            pass.Queue = n == 2;
            pass.pUses = uses[n];
            if (n < STAGES) uses[n][pass.UseCount++] = {n, hw::TRANSIENT_USE_COPY_ALL, D3D12_RESOURCE_STATE_COPY_DEST};
            if (n > 0) uses[n][pass.UseCount++] = {n - 1, hw::TRANSIENT_USE_READ, D3D12_RESOURCE_STATE_COPY_SOURCE};
            /* On another queue than the pass before: it has to wait for it. */
            dependencies[n] = n - 1;
            pass.DependencyCount = n > 0 && passes[n - 1].Queue != pass.Queue;
            pass.pDependencies = &dependencies[n];
        }
        frame = {2, QUEUES, STAGES, stages, PASSES, passes};
    }

    /* Plans the frame. An engine calls this in every frame: nothing happens until the description changes. */
    HRESULT prepare(ID3D12Device *device) {
        owned<hw::ITransientResources> now;
        HRESULT result = heaps->Prepare(&frame, now.out());
        if (FAILED(result) || now.pointer == resources.pointer) return result;
        /* The GPU is done with the last ones: `execute` waits. */
        std::swap(resources.pointer, now.pointer);
        for (UINT n = 0; n < STAGES && SUCCEEDED(result); n++) {
            buffers[n].reset();
            result = resources->GetResource(n, buffers[n].out());
        }
        recordings = std::vector<recording>(resources->GetSubmissionCount());
        for (UINT n = 0; n < recordings.size() && SUCCEEDED(result); n++) {
            result = recordings[n].create(device, resources.pointer, n);
            if (SUCCEEDED(result)) result = recordings[n].list->Close();
        }
        return result;
    }

    /* Records a submission. They could be recorded in any order and by several threads. */
    HRESULT record(recording &work, ID3D12Resource *input, ID3D12Resource *output) {
        HRESULT result = work.memory->Reset();
        if (SUCCEEDED(result)) result = work.list->Reset(work.memory.pointer, nullptr);
        for (UINT n = 0; n < work.submission.PassCount && SUCCEEDED(result); n++) {
            const UINT pass = work.submission.pPasses[n];
            result = resources->BeginPass(work.list.pointer, pass);
            if (FAILED(result)) break;
            ID3D12Resource *source = pass > 0 ? buffers[pass - 1].pointer : input;
            work.list->CopyBufferRegion(pass < STAGES ? buffers[pass].pointer : output, 0, source, 0, STAGE_SIZE);
            result = resources->EndPass(work.list.pointer, pass);
        }
        return SUCCEEDED(result) ? work.list->Close() : result;
    }

    /* Executes a frame, and waits for it. */
    HRESULT execute(ID3D12Resource *input, ID3D12Resource *output) {
        HRESULT result = S_OK;
        const UINT64 last_frame[2] = {queues[0].value, queues[1].value};
        for (auto &work : recordings) {
            if (SUCCEEDED(result)) result = record(work, input, output);
            if (FAILED(result)) return result;
            const hw::TRANSIENT_SUBMISSION &submission = work.submission;
            frame_queue &on = queues[submission.Queue];
            for (UINT n = 0; n < submission.WaitCount && SUCCEEDED(result); n++) {
                const recording &other = recordings[submission.pWaits[n]];
                result = on.queue->Wait(queues[other.submission.Queue].fence.pointer, other.value);
            }
            for (UINT n = 0; n < submission.PreviousFrameWaitCount && SUCCEEDED(result); n++) {
                const UINT other = submission.pPreviousFrameWaits[n];
                result = on.queue->Wait(queues[other].fence.pointer, last_frame[other]);
            }
            ID3D12CommandList *lists[] = {work.list.pointer};
            on.queue->ExecuteCommandLists(1, lists);
            work.value = ++on.value;
            if (SUCCEEDED(result)) result = on.queue->Signal(on.fence.pointer, work.value);
        }
        /* A null event: the call returns when the value is reached. An engine waits for the frame before the last one. */
        for (auto &queue : queues) {
            if (SUCCEEDED(result)) result = queue.fence->SetEventOnCompletion(queue.value, nullptr);
        }
        return result;
    }
};

static HRESULT run(ID3D12Device *device, IDXGIAdapter *) {
    hw::ALLOCATOR_DESC desc = {};
    desc.Base.MinLogLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    owned<hw::IAllocator> allocator;
    HRESULT result = hw::CreateAllocator(desc, device, nullptr, nullptr, allocator.out());
    if (FAILED(result)) return result;
    RESOURCE_ALLOCATION_DESC staging = {};
    owned<IResourceAllocation> input, output;
    result = allocator->CreateResource(staging, buffer_of(STAGE_SIZE), D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, input.out());
    if (SUCCEEDED(result)) {
        result = allocator->CreateResource(staging, buffer_of(STAGE_SIZE), D3D12_RESOURCE_STATE_COPY_DEST, nullptr, output.out());
    }
    frame_graph graph;
    for (UINT n = 0; n < 2 && SUCCEEDED(result); n++) result = graph.queues[n].create(device, QUEUES[n]);
    if (SUCCEEDED(result)) result = allocator->CreateTransientHeaps(hw::BARRIER_MODEL_ENHANCED, graph.heaps.out());

    unsigned as_expected = 0;
    for (int number = 1; number <= 3 && SUCCEEDED(result); number++) {
        void *bytes = nullptr;
        result = graph.prepare(device);
        if (SUCCEEDED(result)) result = input->Map(0, nullptr, &bytes);
        if (FAILED(result)) return result;
        std::memset(bytes, number, STAGE_SIZE);
        input->Unmap(0, nullptr);
        result = graph.execute(input->GetResource(), output->GetResource());
        if (SUCCEEDED(result)) result = output->Map(0, nullptr, &bytes);
        if (FAILED(result)) return result;
        as_expected += static_cast<unsigned char *>(bytes)[STAGE_SIZE - 1] == number;
        output->Unmap(0, nullptr);
        result = allocator->OnFrame();
    }
    if (FAILED(result)) return result;
    std::printf("%u stages of 1 MiB in %llu MiB, %u submissions, %u frames as expected\n", STAGES,
        static_cast<unsigned long long>(graph.resources->GetSize() >> 20), graph.resources->GetSubmissionCount(), as_expected);
    return as_expected == 3 ? S_OK : E_FAIL;
}

int main(int count, char **arguments) { return run_example(count, arguments, run); }
