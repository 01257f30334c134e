/* Common parts of the tests of D3D12MA's API. */
#pragma once

#include "environment.hpp"

#include <D3D12MemAlloc.h>
#include <heapwright_d3d12ma.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

namespace ma {

constexpr UINT64 KIB = 1024, MIB = KIB * KIB;

/* The allocator's default flags in these tests, those that D3D12MA recommends. */
inline const D3D12MA::ALLOCATOR_FLAGS RECOMMENDED = D3D12MA_RECOMMENDED_ALLOCATOR_FLAGS;

inline bool create(const environment &env, held<D3D12MA::Allocator> &out, D3D12MA::ALLOCATOR_FLAGS flags = RECOMMENDED,
    UINT64 block_size = 0, const D3D12MA::ALLOCATION_CALLBACKS *callbacks = nullptr) {
    D3D12MA::ALLOCATOR_DESC desc = {};
    desc.Flags = flags;
    desc.pDevice = env.device;
    desc.PreferredBlockSize = block_size;
    desc.pAllocationCallbacks = callbacks;
    desc.pAdapter = env.dxgi();
    return EXPECT(D3D12MA::CreateAllocator(&desc, &out.self) == S_OK && out);
}

/* The state in which a buffer may begin in a heap type. */
inline D3D12_RESOURCE_STATES state_in(D3D12_HEAP_TYPE type) {
    return type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
           : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                              : D3D12_RESOURCE_STATE_COMMON;
}

inline HRESULT buffer(D3D12MA::Allocator *allocator, const D3D12MA::ALLOCATION_DESC &desc, UINT64 size,
    D3D12MA::Allocation **out, D3D12_RESOURCE_FLAGS flags = D3D12_RESOURCE_FLAG_NONE) {
    const D3D12_RESOURCE_DESC resource = buffer_desc(size, flags);
    const auto state = desc.CustomPool ? D3D12_RESOURCE_STATE_COMMON : state_in(desc.HeapType);
    return allocator->CreateResource(&desc, &resource, state, nullptr, out, GUID{}, nullptr);
}

inline D3D12MA::CALLOCATION_DESC in(D3D12_HEAP_TYPE type, D3D12MA::ALLOCATION_FLAGS flags = D3D12MA::ALLOCATION_FLAG_NONE) {
    return D3D12MA::CALLOCATION_DESC(type, flags);
}

/* A render target, with samples if more than one. */
inline D3D12_RESOURCE_DESC target_desc(UINT64 width, UINT height, UINT samples = 1) {
    D3D12_RESOURCE_DESC desc = texture_desc(width, height);
    desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    desc.SampleDesc.Count = samples;
    return desc;
}

/* Allocations that are released in any order. */
using allocations = std::vector<std::unique_ptr<held<D3D12MA::Allocation>>>;

inline bool add_buffer(allocations &list, D3D12MA::Allocator *allocator, const D3D12MA::ALLOCATION_DESC &desc, UINT64 size) {
    list.push_back(std::make_unique<held<D3D12MA::Allocation>>());
    if (buffer(allocator, desc, size, &list.back()->self) == S_OK) return true;
    list.pop_back();
    return false;
}

inline D3D12MA::Statistics statistics(D3D12MA::Pool *pool) {
    D3D12MA::Statistics stats;
    pool->GetStatistics(&stats);
    D3D12MA::DetailedStatistics detailed;
    pool->CalculateStatistics(&detailed);
    EXPECT(!std::memcmp(&stats, &detailed.Stats, sizeof stats));
    return stats;
}

inline D3D12MA::TotalStatistics totals(D3D12MA::Allocator *allocator) {
    D3D12MA::TotalStatistics stats;
    allocator->CalculateStatistics(&stats);
    return stats;
}

inline bool same(const D3D12MA::DetailedStatistics &a, const D3D12MA::DetailedStatistics &b) {
    return !std::memcmp(&a, &b, sizeof a);
}

/* Returns a string of statistics, without what is not ASCII. */
inline std::string narrow(const WCHAR *wide) {
    std::string text;
    for (; *wide; wide++) {
        if (*wide < 128) text.push_back(char(*wide));
    }
    return text;
}

} // namespace ma
