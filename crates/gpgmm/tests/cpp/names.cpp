/* IDebugObject, and leaks by name. The Rust test that runs this program reads the log lines. */
#include "environment.hpp"

#include <cwchar>

void test_names_and_leaks(const environment &env) {
    RESOURCE_ALLOCATOR_DESC desc = {};
    desc.Flags = RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK;
    desc.MinLogLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    held<IResourceAllocator> allocator;
    held<IResidencyManager> manager;
    held<IResourceAllocation> leaked, placed, part;
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &leaked.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &placed.self) == S_OK);
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_UPLOAD, 64, &part.self,
                RESOURCE_ALLOCATION_FLAG_ALLOW_SUBALLOCATE_WITHIN_RESOURCE) == S_OK);

    IDebugObject *objects[] = {allocator, manager, placed, part, placed->GetMemory()};
    int number = 0;
    for (IDebugObject *object : objects) {
        EXPECT(object->SetDebugName(nullptr) == S_FALSE);
        wchar_t name[16] = L"thing 0 \x00fc";
        name[6] = wchar_t(L'0' + number++);
        EXPECT(object->SetDebugName(name) == S_OK);
        EXPECT(object->GetDebugName() && std::wcscmp(object->GetDebugName(), name) == 0);
        EXPECT(object->SetDebugName(nullptr) == S_FALSE && std::wcscmp(object->GetDebugName(), name) == 0);
        EXPECT(object->SetDebugName(L"") == S_OK && *object->GetDebugName() == 0);
    }
    EXPECT(!leaked->GetDebugName());

    EXPECT(leaked->SetDebugName(L"forgotten shadow map") == S_OK);
    placed.release();
    part.release();
    EXPECT(allocator.release() == 0); /* logs the leak */
    EXPECT(leaked->GetResourceAllocator(nullptr) == E_FAIL);
    EXPECT(leaked->GetResource()->GetGPUVirtualAddress() != 0);

    /* The next description sets the level of the log again. */
    desc = {};
    desc.MinLogLevel = D3D12_MESSAGE_SEVERITY_CORRUPTION;
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == S_OK);
}
