/*
 * Common parts of the C++ programs: the official headers, events, libraries, and methods that return structures.
 */
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

#ifdef _WIN32
#include <windows.h>
#include <dxgi1_4.h>
#else
#include <wsl/winadapter.h>
#include <dlfcn.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#endif
#include <d3d12.h>
#include <d3d12sdklayers.h>
#include <dxguids.h>

inline unsigned checks;

#define CHECK(condition)                                                              \
    do {                                                                              \
        checks++;                                                                     \
        if (!(condition)) {                                                           \
            std::printf("line %d: not so: %s\n", __LINE__, #condition);               \
            return false;                                                             \
        }                                                                             \
    } while (0)

#ifdef _WIN32
inline HANDLE create_event() { return CreateEventW(nullptr, FALSE, FALSE, nullptr); }
inline bool wait_for(HANDLE event) { return WaitForSingleObject(event, 30000) == WAIT_OBJECT_0; }
inline void close_event(HANDLE event) { CloseHandle(event); }
inline void *open_library(const char *path) { return reinterpret_cast<void *>(LoadLibraryA(path)); }
inline void *find(void *library, const char *name) {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}
#else
/* A HANDLE is the file descriptor of an eventfd. */
inline HANDLE create_event() { return reinterpret_cast<HANDLE>(intptr_t(eventfd(0, EFD_CLOEXEC))); }
inline bool wait_for(HANDLE event) {
    pollfd entry = {int(reinterpret_cast<intptr_t>(event)), POLLIN, 0};
    uint64_t counter = 0;
    return poll(&entry, 1, 30000) == 1 && read(entry.fd, &counter, sizeof counter) == 8 && counter == 1;
}
inline void close_event(HANDLE event) { close(int(reinterpret_cast<intptr_t>(event))); }
inline void *open_library(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }
inline void *find(void *library, const char *name) { return dlsym(library, name); }
#endif

/*
 * Methods that return a structure take a pointer to it after `this`, and return this pointer. mingw's headers declare them
 * this way. The headers for Linux declare them as returning the structure, for which g++ passes the pointer before `this`, so
 * the slot of the vtable is called directly.
 */
#ifdef _WIN32
#define RETURNED(structure, object, method, slot, ...) \
    ((object)->method(&(structure), ##__VA_ARGS__) == &(structure))
#else
template <typename Structure, typename... Args>
bool call_slot(void *object, unsigned slot, Structure *structure, Args... args) {
    auto table = *static_cast<void ***>(object);
    auto method = reinterpret_cast<Structure *(*)(void *, Structure *, Args...)>(table[slot]);
    return method(object, structure, args...) == structure;
}
#define RETURNED(structure, object, method, slot, ...) call_slot(object, slot, &(structure), ##__VA_ARGS__)
#endif

typedef HRESULT(WINAPI *create_device)(IUnknown *, D3D_FEATURE_LEVEL, REFIID, void **);
typedef HRESULT(WINAPI *get_debug_interface)(REFIID, void **);
#ifdef _WIN32
typedef HRESULT(WINAPI *create_factory)(UINT, REFIID, void **);
#endif

/* A smart pointer that releases an interface. */
template <typename T> struct held {
    T *self = nullptr;
    held() = default;
    held(const held &) = delete;
    held &operator=(const held &) = delete;
    ~held() { release(); }
    T *operator->() const { return self; }
    operator T *() const { return self; }
    ULONG release() {
        T *last = self;
        self = nullptr;
        return last ? last->Release() : 0;
    }
    void **out() { return reinterpret_cast<void **>(&self); }
    static GUID id() { return uuidof<T>(); }
};

inline D3D12_RESOURCE_DESC buffer_desc(UINT64 size, D3D12_RESOURCE_FLAGS flags = D3D12_RESOURCE_FLAG_NONE) {
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = size;
    desc.Height = 1;
    desc.DepthOrArraySize = 1;
    desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    desc.Flags = flags;
    return desc;
}

inline D3D12_RESOURCE_DESC texture_desc(UINT64 width, UINT height) {
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
    desc.Width = width;
    desc.Height = height;
    desc.DepthOrArraySize = 1;
    desc.MipLevels = 1;
    desc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    desc.SampleDesc.Count = 1;
    return desc;
}
