/*
 * A C program that uses the library through Direct3D 12's functions. argv[1] is the library's path.
 *
 * There are no official headers for C on Linux, so the required vtable slots, structures and constants are declared here.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
/* A HANDLE refers to an event object. */
static void *create_event(void) { return (void *)CreateEventA(NULL, FALSE, FALSE, NULL); }
static int wait_for_event(void *event) { return WaitForSingleObject((HANDLE)event, 30000) == WAIT_OBJECT_0; }
static void close_event(void *event) { CloseHandle((HANDLE)event); }
#define HAS_EVENTS 1
static void *open_library(const char *path) { return (void *)LoadLibraryA(path); }
static void *find(void *library, const char *name) { return (void *)GetProcAddress((HMODULE)library, name); }
#define API __stdcall
#else
#include <dlfcn.h>
#ifdef __linux__
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
/* A HANDLE is the file descriptor of an eventfd. */
static void *create_event(void) { return (void *)(intptr_t)eventfd(0, EFD_CLOEXEC); }
static int wait_for_event(void *event) {
    struct pollfd entry = {(int)(intptr_t)event, POLLIN, 0};
    uint64_t counter = 0;
    return poll(&entry, 1, 30000) == 1 && read(entry.fd, &counter, sizeof counter) == 8 && counter == 1;
}
static void close_event(void *event) { close((int)(intptr_t)event); }
#define HAS_EVENTS 1
#endif
static void *open_library(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }
static void *find(void *library, const char *name) { return dlsym(library, name); }
#define API
#endif

typedef struct { uint32_t a; uint16_t b, c; uint8_t d[8]; } guid;

static const guid IID_Factory1 = {0x770aae78, 0xf26f, 0x4dba, {0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}};
static const guid IID_Device = {0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}};
static const guid IID_Heap = {0x6b3b2502, 0x6e51, 0x45b3, {0x90, 0xee, 0x98, 0x84, 0x26, 0x5e, 0x8d, 0xf3}};
static const guid IID_Resource = {0x696442be, 0xa72e, 0x4059, {0xbc, 0x79, 0x5b, 0x5c, 0x98, 0x04, 0x0f, 0xad}};
static const guid IID_Fence = {0x0a753dcf, 0xc4d8, 0x4b91, {0xad, 0xf6, 0xbe, 0x5a, 0x60, 0xd9, 0x5a, 0x76}};
static const guid IID_Debug = {0x344488b7, 0x6846, 0x474b, {0xb9, 0x89, 0xf0, 0x27, 0x44, 0x82, 0x45, 0xe0}};
static const guid IID_InfoQueue = {0x0742a90b, 0xc387, 0x483f, {0xb9, 0x46, 0x30, 0xa7, 0xe4, 0xe6, 0x14, 0x58}};

typedef int32_t result;
#define RESULT_S_FALSE 1
#define RESULT_E_INVALIDARG ((result)0x80070057)

/* An object is a pointer to a vtable. */
typedef struct { void **table; } object;
#define SLOT(self, slot, type) ((type)((self)->table[slot]))

/* IUnknown */
#define QUERY_INTERFACE 0
#define ADD_REF 1
#define RELEASE 2
typedef result(API *query_interface)(object *, const guid *, void **);
typedef uint32_t(API *reference)(object *);
static uint32_t release(object *self) { return SLOT(self, RELEASE, reference)(self); }

/* IDXGIFactory1, IDXGIAdapter1 */
#define FACTORY_ENUM_ADAPTERS1 12
#define ADAPTER_GET_DESC1 10
typedef struct {
    uint16_t description[128];
    uint32_t vendor, device, subsystem, revision;
    size_t dedicated_video_memory, dedicated_system_memory, shared_system_memory;
    uint32_t luid_low;
    int32_t luid_high;
    uint32_t flags;
} adapter_desc1;
typedef result(API *enum_adapters1)(object *, uint32_t, object **);
typedef result(API *get_desc1)(object *, adapter_desc1 *);

