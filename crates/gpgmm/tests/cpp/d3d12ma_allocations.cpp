/* Allocator and Allocation of D3D12MA's API. */
#include "d3d12ma.hpp"

#include <atomic>
#include <cstddef>
#include <thread>

using namespace ma;

/* Older headers lack it. */
static constexpr auto GPU_UPLOAD = D3D12_HEAP_TYPE(5);

void test_ma_allocators(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    const D3D12_FEATURE_DATA_D3D12_OPTIONS &options = allocator->GetD3D12Options();
    D3D12_FEATURE_DATA_D3D12_OPTIONS expected = {};
    REQUIRE(env.device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &expected, sizeof expected) == S_OK);
    EXPECT(!std::memcmp(&options, &expected, sizeof expected) && &options == &allocator->GetD3D12Options());
    D3D12_FEATURE_DATA_ARCHITECTURE architecture = {};
    env.device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof architecture);
    EXPECT(allocator->IsUMA() == architecture.UMA && allocator->IsCacheCoherentUMA() == architecture.CacheCoherentUMA);
    /* D3D12_FEATURE_DATA_D3D12_OPTIONS16, which older headers lack. */
    struct {
        BOOL DynamicDepthBiasSupported, GPUUploadHeapSupported;
    } options16 = {};
    env.device->CheckFeatureSupport(D3D12_FEATURE(45), &options16, sizeof options16);
    EXPECT(allocator->IsGPUUploadHeapSupported() == options16.GPUUploadHeapSupported);
    const UINT64 local = allocator->GetMemoryCapacity(0), non_local = allocator->GetMemoryCapacity(1);
    EXPECT(local > 0 && (non_local == 0) == env.is_uma && allocator->GetMemoryCapacity(2) == 0);
    held<D3D12MA::Allocator> loose;
    REQUIRE(create(env, loose, D3D12MA::ALLOCATOR_FLAG_DONT_USE_TIGHT_ALIGNMENT | D3D12MA::ALLOCATOR_FLAG_SINGLETHREADED));
    EXPECT(loose->IsTightAlignmentSupported() == allocator->IsTightAlignmentSupported());

    /* COM. */
    EXPECT(allocator->AddRef() == 2 && allocator->Release() == 1);
    held<IUnknown> unknown;
    EXPECT(allocator->QueryInterface(iunknown_id, unknown.out()) == S_OK && unknown.self == allocator.self);
    EXPECT(allocator->QueryInterface(iunknown_id, nullptr) == E_POINTER);
    void *none = &none;
    EXPECT(allocator->QueryInterface(GUID{1, 2, 3, {}}, &none) == E_NOINTERFACE && !none);
    unknown.release();

    D3D12MA::Budget budgets[2];
    allocator->GetBudget(&budgets[0], &budgets[1]);
    for (UINT group = 0; group < 2; group++) {
        EXPECT(budgets[group].BudgetBytes <= allocator->GetMemoryCapacity(group));
        EXPECT(budgets[group].Stats.BlockCount == 0 && budgets[group].Stats.BlockBytes == 0);
    }
    allocator->GetBudget(nullptr, nullptr);
    allocator->CalculateStatistics(nullptr);
    EXPECT(allocator.release() == 0);
}

