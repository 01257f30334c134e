/* The library from code of Microsoft's C++ ABI, which msvc/calls.cpp contains. */
#include "environment.hpp"
#include "msvc/calls.hpp"

#ifdef GPGMM_TEST_MICROSOFT
void test_microsoft(const environment &env) {
    held<IResourceAllocator> allocator;
    REQUIRE(create_allocator(env, allocator));
    held<ID3D12Resource> committed;
    D3D12_HEAP_PROPERTIES properties = {};
    properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    const D3D12_RESOURCE_DESC desc = buffer_desc(4096);
    REQUIRE(env.device->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr,
                committed.id(), committed.out()) == S_OK);
    held<IResourceAllocation> same;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &same.self) == S_OK);
    microsoft_results results;
    std::memset(&results, 0xee, sizeof results);
    call_as_microsoft(allocator, &desc, D3D12_RESOURCE_STATE_COMMON, committed, &results);
    EXPECT(results.created == S_OK && results.imported == S_OK && results.stats == S_OK && results.manager == E_POINTER);
    EXPECT(results.size == same->GetInfo().SizeInBytes && results.alignment == same->GetInfo().Alignment);
    EXPECT(results.type == RESOURCE_ALLOCATION_TYPE_SUBALLOCATED && results.imported_type == RESOURCE_ALLOCATION_TYPE_STANDALONE);
    const RESIDENCY_HEAP_INFO heap = same->GetMemory()->GetInfo();
    EXPECT(results.heap_size == heap.SizeInBytes && results.heap_alignment == heap.Alignment);
    EXPECT(!results.is_locked && results.heap_status == RESIDENCY_HEAP_STATUS_UNKNOWN);
    EXPECT(results.used == 2 * results.size && results.last_count == 0);
}
#else
void test_microsoft(const environment &) {}
#endif
