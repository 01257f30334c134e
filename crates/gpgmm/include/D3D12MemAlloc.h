/*
 * D3D12MemAlloc.h: the C++ API of D3D12 Memory Allocator 3.2, namespace D3D12MA, implemented by heapwright.
 *
 * Include it instead of D3D12MA's header of the same name, and link the library gpgmm_d3d12 instead of D3D12MemAlloc.cpp; nothing else of
 * a program changes. docs/from-d3d12ma.md lists each member, and what differs. heapwright_d3d12ma.h adds residency, frames and reports.
 *
 * Requires C++17: MSVC, clang-cl or MinGW on Windows; gcc or clang on Linux, with Microsoft's DirectX-Headers.
 *
 * Macros that may be defined before the header is included, as in D3D12MA:
 *   D3D12MA_D3D12_HEADERS_ALREADY_INCLUDED  d3d12.h and dxgi1_4.h, or replacements, were included
 *   D3D12MA_USING_DIRECTX_HEADERS           on Windows, DirectX-Headers are included and not the SDK's d3d12.h
 *   D3D12MA_NO_HELPERS                      omits CALLOCATION_DESC and the like
 *   D3D12MA_IMPORTS                         on Windows, the library is linked as a DLL
 *   D3D12MA_RECOMMENDED_ALLOCATOR_FLAGS and the others below, which have values
 */
#pragma once

#ifndef D3D12MA_D3D12_HEADERS_ALREADY_INCLUDED
#ifndef _WIN32
#include <wsl/winadapter.h>
#endif
#if defined(D3D12MA_USING_DIRECTX_HEADERS) || !defined(_WIN32)
#include <directx/d3d12.h>
#include <dxguids/dxguids.h>
#else
#include <d3d12.h>
#endif
#if defined(_WIN32) || __has_include(<dxgi1_4.h>)
#include <dxgi1_4.h>
#endif
#endif

#include <limits.h>
// D3D12MA's header includes it as well, so that programs may rely on it.
#if __has_include(<atomic>)
#include <atomic>
#endif

#ifndef D3D12MA_DXGI_1_4
#ifdef __IDXGIAdapter3_INTERFACE_DEFINED__
#define D3D12MA_DXGI_1_4 1
#else
#define D3D12MA_DXGI_1_4 0
#endif
#endif

#ifndef D3D12MA_CREATE_NOT_ZEROED_AVAILABLE
#ifdef __ID3D12Device8_INTERFACE_DEFINED__
#define D3D12MA_CREATE_NOT_ZEROED_AVAILABLE 1
#else
#define D3D12MA_CREATE_NOT_ZEROED_AVAILABLE 0
#endif
#endif

// Accepted. Small textures have small alignments wherever that is legal, whatever the value.
#ifndef D3D12MA_USE_SMALL_RESOURCE_PLACEMENT_ALIGNMENT
#define D3D12MA_USE_SMALL_RESOURCE_PLACEMENT_ALIGNMENT 1
#endif

#ifndef D3D12MA_RECOMMENDED_ALLOCATOR_FLAGS
#define D3D12MA_RECOMMENDED_ALLOCATOR_FLAGS \
    (D3D12MA::ALLOCATOR_FLAG_DEFAULT_POOLS_NOT_ZEROED | D3D12MA::ALLOCATOR_FLAG_MSAA_TEXTURES_ALWAYS_COMMITTED)
#endif

#ifndef D3D12MA_RECOMMENDED_HEAP_FLAGS
#if D3D12MA_CREATE_NOT_ZEROED_AVAILABLE
#define D3D12MA_RECOMMENDED_HEAP_FLAGS (D3D12_HEAP_FLAG_CREATE_NOT_ZEROED)
#else
#define D3D12MA_RECOMMENDED_HEAP_FLAGS (D3D12_HEAP_FLAG_NONE)
#endif
#endif

