/*
 * Creates an upload buffer, writes to it, and prints what the allocator holds.
 *
 * On Windows it uses the system's device. On Linux the argument is a library with D3D12CreateDevice, such as heapwright's
 * runtime, libheapwright_d3d12_runtime.so.
 */
#include <gpgmm_d3d12.h>

#include <cstdio>
#include <cstring>

#ifndef _WIN32
#include <dlfcn.h>
#endif

using namespace gpgmm::d3d12;

/* Releases an interface at the end of its scope. */
template <typename T> struct owned {
    T *pointer = nullptr;
    ~owned() {
        if (pointer) pointer->Release();
    }
    T *operator->() const { return pointer; }
    T **out() { return &pointer; }
};

static HRESULT create_device(const char *library, ID3D12Device **device) {
    const IID iid = __uuidof(ID3D12Device);
    auto out = reinterpret_cast<void **>(device);
#ifdef _WIN32
    (void)library;
    return D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, iid, out);
#else
    using create = HRESULT (*)(IUnknown *, D3D_FEATURE_LEVEL, REFIID, void **);
    void *opened = dlopen(library, RTLD_NOW);
    auto function = opened ? reinterpret_cast<create>(dlsym(opened, "D3D12CreateDevice")) : nullptr;
    if (!function) {
        std::fprintf(stderr, "%s: no D3D12CreateDevice\n", library);
        return E_FAIL;
    }
    return function(nullptr, D3D_FEATURE_LEVEL_11_0, iid, out);
#endif
}

static HRESULT upload(ID3D12Device *device) {
    RESOURCE_ALLOCATOR_DESC allocator_desc = {};
    allocator_desc.Flags = RESOURCE_ALLOCATOR_FLAG_NEVER_LEAK;
    allocator_desc.MinLogLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    owned<IResourceAllocator> allocator;
    HRESULT result = CreateResourceAllocator(allocator_desc, device, nullptr, allocator.out(), nullptr);
    if (FAILED(result)) return result;

    D3D12_RESOURCE_DESC buffer_desc = {};
    buffer_desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    buffer_desc.Width = 4096;
    buffer_desc.Height = buffer_desc.DepthOrArraySize = buffer_desc.MipLevels = 1;
    buffer_desc.SampleDesc.Count = 1;
    buffer_desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    RESOURCE_ALLOCATION_DESC allocation_desc = {};
    allocation_desc.HeapType = D3D12_HEAP_TYPE_UPLOAD;
    owned<IResourceAllocation> buffer;
    result = allocator->CreateResource(
        allocation_desc, buffer_desc, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, buffer.out());
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

int main(int count, char **arguments) {
    owned<ID3D12Device> device;
    HRESULT result = create_device(count > 1 ? arguments[1] : "libheapwright_d3d12_runtime.so", device.out());
    if (SUCCEEDED(result)) result = upload(device.pointer);
    if (FAILED(result)) std::fprintf(stderr, "failed: 0x%08x\n", static_cast<unsigned>(result));
    return FAILED(result) ? 1 : 0;
}
