/* What GPGMM's own end-to-end tests of January 2024 expect of the API: values and results. */
#include "environment.hpp"

#include <thread>

static const UINT64 KIB = 1024, MIB = KIB * KIB;

static RESOURCE_ALLOCATOR_DESC desc_of(RESOURCE_ALLOCATION_ALGORITHM dividing = RESOURCE_ALLOCATION_ALGORITHM_DEFAULT,
    RESOURCE_ALLOCATION_ALGORITHM keeping = RESOURCE_ALLOCATION_ALGORITHM_DEFAULT) {
    RESOURCE_ALLOCATOR_DESC desc = {};
    desc.Flags = RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK | RESOURCE_ALLOCATOR_FLAG_NEVER_OVER_ALLOCATE;
    desc.SubAllocationAlgorithm = dividing;
    desc.PoolAlgorithm = keeping;
    return desc;
}

static bool create(const environment &env, const RESOURCE_ALLOCATOR_DESC &desc, held<IResourceAllocator> &out) {
    return EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &out.self, nullptr) == S_OK && out);
}

static RESOURCE_ALLOCATION_DESC in(D3D12_HEAP_TYPE type, RESOURCE_ALLOCATION_FLAGS flags = RESOURCE_ALLOCATION_FLAG_NONE) {
    RESOURCE_ALLOCATION_DESC desc = {};
    desc.HeapType = type;
    desc.Flags = flags;
    return desc;
}

static D3D12_RESOURCE_DESC aligned_buffer(UINT64 size, UINT64 alignment) {
    D3D12_RESOURCE_DESC desc = buffer_desc(size);
    desc.Alignment = alignment;
    return desc;
}

static RESOURCE_ALLOCATOR_STATS stats_of(IResourceAllocator *allocator) {
    RESOURCE_ALLOCATOR_STATS stats = {};
    EXPECT(allocator->QueryStats(&stats) == S_OK);
    return stats;
}

static const D3D12_HEAP_TYPE GPU = D3D12_HEAP_TYPE_DEFAULT, UPLOAD = D3D12_HEAP_TYPE_UPLOAD, READBACK = D3D12_HEAP_TYPE_READBACK;
static const D3D12_RESOURCE_STATES COMMON = D3D12_RESOURCE_STATE_COMMON, READ = D3D12_RESOURCE_STATE_GENERIC_READ,
                                   DEST = D3D12_RESOURCE_STATE_COPY_DEST;
static const auto WITHIN = RESOURCE_ALLOCATION_FLAG_ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
static const auto OWN = RESOURCE_ALLOCATION_FLAG_NEVER_SUBALLOCATE_HEAP;
static const auto HELD = RESOURCE_ALLOCATION_FLAG_NEVER_ALLOCATE_HEAP;

