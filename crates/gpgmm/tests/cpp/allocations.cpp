/* CreateResource, and IResourceAllocation except for Map and Unmap. */
#include "environment.hpp"

void test_allocations(const environment &env) {
    held<IResourceAllocator> allocator;
    REQUIRE(create_allocator(env, allocator));

    /* Each type of allocation. */
    held<IResourceAllocation> shared, own, committed, within, imported;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 1000, &shared.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 1000, &own.self,
                RESOURCE_ALLOCATION_FLAG_NEVER_SUBALLOCATE_HEAP | RESOURCE_ALLOCATION_FLAG_NEVER_FALLBACK) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 1000, &committed.self, RESOURCE_ALLOCATION_FLAG_ALWAYS_COMMITTED) == S_OK);
    const auto part = RESOURCE_ALLOCATION_FLAG_ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
    held<IResourceAllocation> first_part;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 1000, &first_part.self, part) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 1000, &within.self, part) == S_OK);
    RESOURCE_ALLOCATION_DESC desc = {};
    desc.Flags = RESOURCE_ALLOCATION_FLAG_NEVER_RESIDENT;
    REQUIRE(allocator->CreateResource(desc, committed->GetResource(), &imported.self) == S_OK && imported);

    /* The structure is returned whole: all members are written, and nothing else is. */
    const RESOURCE_ALLOCATION_INFO info = shared->GetInfo();
    EXPECT(info.SizeInBytes >= 1000 && info.SizeInBytes < 1 << 20 && info.Alignment > 0);
    EXPECT(info.SizeInBytes % info.Alignment == 0);
    EXPECT(info.Type == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED && info.Type != RESOURCE_ALLOCATION_TYPE_UNKNOWN);
    EXPECT(own->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_STANDALONE && own->GetInfo().SizeInBytes >= 1 << 16);
    EXPECT(committed->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_STANDALONE);
    EXPECT(imported->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_STANDALONE);
    EXPECT(within->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN);

    /* Addresses and offsets. */
    EXPECT(shared->GetOffsetFromResource() == 0 && within->GetOffsetFromResource() >= 1000);
    EXPECT(within->GetResource() == first_part->GetResource());
    EXPECT(within->GetGPUVirtualAddress() == within->GetResource()->GetGPUVirtualAddress() + within->GetOffsetFromResource());
    EXPECT(within->GetGPUVirtualAddress() % 256 == 0);
    EXPECT(shared->GetGPUVirtualAddress() == shared->GetResource()->GetGPUVirtualAddress());
    EXPECT(imported->GetResource() == committed->GetResource());

    /* The memory: the same object for all allocations of a heap, with the D3D12 heap behind it. */
    IResidencyHeap *memory = shared->GetMemory();
    REQUIRE(memory && memory == shared->GetMemory());
    held<IResourceAllocation> neighbour;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 1000, &neighbour.self) == S_OK);
    EXPECT(neighbour->GetMemory() == memory && own->GetMemory() != memory && within->GetMemory() == first_part->GetMemory());
    held<ID3D12Heap> heap;
    EXPECT(memory->QueryInterface(heap.id(), heap.out()) == S_OK && heap);
    EXPECT(memory->GetInfo().Status == RESIDENCY_HEAP_STATUS_UNKNOWN && !memory->GetInfo().IsLocked);
    held<ID3D12Resource> resource;
    EXPECT(committed->GetMemory()->QueryInterface(resource.id(), resource.out()) == S_OK && resource == committed->GetResource());

    /* The allocator. */
    held<IResourceAllocator> same;
    EXPECT(shared->GetResourceAllocator(&same.self) == S_OK && same == allocator);
    EXPECT(shared->GetResourceAllocator(nullptr) == S_FALSE);

    /* Textures, with a clear value; heap types from the initial state. */
    held<IResourceAllocation> target, texture, readback, upload;
    D3D12_RESOURCE_DESC target_desc = texture_desc(256, 256);
    target_desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    D3D12_CLEAR_VALUE clear = {};
    clear.Format = target_desc.Format;
    desc = {};
    EXPECT(allocator->CreateResource(desc, target_desc, D3D12_RESOURCE_STATE_RENDER_TARGET, &clear, &target.self) == S_OK);
    EXPECT(allocator->CreateResource(desc, texture_desc(64, 64), D3D12_RESOURCE_STATE_COMMON, nullptr, &texture.self) == S_OK);
    EXPECT(texture && texture->GetGPUVirtualAddress() == 0);
    desc.HeapType = D3D12_HEAP_TYPE_CUSTOM;
    EXPECT(allocator->CreateResource(desc, buffer_desc(100), D3D12_RESOURCE_STATE_COPY_DEST, nullptr, &readback.self) == S_OK);
    EXPECT(allocator->CreateResource(desc, buffer_desc(100), D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, &upload.self) == S_OK);
    const D3D12_HEAP_TYPE expected[] = {D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_UPLOAD};
    IResourceAllocation *inferred[] = {readback, upload};
    for (int i = 0; i < 2; i++) {
        D3D12_HEAP_PROPERTIES properties = {};
        EXPECT(inferred[i] && inferred[i]->GetResource()->GetHeapProperties(&properties, nullptr) == S_OK);
        EXPECT(properties.Type == expected[i]);
    }

    /* Every flag by itself, padding, and heap flags. */
    for (int bit = 1; bit <= RESOURCE_ALLOCATION_FLAG_ALWAYS_COMMITTED; bit <<= 1) {
        held<IResourceAllocation> any;
        EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 600, &any.self, RESOURCE_ALLOCATION_FLAGS(bit)) == S_OK);
    }
    held<IResourceAllocation> padded, any;
    desc = {};
    desc.HeapType = D3D12_HEAP_TYPE_DEFAULT;
    desc.Flags = RESOURCE_ALLOCATION_FLAG_NONE;
    desc.ExtraRequiredResourcePadding = 1 << 20;
    EXPECT(allocator->CreateResource(desc, buffer_desc(1 << 16), D3D12_RESOURCE_STATE_COMMON, nullptr, &padded.self) == S_OK);
    EXPECT(padded && padded->GetInfo().SizeInBytes >= (1 << 16) + (1 << 20));
    desc = {};
    desc.ExtraRequiredHeapFlags = D3D12_HEAP_FLAG_SHARED;
    EXPECT(allocator->CreateResource(desc, buffer_desc(1 << 16), D3D12_RESOURCE_STATE_COMMON, nullptr, &any.self) == S_OK);
    EXPECT(any && any->GetInfo().Type == RESOURCE_ALLOCATION_TYPE_STANDALONE);

    /* With a null out-pointer, nothing is left but an empty heap. */
    RESOURCE_ALLOCATOR_STATS before = {}, after = {};
    allocator->QueryStats(&before);
    EXPECT(create_buffer(allocator, D3D12_HEAP_TYPE_READBACK, 64 << 20, nullptr) == S_FALSE);
    allocator->QueryStats(&after);
    EXPECT(after.UsedBlockCount == before.UsedBlockCount && after.UsedHeapCount == before.UsedHeapCount);
    EXPECT(after.FreeHeapUsage == before.FreeHeapUsage + (64 << 20));
    desc = {};
    EXPECT(allocator->CreateResource(desc, committed->GetResource(), nullptr) == S_FALSE);
    allocator->QueryStats(&before);
    EXPECT(FAILED(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 0, nullptr)));
    allocator->QueryStats(&after);
    EXPECT(after.UsedBlockCount == before.UsedBlockCount && after.UsedHeapUsage == before.UsedHeapUsage && after.FreeHeapUsage == before.FreeHeapUsage);
}
