/* Pools and statistics of D3D12MA's API. */
#include "d3d12ma.hpp"

using namespace ma;

/* Block sizes and counts, and what does not fit. */
static void block_counts(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    D3D12MA::POOL_DESC desc = {};
    desc.HeapProperties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.HeapFlags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    desc.BlockSize = 11 * MIB;
    desc.MinBlockCount = 1;
    desc.MaxBlockCount = 2;
    desc.ResidencyPriority = D3D12_RESIDENCY_PRIORITY_HIGH;
    held<D3D12MA::Pool> pool;
    REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
    const D3D12MA::POOL_DESC copy = pool->GetDesc();
    EXPECT(copy.BlockSize == desc.BlockSize && copy.MaxBlockCount == 2 && copy.ResidencyPriority == desc.ResidencyPriority);
    EXPECT(copy.HeapProperties.Type == desc.HeapProperties.Type && copy.HeapFlags == desc.HeapFlags);
    EXPECT(!pool->GetName());
    pool->SetName(L"meshes");
    EXPECT(narrow(pool->GetName()) == "meshes");
    pool->SetName(nullptr);
    EXPECT(!pool->GetName());

    D3D12MA::Statistics stats = statistics(pool);
    EXPECT(stats.BlockCount == 1 && stats.AllocationCount == 0 && stats.BlockBytes == 11 * MIB && stats.AllocationBytes == 0);
    /* The other fields of the allocation's description are ignored. */
    D3D12MA::CALLOCATION_DESC place(pool.self);
    std::memset(static_cast<void *>(&place.HeapType), 0xcd, sizeof place.HeapType);
    std::memset(static_cast<void *>(&place.ExtraHeapFlags), 0xcd, sizeof place.ExtraHeapFlags);
    held<D3D12MA::Allocation> made[5];
    for (unsigned i = 0; i < 4; i++) {
        REQUIRE(buffer(allocator, place, 5 * MIB, &made[i].self) == S_OK);
        stats = statistics(pool);
        EXPECT(stats.BlockCount == 1 + i / 2 && stats.AllocationCount == i + 1 && stats.AllocationBytes == (i + 1) * 5 * MIB);
        if (i == 1) {
            place.Flags = D3D12MA::ALLOCATION_FLAG_NEVER_ALLOCATE;
            EXPECT(buffer(allocator, place, 5 * MIB, &made[4].self) == E_OUTOFMEMORY && !made[4]);
            place.Flags = D3D12MA::ALLOCATION_FLAG_COMMITTED;
            EXPECT(FAILED(buffer(allocator, place, 5 * MIB, &made[4].self)) && !made[4]);
            place.Flags = D3D12MA::ALLOCATION_FLAG_NONE;
        }
    }
    EXPECT(buffer(allocator, place, 5 * MIB, &made[4].self) == E_OUTOFMEMORY && !made[4]);
    EXPECT(made[0]->GetHeap() == made[1]->GetHeap() && made[2]->GetHeap() == made[3]->GetHeap());
    made[2].release();
    made[3].release();
    const D3D12_RESOURCE_ALLOCATION_INFO info = {5 * MIB, 0};
    held<D3D12MA::Allocation> memory;
    held<ID3D12Resource> resource;
    REQUIRE(allocator->AllocateMemory(&place, &info, &memory.self) == S_OK);
    const D3D12_RESOURCE_DESC resource_desc = buffer_desc(MIB);
    EXPECT(allocator->CreateAliasingResource(memory, 0, &resource_desc, D3D12_RESOURCE_STATE_COMMON, nullptr, resource.id(), resource.out()) == S_OK);
}