/* Sizes and alignments of buffers, and whether they can be created. */
static void sizes(const environment &env) {
    const struct {
        UINT64 size, alignment;
        bool is_possible;
    } buffers[] = {{0, 0, false}, {0, 1, false}, {UINT64_MAX, 1, false}, {1, UINT64_MAX, true}, {65535, 1, true}, {65537, 1, true},
        {1, 65535, true}, {1, 65537, true}, {1, 131072, true}, {256, 65536, true}, {1024, 65536, true}, {4096, 65536, true},
        {16 * MIB, 0, true}, {64 * MIB, 0, true}, {1024, 1, true}, {64 * MIB, 0, true}, {1024, 1, true}, {65536, 0, true},
        {131072, 0, true}, {262144, 0, true}, {1, 4096, true}};
    const RESOURCE_ALLOCATION_ALGORITHM dividing[] = {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_SLAB,
        RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM, RESOURCE_ALLOCATION_ALGORITHM_DEDICATED};
    const RESOURCE_ALLOCATION_ALGORITHM keeping[] = {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT,
        RESOURCE_ALLOCATION_ALGORITHM_FIXED_POOL, RESOURCE_ALLOCATION_ALGORITHM_SEGMENTED_POOL};
    for (bool committed : {false, true}) {
        for (auto divided : dividing) {
            for (auto kept : keeping) {
                RESOURCE_ALLOCATOR_DESC desc = desc_of(divided, kept);
                desc.PreferredResourceHeapSize = 64 * MIB;
                if (committed) desc.Flags |= RESOURCE_ALLOCATOR_FLAG_ALWAYS_COMMITTED;
                held<IResourceAllocator> allocator;
                REQUIRE(create(env, desc, allocator));
                for (const auto &buffer : buffers) {
                    held<IResourceAllocation> made;
                    const auto wanted = in(D3D12_HEAP_TYPE(0), RESOURCE_ALLOCATION_FLAG_NEVER_FALLBACK);
                    const HRESULT result =
                        allocator->CreateResource(wanted, aligned_buffer(buffer.size, buffer.alignment), COMMON, nullptr, &made.self);
                    if (!EXPECT(SUCCEEDED(result) == buffer.is_possible)) {
                        std::printf("  size %llu, alignment %llu: %#x\n", (unsigned long long)buffer.size,
                            (unsigned long long)buffer.alignment, (unsigned)result);
                    }
                }
            }
        }
    }

    held<IResourceAllocator> allocator;
    REQUIRE(create(env, desc_of(), allocator));
    EXPECT(allocator->CreateResource(in(D3D12_HEAP_TYPE(0)), buffer_desc(32768 * MIB), COMMON, nullptr, nullptr) == E_OUTOFMEMORY);
    EXPECT(allocator->CreateResource(in(D3D12_HEAP_TYPE(0)), buffer_desc(MIB * MIB * 1024), COMMON, nullptr, nullptr) == E_OUTOFMEMORY);
    for (auto type : {GPU, UPLOAD, READBACK}) EXPECT(create_buffer(allocator, type, 4 * MIB, nullptr) == S_FALSE);
    EXPECT(allocator->CreateResource(in(D3D12_HEAP_TYPE_CUSTOM), buffer_desc(4 * MIB), COMMON, nullptr, nullptr) == S_FALSE);

    RESOURCE_ALLOCATOR_DESC limited = desc_of();
    limited.MaxResourceHeapSize = 4 * MIB;
    held<IResourceAllocator> small;
    REQUIRE(create(env, limited, small));
    EXPECT(FAILED(small->CreateResource(in(D3D12_HEAP_TYPE(0)), buffer_desc(4 * MIB + 1), D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
        nullptr, nullptr)));
}

/* Sizes of heaps, by algorithm and limit of fragmentation. */
static void heap_sizes(const environment &env) {
    const struct {
        RESOURCE_ALLOCATION_ALGORITHM algorithm;
        UINT64 size;
    } expected[] = {{RESOURCE_ALLOCATION_ALGORITHM_SLAB, 16 * MIB}, {RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM, 16 * MIB},
        {RESOURCE_ALLOCATION_ALGORITHM_DEDICATED, 4 * MIB}};
    for (const auto &with : expected) {
        RESOURCE_ALLOCATOR_DESC desc = desc_of(with.algorithm);
        desc.PreferredResourceHeapSize = 12 * MIB;
        held<IResourceAllocator> allocator;
        held<IResourceAllocation> buffer;
        REQUIRE(create(env, desc, allocator));
        REQUIRE(create_buffer(allocator, GPU, 4 * MIB, &buffer.self) == S_OK);
        EXPECT(buffer->GetMemory()->GetInfo().SizeInBytes == with.size);
    }
    RESOURCE_ALLOCATOR_DESC desc = desc_of();
    desc.ResourceHeapFragmentationLimit = 0.0265f;
    held<IResourceAllocator> allocator;
    held<IResourceAllocation> shared, own;
    REQUIRE(create(env, desc, allocator));
    REQUIRE(create_buffer(allocator, GPU, 1, &shared.self) == S_OK && create_buffer(allocator, GPU, 1, &own.self, OWN) == S_OK);
    EXPECT(shared->GetMemory()->GetInfo().SizeInBytes == 4 * MIB && own->GetMemory()->GetInfo().SizeInBytes == 64 * KIB);
}

