/*
 * Fills four heaps of a pool, releases most of the buffers, and moves what is left into one heap: the GPU copies each buffer to
 * its new place, and the heaps that are empty then are released.
 */
#include "device.hpp"

#include <heapwright_d3d12.h>

#include <cstring>

using namespace gpgmm::d3d12;
namespace hw = heapwright::d3d12;

static const UINT64 BUFFER_SIZE = 512 << 10;
static const UINT BUFFER_COUNT = 32;

/* A queue whose work ends before `run` returns. */
struct copies {
    owned<ID3D12CommandQueue> queue;
    owned<ID3D12CommandAllocator> memory;
    owned<ID3D12GraphicsCommandList> list;
    owned<ID3D12Fence> fence;
    UINT64 value = 0;

    HRESULT create(ID3D12Device *device) {
        D3D12_COMMAND_QUEUE_DESC desc = {};
        desc.Type = D3D12_COMMAND_LIST_TYPE_COPY;
        HRESULT result = device->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), queue.any());
        if (SUCCEEDED(result)) result = device->CreateCommandAllocator(desc.Type, __uuidof(ID3D12CommandAllocator), memory.any());
        if (SUCCEEDED(result)) {
            result = device->CreateCommandList(
                0, desc.Type, memory.pointer, nullptr, __uuidof(ID3D12GraphicsCommandList), list.any());
        }
        if (SUCCEEDED(result)) result = device->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.any());
        return result;
    }

    HRESULT run() {
        HRESULT result = list->Close();
        if (FAILED(result)) return result;
        ID3D12CommandList *lists[] = {list.pointer};
        queue->ExecuteCommandLists(1, lists);
        result = queue->Signal(fence.pointer, ++value);
        /* A null event: the call returns when the value is reached. */
        if (SUCCEEDED(result)) result = fence->SetEventOnCompletion(value, nullptr);
        if (SUCCEEDED(result)) result = memory->Reset();
        if (SUCCEEDED(result)) result = list->Reset(memory.pointer, nullptr);
        return result;
    }
};

/* Carries out the moves of one step. */
static HRESULT carry_out(copies &gpu, hw::IMove **moves, UINT count, owned<IResourceAllocation> *buffers) {
    for (UINT i = 0; i < count; i++) {
        IResourceAllocation *buffer = buffers[moves[i]->GetUserData()].pointer;
        owned<ID3D12Resource> target;
        HRESULT result = moves[i]->CreateResource(buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, target.out());
        if (FAILED(result)) return result;
        gpu.list->CopyBufferRegion(target.pointer, 0, buffer->GetResource(), 0, BUFFER_SIZE);
    }
    HRESULT result = gpu.run();
    for (UINT i = 0; i < count && SUCCEEDED(result); i++) {
        result = moves[i]->Complete(buffers[moves[i]->GetUserData()].pointer);
    }
    return result;
}

/* Copies the first byte of each buffer between CPU and GPU. `staging` is mapped. */
static HRESULT copy_first_bytes(copies &gpu, owned<IResourceAllocation> *buffers, IResourceAllocation *staging, bool to_gpu) {
    for (UINT i = 0; i < BUFFER_COUNT; i++) {
        if (!buffers[i].pointer) continue;
        ID3D12Resource *buffer = buffers[i]->GetResource();
        if (to_gpu) gpu.list->CopyBufferRegion(buffer, 0, staging->GetResource(), i, 1);
        else gpu.list->CopyBufferRegion(staging->GetResource(), i, buffer, 0, 1);
    }
    return gpu.run();
}

static HRESULT defragmentation(ID3D12Device *device) {
    hw::ALLOCATOR_DESC allocator_desc = {};
    allocator_desc.Base.MinLogLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    owned<hw::IAllocator> allocator;
    HRESULT result = hw::CreateAllocator(allocator_desc, device, nullptr, nullptr, allocator.out());
    if (FAILED(result)) return result;
    copies gpu;
    result = gpu.create(device);
    if (FAILED(result)) return result;

    hw::POOL_DESC pool_desc = {};
    pool_desc.Name = L"meshes";
    pool_desc.HeapSize = 8 * BUFFER_SIZE;
    owned<hw::IPool> pool;
    result = allocator->CreatePool(&pool_desc, pool.out());
    if (FAILED(result)) return result;
    owned<IResourceAllocation> buffers[BUFFER_COUNT], upload, readback;
    for (UINT i = 0; i < BUFFER_COUNT && SUCCEEDED(result); i++) {
        hw::ALLOCATION_DESC desc = {};
        desc.pPool = pool.pointer;
        desc.UserData = i; /* a move says by this which buffer it is for */
        const D3D12_RESOURCE_DESC buffer = buffer_of(BUFFER_SIZE);
        result = allocator->CreateResource1(&desc, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, buffers[i].out());
    }
    RESOURCE_ALLOCATION_DESC staging = {};
    if (SUCCEEDED(result)) {
        result = allocator->CreateResource(staging, buffer_of(BUFFER_COUNT), D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, upload.out());
    }
    if (SUCCEEDED(result)) {
        result = allocator->CreateResource(staging, buffer_of(BUFFER_COUNT), D3D12_RESOURCE_STATE_COPY_DEST, nullptr, readback.out());
    }
    void *bytes = nullptr;
    if (SUCCEEDED(result)) result = upload->Map(0, nullptr, &bytes);
    if (FAILED(result)) return result;
    for (UINT i = 0; i < BUFFER_COUNT; i++) static_cast<unsigned char *>(bytes)[i] = static_cast<unsigned char>(100 + i);
    upload->Unmap(0, nullptr);
    result = copy_first_bytes(gpu, buffers, upload.pointer, true);
    if (FAILED(result)) return result;

    for (UINT i = 0; i < BUFFER_COUNT; i++) {
        if (i % 8) buffers[i].reset();
    }
    owned<hw::IDefragmentation> run;
    result = allocator->Defragment(pool.pointer, run.out());
    hw::DEFRAGMENTATION_STATE state = hw::DEFRAGMENTATION_STATE_PLANNING;
    /* A game makes one step in each frame, and completes its moves when the GPU has finished that frame. */
    while (SUCCEEDED(result) && state != hw::DEFRAGMENTATION_STATE_FINISHED) {
        hw::IMove *moves[2];
        UINT count = 0;
        result = run->Step(nullptr, 2, moves, &count, &state);
        if (SUCCEEDED(result)) result = carry_out(gpu, moves, count, buffers);
        for (UINT i = 0; i < count; i++) moves[i]->Release();
    }
    hw::DEFRAGMENTATION_PROGRESS progress = {};
    if (SUCCEEDED(result)) result = run->GetProgress(&progress);
    if (SUCCEEDED(result)) result = copy_first_bytes(gpu, buffers, readback.pointer, false);
    if (SUCCEEDED(result)) result = readback->Map(0, nullptr, &bytes);
    if (FAILED(result)) return result;
    unsigned intact = 0;
    for (UINT i = 0; i < BUFFER_COUNT; i += 8) intact += static_cast<unsigned char *>(bytes)[i] == 100 + i;
    readback->Unmap(0, nullptr);
    std::printf("%llu moves, %llu heaps released, %u buffers intact\n", static_cast<unsigned long long>(progress.MoveCount),
        static_cast<unsigned long long>(progress.HeapsReleased), intact);
    return intact == BUFFER_COUNT / 8 ? S_OK : E_FAIL;
}

int main(int count, char **arguments) { return run_example(count, arguments, defragmentation); }