/* Placed, committed, aliasing and raw memory, in each heap type. */
void test_ma_allocations(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    const D3D12_HEAP_TYPE types[] = {D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK};
    for (D3D12_HEAP_TYPE type : types) {
        held<D3D12MA::Allocation> placed, committed, again, aliased, memory;
        REQUIRE(buffer(allocator, in(type), 128 * KIB, &placed.self) == S_OK);
        REQUIRE(placed->GetHeap() && placed->GetResource() && placed->GetSize() == 128 * KIB);
        EXPECT(placed->GetOffset() % placed->GetAlignment() == 0 && placed->GetAlignment() > 0);
        D3D12_HEAP_PROPERTIES properties = {};
        D3D12_HEAP_FLAGS heap_flags = {};
        EXPECT(placed->GetResource()->GetHeapProperties(&properties, &heap_flags) == S_OK && properties.Type == type);

        REQUIRE(buffer(allocator, in(type, D3D12MA::ALLOCATION_FLAG_COMMITTED), 128 * KIB, &committed.self) == S_OK);
        EXPECT(!committed->GetHeap() && committed->GetOffset() == 0 && committed->GetResource());
        EXPECT(committed->GetSize() >= 128 * KIB);

        REQUIRE(buffer(allocator, in(type, D3D12MA::ALLOCATION_FLAG_NEVER_ALLOCATE), 128 * KIB, &again.self) == S_OK);
        EXPECT(again->GetHeap() == placed->GetHeap() && again->GetOffset() != placed->GetOffset());

        const auto alias = D3D12MA::ALLOCATION_FLAG_COMMITTED | D3D12MA::ALLOCATION_FLAG_CAN_ALIAS;
        REQUIRE(buffer(allocator, in(type, alias), MIB, &aliased.self) == S_OK);
        EXPECT(aliased->GetHeap() && aliased->GetHeap() != placed->GetHeap() && aliased->GetOffset() == 0);

        auto desc = in(type, D3D12MA::ALLOCATION_FLAG_COMMITTED);
        desc.ExtraHeapFlags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
        const D3D12_RESOURCE_ALLOCATION_INFO info = {MIB, 64 * KIB};
        REQUIRE(allocator->AllocateMemory(&desc, &info, &memory.self) == S_OK);
        EXPECT(memory->GetHeap() && memory->GetOffset() == 0 && !memory->GetResource() && memory->GetSize() == MIB);
        EXPECT(memory->GetAlignment() == 64 * KIB);
        memory.release();
        desc.Flags = D3D12MA::ALLOCATION_FLAG_NONE;
        REQUIRE(allocator->AllocateMemory(&desc, &info, &memory.self) == S_OK);
        EXPECT(memory->GetHeap() && memory->GetOffset() % (64 * KIB) == 0);
    }
    if (allocator->IsGPUUploadHeapSupported()) {
        held<D3D12MA::Allocation> upload, texture;
        REQUIRE(buffer(allocator, in(GPU_UPLOAD), 2 * MIB, &upload.self) == S_OK);
        void *data = nullptr;
        const D3D12_RANGE nothing = {};
        EXPECT(upload->GetResource()->Map(0, &nothing, &data) == S_OK && data);
        std::memset(data, 7, 2 * MIB);
        upload->GetResource()->Unmap(0, nullptr);
        const D3D12_RESOURCE_DESC desc = texture_desc(64, 64);
        const auto place = in(GPU_UPLOAD);
        REQUIRE(allocator->CreateResource(&place, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, &texture.self, GUID{}, nullptr) == S_OK);
        std::vector<UINT> texels(64 * 64, 0x01020304);
        EXPECT(texture->GetResource()->Map(0, nullptr, nullptr) == S_OK);
        EXPECT(texture->GetResource()->WriteToSubresource(0, nullptr, texels.data(), 64 * 4, 64 * 64 * 4) == S_OK);
        texture->GetResource()->Unmap(0, nullptr);
    } else {
        held<D3D12MA::Allocation> upload;
        EXPECT(buffer(allocator, in(GPU_UPLOAD), 2 * MIB, &upload.self) == E_NOTIMPL && !upload);
    }

    /* The program's reference to the resource is its own, of the interface that it asks for. */
    held<D3D12MA::Allocation> allocation;
    held<ID3D12Pageable> pageable;
    const D3D12_RESOURCE_DESC desc = buffer_desc(64 * KIB);
    const auto place = in(D3D12_HEAP_TYPE_DEFAULT);
    REQUIRE(allocator->CreateResource(&place, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, &allocation.self, pageable.id(), pageable.out()) == S_OK);
    EXPECT(pageable->AddRef() == 3 && pageable->Release() == 2);
    held<ID3D12Device> device;
    EXPECT(pageable->GetDevice(device.id(), device.out()) == S_OK && device.self == env.device.self);
    device.release();
    allocation.release();
    EXPECT(pageable.release() == 0);

    /* Private data, names and another resource. */
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT), 128 * KIB, &allocation.self) == S_OK);
    EXPECT(!allocation->GetPrivateData() && !allocation->GetName());
    int data = 0;
    allocation->SetPrivateData(&data);
    EXPECT(allocation->GetPrivateData() == &data);
    allocation->SetName(L"vertices");
    EXPECT(narrow(allocation->GetName()) == "vertices");
    allocation->SetName(L"indices");
    EXPECT(narrow(allocation->GetName()) == "indices");
    allocation->SetName(nullptr);
    EXPECT(!allocation->GetName());
    held<ID3D12Resource> other;
    EXPECT(env.device->CreatePlacedResource(allocation->GetHeap(), allocation->GetOffset(), &desc, D3D12_RESOURCE_STATE_COMMON,
               nullptr, other.id(), other.out()) == S_OK);
    allocation->SetResource(other);
    EXPECT(allocation->GetResource() == other.self && other->AddRef() == 3 && other->Release() == 2);
    allocation->SetResource(nullptr);
    EXPECT(!allocation->GetResource() && other.release() == 0);
    allocation.release();
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_COMMITTED), 128 * KIB, &allocation.self) == S_OK);
    allocation->SetResource(nullptr);
    EXPECT(!allocation->GetResource() && !allocation->GetHeap());
    allocation.release();

    /* Objects are released in any order. */
    held<D3D12MA::Pool> pool;
    const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    REQUIRE(allocator->CreatePool(&pool_desc, &pool.self) == S_OK);
    held<D3D12MA::Allocation> in_pool;
    REQUIRE(buffer(allocator, D3D12MA::CALLOCATION_DESC(pool.self), MIB, &in_pool.self) == S_OK);
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_UPLOAD), 128 * KIB, &allocation.self) == S_OK);
    EXPECT(allocator.release() == 0 && pool.release() == 0);
    EXPECT(in_pool->GetHeap() && allocation->GetSize() == 128 * KIB);
    EXPECT(in_pool.release() == 0 && allocation.release() == 0);
}