/* Heaps that are kept after their last allocation. */
static void kept_heaps(const environment &env) {
    for (auto tier : {D3D12_RESOURCE_HEAP_TIER_1, D3D12_RESOURCE_HEAP_TIER_2}) {
        D3D12_FEATURE_DATA_D3D12_OPTIONS options = {};
        env.device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options);
        if (tier > options.ResourceHeapTier) continue;
        RESOURCE_ALLOCATOR_DESC desc = desc_of();
        desc.PreferredResourceHeapSize = 4 * MIB;
        desc.ResourceHeapTier = tier;
        held<IResourceAllocator> allocator;
        REQUIRE(create(env, desc, allocator));
        held<IResourceAllocation> made;
        REQUIRE(create_buffer(allocator, GPU, 4 * MIB, &made.self) == S_OK);
        EXPECT(made->GetMemory()->GetInfo().SizeInBytes == 4 * MIB);
        made.release();
        EXPECT(stats_of(allocator).FreeHeapUsage == 4 * MIB);
        REQUIRE(allocator->CreateResource(in(GPU), texture_desc(1, 1), COMMON, nullptr, &made.self) == S_OK);
        EXPECT(made->GetMemory()->GetInfo().SizeInBytes == 4 * MIB);
        made.release();
        /* On tier 2, GPGMM's heaps go from buffers to textures; here, each kind keeps its own. */
        EXPECT(stats_of(allocator).FreeHeapUsage == 8 * MIB);
    }

    /* Standalone buffers reuse heaps of their size. */
    held<IResourceAllocator> allocator;
    REQUIRE(create(env, desc_of(), allocator));
    for (auto flags : {OWN, OWN | HELD}) {
        for (UINT64 size : {4 * MIB, 2 * MIB}) {
            held<IResourceAllocation> buffer;
            REQUIRE(create_buffer(allocator, UPLOAD, size, &buffer.self, flags) == S_OK);
            EXPECT(buffer->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_STANDALONE);
        }
    }
    EXPECT(stats_of(allocator).FreeHeapUsage == 6 * MIB);
    UINT64 released = 0;
    EXPECT(SUCCEEDED(allocator->ReleaseResourceHeaps(UINT64_MAX, &released)) && released == 6 * MIB);
    EXPECT(stats_of(allocator).FreeHeapUsage == 0);
    EXPECT(FAILED(create_buffer(allocator, UPLOAD, 4 * MIB, nullptr, OWN | HELD)));

    /* Sizes by turns, one live at a time, take one heap each. */
    RESOURCE_ALLOCATOR_DESC desc = desc_of(RESOURCE_ALLOCATION_ALGORITHM_DEDICATED);
    held<IResourceAllocator> dedicated;
    REQUIRE(create(env, desc, dedicated));
    for (int round = 0; round < 10; round++) {
        for (UINT64 size : {4 * MIB, 2 * MIB, 8 * MIB}) {
            EXPECT(SUCCEEDED(create_buffer(dedicated, GPU, size, nullptr, round ? HELD : RESOURCE_ALLOCATION_FLAG_NONE)));
        }
    }
    EXPECT(stats_of(dedicated).FreeHeapUsage == 14 * MIB);

    desc = desc_of();
    desc.Flags |= RESOURCE_ALLOCATOR_FLAG_ALWAYS_ON_DEMAND;
    held<IResourceAllocator> without;
    REQUIRE(create(env, desc, without));
    for (UINT64 size : {8 * MIB, 12 * MIB}) {
        EXPECT(SUCCEEDED(create_buffer(without, UPLOAD, size, nullptr)));
        EXPECT(FAILED(create_buffer(without, UPLOAD, size, nullptr, HELD)));
    }

    /* One family of heaps in unified memory, except for READBACK. */
    D3D12_FEATURE_DATA_ARCHITECTURE architecture = {};
    env.device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof architecture);
    if (!architecture.CacheCoherentUMA) return;
    desc = desc_of();
    desc.Flags |= RESOURCE_ALLOCATOR_FLAG_ALLOW_UNIFIED_MEMORY;
    held<IResourceAllocator> unified;
    REQUIRE(create(env, desc, unified));
    for (auto state : {COMMON, READ, DEST}) {
        EXPECT(unified->CreateResource(in(D3D12_HEAP_TYPE(0)), buffer_desc(4 * MIB), state, nullptr, nullptr) == S_FALSE);
        EXPECT(stats_of(unified).FreeHeapUsage == 4 * MIB);
    }
    EXPECT(create_buffer(unified, READBACK, 4 * MIB, nullptr) == S_FALSE && stats_of(unified).FreeHeapUsage == 8 * MIB);
}

