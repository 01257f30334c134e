# find_package(heapwright) defines the target heapwright::heapwright: the shared library if it is there, otherwise the static one.
# heapwright::static is always the static one. The library itself is named gpgmm_d3d12.
get_filename_component(_heapwright_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# What the cache has may be of another prefix. Only this one is searched, also when cross-compiling.
foreach(_heapwright_result INCLUDE_DIR STATIC_LIBRARY SHARED_LIBRARY)
    unset(HEAPWRIGHT_${_heapwright_result} CACHE)
endforeach()
find_path(HEAPWRIGHT_INCLUDE_DIR gpgmm_d3d12.h
    HINTS "${_heapwright_prefix}/include" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_library(HEAPWRIGHT_STATIC_LIBRARY
    NAMES libgpgmm_d3d12.a gpgmm_d3d12.lib
    HINTS "${_heapwright_prefix}" PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
# For MinGW, cargo and cargo-c name the import library of the DLL differently.
find_library(HEAPWRIGHT_SHARED_LIBRARY
    NAMES libgpgmm_d3d12.so libgpgmm_d3d12.dll.a gpgmm_d3d12.dll.a gpgmm_d3d12.dll.lib
    HINTS "${_heapwright_prefix}" PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(HEAPWRIGHT_INCLUDE_DIR HEAPWRIGHT_STATIC_LIBRARY HEAPWRIGHT_SHARED_LIBRARY)

if(NOT HEAPWRIGHT_INCLUDE_DIR OR NOT (HEAPWRIGHT_SHARED_LIBRARY OR HEAPWRIGHT_STATIC_LIBRARY))
    set(heapwright_FOUND FALSE)
    set(heapwright_NOT_FOUND_MESSAGE "gpgmm_d3d12.h or the library is not below ${_heapwright_prefix}")
    return()
endif()

if(NOT WIN32)
    # Microsoft's DirectX-Headers: the directory that contains directx/ and wsl/.
    find_path(HEAPWRIGHT_DIRECTX_HEADERS directx/d3d12.h)
    mark_as_advanced(HEAPWRIGHT_DIRECTX_HEADERS)
    if(NOT HEAPWRIGHT_DIRECTX_HEADERS)
        set(heapwright_FOUND FALSE)
        set(heapwright_NOT_FOUND_MESSAGE
            "heapwright needs Microsoft's DirectX-Headers: install them, or set HEAPWRIGHT_DIRECTX_HEADERS to the directory that contains directx/d3d12.h")
        return()
    endif()
endif()

function(_heapwright_common target)
    target_include_directories(${target} INTERFACE "${HEAPWRIGHT_INCLUDE_DIR}")
    target_compile_features(${target} INTERFACE cxx_std_17)
    if(NOT WIN32)
        # The headers include each other by these paths.
        target_include_directories(${target} SYSTEM INTERFACE "${HEAPWRIGHT_DIRECTX_HEADERS}"
            "${HEAPWRIGHT_DIRECTX_HEADERS}/wsl/stubs" "${HEAPWRIGHT_DIRECTX_HEADERS}/directx")
    endif()
endfunction()

if(HEAPWRIGHT_STATIC_LIBRARY AND NOT TARGET heapwright::static)
    add_library(heapwright::static INTERFACE IMPORTED)
    _heapwright_common(heapwright::static)
    target_link_libraries(heapwright::static INTERFACE "${HEAPWRIGHT_STATIC_LIBRARY}")
    if(WIN32)
        # What Rust's standard library needs.
        target_link_libraries(heapwright::static INTERFACE kernel32 ntdll userenv ws2_32 dbghelp)
    else()
        # Sections that are not used refer to functions that only Windows has.
        target_link_libraries(heapwright::static INTERFACE -Wl,--gc-sections pthread dl m)
    endif()
endif()
if(NOT TARGET heapwright::heapwright)
    add_library(heapwright::heapwright INTERFACE IMPORTED)
    if(HEAPWRIGHT_SHARED_LIBRARY)
        _heapwright_common(heapwright::heapwright)
        target_link_libraries(heapwright::heapwright INTERFACE "${HEAPWRIGHT_SHARED_LIBRARY}")
        target_compile_definitions(heapwright::heapwright INTERFACE GPGMM_SHARED_LIBRARY D3D12MA_IMPORTS)
    else()
        target_link_libraries(heapwright::heapwright INTERFACE heapwright::static)
    endif()
endif()
set(heapwright_FOUND TRUE)
