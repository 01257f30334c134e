"""Conan 2 recipe: conan create crates/gpgmm/packaging/conan

Needs Rust 1.87 and cargo-c 0.10 (cargo install cargo-c --version "^0.10" --locked), which Conan does not provide.
"""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy


class HeapwrightGpgmm(ConanFile):
    name = "heapwright-gpgmm"
    version = "0.1.0"
    description = "The C++ APIs of GPGMM and of D3D12 Memory Allocator, implemented by heapwright"
    license = "MIT OR Apache-2.0"
    url = homepage = "https://github.com/heapwright/heapwright"
    topics = ("d3d12", "directx", "gpu", "allocator")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    @property
    def _target(self):
        arch = {"x86_64": "x86_64", "x86": "i686", "armv8": "aarch64"}.get(str(self.settings.arch))
        if self.settings.os == "Windows":
            vendor = "pc-windows-gnu" if self.settings.compiler == "gcc" else "pc-windows-msvc"
        else:
            vendor = "unknown-linux-gnu"
        return f"{arch}-{vendor}" if arch else None

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..", "..", "..")

    def validate(self):
        if self.settings.os not in ("Windows", "Linux") or self._target is None:
            raise ConanInvalidConfiguration("heapwright-gpgmm is for Windows and Linux, x86, x86_64 and armv8")

    def export_sources(self):
        for pattern in ("Cargo.toml", "Cargo.lock", "LICENSE-*", "crates/*", "xtask/*"):
            copy(self, pattern, self._root, self.export_sources_folder, excludes="*/target/*")

    def requirements(self):
        if self.settings.os == "Linux":
            self.requires("directx-headers/[>=1.610]", transitive_headers=True)

    def package(self):
        kind = "cdylib" if self.options.shared else "staticlib"
        self.run(
            f"cargo cinstall --release --locked -p heapwright-gpgmm --target {self._target} --library-type {kind}"
            f" --prefix \"{self.package_folder}\" --libdir lib --includedir include --datarootdir share",
            cwd=self.source_folder,
        )
        for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
            copy(self, licence, self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "heapwright")
        self.cpp_info.set_property("cmake_target_name", "heapwright::heapwright")
        self.cpp_info.set_property("cmake_target_aliases", ["gpgmm_d3d12::gpgmm_d3d12"])
        self.cpp_info.set_property("pkg_config_name", "heapwright")
        self.cpp_info.set_property("pkg_config_aliases", ["gpgmm_d3d12"])
        self.cpp_info.libs = ["gpgmm_d3d12"]
        if self.settings.os == "Linux" and not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl", "m"]
            # Sections that are not used refer to functions that only Windows has.
            self.cpp_info.exelinkflags = self.cpp_info.sharedlinkflags = ["-Wl,--gc-sections"]
        if self.settings.os == "Windows" and self.options.shared:
            self.cpp_info.defines = ["GPGMM_SHARED_LIBRARY", "D3D12MA_IMPORTS"]
        if self.settings.os == "Windows" and not self.options.shared:
            self.cpp_info.system_libs = ["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"]