/* An allocator and one that is nested in it have the same empty heaps. */
static void nested_heaps(const environment &env) {
    for (auto algorithm : {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_SLAB,
             RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM, RESOURCE_ALLOCATION_ALGORITHM_DEDICATED}) {
        for (auto flags : {RESOURCE_ALLOCATION_FLAG_NONE, OWN, WITHIN}) {
            for (int giver : {0, 1, 2}) {
                held<IResourceAllocator> family[3];
                REQUIRE(create(env, desc_of(algorithm), family[0]));
                REQUIRE(CreateResourceAllocator(desc_of(algorithm), family[0].self, &family[1].self) == S_OK);
                REQUIRE(CreateResourceAllocator(desc_of(algorithm), family[1].self, &family[2].self) == S_OK);
                held<IResourceAllocation> buffer;
                REQUIRE(create_buffer(family[giver], UPLOAD, 4096, &buffer.self, flags) == S_OK);
                const UINT64 heap = stats_of(family[giver]).UsedHeapUsage;
                EXPECT(heap >= 64 * KIB);
                for (auto &one : family) EXPECT(stats_of(one).FreeHeapUsage == 0);
                buffer.release();
                for (auto &one : family) EXPECT(stats_of(one).FreeHeapUsage == heap && stats_of(one).UsedHeapUsage == 0);
                /* Another one takes the heap, and any of them releases it. */
                const int taker = (giver + 1) % 3;
                REQUIRE(create_buffer(family[taker], UPLOAD, 4096, &buffer.self, flags | HELD) == S_OK);
                for (int i = 0; i < 3; i++) EXPECT(stats_of(family[i]).UsedHeapUsage == (i == taker ? heap : 0));
                for (auto &one : family) EXPECT(stats_of(one).FreeHeapUsage == 0);
                buffer.release();
                UINT64 released = 0;
                EXPECT(SUCCEEDED(family[giver]->ReleaseResourceHeaps(heap, &released)) && released == heap);
                for (auto &one : family) EXPECT(stats_of(one).FreeHeapUsage == 0);
            }
        }
    }
}

