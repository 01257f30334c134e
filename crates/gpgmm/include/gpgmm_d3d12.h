/*
 * gpgmm_d3d12.h: GPGMM's C++ API for Direct3D 12 memory management, namespace gpgmm::d3d12, implemented by heapwright.
 *
 * Requires C++17: MSVC, clang-cl or MinGW on Windows; gcc or clang on Linux, with Microsoft's DirectX-Headers.
 * The functions at the end are inline and call the C functions of the library gpgmm_d3d12. No C++ exception crosses the
 * library, in either direction: a callback must not throw.
 *
 * Macros that may be defined before the header is included:
 *   GPGMM_SHARED_LIBRARY                   on Windows, the library is linked as a DLL
 *   GPGMM_D3D12_HEADERS_ALREADY_INCLUDED   d3d12.h and dxgi1_4.h, or replacements, were included
 *   GPGMM_WINDOWS_HEADERS_ALREADY_INCLUDED windows.h, or a replacement, was included
 */
#ifndef GPGMM_D3D12_H
#define GPGMM_D3D12_H

#if !defined(__cplusplus) || (__cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L))
#error "gpgmm_d3d12.h requires C++17"
#endif

#ifdef _WIN32
#ifndef GPGMM_WINDOWS_HEADERS_ALREADY_INCLUDED
#include <windows.h>
#endif
#ifndef GPGMM_D3D12_HEADERS_ALREADY_INCLUDED
#include <dxgi1_4.h>

#include <d3d12.h>
#include <d3d12sdklayers.h>
#endif
#elif !defined(GPGMM_D3D12_HEADERS_ALREADY_INCLUDED)
#include <wsl/winadapter.h>

#include <directx/d3d12.h>
#if __has_include(<dxguids/dxguids.h>)
#include <dxguids/dxguids.h>
#endif
#if __has_include(<dxgi1_4.h>)
#include <dxgi1_4.h>
#else
/* DirectX-Headers have no DXGI. These are its declarations that the API uses. */
struct IDXGIAdapter;
struct IDXGIAdapter3;
enum DXGI_MEMORY_SEGMENT_GROUP {
    DXGI_MEMORY_SEGMENT_GROUP_LOCAL = 0,
    DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL = 1,
};
struct DXGI_QUERY_VIDEO_MEMORY_INFO {
    UINT64 Budget;
    UINT64 CurrentUsage;
    UINT64 AvailableForReservation;
    UINT64 CurrentReservation;
};
#endif
#endif

#if defined(_WIN32) && defined(GPGMM_SHARED_LIBRARY)
#define GPGMM_EXPORT __declspec(dllimport)
#else
#define GPGMM_EXPORT
#endif

#define GPGMM_INTERFACE struct

/* The IIDs, for __uuidof with Microsoft's compilers. */
#if defined(_MSC_VER)
#define GPGMM_UUID(text) __declspec(uuid(text))
#else
#define GPGMM_UUID(text)
#endif

/*
 * The tables of methods have the order and the calling convention of Microsoft's compilers on Windows, and of gcc and clang on
 * Linux. MinGW on Windows differs from Microsoft's in overloads and in methods that return structures, so that it gets
 * declarations of its own.
 */
#if defined(_WIN32) && !defined(_MSC_VER)
#define GPGMM_MINGW 1
#else
#define GPGMM_MINGW 0
#endif

#ifndef _WIN32
static_assert(sizeof(WCHAR) == 4, "names are strings of 32-bit characters on Linux: compile without -fshort-wchar");
#endif