/* Pools and allocation flags: the same rules for default pools and for pools without a block size. */
static void placements(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    held<D3D12MA::Pool> pool, fixed;
    const D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
    D3D12MA::CPOOL_DESC fixed_desc = desc;
    fixed_desc.BlockSize = 2 * MIB + 512 * KIB;
    fixed_desc.MaxBlockCount = 1;
    REQUIRE(allocator->CreatePool(&fixed_desc, &fixed.self) == S_OK);
    for (auto place : {in(D3D12_HEAP_TYPE_DEFAULT), D3D12MA::CALLOCATION_DESC(pool.self)}) {
        held<D3D12MA::Allocation> first, committed, second, third;
        REQUIRE(buffer(allocator, place, MIB, &first.self) == S_OK && first->GetHeap());
        place.Flags = D3D12MA::ALLOCATION_FLAG_COMMITTED;
        REQUIRE(buffer(allocator, place, MIB, &committed.self) == S_OK && !committed->GetHeap());
        place.Flags = D3D12MA::ALLOCATION_FLAG_NEVER_ALLOCATE;
        REQUIRE(buffer(allocator, place, MIB, &second.self) == S_OK);
        EXPECT(second->GetHeap() == first->GetHeap() && second->GetOffset() != first->GetOffset());
        REQUIRE(buffer(allocator, place, MIB, &third.self) == S_OK && third->GetHeap() == first->GetHeap());
        if (place.CustomPool) {
            const D3D12MA::Statistics stats = statistics(pool);
            EXPECT(stats.BlockCount == 2 && stats.AllocationCount == 4 && stats.AllocationBytes == 4 * MIB);
        }
    }
    D3D12MA::CALLOCATION_DESC place(fixed.self);
    held<D3D12MA::Allocation> first, second, third;
    REQUIRE(buffer(allocator, place, MIB, &first.self) == S_OK && buffer(allocator, place, MIB, &second.self) == S_OK);
    EXPECT(buffer(allocator, place, MIB, &third.self) == E_OUTOFMEMORY);
    place.Flags = D3D12MA::ALLOCATION_FLAG_COMMITTED;
    EXPECT(buffer(allocator, place, MIB, &third.self) == E_INVALIDARG);
    EXPECT(statistics(fixed).BlockCount == 1 && statistics(fixed).AllocationBytes == 2 * MIB);

    /* A pool that commits everything. */
    held<D3D12MA::Pool> committing;
    D3D12MA::CPOOL_DESC committing_desc = desc;
    committing_desc.Flags = committing_desc.Flags | D3D12MA::POOL_FLAG_ALWAYS_COMMITTED;
    REQUIRE(allocator->CreatePool(&committing_desc, &committing.self) == S_OK);
    held<D3D12MA::Allocation> resource, memory;
    REQUIRE(buffer(allocator, D3D12MA::CALLOCATION_DESC(committing.self), MIB, &resource.self) == S_OK && !resource->GetHeap());
    const D3D12_RESOURCE_ALLOCATION_INFO info = {MIB, 64 * KIB};
    const D3D12MA::CALLOCATION_DESC in_committing(committing.self);
    REQUIRE(allocator->AllocateMemory(&in_committing, &info, &memory.self) == S_OK && memory->GetOffset() == 0);
    const D3D12MA::Statistics stats = statistics(committing);
    EXPECT(stats.BlockCount == 2 && stats.AllocationCount == 2 && stats.BlockBytes == 2 * MIB);
    resource.release();
    EXPECT(statistics(committing).AllocationCount == 1);
}

/* CUSTOM heaps, and only their statistics change. */
static void custom_heaps(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    const D3D12MA::TotalStatistics before = totals(allocator);
    D3D12MA::POOL_DESC desc = {};
    desc.HeapProperties.Type = D3D12_HEAP_TYPE_CUSTOM;
    desc.HeapProperties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
    desc.HeapProperties.MemoryPoolPreference = D3D12_MEMORY_POOL_L0;
    desc.HeapFlags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    desc.BlockSize = 10 * MIB;
    desc.MinBlockCount = desc.MaxBlockCount = 1;
    const unsigned group = env.is_uma ? 0 : 1;
    for (bool is_committed : {false, true}) {
        if (is_committed) {
            desc.BlockSize = 0;
            desc.MinBlockCount = desc.MaxBlockCount = 0;
        }
        held<D3D12MA::Pool> pool;
        held<D3D12MA::Allocation> made;
        REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
        const auto flags = is_committed ? D3D12MA::ALLOCATION_FLAG_COMMITTED : D3D12MA::ALLOCATION_FLAG_NONE;
        REQUIRE(buffer(allocator, D3D12MA::CALLOCATION_DESC(pool.self, flags), MIB, &made.self) == S_OK);
        EXPECT(!made->GetHeap() == is_committed);
        const D3D12MA::TotalStatistics now = totals(allocator);
        for (unsigned type = 0; type < 5; type++) EXPECT(same(now.HeapType[type], before.HeapType[type]) == (type != 3));
        EXPECT(!same(now.MemorySegmentGroup[group], before.MemorySegmentGroup[group]));
        EXPECT(same(now.MemorySegmentGroup[1 - group], before.MemorySegmentGroup[1 - group]));
        const D3D12MA::Statistics &added = now.HeapType[3].Stats;
        EXPECT(added.BlockCount == 1 && added.AllocationCount == 1 && added.AllocationBytes == made->GetSize());
        EXPECT(added.BlockBytes == (is_committed ? made->GetSize() : 10 * MIB));
        EXPECT(same(now.Total, now.HeapType[3]));
        D3D12MA::Budget budgets[2];
        allocator->GetBudget(&budgets[0], &budgets[1]);
        for (unsigned i = 0; i < 2; i++) EXPECT(!std::memcmp(&budgets[i].Stats, &now.MemorySegmentGroup[i].Stats, sizeof added));
        void *data = nullptr;
        EXPECT(made->GetResource()->Map(0, nullptr, &data) == S_OK && data);
        if (data) std::memset(data, 1, MIB);
        made->GetResource()->Unmap(0, nullptr);
    }
}