/* Parts of buffers. */
static void parts(const environment &env) {
    held<IResourceAllocator> allocator;
    REQUIRE(create(env, desc_of(), allocator));
    const struct {
        D3D12_HEAP_TYPE type;
        UINT64 size, alignment, expected;
    } buffers[] = {{UPLOAD, 4, 1, 4}, {UPLOAD, 4, 16, 16}, {UPLOAD, 4, 0, 256}, {READBACK, 4, 0, 4}, {READBACK, 3, 0, 4}};
    for (const auto &buffer : buffers) {
        held<IResourceAllocation> part;
        REQUIRE(allocator->CreateResource(in(buffer.type, WITHIN), aligned_buffer(buffer.size, buffer.alignment),
                    buffer.type == UPLOAD ? READ : DEST, nullptr, &part.self) == S_OK);
        const RESOURCE_ALLOCATION_INFO info = part->GetInfo();
        EXPECT(info.Type == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN && part->GetOffsetFromResource() == 0);
        EXPECT(info.SizeInBytes == buffer.expected && info.Alignment == buffer.expected);
        const RESOURCE_ALLOCATOR_STATS stats = stats_of(allocator);
        EXPECT(stats.UsedBlockCount == 1 && stats.UsedHeapCount == 1 && stats.UsedBlockUsage == info.SizeInBytes);
    }
    const auto type_of = [&](D3D12_HEAP_TYPE type, D3D12_RESOURCE_STATES state, D3D12_RESOURCE_FLAGS flags = D3D12_RESOURCE_FLAG_NONE) {
        held<IResourceAllocation> part;
        D3D12_RESOURCE_DESC desc = buffer_desc(3);
        desc.Flags = flags;
        EXPECT(allocator->CreateResource(in(type, WITHIN), desc, state, nullptr, &part.self) == S_OK);
        return part ? part->GetInfo().Type : RESOURCE_ALLOCATION_TYPE_UNKNOWN;
    };
    EXPECT(type_of(GPU, DEST) == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED && type_of(GPU, COMMON) == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED);
    EXPECT(type_of(D3D12_HEAP_TYPE_CUSTOM, DEST) == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN);
    EXPECT(type_of(D3D12_HEAP_TYPE(0), DEST) == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN);
    EXPECT(type_of(D3D12_HEAP_TYPE(0), COMMON) != RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN);
    EXPECT(type_of(D3D12_HEAP_TYPE(0), DEST, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE) != RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN);

    /* One after the other. After the last one, its heap is not used any more, with any algorithm. */
    for (auto algorithm : {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_SLAB,
             RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM, RESOURCE_ALLOCATION_ALGORITHM_DEDICATED}) {
        held<IResourceAllocator> other;
        REQUIRE(create(env, desc_of(algorithm), other));
        held<IResourceAllocation> row[3];
        for (auto &part : row) {
            REQUIRE(other->CreateResource(in(UPLOAD, WITHIN), aligned_buffer(4, 1), READ, nullptr, &part.self) == S_OK);
            EXPECT(part->GetOffsetFromResource() == row[0]->GetOffsetFromResource() + 4 * UINT64(&part - row));
            EXPECT(part->GetGPUVirtualAddress() == row[0]->GetGPUVirtualAddress() + 4 * UINT64(&part - row));
            EXPECT(part->GetResource() == row[0]->GetResource() && FAILED(part->Map(1, nullptr, nullptr)));
        }
        EXPECT(stats_of(other).UsedBlockCount == 3 && stats_of(other).UsedHeapCount == 1 && stats_of(other).UsedBlockUsage == 12);
        const UINT64 heap = stats_of(other).UsedHeapUsage;
        for (auto &part : row) part.release();
        const RESOURCE_ALLOCATOR_STATS stats = stats_of(other);
        EXPECT(stats.UsedBlockCount == 0 && stats.UsedHeapCount == 0 && stats.UsedHeapUsage == 0 && stats.FreeHeapUsage >= heap);
    }
}