#ifndef D3D12MA_RECOMMENDED_POOL_FLAGS
#define D3D12MA_RECOMMENDED_POOL_FLAGS (D3D12MA::POOL_FLAG_MSAA_TEXTURES_ALWAYS_COMMITTED)
#endif

#define FACILITY_D3D12MA 3542

#if defined(_WIN32) && defined(D3D12MA_IMPORTS)
#define D3D12MA_API __declspec(dllimport)
#else
#define D3D12MA_API
#endif

struct ID3D12ProtectedResourceSession;
struct IDXGIAdapter;

// What headers before ID3D12Device1 lack.
#ifndef __ID3D12Device1_INTERFACE_DEFINED__
typedef enum D3D12_RESIDENCY_PRIORITY {
    D3D12_RESIDENCY_PRIORITY_MINIMUM = 0x28000000,
    D3D12_RESIDENCY_PRIORITY_LOW = 0x50000000,
    D3D12_RESIDENCY_PRIORITY_NORMAL = 0x78000000,
    D3D12_RESIDENCY_PRIORITY_HIGH = 0xa0010000,
    D3D12_RESIDENCY_PRIORITY_MAXIMUM = 0xc8000000
} D3D12_RESIDENCY_PRIORITY;
#endif

#ifndef _WIN32
static_assert(sizeof(WCHAR) == 4, "names are strings of 32-bit characters on Linux: compile without -fshort-wchar");
#endif