/* The least alignment of a pool; with tight alignment it is 256 unless the program says otherwise. */
static void alignments(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    for (UINT64 asked : {UINT64(0), UINT64(1), 512 * KIB}) {
        for (auto flags : {D3D12MA::POOL_FLAG_NONE, D3D12MA::POOL_FLAG_DONT_USE_TIGHT_ALIGNMENT}) {
            D3D12MA::POOL_DESC desc = {};
            desc.Flags = flags;
            desc.HeapProperties.Type = D3D12_HEAP_TYPE_UPLOAD;
            desc.HeapFlags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
            desc.BlockSize = MIB;
            desc.MinBlockCount = desc.MaxBlockCount = 1;
            desc.MinAllocationAlignment = asked;
            held<D3D12MA::Pool> pool;
            REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
            const bool is_tight = allocator->IsTightAlignmentSupported() && flags == D3D12MA::POOL_FLAG_NONE;
            const UINT64 least = asked > 1 ? asked : is_tight ? (asked == 0 ? 256 : 1) : 64 * KIB;
            held<D3D12MA::Allocation> first, second;
            const D3D12MA::CALLOCATION_DESC place(pool.self);
            REQUIRE(buffer(allocator, place, 4, &first.self) == S_OK && buffer(allocator, place, 4, &second.self) == S_OK);
            EXPECT(first->GetOffset() != second->GetOffset());
            EXPECT(first->GetOffset() % least == 0 && second->GetOffset() % least == 0);
            if (is_tight && asked <= 1) EXPECT(second->GetOffset() < 64 * KIB);
        }
    }
    /* Memory for pools that program's own alignment is larger than. */
    held<D3D12MA::Allocation> one, two;
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS), 4, &one.self) == S_OK);
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS), 4, &two.self) == S_OK);
    EXPECT(one->GetOffset() % 256 == 0 && two->GetOffset() % 256 == 0 && one->GetSize() == two->GetSize());
}

