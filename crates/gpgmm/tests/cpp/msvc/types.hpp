/*
 * The declarations of Windows' headers that gpgmm_d3d12.h needs, with their layout, so that clang compiles it for Microsoft's
 * C++ ABI without Microsoft's headers.
 */
#pragma once

typedef long HRESULT;
typedef unsigned long ULONG;
typedef unsigned int UINT;
typedef unsigned long long UINT64;
typedef float FLOAT;
typedef const wchar_t *LPCWSTR;
typedef wchar_t WCHAR;
struct GUID {
    unsigned long Data1;
    unsigned short Data2, Data3;
    unsigned char Data4[8];
};
#define STDMETHODCALLTYPE __stdcall
#define DEFINE_ENUM_FLAG_OPERATORS(type)

struct __declspec(uuid("00000000-0000-0000-C000-000000000046")) IUnknown {
    virtual HRESULT STDMETHODCALLTYPE QueryInterface(const GUID &, void **) = 0;
    virtual ULONG STDMETHODCALLTYPE AddRef() = 0;
    virtual ULONG STDMETHODCALLTYPE Release() = 0;
};

struct ID3D12Device;
struct ID3D12Pageable;
struct ID3D12Resource;
struct ID3D12CommandQueue;
struct ID3D12CommandList;
struct IDXGIAdapter;
struct IDXGIAdapter3;
struct D3D12_RESOURCE_DESC;
struct D3D12_CLEAR_VALUE;
struct D3D12_RANGE;
struct DXGI_QUERY_VIDEO_MEMORY_INFO;
typedef UINT64 D3D12_GPU_VIRTUAL_ADDRESS;
enum D3D12_RESOURCE_STATES {};
enum D3D12_RESOURCE_FLAGS {};
enum D3D12_RESOURCE_HEAP_TIER {};
enum D3D12_HEAP_TYPE {};
enum D3D12_HEAP_FLAGS {};
enum D3D12_MESSAGE_SEVERITY {};
enum DXGI_MEMORY_SEGMENT_GROUP {};
