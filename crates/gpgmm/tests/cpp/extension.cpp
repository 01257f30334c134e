/* What heapwright adds to GPGMM's API: namespace heapwright::d3d12. */
#include "environment.hpp"

#include <cstddef>
#include <iterator>

namespace hw = heapwright::d3d12;

static const UINT64 KIB = 1024, MIB = KIB * KIB;

static hw::IAllocator *extension_of(IUnknown *allocator, held<hw::IAllocator> &out) {
    EXPECT(allocator->QueryInterface(hw::IID_IAllocator, out.out()) == S_OK && out);
    return out;
}

static RESOURCE_ALLOCATOR_STATS stats_of(IResourceAllocator *allocator) {
    RESOURCE_ALLOCATOR_STATS stats = {};
    EXPECT(allocator->QueryStats(&stats) == S_OK);
    return stats;
}

/* Each allocator has the interface, at the same address. */
static void identity(const environment &env) {
    held<IResourceAllocator> allocator, same;
    held<hw::IAllocator> first, second;
    REQUIRE(create_allocator(env, allocator));
    REQUIRE(extension_of(allocator, first) && extension_of(first, second));
    EXPECT(first.self == second.self && first.self == allocator.self);
    EXPECT(first->QueryInterface(IID_IResourceAllocator, same.out()) == S_OK && same.self == allocator.self);
    EXPECT(first->AddRef() == 5 && first->Release() == 4);
    void *none = &none;
    EXPECT(first->QueryInterface(hw::IID_IPool, &none) == E_NOINTERFACE && !none);
    EXPECT(first->QueryInterface(hw::IID_IAllocator, nullptr) == E_POINTER);
    same.release();
    second.release();
    EXPECT(allocator.release() == 1 && first->OnFrame() == S_OK && first.release() == 0);
}