/* Linear pools: freed all at once, as a stack, as a ring, and from both ends. */
static void linear(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    held<D3D12MA::Pool> pool;
    const UINT64 unit = 64 * KIB;
    D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA::POOL_FLAG_ALGORITHM_LINEAR,
        100 * unit, 1, 1);
    REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
    D3D12MA::CALLOCATION_DESC place(pool.self);
    auto unused = [&] {
        const D3D12MA::Statistics stats = statistics(pool);
        return stats.BlockBytes - stats.AllocationBytes;
    };
    allocations made, upper;
    for (unsigned round = 0; round < 2; round++) {
        UINT64 sum = 0, end = 0;
        for (unsigned i = 0; i < 20; i++) {
            REQUIRE(add_buffer(made, allocator, place, (1 + i % 3) * unit));
            EXPECT(i == 0 || (*made[i])->GetOffset() == end);
            end = (*made[i])->GetOffset() + (*made[i])->GetSize();
            sum += (*made[i])->GetSize();
            EXPECT(unused() == 100 * unit - sum);
        }
        /* All at once, in any order. */
        std::shuffle(made.begin(), made.end(), std::mt19937(round));
        made.clear();
        EXPECT(unused() == 100 * unit);
    }
    /* A stack. */
    for (unsigned i = 0; i < 10; i++) REQUIRE(add_buffer(made, allocator, place, unit));
    for (unsigned i = 0; i < 5; i++) made.pop_back();
    REQUIRE(add_buffer(made, allocator, place, unit));
    EXPECT((*made.back())->GetOffset() == 5 * unit);
    made.clear();
    /* A ring. */
    while (add_buffer(made, allocator, place, 3 * unit)) {}
    EXPECT(made.size() == 33);
    held<D3D12MA::Allocation> none;
    EXPECT(buffer(allocator, place, 3 * unit, &none.self) == E_OUTOFMEMORY && !none);
    made.erase(made.begin(), made.begin() + 10);
    for (unsigned i = 0; i < 40; i++) {
        REQUIRE(add_buffer(made, allocator, place, 3 * unit));
        made.erase(made.begin());
    }
    made.clear();
    /* Freed in any order above others, of which some were freed. */
    allocations base;
    for (unsigned i = 0; i < 40; i++) REQUIRE(add_buffer(base, allocator, place, unit));
    for (unsigned i = 1; i < base.size(); i++) base.erase(base.begin() + i);
    for (unsigned round = 0; round < 9; round++) {
        for (unsigned i = 0; i < 40; i++) REQUIRE(add_buffer(made, allocator, place, unit));
        if (round % 3 == 1) std::reverse(made.begin(), made.end());
        if (round % 3 == 2) std::shuffle(made.begin(), made.end(), std::mt19937(round));
        for (auto &one : made) one.reset();
        made.clear();
    }
    base.clear();
    /* Both ends. */
    for (unsigned i = 0; i < 50; i++) {
        place.Flags = D3D12MA::ALLOCATION_FLAG_NONE;
        REQUIRE(add_buffer(made, allocator, place, unit));
        place.Flags = D3D12MA::ALLOCATION_FLAG_UPPER_ADDRESS;
        REQUIRE(add_buffer(upper, allocator, place, unit));
        EXPECT((*upper.back())->GetOffset() == (99 - i) * unit && (*made.back())->GetOffset() == i * unit);
    }
    EXPECT(buffer(allocator, place, unit, &none.self) == E_OUTOFMEMORY && unused() == 0);
    upper.clear();
    made.clear();

    /* Several blocks, of which at most one stays empty. */
    held<D3D12MA::Pool> blocks;
    desc.BlockSize = 0;
    desc.MinBlockCount = 0;
    desc.MaxBlockCount = UINT_MAX;
    REQUIRE(allocator->CreatePool(&desc, &blocks.self) == S_OK);
    place = D3D12MA::CALLOCATION_DESC(blocks.self);
    do REQUIRE(add_buffer(made, allocator, place, MIB));
    while (statistics(blocks).BlockCount < 2);
    made.clear();
    EXPECT(statistics(blocks).BlockCount <= 1);
    do REQUIRE(add_buffer(made, allocator, place, MIB));
    while (statistics(blocks).BlockCount < 2);
    for (unsigned i = 0; i < 5; i++) REQUIRE(add_buffer(made, allocator, place, MIB));
    EXPECT(statistics(blocks).BlockCount == 2);
    for (size_t left = made.size() / 2; made.size() > left;) made.pop_back();
    REQUIRE(add_buffer(made, allocator, place, MIB));
    EXPECT(statistics(blocks).BlockCount == 1);
    held<D3D12MA::DefragmentationContext> context;
    const D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_FAST, 0, 0};
    EXPECT(blocks->BeginDefragmentation(&run, &context.self) == E_NOINTERFACE && !context);
    EXPECT(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_UPPER_ADDRESS), MIB, &none.self) == E_INVALIDARG);
}

void test_ma_pools(const environment &env) {
    block_counts(env);
    placements(env);
    custom_heaps(env);
    alignments(env);
    linear(env);
}

/* Sums over heap types and segment groups are the totals, and the budgets' statistics are the same. */
static void check_sums(D3D12MA::Allocator *allocator) {
    const D3D12MA::TotalStatistics stats = totals(allocator);
    D3D12MA::Budget budgets[2];
    allocator->GetBudget(&budgets[0], &budgets[1]);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT(!std::memcmp(&budgets[i].Stats, &stats.MemorySegmentGroup[i].Stats, sizeof budgets[i].Stats));
    }
    auto add = [](const D3D12MA::DetailedStatistics *parts, unsigned count) {
        D3D12MA::DetailedStatistics sum = {};
        sum.AllocationSizeMin = sum.UnusedRangeSizeMin = UINT64_MAX;
        for (unsigned i = 0; i < count; i++) {
            sum.Stats.BlockCount += parts[i].Stats.BlockCount;
            sum.Stats.AllocationCount += parts[i].Stats.AllocationCount;
            sum.Stats.BlockBytes += parts[i].Stats.BlockBytes;
            sum.Stats.AllocationBytes += parts[i].Stats.AllocationBytes;
            sum.UnusedRangeCount += parts[i].UnusedRangeCount;
            sum.AllocationSizeMin = std::min(sum.AllocationSizeMin, parts[i].AllocationSizeMin);
            sum.AllocationSizeMax = std::max(sum.AllocationSizeMax, parts[i].AllocationSizeMax);
            sum.UnusedRangeSizeMin = std::min(sum.UnusedRangeSizeMin, parts[i].UnusedRangeSizeMin);
            sum.UnusedRangeSizeMax = std::max(sum.UnusedRangeSizeMax, parts[i].UnusedRangeSizeMax);
        }
        return sum;
    };
    EXPECT(same(add(stats.HeapType, 5), stats.Total) && same(add(stats.MemorySegmentGroup, 2), stats.Total));
}

