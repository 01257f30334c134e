/*
 * Calls each kind of method through tables of methods as Microsoft's compilers lay them out: overloads, structures that are
 * returned, and what follows them. Compiled by clang for x86_64-pc-windows-msvc.
 */
#include "types.hpp"

#define GPGMM_WINDOWS_HEADERS_ALREADY_INCLUDED
#define GPGMM_D3D12_HEADERS_ALREADY_INCLUDED
#include <gpgmm_d3d12.h>

#include "calls.hpp"

using namespace gpgmm::d3d12;

extern "C" void call_as_microsoft(
    void *object, const void *resource_desc, int state, void *resource, microsoft_results *out) {
    auto allocator = static_cast<IResourceAllocator *>(object);
    RESOURCE_ALLOCATION_DESC desc = {};
    IResourceAllocation *made = nullptr, *imported = nullptr;
    out->created = allocator->CreateResource(desc, *static_cast<const D3D12_RESOURCE_DESC *>(resource_desc),
        D3D12_RESOURCE_STATES(state), nullptr, &made);
    if (!made) return;
    const RESOURCE_ALLOCATION_INFO info = made->GetInfo();
    out->size = info.SizeInBytes;
    out->alignment = info.Alignment;
    out->type = info.Type;
    IResidencyHeap *memory = made->GetMemory();
    const RESIDENCY_HEAP_INFO heap = memory->GetInfo();
    out->heap_size = heap.SizeInBytes;
    out->heap_alignment = heap.Alignment;
    out->is_locked = heap.IsLocked;
    out->heap_status = heap.Status;
    out->manager = memory->GetResidencyManager(nullptr);
    out->imported = allocator->CreateResource(desc, static_cast<ID3D12Resource *>(resource), &imported);
    if (imported) {
        out->imported_type = imported->GetInfo().Type;
        imported->Release();
    }
    RESOURCE_ALLOCATOR_STATS stats = {};
    out->stats = allocator->QueryStats(&stats);
    out->used = stats.UsedBlockUsage;
    out->last_count = made->Release();
}
