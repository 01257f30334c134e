//! Libraries that are wrong, or have less than the runtime's.

use std::path::Path;

use heapwright::d3d12::{DXGI_ERROR_UNSUPPORTED, E_NOINTERFACE};
use heapwright_loader::{D3d12, LoadError};

use crate::support::{compile, luid, place_a_buffer, runtime, shared};

/// What the sources share: `EXPORT`, and D3D12's types as far as calls need them.
const PRELUDE: &str = "\
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility(\"default\")))
#endif
typedef int HRESULT;
";

fn library(directory: &Path, name: &str, functions: &str) -> Option<D3d12> {
    let path = compile(directory, name, &format!("{PRELUDE}{functions}"))?;
    Some(D3d12::open(path).unwrap())
}

fn create_device_that_answers(answer: &str) -> String {
    format!(
        "EXPORT HRESULT D3D12CreateDevice(void *adapter, int level, const void *riid, void **device) {{\n\
         (void)adapter; (void)riid;\n\
         if (level != 0xb000) return -1;\n\
         *device = 0;\n\
         return {answer};\n\
         }}\n"
    )
}

#[test]
fn a_library_that_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(shared("nothing"));
    let error = D3d12::open(&path).unwrap_err();
    let LoadError::CannotLoad { library, reason } = &error else { panic!("{error}") };
    assert_eq!(*library, path);
    assert!(error.is_about_library());
    assert_eq!(error.to_string(), format!("cannot load {}: {reason}", path.display()));
    if cfg!(target_os = "linux") {
        assert_eq!(reason, "cannot open shared object file: No such file or directory");
    }
}

#[test]
fn a_file_that_is_no_library() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, "hello").unwrap();
    let error = D3d12::open(&path).unwrap_err();
    let LoadError::CannotLoad { reason, .. } = &error else { panic!("{error}") };
    assert!(!reason.is_empty() && !reason.contains(path.to_str().unwrap()), "{reason}");
}

#[test]
fn a_path_with_a_zero_in_it() {
    assert!(matches!(D3d12::open("a\0b"), Err(LoadError::CannotLoad { .. })));
    assert!(matches!(D3d12::open(""), Err(LoadError::CannotLoad { .. })));
}

/// A name without a directory is a file of the current one: the C library, which the system would find, is not.
#[cfg(target_os = "linux")]
#[test]
fn a_name_is_not_searched_for() {
    let error = D3d12::open("libc.so.6").unwrap_err();
    assert!(matches!(error, LoadError::CannotLoad { .. }), "{error}");
}

#[test]
fn a_library_that_exports_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let source = format!("{PRELUDE}EXPORT int something_else(void) {{ return 0; }}\n");
    let Some(path) = compile(directory.path(), "nothing", &source) else { return };
    let error = D3d12::open(&path).unwrap_err();
    assert_eq!(error, LoadError::NoSymbol { library: path.clone(), symbol: "D3D12CreateDevice" });
    assert_eq!(
        error.to_string(),
        format!("{} is no D3D12: it does not export D3D12CreateDevice", path.display())
    );
}

#[test]
fn a_call_that_fails_is_named_with_its_answer() {
    let directory = tempfile::tempdir().unwrap();
    let source = create_device_that_answers("(HRESULT)0x80004002");
    let Some(d3d12) = library(directory.path(), "no_interface", &source) else { return };
    assert!(d3d12.adapters().unwrap().is_empty(), "it has no DXGI");
    let error = d3d12.create_device(None).unwrap_err();
    let LoadError::Call { call, hresult, .. } = &error else { panic!("{error}") };
    assert_eq!((*call, *hresult), ("D3D12CreateDevice", E_NOINTERFACE));
    assert!(!error.is_about_library());
    assert_eq!(
        error.to_string(),
        format!("{}: D3D12CreateDevice answered 0x80004002", d3d12.library().display())
    );
}

#[test]
fn success_without_a_device_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let Some(d3d12) = library(directory.path(), "null", &create_device_that_answers("0")) else { return };
    let error = d3d12.create_device(None).unwrap_err();
    let LoadError::NoObject { call, .. } = &error else { panic!("{error}") };
    assert_eq!(*call, "D3D12CreateDevice");
    assert!(error.to_string().ends_with(": D3D12CreateDevice answered success without an object"), "{error}");
}

#[test]
fn a_dxgi_that_fails_is_named_with_its_answer() {
    let directory = tempfile::tempdir().unwrap();
    let device = create_device_that_answers("0");
    for (name, function, arguments) in [
        ("factory2", "CreateDXGIFactory2", "unsigned flags, const void *riid, void **factory"),
        ("factory1", "CreateDXGIFactory1", "const void *riid, void **factory"),
    ] {
        for (answer, is_null) in [("(HRESULT)0x887a0004", false), ("0", true)] {
            let flags = if name == "factory2" { "(void)flags; " } else { "" };
            let source = format!(
                "{device}EXPORT HRESULT {function}({arguments}) {{ {flags}(void)riid; *factory = 0; return {answer}; }}\n"
            );
            let name = format!("{name}_{is_null}");
            let Some(d3d12) = library(directory.path(), &name, &source) else { return };
            match d3d12.adapters().unwrap_err() {
                LoadError::Call { call, hresult, .. } if !is_null => {
                    assert_eq!((call, hresult), (function, DXGI_ERROR_UNSUPPORTED));
                }
                LoadError::NoObject { call, .. } if is_null => assert_eq!(call, function),
                error => panic!("{error}"),
            }
        }
    }
}

/// vkd3d's native build has this function beside D3D12's, and calls them all in Microsoft's way. Calling this one would end
/// the test.
#[cfg(all(unix, target_arch = "x86_64"))]
#[test]
fn a_library_that_is_called_in_another_way_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for symbol in ["vkd3d_create_event", "D3D12CreateDeviceVKD3D"] {
        let source = format!(
            "#include <stdlib.h>\n{PRELUDE}EXPORT void D3D12CreateDevice(void) {{ abort(); }}\n\
             EXPORT void *{symbol}(void) {{ abort(); }}\n"
        );
        let Some(path) = compile(directory.path(), symbol, &source) else { return };
        let error = D3d12::open(&path).unwrap_err();
        assert_eq!(error, LoadError::ForeignCalls { library: path.clone(), symbol });
        assert!(error.is_about_library());
        assert!(error.to_string().contains("calling convention"), "{error}");
    }
}

/// As vkd3d-proton's native build is: D3D12 alone. It hands every call on to the runtime's library.
#[cfg(unix)]
#[test]
fn a_d3d12_without_dxgi_has_devices_without_adapter() {
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

    // An adapter of the library behind it may be given, and is the device's then.
    let adapters = D3d12::open(runtime()).unwrap().adapters().unwrap();
    let gpu = d3d12.create_device(Some(&adapters[0])).unwrap();
    assert_eq!(gpu.adapter.as_ref(), Some(&adapters[0]));
    assert_ne!(luid(&gpu.device), Default::default());
}