void test_ma_statistics(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    /* An empty heap of another type, which nothing here may release. */
    held<D3D12MA::Allocation> elsewhere;
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_READBACK), MIB, &elsewhere.self) == S_OK);
    elsewhere.release();
    D3D12MA::POOL_DESC pool_desc = {};
    pool_desc.HeapProperties.Type = D3D12_HEAP_TYPE_DEFAULT;
    pool_desc.HeapFlags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    enum { DEFAULT_POOL, COMMITTED, POOL, FILLED_POOL, COMMITTED_IN_POOL, CASES };
    for (int kind = 0; kind < CASES; kind++) {
        D3D12MA::Budget begin[2], with[2], end[2];
        const D3D12MA::TotalStatistics at_begin = totals(allocator);
        allocator->GetBudget(&begin[0], &begin[1]);
        check_sums(allocator);
        {
            held<D3D12MA::Pool> pool;
            auto place = in(D3D12_HEAP_TYPE_DEFAULT);
            if (kind >= POOL) {
                pool_desc.BlockSize = kind == FILLED_POOL ? 50 * MIB : 0;
                pool_desc.MinBlockCount = kind == FILLED_POOL;
                REQUIRE(allocator->CreatePool(&pool_desc, &pool.self) == S_OK);
                place = D3D12MA::CALLOCATION_DESC(pool.self);
            }
            if (kind == COMMITTED || kind == COMMITTED_IN_POOL) place.Flags = D3D12MA::ALLOCATION_FLAG_COMMITTED;
            allocations made;
            for (unsigned i = 0; i < 4; i++) REQUIRE(add_buffer(made, allocator, place, 10 * MIB));
            allocator->GetBudget(&with[0], &with[1]);
            check_sums(allocator);
            EXPECT(with[0].Stats.AllocationCount == begin[0].Stats.AllocationCount + 4);
            EXPECT(with[0].Stats.AllocationBytes == begin[0].Stats.AllocationBytes + 40 * MIB);
            EXPECT(with[0].Stats.BlockBytes >= begin[0].Stats.BlockBytes && with[0].UsageBytes >= begin[0].UsageBytes);
            const UINT blocks = with[0].Stats.BlockCount - begin[0].Stats.BlockCount;
            if (kind == COMMITTED || kind == COMMITTED_IN_POOL) EXPECT(blocks == 4);
            if (kind == FILLED_POOL) EXPECT(blocks == 1 && with[0].Stats.BlockBytes == begin[0].Stats.BlockBytes + 50 * MIB);
            if (pool) EXPECT(statistics(pool).AllocationBytes == 40 * MIB && statistics(pool).BlockCount == blocks);
            const D3D12MA::TotalStatistics now = totals(allocator);
            EXPECT(now.HeapType[3].Stats.BlockCount == 0 && now.HeapType[4].Stats.BlockCount == 0);
            EXPECT(same(now.HeapType[2], at_begin.HeapType[2]));
            if (!env.is_uma) EXPECT(!std::memcmp(&with[1].Stats, &begin[1].Stats, sizeof with[1].Stats));
        }
        allocator->GetBudget(&end[0], &end[1]);
        check_sums(allocator);
        EXPECT(end[0].Stats.AllocationCount == begin[0].Stats.AllocationCount);
        EXPECT(end[0].Stats.AllocationBytes == begin[0].Stats.AllocationBytes);
        if (kind != DEFAULT_POOL) {
            EXPECT(end[0].Stats.BlockCount == begin[0].Stats.BlockCount && end[0].Stats.BlockBytes == begin[0].Stats.BlockBytes);
        }
    }
    /* Frames release what is empty. */
    for (UINT frame = 1; frame < 300; frame++) allocator->SetCurrentFrameIndex(frame);
    EXPECT(totals(allocator).Total.Stats.BlockCount == 0);
    /* Within the budget. */
    D3D12MA::Budget budget;
    allocator->GetBudget(&budget, nullptr);
    held<D3D12MA::Allocation> too_large;
    const auto within = in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_WITHIN_BUDGET);
    EXPECT(buffer(allocator, within, budget.BudgetBytes + MIB, &too_large.self) == E_OUTOFMEMORY && !too_large);
    EXPECT(buffer(allocator, within, MIB, &too_large.self) == S_OK);
}