void test_extended_allocators(const environment &env) {
    identity(env);
    held<hw::IAllocator> allocator;
    hw::ALLOCATOR_DESC desc = {};
    EXPECT(hw::CreateAllocator(desc, nullptr, env.dxgi(), nullptr, &allocator.self) == E_POINTER);
    EXPECT(HeapwrightCreateAllocator(nullptr, env.device, env.dxgi(), nullptr, &allocator.self) == E_POINTER);
    EXPECT(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, nullptr) == S_FALSE);
    EXPECT(hw::CreateAllocator(desc, env.device, nullptr, nullptr, &allocator.self) == S_OK && allocator);
    allocator.release();

    /* Limits, for each heap type by itself. */
    const D3D12_HEAP_TYPE types[] = {D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK};
    for (unsigned limited = 0; limited < 3; limited++) {
        desc = {};
        (limited == 0 ? desc.Limits.Default : limited == 1 ? desc.Limits.Upload : desc.Limits.Readback) = 8 * MIB;
        REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK);
        for (unsigned type = 0; type < 3; type++) {
            EXPECT(create_buffer(allocator, types[type], 16 * MIB, nullptr) == (type == limited ? E_OUTOFMEMORY : S_FALSE));
            EXPECT(create_buffer(allocator, types[type], 4 * MIB, nullptr) == S_FALSE);
        }
        allocator.release();
    }
    desc = {};
    desc.Limits.GpuUpload = MIB; /* heap type 5, which older headers do not have */
    REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK);
    EXPECT(FAILED(create_buffer(allocator, D3D12_HEAP_TYPE(5), 2 * MIB, nullptr)));
    allocator.release();

    /* A share of the budget, of which nothing is left for a heap, or all. The Rust test reads the line that the log has of the refusal. */
    const auto local = video_memory(env, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
    const bool has_budget = local.Budget || local.CurrentUsage;
    for (double share : {1e-9, 1.0}) {
        desc = {};
        desc.Limits.ShareOfBudget = share;
        if (share < 1) desc.Base.MinLogLevel = D3D12_MESSAGE_SEVERITY_ERROR;
        REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK);
        const bool is_refused = share < 1 && has_budget;
        EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, MIB, nullptr) == (is_refused ? E_OUTOFMEMORY : S_FALSE));
        allocator.release();
        desc.Base.MinLogLevel = D3D12_MESSAGE_SEVERITY_CORRUPTION;
        EXPECT(hw::CreateAllocator(desc, env.device, nullptr, nullptr, &allocator.self) == E_INVALIDARG && !allocator);
    }
    for (double share : {-0.5, 1.5}) {
        desc.Limits.ShareOfBudget = share;
        EXPECT(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == E_INVALIDARG && !allocator);
    }

    /* Empty heaps leave after frames (3,600 at most, with FEWEST_HITCHES), except from GPGMM's pools. */
    const struct {
        hw::EMPTY_HEAP_POLICY policy;
        RESOURCE_ALLOCATION_ALGORITHM pool;
        bool leave;
    } policies[] = {{hw::EMPTY_HEAP_POLICY_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, true},
        {hw::EMPTY_HEAP_POLICY_LEAST_MEMORY, RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, true},
        {hw::EMPTY_HEAP_POLICY_FEWEST_HITCHES, RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, true},
        {hw::EMPTY_HEAP_POLICY_LEAST_MEMORY, RESOURCE_ALLOCATION_ALGORITHM_SEGMENTED_POOL, false}};
    for (const auto &with : policies) {
        desc = {};
        desc.EmptyHeapPolicy = with.policy;
        desc.Base.PoolAlgorithm = with.pool;
        REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK);
        EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 32 * MIB, nullptr) == S_FALSE);
        for (int frame = 0; frame < 3700; frame++) EXPECT(allocator->OnFrame() == S_OK);
        EXPECT((stats_of(allocator).FreeHeapUsage < 32 * MIB) == with.leave);
        allocator.release();
    }
    desc = {};
    desc.EmptyHeapPolicy = hw::EMPTY_HEAP_POLICY(3);
    EXPECT(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == E_INVALIDARG && !allocator);

    /* Tight alignment, where the device has it. */
    for (BOOL never : {FALSE, TRUE}) {
        desc = {};
        desc.NeverTightAlignment = never;
        REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK);
        held<IResourceAllocation> buffer;
        REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 1, &buffer.self) == S_OK);
        D3D12_RESOURCE_DESC read = {};
        REQUIRE(RETURNED(read, buffer->GetResource(), GetDesc, 10));
        const bool is_tight = read.Flags & 0x400;
        EXPECT(!never || !is_tight);
        EXPECT(is_tight == (buffer->GetInfo().SizeInBytes < 64 * KIB));
        buffer.release();
        allocator.release();
    }
}

static hw::POOL_DESC upload_pool() {
    hw::POOL_DESC desc = {};
    desc.Name = L"staging";
    desc.HeapType = D3D12_HEAP_TYPE_UPLOAD;
    desc.HeapSize = 4 * MIB;
    return desc;
}

static HRESULT create_in(hw::IAllocator *allocator, hw::IPool *pool, UINT64 size, UINT64 user_data, IResourceAllocation **out) {
    hw::ALLOCATION_DESC desc = {};
    desc.pPool = pool;
    desc.UserData = user_data;
    const D3D12_RESOURCE_DESC buffer = buffer_desc(size);
    return allocator->CreateResource1(&desc, &buffer, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, out);
}

