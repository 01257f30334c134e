/* Misuse of D3D12MA's API: E_INVALIDARG, a null out-pointer, and no crash. And what heapwright adds. */
#include "d3d12ma.hpp"

using namespace ma;

void test_ma_misuse(const environment &env) {
    D3D12MA::ALLOCATOR_DESC desc = {};
    desc.pDevice = env.device;
    desc.pAdapter = env.dxgi();
    held<D3D12MA::Allocator> allocator, other;
    auto refused = [&](const D3D12MA::ALLOCATOR_DESC *wrong) {
        held<D3D12MA::Allocator> none;
        return D3D12MA::CreateAllocator(wrong, &none.self) == E_INVALIDARG && !none;
    };
    EXPECT(refused(nullptr) && D3D12MA::CreateAllocator(&desc, nullptr) == E_INVALIDARG);
    for (UINT64 size : {UINT64(1), UINT64(15), UINT64(1) << 40, UINT64_MAX}) {
        D3D12MA::ALLOCATOR_DESC wrong = desc;
        wrong.PreferredBlockSize = size;
        EXPECT(refused(&wrong));
    }
    D3D12MA::ALLOCATOR_DESC wrong = desc;
    wrong.pDevice = nullptr;
    EXPECT(refused(&wrong));
    wrong = desc;
    wrong.pAdapter = nullptr;
    EXPECT(refused(&wrong));
    wrong = desc;
    wrong.Flags = D3D12MA::ALLOCATOR_FLAGS(0x40);
    EXPECT(refused(&wrong));
    desc.PreferredBlockSize = 16;
    REQUIRE(D3D12MA::CreateAllocator(&desc, &allocator.self) == S_OK && create(env, other));

    /* Resources. */
    const D3D12_RESOURCE_DESC resource = buffer_desc(KIB);
    const auto common = D3D12_RESOURCE_STATE_COMMON;
    held<D3D12MA::Allocation> none, made;
    held<ID3D12Resource> no_resource;
    auto place = in(D3D12_HEAP_TYPE_DEFAULT);
    EXPECT(allocator->CreateResource(nullptr, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG);
    EXPECT(allocator->CreateResource(&place, nullptr, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG);
    EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, nullptr, GUID{}, nullptr) == E_INVALIDARG);
    EXPECT(FAILED(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{9, 9, 9, {}}, no_resource.out())));
    EXPECT(!none && !no_resource && totals(allocator).Total.Stats.AllocationCount == 0);
    for (int type : {0, int(D3D12_HEAP_TYPE_CUSTOM), 17, -1}) {
        place.HeapType = D3D12_HEAP_TYPE(type);
        EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG && !none);
    }
    place = in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_COMMITTED | D3D12MA::ALLOCATION_FLAG_NEVER_ALLOCATE);
    EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG);
    place.Flags = D3D12MA::ALLOCATION_FLAGS(0x8000000);
    EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG);
    place = in(D3D12_HEAP_TYPE_READBACK, D3D12MA::ALLOCATION_FLAG_NEVER_ALLOCATE);
    EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_OUTOFMEMORY && !none);
    place = in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS);
    const D3D12_RESOURCE_DESC huge = buffer_desc(UINT64(1) << 60);
    EXPECT(FAILED(allocator->CreateResource(&place, &huge, common, nullptr, &none.self, GUID{}, nullptr)) && !none);
    const D3D12_RESOURCE_DESC nothing = {};
    EXPECT(FAILED(allocator->CreateResource(&place, &nothing, common, nullptr, &none.self, GUID{}, nullptr)) && !none);
    place = in(D3D12_HEAP_TYPE_UPLOAD);
    EXPECT(FAILED(allocator->CreateResource(&place, &resource, D3D12_RESOURCE_STATE_COPY_DEST, nullptr, &none.self, GUID{}, nullptr)));
    struct foreign_object : IUnknown {
        HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void **) override { return E_NOINTERFACE; }
        ULONG STDMETHODCALLTYPE AddRef() override { return 2; }
        ULONG STDMETHODCALLTYPE Release() override { return 1; }
        virtual ~foreign_object() = default;
    } foreign;
    auto *unknown = static_cast<IUnknown *>(&foreign);
    place.CustomPool = reinterpret_cast<D3D12MA::Pool *>(unknown);
    EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG);
    EXPECT(allocator->CreateAliasingResource(reinterpret_cast<D3D12MA::Allocation *>(unknown), 0, &resource, common, nullptr,
               no_resource.id(), no_resource.out()) == E_INVALIDARG);

    /* Memory. */
    place = in(D3D12_HEAP_TYPE_DEFAULT);
    place.ExtraHeapFlags |= D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    D3D12_RESOURCE_ALLOCATION_INFO info = {MIB, 64 * KIB};
    EXPECT(allocator->AllocateMemory(nullptr, &info, &none.self) == E_INVALIDARG);
    EXPECT(allocator->AllocateMemory(&place, nullptr, &none.self) == E_INVALIDARG);
    EXPECT(allocator->AllocateMemory(&place, &info, nullptr) == E_INVALIDARG);
    for (UINT64 alignment : {UINT64(3), UINT64_MAX}) {
        info.Alignment = alignment;
        EXPECT(allocator->AllocateMemory(&place, &info, &none.self) == E_INVALIDARG);
    }
    info = {0, 64 * KIB};
    EXPECT(allocator->AllocateMemory(&place, &info, &none.self) == E_INVALIDARG);
    info = {UINT64_MAX, 64 * KIB};
    EXPECT(FAILED(allocator->AllocateMemory(&place, &info, &none.self)) && !none);
    const bool is_tier_1 = allocator->GetD3D12Options().ResourceHeapTier < D3D12_RESOURCE_HEAP_TIER_2;
    info = {MIB, 64 * KIB};
    place.ExtraHeapFlags = D3D12_HEAP_FLAG_NONE;
    EXPECT(FAILED(allocator->AllocateMemory(&place, &info, &made.self)) == is_tier_1);
    if (made) {
        EXPECT(other->CreateAliasingResource(made, 0, &resource, common, nullptr, no_resource.id(), no_resource.out()) == E_INVALIDARG);
    }

    /* Pools. */
    held<D3D12MA::Pool> pool, no_pool;
    D3D12MA::POOL_DESC pool_desc = {};
    pool_desc.HeapProperties.Type = D3D12_HEAP_TYPE_DEFAULT;
    pool_desc.HeapFlags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    EXPECT(allocator->CreatePool(nullptr, &no_pool.self) == E_INVALIDARG && allocator->CreatePool(&pool_desc, nullptr) == E_INVALIDARG);
    auto refused_pool = [&](auto change) {
        D3D12MA::POOL_DESC changed = pool_desc;
        change(changed);
        return FAILED(allocator->CreatePool(&changed, &no_pool.self)) && !no_pool;
    };
    EXPECT(refused_pool([](auto &changed) { changed.HeapProperties.Type = D3D12_HEAP_TYPE(0); }));
    EXPECT(refused_pool([](auto &changed) { changed.HeapProperties.Type = D3D12_HEAP_TYPE_CUSTOM; }));
    EXPECT(refused_pool([](auto &changed) { changed.MinBlockCount = 2, changed.MaxBlockCount = 1; }));
    EXPECT(refused_pool([](auto &changed) { changed.MinAllocationAlignment = 3; }));
    EXPECT(refused_pool([](auto &changed) { changed.MinAllocationAlignment = UINT64(1) << 40; }));
    EXPECT(refused_pool([](auto &changed) { changed.BlockSize = UINT64_MAX; }));
    EXPECT(refused_pool([](auto &changed) { changed.Flags = D3D12MA::POOL_FLAGS(0x10); }));
    EXPECT(refused_pool([](auto &changed) { changed.HeapProperties.CreationNodeMask = 2; }));
    EXPECT(refused_pool([](auto &changed) { changed.HeapFlags = D3D12_HEAP_FLAG_NONE; }) == is_tier_1);
    no_pool.release();
    REQUIRE(other->CreatePool(&pool_desc, &pool.self) == S_OK);
    place = D3D12MA::CALLOCATION_DESC(pool.self);
    EXPECT(allocator->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG);
    EXPECT(allocator->AllocateMemory(&place, &info, &none.self) == E_INVALIDARG && !none);
    const D3D12_RESOURCE_DESC texture = texture_desc(64, 64);
    EXPECT(other->CreateResource(&place, &texture, common, nullptr, &none.self, GUID{}, nullptr) == E_INVALIDARG && !none);
    pool->GetStatistics(nullptr);
    pool->CalculateStatistics(nullptr);

    /* Defragmentation. */
    held<D3D12MA::DefragmentationContext> context;
    D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAGS(0x100), 0, 0};
    EXPECT(pool->BeginDefragmentation(&run, &context.self) == E_INVALIDARG && !context);
    run.Flags = D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_FAST;
    EXPECT(pool->BeginDefragmentation(nullptr, &context.self) == E_INVALIDARG && pool->BeginDefragmentation(&run, nullptr) == E_INVALIDARG);
    other->BeginDefragmentation(nullptr, &context.self);
    other->BeginDefragmentation(&run, nullptr);
    EXPECT(!context);

    /* An allocation that was released, until another one has its memory. */
    held<D3D12MA::Allocation> last;
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_CAN_ALIAS), KIB, &last.self) == S_OK);
    last->SetName(L"last");
    D3D12MA::Allocation *const gone = last.self;
    const UINT live_now = totals(allocator).Total.Stats.AllocationCount;
    EXPECT(last.release() == 0 && gone->Release() == 0 && gone->AddRef() == 0 && gone->Release() == 0);
    gone->SetName(L"late");
    gone->SetName(nullptr);
    gone->SetResource(nullptr);
    gone->SetPrivateData(&desc);
    EXPECT(!gone->GetName() && !gone->GetResource() && !gone->GetHeap() && !gone->GetPrivateData() && gone->GetSize() == 0);
    EXPECT(gone->QueryInterface(iunknown_id, no_resource.out()) == E_NOINTERFACE && !no_resource);
    EXPECT(allocator->CreateAliasingResource(gone, 0, &resource, common, nullptr, no_resource.id(), no_resource.out()) == E_INVALIDARG);
    EXPECT(totals(allocator).Total.Stats.AllocationCount == live_now - 1);

    /* A pool that is released before what is in it. */
    D3D12MA::DefragmentationContext *late_context = nullptr;
    held<D3D12MA::Allocation> late;
    REQUIRE(other->CreateResource(&place, &resource, common, nullptr, &none.self, GUID{}, nullptr) == S_OK);
    REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK);
    D3D12MA::Pool *const released = pool.self;
    EXPECT(pool.release() == 0 && totals(other).Total.Stats.AllocationCount == 1);
    /* And once more, or used. */
    EXPECT(released->Release() == 0 && released->AddRef() == 0 && released->Release() == 0 && !released->GetName());
    released->SetName(L"late");
    EXPECT(released->BeginDefragmentation(&run, &late_context) == E_INVALIDARG && !late_context);
    EXPECT(other->CreateResource(&place, &resource, common, nullptr, &late.self, GUID{}, nullptr) == E_INVALIDARG && !late);
    D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
    EXPECT(SUCCEEDED(context->BeginPass(&pass)) && none->GetSize() >= KIB);
}