/* The string of statistics has everything, as JSON. */
void test_ma_json(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    allocations made;
    const D3D12_HEAP_TYPE types[] = {D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK};
    std::vector<std::unique_ptr<held<D3D12MA::Pool>>> pools;
    for (D3D12_HEAP_TYPE type : types) {
        REQUIRE(add_buffer(made, allocator, in(type), KIB));
        REQUIRE(add_buffer(made, allocator, in(type), 100 * KIB));
        REQUIRE(add_buffer(made, allocator, in(type, D3D12MA::ALLOCATION_FLAG_COMMITTED), KIB));
        pools.push_back(std::make_unique<held<D3D12MA::Pool>>());
        const D3D12MA::CPOOL_DESC desc(type, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA::POOL_FLAG_NONE, 4 * MIB, 1);
        REQUIRE(allocator->CreatePool(&desc, &pools.back()->self) == S_OK);
        (*pools.back())->SetName(type == D3D12_HEAP_TYPE_UPLOAD ? L"ring" : nullptr);
        REQUIRE(add_buffer(made, allocator, D3D12MA::CALLOCATION_DESC(pools.back()->self), KIB));
    }
    for (UINT16 dimension = 2; dimension <= 4; dimension++) {
        D3D12_RESOURCE_DESC desc = texture_desc(64, dimension == 2 ? 1 : 64);
        desc.Dimension = D3D12_RESOURCE_DIMENSION(dimension);
        if (dimension == 4) desc.DepthOrArraySize = 16;
        made.push_back(std::make_unique<held<D3D12MA::Allocation>>());
        const auto place = in(D3D12_HEAP_TYPE_DEFAULT);
        REQUIRE(allocator->CreateResource(&place, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, &made.back()->self, GUID{}, nullptr) == S_OK);
    }
    (*made[0])->SetName(L"Line\nand\r\nline");
    (*made[1])->SetName(L"\"quoted' <&> [{,.;:}] /\\");
    (*made[2])->SetName(L"");
    (*made[1])->SetPrivateData(reinterpret_cast<void *>(UINT_PTR(0x12c0ffee)));
    WCHAR *text = nullptr;
    allocator->BuildStatsString(&text, FALSE);
    REQUIRE(text);
    EXPECT(text[0] == 0xfeff && text[1] == L'{');
    std::string brief = narrow(text);
    EXPECT(brief.find("\"DefaultPools\"") == std::string::npos && brief.find("\"BlockCount\": ") != std::string::npos);
    allocator->FreeStatsString(text);
    allocator->BuildStatsString(&text, TRUE);
    REQUIRE(text);
    std::string all = narrow(text + 1);
    allocator->FreeStatsString(text);
    for (const char *expected : {"\"API\": \"Direct3D 12\"", "\"MemoryInfo\": {", "\"DefaultPools\": {", "\"CustomPools\": {",
             "\"Name\": \"0 - ring\"", "\"Type\": \"BUFFER\"", "\"Type\": \"TEXTURE1D\"", "\"Type\": \"TEXTURE2D\"",
             "\"Type\": \"TEXTURE3D\"", "\"Type\": \"FREE\"", "\"Name\": \"Line\\nand\\r\\nline\"",
             "\"Name\": \"\\\"quoted' <&> [{,.;:}] \\/\\\\\"", "\"Name\": \"\"", "\"CustomData\": \"0x12c0ffee\""}) {
        if (!EXPECT(all.find(expected) != std::string::npos)) std::printf("  %s is not in %s\n", expected, all.c_str());
    }
    /* The test that runs this program reads it. */
    all.erase(std::remove(all.begin(), all.end(), '\n'), all.end());
    std::printf("statistics: %s\n", all.c_str());
    allocator->BuildStatsString(nullptr, TRUE);
    allocator->FreeStatsString(nullptr);
}