void test_pools(const environment &env) {
    held<IResourceAllocator> allocator;
    held<hw::IAllocator> extension;
    REQUIRE(create_allocator(env, allocator));
    REQUIRE(extension_of(allocator, extension));
    held<hw::IPool> pool;
    hw::POOL_DESC desc = upload_pool();
    desc.MinHeapCount = 1;
    desc.MaxHeapCount = 2;
    REQUIRE(extension->CreatePool(&desc, &pool.self) == S_OK && pool);
    hw::POOL_TOTALS totals = {};
    EXPECT(pool->GetTotals(&totals) == S_OK && totals.HeapCount == 1 && totals.ReservedSize == 4 * MIB && !totals.UsedSize);
    held<IResourceAllocation> row[9];
    for (unsigned i = 0; i < 8; i++) REQUIRE(create_in(extension, pool, MIB, i + 1, &row[i].self) == S_OK);
    EXPECT(pool->GetTotals(&totals) == S_OK && totals.HeapCount == 2 && totals.UsedSize == 8 * MIB && totals.AllocationCount == 8);
    EXPECT(create_in(extension, pool, MIB, 0, &row[8].self) == E_OUTOFMEMORY && !row[8]);
    EXPECT(row[0]->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED);
    void *bytes = nullptr;
    EXPECT(row[0]->Map(0, nullptr, &bytes) == S_OK && bytes);
    row[0]->Unmap(0, nullptr);

    UINT64 value = 0;
    EXPECT(extension->GetUserData(row[3], &value) == S_OK && value == 4);
    EXPECT(extension->SetUserData(row[3], 40) == S_OK && extension->GetUserData(row[3], &value) == S_OK && value == 40);
    EXPECT(extension->GetUserData(row[3], nullptr) == E_POINTER && extension->GetUserData(nullptr, &value) == E_POINTER);
    EXPECT(extension->SetUserData(nullptr, 1) == E_POINTER);
    EXPECT(extension->SetUserData(reinterpret_cast<IResourceAllocation *>(pool.self), 1) == E_INVALIDARG);

    for (auto &buffer : row) buffer.release();
    UINT64 released = 0;
    EXPECT(pool->ReleaseEmptyHeaps(&released) == S_OK && released == 4 * MIB && pool->ReleaseEmptyHeaps(nullptr) == S_OK);
    EXPECT(pool->GetTotals(&totals) == S_OK && totals.HeapCount == 1 && pool->GetTotals(nullptr) == E_POINTER);

    /* Without a pool: the allocator's own heaps. */
    hw::ALLOCATION_DESC plain = {};
    plain.Base.HeapType = D3D12_HEAP_TYPE_DEFAULT;
    const D3D12_RESOURCE_DESC buffer = buffer_desc(MIB);
    held<IResourceAllocation> own;
    EXPECT(extension->CreateResource1(&plain, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &own.self) == S_OK && own);
    EXPECT(extension->GetUserData(own, &value) == S_OK && value == 0);
    EXPECT(stats_of(allocator).UsedBlockCount == 1);
    own.release();
    EXPECT(extension->CreateResource1(nullptr, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &own.self) == E_POINTER && !own);
    /* CUSTOM heaps, which hold buffers in any state. */
    hw::ALLOCATION_DESC custom = {};
    custom.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
    custom.MemoryPoolPreference = D3D12_MEMORY_POOL_L0;
    EXPECT(extension->CreateResource1(&custom, &buffer, D3D12_RESOURCE_STATE_COPY_SOURCE, nullptr, &own.self) == S_OK && own);
    D3D12_HEAP_PROPERTIES properties = {};
    D3D12_HEAP_FLAGS heap_flags = {};
    EXPECT(own->GetResource()->GetHeapProperties(&properties, &heap_flags) == S_OK);
    EXPECT(properties.Type == D3D12_HEAP_TYPE_CUSTOM && properties.CPUPageProperty == custom.CPUPageProperty);
    EXPECT(own->Map(0, nullptr, &bytes) == S_OK && bytes);
    own->Unmap(0, nullptr);
    own.release();
    custom.pPool = pool;
    EXPECT(extension->CreateResource1(&custom, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &own.self) == E_INVALIDARG && !own);
    custom.pPool = nullptr;
    custom.MemoryPoolPreference = D3D12_MEMORY_POOL_UNKNOWN;
    EXPECT(extension->CreateResource1(&custom, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &own.self) == E_INVALIDARG && !own);
    plain.pPool = reinterpret_cast<hw::IPool *>(allocator.self);
    EXPECT(extension->CreateResource1(&plain, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &own.self) == E_INVALIDARG);
    plain.pPool = nullptr;
    EXPECT(extension->CreateResource1(&plain, nullptr, D3D12_RESOURCE_STATE_COMMON, nullptr, &own.self) == E_POINTER);
    EXPECT(extension->CreateResource1(&plain, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, nullptr) == E_POINTER);

    /* Each member of the description. */
    held<hw::IPool> other;
    const D3D12_HEAP_TYPE types[] = {D3D12_HEAP_TYPE(0), D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK};
    for (auto type : types) {
        desc = {};
        desc.HeapType = type;
        EXPECT(extension->CreatePool(&desc, &other.self) == S_OK);
        other.release();
    }
    for (auto resources : {hw::POOL_RESOURCES_BUFFERS, hw::POOL_RESOURCES_TEXTURES, hw::POOL_RESOURCES_RENDER_TARGETS}) {
        desc = {};
        desc.Resources = resources;
        REQUIRE(extension->CreatePool(&desc, &other.self) == S_OK);
        plain.pPool = other;
        plain.Base.HeapType = D3D12_HEAP_TYPE(0);
        held<IResourceAllocation> made;
        const HRESULT result = extension->CreateResource1(&plain, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &made.self);
        EXPECT(result == (resources == hw::POOL_RESOURCES_BUFFERS ? S_OK : E_INVALIDARG));
        made.release();
        other.release();
    }
    D3D12_FEATURE_DATA_D3D12_OPTIONS options = {};
    env.device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options);
    desc = {};
    desc.Resources = hw::POOL_RESOURCES_ANY;
    EXPECT((extension->CreatePool(&desc, &other.self) == S_OK) == (options.ResourceHeapTier >= D3D12_RESOURCE_HEAP_TIER_2));
    other.release();
    desc = upload_pool();
    desc.Algorithm = hw::POOL_ALGORITHM_LINEAR;
    desc.MinAlignment = 128 * KIB;
    desc.ExtraHeapFlags = D3D12_HEAP_FLAG_NONE;
    REQUIRE(extension->CreatePool(&desc, &other.self) == S_OK);
    /* One buffer for each 128 KiB of a heap. The heaps tell that on every device: addresses of placed resources follow the offsets in
       our runtime, but need not. */
    held<IResourceAllocation> aligned[4 * MIB / (128 * KIB) + 1];
    const size_t per_heap = std::size(aligned) - 1;
    for (size_t i = 0; i <= per_heap; i++) {
        REQUIRE(create_in(extension, other, 64 * KIB, i, &aligned[i].self) == S_OK);
        EXPECT(other->GetTotals(&totals) == S_OK && totals.HeapCount == (i < per_heap ? 1 : 2));
    }
    if (env.is_ours) {
        for (size_t i = 1; i < per_heap; i++)
            EXPECT(aligned[i]->GetGPUVirtualAddress() - aligned[i - 1]->GetGPUVirtualAddress() == 128 * KIB);
    }
    /* Pools may be released before their allocations. */
    other.release();
    EXPECT(aligned[0]->Map(0, nullptr, &bytes) == S_OK);
    aligned[0]->Unmap(0, nullptr);

    const struct {
        size_t offset;
        UINT value;
    } wrong[] = {{offsetof(hw::POOL_DESC, HeapType), 5}, {offsetof(hw::POOL_DESC, HeapType), 99}, {offsetof(hw::POOL_DESC, Resources), 4},
        {offsetof(hw::POOL_DESC, Algorithm), 2}, {offsetof(hw::POOL_DESC, HeapSize), 1000}, {offsetof(hw::POOL_DESC, MinAlignment), 3}};
    for (const auto &field : wrong) {
        desc = {};
        std::memcpy(reinterpret_cast<char *>(&desc) + field.offset, &field.value, sizeof field.value);
        /* 5 is GPU_UPLOAD, which not every device has. */
        const HRESULT result = extension->CreatePool(&desc, &other.self);
        EXPECT(field.value == 5 ? (result == S_OK) == !!other : result == E_INVALIDARG && !other);
        other.release();
    }
    EXPECT(extension->CreatePool(nullptr, &other.self) == E_POINTER && extension->CreatePool(&desc, nullptr) == E_POINTER);
}

