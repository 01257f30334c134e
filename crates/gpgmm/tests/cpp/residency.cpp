/* Residency managers and heaps. */
#include "environment.hpp"

/* What a callback creates. */
struct heap_creation {
    ID3D12Device *device;
    UINT64 size;
    HRESULT result;
    unsigned calls;
};

static HRESULT create_heap(void *context, ID3D12Pageable **out) {
    auto creation = static_cast<heap_creation *>(context);
    creation->calls++;
    if (FAILED(creation->result)) return creation->result;
    if (creation->result == S_FALSE) return S_OK; /* and no heap */
    D3D12_HEAP_DESC desc = {};
    desc.SizeInBytes = creation->size;
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    return creation->device->CreateHeap(&desc, held<ID3D12Heap>::id(), reinterpret_cast<void **>(out));
}

static HRESULT create_nothing(void *, ID3D12Pageable **) { return E_ABORT; }

void test_residency(const environment &env) {
    const DXGI_MEMORY_SEGMENT_GROUP local = DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
    RESIDENCY_MANAGER_DESC manager_desc = {};
    manager_desc.Flags = RESIDENCY_MANAGER_FLAG_NONE;
    manager_desc.MinRecordLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    manager_desc.MaxPctOfVideoMemoryToBudget = 0.9f;
    manager_desc.MinPctOfBudgetToReserve = 0.25f;
    manager_desc.EvictSizeInBytes = 16 << 20;
    manager_desc.InitialFenceValue = 7;
    held<IResidencyManager> manager;
    EXPECT(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), nullptr) == S_FALSE);
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK && manager);
    for (auto flag : {RESIDENCY_MANAGER_FLAG_ALLOW_BACKGROUND_BUDGET_UPDATES, RESIDENCY_MANAGER_FLAG_NEVER_USE_UNIFIED_MEMORY,
             RESIDENCY_MANAGER_FLAG_ALWAYS_IN_BUDGET}) {
        RESIDENCY_MANAGER_DESC desc = {};
        desc.Flags |= flag;
        held<IResidencyManager> other;
        EXPECT(CreateResidencyManager(desc, env.device, env.dxgi3(), &other.self) == S_OK);
    }

    /* An existing heap. */
    heap_creation creation = {env.device, 1 << 20, S_OK, 0};
    ID3D12Pageable *pageable = nullptr;
    REQUIRE(create_heap(&creation, &pageable) == S_OK);
    RESIDENCY_HEAP_DESC desc = {};
    desc.HeapSegment = local;
    held<IResidencyHeap> heap, described, locked, without;
    EXPECT(CreateResidencyHeap(desc, manager, pageable, nullptr) == S_FALSE);
    REQUIRE(CreateResidencyHeap(desc, manager, pageable, &heap.self) == S_OK && heap);
    const RESIDENCY_HEAP_INFO info = heap->GetInfo();
    EXPECT(info.SizeInBytes == 1 << 20 && info.Alignment == 1 << 16 && !info.IsLocked);
    EXPECT(info.Status == RESIDENCY_HEAP_STATUS_RESIDENT);
    pageable->Release();

    /* Locks nest. */
    EXPECT(heap->Lock() == S_OK && heap->Lock() == S_OK && heap->GetInfo().IsLocked);
    EXPECT(heap->Unlock() == S_FALSE && heap->Unlock() == S_OK && !heap->GetInfo().IsLocked);
    EXPECT(heap->Unlock() == S_OK);

    /* The manager of a heap. */
    held<IResidencyManager> same;
    EXPECT(heap->GetResidencyManager(&same.self) == S_OK && same == manager);
    EXPECT(heap->GetResidencyManager(nullptr) == S_FALSE);

    /* With a callback: each flag, and each failure. */
    desc.SizeInBytes = 1 << 20;
    desc.Alignment = 1 << 16;
    desc.Flags = RESIDENCY_HEAP_FLAG_CREATE_IN_BUDGET | RESIDENCY_HEAP_FLAG_CREATE_RESIDENT;
    creation.calls = 0;
    REQUIRE(CreateResidencyHeap(desc, manager, create_heap, &creation, &described.self) == S_OK && creation.calls == 1);
    EXPECT(described->GetInfo().SizeInBytes == 1 << 20);
    desc.Flags = RESIDENCY_HEAP_FLAG_CREATE_LOCKED;
    REQUIRE(CreateResidencyHeap(desc, manager, create_heap, &creation, &locked.self) == S_OK);
    EXPECT(locked->GetInfo().IsLocked && locked->Unlock() == S_OK);
    desc.Flags = RESIDENCY_HEAP_FLAG_NONE;
    EXPECT(CreateResidencyHeap(desc, manager, create_heap, &creation, nullptr) == S_FALSE);
    held<IResidencyHeap> failed;
    EXPECT(CreateResidencyHeap(desc, manager, create_nothing, nullptr, &failed.self) == E_ABORT && !failed);
    EXPECT(CreateResidencyHeap(desc, nullptr, create_nothing, nullptr, &failed.self) == E_ABORT && !failed);
    creation.result = S_FALSE;
    EXPECT(CreateResidencyHeap(desc, manager, create_heap, &creation, &failed.self) == E_POINTER && !failed);
    creation.result = S_OK;

    /* Without a manager. */
    REQUIRE(CreateResidencyHeap(desc, nullptr, create_heap, &creation, &without.self) == S_OK);
    EXPECT(without->GetInfo().Status == RESIDENCY_HEAP_STATUS_UNKNOWN && without->GetInfo().SizeInBytes == 1 << 20);
    EXPECT(without->Lock() == S_FALSE && without->Unlock() == S_FALSE);
    EXPECT(without->GetResidencyManager(nullptr) == E_POINTER);

    /* Status, statistics, budgets, reservation. */
    RESIDENCY_MANAGER_STATS stats = {};
    EXPECT(manager->QueryStats(&stats) == S_OK && stats.CurrentHeapCount == 3 && stats.CurrentHeapUsage == 3 << 20);
    EXPECT(manager->QueryStats(nullptr) == S_FALSE);
    EXPECT(manager->SetResidencyStatus(heap, RESIDENCY_HEAP_STATUS_EVICTED) == S_OK);
    EXPECT(heap->GetInfo().Status == RESIDENCY_HEAP_STATUS_EVICTED);
    EXPECT(manager->QueryStats(&stats) == S_OK && stats.CurrentHeapCount == 2);
    EXPECT(manager->SetResidencyStatus(heap, RESIDENCY_HEAP_STATUS_RESIDENT) == S_OK);
    EXPECT(manager->SetResidencyStatus(heap, RESIDENCY_HEAP_STATUS_UNKNOWN) == E_INVALIDARG);
    DXGI_QUERY_VIDEO_MEMORY_INFO memory = {};
    EXPECT(manager->QueryVideoMemoryInfo(local, &memory) == S_OK && memory.Budget > 0);
    EXPECT(manager->QueryVideoMemoryInfo(DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL, nullptr) == S_OK);
    UINT64 reserved = 0;
    EXPECT(manager->SetVideoMemoryReservation(local, 1 << 20, &reserved) == S_OK && reserved == 1 << 20);
    EXPECT(manager->QueryVideoMemoryInfo(local, &memory) == S_OK && memory.CurrentReservation == 1 << 20);
    EXPECT(manager->SetVideoMemoryReservation(local, 0) == S_OK);
}

