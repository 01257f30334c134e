/* RECORD_OPTIONS: what is recorded, in which file. */
#include "environment.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

static bool exists(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (file) std::fclose(file);
    return file != nullptr;
}

static std::string contents(const char *path) {
    std::string bytes;
    std::FILE *file = std::fopen(path, "rb");
    if (!EXPECT(file)) return bytes;
    for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file)) bytes.push_back(char(byte));
    std::fclose(file);
    return bytes;
}

static bool contains(const std::string &bytes, const char *part) { return bytes.find(part) != std::string::npos; }

/* Whether the file has the header of its format, and is complete if that can be seen. */
static bool is_recording(const std::string &bytes, const char *path) {
    if (std::strstr(path, ".hws")) return bytes.compare(0, 8, "\x89HWS\r\n\x1a\n") == 0;
    return bytes.compare(0, 19, "{\"displayTimeUnit\":") == 0 && bytes.size() > 4 && bytes.compare(bytes.size() - 4, 4, "\n]}\n") == 0;
}

/* Executes an empty command list that uses the allocation. */
static void submit(const environment &env, IResidencyManager *manager, IResourceAllocation *allocation) {
    direct_queue direct;
    held<IResidencyList> list;
    REQUIRE(direct.create(env) && CreateResidencyList(&list.self) == S_OK);
    EXPECT(direct.recorded->Close() == S_OK && list->Add(allocation->GetMemory()) == S_OK);
    ID3D12CommandList *command_lists[] = {direct.recorded};
    IResidencyList *lists[] = {list};
    EXPECT(manager->ExecuteCommandLists(direct.queue, command_lists, lists, 1) == S_OK);
    direct.wait();
}

static size_t count(const std::string &bytes, const std::string &part) {
    size_t found = 0;
    for (size_t at = bytes.find(part); at != std::string::npos; at = bytes.find(part, at + part.size())) found++;
    return found;
}

/* The number of threads of this process, where the system says it. */
static unsigned threads() {
    unsigned number = 0;
#ifdef __linux__
    if (std::FILE *status = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, status)) std::sscanf(line, "Threads: %u", &number);
        std::fclose(status);
    }
    EXPECT(number > 0);
#endif
    return number;
}

/* Uses a buffer with a name, and releases all. */
static void use(const environment &env, held<IResourceAllocator> &allocator, held<IResidencyManager> &manager) {
    held<IResourceAllocation> buffer;
    REQUIRE(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 4096, &buffer.self) == S_OK);
    EXPECT(buffer->SetDebugName(L"recorded buffer") == S_OK);
    submit(env, manager, buffer);
    buffer.release();
    allocator.release();
    manager.release();
}

/* Whether the process has this number of threads. A thread that was joined may count for a moment. */
static bool has_threads(unsigned number) {
    for (int i = 0; i < 1000 && threads() != number; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return threads() == number;
}

/* Counters, of which QueryStats records each time. Each instance has a new file. */
static void test_counters(const environment &env) {
    const char *paths[] = {"gpgmm_event_trace.1.json", "gpgmm_event_trace.2.json", "gpgmm_event_trace.3.json"};
    for (const char *path : paths) std::remove(path);
    RESIDENCY_MANAGER_DESC manager_desc = {};
    RESOURCE_ALLOCATOR_DESC desc = {};
    manager_desc.RecordOptions = desc.RecordOptions = {RECORD_FLAG_COUNTERS, RECORD_SCOPE_PER_INSTANCE, false, nullptr};
    held<IResidencyManager> manager;
    held<IResourceAllocator> allocator, without;
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, &allocator.self) == S_OK);
    desc.RecordOptions.Flags = RECORD_FLAG_CAPTURE;
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, &without.self) == S_OK);
    for (int i = 0; i < 50; i++) {
        EXPECT(allocator->QueryStats(nullptr) == S_FALSE && without->QueryStats(nullptr) == S_FALSE);
        EXPECT(manager->QueryStats(nullptr) == S_FALSE);
    }
    RESIDENCY_MANAGER_STATS manager_stats;
    RESOURCE_ALLOCATOR_STATS stats;
    EXPECT(manager->QueryStats(&manager_stats) == S_OK && allocator->QueryStats(&stats) == S_OK);
    allocator.release();
    without.release();
    manager.release();
    for (const char *path : paths) EXPECT(is_recording(contents(path), path));
    EXPECT(count(contents(paths[0]), "\"resident\":") == 2 * 51);
    EXPECT(count(contents(paths[1]), "\"reserved\":") == 51);
    EXPECT(count(contents(paths[2]), "\"reserved\":") == 0);
}