/* 32 buffers in four heaps, of which one of each heap is left: three of these move. */
static const UINT64 HALF = 512 * KIB;

static void moves(const environment &env, bool is_managed) {
    held<IResidencyManager> manager;
    held<IResourceAllocator> allocator;
    held<hw::IAllocator> extension;
    RESIDENCY_MANAGER_DESC manager_desc = {};
    if (is_managed) REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    REQUIRE(CreateResourceAllocator({}, env.device, env.dxgi(), manager.self, &allocator.self) == S_OK);
    REQUIRE(extension_of(allocator, extension));
    held<hw::IPool> pool;
    const hw::POOL_DESC desc = upload_pool();
    REQUIRE(extension->CreatePool(&desc, &pool.self) == S_OK);
    held<IResourceAllocation> row[32];
    for (unsigned i = 0; i < 32; i++) {
        REQUIRE(create_in(extension, pool, HALF, i, &row[i].self) == S_OK);
        void *bytes = nullptr;
        REQUIRE(row[i]->Map(0, nullptr, &bytes) == S_OK);
        std::memset(bytes, int(i + 1), HALF);
        row[i]->Unmap(0, nullptr);
    }
    row[8]->SetDebugName(L"survivor");
    for (unsigned i = 0; i < 32; i++) {
        if (i % 8) row[i].release();
    }

    held<hw::IDefragmentation> run;
    EXPECT(extension->Defragment(pool, nullptr) == E_POINTER);
    EXPECT(extension->Defragment(reinterpret_cast<hw::IPool *>(allocator.self), &run.self) == E_INVALIDARG && !run);
    REQUIRE(extension->Defragment(pool, &run.self) == S_OK && run);
    hw::IMove *planned[8] = {};
    UINT count = 99;
    hw::DEFRAGMENTATION_STATE state = hw::DEFRAGMENTATION_STATE_FINISHED;
    EXPECT(run->Step(nullptr, 0, planned, &count, &state) == E_INVALIDARG && count == 0);
    EXPECT(run->Step(nullptr, 8, nullptr, &count, &state) == E_POINTER && run->Step(nullptr, 8, planned, nullptr, &state) == E_POINTER);
    EXPECT(run->Step(nullptr, 8, planned, &count, nullptr) == E_POINTER);

    unsigned moved = 0;
    bool tried_wrong = false;
    hw::DEFRAGMENTATION_BUDGET budget = {};
    budget.Bytes = MIB;
    budget.Microseconds = 1000000;
    for (int steps = 0; steps < 100; steps++) {
        REQUIRE(run->Step(steps % 2 ? nullptr : &budget, 2, planned, &count, &state) == S_OK);
        EXPECT(count <= 2 && (count || state != hw::DEFRAGMENTATION_STATE_AWAITING_MOVES));
        if (state == hw::DEFRAGMENTATION_STATE_FINISHED && !count) break;
        for (UINT i = 0; i < count; i++) {
            held<hw::IMove> move;
            move.self = planned[i];
            const UINT64 index = move->GetUserData();
            REQUIRE(index < 32 && index % 8 == 0 && move->GetSize() == HALF);
            IResourceAllocation *allocation = row[index];
            const D3D12_GPU_VIRTUAL_ADDRESS before = allocation->GetGPUVirtualAddress();
            IResidencyHeap *memory = allocation->GetMemory();
            memory->AddRef();

            held<ID3D12Heap> heap;
            UINT64 offset = 1;
            EXPECT(move->GetDestination(&heap.self, &offset) == S_OK && heap && offset % (64 * KIB) == 0);
            EXPECT(move->GetDestination(nullptr, &offset) == E_POINTER);
            held<ID3D12Heap> none;
            EXPECT(move->GetDestination(&none.self, nullptr) == E_POINTER && !none);
            held<IResidencyHeap> new_memory;
            EXPECT(move->GetDestinationMemory(&new_memory.self) == (is_managed ? S_OK : S_FALSE) && !!new_memory == is_managed);
            EXPECT(!is_managed || new_memory->GetInfo().Status == RESIDENCY_HEAP_STATUS_RESIDENT);
            EXPECT(move->GetDestinationMemory(nullptr) == E_POINTER);
            held<ID3D12Resource> resource;
            if (!tried_wrong) {
                tried_wrong = true;
                IResourceAllocation *other = row[(index + 8) % 32];
                EXPECT(move->Complete(allocation) == E_INVALIDARG); /* no resource */
                EXPECT(move->CreateResource(other, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, &resource.self) == E_INVALIDARG);
                EXPECT(!resource && move->CreateResource(nullptr, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, &resource.self) == E_POINTER);
                EXPECT(move->CreateResource(allocation, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, nullptr) == E_POINTER);
                EXPECT(move->Complete(nullptr) == E_POINTER && move->Complete(other) == E_INVALIDARG);
            }
            REQUIRE(move->CreateResource(allocation, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, &resource.self) == S_OK && resource);
            void *from = nullptr, *to = nullptr;
            REQUIRE(allocation->Map(0, nullptr, &from) == S_OK && resource->Map(0, nullptr, &to) == S_OK);
            std::memcpy(to, from, HALF);
            resource->Unmap(0, nullptr);
            EXPECT(move->Complete(allocation) == E_INVALIDARG); /* mapped */
            allocation->Unmap(0, nullptr);
            EXPECT(move->Complete(allocation) == S_OK && move->Complete(allocation) == E_INVALIDARG);
            EXPECT(allocation->GetResource() == resource && allocation->GetGPUVirtualAddress() != before);
            held<ID3D12Heap> now, at_once;
            EXPECT(allocation->GetMemory() != memory && (!is_managed || allocation->GetMemory() == new_memory));
            held<IResidencyHeap> gone;
            EXPECT(move->GetDestinationMemory(&gone.self) == E_FAIL && !gone);
            EXPECT(allocation->GetMemory()->QueryInterface(now.id(), now.out()) == S_OK && now.self == heap.self);
            EXPECT(move->GetDestination(&at_once.self, &offset) == E_FAIL && !at_once && move->GetUserData() == 0 && move->GetSize() == 0);
            memory->Release();
            moved++;
        }
    }
    EXPECT(moved == 3);
    hw::DEFRAGMENTATION_PROGRESS progress = {};
    EXPECT(run->GetProgress(&progress) == S_OK && run->GetProgress(nullptr) == E_POINTER);
    EXPECT(progress.MoveCount == 3 && progress.BytesMoved == 3 * HALF && progress.HeapsReleased == 3);
    EXPECT(progress.BytesReleased == 12 * MIB && progress.BytesCreated == 0);
    hw::POOL_TOTALS totals = {};
    EXPECT(pool->GetTotals(&totals) == S_OK && totals.HeapCount == 1 && totals.AllocationCount == 4);
    for (unsigned i = 0; i < 32; i += 8) {
        void *bytes = nullptr;
        REQUIRE(row[i]->Map(0, nullptr, &bytes) == S_OK);
        const std::vector<char> expected(HALF, char(i + 1));
        EXPECT(!std::memcmp(bytes, expected.data(), HALF));
        row[i]->Unmap(0, nullptr);
        UINT64 value = 99;
        EXPECT(extension->GetUserData(row[i], &value) == S_OK && value == i);
    }
    const std::wstring name = row[8]->GetDebugName();
    EXPECT(name == L"survivor");

    /* A move that is released is abandoned, and everything may be released in any order. */
    for (unsigned i : {1, 2, 3, 4, 5, 6, 7, 9}) REQUIRE(create_in(extension, pool, HALF, i, &row[i].self) == S_OK);
    row[0].release();
    row[8].release();
    row[16].release();
    held<hw::IDefragmentation> again, own;
    REQUIRE(extension->Defragment(pool, &again.self) == S_OK && extension->Defragment(nullptr, &own.self) == S_OK);
    REQUIRE(again->Step(nullptr, 8, planned, &count, &state) == S_OK);
    again.release();
    pool.release();
    extension.release();
    for (UINT i = 0; i < count; i++) planned[i]->Release();
    REQUIRE(own->Step(nullptr, 8, planned, &count, &state) == S_OK);
    EXPECT(count == 0 && state == hw::DEFRAGMENTATION_STATE_FINISHED);
}