/* Submissions without a queue, one directly after the other, as GPGMM's capture replay makes them. */
static void test_submissions_without_a_queue(const environment &env) {
    for (auto flags : {RESIDENCY_MANAGER_FLAG_NONE, RESIDENCY_MANAGER_FLAG_ALWAYS_IN_BUDGET}) {
        RESIDENCY_MANAGER_DESC manager_desc = {};
        manager_desc.Flags = flags;
        manager_desc.MaxBudgetInBytes = 4 << 20;
        held<IResidencyManager> manager, other;
        REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
        REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &other.self) == S_OK);
        heap_creation creation = {env.device, 2 << 20, S_OK, 0};
        RESIDENCY_HEAP_DESC desc = {};
        desc.HeapSegment = DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
        desc.SizeInBytes = 2 << 20;
        held<IResidencyHeap> heaps[6];
        for (auto &heap : heaps) {
            REQUIRE(CreateResidencyHeap(desc, manager, create_heap, &creation, &heap.self) == S_OK);
        }
        held<IResidencyList> lists[3], all;
        REQUIRE(CreateResidencyList(&all.self) == S_OK);
        for (int index = 0; index < 6; ++index) {
            held<IResidencyList> &list = lists[index / 2];
            REQUIRE(list || CreateResidencyList(&list.self) == S_OK);
            EXPECT(list->Add(heaps[index]) == S_OK && all->Add(heaps[index]) == S_OK);
        }
        for (int round = 0; round < 4; ++round) {
            for (auto &list : lists) {
                IResidencyList *one[] = {list};
                EXPECT(manager->ExecuteCommandLists(nullptr, nullptr, one, 1) == S_OK);
            }
        }
        /* What is larger than the budget is never resident within it. */
        IResidencyList *larger[] = {all};
        const bool is_refused = flags == RESIDENCY_MANAGER_FLAG_ALWAYS_IN_BUDGET;
        EXPECT(manager->ExecuteCommandLists(nullptr, nullptr, larger, 1) == (is_refused ? E_OUTOFMEMORY : S_OK));

        /* A heap has one manager at a time. Afterwards another one finds it as it was left. */
        held<ID3D12Heap> d3d12_heap;
        REQUIRE(heaps[0]->QueryInterface(d3d12_heap.id(), d3d12_heap.out()) == S_OK);
        held<IResidencyHeap> again;
        EXPECT(CreateResidencyHeap(desc, other, d3d12_heap, &again.self) == E_INVALIDARG && !again);
        heaps[0].release();
        EXPECT(CreateResidencyHeap(desc, other, d3d12_heap, &again.self) == S_OK);
        EXPECT(again->GetInfo().Status == RESIDENCY_HEAP_STATUS_RESIDENT || is_refused);
    }
}

