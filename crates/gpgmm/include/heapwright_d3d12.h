/*
 * heapwright_d3d12.h: what heapwright has beyond GPGMM's API, for C++ programs that use gpgmm_d3d12.h: limits, frames,
 * transient resources of frames, reports, and budgets of residency managers. namespace heapwright::d3d12. The library is gpgmm_d3d12. Pools, defragmentation and virtual
 * blocks are D3D12MA's, in D3D12MemAlloc.h: an allocator of D3D12MA is an IAllocator, too.
 *
 * Each IResourceAllocator is an IAllocator, and each IResidencyManager an IBudgetManager, which QueryInterface returns;
 * CreateAllocator creates an IAllocator:
 *
 *     heapwright::d3d12::IAllocator *allocator = nullptr;
 *     pResourceAllocator->QueryInterface(heapwright::d3d12::IID_IAllocator, reinterpret_cast<void **>(&allocator));
 *
 * Interfaces do not change after a release: a later version of the library adds interfaces with other IIDs, and
 * QueryInterface of an older library then returns E_NOINTERFACE. Structures do not change, either.
 *
 * Unless a method says otherwise, a null pointer is E_POINTER, an object of another library is E_INVALIDARG, and an out-pointer
 * is null after an error. Methods may be called by several threads.
 */
#ifndef HEAPWRIGHT_D3D12_H
#define HEAPWRIGHT_D3D12_H

#include <gpgmm_d3d12.h>

/* Version of this header. Since 2, an IAllocator is an IResourceAllocator, and creates transient heaps. Since 3, it has no pools, and
   there are IBudgetManagers. */
#define HEAPWRIGHT_D3D12_VERSION 3

#if defined(_MSC_VER)
#define GPGMM_UUID(text) __declspec(uuid(text))
#else
#define GPGMM_UUID(text)
#endif