/* Standalone, committed and imported allocations. */
static void alone(const environment &env) {
    held<IResourceAllocator> allocator, committing;
    REQUIRE(create(env, desc_of(), allocator));
    held<IResourceAllocation> first, second, shared, committed;
    REQUIRE(create_buffer(allocator, GPU, 4 * MIB, &first.self, OWN) == S_OK);
    EXPECT(stats_of(allocator).UsedHeapCount == 1 && stats_of(allocator).UsedHeapUsage == 4 * MIB);
    REQUIRE(create_buffer(allocator, GPU, 4 * MIB, &second.self, OWN) == S_OK);
    EXPECT(stats_of(allocator).UsedHeapCount == 2 && stats_of(allocator).UsedHeapUsage == 8 * MIB);

    /* Required heap flags make it committed. */
    RESOURCE_ALLOCATION_DESC with_flags = in(GPU);
    with_flags.ExtraRequiredHeapFlags = D3D12_HEAP_FLAG_SHARED;
    REQUIRE(allocator->CreateResource(with_flags, buffer_desc(4 * MIB), COMMON, nullptr, &shared.self) == S_OK);
    held<ID3D12Heap> heap;
    EXPECT(FAILED(shared->GetMemory()->QueryInterface(heap.id(), heap.out())));
    with_flags.ExtraRequiredHeapFlags = D3D12_HEAP_FLAGS(0xff);
    /* Other implementations may accept any flags. */
    HRESULT unknown = allocator->CreateResource(with_flags, buffer_desc(4 * MIB), COMMON, nullptr, nullptr);
    EXPECT(FAILED(unknown) || !env.is_ours);

    RESOURCE_ALLOCATOR_DESC desc = desc_of();
    desc.Flags = RESOURCE_ALLOCATOR_FLAG_ALWAYS_COMMITTED;
    REQUIRE(create(env, desc, committing));
    EXPECT(create_buffer(committing, GPU, 4 * MIB, nullptr) == S_FALSE);
    REQUIRE(create_buffer(committing, GPU, 4 * MIB, &committed.self) == S_OK);
    held<ID3D12Pageable> resource, memory;
    EXPECT(committed->GetResource()->QueryInterface(resource.id(), resource.out()) == S_OK);
    EXPECT(committed->GetMemory()->QueryInterface(memory.id(), memory.out()) == S_OK && memory == resource);
    EXPECT(FAILED(committed->GetMemory()->QueryInterface(heap.id(), heap.out())));
    const RESOURCE_ALLOCATOR_STATS stats = stats_of(committing);
    EXPECT(committed->GetInfo().SizeInBytes == 4 * MIB && stats.UsedHeapUsage == 4 * MIB && stats.UsedBlockUsage == 4 * MIB);

    /* Any resource can be imported, more than once. */
    held<IResourceAllocation> import, again;
    REQUIRE(allocator->CreateResource({}, committed->GetResource(), &import.self) == S_OK);
    REQUIRE(allocator->CreateResource({}, committed->GetResource(), &again.self) == S_OK);
    EXPECT(import->GetResource() == committed->GetResource() && again->GetResource() == committed->GetResource());
    EXPECT(allocator->CreateResource({}, committed->GetResource(), nullptr) == S_FALSE);

    /* A description that was read back creates the same. */
    for (UINT64 size : {UINT64(1), 100 * KIB}) {
        held<IResourceAllocation> buffer, copy;
        D3D12_RESOURCE_DESC asked = buffer_desc(size), read = {};
        asked.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        REQUIRE(allocator->CreateResource(in(GPU), asked, COMMON, nullptr, &buffer.self) == S_OK);
        REQUIRE(RETURNED(read, buffer->GetResource(), GetDesc, 10));
        EXPECT(read.Flags == asked.Flags && read.Width == size);
        EXPECT(allocator->CreateResource(in(GPU), read, COMMON, nullptr, &copy.self) == S_OK);
    }

    /* Padding. */
    for (const D3D12_RESOURCE_DESC &padded : {buffer_desc(MIB), texture_desc(1, 1)}) {
        held<IResourceAllocation> plain, more;
        RESOURCE_ALLOCATION_DESC with_padding = in(GPU, OWN);
        with_padding.ExtraRequiredResourcePadding = 63;
        REQUIRE(allocator->CreateResource(in(GPU), padded, READ, nullptr, &plain.self) == S_OK);
        REQUIRE(allocator->CreateResource(with_padding, padded, READ, nullptr, &more.self) == S_OK);
        EXPECT(more->GetInfo().SizeInBytes - plain->GetInfo().SizeInBytes >= 63);
        EXPECT(more->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_STANDALONE);
    }
}

/* An adapter of DXGI 1.3: it has no IDXGIAdapter3. */
struct old_adapter : IUnknown {
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void **out) override {
        *out = nullptr;
        return E_NOINTERFACE;
    }
    ULONG STDMETHODCALLTYPE AddRef() override { return 2; }
    ULONG STDMETHODCALLTYPE Release() override { return 1; }
    virtual ~old_adapter() = default;
};