/* Small buffers are committed unless they are aligned tightly, or the program prefers otherwise. */
static void small_buffers(const environment &env) {
    for (auto flags : {RECOMMENDED, RECOMMENDED | D3D12MA::ALLOCATOR_FLAG_DONT_PREFER_SMALL_BUFFERS_COMMITTED,
             RECOMMENDED | D3D12MA::ALLOCATOR_FLAG_DONT_USE_TIGHT_ALIGNMENT}) {
        held<D3D12MA::Allocator> allocator;
        REQUIRE(create(env, allocator, flags));
        const bool is_tight = allocator->IsTightAlignmentSupported() && !(flags & D3D12MA::ALLOCATOR_FLAG_DONT_USE_TIGHT_ALIGNMENT);
        const bool is_committed = !is_tight && !(flags & D3D12MA::ALLOCATOR_FLAG_DONT_PREFER_SMALL_BUFFERS_COMMITTED);
        held<D3D12MA::Pool> pool;
        const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
        REQUIRE(allocator->CreatePool(&pool_desc, &pool.self) == S_OK);
        for (auto place : {in(D3D12_HEAP_TYPE_DEFAULT), D3D12MA::CALLOCATION_DESC(pool.self)}) {
            held<D3D12MA::Allocation> large, small, never, fast;
            REQUIRE(buffer(allocator, place, 128 * KIB, &large.self) == S_OK && large->GetHeap());
            REQUIRE(buffer(allocator, place, 8 * KIB, &small.self) == S_OK);
            EXPECT(!small->GetHeap() == is_committed);
            place.Flags = D3D12MA::ALLOCATION_FLAG_NEVER_ALLOCATE;
            REQUIRE(buffer(allocator, place, 8 * KIB, &never.self) == S_OK && never->GetHeap());
            place.Flags = D3D12MA::ALLOCATION_FLAG_STRATEGY_MIN_TIME;
            REQUIRE(buffer(allocator, place, 8 * KIB, &fast.self) == S_OK && fast->GetHeap());
        }
    }
}