namespace D3D12MA {

/*
 * The base of the objects, which the library implements: COM objects, whose only interface is IUnknown. Their tables of methods
 * have the order of the declarations, with each compiler.
 */
class IUnknownImpl : public IUnknown {};

class Allocator;
class Pool;
class DefragmentationContext;

typedef UINT64 AllocHandle;

// How the memory of the objects is allocated and freed. pFree accepts null. Neither throws.
using ALLOCATE_FUNC_PTR = void *(*)(size_t Size, size_t Alignment, void *pPrivateData);
using FREE_FUNC_PTR = void (*)(void *pMemory, void *pPrivateData);
struct ALLOCATION_CALLBACKS {
    ALLOCATE_FUNC_PTR pAllocate;
    FREE_FUNC_PTR pFree;
    void *pPrivateData;
};

// ------------------------------------------------------------------------------------------------ statistics

struct Statistics {
    UINT BlockCount;      /* heaps and committed resources */
    UINT AllocationCount; /* a committed resource counts as a block, too */
    UINT64 BlockBytes;
    UINT64 AllocationBytes;
};

// The minima are UINT64_MAX, and the maxima 0, of nothing.
struct DetailedStatistics {
    Statistics Stats;
    UINT UnusedRangeCount;
    UINT64 AllocationSizeMin;
    UINT64 AllocationSizeMax;
    UINT64 UnusedRangeSizeMin;
    UINT64 UnusedRangeSizeMax;
};

struct TotalStatistics {
    DetailedStatistics HeapType[5]; /* DEFAULT, UPLOAD, READBACK, CUSTOM, GPU_UPLOAD */
    DetailedStatistics MemorySegmentGroup[2];
    DetailedStatistics Total;
};

struct Budget {
    Statistics Stats; /* of the allocator in the segment group */
    UINT64 UsageBytes; /* of the process */
    UINT64 BudgetBytes;
};

// ------------------------------------------------------------------------------------------------ allocations

enum ALLOCATION_FLAGS {
    ALLOCATION_FLAG_NONE = 0,
    ALLOCATION_FLAG_COMMITTED = 0x1,      /* a committed resource, or a heap of its own for AllocateMemory */
    ALLOCATION_FLAG_NEVER_ALLOCATE = 0x2, /* only in heaps that exist */
    ALLOCATION_FLAG_WITHIN_BUDGET = 0x4,  /* a new heap must not exceed the budget */
    ALLOCATION_FLAG_UPPER_ADDRESS = 0x8,  /* from the upper end of a linear pool */
    ALLOCATION_FLAG_CAN_ALIAS = 0x10,     /* in an explicit heap; with COMMITTED, in one of its own */
    ALLOCATION_FLAG_STRATEGY_MIN_MEMORY = 0x10000,
    ALLOCATION_FLAG_STRATEGY_MIN_TIME = 0x20000,
    ALLOCATION_FLAG_STRATEGY_MIN_OFFSET = 0x4000,
    ALLOCATION_FLAG_STRATEGY_BEST_FIT = ALLOCATION_FLAG_STRATEGY_MIN_MEMORY,
    ALLOCATION_FLAG_STRATEGY_FIRST_FIT = ALLOCATION_FLAG_STRATEGY_MIN_TIME,
    ALLOCATION_FLAG_STRATEGY_MASK = 0x34000,
};

// With a CustomPool, HeapType and ExtraHeapFlags are ignored.
struct ALLOCATION_DESC {
    ALLOCATION_FLAGS Flags;
    D3D12_HEAP_TYPE HeapType; /* not CUSTOM */
    D3D12_HEAP_FLAGS ExtraHeapFlags;
    Pool *CustomPool;
    void *pPrivateData;
};

// A resource with its memory, or memory alone. Releasing it frees the memory.
class Allocation : public IUnknownImpl {
public:
    virtual UINT64 STDMETHODCALLTYPE GetOffset() const = 0; /* in the heap; 0 if committed */
    virtual UINT64 STDMETHODCALLTYPE GetAlignment() const = 0;
    virtual UINT64 STDMETHODCALLTYPE GetSize() const = 0;
    // Returns the resource without a reference; null for memory alone.
    virtual ID3D12Resource *STDMETHODCALLTYPE GetResource() const = 0;
    // Releases the resource, and takes a reference to another one, or to none.
    virtual void STDMETHODCALLTYPE SetResource(ID3D12Resource *pResource) = 0;
    // Returns the heap without a reference; null if committed.
    virtual ID3D12Heap *STDMETHODCALLTYPE GetHeap() const = 0;
    virtual void STDMETHODCALLTYPE SetPrivateData(void *pPrivateData) = 0;
    virtual void *STDMETHODCALLTYPE GetPrivateData() const = 0;
    // Sets the name in statistics and reports, which is copied. Not that of the resource.
    virtual void STDMETHODCALLTYPE SetName(LPCWSTR Name) = 0;
    // Returns the name until it is set again, or null.
    virtual LPCWSTR STDMETHODCALLTYPE GetName() const = 0;
};

// ------------------------------------------------------------------------------------------------ defragmentation

// Accepted. There is one algorithm: it empties sparsely used heaps.
enum DEFRAGMENTATION_FLAGS {
    DEFRAGMENTATION_FLAG_ALGORITHM_FAST = 0x1,
    DEFRAGMENTATION_FLAG_ALGORITHM_BALANCED = 0x2,
    DEFRAGMENTATION_FLAG_ALGORITHM_FULL = 0x4,
    DEFRAGMENTATION_FLAG_ALGORITHM_MASK = 0x7,
};

struct DEFRAGMENTATION_DESC {
    DEFRAGMENTATION_FLAGS Flags;
    UINT64 MaxBytesPerPass;       /* 0 is no limit; a single move may be larger */
    UINT32 MaxAllocationsPerPass; /* 0 is no limit */
};

enum DEFRAGMENTATION_MOVE_OPERATION {
    DEFRAGMENTATION_MOVE_OPERATION_COPY = 0,    /* pSrcAllocation gets the place and resource of pDstTmpAllocation */
    DEFRAGMENTATION_MOVE_OPERATION_IGNORE = 1,  /* it stays where it is */
    DEFRAGMENTATION_MOVE_OPERATION_DESTROY = 2, /* EndPass releases pSrcAllocation for the program */
};

struct DEFRAGMENTATION_MOVE {
    DEFRAGMENTATION_MOVE_OPERATION Operation;
    Allocation *pSrcAllocation;
    Allocation *pDstTmpAllocation; /* the target: create the resource in its heap at its offset, and SetResource */
};

struct DEFRAGMENTATION_PASS_MOVE_INFO {
    UINT32 MoveCount;
    DEFRAGMENTATION_MOVE *pMoves;
};

struct DEFRAGMENTATION_STATS {
    UINT64 BytesMoved;
    UINT64 BytesFreed;
    UINT32 AllocationsMoved;
    UINT32 HeapsFreed;
};

class DefragmentationContext : public IUnknownImpl {
public:
    // Returns S_FALSE with moves, or S_OK if none are left.
    virtual HRESULT STDMETHODCALLTYPE BeginPass(DEFRAGMENTATION_PASS_MOVE_INFO *pPassInfo) = 0;
    // Call it when the GPU has finished the copies. Returns S_FALSE if another pass may follow, and S_OK at the end.
    virtual HRESULT STDMETHODCALLTYPE EndPass(DEFRAGMENTATION_PASS_MOVE_INFO *pPassInfo) = 0;
    virtual void STDMETHODCALLTYPE GetStats(DEFRAGMENTATION_STATS *pStats) = 0;
};

// ------------------------------------------------------------------------------------------------ pools

enum POOL_FLAGS {
    POOL_FLAG_NONE = 0,
    POOL_FLAG_ALGORITHM_LINEAR = 0x1,
    POOL_FLAG_MSAA_TEXTURES_ALWAYS_COMMITTED = 0x2,
    POOL_FLAG_ALWAYS_COMMITTED = 0x4,
    POOL_FLAG_DONT_USE_TIGHT_ALIGNMENT = 0x8,
    POOL_FLAG_ALGORITHM_MASK = POOL_FLAG_ALGORITHM_LINEAR,
};

struct POOL_DESC {
    POOL_FLAGS Flags;
    D3D12_HEAP_PROPERTIES HeapProperties;
    D3D12_HEAP_FLAGS HeapFlags;
    UINT64 BlockSize; /* of each heap, rounded up to 64 KiB; 0: chosen for each request */
    UINT MinBlockCount;
    UINT MaxBlockCount;            /* 0 is no maximum */
    UINT64 MinAllocationAlignment; /* 0: the device's, and with tight alignment 256 */
    ID3D12ProtectedResourceSession *pProtectedSession;
    D3D12_RESIDENCY_PRIORITY ResidencyPriority; /* 0 sets none */
};

class Pool : public IUnknownImpl {
public:
    POOL_DESC GetDesc() const {
        POOL_DESC desc;
        CopyDesc(&desc);
        return desc;
    }
    // A method that returns a structure would have another order of parameters with MinGW.
    virtual void STDMETHODCALLTYPE CopyDesc(POOL_DESC *pDesc) const = 0;
    virtual void STDMETHODCALLTYPE GetStatistics(Statistics *pStats) = 0;
    virtual void STDMETHODCALLTYPE CalculateStatistics(DetailedStatistics *pStats) = 0;
    virtual void STDMETHODCALLTYPE SetName(LPCWSTR Name) = 0;
    virtual LPCWSTR STDMETHODCALLTYPE GetName() const = 0;
    // E_NOINTERFACE for a linear pool.
    virtual HRESULT STDMETHODCALLTYPE BeginDefragmentation(const DEFRAGMENTATION_DESC *pDesc, DefragmentationContext **ppContext) = 0;
};

// ------------------------------------------------------------------------------------------------ allocator

enum ALLOCATOR_FLAGS {
    ALLOCATOR_FLAG_NONE = 0,
    ALLOCATOR_FLAG_SINGLETHREADED = 0x1, /* accepted */
    ALLOCATOR_FLAG_ALWAYS_COMMITTED = 0x2,
    ALLOCATOR_FLAG_DEFAULT_POOLS_NOT_ZEROED = 0x4,
    ALLOCATOR_FLAG_MSAA_TEXTURES_ALWAYS_COMMITTED = 0x8,
    ALLOCATOR_FLAG_DONT_PREFER_SMALL_BUFFERS_COMMITTED = 0x10,
    ALLOCATOR_FLAG_DONT_USE_TIGHT_ALIGNMENT = 0x20,
};

struct ALLOCATOR_DESC {
    ALLOCATOR_FLAGS Flags;
    ID3D12Device *pDevice;
    UINT64 PreferredBlockSize; /* of a heap that resources share; 0: follows the requests */
    const ALLOCATION_CALLBACKS *pAllocationCallbacks; /* may be null */
    IDXGIAdapter *pAdapter; /* the device's */
};

class Allocator : public IUnknownImpl {
public:
    virtual const D3D12_FEATURE_DATA_D3D12_OPTIONS &STDMETHODCALLTYPE GetD3D12Options() const = 0;
    virtual BOOL STDMETHODCALLTYPE IsUMA() const = 0;
    virtual BOOL STDMETHODCALLTYPE IsCacheCoherentUMA() const = 0;
    virtual BOOL STDMETHODCALLTYPE IsGPUUploadHeapSupported() const = 0;
    virtual BOOL STDMETHODCALLTYPE IsTightAlignmentSupported() const = 0;
    virtual UINT64 STDMETHODCALLTYPE GetMemoryCapacity(UINT memorySegmentGroup) const = 0;