/* What heapwright adds: residency, transient resources and a report. */
void test_ma_extension(const environment &env) {
    D3D12MA::ALLOCATOR_DESC desc = {};
    desc.Flags = RECOMMENDED;
    desc.pDevice = env.device;
    desc.pAdapter = env.dxgi();
    held<D3D12MA::Allocator> allocator, plain;
    REQUIRE(create(env, plain));
    REQUIRE(heapwright::d3d12ma::CreateAllocator(&desc, RESIDENCY_MANAGER_DESC{}, &allocator.self) == S_OK);
    direct_queue queue;
    REQUIRE(queue.create(env));
    held<D3D12MA::Allocation> from, to, committed;
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_UPLOAD), 128 * KIB, &from.self) == S_OK);
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_READBACK), 128 * KIB, &to.self) == S_OK);
    REQUIRE(buffer(allocator, in(D3D12_HEAP_TYPE_DEFAULT, D3D12MA::ALLOCATION_FLAG_COMMITTED), 128 * KIB, &committed.self) == S_OK);
    void *data = nullptr;
    REQUIRE(from->GetResource()->Map(0, nullptr, &data) == S_OK);
    std::memset(data, 5, 128 * KIB);
    from->GetResource()->Unmap(0, nullptr);
    /* The same allocations, with residency and without. */
    held<D3D12MA::Allocation> plain_from;
    REQUIRE(buffer(plain, in(D3D12_HEAP_TYPE_UPLOAD), 128 * KIB, &plain_from.self) == S_OK);
    REQUIRE(plain_from->GetResource()->Map(0, nullptr, &data) == S_OK);
    std::memset(data, 5, 128 * KIB);
    plain_from->GetResource()->Unmap(0, nullptr);
    D3D12MA::Allocation *uses[] = {from, to, committed, plain_from};
    for (D3D12MA::Allocation *source : {from.self, plain_from.self}) {
        queue.recorded->CopyBufferRegion(to->GetResource(), 0, source->GetResource(), 0, 128 * KIB);
        EXPECT(queue.recorded->Close() == S_OK);
        ID3D12CommandList *lists[] = {queue.recorded};
        EXPECT(heapwright::d3d12ma::ExecuteCommandLists(queue.queue, 1, lists, 4, uses) == S_OK);
        queue.wait();
        EXPECT(queue.commands->Reset() == S_OK && queue.recorded->Reset(queue.commands, nullptr) == S_OK);
        unsigned char *bytes = nullptr;
        REQUIRE(to->GetResource()->Map(0, nullptr, reinterpret_cast<void **>(&bytes)) == S_OK);
        EXPECT(bytes[0] == 5 && bytes[128 * KIB - 1] == 5);
        std::memset(bytes, 0, 128 * KIB);
        to->GetResource()->Unmap(0, nullptr);
    }
    EXPECT(heapwright::d3d12ma::ExecuteCommandLists(nullptr, 0, nullptr, 0, nullptr) == E_INVALIDARG);
    EXPECT(heapwright::d3d12ma::ExecuteCommandLists(queue.queue, 1, nullptr, 0, nullptr) == E_INVALIDARG);
    D3D12MA::Allocation *none[] = {nullptr};
    EXPECT(heapwright::d3d12ma::ExecuteCommandLists(queue.queue, 0, nullptr, 1, none) == E_INVALIDARG);
    EXPECT(heapwright::d3d12ma::ExecuteCommandLists(queue.queue, 0, nullptr, 1, nullptr) == E_INVALIDARG);
    EXPECT(heapwright::d3d12ma::ExecuteCommandLists(queue.queue, 0, nullptr, 0, nullptr) == S_OK);

    /* The names of allocations are in the report. */
    from->SetName(L"staging");
    committed->SetName(L"a committed one");
    held<heapwright::d3d12::IAllocator> extension;
    held<heapwright::d3d12::IText> report;
    REQUIRE(heapwright::d3d12ma::GetExtension(allocator, &extension.self) == S_OK && extension);
    EXPECT(heapwright::d3d12ma::GetExtension(nullptr, &extension.self) == E_INVALIDARG);
    REQUIRE(extension->GetReport(&report.self) == S_OK);
    const std::string text = report->GetText();
    EXPECT(text.find("\"staging\"") != std::string::npos && text.find("\"a committed one\"") != std::string::npos);
    held<heapwright::d3d12::ITransientHeaps> transient;
    EXPECT(extension->CreateTransientHeaps(heapwright::d3d12::BARRIER_MODEL(0), &transient.self) == S_OK);
    /* The objects are released in any order. */
    allocator.release();
    EXPECT(extension->OnFrame() == S_OK);
}