/* Textures: multisampled ones, special heap flags, and what the flags of the allocator say. */
static void textures(const environment &env) {
    held<D3D12MA::Allocator> allocator, placing, committing;
    REQUIRE(create(env, allocator) && create(env, placing, D3D12MA::ALLOCATOR_FLAG_NONE));
    REQUIRE(create(env, committing, D3D12MA::ALLOCATOR_FLAG_ALWAYS_COMMITTED));
    const auto place = in(D3D12_HEAP_TYPE_DEFAULT);
    auto texture = [&](D3D12MA::Allocator *of, const D3D12MA::ALLOCATION_DESC &where, const D3D12_RESOURCE_DESC &desc, D3D12MA::Allocation **out) {
        const auto state = desc.Flags ? D3D12_RESOURCE_STATE_RENDER_TARGET : D3D12_RESOURCE_STATE_COMMON;
        return of->CreateResource(&where, &desc, state, nullptr, out, GUID{}, nullptr);
    };
    held<D3D12MA::Allocation> plain, drawn, samples, placed_samples, committed;
    REQUIRE(texture(allocator, place, texture_desc(1024, 1024), &plain.self) == S_OK && plain->GetHeap());
    REQUIRE(texture(allocator, place, target_desc(512, 512), &drawn.self) == S_OK && drawn->GetHeap());
    REQUIRE(texture(allocator, place, target_desc(512, 512, 4), &samples.self) == S_OK && !samples->GetHeap());
    REQUIRE(texture(placing, place, target_desc(512, 512, 4), &placed_samples.self) == S_OK && placed_samples->GetHeap());
    REQUIRE(texture(committing, place, texture_desc(64, 64), &committed.self) == S_OK && !committed->GetHeap());

    /* Flags that default heaps lack. */
    auto shared = place;
    shared.ExtraHeapFlags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
    held<D3D12MA::Allocation> memory, explicit_heap;
    const D3D12_RESOURCE_ALLOCATION_INFO info = {MIB, 64 * KIB};
    REQUIRE(allocator->AllocateMemory(&shared, &info, &memory.self) == S_OK && memory->GetOffset() == 0);
    D3D12_HEAP_PROPERTIES properties = {};
    D3D12_HEAP_FLAGS heap_flags = {};
    held<D3D12MA::Allocation> whole;
    shared.ExtraHeapFlags = D3D12_HEAP_FLAG_SHARED;
    REQUIRE(texture(allocator, shared, texture_desc(256, 256), &whole.self) == S_OK && !whole->GetHeap());
    EXPECT(whole->GetResource()->GetHeapProperties(&properties, &heap_flags) == S_OK && (heap_flags & D3D12_HEAP_FLAG_SHARED));
    shared.Flags = D3D12MA::ALLOCATION_FLAG_CAN_ALIAS;
    REQUIRE(texture(allocator, shared, texture_desc(256, 256), &explicit_heap.self) == S_OK && explicit_heap->GetHeap());
    EXPECT(explicit_heap->GetOffset() == 0 && explicit_heap->GetResource()->GetHeapProperties(&properties, &heap_flags) == S_OK);
    EXPECT(heap_flags & D3D12_HEAP_FLAG_SHARED);

    /* A texture for another adapter. */
    D3D12_RESOURCE_DESC row_major = texture_desc(640, 480);
    row_major.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    row_major.Flags = D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
    auto across = place;
    across.ExtraHeapFlags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
    held<D3D12MA::Allocation> cross_adapter;
    const HRESULT created = allocator->CreateResource(&across, &row_major, D3D12_RESOURCE_STATE_COMMON, nullptr, &cross_adapter.self, GUID{}, nullptr);
    EXPECT(!allocator->GetD3D12Options().CrossAdapterRowMajorTextureSupported || (created == S_OK && !cross_adapter->GetHeap()));

    /* Pools commit multisampled textures if they say so. */
    if (allocator->GetD3D12Options().ResourceHeapTier >= D3D12_RESOURCE_HEAP_TIER_2) {
        for (bool commits : {false, true}) {
            held<D3D12MA::Pool> pool;
            const auto flags = commits ? D3D12MA::POOL_FLAG_MSAA_TEXTURES_ALWAYS_COMMITTED : D3D12MA::POOL_FLAG_NONE;
            const D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES, flags);
            REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
            held<D3D12MA::Allocation> in_pool, buffer_in_pool;
            const D3D12MA::CALLOCATION_DESC where(pool.self);
            REQUIRE(texture(allocator, where, target_desc(512, 512, 4), &in_pool.self) == S_OK);
            EXPECT(!in_pool->GetHeap() == commits);
            REQUIRE(buffer(allocator, where, 128 * KIB, &buffer_in_pool.self) == S_OK && buffer_in_pool->GetHeap());
            EXPECT(statistics(pool).AllocationCount == 2);
        }
    }
}

