/* Between the test program and the calls that are compiled for Microsoft's C++ ABI. */
#pragma once

/* What the calls returned. */
struct microsoft_results {
    long created, imported, stats, manager;
    unsigned long long size, alignment, heap_size, heap_alignment, used;
    int type, imported_type, heap_status;
    bool is_locked;
    unsigned long last_count;
};

extern "C" void call_as_microsoft(
    void *allocator, const void *resource_desc, int state, void *resource, microsoft_results *out);