/* ID3D12Device */
#define DEVICE_GET_NODE_COUNT 7
#define DEVICE_GET_RESOURCE_ALLOCATION_INFO 25
#define DEVICE_GET_CUSTOM_HEAP_PROPERTIES 26
#define DEVICE_CREATE_HEAP 28
#define DEVICE_CREATE_PLACED_RESOURCE 29
#define DEVICE_CREATE_FENCE 36
#define DEVICE_GET_ADAPTER_LUID 43
typedef struct { int32_t type, cpu_page_property, memory_pool; uint32_t creation_node, visible_node; } heap_properties;
typedef struct { uint64_t size; heap_properties properties; uint64_t alignment; uint32_t flags; } heap_desc;
typedef struct {
    int32_t dimension;
    uint64_t alignment, width;
    uint32_t height;
    uint16_t depth_or_array_size, mip_levels;
    int32_t format;
    uint32_t sample_count, sample_quality;
    int32_t layout;
    uint32_t flags;
} resource_desc;
typedef struct { uint64_t size, alignment; } allocation_info;
typedef struct { uint32_t low; int32_t high; } luid;
typedef uint32_t(API *get_node_count)(object *);
/* Methods that return a structure take a pointer to it after `this`, and return this pointer. */
typedef allocation_info *(API *get_resource_allocation_info)(
    object *, allocation_info *, uint32_t, uint32_t, const resource_desc *);
typedef heap_properties *(API *get_custom_heap_properties)(object *, heap_properties *, uint32_t, int32_t);
typedef luid *(API *get_adapter_luid)(object *, luid *);
typedef result(API *create_heap)(object *, const heap_desc *, const guid *, object **);
typedef result(API *create_placed_resource)(
    object *, object *, uint64_t, const resource_desc *, uint32_t, const void *, const guid *, object **);

/* ID3D12Heap, ID3D12Resource */
#define HEAP_GET_DESC 8
#define RESOURCE_MAP 8
#define RESOURCE_UNMAP 9
#define RESOURCE_GET_DESC 10
#define RESOURCE_GET_GPU_VIRTUAL_ADDRESS 11
typedef heap_desc *(API *heap_get_desc)(object *, heap_desc *);
typedef resource_desc *(API *resource_get_desc)(object *, resource_desc *);
typedef result(API *resource_map)(object *, uint32_t, const void *, void **);
typedef void(API *resource_unmap)(object *, uint32_t, const void *);
typedef uint64_t(API *get_gpu_virtual_address)(object *);

/* ID3D12Fence */
#define FENCE_GET_COMPLETED_VALUE 8
#define FENCE_SET_EVENT_ON_COMPLETION 9
#define FENCE_SIGNAL 10
typedef result(API *create_fence)(object *, uint64_t, int32_t, const guid *, object **);
typedef uint64_t(API *get_completed_value)(object *);
typedef result(API *set_event_on_completion)(object *, uint64_t, void *);
typedef result(API *fence_signal)(object *, uint64_t);

/* ID3D12Debug, ID3D12InfoQueue */
#define DEBUG_ENABLE_DEBUG_LAYER 3
#define INFO_QUEUE_GET_MESSAGE 5
#define INFO_QUEUE_GET_NUM_STORED_MESSAGES 8
typedef struct { int32_t category, severity, id; const char *description; size_t description_length; } message;
typedef void(API *enable_debug_layer)(object *);
typedef result(API *get_message)(object *, uint64_t, message *, size_t *);
typedef uint64_t(API *get_num_stored_messages)(object *);

/* The exported functions. */
typedef result(API *create_dxgi_factory1)(const guid *, object **);
typedef result(API *create_dxgi_factory2)(uint32_t, const guid *, object **);
typedef result(API *create_device)(object *, int32_t, const guid *, object **);
typedef result(API *get_debug_interface)(const guid *, object **);
typedef result(API *get_interface)(const guid *, const guid *, object **);

#define FEATURE_LEVEL_11_0 0xb000
#define HEAP_TYPE_DEFAULT 1
#define HEAP_TYPE_UPLOAD 2
#define HEAP_TYPE_CUSTOM 4
#define CPU_PAGE_PROPERTY_NOT_AVAILABLE 1
#define HEAP_FLAG_ALLOW_ONLY_BUFFERS 0xc0
#define DIMENSION_BUFFER 1
#define LAYOUT_ROW_MAJOR 1
#define STATE_GENERIC_READ 0xac3
#define SEVERITY_ERROR 1
#define MESSAGE_ID_CREATEHEAP 632
#define KIB64 ((uint64_t)65536)

static unsigned checks;