namespace heapwright::d3d12 {

/* ------------------------------------------------------------------------------------------------ transient resources */

/* How a pass uses a resource. In brackets: the states that permit it. */
enum TRANSIENT_USE {
    TRANSIENT_USE_READ = 0,            /* reads it [states that read, UNORDERED_ACCESS] */
    TRANSIENT_USE_RENDER = 1,          /* draws to it, after what was there before is of no interest
                                          [RENDER_TARGET, DEPTH_WRITE, RESOLVE_DEST] */
    TRANSIENT_USE_CLEAR = 2,           /* clears all of it before any other use [RENDER_TARGET, DEPTH_WRITE, UNORDERED_ACCESS] */
    TRANSIENT_USE_COPY_ALL = 3,        /* overwrites all of it by a copy [COPY_DEST] */
    TRANSIENT_USE_WRITE_UNORDERED = 4, /* writes it without reading what was there before [UNORDERED_ACCESS] */
    TRANSIENT_USE_UPDATE = 5,          /* writes a part of it, or reads and writes it [states that write] */
};

/* A resource of a frame. Its number is the index in TRANSIENT_FRAME::pResources. */
struct TRANSIENT_RESOURCE {
    D3D12_RESOURCE_DESC Desc;             /* never aligned tightly */
    const D3D12_CLEAR_VALUE* pClearValue; /* the optimized one of a render target or depth-stencil texture; may be null */
};

/* A use of a resource by a pass. A pass has each resource in one state. */
struct TRANSIENT_RESOURCE_USE {
    UINT Resource;
    TRANSIENT_USE Use;
    D3D12_RESOURCE_STATES State;
};

/* A pass: commands that use resources. Its number is the index in TRANSIENT_FRAME::pPasses. */
struct TRANSIENT_PASS {
    UINT Queue;
    BOOL MayBeSkipped; /* some frames do not record the pass */
    UINT UseCount;
    const TRANSIENT_RESOURCE_USE* pUses; /* in their order */
    UINT DependencyCount;
    const UINT* pDependencies; /* passes of other queues, with lower numbers, that happen before this one */
};

/* Describes a frame. Passes of a queue happen in their order; on different queues, only dependencies order them. */
struct TRANSIENT_FRAME {
    UINT QueueCount;
    const D3D12_COMMAND_LIST_TYPE* pQueues; /* DIRECT, COMPUTE or COPY. The number of a queue is the index */
    UINT ResourceCount;
    const TRANSIENT_RESOURCE* pResources;
    UINT PassCount;
    const TRANSIENT_PASS* pPasses;
};

/* Which barriers are recorded. */
enum BARRIER_MODEL {
    BARRIER_MODEL_ENHANCED = 0, /* ID3D12GraphicsCommandList7::Barrier */
    BARRIER_MODEL_LEGACY = 1,   /* ID3D12GraphicsCommandList::ResourceBarrier */
};

/* Passes that one ExecuteCommandLists executes, in one or several command lists. The arrays are valid until the last Release of the
   resources. */
struct TRANSIENT_SUBMISSION {
    UINT Queue;
    UINT PassCount;
    const UINT* pPasses; /* in their order */
    UINT WaitCount;
    const UINT* pWaits; /* submissions of other queues for which the queue waits first */
    UINT PreviousFrameWaitCount;
    const UINT* pPreviousFrameWaits; /* queues that must have finished the frame before; the queue waits for them first */
};

/* Where a resource of a frame lies. */
struct TRANSIENT_PLACEMENT {
    UINT Heap; /* of the frame's; on resource heap tier 2 there is one */
    UINT64 Offset;
};

/*
 * The resources of a frame, which share memory unless they live at the same time, and the barriers of each pass. They can be recorded
 * any number of times, also for several frames in flight, and by several threads.
 *
 * The program has these duties, which cannot be checked; D3D12's behaviour is undefined otherwise:
 *
 * - What it executes has for each pass BeginPass, the pass's commands and EndPass, in this order, or none of them if the pass
 *   MayBeSkipped. Passes are in the order and the submissions of GetSubmission, with the waits that it lists, and frames follow one
 *   another.
 * - Each queue of the frame is one ID3D12CommandQueue, the same in every frame. Frames of one ITransientHeaps that have a single queue
 *   of the same type are executed on the same ID3D12CommandQueue, as they may use the same memory.
 * - The first use of a resource by its first pass is the declared one: with CLEAR and COPY_ALL, the pass clears or overwrites all of the
 *   resource before anything else. With RENDER it is initialised by a discard, so its contents are undefined.
 * - No other code transitions the resources. If a pass has other barriers of them, such as between two dispatches, they are of
 *   GetBarrierModel, or name no resource.
 * - The last reference is released after the GPU has finished the frame.
 */
GPGMM_INTERFACE GPGMM_UUID("61b3e90d-475c-4a2e-97d8-0d4cf28b3909") ITransientResources : public IUnknown {
    /* Returns a resource, with a reference. The reference does not keep its memory. */
    virtual HRESULT STDMETHODCALLTYPE GetResource(UINT resource, ID3D12Resource * *ppResourceOut) = 0;

    /* Returns where a resource lies: resources whose ranges overlap share memory. */
    virtual HRESULT STDMETHODCALLTYPE GetPlacement(UINT resource, TRANSIENT_PLACEMENT * pPlacementOut) = 0;

    /* Returns the bytes of the heaps. */
    virtual UINT64 STDMETHODCALLTYPE GetSize() = 0;

    /* Returns which barriers are recorded. */
    virtual BARRIER_MODEL STDMETHODCALLTYPE GetBarrierModel() = 0;

    /* Returns the number of submissions. */
    virtual UINT STDMETHODCALLTYPE GetSubmissionCount() = 0;

    /* Returns a submission. They are in an order in which they can be passed to the queues. */
    virtual HRESULT STDMETHODCALLTYPE GetSubmission(UINT index, TRANSIENT_SUBMISSION * pSubmissionOut) = 0;

    /* Adds the heaps to the residency list of a command list that uses resources of the frame. Without a residency manager, nothing
       is added. The list does not keep them alive. */
    virtual HRESULT STDMETHODCALLTYPE AddToResidencyList(gpgmm::d3d12::IResidencyList * pResidencyList) = 0;

    /* Records what the resources of a pass need in front of it: aliasing barriers, discards, and transitions to the states of the
       pass. The list is open, of the type of the pass's queue, and not in a render pass. E_INVALIDARG if the frame has no such pass. */
    virtual HRESULT STDMETHODCALLTYPE BeginPass(ID3D12GraphicsCommandList * pCommandList, UINT pass) = 0;

    /* Records the transitions behind a pass that later passes rely on. */
    virtual HRESULT STDMETHODCALLTYPE EndPass(ID3D12GraphicsCommandList * pCommandList, UINT pass) = 0;
};

/* Plans a frame and creates its resources when it changes, and keeps the result. The heaps are the allocator's: they count towards
   its limits and budgets, and with a residency manager they are paged as a whole. The object keeps the allocator alive. */
GPGMM_INTERFACE GPGMM_UUID("2fd87c13-ba54-4e61-8c0f-e6395a71d808") ITransientHeaps : public IUnknown {
    /*
     * Returns the resources of a frame, with a reference. If it equals the frame of the last call, they are the same: the same object,
     * while the program has a reference to it, so that views of the resources remain valid. Nothing is planned or created then.
     *
     * Otherwise, the memory is that of the last frame if it is large enough and both frames have one queue of the same type. If it is
     * not, the last frame's is freed with the last reference to its resources.
     *
     * E_INVALIDARG, and a line in the log with the passes and the resource, if an array is wrong, if the frame reads contents that it
     * did not write, or if no order of the passes permits the uses and the states. E_OUTOFMEMORY if no memory is found.
     */
    virtual HRESULT STDMETHODCALLTYPE Prepare(const TRANSIENT_FRAME* pFrame,
                                              ITransientResources** ppTransientResourcesOut) = 0;

    /* Forgets the last frame, so that its memory is freed with the last reference to its resources. */
    virtual HRESULT STDMETHODCALLTYPE ReleaseFrame() = 0;
};

/* ------------------------------------------------------------------------------------------------ allocators */

/* Limits of the bytes that heaps and committed resources take together: of each heap type, and of all types in a segment group. Zero is
   no limit. A request that exceeds one is E_OUTOFMEMORY, and the log names the limit. */
struct HEAP_LIMITS {
    UINT64 Default;
    UINT64 Upload;
    UINT64 Readback;
    UINT64 GpuUpload;
    double ShareOfBudget; /* of each segment group's budget at that time, up to 1. Requires an adapter or a residency manager */
};

/* How long empty heaps are kept. */
enum EMPTY_HEAP_POLICY {
    EMPTY_HEAP_POLICY_DEFAULT = 0,         /* while that is cheaper than creating them again */
    EMPTY_HEAP_POLICY_LEAST_MEMORY = 1,    /* for a few operations, and heaps are smaller */
    EMPTY_HEAP_POLICY_FEWEST_HITCHES = 2,  /* until memory is short or they are released, and heaps are larger */
};

/* Describes an allocator. Zero is the default of each member: heapwright's own, which needs less memory than GPGMM's. */
struct ALLOCATOR_DESC {
    gpgmm::d3d12::RESOURCE_ALLOCATOR_DESC Base; /* a PoolAlgorithm other than DEFAULT has precedence over EmptyHeapPolicy */
    HEAP_LIMITS Limits;
    EMPTY_HEAP_POLICY EmptyHeapPolicy;
    BOOL NeverTightAlignment; /* otherwise GetDesc of resources may have D3D12's flag 0x400 */
};

/* A text. */
GPGMM_INTERFACE GPGMM_UUID("7b2c68e0-d94f-4a15-b7c3-50e8f1a2d404") IText : public IUnknown {
    /* Returns the text in UTF-8, which ends with a zero byte and is valid until the last Release. */
    virtual const char* STDMETHODCALLTYPE GetText() = 0;

    /* Returns its bytes, without the zero byte. */
    virtual UINT64 STDMETHODCALLTYPE GetSize() = 0;
};

/* What an IResourceAllocator does beyond GPGMM's API. */
GPGMM_INTERFACE GPGMM_UUID("4c6ab0d1-8f27-4e95-a3d4-71b90e5cf50a") IAllocator : public gpgmm::d3d12::IResourceAllocator {
    /* Tells the allocator, and those that are nested in it, that a frame has ended. With other policies than GPGMM's pools, empty
       heaps are released after a number of frames. */
    virtual HRESULT STDMETHODCALLTYPE OnFrame() = 0;

    /* Creates heaps for the transient resources of frames; none has memory yet. Barriers are legacy ones if the device has no
       enhanced ones. Legacy ones are for programs whose passes have legacy barriers of the resources. */
    virtual HRESULT STDMETHODCALLTYPE CreateTransientHeaps(BARRIER_MODEL barriers, ITransientHeaps * *ppTransientHeapsOut) = 0;

    /* Returns a report of all that the allocator holds, as JSON. The program `heapwright report` shows it as a page. */
    virtual HRESULT STDMETHODCALLTYPE GetReport(IText * *ppReportOut) = 0;
};

/* ------------------------------------------------------------------------------------------------ residency budgets */

/* The heaps of a residency manager in a segment group. On UMA, all memory is local. */
struct RESIDENCY_GROUP_STATS {
    UINT64 ResidentSize; /* bytes of heaps that are resident, or being made resident */
    UINT64 ResidentCount;
    UINT64 EvictedSize;
    UINT64 EvictedCount;
    UINT64 LockedSize;
    UINT64 LockedCount;
    UINT64 PagedInSize;  /* bytes made resident since the creation of the manager */
    UINT64 PagedOutSize; /* bytes evicted since the creation of the manager */
};

/* What an IResidencyManager does beyond GPGMM's API. */
GPGMM_INTERFACE GPGMM_UUID("e27c90b4-6d18-4f53-9a0e-c8357f1b2a0b") IBudgetManager : public gpgmm::d3d12::IResidencyManager {
    /* Sets the budget of a segment group, in bytes, in place of what the manager's description determines, and evicts idle heaps that
       exceed it. The system's budget is not exceeded. With zero every idle heap is evicted at once; those that the GPU still uses
       are evicted with a later submission. A submission makes what it uses resident all the same, unless the manager is ALWAYS_IN_BUDGET. */
    virtual HRESULT STDMETHODCALLTYPE SetBudget(DXGI_MEMORY_SEGMENT_GROUP heapSegment, UINT64 bytes) = 0;

    /* As SetBudget, with a fraction, 0 to 1, of the budget that the manager's description determines. */
    virtual HRESULT STDMETHODCALLTYPE SetBudgetShare(DXGI_MEMORY_SEGMENT_GROUP heapSegment, double share) = 0;

    /* Sets the budget that the manager's description determines. */
    virtual HRESULT STDMETHODCALLTYPE ResetBudget(DXGI_MEMORY_SEGMENT_GROUP heapSegment) = 0;

    /* Returns what is resident and what is evicted in a segment group. */
    virtual HRESULT STDMETHODCALLTYPE QueryGroupStats(DXGI_MEMORY_SEGMENT_GROUP heapSegment, RESIDENCY_GROUP_STATS * pStatsOut) = 0;
};

} // namespace heapwright::d3d12

