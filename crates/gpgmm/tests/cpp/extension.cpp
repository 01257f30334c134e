/* What heapwright adds to GPGMM's API: namespace heapwright::d3d12. */
#include "environment.hpp"

#include <cmath>

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
    EXPECT(first->QueryInterface(hw::IID_IText, &none) == E_NOINTERFACE && !none);
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

    /* Empty heaps leave after frames, except with FEWEST_HITCHES and from GPGMM's pools. */
    const struct {
        hw::EMPTY_HEAP_POLICY policy;
        RESOURCE_ALLOCATION_ALGORITHM pool;
        bool leave;
    } policies[] = {{hw::EMPTY_HEAP_POLICY_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, true},
        {hw::EMPTY_HEAP_POLICY_LEAST_MEMORY, RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, true},
        {hw::EMPTY_HEAP_POLICY_FEWEST_HITCHES, RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, false},
        {hw::EMPTY_HEAP_POLICY_LEAST_MEMORY, RESOURCE_ALLOCATION_ALGORITHM_SEGMENTED_POOL, false}};
    for (const auto &with : policies) {
        desc = {};
        desc.EmptyHeapPolicy = with.policy;
        desc.Base.PoolAlgorithm = with.pool;
        REQUIRE(hw::CreateAllocator(desc, env.device, env.dxgi(), nullptr, &allocator.self) == S_OK);
        EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 32 * MIB, nullptr) == S_FALSE);
        for (int frame = 0; frame < 300; frame++) EXPECT(allocator->OnFrame() == S_OK);
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

void test_reports(const environment &env) {
    held<IResourceAllocator> allocator;
    held<hw::IAllocator> extension;
    REQUIRE(create_allocator(env, allocator));
    REQUIRE(extension_of(allocator, extension));
    held<IResourceAllocation> buffer;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, MIB, &buffer.self) == S_OK);
    buffer->SetDebugName(L"caf\u00e9 vertices");
    held<hw::IText> report;
    EXPECT(extension->GetReport(nullptr) == E_POINTER);
    REQUIRE(extension->GetReport(&report.self) == S_OK && report);
    const std::string text = report->GetText();
    EXPECT(text.size() == report->GetSize() && text.front() == '{' && text.back() == '}');
    EXPECT(text.find("caf\xc3\xa9 vertices") != text.npos);
    /* A report is of the moment of the call. */
    buffer.release();
    EXPECT(text == report->GetText());
    held<hw::IText> later;
    REQUIRE(extension->GetReport(&later.self) == S_OK);
    EXPECT(std::string(later->GetText()).find("vertices") == text.npos);
}

/* Budgets that the program sets: for each segment, in bytes and as a share. */
void test_budgets(const environment &env) {
    const DXGI_MEMORY_SEGMENT_GROUP local = DXGI_MEMORY_SEGMENT_GROUP_LOCAL, non_local = DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL;
    held<IResidencyManager> manager, same;
    held<hw::IBudgetManager> budgets;
    RESIDENCY_MANAGER_DESC manager_desc = {};
    manager_desc.MaxBudgetInBytes = 64 * MIB;
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    REQUIRE(manager->QueryInterface(hw::IID_IBudgetManager, budgets.out()) == S_OK && budgets.self == manager.self);
    EXPECT(budgets->QueryInterface(IID_IResidencyManager, same.out()) == S_OK && same.self == manager.self);

    /* With an allocator, whose empty heaps stay. */
    held<IResourceAllocator> allocator;
    REQUIRE(CreateResourceAllocator({}, env.device, env.dxgi(), manager.self, &allocator.self) == S_OK);
    held<IResourceAllocation> buffers[4];
    for (auto &buffer : buffers) REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4 * MIB, &buffer.self) == S_OK);
    hw::RESIDENCY_GROUP_STATS before = {}, stats = {};
    REQUIRE(budgets->QueryGroupStats(local, &before) == S_OK);
    EXPECT(before.ResidentSize >= 16 * MIB && before.ResidentCount && !before.EvictedSize && !before.EvictedCount);
    EXPECT(!before.LockedCount && !before.LockedSize && !before.PagedInSize && !before.PagedOutSize);

    /* The other segment has its own. */
    EXPECT(budgets->SetBudget(non_local, 0) == S_OK && budgets->QueryGroupStats(local, &stats) == S_OK);
    EXPECT(stats.ResidentSize == before.ResidentSize && budgets->ResetBudget(non_local) == S_OK);

    DXGI_QUERY_VIDEO_MEMORY_INFO memory = {};
    const auto budget = [&] {
        EXPECT(manager->QueryVideoMemoryInfo(local, &memory) == S_OK);
        return memory.Budget;
    };
    const UINT64 whole = budget();
    EXPECT(budgets->SetBudgetShare(local, 0.5) == S_OK && budget() == whole / 2);
    EXPECT(budgets->SetBudget(local, 32 * MIB) == S_OK && budget() == 32 * MIB);
    EXPECT(budgets->SetBudgetShare(local, 0) == S_OK && budget() == 0);
    EXPECT(budgets->QueryGroupStats(local, &stats) == S_OK);
    EXPECT(!stats.ResidentSize && !stats.ResidentCount && stats.EvictedSize == before.ResidentSize);
    EXPECT(stats.EvictedCount == before.ResidentCount && stats.PagedOutSize == before.ResidentSize);

    /* What is used returns. */
    EXPECT(budgets->ResetBudget(local) == S_OK && budget() == whole);
    held<IResidencyList> list;
    REQUIRE(CreateResidencyList(&list.self) == S_OK);
    for (auto &buffer : buffers) EXPECT(list->Add(buffer->GetMemory()) == S_OK);
    IResidencyList *lists[] = {list};
    EXPECT(manager->ExecuteCommandLists(nullptr, nullptr, lists, 1) == S_OK);
    EXPECT(budgets->QueryGroupStats(local, &stats) == S_OK && stats.PagedInSize == stats.ResidentSize && stats.ResidentSize >= 16 * MIB);

    for (double share : {-0.25, 1.25, std::nan(""), double(INFINITY)}) {
        EXPECT(budgets->SetBudgetShare(local, share) == E_INVALIDARG && budget() == whole);
    }
    const auto wrong = DXGI_MEMORY_SEGMENT_GROUP(2);
    EXPECT(budgets->SetBudget(wrong, 0) == E_INVALIDARG && budgets->SetBudgetShare(wrong, 0) == E_INVALIDARG);
    EXPECT(budgets->ResetBudget(wrong) == E_INVALIDARG && budgets->QueryGroupStats(wrong, &stats) == E_INVALIDARG);
    EXPECT(budgets->QueryGroupStats(local, nullptr) == E_POINTER);
}
