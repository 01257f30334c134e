/*
 * Writes what an allocator holds to report.json. The program heapwright shows it as a page in a browser, without a user interface in
 * this one: heapwright report report.json -o report.html
 */
#include "device.hpp"

#include <heapwright_d3d12.h>

using namespace gpgmm::d3d12;
namespace hw = heapwright::d3d12;

static HRESULT report(ID3D12Device *device, IDXGIAdapter *) {
    hw::ALLOCATOR_DESC desc = {};
    desc.Base.MinLogLevel = D3D12_MESSAGE_SEVERITY_WARNING;
    owned<hw::IAllocator> allocator;
    HRESULT result = hw::CreateAllocator(desc, device, nullptr, nullptr, allocator.out());
    if (FAILED(result)) return result;
    owned<IResourceAllocation> meshes[8];
    for (UINT i = 0; i < 8 && SUCCEEDED(result); i++) {
        const D3D12_RESOURCE_DESC buffer = buffer_of(UINT64(64 << 10) << i);
        RESOURCE_ALLOCATION_DESC mesh = {};
        mesh.HeapType = D3D12_HEAP_TYPE_DEFAULT;
        result = allocator->CreateResource(mesh, buffer, D3D12_RESOURCE_STATE_COMMON, nullptr, meshes[i].out());
        /* By its name, an allocation is found in the page. */
        const wchar_t name[] = {L'm', L'e', L's', L'h', L' ', wchar_t(L'0' + i), 0};
        if (SUCCEEDED(result)) result = meshes[i]->SetDebugName(name);
    }
    owned<hw::IText> text;
    if (SUCCEEDED(result)) result = allocator->GetReport(text.out());
    if (FAILED(result)) return result;
    std::FILE *file = std::fopen("report.json", "wb");
    const size_t size = size_t(text->GetSize());
    const bool is_written = file && std::fwrite(text->GetText(), 1, size, file) == size && !std::fclose(file);
    std::printf("report.json: %zu bytes\n", size);
    return is_written ? S_OK : E_FAIL;
}

int main(int count, char **arguments) { return run_example(count, arguments, report); }