/* ------------------------------------------------------------------------------------------------ IIDs */

#define HEAPWRIGHT_ALL_IIDS                                                                                       \
    HEAPWRIGHT_IID(IText, 0x7b2c68e0, 0xd94f, 0x4a15, 0xb7, 0xc3, 0x50, 0xe8, 0xf1, 0xa2, 0xd4, 0x04)             \
    HEAPWRIGHT_IID(IBudgetManager, 0xe27c90b4, 0x6d18, 0x4f53, 0x9a, 0x0e, 0xc8, 0x35, 0x7f, 0x1b, 0x2a, 0x0b)    \
    HEAPWRIGHT_IID(IAllocator, 0x4c6ab0d1, 0x8f27, 0x4e95, 0xa3, 0xd4, 0x71, 0xb9, 0x0e, 0x5c, 0xf5, 0x0a)        \
    HEAPWRIGHT_IID(ITransientResources, 0x61b3e90d, 0x475c, 0x4a2e, 0x97, 0xd8, 0x0d, 0x4c, 0xf2, 0x8b, 0x39, 0x09) \
    HEAPWRIGHT_IID(ITransientHeaps, 0x2fd87c13, 0xba54, 0x4e61, 0x8c, 0x0f, 0xe6, 0x39, 0x5a, 0x71, 0xd8, 0x08)