    // Creates a resource with its memory. ppvResource may be null; otherwise it gets a reference of its own.
    virtual HRESULT STDMETHODCALLTYPE CreateResource(const ALLOCATION_DESC *pAllocDesc, const D3D12_RESOURCE_DESC *pResourceDesc,
        D3D12_RESOURCE_STATES InitialResourceState, const D3D12_CLEAR_VALUE *pOptimizedClearValue, Allocation **ppAllocation,
        REFIID riidResource, void **ppvResource) = 0;
    // Allocates memory without a resource. ExtraHeapFlags has one of the ALLOW_ONLY flags on resource heap tier 1.
    virtual HRESULT STDMETHODCALLTYPE AllocateMemory(const ALLOCATION_DESC *pAllocDesc,
        const D3D12_RESOURCE_ALLOCATION_INFO *pAllocInfo, Allocation **ppAllocation) = 0;
    // Creates a resource in memory that has others, or none. It does not become the allocation's.
    virtual HRESULT STDMETHODCALLTYPE CreateAliasingResource(Allocation *pAllocation, UINT64 AllocationLocalOffset,
        const D3D12_RESOURCE_DESC *pResourceDesc, D3D12_RESOURCE_STATES InitialResourceState,
        const D3D12_CLEAR_VALUE *pOptimizedClearValue, REFIID riidResource, void **ppvResource) = 0;