/* Several resources in the same memory. */
static void aliasing(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    const D3D12_RESOURCE_DESC first = texture_desc(1024, 1024), second = texture_desc(512, 1024);
    auto place = in(D3D12_HEAP_TYPE_DEFAULT);
    place.ExtraHeapFlags |= D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
    const D3D12_RESOURCE_ALLOCATION_INFO info = {8 * MIB, 64 * KIB};
    held<D3D12MA::Allocation> memory;
    REQUIRE(allocator->AllocateMemory(&place, &info, &memory.self) == S_OK);
    held<ID3D12Resource> one, two, shifted, none;
    const auto state = D3D12_RESOURCE_STATE_COPY_DEST;
    EXPECT(allocator->CreateAliasingResource(memory, 0, &first, state, nullptr, one.id(), one.out()) == S_OK);
    EXPECT(allocator->CreateAliasingResource(memory, 0, &second, state, nullptr, two.id(), two.out()) == S_OK);
    EXPECT(allocator->CreateAliasingResource(memory, 2 * MIB, &first, state, nullptr, shifted.id(), shifted.out()) == S_OK);
    EXPECT(one.self != two.self && !memory->GetResource());
    EXPECT(allocator->CreateAliasingResource(memory, 6 * MIB, &first, state, nullptr, none.id(), none.out()) == E_INVALIDARG && !none);
    EXPECT(allocator->CreateAliasingResource(memory, 1, &second, state, nullptr, none.id(), none.out()) == E_INVALIDARG);
    EXPECT(allocator->CreateAliasingResource(memory, UINT64_MAX, &second, state, nullptr, none.id(), none.out()) == E_INVALIDARG);
    EXPECT(allocator->CreateAliasingResource(memory, 0, &second, state, nullptr, none.id(), nullptr) == E_INVALIDARG);
    EXPECT(allocator->CreateAliasingResource(nullptr, 0, &second, state, nullptr, none.id(), none.out()) == E_INVALIDARG);
    EXPECT(allocator->CreateAliasingResource(memory, 0, nullptr, state, nullptr, none.id(), none.out()) == E_INVALIDARG);

    /* Targets with all mips, and of several kinds. */
    D3D12_RESOURCE_DESC mips = target_desc(1024, 1024), written = target_desc(1920, 1080);
    mips.MipLevels = 0;
    written.Flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    const D3D12_RESOURCE_ALLOCATION_INFO for_targets = {16 * MIB, 64 * KIB};
    place.ExtraHeapFlags = D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES;
    held<D3D12MA::Allocation> targets;
    held<ID3D12Resource> with_mips, with_writes;
    REQUIRE(allocator->AllocateMemory(&place, &for_targets, &targets.self) == S_OK);
    EXPECT(allocator->CreateAliasingResource(targets, 0, &mips, D3D12_RESOURCE_STATE_COMMON, nullptr, with_mips.id(), with_mips.out()) == S_OK);
    EXPECT(allocator->CreateAliasingResource(targets, 0, &written, D3D12_RESOURCE_STATE_COMMON, nullptr, with_writes.id(), with_writes.out()) == S_OK);
    /* A heap larger than all others. */
    held<D3D12MA::Allocation> whole;
    held<ID3D12Resource> part;
    D3D12_RESOURCE_DESC large = buffer_desc(200 * MIB);
    const auto upload = D3D12_RESOURCE_STATE_GENERIC_READ;
    const auto explicit_heap = in(D3D12_HEAP_TYPE_UPLOAD, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS);
    REQUIRE(allocator->CreateResource(&explicit_heap, &large, upload, nullptr, &whole.self, GUID{}, nullptr) == S_OK && whole->GetHeap());
    large.Width = 100 * MIB;
    EXPECT(allocator->CreateAliasingResource(whole, 0, &large, upload, nullptr, part.id(), part.out()) == S_OK);

    /* Beside the resource of an allocation. */
    held<D3D12MA::Allocation> larger, committed;
    const auto alias = in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS);
    REQUIRE(allocator->CreateResource(&alias, &first, state, nullptr, &larger.self, GUID{}, nullptr) == S_OK);
    ID3D12Resource *const before = larger->GetResource();
    held<ID3D12Resource> beside;
    EXPECT(allocator->CreateAliasingResource(larger, 0, &second, state, nullptr, beside.id(), beside.out()) == S_OK);
    EXPECT(larger->GetResource() == before && beside.self != before);
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_COMMITTED), MIB, &committed.self) == S_OK);
    const D3D12_RESOURCE_DESC small = buffer_desc(KIB);
    EXPECT(allocator->CreateAliasingResource(committed, 0, &small, D3D12_RESOURCE_STATE_COMMON, nullptr, none.id(), none.out()) == E_INVALIDARG);
}