namespace gpgmm::d3d12 {

GPGMM_INTERFACE IResidencyManager;
GPGMM_INTERFACE IResourceAllocator;

/* An object that has a name, for logs, reports and debuggers. */
GPGMM_INTERFACE GPGMM_UUID("1e2f3ab8-9d4f-4f0c-9a43-52e0f1a6c3d1") IDebugObject : public IUnknown {
    /* Returns the name, or null if none was set. It is valid until the name is set again or the object is gone. */
    virtual LPCWSTR STDMETHODCALLTYPE GetDebugName() const = 0;

    /* Sets the name, which is copied. Null changes nothing and returns S_FALSE. */
    virtual HRESULT STDMETHODCALLTYPE SetDebugName(LPCWSTR Name) = 0;
};

/* ------------------------------------------------------------------------------------------------ recording */

/* What to record. */
enum RECORD_FLAGS {
    RECORD_FLAG_NONE = 0x0,
    RECORD_FLAG_API_OBJECTS = 0x1, /* creation and destruction of objects */
    RECORD_FLAG_API_CALLS = 0x2,   /* calls with their parameters */
    RECORD_FLAG_API_TIMINGS = 0x4, /* durations of calls */
    RECORD_FLAG_COUNTERS = 0x8,    /* statistics */
    RECORD_FLAG_CAPTURE = 0x3,     /* all that a replay needs */
    RECORD_FLAG_ALL = 0xFF,
};
DEFINE_ENUM_FLAG_OPERATORS(RECORD_FLAGS)

/* Whose events are recorded. */
enum RECORD_SCOPE {
    RECORD_SCOPE_PER_PROCESS = 0,
    RECORD_SCOPE_PER_INSTANCE = 1,
};

/* What to record, and where. E_INVALIDARG if the file cannot be written, or is being written for another instance. */
struct RECORD_OPTIONS {
    RECORD_FLAGS Flags;
    RECORD_SCOPE EventScope;
    bool UseDetailedTimingEvents; /* counters after every allocation */
    const char* TraceFile;        /* UTF-8; `.hws` is a session, `.json` a Chrome trace; null is
                                     gpgmm_event_trace.json in the working directory, and with
                                     PER_INSTANCE a new file gpgmm_event_trace.1.json, .2.json, ... */
};

/* ------------------------------------------------------------------------------------------------ residency */

/* Whether a heap is in memory. */
enum RESIDENCY_HEAP_STATUS {
    RESIDENCY_HEAP_STATUS_UNKNOWN = 0,  /* D3D12 does not tell; known after the first lock or use */
    RESIDENCY_HEAP_STATUS_EVICTED = 1,  /* must be made resident before it is used */
    RESIDENCY_HEAP_STATUS_RESIDENT = 2, /* in memory, or being brought there */
};

/* How a residency heap begins. */
enum RESIDENCY_HEAP_FLAGS {
    RESIDENCY_HEAP_FLAG_NONE = 0x0,
    RESIDENCY_HEAP_FLAG_CREATE_IN_BUDGET = 0x1, /* within the budget, or E_OUTOFMEMORY; with a callback alone */
    RESIDENCY_HEAP_FLAG_CREATE_RESIDENT = 0x2,  /* for descriptor and query heaps: resident and managed at once */
    RESIDENCY_HEAP_FLAG_CREATE_LOCKED = 0x4,    /* with one lock */
};
DEFINE_ENUM_FLAG_OPERATORS(RESIDENCY_HEAP_FLAGS)

/* Describes a residency heap. */
struct RESIDENCY_HEAP_DESC {
    DXGI_MEMORY_SEGMENT_GROUP HeapSegment; /* ignored where D3D12 reports the object's */
    UINT64 SizeInBytes;                    /* zero: the object's own; not less than that */
    UINT64 Alignment;                      /* zero: the object's own */
    RESIDENCY_HEAP_FLAGS Flags;
};

/* Size and residency of a heap. */
struct RESIDENCY_HEAP_INFO {
    UINT64 SizeInBytes;
    UINT64 Alignment;
    bool IsLocked;
    RESIDENCY_HEAP_STATUS Status;
};

/* Creates the object of a residency heap and stores a reference to it. Must not throw: an exception ends the process. */
using CreateHeapFn = HRESULT (*)(void* pCreateHeapContext, ID3D12Pageable** ppPageableOut);

/*
 * An ID3D12Heap, committed resource, descriptor heap or query heap whose residency is managed.
 *
 * QueryInterface for an interface of D3D12 returns the D3D12 object itself, as in GPGMM.
 */
GPGMM_INTERFACE GPGMM_UUID("6f0c3f4e-2f52-4a87-8a0f-0bb0a7d2e912") IResidencyHeap : public IDebugObject {
#if GPGMM_MINGW
    virtual RESIDENCY_HEAP_INFO* STDMETHODCALLTYPE GetInfo(RESIDENCY_HEAP_INFO * pInfoOut) const = 0;
    RESIDENCY_HEAP_INFO GetInfo() const {
        RESIDENCY_HEAP_INFO info;
        return *GetInfo(&info);
    }
#else
    virtual RESIDENCY_HEAP_INFO STDMETHODCALLTYPE GetInfo() const = 0;
#endif

    /* Makes the heap resident and keeps it so. Locks nest. S_FALSE without a residency manager. */
    virtual HRESULT STDMETHODCALLTYPE Lock() = 0;

    /* Removes one lock. S_FALSE if others remain, or without a residency manager. Has no effect if it is not locked. */
    virtual HRESULT STDMETHODCALLTYPE Unlock() = 0;

    /* Returns the manager; with null, S_FALSE if there is one. E_POINTER without a manager. */
    virtual HRESULT STDMETHODCALLTYPE GetResidencyManager(IResidencyManager * *ppResidencyManagerOut) const = 0;
};

/* The heaps that a command list uses. Any number of threads may execute a list, but Add and Reset must not run beside another use of
   it: one of the two calls then returns E_INVALIDARG. */
GPGMM_INTERFACE GPGMM_UUID("83a5b0d7-7b8e-4d65-b5ab-9ad1c27f4e23") IResidencyList : public IUnknown {
    /* Adds a heap; again has no effect. The list does not keep it alive: executing it without the heap is E_INVALIDARG.
       E_INVALIDARG for null and for a heap of another manager than the list's heaps. */
    virtual HRESULT STDMETHODCALLTYPE Add(IResidencyHeap * pHeap) = 0;

    /* Removes all heaps. */
    virtual HRESULT STDMETHODCALLTYPE Reset() = 0;
};

/* Options of a residency manager. */
enum RESIDENCY_MANAGER_FLAGS {
    RESIDENCY_MANAGER_FLAG_NONE = 0x0,
    RESIDENCY_MANAGER_FLAG_ALLOW_BACKGROUND_BUDGET_UPDATES = 0x1, /* a thread waits for the system's notifications */
    RESIDENCY_MANAGER_FLAG_NEVER_USE_UNIFIED_MEMORY = 0x2,        /* two segments on UMA as well */
    RESIDENCY_MANAGER_FLAG_ALWAYS_IN_BUDGET = 0x4,                /* E_OUTOFMEMORY rather than usage above the budget */
};
DEFINE_ENUM_FLAG_OPERATORS(RESIDENCY_MANAGER_FLAGS)

/* Describes a residency manager. Zero is the default of each member. */
struct RESIDENCY_MANAGER_DESC {
    RESIDENCY_MANAGER_FLAGS Flags;
    D3D12_MESSAGE_SEVERITY MinRecordLevel;
    D3D12_MESSAGE_SEVERITY MinLogLevel; /* least severe messages to log, for the process */
    RECORD_OPTIONS RecordOptions;
    FLOAT MaxPctOfVideoMemoryToBudget; /* fraction, default 0.95; ignored beside MaxBudgetInBytes */
    FLOAT MinPctOfBudgetToReserve;     /* fraction, default 0.5: no more than this is reserved */
    UINT64 MaxBudgetInBytes;           /* in addition to the usage at creation */
    UINT64 EvictSizeInBytes;           /* default 50 MiB: to evict when the device is out of memory */
    UINT64 InitialFenceValue;
};

/* What a residency manager keeps resident. */
struct RESIDENCY_MANAGER_STATS {
    UINT64 CurrentHeapUsage; /* bytes */
    UINT64 CurrentHeapCount;
};

/* Keeps the memory that the GPU uses resident, within the system's budgets. */
GPGMM_INTERFACE GPGMM_UUID("b41d86c9-50f3-4c1e-8e69-3d6ff0c85a34") IResidencyManager : public IDebugObject {
    /* Makes the heaps of the residency lists resident, then executes the command lists, each with the residency list beside
       it. With a null queue or null command lists, only residency is taken care of.
       E_OUTOFMEMORY if the memory does not suffice. */
    virtual HRESULT STDMETHODCALLTYPE ExecuteCommandLists(ID3D12CommandQueue* const pQueue,
                                                          ID3D12CommandList* const* ppCommandLists,
                                                          IResidencyList* const* ppResidencyLists, UINT count) = 0;

    /* Reserves memory that the manager does not manage, and optionally returns how much is reserved. */
    virtual HRESULT STDMETHODCALLTYPE SetVideoMemoryReservation(const DXGI_MEMORY_SEGMENT_GROUP& heapSegment,
                                                                UINT64 availableForReservation,
                                                                UINT64* pCurrentReservationOut = nullptr) = 0;

    /* Updates, and optionally returns, the budget and usage of a segment as the manager sees them. */
    virtual HRESULT STDMETHODCALLTYPE QueryVideoMemoryInfo(const DXGI_MEMORY_SEGMENT_GROUP& heapSegment,
                                                           DXGI_QUERY_VIDEO_MEMORY_INFO* pVideoMemoryInfoOut) = 0;

    /* Tells the manager that the application made a heap resident or evicted it. */
    virtual HRESULT STDMETHODCALLTYPE SetResidencyStatus(IResidencyHeap * pHeap,
                                                         const RESIDENCY_HEAP_STATUS& newStatus) = 0;

    /* Returns statistics, which are also recorded if counters are. With null, only records, and returns S_FALSE. */
    virtual HRESULT STDMETHODCALLTYPE QueryStats(RESIDENCY_MANAGER_STATS * pResidencyManagerStats) = 0;
};

/* ------------------------------------------------------------------------------------------------ allocations */

/* How memory was allocated. */
enum RESOURCE_ALLOCATION_TYPE {
    RESOURCE_ALLOCATION_TYPE_UNKNOWN = 0,
    RESOURCE_ALLOCATION_TYPE_STANDALONE = 1,          /* a heap of its own, committed, or an existing resource */
    RESOURCE_ALLOCATION_TYPE_SUBALLOCATED = 2,        /* placed in a heap that others share */
    RESOURCE_ALLOCATION_TYPE_SUBALLOCATED_WITHIN = 3, /* a part of a buffer */
};

/* Size and kind of an allocation. */
struct RESOURCE_ALLOCATION_INFO {
    UINT64 SizeInBytes;
    UINT64 Alignment;
    RESOURCE_ALLOCATION_TYPE Type;
};

/* A resource with its memory. The memory is free again when the last reference is released. */
GPGMM_INTERFACE GPGMM_UUID("d7682f15-c4ae-47d2-93b7-e81c5b9d2f45") IResourceAllocation : public IDebugObject {
    /* Maps as ID3D12Resource::Map. Range and pointer begin at the allocation. The memory is resident until Unmap. */
    virtual HRESULT STDMETHODCALLTYPE Map(UINT subresource, const D3D12_RANGE* pReadRange, void** ppDataOut) = 0;

    /* Undoes one Map. */
    virtual void STDMETHODCALLTYPE Unmap(UINT subresource, const D3D12_RANGE* pWrittenRange) = 0;

    /* Returns the resource, without a reference for the caller. */
    virtual ID3D12Resource* STDMETHODCALLTYPE GetResource() const = 0;

    /* Returns the address of the allocation, also if it is a part of a buffer; zero for textures. */
    virtual D3D12_GPU_VIRTUAL_ADDRESS STDMETHODCALLTYPE GetGPUVirtualAddress() const = 0;

    /* Returns where the allocation begins in its resource, in bytes. */
    virtual UINT64 STDMETHODCALLTYPE GetOffsetFromResource() const = 0;

#if GPGMM_MINGW
    virtual RESOURCE_ALLOCATION_INFO* STDMETHODCALLTYPE GetInfo(RESOURCE_ALLOCATION_INFO * pInfoOut) const = 0;
    RESOURCE_ALLOCATION_INFO GetInfo() const {
        RESOURCE_ALLOCATION_INFO info;
        return *GetInfo(&info);
    }
#else
    virtual RESOURCE_ALLOCATION_INFO STDMETHODCALLTYPE GetInfo() const = 0;
#endif

    /* Returns the memory, without a reference for the caller. Allocations in one heap have one object. Null if the device
       does not answer questions about it. */
    virtual IResidencyHeap* STDMETHODCALLTYPE GetMemory() const = 0;

    /* Returns the allocator; with null, S_FALSE if it exists. E_FAIL after its last reference was released. */
    virtual HRESULT STDMETHODCALLTYPE GetResourceAllocator(IResourceAllocator * *ppResourceAllocatorOut) const = 0;
};

/* Options of an allocator. */
enum RESOURCE_ALLOCATOR_FLAGS {
    RESOURCE_ALLOCATOR_FLAG_NONE = 0x0,
    RESOURCE_ALLOCATOR_FLAG_ALWAYS_COMMITTED = 0x1,      /* committed resources alone */
    RESOURCE_ALLOCATOR_FLAG_ALWAYS_IN_BUDGET = 0x2,      /* E_OUTOFMEMORY rather than heaps above the budget */
    RESOURCE_ALLOCATOR_FLAG_ALLOW_PREFETCH = 0x4,        /* creates heaps ahead on a thread */
    RESOURCE_ALLOCATOR_FLAG_ALWAYS_ON_DEMAND = 0x8,      /* keeps no empty heaps */
    RESOURCE_ALLOCATOR_FLAG_ALLOW_UNIFIED_MEMORY = 0x10, /* one kind of heap on cache-coherent UMA */
    RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK = 0x20,           /* logs allocations that outlive the allocator, as warnings */
    RESOURCE_ALLOCATOR_FLAG_CREATE_NOT_RESIDENT = 0x40,  /* heaps begin evicted */
    RESOURCE_ALLOCATOR_FLAG_NEVER_OVER_ALLOCATE = 0x80,  /* releases no empty heaps when memory is short */
};
DEFINE_ENUM_FLAG_OPERATORS(RESOURCE_ALLOCATOR_FLAGS)

/* How heaps are divided, or how empty heaps are kept. */
enum RESOURCE_ALLOCATION_ALGORITHM {
    RESOURCE_ALLOCATION_ALGORITHM_DEFAULT = 0,
    RESOURCE_ALLOCATION_ALGORITHM_SLAB = 1,           /* divides: heaps for each size */
    RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM = 2,   /* divides: halves heaps of PreferredResourceHeapSize */
    RESOURCE_ALLOCATION_ALGORITHM_FIXED_POOL = 3,     /* keeps: heaps of PreferredResourceHeapSize */
    RESOURCE_ALLOCATION_ALGORITHM_SEGMENTED_POOL = 4, /* keeps: heaps of all sizes */
    RESOURCE_ALLOCATION_ALGORITHM_DEDICATED = 5,      /* divides not: a heap for each resource */
};

/* Describes an allocator. Zero is the default of each member. */
struct RESOURCE_ALLOCATOR_DESC {
    RESOURCE_ALLOCATOR_FLAGS Flags;
    D3D12_MESSAGE_SEVERITY MinRecordLevel;
    D3D12_MESSAGE_SEVERITY MinLogLevel; /* least severe messages to log, for the process */
    RECORD_OPTIONS RecordOptions;
    D3D12_RESOURCE_HEAP_TIER ResourceHeapTier; /* default: the device's; not above it */
    RESOURCE_ALLOCATION_ALGORITHM SubAllocationAlgorithm;
    RESOURCE_ALLOCATION_ALGORITHM PoolAlgorithm; /* default: SEGMENTED_POOL */
    UINT64 PreferredResourceHeapSize;     /* minimum size of heaps that resources share */
    UINT64 MaxResourceHeapSize;           /* a resource that needs more is E_OUTOFMEMORY */
    FLOAT ResourceHeapFragmentationLimit; /* SLAB: part of a heap that may be wasted, default 1/8 */
    FLOAT ResourceHeapGrowthFactor;       /* SLAB: size of a heap over that of the one before, default 1.25 */
    UINT64 ReleaseSizeInBytes;            /* empty heaps to release when memory is short; default: the request's size */
    D3D12_RESOURCE_FLAGS ExtraRequiredResourceFlags; /* 0x400 is D3D12's tight alignment, which is off without it */
};

/* Options of an allocation. */
enum RESOURCE_ALLOCATION_FLAGS {
    RESOURCE_ALLOCATION_FLAG_NONE = 0x0,
    RESOURCE_ALLOCATION_FLAG_NEVER_ALLOCATE_HEAP = 0x1,               /* in memory that is held, or E_OUTOFMEMORY */
    RESOURCE_ALLOCATION_FLAG_ALLOW_SUBALLOCATE_WITHIN_RESOURCE = 0x2, /* may be a part of a buffer */
    RESOURCE_ALLOCATION_FLAG_NEVER_SUBALLOCATE_HEAP = 0x4,            /* in a heap of its own */
    RESOURCE_ALLOCATION_FLAG_ALWAYS_PREFETCH_HEAP = 0x8,              /* with ALLOW_PREFETCH: creates the next heap now */
    RESOURCE_ALLOCATION_FLAG_ALWAYS_CACHE_SIZE = 0x10,                /* SLAB: keeps what is known of the size */
    RESOURCE_ALLOCATION_FLAG_ALWAYS_ATTRIBUTE_HEAPS = 0x20,           /* its heap type despite unified memory */
    RESOURCE_ALLOCATION_FLAG_NEVER_FALLBACK = 0x40,                   /* E_FAIL rather than committed */
    RESOURCE_ALLOCATION_FLAG_NEVER_RESIDENT = 0x80,                   /* the residency manager ignores it */
    RESOURCE_ALLOCATION_FLAG_ALWAYS_WARN_ON_ALIGNMENT_MISMATCH = 0x100, /* warns of bytes lost to alignment */
    RESOURCE_ALLOCATION_FLAG_ALWAYS_COMMITTED = 0x200,                  /* committed */
};
DEFINE_ENUM_FLAG_OPERATORS(RESOURCE_ALLOCATION_FLAGS)

/* Describes an allocation. Zero is the default of each member. */
struct RESOURCE_ALLOCATION_DESC {
    RESOURCE_ALLOCATION_FLAGS Flags;
    D3D12_HEAP_TYPE HeapType; /* zero and CUSTOM: from the initial state */
    D3D12_HEAP_FLAGS ExtraRequiredHeapFlags;
    UINT64 ExtraRequiredResourcePadding; /* bytes after the resource that belong to it */
};

/* Features of an allocator. */
enum RESOURCE_ALLOCATOR_FEATURE {
    RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT, /* FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT */
};

/* Data of RESOURCE_ALLOCATOR_FEATURE_RESOURCE_ALLOCATION_SUPPORT. */
struct FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT {
    bool IsResourceAllocationWithinCoherent; /* several queues may use parts of one buffer at the same time */
};

/* What an allocator holds. */
struct RESOURCE_ALLOCATOR_STATS {
    UINT UsedBlockCount;   /* allocations, without committed and existing resources */
    UINT64 UsedBlockUsage; /* bytes of allocations */
    UINT UsedHeapCount;    /* heaps that are not empty */
    UINT64 UsedHeapUsage;  /* their bytes */
    UINT64 FreeHeapUsage;  /* bytes of empty heaps */
    UINT64 PrefetchedHeapMisses;
    UINT64 PrefetchedHeapMissesEliminated;
    UINT64 SizeCacheMisses;
    UINT64 SizeCacheHits;
};

/* Creates resources and the memory for them. */
GPGMM_INTERFACE GPGMM_UUID("f9e3714a-16db-4f38-a2c5-74d0368e1b56") IResourceAllocator : public IDebugObject {
#if GPGMM_MINGW
    virtual HRESULT STDMETHODCALLTYPE CreateResource(const RESOURCE_ALLOCATION_DESC& allocationDescriptor,
                                                     ID3D12Resource* pCommittedResource,
                                                     IResourceAllocation** ppResourceAllocationOut) = 0;
#endif
    /* Creates a resource in an initial state. With a null out-pointer, releases it at once, and returns S_FALSE: an empty heap may
       be kept. E_OUTOFMEMORY if no memory is found. */
    virtual HRESULT STDMETHODCALLTYPE CreateResource(const RESOURCE_ALLOCATION_DESC& allocationDescriptor,
                                                     const D3D12_RESOURCE_DESC& resourceDescriptor,
                                                     D3D12_RESOURCE_STATES initialResourceState,
                                                     const D3D12_CLEAR_VALUE* pClearValue,
                                                     IResourceAllocation** ppResourceAllocationOut) = 0;
#if !GPGMM_MINGW
    /* Creates an allocation for an existing committed resource. With a null out-pointer, only checks that it could, and returns
       S_FALSE. */
    virtual HRESULT STDMETHODCALLTYPE CreateResource(const RESOURCE_ALLOCATION_DESC& allocationDescriptor,
                                                     ID3D12Resource* pCommittedResource,
                                                     IResourceAllocation** ppResourceAllocationOut) = 0;
#endif

    /* Releases empty heaps until as many bytes are released; UINT64_MAX is all. S_FALSE if fewer were. */
    virtual HRESULT STDMETHODCALLTYPE ReleaseResourceHeaps(UINT64 bytesToRelease, UINT64 * pBytesReleased) = 0;

    /* Returns statistics, which are also recorded if counters are. With null, only records, and returns S_FALSE. */
    virtual HRESULT STDMETHODCALLTYPE QueryStats(RESOURCE_ALLOCATOR_STATS * pResourceAllocatorStats) = 0;

    /* Returns whether a feature is supported. E_INVALIDARG for an unknown feature, null, and another structure's size. */
    virtual HRESULT STDMETHODCALLTYPE CheckFeatureSupport(RESOURCE_ALLOCATOR_FEATURE feature, void* pFeatureSupportData,
                                                          UINT featureSupportDataSize) const = 0;
};

} // namespace gpgmm::d3d12

