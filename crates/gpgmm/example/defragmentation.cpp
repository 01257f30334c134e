/*
 * Fills four heaps of a pool, releases most of the buffers, and moves what is left into one heap: the GPU copies each buffer to
 * its new place, and the heaps that are empty then are released.
 */
#include "device.hpp"

#include <D3D12MemAlloc.h>

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

/* Carries out the moves of one pass. */
static HRESULT carry_out(copies &gpu, D3D12MA::Allocator *allocator, const D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO &pass) {
    for (UINT i = 0; i < pass.MoveCount; i++) {
        D3D12MA::Allocation *source = pass.pMoves[i].pSrcAllocation, *place = pass.pMoves[i].pDstTmpAllocation;
        const D3D12_RESOURCE_DESC desc = buffer_of(BUFFER_SIZE);
        owned<ID3D12Resource> target;
        HRESULT result = allocator->CreateAliasingResource(
            place, 0, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, __uuidof(ID3D12Resource), target.any());
        if (FAILED(result)) return result;
        gpu.list->CopyBufferRegion(target.pointer, 0, source->GetResource(), 0, BUFFER_SIZE);
        place->SetResource(target.pointer);
    }
    return gpu.run();
}

/* Copies the first byte of each buffer between CPU and GPU. `staging` is mapped. */
static HRESULT copy_first_bytes(copies &gpu, owned<D3D12MA::Allocation> *buffers, D3D12MA::Allocation *staging, bool to_gpu) {
    for (UINT i = 0; i < BUFFER_COUNT; i++) {
        if (!buffers[i].pointer) continue;
        ID3D12Resource *buffer = buffers[i]->GetResource();
        if (to_gpu) gpu.list->CopyBufferRegion(buffer, 0, staging->GetResource(), i, 1);
        else gpu.list->CopyBufferRegion(staging->GetResource(), i, buffer, 0, 1);
    }
    return gpu.run();
}

static HRESULT defragmentation(ID3D12Device *device, IDXGIAdapter *adapter) {
    D3D12MA::ALLOCATOR_DESC allocator_desc = {};
    allocator_desc.Flags = D3D12MA_RECOMMENDED_ALLOCATOR_FLAGS;
    allocator_desc.pDevice = device;
    allocator_desc.pAdapter = adapter;
    owned<D3D12MA::Allocator> allocator;
    HRESULT result = D3D12MA::CreateAllocator(&allocator_desc, allocator.out());
    if (FAILED(result)) return result;
    copies gpu;
    result = gpu.create(device);
    if (FAILED(result)) return result;

    const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA_RECOMMENDED_POOL_FLAGS,
        8 * BUFFER_SIZE);
    owned<D3D12MA::Pool> pool;
    result = allocator->CreatePool(&pool_desc, pool.out());
    if (FAILED(result)) return result;
    owned<D3D12MA::Allocation> buffers[BUFFER_COUNT], upload, readback;
    const auto create = [&](const D3D12MA::ALLOCATION_DESC &place, UINT64 size, D3D12_RESOURCE_STATES state, owned<D3D12MA::Allocation> &out) {
        const D3D12_RESOURCE_DESC desc = buffer_of(size);
        return allocator->CreateResource(&place, &desc, state, nullptr, out.out(), GUID{}, nullptr);
    };
    const D3D12MA::CALLOCATION_DESC in_pool(pool.pointer), in_upload(D3D12_HEAP_TYPE_UPLOAD), in_readback(D3D12_HEAP_TYPE_READBACK);
    for (UINT i = 0; i < BUFFER_COUNT && SUCCEEDED(result); i++) {
        result = create(in_pool, BUFFER_SIZE, D3D12_RESOURCE_STATE_COMMON, buffers[i]);
    }
    if (SUCCEEDED(result)) result = create(in_upload, BUFFER_COUNT, D3D12_RESOURCE_STATE_GENERIC_READ, upload);
    if (SUCCEEDED(result)) result = create(in_readback, BUFFER_COUNT, D3D12_RESOURCE_STATE_COPY_DEST, readback);
    void *bytes = nullptr;
    if (SUCCEEDED(result)) result = upload->GetResource()->Map(0, nullptr, &bytes);
    if (FAILED(result)) return result;
    for (UINT i = 0; i < BUFFER_COUNT; i++) static_cast<unsigned char *>(bytes)[i] = static_cast<unsigned char>(100 + i);
    upload->GetResource()->Unmap(0, nullptr);
    result = copy_first_bytes(gpu, buffers, upload.pointer, true);
    if (FAILED(result)) return result;

    for (UINT i = 0; i < BUFFER_COUNT; i++) {
        if (i % 8) buffers[i].reset();
    }
    const D3D12MA::DEFRAGMENTATION_DESC desc = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_BALANCED, 0, 2};
    owned<D3D12MA::DefragmentationContext> run;
    result = pool->BeginDefragmentation(&desc, run.out());
    /* A game makes one pass in each frame, and ends it when the GPU has finished that frame. */
    for (bool is_done = false; SUCCEEDED(result) && !is_done;) {
        D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
        result = run->BeginPass(&pass);
        is_done = result == S_OK;
        if (result == S_FALSE) result = carry_out(gpu, allocator.pointer, pass);
        if (SUCCEEDED(result) && !is_done) is_done = run->EndPass(&pass) == S_OK;
    }
    D3D12MA::DEFRAGMENTATION_STATS stats = {};
    if (SUCCEEDED(result)) run->GetStats(&stats);
    if (SUCCEEDED(result)) result = copy_first_bytes(gpu, buffers, readback.pointer, false);
    if (SUCCEEDED(result)) result = readback->GetResource()->Map(0, nullptr, &bytes);
    if (FAILED(result)) return result;
    unsigned intact = 0;
    for (UINT i = 0; i < BUFFER_COUNT; i += 8) intact += static_cast<unsigned char *>(bytes)[i] == 100 + i;
    readback->GetResource()->Unmap(0, nullptr);
    std::printf("%u moves, %u heaps released, %u buffers intact\n", stats.AllocationsMoved, stats.HeapsFreed, intact);
    return intact == BUFFER_COUNT / 8 ? S_OK : E_FAIL;
}

int main(int count, char **arguments) { return run_example(count, arguments, defragmentation); }