/* What ID3D12Device8 and 10 add. */
static void newer_devices(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    held<ID3D12Device8> device8;
    held<ID3D12Device10> device10;
    const bool has8 = env.device->QueryInterface(device8.id(), device8.out()) == S_OK;
    const bool has10 = env.device->QueryInterface(device10.id(), device10.out()) == S_OK;
    D3D12_RESOURCE_DESC1 desc = {};
    const D3D12_RESOURCE_DESC base = texture_desc(256, 256);
    desc.Dimension = base.Dimension;
    desc.Width = base.Width;
    desc.Height = base.Height;
    desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.Format = base.Format;
    desc.SampleDesc = base.SampleDesc;
    const auto place = in(D3D12_HEAP_TYPE_DEFAULT);
    held<D3D12MA::Allocation> second, third, cast, refused;
    held<ID3D12Resource> resource, aliased;
    const HRESULT of8 = has8 ? S_OK : E_NOINTERFACE, of10 = has10 ? S_OK : E_NOINTERFACE;
    EXPECT(allocator->CreateResource2(&place, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, &second.self, resource.id(), resource.out()) == of8);
    EXPECT(!second == !has8 && !resource == !has8);
    EXPECT(allocator->CreateResource3(&place, &desc, D3D12_BARRIER_LAYOUT_UNDEFINED, nullptr, 0, nullptr, &third.self, GUID{}, nullptr) == of10);
    EXPECT(!third == !has10);
    if (has8) {
        const auto alias = in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS);
        held<D3D12MA::Allocation> memory;
        REQUIRE(allocator->CreateResource2(&alias, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, &memory.self, GUID{}, nullptr) == S_OK);
        EXPECT(allocator->CreateAliasingResource1(memory, 0, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, aliased.id(), aliased.out()) == S_OK);
        aliased.release();
        EXPECT(allocator->CreateAliasingResource2(memory, 0, &desc, D3D12_BARRIER_LAYOUT_COMMON, nullptr, 0, nullptr, aliased.id(), aliased.out()) == of10);
    }
    if (has10) {
        const DXGI_FORMAT castable[] = {DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, DXGI_FORMAT_R8G8B8A8_UINT};
        D3D12_FEATURE_DATA_D3D12_OPTIONS12 options12 = {};
        env.device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS12, &options12, sizeof options12);
        const HRESULT made = allocator->CreateResource3(&place, &desc, D3D12_BARRIER_LAYOUT_COMMON, nullptr, 2, castable, &cast.self, GUID{}, nullptr);
        EXPECT((made == S_OK) == bool(options12.RelaxedFormatCastingSupported));
        EXPECT(allocator->CreateResource3(&place, &desc, D3D12_BARRIER_LAYOUT_COMMON, nullptr, 2, nullptr, &refused.self, GUID{}, nullptr) == E_INVALIDARG);
    }
}