    virtual HRESULT STDMETHODCALLTYPE CreatePool(const POOL_DESC *pPoolDesc, Pool **ppPool) = 0;
    // Tells that a frame passed if the index differs from the last one.
    virtual void STDMETHODCALLTYPE SetCurrentFrameIndex(UINT frameIndex) = 0;
    // Either may be null. Fast.
    virtual void STDMETHODCALLTYPE GetBudget(Budget *pLocalBudget, Budget *pNonLocalBudget) = 0;
    // Visits all allocations.
    virtual void STDMETHODCALLTYPE CalculateStatistics(TotalStatistics *pStats) = 0;
    // Returns JSON, for D3D12MA's tools and others; with DetailedMap, with each allocation. FreeStatsString frees it.
    virtual void STDMETHODCALLTYPE BuildStatsString(WCHAR **ppStatsString, BOOL DetailedMap) const = 0;
    virtual void STDMETHODCALLTYPE FreeStatsString(WCHAR *pStatsString) const = 0;
    // Begins a defragmentation of the default pools.
    virtual void STDMETHODCALLTYPE BeginDefragmentation(const DEFRAGMENTATION_DESC *pDesc, DefragmentationContext **ppContext) = 0;

    // Last, so that the methods above have the same places with older headers.
#ifdef __ID3D12Device8_INTERFACE_DEFINED__
    virtual HRESULT STDMETHODCALLTYPE CreateResource2(const ALLOCATION_DESC *pAllocDesc, const D3D12_RESOURCE_DESC1 *pResourceDesc,
        D3D12_RESOURCE_STATES InitialResourceState, const D3D12_CLEAR_VALUE *pOptimizedClearValue, Allocation **ppAllocation,
        REFIID riidResource, void **ppvResource) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateAliasingResource1(Allocation *pAllocation, UINT64 AllocationLocalOffset,
        const D3D12_RESOURCE_DESC1 *pResourceDesc, D3D12_RESOURCE_STATES InitialResourceState,
        const D3D12_CLEAR_VALUE *pOptimizedClearValue, REFIID riidResource, void **ppvResource) = 0;
#endif
#ifdef __ID3D12Device10_INTERFACE_DEFINED__
    virtual HRESULT STDMETHODCALLTYPE CreateResource3(const ALLOCATION_DESC *pAllocDesc, const D3D12_RESOURCE_DESC1 *pResourceDesc,
        D3D12_BARRIER_LAYOUT InitialLayout, const D3D12_CLEAR_VALUE *pOptimizedClearValue, UINT32 NumCastableFormats,
        const DXGI_FORMAT *pCastableFormats, Allocation **ppAllocation, REFIID riidResource, void **ppvResource) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateAliasingResource2(Allocation *pAllocation, UINT64 AllocationLocalOffset,
        const D3D12_RESOURCE_DESC1 *pResourceDesc, D3D12_BARRIER_LAYOUT InitialLayout,
        const D3D12_CLEAR_VALUE *pOptimizedClearValue, UINT32 NumCastableFormats, const DXGI_FORMAT *pCastableFormats,
        REFIID riidResource, void **ppvResource) = 0;
#endif
};

// ------------------------------------------------------------------------------------------------ virtual blocks

enum VIRTUAL_BLOCK_FLAGS {
    VIRTUAL_BLOCK_FLAG_NONE = 0,
    VIRTUAL_BLOCK_FLAG_ALGORITHM_LINEAR = POOL_FLAG_ALGORITHM_LINEAR,
    VIRTUAL_BLOCK_FLAG_ALGORITHM_MASK = POOL_FLAG_ALGORITHM_MASK,
};

struct VIRTUAL_BLOCK_DESC {
    VIRTUAL_BLOCK_FLAGS Flags;
    UINT64 Size;
    const ALLOCATION_CALLBACKS *pAllocationCallbacks; /* may be null */
};

enum VIRTUAL_ALLOCATION_FLAGS {
    VIRTUAL_ALLOCATION_FLAG_NONE = 0,
    VIRTUAL_ALLOCATION_FLAG_UPPER_ADDRESS = ALLOCATION_FLAG_UPPER_ADDRESS,
    VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_MEMORY = ALLOCATION_FLAG_STRATEGY_MIN_MEMORY,
    VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_TIME = ALLOCATION_FLAG_STRATEGY_MIN_TIME,
    VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_OFFSET = ALLOCATION_FLAG_STRATEGY_MIN_OFFSET,
    VIRTUAL_ALLOCATION_FLAG_STRATEGY_MASK = ALLOCATION_FLAG_STRATEGY_MASK,
};

struct VIRTUAL_ALLOCATION_DESC {
    VIRTUAL_ALLOCATION_FLAGS Flags;
    UINT64 Size;      /* not 0 */
    UINT64 Alignment; /* a power of two, or 0 */
    void *pPrivateData;
};

struct VIRTUAL_ALLOCATION_INFO {
    UINT64 Offset;
    UINT64 Size;
    void *pPrivateData;
};

struct VirtualAllocation {
    UINT64 AllocHandle; /* 0 is none */
};

// Divides a range of numbers, as heaps are divided. Not thread-safe in D3D12MA; here it is.
class VirtualBlock : public IUnknownImpl {
public:
    virtual BOOL STDMETHODCALLTYPE IsEmpty() const = 0;
    virtual void STDMETHODCALLTYPE GetAllocationInfo(VirtualAllocation allocation, VIRTUAL_ALLOCATION_INFO *pInfo) const = 0;
    // pOffset may be null. Without room, E_OUTOFMEMORY, the handle 0 and the offset UINT64_MAX.
    virtual HRESULT STDMETHODCALLTYPE Allocate(const VIRTUAL_ALLOCATION_DESC *pDesc, VirtualAllocation *pAllocation, UINT64 *pOffset) = 0;
    virtual void STDMETHODCALLTYPE FreeAllocation(VirtualAllocation allocation) = 0;
    virtual void STDMETHODCALLTYPE Clear() = 0;
    virtual void STDMETHODCALLTYPE SetAllocationPrivateData(VirtualAllocation allocation, void *pPrivateData) = 0;
    virtual void STDMETHODCALLTYPE GetStatistics(Statistics *pStats) const = 0;
    virtual void STDMETHODCALLTYPE CalculateStatistics(DetailedStatistics *pStats) const = 0;
    virtual void STDMETHODCALLTYPE BuildStatsString(WCHAR **ppStatsString) const = 0;
    virtual void STDMETHODCALLTYPE FreeStatsString(WCHAR *pStatsString) const = 0;
};

// ------------------------------------------------------------------------------------------------ functions

extern "C" {
// pResidency is null, or the RESIDENCY_MANAGER_DESC of gpgmm_d3d12.h: see heapwright_d3d12ma.h.
D3D12MA_API HRESULT HeapwrightCreateD3D12MAAllocator(const ALLOCATOR_DESC *pDesc, const void *pResidency, Allocator **ppAllocator);
D3D12MA_API HRESULT HeapwrightCreateD3D12MAVirtualBlock(const VIRTUAL_BLOCK_DESC *pDesc, VirtualBlock **ppVirtualBlock);
}

inline HRESULT CreateAllocator(const ALLOCATOR_DESC *pDesc, Allocator **ppAllocator) {
    return HeapwrightCreateD3D12MAAllocator(pDesc, nullptr, ppAllocator);
}

inline HRESULT CreateVirtualBlock(const VIRTUAL_BLOCK_DESC *pDesc, VirtualBlock **ppVirtualBlock) {
    return HeapwrightCreateD3D12MAVirtualBlock(pDesc, ppVirtualBlock);
}

#ifndef D3D12MA_NO_HELPERS

// Structures with constructors.

struct CALLOCATION_DESC : public ALLOCATION_DESC {
    CALLOCATION_DESC() = default;
    explicit CALLOCATION_DESC(const ALLOCATION_DESC &o) noexcept : ALLOCATION_DESC(o) {}
    explicit CALLOCATION_DESC(Pool *customPool, ALLOCATION_FLAGS flags = ALLOCATION_FLAG_NONE, void *privateData = nullptr) noexcept
        : ALLOCATION_DESC{flags, D3D12_HEAP_TYPE(0), D3D12_HEAP_FLAG_NONE, customPool, privateData} {}
    explicit CALLOCATION_DESC(D3D12_HEAP_TYPE heapType, ALLOCATION_FLAGS flags = ALLOCATION_FLAG_NONE, void *privateData = nullptr,
                              D3D12_HEAP_FLAGS extraHeapFlags = D3D12MA_RECOMMENDED_HEAP_FLAGS) noexcept
        : ALLOCATION_DESC{flags, heapType, extraHeapFlags, nullptr, privateData} {}
};

struct CPOOL_DESC : public POOL_DESC {
    CPOOL_DESC() = default;
    explicit CPOOL_DESC(const POOL_DESC &o) noexcept : POOL_DESC(o) {}
    explicit CPOOL_DESC(D3D12_HEAP_TYPE heapType, D3D12_HEAP_FLAGS heapFlags, POOL_FLAGS flags = D3D12MA_RECOMMENDED_POOL_FLAGS,
                        UINT64 blockSize = 0, UINT minBlockCount = 0, UINT maxBlockCount = UINT_MAX,
                        D3D12_RESIDENCY_PRIORITY residencyPriority = D3D12_RESIDENCY_PRIORITY_NORMAL) noexcept
        : CPOOL_DESC(D3D12_HEAP_PROPERTIES{heapType, D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_MEMORY_POOL_UNKNOWN, 0, 0},
                     heapFlags, flags, blockSize, minBlockCount, maxBlockCount, residencyPriority) {}
    explicit CPOOL_DESC(const D3D12_HEAP_PROPERTIES heapProperties, D3D12_HEAP_FLAGS heapFlags, POOL_FLAGS flags = D3D12MA_RECOMMENDED_POOL_FLAGS,
                        UINT64 blockSize = 0, UINT minBlockCount = 0, UINT maxBlockCount = UINT_MAX,
                        D3D12_RESIDENCY_PRIORITY residencyPriority = D3D12_RESIDENCY_PRIORITY_NORMAL) noexcept
        : POOL_DESC{flags, heapProperties, heapFlags, blockSize, minBlockCount, maxBlockCount, 0, nullptr, residencyPriority} {}
};

struct CVIRTUAL_BLOCK_DESC : public VIRTUAL_BLOCK_DESC {
    CVIRTUAL_BLOCK_DESC() = default;
    explicit CVIRTUAL_BLOCK_DESC(const VIRTUAL_BLOCK_DESC &o) noexcept : VIRTUAL_BLOCK_DESC(o) {}
    explicit CVIRTUAL_BLOCK_DESC(UINT64 size, VIRTUAL_BLOCK_FLAGS flags = VIRTUAL_BLOCK_FLAG_NONE,
                                 const ALLOCATION_CALLBACKS *allocationCallbacks = nullptr) noexcept
        : VIRTUAL_BLOCK_DESC{flags, size, allocationCallbacks} {}
};

struct CVIRTUAL_ALLOCATION_DESC : public VIRTUAL_ALLOCATION_DESC {
    CVIRTUAL_ALLOCATION_DESC() = default;
    explicit CVIRTUAL_ALLOCATION_DESC(const VIRTUAL_ALLOCATION_DESC &o) noexcept : VIRTUAL_ALLOCATION_DESC(o) {}
    explicit CVIRTUAL_ALLOCATION_DESC(UINT64 size, UINT64 alignment, VIRTUAL_ALLOCATION_FLAGS flags = VIRTUAL_ALLOCATION_FLAG_NONE,
                                      void *privateData = nullptr) noexcept
        : VIRTUAL_ALLOCATION_DESC{flags, size, alignment, privateData} {}
};

#endif

} // namespace D3D12MA

DEFINE_ENUM_FLAG_OPERATORS(D3D12MA::ALLOCATION_FLAGS)
DEFINE_ENUM_FLAG_OPERATORS(D3D12MA::DEFRAGMENTATION_FLAGS)
DEFINE_ENUM_FLAG_OPERATORS(D3D12MA::ALLOCATOR_FLAGS)
DEFINE_ENUM_FLAG_OPERATORS(D3D12MA::POOL_FLAGS)
DEFINE_ENUM_FLAG_OPERATORS(D3D12MA::VIRTUAL_BLOCK_FLAGS)
DEFINE_ENUM_FLAG_OPERATORS(D3D12MA::VIRTUAL_ALLOCATION_FLAGS)
