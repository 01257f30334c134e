# find_package(gpgmm_d3d12) defines the target gpgmm_d3d12::gpgmm_d3d12: the shared library if it is there, otherwise the static one.
# gpgmm_d3d12::static is always the static one.
get_filename_component(_gpgmm_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# What the cache has may be of another prefix. Only this one is searched, also when cross-compiling.
foreach(_gpgmm_result INCLUDE_DIR STATIC_LIBRARY SHARED_LIBRARY)
    unset(GPGMM_D3D12_${_gpgmm_result} CACHE)
endforeach()
find_path(GPGMM_D3D12_INCLUDE_DIR gpgmm_d3d12.h
    HINTS "${_gpgmm_prefix}/include" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_library(GPGMM_D3D12_STATIC_LIBRARY
    NAMES libgpgmm_d3d12.a gpgmm_d3d12.lib
    HINTS "${_gpgmm_prefix}" PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
# For MinGW, cargo and cargo-c name the import library of the DLL differently.
find_library(GPGMM_D3D12_SHARED_LIBRARY
    NAMES libgpgmm_d3d12.so libgpgmm_d3d12.dll.a gpgmm_d3d12.dll.a gpgmm_d3d12.dll.lib
    HINTS "${_gpgmm_prefix}" PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(GPGMM_D3D12_INCLUDE_DIR GPGMM_D3D12_STATIC_LIBRARY GPGMM_D3D12_SHARED_LIBRARY)

if(NOT GPGMM_D3D12_INCLUDE_DIR OR NOT (GPGMM_D3D12_SHARED_LIBRARY OR GPGMM_D3D12_STATIC_LIBRARY))
    set(gpgmm_d3d12_FOUND FALSE)
    set(gpgmm_d3d12_NOT_FOUND_MESSAGE "gpgmm_d3d12.h or the library is not below ${_gpgmm_prefix}")
    return()
endif()

if(NOT WIN32)
    # Microsoft's DirectX-Headers: the directory that contains directx/ and wsl/.
    find_path(GPGMM_D3D12_DIRECTX_HEADERS directx/d3d12.h)
    mark_as_advanced(GPGMM_D3D12_DIRECTX_HEADERS)
    if(NOT GPGMM_D3D12_DIRECTX_HEADERS)
        set(gpgmm_d3d12_FOUND FALSE)
        set(gpgmm_d3d12_NOT_FOUND_MESSAGE
            "gpgmm_d3d12.h needs Microsoft's DirectX-Headers: install them, or set GPGMM_D3D12_DIRECTX_HEADERS to the directory that contains directx/d3d12.h")
        return()
    endif()
endif()

function(_gpgmm_common target)
    target_include_directories(${target} INTERFACE "${GPGMM_D3D12_INCLUDE_DIR}")
    target_compile_features(${target} INTERFACE cxx_std_17)
    if(NOT WIN32)
        # The headers include each other by these paths.
        target_include_directories(${target} SYSTEM INTERFACE "${GPGMM_D3D12_DIRECTX_HEADERS}"
            "${GPGMM_D3D12_DIRECTX_HEADERS}/wsl/stubs" "${GPGMM_D3D12_DIRECTX_HEADERS}/directx")
    endif()
endfunction()

if(GPGMM_D3D12_STATIC_LIBRARY AND NOT TARGET gpgmm_d3d12::static)
    add_library(gpgmm_d3d12::static INTERFACE IMPORTED)
    _gpgmm_common(gpgmm_d3d12::static)
    target_link_libraries(gpgmm_d3d12::static INTERFACE "${GPGMM_D3D12_STATIC_LIBRARY}")
    if(WIN32)
        # What Rust's standard library needs.
        target_link_libraries(gpgmm_d3d12::static INTERFACE kernel32 ntdll userenv ws2_32 dbghelp)
    else()
        # Sections that are not used refer to functions that only Windows has.
        target_link_libraries(gpgmm_d3d12::static INTERFACE -Wl,--gc-sections pthread dl m)
    endif()
endif()
if(NOT TARGET gpgmm_d3d12::gpgmm_d3d12)
    add_library(gpgmm_d3d12::gpgmm_d3d12 INTERFACE IMPORTED)
    if(GPGMM_D3D12_SHARED_LIBRARY)
        _gpgmm_common(gpgmm_d3d12::gpgmm_d3d12)
        target_link_libraries(gpgmm_d3d12::gpgmm_d3d12 INTERFACE "${GPGMM_D3D12_SHARED_LIBRARY}")
        target_compile_definitions(gpgmm_d3d12::gpgmm_d3d12 INTERFACE GPGMM_SHARED_LIBRARY)
    else()
        target_link_libraries(gpgmm_d3d12::gpgmm_d3d12 INTERFACE gpgmm_d3d12::static)
    endif()
endif()
set(gpgmm_d3d12_FOUND TRUE)