static HRESULT create_heap(void *device, ID3D12Pageable **out) {
    D3D12_HEAP_DESC desc = {};
    desc.SizeInBytes = MIB;
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    return static_cast<ID3D12Device *>(device)->CreateHeap(&desc, held<ID3D12Heap>::id(), reinterpret_cast<void **>(out));
}

/* Residency heaps. */
static void heaps(const environment &env) {
    old_adapter adapter;
    auto dxgi = reinterpret_cast<IDXGIAdapter *>(static_cast<IUnknown *>(&adapter));
    held<IResourceAllocator> allocator;
    EXPECT(CreateResourceAllocator(desc_of(), env.device, dxgi, &allocator.self, nullptr) == S_OK);
    held<IResidencyManager> manager, none;
    EXPECT(FAILED(CreateResourceAllocator(desc_of(), env.device, dxgi, nullptr, &none.self)));

    RESIDENCY_MANAGER_DESC manager_desc = {};
    manager_desc.MaxBudgetInBytes = 10 * MIB;
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    RESIDENCY_HEAP_DESC desc = {};
    desc.SizeInBytes = MIB;
    void *device = env.device.self;
    for (auto flag : {RESIDENCY_HEAP_FLAG_CREATE_RESIDENT, RESIDENCY_HEAP_FLAG_CREATE_IN_BUDGET, RESIDENCY_HEAP_FLAG_CREATE_LOCKED}) {
        desc.Flags = flag;
        EXPECT(CreateResidencyHeap(desc, nullptr, create_heap, device, nullptr) == E_INVALIDARG);
    }
    /* An object that exists may be resident already. */
    held<ID3D12Pageable> pageable;
    REQUIRE(create_heap(device, &pageable.self) == S_OK);
    desc.Flags = RESIDENCY_HEAP_FLAG_CREATE_RESIDENT;
    EXPECT(CreateResidencyHeap(desc, nullptr, pageable, nullptr) == S_FALSE);
    desc.Flags = RESIDENCY_HEAP_FLAG_NONE;

    /* The segment is a wish: what the heap's own properties say is true. */
    for (auto segment : {DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL}) {
        held<IResidencyHeap> created, managed;
        desc.HeapSegment = segment;
        EXPECT(CreateResidencyHeap(desc, manager, create_heap, device, &created.self) == S_OK);
        EXPECT(CreateResidencyHeap(desc, manager, pageable, &managed.self) == S_OK);
        REQUIRE(created && managed && created->GetInfo().Status == RESIDENCY_HEAP_STATUS_RESIDENT);
        RESIDENCY_MANAGER_STATS stats = {};
        EXPECT(manager->QueryStats(&stats) == S_OK && stats.CurrentHeapCount == 2 && stats.CurrentHeapUsage == 2 * MIB);
        /* Unlocking a heap that is not locked has no effect. */
        EXPECT(created->Lock() == S_OK && created->GetInfo().IsLocked && created->Unlock() == S_OK && created->Unlock() == S_OK);
        EXPECT(!created->GetInfo().IsLocked && created->Lock() == S_OK && created->GetInfo().IsLocked && created->Unlock() == S_OK);
    }
}