/* Bytes that the CPU writes arrive at the other end of two copies. */
static void transfer(const environment &env) {
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator));
    direct_queue queue;
    REQUIRE(queue.create(env));
    allocations upload, local, readback;
    for (UINT64 i = 0; i < 8; i++) {
        const UINT64 size = (4 + i * 7) * KIB;
        REQUIRE(add_buffer(upload, allocator, in(D3D12_HEAP_TYPE_UPLOAD), size));
        REQUIRE(add_buffer(local, allocator, in(D3D12_HEAP_TYPE_DEFAULT), size));
        REQUIRE(add_buffer(readback, allocator, in(D3D12_HEAP_TYPE_READBACK), size));
        void *data = nullptr;
        const D3D12_RANGE nothing = {};
        REQUIRE((*upload[i])->GetResource()->Map(0, &nothing, &data) == S_OK);
        std::memset(data, int(i + 1), size);
        (*upload[i])->GetResource()->Unmap(0, nullptr);
        queue.recorded->CopyBufferRegion((*local[i])->GetResource(), 0, (*upload[i])->GetResource(), 0, size);
        D3D12_RESOURCE_BARRIER barrier = {};
        barrier.Transition = {(*local[i])->GetResource(), D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, D3D12_RESOURCE_STATE_COPY_DEST,
            D3D12_RESOURCE_STATE_COPY_SOURCE};
        queue.recorded->ResourceBarrier(1, &barrier);
        queue.recorded->CopyBufferRegion((*readback[i])->GetResource(), 0, (*local[i])->GetResource(), 0, size);
    }
    queue.execute();
    for (UINT64 i = 0; i < 8; i++) {
        const UINT64 size = (4 + i * 7) * KIB;
        unsigned char *data = nullptr;
        REQUIRE((*readback[i])->GetResource()->Map(0, nullptr, reinterpret_cast<void **>(&data)) == S_OK);
        EXPECT(std::all_of(data, data + size, [&](unsigned char byte) { return byte == i + 1; }));
        (*readback[i])->GetResource()->Unmap(0, nullptr);
    }
}

void test_ma_resources(const environment &env) {
    small_buffers(env);
    textures(env);
    aliasing(env);
    newer_devices(env);
    transfer(env);
}

/* Without memory from the N-th call on, everything answers, and nothing is lost. */
static void callbacks_that_refuse(const environment &env) {
    struct counts {
        int left, live = 0;
    };
    D3D12MA::ALLOCATION_CALLBACKS callbacks = {};
    callbacks.pAllocate = [](size_t size, size_t, void *data) -> void * {
        auto &counted = *static_cast<counts *>(data);
        if (--counted.left < 0) return nullptr;
        counted.live++;
        return std::malloc(size);
    };
    callbacks.pFree = [](void *memory, void *data) {
        if (memory) static_cast<counts *>(data)->live--;
        std::free(memory);
    };
    for (int most = 0; most < 10; most++) {
        counts counted = {most};
        callbacks.pPrivateData = &counted;
        D3D12MA::ALLOCATOR_DESC desc = {};
        desc.pDevice = env.device;
        desc.pAdapter = env.dxgi();
        desc.pAllocationCallbacks = &callbacks;
        held<D3D12MA::Allocator> allocator;
        const HRESULT result = D3D12MA::CreateAllocator(&desc, &allocator.self);
        if (most == 0) EXPECT(result == E_OUTOFMEMORY && !allocator);
        if (!allocator) continue;
        held<D3D12MA::Pool> pool;
        const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
        EXPECT(allocator->CreatePool(&pool_desc, &pool.self) == (most == 1 ? E_OUTOFMEMORY : S_OK));
        allocations made;
        for (unsigned i = 0; i < 50; i++) {
            add_buffer(made, allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_COMMITTED), 64 * KIB);
            if (pool) add_buffer(made, allocator, D3D12MA::CALLOCATION_DESC(pool.self), 64 * KIB);
        }
        EXPECT((made.size() == 100) == (most >= 6) && totals(allocator).Total.Stats.AllocationCount == made.size());
        WCHAR *text = nullptr;
        allocator->BuildStatsString(&text, TRUE);
        EXPECT(!text == (counted.left < 0));
        allocator->FreeStatsString(text);
        made.clear();
        pool.release();
        allocator.release();
        EXPECT(counted.live == 0);
    }
}