/* ------------------------------------------------------------------------------------------------ IIDs */

#if defined(GPGMM_IID) || defined(GPGMM_ALL_IIDS)
#error "GPGMM_IID and GPGMM_ALL_IIDS are macros of gpgmm_d3d12.h"
#endif
#define GPGMM_ALL_IIDS                                                                                          \
    GPGMM_IID(IDebugObject, 0x1e2f3ab8, 0x9d4f, 0x4f0c, 0x9a, 0x43, 0x52, 0xe0, 0xf1, 0xa6, 0xc3, 0xd1)         \
    GPGMM_IID(IResidencyHeap, 0x6f0c3f4e, 0x2f52, 0x4a87, 0x8a, 0x0f, 0x0b, 0xb0, 0xa7, 0xd2, 0xe9, 0x12)       \
    GPGMM_IID(IResidencyList, 0x83a5b0d7, 0x7b8e, 0x4d65, 0xb5, 0xab, 0x9a, 0xd1, 0xc2, 0x7f, 0x4e, 0x23)       \
    GPGMM_IID(IResidencyManager, 0xb41d86c9, 0x50f3, 0x4c1e, 0x8e, 0x69, 0x3d, 0x6f, 0xf0, 0xc8, 0x5a, 0x34)    \
    GPGMM_IID(IResourceAllocation, 0xd7682f15, 0xc4ae, 0x47d2, 0x93, 0xb7, 0xe8, 0x1c, 0x5b, 0x9d, 0x2f, 0x45)  \
    GPGMM_IID(IResourceAllocator, 0xf9e3714a, 0x16db, 0x4f38, 0xa2, 0xc5, 0x74, 0xd0, 0x36, 0x8e, 0x1b, 0x56)

