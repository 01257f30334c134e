/*
 * Uses the headers as programs for Microsoft's compilers do, with Windows' headers. clang checks it for x86_64-pc-windows-msvc.
 */
#include <gpgmm_d3d12.h>
#include <heapwright_d3d12.h>
#include <heapwright_d3d12ma.h>

#ifndef _MSC_VER
#error "not as Microsoft's compilers"
#endif

using namespace gpgmm::d3d12;

/* Each interface has its IID by type, too. */
template <typename T> static const GUID &id() { return __uuidof(T); }
const GUID *const ids[] = {&id<IDebugObject>(), &id<IResidencyHeap>(), &id<IResidencyList>(), &id<IResidencyManager>(),
    &id<IResourceAllocation>(), &id<IResourceAllocator>(), &id<heapwright::d3d12::IText>(),
    &id<heapwright::d3d12::IAllocator>(), &id<heapwright::d3d12::ITransientHeaps>(), &id<heapwright::d3d12::ITransientResources>()};

/* Overloads, default arguments, flag operators, structures that are returned. */
HRESULT use(ID3D12Device *device, IDXGIAdapter3 *adapter, ID3D12CommandQueue *queue, const D3D12_RESOURCE_DESC &buffer) {
    RESOURCE_ALLOCATOR_DESC desc = {};
    desc.Flags = RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK | RESOURCE_ALLOCATOR_FLAG_ALWAYS_ON_DEMAND;
    desc.Flags &= ~RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK;
    RESIDENCY_MANAGER_DESC manager_desc = {};
    IResidencyManager *manager = nullptr;
    IResourceAllocator *allocator = nullptr, *nested = nullptr;
    IResourceAllocation *allocation = nullptr;
    IResidencyList *list = nullptr;
    CreateResidencyManager(manager_desc, device, adapter, &manager);
    CreateResourceAllocator(desc, device, adapter, manager, &allocator);
    CreateResourceAllocator(desc, device, adapter, &allocator, &manager);
    CreateResourceAllocator(desc, allocator, &nested);
    CreateResidencyList(&list);
    allocator->CreateResource({}, buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, &allocation);
    allocator->CreateResource({}, allocation->GetResource(), &allocation);
    allocation->QueryInterface(IID_PPV_ARGS(&allocation));
    IResidencyHeap *heap = nullptr;
    CreateResidencyHeap({}, manager, static_cast<ID3D12Pageable *>(allocation->GetResource()), &heap);
    CreateResidencyHeap({}, manager, [](void *, ID3D12Pageable **) -> HRESULT { return E_FAIL; }, nullptr, &heap);
    list->Add(heap);
    manager->SetVideoMemoryReservation(DXGI_MEMORY_SEGMENT_GROUP_LOCAL, heap->GetInfo().SizeInBytes);
    manager->SetResidencyStatus(heap, heap->GetInfo().Status);
    void *bytes = nullptr;
    allocation->Map(0, nullptr, &bytes);
    allocation->Unmap(0, nullptr);
    return manager->ExecuteCommandLists(queue, nullptr, &list, 1);
}
