/* COM's rules for each interface, reference counts, lifetimes and threads. */
#include "environment.hpp"

#include <thread>

static const GUID *const ALL[] = {&IID_IDebugObject, &IID_IResidencyHeap, &IID_IResidencyList, &IID_IResidencyManager,
    &IID_IResourceAllocation, &IID_IResourceAllocator};

/* An object of each interface, with the IIDs that it must and must not have. */
struct every_object {
    held<IResourceAllocator> allocator;
    held<IResidencyManager> manager;
    held<IResourceAllocation> allocation;
    held<IResidencyHeap> heap, own_heap;
    held<IResidencyList> list;
    struct entry {
        IUnknown *object;
        const GUID *own;
        bool has_name;
    };
    std::vector<entry> entries;

    bool create(const environment &env) {
        RESOURCE_ALLOCATOR_DESC desc = {};
        bool ok = EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);
        ok = ok && EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &allocation.self) == S_OK);
        if (!ok) return false;
        heap.self = allocation->GetMemory();
        heap->AddRef();
        held<ID3D12Pageable> pageable;
        RESIDENCY_HEAP_DESC heap_desc = {};
        D3D12_HEAP_DESC d3d12_desc = {};
        d3d12_desc.SizeInBytes = 1 << 16;
        d3d12_desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
        d3d12_desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
        ok = EXPECT(env.device->CreateHeap(&d3d12_desc, pageable.id(), pageable.out()) == S_OK)
             && EXPECT(CreateResidencyHeap(heap_desc, manager, pageable, &own_heap.self) == S_OK)
             && EXPECT(CreateResidencyList(&list.self) == S_OK);
        entries = {{allocator, &IID_IResourceAllocator, true}, {manager, &IID_IResidencyManager, true},
            {allocation, &IID_IResourceAllocation, true}, {heap, &IID_IResidencyHeap, true},
            {own_heap, &IID_IResidencyHeap, true}, {list, &IID_IResidencyList, false}};
        return ok;
    }
};

/* The count, without changing it. */
static ULONG count_of(IUnknown *object) {
    object->AddRef();
    return object->Release();
}

void test_com_rules(const environment &env) {
    every_object all;
    REQUIRE(all.create(env));
    for (const auto &entry : all.entries) {
        const ULONG before = count_of(entry.object);
        std::vector<IUnknown *> found;
        held<IUnknown> identity;
        REQUIRE(entry.object->QueryInterface(iunknown_id, identity.out()) == S_OK && identity);
        for (const GUID *iid : ALL) {
            const bool has = iid == entry.own || (entry.has_name && iid == &IID_IDebugObject);
            void *out = &out;
            const HRESULT result = entry.object->QueryInterface(*iid, &out);
            EXPECT(result == (has ? S_OK : E_NOINTERFACE));
            EXPECT((out != nullptr) == has);
            if (!has) continue;
            found.push_back(static_cast<IUnknown *>(out));
        }
        found.push_back(identity.self);
        identity->AddRef();
        /* Reflexive, symmetric and transitive: from each interface, each of the others is found; IUnknown is always the same. */
        for (IUnknown *from : found) {
            held<IUnknown> again;
            EXPECT(from->QueryInterface(iunknown_id, again.out()) == S_OK && again == identity);
            held<IUnknown> own;
            EXPECT(from->QueryInterface(*entry.own, own.out()) == S_OK);
            if (entry.has_name) {
                held<IDebugObject> named;
                EXPECT(from->QueryInterface(IID_IDebugObject, named.out()) == S_OK);
            }
        }
        for (IUnknown *one : found) one->Release();
        EXPECT(count_of(entry.object) == before + 1);
        identity.release();
        EXPECT(count_of(entry.object) == before);

        /* The helper of C++, and what is not there. */
        static const GUID unknown_id = {0x12345678, 0x1234, 0x1234, {1, 2, 3, 4, 5, 6, 7, 8}};
        void *out = &out;
        EXPECT(entry.object->QueryInterface(unknown_id, &out) == E_NOINTERFACE && !out);
        EXPECT(entry.object->QueryInterface(iunknown_id, nullptr) == E_POINTER);
        EXPECT(count_of(entry.object) == before);
    }
    held<IResidencyHeap> by_type;
    EXPECT(all.heap->QueryInterface(__uuidof(IResidencyHeap), by_type.out()) == S_OK && by_type == all.heap);

    /* Exact counts: only the application's references count. */
    EXPECT(count_of(all.allocator) == 1 && count_of(all.manager) == 1 && count_of(all.allocation) == 1 && count_of(all.list) == 1);
    held<IResourceAllocator> same;
    EXPECT(all.allocation->GetResourceAllocator(&same.self) == S_OK && count_of(all.allocator) == 2);
    same.release();
    EXPECT(all.allocator->AddRef() == 2 && all.allocator->AddRef() == 3);
    EXPECT(all.allocator->Release() == 2 && all.allocator->Release() == 1);

    /* A manager whose last reference was released is found again by its heaps. */
    EXPECT(all.manager.release() == 0);
    EXPECT(all.heap->GetResidencyManager(&all.manager.self) == S_OK && count_of(all.manager) == 1);
}