/* Memory of the objects is the program's. */
void test_ma_callbacks(const environment &env) {
    struct counts {
        std::atomic<int> live{0}, total{0};
        std::atomic<bool> refuses{false};
    } counted;
    D3D12MA::ALLOCATION_CALLBACKS callbacks = {};
    callbacks.pAllocate = [](size_t size, size_t alignment, void *data) -> void * {
        auto &counted = *static_cast<counts *>(data);
        if (counted.refuses || alignment > alignof(max_align_t)) return nullptr;
        counted.live++;
        counted.total++;
        return std::malloc(size);
    };
    callbacks.pFree = [](void *memory, void *data) {
        if (memory) static_cast<counts *>(data)->live--;
        std::free(memory);
    };
    callbacks.pPrivateData = &counted;
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator, RECOMMENDED, 0, &callbacks));
    EXPECT(counted.live == 1);
    held<D3D12MA::Pool> pool, other_pool;
    const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    REQUIRE(allocator->CreatePool(&pool_desc, &pool.self) == S_OK && counted.live == 2);
    held<D3D12MA::Allocation> allocation;
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT), MIB, &allocation.self) == S_OK && counted.live == 3);
    WCHAR *text = nullptr;
    allocator->BuildStatsString(&text, TRUE);
    EXPECT(text && counted.live == 4);
    allocator->FreeStatsString(text);
    EXPECT(counted.live == 3);
    counted.refuses = true;
    EXPECT(allocator->CreatePool(&pool_desc, &other_pool.self) == E_OUTOFMEMORY && !other_pool);
    allocator->BuildStatsString(&text, TRUE);
    EXPECT(!text);
    counted.refuses = false;
    D3D12MA::ALLOCATION_CALLBACKS half = callbacks;
    half.pFree = nullptr;
    D3D12MA::ALLOCATOR_DESC desc = {};
    desc.pDevice = env.device;
    desc.pAdapter = env.dxgi();
    desc.pAllocationCallbacks = &half;
    held<D3D12MA::Allocator> refused;
    EXPECT(D3D12MA::CreateAllocator(&desc, &refused.self) == E_INVALIDARG && !refused);
    allocation.release();
    pool.release();
    allocator.release();
    EXPECT(counted.live == 0);
    D3D12MA::CVIRTUAL_BLOCK_DESC block_desc(MIB, D3D12MA::VIRTUAL_BLOCK_FLAG_NONE, &callbacks);
    held<D3D12MA::VirtualBlock> block;
    REQUIRE(D3D12MA::CreateVirtualBlock(&block_desc, &block.self) == S_OK && counted.live == 1);
    block.release();
    EXPECT(counted.live == 0 && counted.total > 4);
    callbacks_that_refuse(env);
}

/* Many threads, two allocators. */
void test_ma_threads(const environment &env) {
    held<D3D12MA::Allocator> allocators[2];
    REQUIRE(create(env, allocators[0]) && create(env, allocators[1]));
    held<D3D12MA::Pool> pool;
    const D3D12MA::CPOOL_DESC pool_desc(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS);
    REQUIRE(allocators[0]->CreatePool(&pool_desc, &pool.self) == S_OK);
    std::atomic<unsigned> wrong{0};
    allocations handed_over[4];
    auto work = [&](unsigned number) {
        std::mt19937 random(number);
        D3D12MA::Allocator *allocator = allocators[number % 2];
        allocations live;
        for (unsigned step = 0; step < 300; step++) {
            if (random() % 5 < 3 || live.empty()) {
                auto place = in(random() % 3 ? D3D12_HEAP_TYPE_DEFAULT : D3D12_HEAP_TYPE_UPLOAD);
                if (random() % 8 == 0) place.Flags = D3D12MA::ALLOCATION_FLAG_COMMITTED;
                if (number % 2 == 0 && random() % 4 == 0) place = D3D12MA::CALLOCATION_DESC(pool.self);
                if (!add_buffer(live, allocator, place, 1 + random() % (300 * KIB))) wrong++;
                else (*live.back())->SetName(L"of a thread");
            } else {
                std::swap(live[random() % live.size()], live.back());
                live.pop_back();
            }
            if (step % 100 == 0) {
                D3D12MA::Budget budget;
                allocator->GetBudget(&budget, nullptr);
                totals(allocator);
                WCHAR *text = nullptr;
                allocator->BuildStatsString(&text, TRUE);
                allocator->FreeStatsString(text);
            }
        }
        handed_over[number] = std::move(live);
    };
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 4; number++) threads.emplace_back(work, number);
    for (std::thread &thread : threads) thread.join();
    EXPECT(wrong == 0);
    /* Another thread releases what is left. */
    std::thread([&] {
        for (allocations &live : handed_over) live.clear();
    }).join();
    for (D3D12MA::Allocator *allocator : allocators) EXPECT(totals(allocator).Total.Stats.AllocationCount == 0);
}