namespace gpgmm::d3d12 {
#define GPGMM_IID(name, a, b, c, ...) inline constexpr GUID IID_##name = {a, b, c, {__VA_ARGS__}};
GPGMM_ALL_IIDS
#undef GPGMM_IID
} // namespace gpgmm::d3d12

/* For __uuidof and IID_PPV_ARGS with MinGW, and with DirectX-Headers. */
#if defined(WINADAPTER_IID) && !defined(_MSC_VER)
#define GPGMM_IID(name, ...) WINADAPTER_IID(gpgmm::d3d12::name, __VA_ARGS__)
GPGMM_ALL_IIDS
#undef GPGMM_IID
#elif defined(__CRT_UUID_DECL)
#define GPGMM_IID(name, ...) __CRT_UUID_DECL(gpgmm::d3d12::name, __VA_ARGS__)
GPGMM_ALL_IIDS
#undef GPGMM_IID
#endif
#undef GPGMM_ALL_IIDS

/* ------------------------------------------------------------------------------------------------ functions */

/* The library's exported functions, which the functions of the namespace call. */
extern "C" {
GPGMM_EXPORT HRESULT GpgmmCreateResidencyManager(const gpgmm::d3d12::RESIDENCY_MANAGER_DESC*, ID3D12Device*,
                                                 IDXGIAdapter3*, gpgmm::d3d12::IResidencyManager**);
GPGMM_EXPORT HRESULT GpgmmCreateResidencyHeap(const gpgmm::d3d12::RESIDENCY_HEAP_DESC*, gpgmm::d3d12::IResidencyManager*,
                                              ID3D12Pageable*, gpgmm::d3d12::IResidencyHeap**);
GPGMM_EXPORT HRESULT GpgmmCreateResidencyHeapWithCallback(const gpgmm::d3d12::RESIDENCY_HEAP_DESC*,
                                                          gpgmm::d3d12::IResidencyManager*, gpgmm::d3d12::CreateHeapFn,
                                                          void*, gpgmm::d3d12::IResidencyHeap**);
GPGMM_EXPORT HRESULT GpgmmCreateResidencyList(gpgmm::d3d12::IResidencyList**);
GPGMM_EXPORT HRESULT GpgmmCreateResourceAllocator(const gpgmm::d3d12::RESOURCE_ALLOCATOR_DESC*, ID3D12Device*,
                                                  IDXGIAdapter*, gpgmm::d3d12::IResidencyManager*,
                                                  gpgmm::d3d12::IResourceAllocator**);
GPGMM_EXPORT HRESULT GpgmmCreateResourceAllocatorAndResidencyManager(const gpgmm::d3d12::RESOURCE_ALLOCATOR_DESC*,
                                                                     ID3D12Device*, IDXGIAdapter*,
                                                                     gpgmm::d3d12::IResourceAllocator**,
                                                                     gpgmm::d3d12::IResidencyManager**);
GPGMM_EXPORT HRESULT GpgmmCreateNestedResourceAllocator(const gpgmm::d3d12::RESOURCE_ALLOCATOR_DESC*,
                                                        gpgmm::d3d12::IResourceAllocator*,
                                                        gpgmm::d3d12::IResourceAllocator**);
}

