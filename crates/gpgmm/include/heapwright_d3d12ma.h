/*
 * heapwright_d3d12ma.h: what heapwright adds for C++ programs that use D3D12MemAlloc.h: residency, transient resources of frames, and
 * reports. namespace heapwright::d3d12ma. The library is gpgmm_d3d12.
 *
 * The interfaces are those of gpgmm_d3d12.h and heapwright_d3d12.h: an allocator of D3D12MA stands for an IAllocator, and QueryInterface
 * returns it. Frames are told by D3D12MA::Allocator::SetCurrentFrameIndex.
 */
#ifndef HEAPWRIGHT_D3D12MA_H
#define HEAPWRIGHT_D3D12MA_H

#include <D3D12MemAlloc.h>
#include <heapwright_d3d12.h>

namespace heapwright::d3d12ma {

/* Creates an allocator with a residency manager, which keeps within the budget what command lists use. The default description is
   all zeros. Command lists are then executed by ExecuteCommandLists. Memory that the CPU maps while no list uses it is locked
   meanwhile: QueryInterface of the allocation returns its IResidencyHeap, with Lock and Unlock. */
inline HRESULT CreateAllocator(const D3D12MA::ALLOCATOR_DESC *pDesc,
                               const gpgmm::d3d12::RESIDENCY_MANAGER_DESC &residencyDesc,
                               D3D12MA::Allocator **ppAllocator) {
    return HeapwrightCreateD3D12MAAllocator(pDesc, &residencyDesc, ppAllocator);
}

/* Returns what an allocator has beyond D3D12MA: transient resources of frames (CreateTransientHeaps), and a report of all that it
   holds (GetReport). */
inline HRESULT GetExtension(D3D12MA::Allocator *pAllocator, heapwright::d3d12::IAllocator **ppExtension) {
    if (pAllocator == nullptr || ppExtension == nullptr) return E_INVALIDARG;
    return pAllocator->QueryInterface(heapwright::d3d12::IID_IAllocator, reinterpret_cast<void **>(ppExtension));
}

/* Makes the memory of allocations resident, and executes command lists that use no others of the allocator. The memory is not evicted
   before the GPU has finished them. Allocations without a residency manager are always resident. */
inline HRESULT ExecuteCommandLists(ID3D12CommandQueue *pQueue, UINT NumCommandLists, ID3D12CommandList *const *ppCommandLists,
                                   UINT NumAllocations, D3D12MA::Allocation *const *ppAllocations) {
    if (pQueue == nullptr || (NumCommandLists != 0 && ppCommandLists == nullptr)
        || (NumAllocations != 0 && ppAllocations == nullptr)) {
        return E_INVALIDARG;
    }
    gpgmm::d3d12::IResidencyManager *manager = nullptr;
    gpgmm::d3d12::IResidencyList *list = nullptr;
    HRESULT result = gpgmm::d3d12::CreateResidencyList(&list);
    for (UINT i = 0; i < NumAllocations && SUCCEEDED(result); i++) {
        gpgmm::d3d12::IResidencyHeap *heap = nullptr;
        if (ppAllocations[i] == nullptr) {
            result = E_INVALIDARG;
        } else if (SUCCEEDED(ppAllocations[i]->QueryInterface(gpgmm::d3d12::IID_IResidencyHeap,
                                                              reinterpret_cast<void **>(&heap)))) {
            result = list->Add(heap);
            if (manager == nullptr && SUCCEEDED(result)) result = heap->GetResidencyManager(&manager);
            heap->Release();
        }
    }
    for (UINT i = 0; i < NumCommandLists && SUCCEEDED(result); i++) {
        if (manager != nullptr) {
            result = manager->ExecuteCommandLists(pQueue, &ppCommandLists[i], &list, 1);
        } else {
            pQueue->ExecuteCommandLists(1, &ppCommandLists[i]);
        }
    }
    if (list != nullptr) list->Release();
    if (manager != nullptr) manager->Release();
    return result;
}

} // namespace heapwright::d3d12ma

#endif