/* Buffers of 1 MiB within a budget of 10 MiB, and as many again: the older ones are evicted, unless they are locked. */
static void budgets(const environment &env) {
    const UINT64 budget = 10 * MIB;
    const auto resident = [](IResourceAllocation *made) {
        return made->GetMemory()->GetInfo().Status == RESIDENCY_HEAP_STATUS_RESIDENT;
    };
    for (bool is_locked : {false, true}) {
        RESIDENCY_MANAGER_DESC manager_desc = {};
        manager_desc.MaxBudgetInBytes = budget;
        RESOURCE_ALLOCATOR_DESC desc = {};
        desc.Flags = RESOURCE_ALLOCATOR_FLAG_ALWAYS_IN_BUDGET;
        /* GPGMM's default: a heap for each buffer of 1 MiB, so that none is in the heap of another. */
        desc.SubAllocationAlgorithm = RESOURCE_ALLOCATION_ALGORITHM_SLAB;
        desc.ResourceHeapGrowthFactor = 1.0f;
        held<IResidencyManager> manager;
        held<IResourceAllocator> allocator;
        REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
        REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, &allocator.self) == S_OK);
        std::vector<held<IResourceAllocation>> below(64), above(64);
        size_t first = 0, second = 0;
        for (; stats_of(allocator).UsedHeapUsage + MIB <= budget; first++) {
            REQUIRE(first < below.size() && create_buffer(allocator, GPU, MIB, &below[first].self) == S_OK);
            EXPECT(resident(below[first]) && (!is_locked || below[first]->GetMemory()->Lock() == S_OK));
        }
        DXGI_QUERY_VIDEO_MEMORY_INFO memory = {};
        EXPECT(manager->QueryVideoMemoryInfo(DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &memory) == S_OK);
        if (is_locked) {
            for (size_t i = 0; i < first; i++) EXPECT(below[i]->GetMemory()->GetInfo().IsLocked);
            if (memory.Budget <= memory.CurrentUsage) EXPECT(FAILED(create_buffer(allocator, GPU, MIB, nullptr)));
            for (size_t i = 0; i < first; i++) EXPECT(SUCCEEDED(below[i]->GetMemory()->Unlock()));
            EXPECT(SUCCEEDED(create_buffer(allocator, GPU, MIB, nullptr)));
            continue;
        }
        for (const UINT64 used = stats_of(allocator).UsedHeapUsage; used + budget > stats_of(allocator).UsedHeapUsage; second++) {
            REQUIRE(second < above.size() && create_buffer(allocator, GPU, MIB, &above[second].self) == S_OK);
        }
        EXPECT(manager->QueryVideoMemoryInfo(DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &memory) == S_OK);
        if (memory.Budget > memory.CurrentUsage) continue;
        for (size_t i = 0; i < second; i++) EXPECT(resident(above[i]));
        for (size_t i = 0; i < first; i++) EXPECT(!resident(below[i]));

        /* Submissions page them in again. */
        direct_queue direct;
        REQUIRE(direct.create(env) && direct.recorded->Close() == S_OK);
        for (bool is_first : {true, false}) {
            held<IResidencyList> list;
            REQUIRE(CreateResidencyList(&list.self) == S_OK);
            for (size_t i = 0; i < (is_first ? first : second); i++) EXPECT(list->Add((is_first ? below : above)[i]->GetMemory()) == S_OK);
            ID3D12CommandList *commands[] = {direct.recorded};
            IResidencyList *lists[] = {list};
            EXPECT(manager->ExecuteCommandLists(direct.queue, commands, lists, 1) == S_OK);
            for (size_t i = 0; i < first; i++) EXPECT(resident(below[i]) == is_first);
            for (size_t i = 0; i < second; i++) EXPECT(resident(above[i]) != is_first);
        }
        direct.wait();
    }
}

/* Allocations of many threads leave nothing in use. */
static void many_threads(const environment &env) {
    held<IResourceAllocator> allocator;
    REQUIRE(create(env, desc_of(), allocator));
    std::vector<std::thread> threads;
    std::vector<HRESULT> results(64);
    for (unsigned number = 0; number < 64; number++) {
        threads.emplace_back([&, number] {
            held<IResourceAllocation> buffer;
            results[number] = number % 2 ? create_buffer(allocator, UPLOAD, 256, &buffer.self, WITHIN)
                                         : create_buffer(allocator, GPU, 4 * MIB, &buffer.self);
        });
    }
    for (auto &thread : threads) thread.join();
    for (HRESULT result : results) EXPECT(result == S_OK);
    EXPECT(stats_of(allocator).UsedHeapUsage == 0 && stats_of(allocator).UsedBlockCount == 0);
}

void test_as_gpgmm(const environment &env) {
    sizes(env);
    heap_sizes(env);
    kept_heaps(env);
    nested_heaps(env);
    parts(env);
    alone(env);
    heaps(env);
    budgets(env);
    many_threads(env);
}
