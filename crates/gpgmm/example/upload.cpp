/* Creates an upload buffer, writes to it, and prints what the allocator holds. */
#include "device.hpp"

#include <cstring>

using namespace gpgmm::d3d12;

static HRESULT upload(ID3D12Device *device, IDXGIAdapter *) {
    RESOURCE_ALLOCATOR_DESC allocator_desc = {};
    allocator_desc.Flags = RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK;
    allocator_desc.MinLogLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    owned<IResourceAllocator> allocator;
    HRESULT result = CreateResourceAllocator(allocator_desc, device, nullptr, allocator.out(), nullptr);
    if (FAILED(result)) return result;

    RESOURCE_ALLOCATION_DESC allocation_desc = {};
    allocation_desc.HeapType = D3D12_HEAP_TYPE_UPLOAD;
    owned<IResourceAllocation> buffer;
    result = allocator->CreateResource(
        allocation_desc, buffer_of(4096), D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, buffer.out());
    if (FAILED(result)) return result;
    buffer->SetDebugName(L"vertices");

    const D3D12_RANGE nothing = {0, 0};
    void *bytes = nullptr;
    result = buffer->Map(0, &nothing, &bytes);
    if (FAILED(result)) return result;
    std::memcpy(bytes, "hello", 5);
    buffer->Unmap(0, nullptr);

    RESOURCE_ALLOCATOR_STATS stats = {};
    result = allocator->QueryStats(&stats);
    std::printf("%u buffer of %llu bytes in %u heap of %llu bytes\n", stats.UsedBlockCount,
        static_cast<unsigned long long>(stats.UsedBlockUsage), stats.UsedHeapCount,
        static_cast<unsigned long long>(stats.UsedHeapUsage));
    return result;
}

int main(int count, char **arguments) { return run_example(count, arguments, upload); }
