/*
 * Uses every member of gpgmm::d3d12. The first argument is the path of the library with the D3D12 device, or "system"; further
 * arguments select tests by name.
 */
#include "environment.hpp"

struct test {
    const char *name;
    void (*run)(const environment &);
};

static const test TESTS[] = {{"allocators", test_allocators}, {"allocations", test_allocations}, {"mapping", test_mapping},
    {"residency", test_residency}, {"submission", test_submission}, {"recording", test_recording},
    {"names and leaks", test_names_and_leaks}, {"COM rules", test_com_rules}, {"lifetimes", test_lifetimes},
    {"threads", test_threads}, {"bad input", test_bad_input}, {"as GPGMM", test_as_gpgmm},
    {"extended allocators", test_extended_allocators}, {"budgets", test_budgets}, {"transient frames", test_transient_frames},
    {"reports", test_reports},
    {"Microsoft's C++ ABI", test_microsoft}, {"D3D12MA: allocators", test_ma_allocators},
    {"D3D12MA: allocations", test_ma_allocations}, {"D3D12MA: resources", test_ma_resources},
    {"D3D12MA: callbacks", test_ma_callbacks}, {"D3D12MA: threads", test_ma_threads}, {"D3D12MA: pools", test_ma_pools},
    {"D3D12MA: statistics", test_ma_statistics}, {"D3D12MA: JSON", test_ma_json},
    {"D3D12MA: virtual blocks", test_ma_virtual_blocks}, {"D3D12MA: defragmentation", test_ma_defragmentation},
    {"D3D12MA: misuse", test_ma_misuse}, {"D3D12MA: extension", test_ma_extension}};

static bool is_selected(const char *name, int count, char **names) {
    for (int i = 0; i < count; i++) {
        if (!std::strcmp(names[i], name)) return true;
    }
    return count == 0;
}

int main(int count, char **arguments) {
    if (count < 2) {
        std::puts("missing argument: path of the library with the device, or system");
        return 2;
    }
    environment env;
    const bool is_system = !std::strcmp(arguments[1], "system");
    if (!open(is_system ? "" : arguments[1], env)) return 1;
    const unsigned live = live_objects(env);
    for (const test &test : TESTS) {
        if (!is_selected(test.name, count - 2, arguments + 2)) continue;
        const unsigned before = failures;
        test.run(env);
        EXPECT(live_objects(env) == live);
        EXPECT(env.device->AddRef() == 2);
        env.device->Release();
        std::printf("%s: %s\n", test.name, failures == before ? "ok" : "FAILED");
        std::fflush(stdout);
    }
    if (env.is_ours) EXPECT(env.device->Release() == 0);
    else env.device->Release();
    env.device.self = nullptr;
    env.adapter->Release();
    if (failures) {
        std::printf("%u of %u checks failed\n", failures, checks);
        return 1;
    }
    std::printf("all is well: %u checks\n", checks);
    return 0;
}