/* What GPGMM's capture replay repeats: allocators with each algorithm, of which only the first has options, and a manager with
 * submissions. The program that starts this one replays it. */
static void record_played(const environment &env) {
    std::remove("played.json");
    RESIDENCY_MANAGER_DESC manager_desc = {};
    RESOURCE_ALLOCATOR_DESC desc = {};
    manager_desc.RecordOptions = {RECORD_FLAG_CAPTURE, RECORD_SCOPE_PER_PROCESS, false, "played.json"};
    held<IResidencyManager> manager;
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    for (auto algorithm : {RESOURCE_ALLOCATION_ALGORITHM_DEFAULT, RESOURCE_ALLOCATION_ALGORITHM_SLAB,
             RESOURCE_ALLOCATION_ALGORITHM_BUDDY_SYSTEM, RESOURCE_ALLOCATION_ALGORITHM_DEDICATED}) {
        desc.SubAllocationAlgorithm = algorithm;
        held<IResourceAllocator> allocator;
        REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager.self, &allocator.self) == S_OK);
        held<IResourceAllocation> buffers[5];
        for (size_t i = 0; i < 5; i++) {
            const auto type = i == 3 ? D3D12_HEAP_TYPE_UPLOAD : D3D12_HEAP_TYPE_DEFAULT;
            const auto flags = i == 4 ? RESOURCE_ALLOCATION_FLAG_ALWAYS_COMMITTED : RESOURCE_ALLOCATION_FLAG_NONE;
            REQUIRE(create_buffer(allocator, type, 65536 << i, &buffers[i].self, flags) == S_OK);
        }
        EXPECT(FAILED(create_buffer(allocator, D3D12_HEAP_TYPE_DEFAULT, 0, nullptr)));
        for (size_t i = 0; i < 2; i++) submit(env, manager, buffers[i]);
    }
    manager.release();
}

/* Calls that only test change no file. */
static void test_calls(const environment &env) {
    const char *path = "tested.json";
    RESOURCE_ALLOCATOR_DESC desc = {};
    RESIDENCY_MANAGER_DESC manager_desc = {};
    held<IResourceAllocator> parent;
    held<IResidencyManager> manager, unused;
    create_allocator(env, parent);
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    for (auto flags : {RECORD_FLAG_API_OBJECTS, RECORD_FLAG_API_CALLS, RECORD_FLAG_API_TIMINGS, RECORD_FLAG_COUNTERS, RECORD_FLAG_ALL}) {
        std::remove(path);
        desc.RecordOptions = manager_desc.RecordOptions = {flags, RECORD_SCOPE_PER_INSTANCE, true, path};
        IResourceAllocator **test = nullptr;
        EXPECT(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), nullptr) == S_FALSE);
        EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), test, nullptr) == S_FALSE);
        EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), test, &unused.self) == S_FALSE && !unused);
        EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, test) == S_FALSE);
        EXPECT(CreateResourceAllocator(desc, parent, test) == S_FALSE);
        EXPECT(!exists(path));
    }
}

