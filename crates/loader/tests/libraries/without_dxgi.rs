//! A library without DXGI, such as vkd3d-proton's native build.

use crate::support::{PRELUDE, library, luid, open, place_a_buffer, runtime};

/// The library forwards calls to the runtime's library.
#[test]
fn without_dxgi_devices_have_no_adapter() {
    let directory = tempfile::tempdir().unwrap();
    let source = format!(
        "#include <dlfcn.h>\n{PRELUDE}\
         typedef HRESULT (*create_device)(void *, int, const void *, void **);\n\
         EXPORT HRESULT D3D12CreateDevice(void *adapter, int level, const void *riid, void **device) {{\n\
         void *library = dlopen({path:?}, RTLD_NOW);\n\
         if (library == 0) return (HRESULT)0x80004005;\n\
         union {{ void *pointer; create_device function; }} found;\n\
         found.pointer = dlsym(library, \"D3D12CreateDevice\");\n\
         return found.function(adapter, level, riid, device);\n\
         }}\n",
        path = runtime().to_str().unwrap()
    );
    let Some(d3d12) = library(directory.path(), "without_dxgi", &source) else { return };
    assert!(d3d12.adapters().unwrap().is_empty());
    let gpu = d3d12.create_device(None).unwrap();
    assert_eq!(gpu.adapter, None);
    place_a_buffer(&gpu);

    // An adapter of the runtime's library may be passed.
    let adapters = open(runtime()).unwrap().adapters().unwrap();
    let gpu = d3d12.create_device(Some(&adapters[0])).unwrap();
    assert_eq!(gpu.adapter.as_ref(), Some(&adapters[0]));
    assert_ne!(luid(&gpu.device), Default::default());
}
