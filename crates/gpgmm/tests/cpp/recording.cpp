/* RECORD_OPTIONS: what the library does not record is refused. */
#include "environment.hpp"

void test_recording(const environment &env) {
    RECORD_OPTIONS nothing = {RECORD_FLAG_NONE, RECORD_SCOPE_PER_PROCESS, false, nullptr};
    RESOURCE_ALLOCATOR_DESC desc = {};
    RESIDENCY_MANAGER_DESC manager_desc = {};
    held<IResourceAllocator> allocator;
    held<IResidencyManager> manager;
    desc.RecordOptions = manager_desc.RecordOptions = nothing;
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == S_OK);
    EXPECT(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    EXPECT((RECORD_FLAG_API_OBJECTS | RECORD_FLAG_API_CALLS) == RECORD_FLAG_CAPTURE);
    for (auto flags : {RECORD_FLAG_API_OBJECTS, RECORD_FLAG_API_CALLS, RECORD_FLAG_API_TIMINGS, RECORD_FLAG_COUNTERS, RECORD_FLAG_ALL}) {
        desc.RecordOptions = {flags, RECORD_SCOPE_PER_INSTANCE, true, "trace.json"};
        manager_desc.RecordOptions = desc.RecordOptions;
        IResourceAllocator **test = nullptr;
        const HRESULT results[] = {CreateResourceAllocator(desc, env.device, env.dxgi(), test, nullptr),
            CreateResidencyManager(manager_desc, env.device, env.dxgi3(), nullptr)};
        for (HRESULT result : results) EXPECT(result == S_FALSE || result == E_NOTIMPL);
    }
    allocator.release();
    desc.RecordOptions = {RECORD_FLAGS(0x100), RECORD_SCOPE_PER_PROCESS, false, nullptr};
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == E_INVALIDARG);
    desc.RecordOptions = {RECORD_FLAG_NONE, RECORD_SCOPE(2), false, nullptr};
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == E_INVALIDARG);
    desc.RecordOptions = {RECORD_FLAG_NONE, RECORD_SCOPE_PER_PROCESS, false, "\xff"};
    EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == E_INVALIDARG);
}