/* Releases in each order: nothing is left, and nothing is used after it was freed. */
void test_lifetimes(const environment &env) {
    const unsigned live = live_objects(env);
    const UINT64 memory = memory_usage(env, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
    for (unsigned order = 0; order < 120; order++) {
        every_object all;
        REQUIRE(all.create(env));
        all.list->Add(all.heap);
        std::vector<std::function<void()>> steps = {[&] { EXPECT(all.allocator.release() == 0); },
            [&] { EXPECT(all.manager.release() == 0); }, [&] { EXPECT(all.allocation.release() == 0); },
            [&] { all.heap.release(); }, [&] { EXPECT(all.list.release() == 0); }};
        for (unsigned left = order; !steps.empty();) {
            const size_t next = left % steps.size();
            left /= static_cast<unsigned>(steps.size());
            steps[next]();
            steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(next));
            if (all.heap.self) EXPECT(all.heap->GetInfo().SizeInBytes > 0);
            if (all.allocation.self) EXPECT(all.allocation->GetMemory() && all.allocation->GetInfo().SizeInBytes >= 4096);
        }
        EXPECT(all.own_heap.release() == 0);
    }
    EXPECT(live_objects(env) == live);
    if (env.is_ours) EXPECT(memory_usage(env, DXGI_MEMORY_SEGMENT_GROUP_LOCAL) == memory);
}

void test_threads(const environment &env) {
    const unsigned live = live_objects(env);
    {
        every_object all;
        REQUIRE(all.create(env));
        std::vector<ULONG> before;
        for (const auto &entry : all.entries) before.push_back(count_of(entry.object));
        /* AddRef, Release and QueryInterface of every object from eight threads, which also allocate. */
        std::vector<std::thread> threads;
        std::vector<unsigned> errors(8);
        for (unsigned number = 0; number < 8; number++) {
            threads.emplace_back([&, number] {
                for (unsigned round = 0; round < 500; round++) {
                    for (const auto &entry : all.entries) {
                        entry.object->AddRef();
                        void *out = nullptr;
                        errors[number] += entry.object->QueryInterface(*entry.own, &out) != S_OK;
                        errors[number] += entry.object->Release() == 0;
                        errors[number] += entry.object->Release() == 0;
                    }
                    IResourceAllocation *made = nullptr;
                    if (create_buffer(all.allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &made) != S_OK) {
                        errors[number]++;
                        continue;
                    }
                    /* The memory's object comes and goes on several threads at once. */
                    IResidencyHeap *memory = made->GetMemory();
                    errors[number] += !memory || memory->GetInfo().SizeInBytes < 4096;
                    if (memory) memory->AddRef();
                    errors[number] += made->Release() != 0;
                    if (memory) memory->Release();
                    IResidencyManager *manager = nullptr;
                    errors[number] += all.heap->GetResidencyManager(&manager) != S_OK || manager != all.manager;
                    if (manager) manager->Release();
                }
            });
        }
        for (auto &thread : threads) thread.join();
        for (unsigned count : errors) EXPECT(count == 0);
        for (size_t i = 0; i < before.size(); i++) EXPECT(count_of(all.entries[i].object) == before[i]);
        /* One thread releases what another created, more often than a thread keeps memory of released objects. */
        for (unsigned round = 0; round < 2; round++) {
            std::vector<IResourceAllocation *> many(200);
            for (auto &made : many) REQUIRE(create_buffer(all.allocator, D3D12_HEAP_TYPE_DEFAULT, 256, &made) == S_OK);
            std::thread([&] {
                for (auto *made : many) EXPECT(made->Release() == 0);
            }).join();
        }
        /* Eight threads release the last references of the memory's object. */
        for (unsigned round = 0; round < 100; round++) {
            IResourceAllocation *made[8] = {};
            for (auto &one : made) REQUIRE(create_buffer(all.allocator, D3D12_HEAP_TYPE_READBACK, 4096, &one) == S_OK);
            std::vector<std::thread> releasing;
            for (auto *one : made) {
                releasing.emplace_back([one] {
                    one->GetMemory();
                    one->Release();
                });
            }
            for (auto &thread : releasing) thread.join();
        }
    }
    EXPECT(live_objects(env) == live);
}