#define CHECK(condition)                                                          \
    do {                                                                          \
        checks++;                                                                 \
        if (!(condition)) {                                                       \
            printf("line %d: check failed: %s\n", __LINE__, #condition);                \
            return 1;                                                             \
        }                                                                         \
    } while (0)

static int use_memory(object *device) {
    heap_desc wanted = {KIB64 * 4, {HEAP_TYPE_UPLOAD, 0, 0, 0, 0}, 0, HEAP_FLAG_ALLOW_ONLY_BUFFERS};
    resource_desc buffer = {DIMENSION_BUFFER, 0, 100000, 1, 1, 1, 0, 1, 0, LAYOUT_ROW_MAJOR, 0};
    resource_desc pair[2];
    heap_desc heap_got;
    resource_desc buffer_got;
    allocation_info info;
    heap_properties properties;
    object *heap = NULL, *resource = NULL;
    uint8_t *bytes = NULL;
    int i, is_same = 1;

    /* Two buffers of 100000 bytes: the second begins at 128 KiB. */
    pair[0] = pair[1] = buffer;
    memset(&info, 0xee, sizeof info);
    CHECK(SLOT(device, DEVICE_GET_RESOURCE_ALLOCATION_INFO, get_resource_allocation_info)(
              device, &info, 0, 2, pair) == &info);
    CHECK(info.alignment == KIB64 && info.size == 4 * KIB64);

    memset(&properties, 0xee, sizeof properties);
    CHECK(SLOT(device, DEVICE_GET_CUSTOM_HEAP_PROPERTIES, get_custom_heap_properties)(
              device, &properties, 0, HEAP_TYPE_DEFAULT) == &properties);
    CHECK(properties.type == HEAP_TYPE_CUSTOM);
    CHECK(properties.cpu_page_property == CPU_PAGE_PROPERTY_NOT_AVAILABLE);

    CHECK(SLOT(device, DEVICE_CREATE_HEAP, create_heap)(device, &wanted, &IID_Heap, &heap) == 0 && heap);
    memset(&heap_got, 0xee, sizeof heap_got);
    CHECK(SLOT(heap, HEAP_GET_DESC, heap_get_desc)(heap, &heap_got) == &heap_got);
    CHECK(heap_got.size == wanted.size && heap_got.alignment == KIB64 && heap_got.flags == wanted.flags);
    CHECK(heap_got.properties.type == HEAP_TYPE_UPLOAD);

    CHECK(SLOT(device, DEVICE_CREATE_PLACED_RESOURCE, create_placed_resource)(
              device, heap, KIB64, &buffer, STATE_GENERIC_READ, NULL, &IID_Resource, &resource) == 0 && resource);
    memset(&buffer_got, 0xee, sizeof buffer_got);
    CHECK(SLOT(resource, RESOURCE_GET_DESC, resource_get_desc)(resource, &buffer_got) == &buffer_got);
    CHECK(buffer_got.dimension == DIMENSION_BUFFER && buffer_got.width == 100000);
    CHECK(buffer_got.layout == LAYOUT_ROW_MAJOR && buffer_got.flags == 0 && buffer_got.sample_count == 1);
    CHECK(SLOT(resource, RESOURCE_GET_GPU_VIRTUAL_ADDRESS, get_gpu_virtual_address)(resource) % KIB64 == 0);

    CHECK(SLOT(resource, RESOURCE_MAP, resource_map)(resource, 0, NULL, (void **)&bytes) == 0 && bytes);
    for (i = 0; i < 100000; i++) bytes[i] = (uint8_t)(i * 7);
    SLOT(resource, RESOURCE_UNMAP, resource_unmap)(resource, 0, NULL);
    bytes = NULL;
    CHECK(SLOT(resource, RESOURCE_MAP, resource_map)(resource, 0, NULL, (void **)&bytes) == 0 && bytes);
    for (i = 0; i < 100000; i++) is_same &= bytes[i] == (uint8_t)(i * 7);
    CHECK(is_same);
    SLOT(resource, RESOURCE_UNMAP, resource_unmap)(resource, 0, NULL);

    /* The resource keeps its heap. */
    CHECK(release(heap) == 0);
    CHECK(release(resource) == 0);
    return 0;
}

#ifdef HAS_EVENTS
static int wait_for_fence(object *device) {
    object *fence = NULL;
    void *event = create_event();

    CHECK(SLOT(device, DEVICE_CREATE_FENCE, create_fence)(device, 5, 0, &IID_Fence, &fence) == 0 && fence);
    CHECK(SLOT(fence, FENCE_SET_EVENT_ON_COMPLETION, set_event_on_completion)(fence, 7, event) == 0);
    CHECK(SLOT(fence, FENCE_SIGNAL, fence_signal)(fence, 7) == 0);
    CHECK(SLOT(fence, FENCE_GET_COMPLETED_VALUE, get_completed_value)(fence) == 7);
    CHECK(wait_for_event(event));
    close_event(event);
    CHECK(release(fence) == 0);
    return 0;
}
#endif

static int read_messages(object *device) {
    object *queue = NULL, *heap = (object *)1;
    union { message message; char bytes[1024]; } buffer;
    size_t length = 0;

    CHECK(SLOT(device, QUERY_INTERFACE, query_interface)(device, &IID_InfoQueue, (void **)&queue) == 0 && queue);
    CHECK(SLOT(queue, INFO_QUEUE_GET_NUM_STORED_MESSAGES, get_num_stored_messages)(queue) == 0);
    CHECK(SLOT(device, DEVICE_CREATE_HEAP, create_heap)(device, NULL, &IID_Heap, &heap) == RESULT_E_INVALIDARG);
    CHECK(heap == NULL);
    CHECK(SLOT(queue, INFO_QUEUE_GET_NUM_STORED_MESSAGES, get_num_stored_messages)(queue) == 1);
    CHECK(SLOT(queue, INFO_QUEUE_GET_MESSAGE, get_message)(queue, 0, NULL, &length) == RESULT_S_FALSE);
    CHECK(length > sizeof(message) && length <= sizeof buffer);
    CHECK(SLOT(queue, INFO_QUEUE_GET_MESSAGE, get_message)(queue, 0, &buffer.message, &length) == 0);
    CHECK(buffer.message.severity == SEVERITY_ERROR && buffer.message.id != 0);
    CHECK(strlen(buffer.message.description) + 1 == buffer.message.description_length);
    CHECK(strstr(buffer.message.description, "pDesc is null"));
    release(queue);
    return 0;
}

int main(int argc, char **argv) {
    void *library;
    create_dxgi_factory1 factory1;
    create_dxgi_factory2 factory2;
    create_device device_function;
    get_debug_interface debug_function;
    object *factory = NULL, *adapter = NULL, *debug = NULL, *device = NULL;
    adapter_desc1 desc;
    luid id;

    CHECK(argc == 2);
    library = open_library(argv[1]);
    CHECK(library);
    CHECK(find(library, "CreateDXGIFactory") && find(library, "D3D12GetInterface"));
    CHECK(find(library, "D3D12EnableExperimentalFeatures"));
    factory1 = (create_dxgi_factory1)find(library, "CreateDXGIFactory1");
    factory2 = (create_dxgi_factory2)find(library, "CreateDXGIFactory2");
    device_function = (create_device)find(library, "D3D12CreateDevice");
    debug_function = (get_debug_interface)find(library, "D3D12GetDebugInterface");
    CHECK(factory1 && factory2 && device_function && debug_function);

    CHECK(factory2(0, &IID_Factory1, &factory) == 0 && factory);
    CHECK(release(factory) == 0);
    CHECK(factory1(&IID_Factory1, &factory) == 0 && factory);
    CHECK(SLOT(factory, FACTORY_ENUM_ADAPTERS1, enum_adapters1)(factory, 0, &adapter) == 0 && adapter);
    memset(&desc, 0xee, sizeof desc);
    CHECK(SLOT(adapter, ADAPTER_GET_DESC1, get_desc1)(adapter, &desc) == 0);
    CHECK(desc.description[0] != 0 && desc.description[127] == 0 && desc.dedicated_video_memory > 0);

    CHECK(debug_function(&IID_Debug, &debug) == 0 && debug);
    SLOT(debug, DEBUG_ENABLE_DEBUG_LAYER, enable_debug_layer)(debug);
    CHECK(release(debug) == 0);

    CHECK(device_function(adapter, FEATURE_LEVEL_11_0, &IID_Device, NULL) == RESULT_S_FALSE);
    CHECK(device_function(adapter, FEATURE_LEVEL_11_0, &IID_Device, &device) == 0 && device);
    CHECK(SLOT(device, DEVICE_GET_NODE_COUNT, get_node_count)(device) == 1);
    CHECK(SLOT(device, DEVICE_GET_ADAPTER_LUID, get_adapter_luid)(device, &id) == &id);
    CHECK(id.low == desc.luid_low && id.high == desc.luid_high);

    if (use_memory(device) || read_messages(device)) return 1;
#ifdef HAS_EVENTS
    if (wait_for_fence(device)) return 1;
#endif

    CHECK(SLOT(device, ADD_REF, reference)(device) == 2);
    CHECK(release(device) == 1);
    CHECK(release(device) == 0);
    release(adapter);
    CHECK(release(factory) == 0);
    printf("all is well: %u checks\n", checks);
    return 0;
}
