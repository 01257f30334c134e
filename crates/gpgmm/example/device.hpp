/*
 * The device of the examples: that of a library with D3D12CreateDevice, such as the system's d3d12.dll, or heapwright's runtime.
 */
#pragma once

#include <gpgmm_d3d12.h>

#include <cstdio>
#include <cstring>

#ifndef _WIN32
#include <dlfcn.h>
#endif

/* Releases an interface at the end of its scope. */
template <typename T> struct owned {
    T *pointer = nullptr;
    owned() = default;
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    ~owned() { reset(); }
    void reset() {
        if (pointer) pointer->Release();
        pointer = nullptr;
    }
    T *operator->() const { return pointer; }
    T **out() { return &pointer; }
    void **any() { return reinterpret_cast<void **>(&pointer); }
};

#ifdef _WIN32
static const char DEFAULT_LIBRARY[] = "d3d12.dll";
inline void *find_function(const char *library, const char *name) {
    HMODULE opened = LoadLibraryA(library);
    return opened ? reinterpret_cast<void *>(GetProcAddress(opened, name)) : nullptr;
}
#else
static const char DEFAULT_LIBRARY[] = "libheapwright_d3d12_runtime.so";
inline void *find_function(const char *library, const char *name) {
    void *opened = dlopen(library, RTLD_NOW);
    return opened ? dlsym(opened, name) : nullptr;
}
#endif

inline HRESULT create_device(const char *library, ID3D12Device **device) {
    using create = HRESULT(STDMETHODCALLTYPE *)(IUnknown *, D3D_FEATURE_LEVEL, REFIID, void **);
    auto function = reinterpret_cast<create>(find_function(library, "D3D12CreateDevice"));
    if (!function) {
        std::fprintf(stderr, "%s: no D3D12CreateDevice\n", library);
        return E_FAIL;
    }
    return function(nullptr, D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device), reinterpret_cast<void **>(device));
}

/* Returns the first adapter. DirectX-Headers have no DXGI, so that its methods are called by their places. */
inline HRESULT first_adapter(const char *library, IUnknown **adapter) {
#ifdef _WIN32
    if (!std::strcmp(library, DEFAULT_LIBRARY)) library = "dxgi.dll";
#endif
    const GUID factory_id = {0x770aae78, 0xf26f, 0x4dba, {0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}};
    using create = HRESULT(STDMETHODCALLTYPE *)(UINT, REFIID, void **);
    auto function = reinterpret_cast<create>(find_function(library, "CreateDXGIFactory2"));
    owned<IUnknown> factory;
    const HRESULT result = function ? function(0, factory_id, factory.any()) : E_FAIL;
    if (FAILED(result)) return result;
    using enumerate = HRESULT(STDMETHODCALLTYPE *)(IUnknown *, UINT, IUnknown **);
    auto methods = *reinterpret_cast<enumerate **>(factory.pointer);
    return methods[12](factory.pointer, 0, adapter); /* EnumAdapters1 */
}

inline D3D12_RESOURCE_DESC buffer_of(UINT64 size) {
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = size;
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    return desc;
}

/* Runs an example on the device of the library that the first argument names. */
inline int run_example(int count, char **arguments, HRESULT (*example)(ID3D12Device *, IDXGIAdapter *)) {
    const char *library = count > 1 ? arguments[1] : DEFAULT_LIBRARY;
    owned<IUnknown> adapter;
    owned<ID3D12Device> device;
    HRESULT result = first_adapter(library, adapter.out());
    if (SUCCEEDED(result)) result = create_device(library, device.out());
    if (SUCCEEDED(result)) result = example(device.pointer, reinterpret_cast<IDXGIAdapter *>(adapter.pointer));
    if (FAILED(result)) std::fprintf(stderr, "failed: 0x%08x\n", static_cast<unsigned>(result));
    return FAILED(result) ? 1 : 0;
}