void test_moves(const environment &env) {
    moves(env, false);
    moves(env, true);
}

void test_virtual_blocks(const environment &) {
    held<hw::IVirtualBlock> block;
    EXPECT(hw::CreateVirtualBlock(0, &block.self) == E_INVALIDARG && !block);
    EXPECT(hw::CreateVirtualBlock(UINT64_MAX, &block.self) == E_INVALIDARG && !block);
    EXPECT(hw::CreateVirtualBlock(1, nullptr) == E_POINTER);
    REQUIRE(hw::CreateVirtualBlock(1024, &block.self) == S_OK && block);
    hw::VIRTUAL_ALLOCATION first = {}, second = {}, read = {};
    EXPECT(block->Allocate(100, 0, 7, &first) == S_OK && first.Id && first.Offset == 0 && first.Size == 100 && first.UserData == 7);
    EXPECT(block->Allocate(100, 256, 8, &second) == S_OK && second.Id != first.Id && second.Offset % 256 == 0 && second.Offset);
    hw::VIRTUAL_BLOCK_TOTALS totals = {};
    EXPECT(block->GetTotals(&totals) == S_OK && totals.Capacity == 1024 && totals.UsedSize == 200 && totals.AllocationCount == 2);
    EXPECT(block->GetAllocation(second.Id, &read) == S_OK && !std::memcmp(&read, &second, sizeof read));
    EXPECT(block->Allocate(totals.LargestFreeSize, 1, 0, &read) == S_OK && block->Free(read.Id) == S_OK);
    const hw::VIRTUAL_ALLOCATION before = read;
    EXPECT(block->Allocate(1000, 1, 0, &read) == E_OUTOFMEMORY && block->Allocate(2000, 1, 0, &read) == E_OUTOFMEMORY);
    EXPECT(block->Allocate(0, 1, 0, &read) == E_INVALIDARG && block->Allocate(1, 3, 0, &read) == E_INVALIDARG);
    EXPECT(block->Allocate(1, 1, 0, nullptr) == E_POINTER && !std::memcmp(&read, &before, sizeof read));
    EXPECT(block->GetTotals(&totals) == S_OK && totals.AllocationCount == 2 && block->GetTotals(nullptr) == E_POINTER);
    EXPECT(block->Free(first.Id) == S_OK && block->Free(first.Id) == E_INVALIDARG && block->Free(0) == E_INVALIDARG);
    EXPECT(block->GetAllocation(first.Id, &read) == E_INVALIDARG && block->GetAllocation(second.Id, nullptr) == E_POINTER);
    EXPECT(block->Clear() == S_OK && block->GetAllocation(second.Id, &read) == E_INVALIDARG);
    EXPECT(block->Allocate(1024, 1, 0, &read) == S_OK && read.Offset == 0 && read.Id != first.Id && read.Id != second.Id);
}

void test_reports(const environment &env) {
    held<IResourceAllocator> allocator;
    held<hw::IAllocator> extension;
    REQUIRE(create_allocator(env, allocator));
    REQUIRE(extension_of(allocator, extension));
    held<IResourceAllocation> buffer;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, MIB, &buffer.self) == S_OK);
    buffer->SetDebugName(L"caf\u00e9 vertices");
    held<hw::IPool> pool;
    const hw::POOL_DESC desc = upload_pool();
    REQUIRE(extension->CreatePool(&desc, &pool.self) == S_OK);
    held<hw::IText> report;
    EXPECT(extension->GetReport(nullptr) == E_POINTER);
    REQUIRE(extension->GetReport(&report.self) == S_OK && report);
    const std::string text = report->GetText();
    EXPECT(text.size() == report->GetSize() && text.front() == '{' && text.back() == '}');
    EXPECT(text.find("caf\xc3\xa9 vertices") != text.npos && text.find("\"staging\"") != text.npos);
    /* A report is of the moment of the call. */
    buffer.release();
    EXPECT(text == report->GetText());
    held<hw::IText> later;
    REQUIRE(extension->GetReport(&later.self) == S_OK);
    EXPECT(std::string(later->GetText()).find("vertices") == text.npos);
}
