/*
 * The one function of Windows' bcryptprimitives.dll that Rust's std uses (for the seed of a hash map), over the random
 * bytes of advapi32.dll. Wine has the library since version 9.
 */
#include <stddef.h>

/* RtlGenRandom, under the name that it is exported by. */
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *bytes, unsigned long count);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, size_t count) {
    while (count > 0) {
        unsigned long part = count < 0x10000000 ? (unsigned long)count : 0x10000000ul;
        if (!SystemFunction036(bytes, part)) return 0;
        bytes += part;
        count -= part;
    }
    return 1;
}
