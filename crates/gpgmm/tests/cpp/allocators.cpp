/* CreateResourceAllocator, and IResourceAllocator except for creating resources. */
#include "environment.hpp"

void test_allocators(const environment &env) {
    /* Each of the three functions. */
    RESOURCE_ALLOCATOR_DESC desc = {};
    desc.MinRecordLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    held<IResourceAllocator> plain, with_manager, managed, nested;
    held<IResidencyManager> manager;
    REQUIRE(CreateResourceAllocator(desc, env.device, nullptr, &plain.self, nullptr) == S_OK && plain);
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &with_manager.self, &manager.self) == S_OK);
    REQUIRE(with_manager && manager);
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager.self, &managed.self) == S_OK && managed);
    REQUIRE(CreateResourceAllocator(desc, with_manager.self, &nested.self) == S_OK && nested);

    /* With a null out-pointer, they create nothing. */
    const unsigned live = live_objects(env);
    IResourceAllocator **nothing = nullptr;
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), nothing, nullptr) == S_FALSE);
    held<IResidencyManager> other;
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), nothing, &other.self) == S_FALSE && !other);
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), manager.self, nothing) == S_FALSE);
    EXPECT(CreateResourceAllocator(desc, plain.self, nothing) == S_FALSE);
    EXPECT(live_objects(env) == live);

    /* Every flag by itself, and every member of the description. */
    for (int bit = 1; bit <= RESOURCE_ALLOCATOR_FLAG_NEVER_OVER_ALLOCATE; bit <<= 1) {
        desc = {};
        desc.Flags |= RESOURCE_ALLOCATOR_FLAGS(bit);
        held<IResourceAllocator> allocator;
        held<IResourceAllocation> buffer;
        EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == S_OK);
        if (allocator) EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &buffer.self) == S_OK);
    }
    const RESOURCE_ALLOCATION_ALGORITHM dividing[] = {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_SLAB,
        RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM, RESOURCE_ALLOCATION_ALGORITHM_DEDICATED};
    const RESOURCE_ALLOCATION_ALGORITHM keeping[] = {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT,
        RESOURCE_ALLOCATION_ALGORITHM_FIXED_POOL, RESOURCE_ALLOCATION_ALGORITHM_SEGMENTED_POOL};
    for (auto divided : dividing) {
        for (auto kept : keeping) {
            desc = {};
            desc.Flags = RESOURCE_ALLOCATOR_FLAG_NONE;
            desc.ResourceHeapTier = D3D12_RESOURCE_HEAP_TIER_1;
            desc.SubAllocationAlgorithm = divided;
            desc.PoolAlgorithm = kept;
            desc.PreferredResourceHeapSize = 1 << 20;
            desc.MaxResourceHeapSize = 32 << 20;
            desc.ResourceHeapFragmentationLimit = 0.25f;
            desc.ResourceHeapGrowthFactor = 2.0f;
            desc.ReleaseSizeInBytes = 1 << 20;
            desc.ExtraRequiredResourceFlags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
            held<IResourceAllocator> allocator;
            held<IResourceAllocation> buffer;
            REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == S_OK);
            REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 1 << 16, &buffer.self) == S_OK);
            D3D12_RESOURCE_DESC made = {};
            EXPECT(RETURNED(made, buffer->GetResource(), GetDesc, 10));
            EXPECT((made.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS) != 0);
            buffer.release();
            UINT64 released = 7;
            const HRESULT result = allocator->ReleaseResourceHeaps(1, &released);
            EXPECT(result == (released ? S_OK : S_FALSE));
            EXPECT(released % (1 << 16) == 0);
        }
    }

    /* Statistics, and the release of empty heaps. */
    held<IResourceAllocation> buffer;
    RESOURCE_ALLOCATOR_STATS stats;
    std::memset(&stats, 0xee, sizeof stats);
    REQUIRE(plain->QueryStats(&stats) == S_OK);
    EXPECT(stats.UsedBlockCount == 0 && stats.UsedBlockUsage == 0 && stats.UsedHeapCount == 0 && stats.UsedHeapUsage == 0);
    EXPECT(stats.FreeHeapUsage == 0 && stats.PrefetchedHeapMisses == 0 && stats.PrefetchedHeapMissesEliminated == 0);
    EXPECT(stats.SizeCacheHits == 0 && stats.SizeCacheMisses == 0);
    REQUIRE(create_buffer(plain, D3D12_HEAP_TYPE_DEFAULT, 1 << 20, &buffer.self) == S_OK);
    EXPECT(plain->QueryStats(&stats) == S_OK);
    EXPECT(stats.UsedBlockCount == 1 && stats.UsedBlockUsage == 1 << 20 && stats.UsedHeapCount == 1);
    EXPECT(stats.UsedHeapUsage >= 1 << 20);
    const UINT64 heap = stats.UsedHeapUsage;
    UINT64 released = 7;
    EXPECT(plain->ReleaseResourceHeaps(1, &released) == S_FALSE && released == 0);
    buffer.release();
    EXPECT(plain->QueryStats(&stats) == S_OK && stats.UsedHeapCount == 0 && stats.FreeHeapUsage == heap);
    EXPECT(plain->ReleaseResourceHeaps(heap, &released) == S_OK && released == heap);
    EXPECT(plain->QueryStats(&stats) == S_OK && stats.FreeHeapUsage == 0);
    EXPECT(plain->ReleaseResourceHeaps(0, nullptr) == S_OK);
    EXPECT(plain->ReleaseResourceHeaps(UINT64_MAX, nullptr) == S_FALSE);
    EXPECT(plain->QueryStats(nullptr) == S_FALSE);

    FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT support = {true};
    EXPECT(plain->CheckFeatureSupport(RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT, &support, sizeof support) == S_OK);
    EXPECT(!support.IsResourceAllocationWithinCoherent); /* unknown without an adapter */
}
