/*
 * A program of D3D12 Memory Allocator, without a change: it loads meshes and a texture, draws nothing, and writes its statistics to
 * statistics.json. With HEAPWRIGHT_RECORD=session.hws in the environment, what it allocates is recorded.
 */
#include "device.hpp"

#include <D3D12MemAlloc.h>

#include <vector>

/* A mesh in a heap of its pool. */
struct mesh {
    owned<D3D12MA::Allocation> vertices;
    UINT64 size = 0;
};

struct scene {
    owned<D3D12MA::Allocator> allocator;
    owned<D3D12MA::Pool> meshes;
    owned<D3D12MA::Allocation> staging, target, texture;
    std::vector<mesh> loaded;
    owned<ID3D12CommandQueue> queue;
    owned<ID3D12CommandAllocator> commands;
    owned<ID3D12GraphicsCommandList> list;

    HRESULT open(ID3D12Device *device, IDXGIAdapter *adapter);
    HRESULT load(UINT count);
    HRESULT copy();
    HRESULT describe();
};

HRESULT scene::open(ID3D12Device *device, IDXGIAdapter *adapter) {
    D3D12MA::ALLOCATOR_DESC desc = {};
    desc.Flags = D3D12MA_RECOMMENDED_ALLOCATOR_FLAGS;
    desc.pDevice = device;
    desc.pAdapter = adapter;
    HRESULT result = D3D12MA::CreateAllocator(&desc, allocator.out());
    if (FAILED(result)) return result;
    const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        D3D12MA_RECOMMENDED_POOL_FLAGS, 8 << 20);
    result = allocator->CreatePool(&pool_desc, meshes.out());
    if (FAILED(result)) return result;
    meshes->SetName(L"meshes");
    const D3D12_COMMAND_QUEUE_DESC queue_desc = {};
    result = device->CreateCommandQueue(&queue_desc, __uuidof(ID3D12CommandQueue), queue.any());
    if (FAILED(result)) return result;
    result = device->CreateCommandAllocator(queue_desc.Type, __uuidof(ID3D12CommandAllocator), commands.any());
    if (FAILED(result)) return result;
    return device->CreateCommandList(0, queue_desc.Type, commands.pointer, nullptr, __uuidof(ID3D12GraphicsCommandList), list.any());
}

HRESULT scene::load(UINT count) {
    const D3D12MA::CALLOCATION_DESC in_pool(meshes.pointer);
    loaded = std::vector<mesh>(count);
    for (UINT i = 0; i < count; i++) {
        mesh &one = loaded[i];
        one.size = UINT64(64 << 10) * (1 + i % 5);
        const D3D12_RESOURCE_DESC desc = buffer_of(one.size);
        const HRESULT result = allocator->CreateResource(&in_pool, &desc, D3D12_RESOURCE_STATE_COPY_DEST, nullptr, one.vertices.out(),
            GUID{}, nullptr);
        if (FAILED(result)) return result;
        one.vertices->SetName(L"mesh");
    }
    const D3D12MA::CALLOCATION_DESC place(D3D12_HEAP_TYPE_DEFAULT), upload(D3D12_HEAP_TYPE_UPLOAD);
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
    desc.Width = desc.Height = 512;
    desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    desc.SampleDesc.Count = 1;
    HRESULT result = allocator->CreateResource(&place, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, texture.out(), GUID{}, nullptr);
    if (FAILED(result)) return result;
    texture->SetName(L"bricks");
    desc.Width = 1024;
    desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    const auto committed = D3D12MA::CALLOCATION_DESC(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_COMMITTED);
    result = allocator->CreateResource(&committed, &desc, D3D12_RESOURCE_STATE_RENDER_TARGET, nullptr, target.out(), GUID{}, nullptr);
    if (FAILED(result)) return result;
    const D3D12_RESOURCE_DESC bytes = buffer_of(512 << 10);
    return allocator->CreateResource(&upload, &bytes, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, staging.out(), GUID{}, nullptr);
}

HRESULT scene::copy() {
    const D3D12_RANGE nothing = {0, 0};
    void *data = nullptr;
    HRESULT result = staging->GetResource()->Map(0, &nothing, &data);
    if (FAILED(result)) return result;
    std::memset(data, 7, 512 << 10);
    staging->GetResource()->Unmap(0, nullptr);
    for (mesh &one : loaded) list->CopyBufferRegion(one.vertices->GetResource(), 0, staging->GetResource(), 0, one.size);
    result = list->Close();
    if (FAILED(result)) return result;
    ID3D12CommandList *lists[] = {list.pointer};
    queue->ExecuteCommandLists(1, lists);
    owned<ID3D12Device> device;
    owned<ID3D12Fence> fence;
    queue->GetDevice(__uuidof(ID3D12Device), device.any());
    result = device->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.any());
    if (FAILED(result)) return result;
    queue->Signal(fence.pointer, 1);
    return fence->SetEventOnCompletion(1, nullptr); /* waits */
}

HRESULT scene::describe() {
    D3D12MA::Budget budget = {};
    allocator->GetBudget(&budget, nullptr);
    D3D12MA::TotalStatistics stats = {};
    allocator->CalculateStatistics(&stats);
    WCHAR *text = nullptr;
    allocator->BuildStatsString(&text, TRUE);
    std::FILE *file = text ? std::fopen("statistics.json", "wb") : nullptr;
    if (!file) return E_FAIL;
    for (const WCHAR *unit = text + 1; *unit; unit++) std::fputc(*unit < 128 ? int(*unit) : '?', file);
    allocator->FreeStatsString(text);
    std::fclose(file);
    std::printf("%u allocations of %llu KiB in %u blocks, %u of them in the pool\n", stats.Total.Stats.AllocationCount,
        static_cast<unsigned long long>(stats.Total.Stats.AllocationBytes >> 10), stats.Total.Stats.BlockCount, unsigned(loaded.size()));
    return budget.Stats.AllocationBytes <= budget.Stats.BlockBytes ? S_OK : E_FAIL;
}

static HRESULT run(ID3D12Device *device, IDXGIAdapter *adapter) {
    scene world;
    HRESULT result = world.open(device, adapter);
    if (SUCCEEDED(result)) result = world.load(20);
    if (SUCCEEDED(result)) result = world.copy();
    return SUCCEEDED(result) ? world.describe() : result;
}

int main(int count, char **arguments) { return run_example(count, arguments, run); }
