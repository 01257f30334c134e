//! Shared libraries for `--device d3d12:PATH`.

use std::path::{Path, PathBuf};
use std::process::Command;

use heapwright::d3d12::ID3D12Device14_Vtbl;

use crate::support::Folder;

/// Returns the path of the runtime's library, which cargo builds into the directory of the test program.
pub(crate) fn runtime() -> PathBuf {
    let directory = std::env::current_exe().expect("the test program's path");
    let directory = directory.parent().expect("it is in a directory");
    let path = directory.join(shared("heapwright_d3d12_runtime"));
    assert!(path.exists(), "cargo builds {} before the test", path.display());
    path
}

/// Returns the value of `--device` for a library.
pub(crate) fn device(path: &Path) -> String {
    format!("d3d12:{}", path.to_str().expect("a path that is text"))
}

/// Behaviour of a library's `D3D12CreateDevice`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behaviour {
    /// It is not exported.
    Missing,
    /// It returns `DXGI_ERROR_UNSUPPORTED`.
    Fails,
    /// It calls the runtime's function. The library has no DXGI.
    Forwards,
    /// As `Forwards`, but the device reports 0 nodes.
    ForwardsWithoutNode,
    /// As `Forwards`, but `CreateHeap` aborts the process for a size of 0, hangs for a size of 1, and aborts after a
    /// call with an alignment of 4 MiB. For a size of 64 MiB, it takes memory, 1 GiB in all, and hangs.
    Breaks,
}

/// Compiles a library in C. Prints a message and returns `None` without a C compiler and on Windows.
#[allow(clippy::print_stderr, reason = "why the test is skipped")]
pub(crate) fn written_in_c(folder: &Folder, behaviour: Behaviour) -> Option<PathBuf> {
    if !cfg!(unix) {
        eprintln!("skipped: the library in C is for Unix");
        return None;
    }
    let source = folder.file("library.c", source(behaviour));
    let path = folder.path().join(shared(&format!("{behaviour:?}").to_lowercase()));
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    compile.arg(&path).arg(source);
    if cfg!(target_os = "linux") {
        compile.arg("-ldl");
    }
    match compile.output() {
        Ok(output) => {
            assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
            Some(path)
        }
        Err(error) => {
            eprintln!("skipped: there is no C compiler (running `cc`: {error})");
            None
        }
    }
}

fn source(behaviour: Behaviour) -> String {
    let body = match behaviour {
        Behaviour::Missing => return "int something_else(void) { return 0; }\n".to_owned(),
        Behaviour::Fails => {
            "(void)adapter; (void)level; (void)riid; *device = 0; return (HRESULT)0x887a0004;"
        }
        Behaviour::Forwards => "return forward(adapter, level, riid, device);",
        Behaviour::ForwardsWithoutNode => {
            "HRESULT result = forward(adapter, level, riid, device);\n\
             if (result == 0) without_node(*device);\n\
             return result;"
        }
        Behaviour::Breaks => {
            "HRESULT result = forward(adapter, level, riid, device);\n\
             if (result == 0) breaking(*device);\n\
             return result;"
        }
    };
    // GetNodeCount follows the three methods of IUnknown and the four of ID3D12Object; CreateHeap is 21 methods later.
    format!(
        "#include <dlfcn.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
         typedef int HRESULT;\n\
         typedef HRESULT (*create_device)(void *, int, const void *, void **);\n\
         HRESULT forward(void *adapter, int level, const void *riid, void **device) {{\n\
         void *library = dlopen({runtime:?}, RTLD_NOW);\n\
         if (library == 0) return (HRESULT)0x80004005;\n\
         union {{ void *pointer; create_device function; }} found;\n\
         found.pointer = dlsym(library, \"D3D12CreateDevice\");\n\
         return found.function(adapter, level, riid, device);\n\
         }}\n\
         static unsigned no_node(void *self) {{ (void)self; return 0; }}\n\
         static void *methods[{method_count}];\n\
         void without_node(void **device) {{\n\
         union {{ void *pointer; unsigned (*function)(void *); }} lie;\n\
         lie.function = no_node;\n\
         memcpy(methods, *device, sizeof methods);\n\
         methods[7] = lie.pointer;\n\
         *device = methods;\n\
         }}\n\
         typedef struct {{ unsigned long long size; int properties[5]; unsigned long long alignment; int flags; }} heap_desc;\n\
         typedef HRESULT (*create_heap)(void *, const heap_desc *, const void *, void **);\n\
         static union {{ void *pointer; create_heap function; }} honest;\n\
         static int was_large;\n\
         static HRESULT broken_heap(void *self, const heap_desc *desc, const void *riid, void **heap) {{\n\
         if (desc != 0 && desc->size == 0) abort();\n\
         while (desc != 0 && desc->size == 1) sleep(1);\n\
         int blocks = 0;\n\
         while (desc != 0 && desc->size == 64 << 20) {{\n\
         void *block = blocks < 64 ? malloc(16 << 20) : 0;\n\
         if (block != 0) memset(block, ++blocks, 16 << 20); else sleep(1);\n\
         }}\n\
         if (desc != 0 && was_large && desc->alignment != 4 << 20) abort();\n\
         was_large |= desc != 0 && desc->alignment == 4 << 20;\n\
         return honest.function(self, desc, riid, heap);\n\
         }}\n\
         void breaking(void **device) {{\n\
         union {{ void *pointer; create_heap function; }} lie;\n\
         lie.function = broken_heap;\n\
         memcpy(methods, *device, sizeof methods);\n\
         honest.pointer = methods[28];\n\
         methods[28] = lie.pointer;\n\
         *device = methods;\n\
         }}\n\
         HRESULT D3D12CreateDevice(void *adapter, int level, const void *riid, void **device) {{\n{body}\n}}\n",
        runtime = runtime().to_str().expect("a path that is text"),
        method_count = size_of::<ID3D12Device14_Vtbl>() / size_of::<usize>(),
    )
}

fn shared(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}