/*
 * With a null out-pointer, these functions check that the object could be created and return S_FALSE (CreateResidencyList:
 * S_OK). A null device, pageable or callback, and a null adapter where one is required, is E_POINTER.
 */
namespace gpgmm::d3d12 {

/* Creates a residency manager. The adapter must be the device's. */
inline HRESULT CreateResidencyManager(const RESIDENCY_MANAGER_DESC& descriptor, ID3D12Device* pDevice,
                                      IDXGIAdapter3* pAdapter, IResidencyManager** ppResidencyManagerOut) {
    return GpgmmCreateResidencyManager(&descriptor, pDevice, pAdapter, ppResidencyManagerOut);
}

/* Makes room, calls createHeapFn to create an object, and manages it. A null manager manages nothing. */
inline HRESULT CreateResidencyHeap(const RESIDENCY_HEAP_DESC& descriptor, IResidencyManager* const pResidencyManager,
                                   CreateHeapFn createHeapFn, void* pCreateHeapContext,
                                   IResidencyHeap** ppResidencyHeapOut) {
    return GpgmmCreateResidencyHeapWithCallback(&descriptor, pResidencyManager, createHeapFn, pCreateHeapContext,
                                                ppResidencyHeapOut);
}

/* Manages an existing object. A null manager manages nothing. */
inline HRESULT CreateResidencyHeap(const RESIDENCY_HEAP_DESC& descriptor, IResidencyManager* const pResidencyManager,
                                   ID3D12Pageable* pPageable, IResidencyHeap** ppResidencyHeapOut) {
    return GpgmmCreateResidencyHeap(&descriptor, pResidencyManager, pPageable, ppResidencyHeapOut);
}

/* Creates an empty list. */
inline HRESULT CreateResidencyList(IResidencyList** ppResidencyListOut) {
    return GpgmmCreateResidencyList(ppResidencyListOut);
}

/* Creates an allocator and a residency manager. With a null ppResidencyManagerOut, there is no manager, and the adapter is
   optional: without IDXGIAdapter3 it is as null. */
inline HRESULT CreateResourceAllocator(const RESOURCE_ALLOCATOR_DESC& allocatorDescriptor, ID3D12Device* pDevice,
                                       IDXGIAdapter* pAdapter, IResourceAllocator** ppResourceAllocatorOut,
                                       IResidencyManager** ppResidencyManagerOut) {
    return GpgmmCreateResourceAllocatorAndResidencyManager(&allocatorDescriptor, pDevice, pAdapter,
                                                           ppResourceAllocatorOut, ppResidencyManagerOut);
}

/* Creates an allocator with a residency manager, or with null for none. The adapter is optional. */
inline HRESULT CreateResourceAllocator(const RESOURCE_ALLOCATOR_DESC& allocatorDescriptor, ID3D12Device* pDevice,
                                       IDXGIAdapter* pAdapter, IResidencyManager* pResidencyManager,
                                       IResourceAllocator** ppResourceAllocatorOut) {
    return GpgmmCreateResourceAllocator(&allocatorDescriptor, pDevice, pAdapter, pResidencyManager,
                                        ppResourceAllocatorOut);
}

/* Creates an allocator that exchanges empty heaps with another one, and uses its device and residency manager. */
inline HRESULT CreateResourceAllocator(const RESOURCE_ALLOCATOR_DESC& allocatorDescriptor,
                                       IResourceAllocator* pResourceAllocator,
                                       IResourceAllocator** ppResourceAllocatorOut) {
    return GpgmmCreateNestedResourceAllocator(&allocatorDescriptor, pResourceAllocator, ppResourceAllocatorOut);
}

} // namespace gpgmm::d3d12

#undef GPGMM_MINGW
#undef GPGMM_UUID

#endif