void test_recording(const environment &env) {
    RESOURCE_ALLOCATOR_DESC desc = {};
    RESIDENCY_MANAGER_DESC manager_desc = {};
    held<IResourceAllocator> allocator, other;
    held<IResidencyManager> manager;
    const unsigned threads_before = threads();
    EXPECT((RECORD_FLAG_API_OBJECTS | RECORD_FLAG_API_CALLS) == RECORD_FLAG_CAPTURE);
    test_calls(env);
    test_counters(env);
    record_played(env);

    /* All instances of the process in one file, to which a manager that the allocator creates belongs. */
    for (const char *path : {"process.hws", "process.json"}) {
        std::remove(path);
        desc.RecordOptions = {RECORD_FLAG_ALL, RECORD_SCOPE_PER_PROCESS, true, path};
        REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);
        use(env, allocator, manager);
        const std::string bytes = contents(path);
        EXPECT(is_recording(bytes, path) && contains(bytes, "recorded buffer"));
        EXPECT(path == std::string("process.hws") || contains(bytes, "\"ResidencyManager.ExecuteCommandLists\""));
    }

    /* A file for each. */
    const char *files[][2] = {{"allocator.hws", "manager.hws"}, {"allocator.json", "manager.json"}};
    for (auto paths : files) {
        std::remove(paths[0]);
        std::remove(paths[1]);
        desc.RecordOptions = {RECORD_FLAG_ALL, RECORD_SCOPE_PER_INSTANCE, false, paths[0]};
        manager_desc.RecordOptions = {RECORD_FLAG_ALL, RECORD_SCOPE_PER_INSTANCE, false, paths[1]};
        REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
        REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, &allocator.self) == S_OK);
        EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, &other.self) == E_INVALIDARG && !other);
        use(env, allocator, manager);
        const std::string bytes = contents(paths[0]), of_manager = contents(paths[1]);
        EXPECT(is_recording(bytes, paths[0]) && contains(bytes, "recorded buffer"));
        EXPECT(is_recording(of_manager, paths[1]) && !contains(of_manager, "recorded buffer"));
        EXPECT(paths != files[1] || contains(of_manager, "\"ResidencyManager.ExecuteCommandLists\""));
    }

    /* The file of one allocator is not its new manager's. */
    std::remove("alone.json");
    desc.RecordOptions = {RECORD_FLAG_ALL, RECORD_SCOPE_PER_INSTANCE, false, "alone.json"};
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, &manager.self) == S_OK);
    use(env, allocator, manager);
    const std::string alone = contents("alone.json");
    EXPECT(contains(alone, "recorded buffer") && !contains(alone, "ResidencyManager"));

    /* Nothing. */
    std::remove("nothing.json");
    desc.RecordOptions = manager_desc.RecordOptions = {RECORD_FLAG_NONE, RECORD_SCOPE_PER_PROCESS, false, "nothing.json"};
    REQUIRE(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == S_OK);
    REQUIRE(CreateResourceAllocator(desc, env.device, env.dxgi(), manager, &allocator.self) == S_OK);
    use(env, allocator, manager);
    EXPECT(!exists("nothing.json"));

    /* What is refused. */
    const RECORD_OPTIONS wrong[] = {
        {RECORD_FLAG_ALL, RECORD_SCOPE_PER_INSTANCE, false, "no such folder/trace.json"},
        {RECORD_FLAGS(0x100), RECORD_SCOPE_PER_PROCESS, false, nullptr},
        {RECORD_FLAG_NONE, RECORD_SCOPE(2), false, nullptr},
        {RECORD_FLAG_NONE, RECORD_SCOPE_PER_PROCESS, false, "\xff"},
    };
    for (const RECORD_OPTIONS &options : wrong) {
        desc.RecordOptions = manager_desc.RecordOptions = options;
        EXPECT(CreateResourceAllocator(desc, env.device, env.dxgi(), &allocator.self, nullptr) == E_INVALIDARG && !allocator);
        EXPECT(CreateResidencyManager(manager_desc, env.device, env.dxgi3(), &manager.self) == E_INVALIDARG && !manager);
    }

    /* No thread is left when all is released, so that the library can be unloaded. */
    EXPECT(has_threads(threads_before));
}
