/*
 * Common parts of the C++ test program: the device that it runs on, checks, and objects that every test needs.
 */
#pragma once

#include "common.hpp"

#include <gpgmm_d3d12.h>
#include <heapwright_d3d12.h>

#include <functional>
#include <string>
#include <vector>

using namespace gpgmm::d3d12;

/* Returns whether the condition holds, and prints it otherwise. Tests go on after a failure. */
#define EXPECT(condition) expect((condition), __FILE__, __LINE__, #condition)
inline unsigned failures;
inline bool expect(bool holds, const char *file, int line, const char *condition) {
    checks++;
    if (!holds) {
        failures++;
        std::printf("%s:%d: not so: %s\n", file, line, condition);
    }
    return holds;
}
/* Ends the test if the condition does not hold. */
#define REQUIRE(condition)             \
    do {                               \
        if (!EXPECT(condition)) return; \
    } while (0)

/* The headers declare IID_IUnknown, but not every library defines it. */
inline constexpr GUID iunknown_id = {0, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};

/* The device of the test program. */
struct environment {
    held<ID3D12Device> device;
    /* An object with IDXGIAdapter3. */
    IUnknown *adapter = nullptr;
    /* Whether it is heapwright's runtime, whose debug layer counts live objects. */
    bool is_ours = false;
    /* Whether one pool of memory is for CPU and GPU. */
    bool is_uma = false;

    IDXGIAdapter *dxgi() const { return reinterpret_cast<IDXGIAdapter *>(adapter); }
    IDXGIAdapter3 *dxgi3() const { return reinterpret_cast<IDXGIAdapter3 *>(adapter); }
};

/* Opens the device of a library, "" for the system's. */
bool open(const char *library, environment &out);

/* Returns the number of live objects by the runtime's debug layer, or zero on another device. */
unsigned live_objects(const environment &env);

/* The budget of a segment, and the memory that the process uses. */
DXGI_QUERY_VIDEO_MEMORY_INFO video_memory(const environment &env, DXGI_MEMORY_SEGMENT_GROUP segment);
inline UINT64 memory_usage(const environment &env, DXGI_MEMORY_SEGMENT_GROUP segment) {
    return video_memory(env, segment).CurrentUsage;
}

inline held<IResourceAllocator> &create_allocator(const environment &env, held<IResourceAllocator> &out,
    RESOURCE_ALLOCATOR_FLAGS flags = RESOURCE_ALLOCATOR_FLAG_NONE) {
    RESOURCE_ALLOCATOR_DESC desc = {};
    desc.Flags = flags;
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), static_cast<IResidencyManager *>(nullptr), &out.self) == S_OK);
    return out;
}

inline HRESULT create_buffer(IResourceAllocator *allocator, D3D12_HEAP_TYPE type, UINT64 size, IResourceAllocation **out,
    RESOURCE_ALLOCATION_FLAGS flags = RESOURCE_ALLOCATION_FLAG_NONE) {
    RESOURCE_ALLOCATION_DESC desc = {};
    desc.HeapType = type;
    desc.Flags = flags;
    const auto state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                       : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                          : D3D12_RESOURCE_STATE_COMMON;
    return allocator->CreateResource(desc, buffer_desc(size), state, nullptr, out);
}

/* A queue, and a command list that it may execute. */
struct direct_queue {
    held<ID3D12CommandQueue> queue;
    held<ID3D12CommandAllocator> commands;
    held<ID3D12GraphicsCommandList> recorded;
    held<ID3D12Fence> fence;
    UINT64 value = 0;

    bool create(const environment &env) {
        D3D12_COMMAND_QUEUE_DESC desc = {};
        desc.Type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        return EXPECT(env.device->CreateCommandQueue(&desc, queue.id(), queue.out()) == S_OK)
               && EXPECT(env.device->CreateCommandAllocator(desc.Type, commands.id(), commands.out()) == S_OK)
               && EXPECT(env.device->CreateCommandList(0, desc.Type, commands, nullptr, recorded.id(), recorded.out()) == S_OK)
               && EXPECT(env.device->CreateFence(0, D3D12_FENCE_FLAG_NONE, fence.id(), fence.out()) == S_OK);
    }

    /* Waits for all that was executed. */
    void wait() {
        HANDLE event = create_event();
        EXPECT(queue->Signal(fence, ++value) == S_OK && fence->SetEventOnCompletion(value, event) == S_OK && wait_for(event));
        close_event(event);
    }

    /* Executes what was recorded, waits for it, and opens the list again. */
    void execute() {
        EXPECT(recorded->Close() == S_OK);
        ID3D12CommandList *lists[] = {recorded};
        queue->ExecuteCommandLists(1, lists);
        wait();
        EXPECT(commands->Reset() == S_OK && recorded->Reset(commands, nullptr) == S_OK);
    }
};

/* Tests, each in the file of its name. */
void test_allocators(const environment &);
void test_allocations(const environment &);
void test_mapping(const environment &);
void test_residency(const environment &);
void test_submission(const environment &);
void test_recording(const environment &);
void test_names_and_leaks(const environment &);
void test_com_rules(const environment &);
void test_lifetimes(const environment &);
void test_threads(const environment &);
void test_bad_input(const environment &);
void test_as_gpgmm(const environment &);
void test_extended_allocators(const environment &);
void test_budgets(const environment &);
void test_transient_frames(const environment &);
void test_reports(const environment &);
void test_microsoft(const environment &);
void test_ma_allocators(const environment &);
void test_ma_allocations(const environment &);
void test_ma_resources(const environment &);
void test_ma_callbacks(const environment &);
void test_ma_threads(const environment &);
void test_ma_pools(const environment &);
void test_ma_statistics(const environment &);
void test_ma_json(const environment &);
void test_ma_virtual_blocks(const environment &);
void test_ma_defragmentation(const environment &);
void test_ma_misuse(const environment &);
void test_ma_extension(const environment &);