namespace heapwright::d3d12 {
#define HEAPWRIGHT_IID(name, a, b, c, ...) inline constexpr GUID IID_##name = {a, b, c, {__VA_ARGS__}};
HEAPWRIGHT_ALL_IIDS
#undef HEAPWRIGHT_IID
} // namespace heapwright::d3d12

#if defined(WINADAPTER_IID) && !defined(_MSC_VER)
#define HEAPWRIGHT_IID(name, ...) WINADAPTER_IID(heapwright::d3d12::name, __VA_ARGS__)
HEAPWRIGHT_ALL_IIDS
#undef HEAPWRIGHT_IID
#elif defined(__CRT_UUID_DECL)
#define HEAPWRIGHT_IID(name, ...) __CRT_UUID_DECL(heapwright::d3d12::name, __VA_ARGS__)
HEAPWRIGHT_ALL_IIDS
#undef HEAPWRIGHT_IID
#endif
#undef HEAPWRIGHT_ALL_IIDS

/* ------------------------------------------------------------------------------------------------ functions */

/* The library's exported functions, which the functions of the namespace call. */
extern "C" {
GPGMM_EXPORT HRESULT HeapwrightCreateAllocator(const heapwright::d3d12::ALLOCATOR_DESC*, ID3D12Device*, IDXGIAdapter*,
                                               gpgmm::d3d12::IResidencyManager*, heapwright::d3d12::IAllocator**);
}

namespace heapwright::d3d12 {

/* Creates an allocator with a residency manager, or with null for none. The adapter is optional. A null out-pointer checks only, and
   returns S_FALSE, as in GPGMM. */
inline HRESULT CreateAllocator(const ALLOCATOR_DESC& desc, ID3D12Device* pDevice, IDXGIAdapter* pAdapter,
                               gpgmm::d3d12::IResidencyManager* pResidencyManager, IAllocator** ppAllocatorOut) {
    return HeapwrightCreateAllocator(&desc, pDevice, pAdapter, pResidencyManager, ppAllocatorOut);
}

} // namespace heapwright::d3d12

#undef GPGMM_UUID

#endif
