/* Bad input: an HRESULT, a null out-pointer, and no crash. */
#include "environment.hpp"

/* An object of another library. */
struct foreign_object : IUnknown {
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void **out) override {
        *out = nullptr;
        return E_NOINTERFACE;
    }
    ULONG STDMETHODCALLTYPE AddRef() override { return 2; }
    ULONG STDMETHODCALLTYPE Release() override { return 1; }
    virtual ~foreign_object() = default;
};

void test_bad_input(const environment &env) {
    IUnknown *const poison = reinterpret_cast<IUnknown *>(16);
    foreign_object other;
    auto foreign = [&](auto *type) { return reinterpret_cast<decltype(type)>(static_cast<IUnknown *>(&other)); };
    RESOURCE_ALLOCATOR_DESC desc = {};
    RESIDENCY_MANAGER_DESC manager_desc = {};
    held<IResourceAllocator> allocator;
    held<IResidencyManager> manager;
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);

    /* Null. */
    auto refused_allocator = [&](HRESULT expected, std::function<HRESULT(IResourceAllocator **)> call) {
        IResourceAllocator *out = reinterpret_cast<IResourceAllocator *>(poison);
        EXPECT(call(&out) == expected && !out);
    };
    IResidencyManager *no_manager = nullptr;
    refused_allocator(E_POINTER, [&](auto out) { return CreateResourceAllocator(desc, nullptr, env.dxgi(), out, nullptr); });
    refused_allocator(E_POINTER, [&](auto out) { return CreateResourceAllocator(desc, nullptr, env.dxgi(), no_manager, out); });
    refused_allocator(E_POINTER, [&](auto out) { return CreateResourceAllocator(desc, env.device, nullptr, out, &no_manager); });
    refused_allocator(E_POINTER, [&](auto out) { return CreateResourceAllocator(desc, static_cast<IResourceAllocator *>(nullptr), out); });
    refused_allocator(E_INVALIDARG, [&](auto out) { return CreateResourceAllocator(desc, foreign(allocator.self), out); });
    refused_allocator(E_INVALIDARG, [&](auto out) {
        return CreateResourceAllocator(desc, env.device, env.dxgi(), foreign(manager.self), out);
    });
    refused_allocator(E_NOINTERFACE, [&](auto out) {
        return CreateResourceAllocator(desc, env.device, foreign(env.dxgi()), out, &no_manager);
    });
    held<IResidencyManager> refused_manager;
    EXPECT(CreateResidencyManager(manager_desc, nullptr, env.dxgi3(), &refused_manager.self) == E_POINTER && !refused_manager);
    EXPECT(CreateResidencyManager(manager_desc, env.device, nullptr, &refused_manager.self) == E_POINTER && !refused_manager);
    RESIDENCY_HEAP_DESC heap_desc = {};
    held<IResidencyHeap> heap;
    EXPECT(CreateResidencyHeap(heap_desc, manager, static_cast<ID3D12Pageable *>(nullptr), &heap.self) == E_POINTER && !heap);
    EXPECT(CreateResidencyHeap(heap_desc, manager, static_cast<CreateHeapFn>(nullptr), nullptr, &heap.self) == E_POINTER && !heap);
    EXPECT(manager->SetResidencyStatus(nullptr, RESIDENCY_HEAP_STATUS_EVICTED) == E_POINTER);
    EXPECT(manager->SetResidencyStatus(foreign(heap.self), RESIDENCY_HEAP_STATUS_EVICTED) == E_INVALIDARG);
    held<IResidencyList> list;
    REQUIRE(CreateResidencyList(&list.self) == S_OK);
    EXPECT(list->Add(nullptr) == E_INVALIDARG);
    EXPECT(list->Add(foreign(heap.self)) == E_INVALIDARG);
    RESOURCE_ALLOCATION_DESC allocation_desc = {};
    held<IResourceAllocation> allocation;
    EXPECT(allocator->CreateResource(allocation_desc, nullptr, &allocation.self) == E_POINTER && !allocation);

    /* Numbers that no enumeration has, and flags that no version has. */
    struct {
        std::function<void(RESOURCE_ALLOCATOR_DESC &)> change;
        HRESULT result;
    } const wrong_allocators[] = {
        {[](auto &desc) { desc.Flags = RESOURCE_ALLOCATOR_FLAGS(0x100); }, E_INVALIDARG},
        {[](auto &desc) { desc.Flags = RESOURCE_ALLOCATOR_FLAGS(0x10000); }, E_INVALIDARG},
        {[](auto &desc) { desc.MinLogLevel = D3D12_MESSAGE_SEVERITY(5); }, E_INVALIDARG},
        {[](auto &desc) { desc.MinRecordLevel = D3D12_MESSAGE_SEVERITY(-1); }, E_INVALIDARG},
        {[](auto &desc) { desc.ResourceHeapTier = D3D12_RESOURCE_HEAP_TIER(3); }, E_INVALIDARG},
        {[](auto &desc) { desc.ResourceHeapTier = D3D12_RESOURCE_HEAP_TIER(-1); }, E_INVALIDARG},
        {[](auto &desc) { desc.SubAllocationAlgorithm = RESOURCE_ALLOCATION_ALGORITHM_FIXED_POOL; }, E_INVALIDARG},
        {[](auto &desc) { desc.PoolAlgorithm = RESOURCE_ALLOCATION_ALGORITHM_SLAB; }, E_INVALIDARG},
        {[](auto &desc) { desc.SubAllocationAlgorithm = RESOURCE_ALLOCATION_ALGORITHM(6); }, E_INVALIDARG},
        {[](auto &desc) { desc.ResourceHeapFragmentationLimit = -1.0f; }, E_INVALIDARG},
        {[](auto &desc) { desc.ResourceHeapGrowthFactor = -1.0f; }, E_INVALIDARG},
        {[](auto &desc) { desc.PreferredResourceHeapSize = 2; desc.MaxResourceHeapSize = 1; }, E_INVALIDARG},
        {[](auto &desc) { desc.MaxResourceHeapSize = 4096; }, E_INVALIDARG},
    };
    for (const auto &wrong : wrong_allocators) {
        RESOURCE_ALLOCATOR_DESC changed = {};
        wrong.change(changed);
        refused_allocator(wrong.result, [&](auto out) { return CreateResourceAllocator(changed, env.device, env.dxgi(), out, nullptr); });
        refused_allocator(wrong.result, [&](auto out) { return CreateResourceAllocator(changed, allocator.self, out); });
    }
    for (float part : {-0.5f, 1.5f}) {
        manager_desc = {};
        manager_desc.MaxPctOfVideoMemoryToBudget = part;
        EXPECT(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), nullptr) == E_INVALIDARG);
    }
    manager_desc = {};
    manager_desc.Flags = RESIDENCY_MANAGER_FLAGS(8);
    EXPECT(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), nullptr) == E_INVALIDARG);
    const auto wrong_segment = DXGI_MEMORY_SEGMENT_GROUP(2);
    EXPECT(manager->SetVideoMemoryReservation(wrong_segment, 0) == E_INVALIDARG);
    EXPECT(manager->QueryVideoMemoryInfo(wrong_segment, nullptr) == E_INVALIDARG);

    /* Contradicting flags, and sizes near 2^64. */
    const auto contradiction = RESOURCE_ALLOCATION_FLAG_NEVER_ALLOCATE_HEAP | RESOURCE_ALLOCATION_FLAG_ALWAYS_PREFETCH_HEAP;
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 64, &allocation.self, contradiction) == E_INVALIDARG && !allocation);
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 64, &allocation.self, RESOURCE_ALLOCATION_FLAGS(0x400)) == E_INVALIDARG);
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE(99), 64, &allocation.self) == E_INVALIDARG && !allocation);
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 0, &allocation.self) == E_INVALIDARG && !allocation);
    for (UINT64 size : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 65535, UINT64(1) << 63, UINT64(1) << 62}) {
        EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, size, &allocation.self) == E_OUTOFMEMORY && !allocation);
        EXPECT(FAILED(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, size, nullptr)));
        allocation_desc = {};
        allocation_desc.ExtraRequiredResourcePadding = size;
        EXPECT(FAILED(allocator->CreateResource(allocation_desc, buffer_desc(64), D3D12_RESOURCE_STATE_COMMON, nullptr, &allocation.self)));
        heap_desc = {};
        heap_desc.SizeInBytes = size;
        EXPECT(CreateResidencyHeap(heap_desc, manager, [](void *, ID3D12Pageable **) { return HRESULT(E_ABORT); }, nullptr, &heap.self) == E_ABORT);
        EXPECT(manager->SetVideoMemoryReservation(DXGI_MEMORY_SEGMENT_GROUP_LOCAL, size) == S_OK);
    }
    EXPECT(manager->SetVideoMemoryReservation(DXGI_MEMORY_SEGMENT_GROUP_LOCAL, 0) == S_OK);

    /* Textures that no device accepts, and one whose format devices may lack. */
    D3D12_RESOURCE_DESC wrong_textures[] = {texture_desc(3435973836, 3435973836), texture_desc(17000, 17000), texture_desc(0, 1),
        texture_desc(64, 0), texture_desc(64, 64), texture_desc(3, 3)};
    wrong_textures[4].SampleDesc.Count = 3;
    wrong_textures[5].Format = DXGI_FORMAT_BC1_UNORM;
    for (const auto &wrong : wrong_textures) {
        EXPECT(allocator->CreateResource({}, wrong, D3D12_RESOURCE_STATE_COMMON, nullptr, &allocation.self) == E_INVALIDARG && !allocation);
    }
    D3D12_RESOURCE_DESC bits = texture_desc(64, 64);
    bits.Format = DXGI_FORMAT_R1_UNORM;
    EXPECT(allocator->CreateResource({}, bits, D3D12_RESOURCE_STATE_COMMON, nullptr, &allocation.self) == E_NOTIMPL && !allocation);
    heap_desc = {};
    heap_desc.Alignment = 3;
    EXPECT(CreateResidencyHeap(heap_desc, nullptr, static_cast<ID3D12Pageable *>(nullptr), nullptr) == E_INVALIDARG);
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 64 << 20, &allocation.self, RESOURCE_ALLOCATION_FLAG_NEVER_ALLOCATE_HEAP) == E_OUTOFMEMORY);

    /* Heaps: flags that need a manager or a callback. */
    held<ID3D12Heap> d3d12_heap;
    D3D12_HEAP_DESC d3d12_desc = {};
    d3d12_desc.SizeInBytes = 1 << 16;
    d3d12_desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    d3d12_desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    REQUIRE(env.device->CreateHeap(&d3d12_desc, d3d12_heap.id(), d3d12_heap.out()) == S_OK);
    heap_desc = {};
    heap_desc.Flags = RESIDENCY_HEAP_FLAG_CREATE_IN_BUDGET;
    EXPECT(CreateResidencyHeap(heap_desc, manager, d3d12_heap, &heap.self) == E_INVALIDARG && !heap);
    heap_desc.Flags = RESIDENCY_HEAP_FLAG_CREATE_LOCKED;
    EXPECT(CreateResidencyHeap(heap_desc, nullptr, d3d12_heap, &heap.self) == E_INVALIDARG && !heap);
    bool is_called = false;
    const auto note_call = [](void *context, ID3D12Pageable **) {
        *static_cast<bool *>(context) = true;
        return HRESULT(E_ABORT);
    };
    EXPECT(CreateResidencyHeap(heap_desc, nullptr, note_call, &is_called, &heap.self) == E_INVALIDARG && !heap && !is_called);
    heap_desc.Flags = RESIDENCY_HEAP_FLAGS(0xc0); /* of D3D12_HEAP_FLAGS, as in GPGMM's replay */
    EXPECT(CreateResidencyHeap(heap_desc, manager, d3d12_heap, &heap.self) == S_OK);
    heap.release();
    heap_desc = {};
    heap_desc.SizeInBytes = 1; /* less than the heap */
    EXPECT(CreateResidencyHeap(heap_desc, manager, d3d12_heap, &heap.self) == E_INVALIDARG && !heap);

    /* Features. */
    FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT support = {};
    const auto feature = RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT;
    EXPECT(allocator->CheckFeatureSupport(feature, &support, sizeof support + 1) == E_INVALIDARG);
    EXPECT(allocator->CheckFeatureSupport(feature, nullptr, sizeof support) == E_INVALIDARG);
    EXPECT(allocator->CheckFeatureSupport(RESOURCE_ALLOCATOR_FEATURE(1), &support, sizeof support) == E_INVALIDARG);
}
