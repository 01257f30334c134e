/* Map and Unmap. */
#include "environment.hpp"

static void fill(void *start, size_t length, unsigned char value) { std::memset(start, value, length); }

void test_mapping(const environment &env) {
    RESOURCE_ALLOCATOR_DESC allocator_desc = {};
    held<IResourceAllocator> allocator;
    held<IResidencyManager> manager;
    REQUIRE(CreateResourceAllocator(allocator_desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);

    /* A buffer: with and without ranges, nested, and without an out-pointer. The memory is locked meanwhile. */
    held<IResourceAllocation> upload, readback, video;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 4096, &upload.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_READBACK, 4096, &readback.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &video.self) == S_OK);
    IResidencyHeap *memory = upload->GetMemory();
    const D3D12_RANGE nothing = {0, 0}, some = {16, 32};
    void *first = nullptr, *second = nullptr;
    REQUIRE(upload->Map(0, &nothing, &first) == S_OK && first);
    EXPECT(memory->GetInfo().IsLocked);
    EXPECT(upload->Map(0, nullptr, &second) == S_OK && second == first);
    EXPECT(upload->Map(0, nullptr, nullptr) == S_OK);
    fill(first, 4096, 0x5a);
    upload->Unmap(0, nullptr);
    upload->Unmap(0, &some);
    EXPECT(memory->GetInfo().IsLocked);
    upload->Unmap(0, &nothing);
    EXPECT(!memory->GetInfo().IsLocked);
    upload->Unmap(0, nullptr); /* one too many: logged, without effect */
    EXPECT(!memory->GetInfo().IsLocked);
    EXPECT(readback->Map(0, &some, &first) == S_OK && first);
    readback->Unmap(0, &nothing);
    EXPECT(upload->Map(0, &nothing, &second) == S_OK && static_cast<unsigned char *>(second)[4095] == 0x5a);
    upload->Unmap(0, nullptr);

    /* Not mappable, and a subresource that does not exist. */
    first = &first;
    EXPECT(video->Map(0, nullptr, &first) == E_INVALIDARG && !first);
    EXPECT(FAILED(upload->Map(1, nullptr, &first)));
    EXPECT(!memory->GetInfo().IsLocked);

    /* Parts of one buffer: each pointer begins at its own part. */
    held<IResourceAllocation> parts[2];
    unsigned char *bytes[2] = {};
    for (int i = 0; i < 2; i++) {
        REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 256, &parts[i].self,
                    RESOURCE_ALLOCATION_FLAG_ALLOW_SUBALLOCATE_WITHIN_RESOURCE) == S_OK);
        REQUIRE(parts[i]->Map(0, &nothing, reinterpret_cast<void **>(&bytes[i])) == S_OK);
        fill(bytes[i], 256, static_cast<unsigned char>(i + 1));
    }
    EXPECT(parts[0]->GetResource() == parts[1]->GetResource());
    EXPECT(UINT64(bytes[1] - bytes[0]) == parts[1]->GetOffsetFromResource() - parts[0]->GetOffsetFromResource());
    EXPECT(bytes[0][255] == 1 && bytes[1][0] == 2);
    EXPECT(parts[0]->Map(1, nullptr, &first) == E_INVALIDARG && !first);
    for (auto &part : parts) part->Unmap(0, nullptr);

    /* Released while mapped: the lock goes with it. */
    held<IResourceAllocation> forgotten;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 4096, &forgotten.self) == S_OK);
    held<IResidencyHeap> its_memory;
    REQUIRE(forgotten->GetMemory()->QueryInterface(IID_IResidencyHeap, its_memory.out()) == S_OK);
    EXPECT(forgotten->Map(0, nullptr, &first) == S_OK && its_memory->GetInfo().IsLocked);
    forgotten.release();
    EXPECT(!its_memory->GetInfo().IsLocked);

    /* A texture in memory that the CPU can write, where the device has that: mapped without a pointer, subresource by
       subresource. */
    D3D12_RESOURCE_DESC texture_of_mips = texture_desc(16, 16);
    texture_of_mips.MipLevels = 2;
    RESOURCE_ALLOCATION_DESC desc = {};
    desc.HeapType = D3D12_HEAP_TYPE(5); /* GPU_UPLOAD */
    held<IResourceAllocation> texture;
    const HRESULT made = allocator->CreateResource(desc, texture_of_mips, D3D12_RESOURCE_STATE_COMMON, nullptr, &texture.self);
    if (!texture) {
        EXPECT(FAILED(made));
        std::printf("no GPU upload heaps: textures are not mapped\n");
    } else {
        UINT32 texels[64] = {}, read[64] = {};
        for (UINT32 i = 0; i < 64; i++) texels[i] = i * 0x01010101;
        const HRESULT mapped = texture->Map(1, nullptr, nullptr);
        if (!env.is_ours && FAILED(mapped)) {
            /* Wine's maps none. */
            std::printf("this device maps no textures: 0x%08x\n", static_cast<unsigned>(mapped));
            return;
        }
        REQUIRE(mapped == S_OK);
        EXPECT(texture->GetMemory()->GetInfo().IsLocked);
        EXPECT(texture->GetResource()->WriteToSubresource(1, nullptr, texels, 32, 256) == S_OK);
        EXPECT(texture->GetResource()->ReadFromSubresource(read, 32, 256, 1, nullptr) == S_OK);
        texture->Unmap(1, nullptr);
        EXPECT(std::memcmp(texels, read, sizeof texels) == 0 && !texture->GetMemory()->GetInfo().IsLocked);
        EXPECT(FAILED(texture->Map(2, nullptr, nullptr)));
    }
}
