# Overlay port: vcpkg install heapwright-gpgmm --overlay-ports=crates/gpgmm/packaging/vcpkg
# Needs Rust 1.87 and cargo-c 0.10 (cargo install cargo-c --version "^0.10" --locked), which vcpkg does not provide.
find_program(CARGO cargo REQUIRED)
set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../..")

if(VCPKG_TARGET_IS_MINGW)
    set(target "${VCPKG_TARGET_ARCHITECTURE}-pc-windows-gnu")
elseif(VCPKG_TARGET_IS_WINDOWS)
    set(target "${VCPKG_TARGET_ARCHITECTURE}-pc-windows-msvc")
else()
    set(target "${VCPKG_TARGET_ARCHITECTURE}-unknown-linux-gnu")
endif()
string(REGEX REPLACE "^x64-" "x86_64-" target "${target}")
string(REGEX REPLACE "^x86-" "i686-" target "${target}")
string(REGEX REPLACE "^arm64-" "aarch64-" target "${target}")

if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    set(kind staticlib)
else()
    set(kind cdylib)
endif()

vcpkg_execute_required_process(
    COMMAND "${CARGO}" cinstall --release --locked -p heapwright-gpgmm --target "${target}" --library-type "${kind}"
        --prefix "${CURRENT_PACKAGES_DIR}" --libdir lib --includedir include --datarootdir share
    WORKING_DIRECTORY "${SOURCE_PATH}"
    LOGNAME "cinstall-${TARGET_TRIPLET}"
)
# One build serves both configurations: it has a C ABI, and no C++ or Rust object crosses it.
if(NOT VCPKG_BUILD_TYPE)
    file(COPY "${CURRENT_PACKAGES_DIR}/lib" DESTINATION "${CURRENT_PACKAGES_DIR}/debug")
    if(EXISTS "${CURRENT_PACKAGES_DIR}/bin")
        file(COPY "${CURRENT_PACKAGES_DIR}/bin" DESTINATION "${CURRENT_PACKAGES_DIR}/debug")
    endif()
endif()
# vcpkg's DirectX-Headers have no .pc file, but lie beside ours. On Windows, the headers are the SDK's.
foreach(directory IN ITEMS lib debug/lib)
    set(file "${CURRENT_PACKAGES_DIR}/${directory}/pkgconfig/heapwright.pc")
    if(EXISTS "${file}")
        vcpkg_replace_string("${file}" "Requires: DirectX-Headers" "")
        if(NOT VCPKG_TARGET_IS_WINDOWS)
            vcpkg_replace_string("${file}" "Cflags:" "Cflags: -I\${includedir}/wsl/stubs -I\${includedir}/directx")
            # Sections of the static library that are not used refer to functions that only Windows has.
            vcpkg_replace_string("${file}" "Libs.private:" "Libs.private: -Wl,--gc-sections")
        endif()
    endif()
endforeach()
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST
    "${SOURCE_PATH}/LICENSE-MIT"
    "${SOURCE_PATH}/LICENSE-APACHE")