void test_submission(const environment &env) {
    test_submissions_without_a_queue(env);
    RESOURCE_ALLOCATOR_DESC allocator_desc = {};
    allocator_desc.Flags = RESOURCE_ALLOCATOR_FLAG_CREATE_NOT_RESIDENT;
    held<IResourceAllocator> allocator;
    held<IResidencyManager> manager;
    REQUIRE(CreateResourceAllocator(allocator_desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);
    held<IResourceAllocation> source, target;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 4096, &source.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_READBACK, 4096, &target.self) == S_OK);

    held<IResidencyList> list;
    EXPECT(CreateResidencyList(nullptr) == S_OK);
    REQUIRE(CreateResidencyList(&list.self) == S_OK && list);
    EXPECT(list->Add(source->GetMemory()) == S_OK && list->Add(source->GetMemory()) == S_OK);
    EXPECT(list->Add(target->GetMemory()) == S_OK);
    IResidencyList *lists[] = {list};

    /* Residency alone: without a queue, and without command lists. */
    EXPECT(manager->ExecuteCommandLists(nullptr, nullptr, lists, 1) == S_OK);
    EXPECT(source->GetMemory()->GetInfo().Status == RESIDENCY_HEAP_STATUS_RESIDENT);

    void *bytes = nullptr;
    REQUIRE(source->Map(0, nullptr, &bytes) == S_OK);
    std::memset(bytes, 0x77, 4096);
    source->Unmap(0, nullptr);

    direct_queue direct;
    REQUIRE(direct.create(env));
    ID3D12CommandQueue *queue = direct.queue;
    ID3D12GraphicsCommandList *recorded = direct.recorded;
    EXPECT(manager->ExecuteCommandLists(queue, nullptr, lists, 1) == S_OK);
    recorded->CopyBufferRegion(target->GetResource(), 0, source->GetResource(), 0, 4096);
    REQUIRE(recorded->Close() == S_OK);
    ID3D12CommandList *command_lists[] = {recorded};
    EXPECT(manager->ExecuteCommandLists(queue, command_lists, lists, 1) == S_OK);
    direct.wait();
    REQUIRE(target->Map(0, nullptr, &bytes) == S_OK);
    EXPECT(static_cast<unsigned char *>(bytes)[0] == 0x77 && static_cast<unsigned char *>(bytes)[4095] == 0x77);
    target->Unmap(0, nullptr);

    EXPECT(list->Reset() == S_OK);
    EXPECT(manager->ExecuteCommandLists(nullptr, nullptr, lists, 1) == S_OK);

    /* The wrong calls. */
    EXPECT(manager->ExecuteCommandLists(queue, command_lists, lists, 0) == E_INVALIDARG);
    EXPECT(manager->ExecuteCommandLists(queue, command_lists, nullptr, 1) == E_POINTER);
    IResidencyList *no_list[] = {nullptr};
    ID3D12CommandList *no_command_list[] = {nullptr};
    EXPECT(manager->ExecuteCommandLists(queue, command_lists, no_list, 1) == E_INVALIDARG);
    EXPECT(manager->ExecuteCommandLists(queue, no_command_list, lists, 1) == E_INVALIDARG);

    /* A list of another manager, and one whose heap is gone. */
    held<IResourceAllocator> other_allocator;
    held<IResidencyManager> other_manager;
    held<IResourceAllocation> foreign;
    allocator_desc = {};
    REQUIRE(CreateResourceAllocator(allocator_desc, env.device, env.dxgi(), &other_allocator.self, &other_manager.self) == S_OK);
    REQUIRE(create_buffer(other_allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &foreign.self) == S_OK);
    EXPECT(list->Add(foreign->GetMemory()) == S_OK);
    EXPECT(list->Add(source->GetMemory()) == E_INVALIDARG);
    EXPECT(manager->ExecuteCommandLists(nullptr, nullptr, lists, 1) == E_INVALIDARG);
    EXPECT(manager->SetResidencyStatus(foreign->GetMemory(), RESIDENCY_HEAP_STATUS_EVICTED) == E_INVALIDARG);
    foreign.release();
    other_allocator->ReleaseResourceHeaps(UINT64_MAX, nullptr);
    EXPECT(other_manager->ExecuteCommandLists(nullptr, nullptr, lists, 1) == E_INVALIDARG);
}
