/* Opening the device. */
#include "environment.hpp"

#include <climits>

static const GUID factory_id = {0x770aae78, 0xf26f, 0x4dba, {0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}};
static const GUID adapter3_id = {0x645967a4, 0x1392, 0x4310, {0xa7, 0x98, 0x80, 0x53, 0xce, 0x3e, 0x93, 0xfd}};

/* Calls a method of a DXGI interface, of which DirectX-Headers have no declarations. */
template <typename... Args> static HRESULT call(void *object, unsigned slot, Args... args) {
    auto table = *static_cast<void ***>(object);
    return reinterpret_cast<HRESULT(WINAPI *)(void *, Args...)>(table[slot])(object, args...);
}

bool open(const char *path, environment &out) {
    out.is_ours = *path != 0;
    void *d3d12 = open_library(out.is_ours ? path : "d3d12.dll");
    void *dxgi = out.is_ours ? d3d12 : open_library("dxgi.dll");
    CHECK(d3d12 && dxgi);
    auto factory_function =
        reinterpret_cast<HRESULT(WINAPI *)(UINT, REFIID, void **)>(find(dxgi, "CreateDXGIFactory2"));
    auto device_function = reinterpret_cast<create_device>(find(d3d12, "D3D12CreateDevice"));
    auto debug_function = reinterpret_cast<get_debug_interface>(find(d3d12, "D3D12GetDebugInterface"));
    CHECK(factory_function && device_function);
    held<ID3D12Debug> debug;
    if (out.is_ours && debug_function && debug_function(debug.id(), debug.out()) == S_OK) debug->EnableDebugLayer();

    IUnknown *factory = nullptr, *first = nullptr;
    CHECK(factory_function(0, factory_id, reinterpret_cast<void **>(&factory)) == S_OK);
    CHECK(call(factory, 12, 0u, &first) == S_OK); /* EnumAdapters1 */
    factory->Release();
    CHECK(first->QueryInterface(adapter3_id, reinterpret_cast<void **>(&out.adapter)) == S_OK);
    first->Release();
    CHECK(device_function(out.adapter, D3D_FEATURE_LEVEL_11_0, out.device.id(), out.device.out()) == S_OK);
    D3D12_FEATURE_DATA_ARCHITECTURE architecture = {};
    out.device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof architecture);
    out.is_uma = architecture.UMA;
    return true;
}

unsigned live_objects(const environment &env) {
    if (!env.is_ours) return 0;
    held<ID3D12DebugDevice> debug;
    held<ID3D12InfoQueue> queue;
    /* The oldest devices have no debug layer. */
    if (env.device->QueryInterface(debug.id(), debug.out()) != S_OK) return 0;
    if (env.device->QueryInterface(queue.id(), queue.out()) != S_OK) return 0;
    queue->ClearStoredMessages();
    EXPECT(debug->ReportLiveDeviceObjects(D3D12_RLDO_SUMMARY) == S_OK);
    unsigned live = UINT_MAX;
    for (UINT64 index = 0; index < queue->GetNumStoredMessages(); index++) {
        SIZE_T length = 0;
        queue->GetMessage(index, nullptr, &length);
        std::vector<UINT64> bytes(length / 8 + 1);
        auto message = reinterpret_cast<D3D12_MESSAGE *>(bytes.data());
        if (queue->GetMessage(index, message, &length) != S_OK) continue;
        const char *total = std::strstr(message->pDescription, "live ID3D12Device with ");
        if (total) std::sscanf(total, "live ID3D12Device with %u", &live);
    }
    EXPECT(live != UINT_MAX);
    queue->ClearStoredMessages();
    return live;
}

DXGI_QUERY_VIDEO_MEMORY_INFO video_memory(const environment &env, DXGI_MEMORY_SEGMENT_GROUP segment) {
    DXGI_QUERY_VIDEO_MEMORY_INFO info = {};
    EXPECT(call(env.adapter, 14, 0u, segment, &info) == S_OK); /* QueryVideoMemoryInfo */
    return info;
}
