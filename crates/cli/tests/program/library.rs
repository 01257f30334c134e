//! Shared libraries to name with `--device d3d12:PATH`.

use std::path::{Path, PathBuf};
use std::process::Command;

use heapwright::d3d12::ID3D12Device14_Vtbl;

use crate::support::Folder;

/// The runtime as a library, which cargo builds into the directory of the test program.
pub(crate) fn runtime() -> PathBuf {
    let directory = std::env::current_exe().expect("the test program's path");
    let directory = directory.parent().expect("it is in a directory");
    let path = directory.join(shared("heapwright_d3d12_runtime"));
    assert!(path.exists(), "cargo builds {} before the test", path.display());
    path
}

/// What `--device` takes for a library.
pub(crate) fn device(path: &Path) -> String {
    format!("d3d12:{}", path.to_str().expect("a path that is text"))
}

/// What a library's `D3D12CreateDevice` does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behaviour {
    /// It is not there.
    Missing,
    /// It answers DXGI_ERROR_UNSUPPORTED.
    Fails,
    /// It hands on to the runtime's; there is no DXGI.
    HandsOn,
    /// The same, and the device says that it has no node.
    HandsOnWithoutNode,
    /// The same, and `CreateHeap` ends the process where the size is 0, does not return where it is 1, and ends it when it has
    /// been called for an alignment of 4 MiB and then for any other.
    Breaks,
}

/// A library in C. None where there is no C compiler, which is said, and where the test does not know how to load another
/// from it.
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
        Behaviour::HandsOn => "return hand_on(adapter, level, riid, device);",
        Behaviour::HandsOnWithoutNode => {
            "HRESULT answer = hand_on(adapter, level, riid, device);\n\
             if (answer == 0) without_node(*device);\n\
             return answer;"
        }
        Behaviour::Breaks => {
            "HRESULT answer = hand_on(adapter, level, riid, device);\n\
             if (answer == 0) breaking(*device);\n\
             return answer;"
        }
    };
    // GetNodeCount follows the three methods of IUnknown and the four of ID3D12Object; CreateHeap is 21 methods later.
    format!(
        "#include <dlfcn.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
         typedef int HRESULT;\n\
         typedef HRESULT (*create_device)(void *, int, const void *, void **);\n\
         HRESULT hand_on(void *adapter, int level, const void *riid, void **device) {{\n\
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
