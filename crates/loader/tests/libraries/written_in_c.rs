//! Libraries with errors or missing functions.

use heapwright::d3d12::{DXGI_ERROR_UNSUPPORTED, E_NOINTERFACE};
use heapwright_loader::LoadError;

use crate::support::{PRELUDE, compile, library, open, shared};

fn create_device_that_returns(result: &str) -> String {
    format!(
        "EXPORT HRESULT D3D12CreateDevice(void *adapter, int level, const void *riid, void **device) {{\n\
         (void)adapter; (void)riid;\n\
         if (level != 0xb000) return -1;\n\
         *device = 0;\n\
         return {result};\n\
         }}\n"
    )
}

#[test]
fn a_library_that_does_not_exist() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(shared("nothing"));
    let error = open(&path).unwrap_err();
    let LoadError::CannotLoad { library, reason } = &error else { panic!("{error}") };
    assert_eq!(*library, path);
    assert!(error.is_about_name());
    assert_eq!(error.to_string(), format!("cannot load {}: {reason}", path.display()));
    if cfg!(target_os = "linux") {
        assert_eq!(reason, "cannot open shared object file: No such file or directory");
    }
}

#[test]
fn a_file_that_is_not_a_library() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, "hello").unwrap();
    let error = open(&path).unwrap_err();
    let LoadError::CannotLoad { reason, .. } = &error else { panic!("{error}") };
    assert!(!reason.is_empty() && !reason.contains(path.to_str().unwrap()), "{reason}");
}

#[test]
fn a_path_with_a_null_character() {
    assert!(matches!(open("a\0b"), Err(LoadError::CannotLoad { .. })));
    assert!(matches!(open(""), Err(LoadError::CannotLoad { .. })));
}

/// A name without directory is a file in the current directory. The C library is only in the system's search path.
#[cfg(target_os = "linux")]
#[test]
fn a_name_is_not_searched_for() {
    let error = open("libc.so.6").unwrap_err();
    assert!(matches!(error, LoadError::CannotLoad { .. }), "{error}");
}

#[test]
fn a_library_that_exports_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let source = format!("{PRELUDE}EXPORT int something_else(void) {{ return 0; }}\n");
    let Some(path) = compile(directory.path(), "nothing", &source) else { return };
    let error = open(&path).unwrap_err();
    assert_eq!(error, LoadError::NoSymbol { library: path.clone(), symbol: "D3D12CreateDevice" });
    assert_eq!(
        error.to_string(),
        format!("{} is not a Direct3D 12 library: it does not export D3D12CreateDevice", path.display())
    );
}

#[test]
fn the_error_has_the_failed_call_and_its_hresult() {
    let directory = tempfile::tempdir().unwrap();
    let source = create_device_that_returns("(HRESULT)0x80004002");
    let Some(d3d12) = library(directory.path(), "no_interface", &source) else { return };
    assert!(d3d12.adapters().unwrap().is_empty(), "the library has no DXGI");
    let error = d3d12.create_device(None).unwrap_err();
    let LoadError::Call { call, hresult, .. } = &error else { panic!("{error}") };
    assert_eq!((*call, *hresult), ("D3D12CreateDevice", E_NOINTERFACE));
    assert!(!error.is_about_name());
    assert_eq!(
        error.to_string(),
        format!("{}: D3D12CreateDevice failed with E_NOINTERFACE (0x80004002)", d3d12.library().display())
    );
}

#[test]
fn success_without_a_device_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let Some(d3d12) = library(directory.path(), "null", &create_device_that_returns("0")) else { return };
    let error = d3d12.create_device(None).unwrap_err();
    let LoadError::NoObject { call, .. } = &error else { panic!("{error}") };
    assert_eq!(*call, "D3D12CreateDevice");
}

#[test]
fn the_error_has_the_failed_dxgi_call_and_its_hresult() {
    let directory = tempfile::tempdir().unwrap();
    let device = create_device_that_returns("0");
    for (name, function, arguments) in [
        ("factory2", "CreateDXGIFactory2", "unsigned flags, const void *riid, void **factory"),
        ("factory1", "CreateDXGIFactory1", "const void *riid, void **factory"),
    ] {
        for (result, is_null) in [("(HRESULT)0x887a0004", false), ("0", true)] {
            let flags = if name == "factory2" { "(void)flags; " } else { "" };
            let source = format!(
                "{device}EXPORT HRESULT {function}({arguments}) {{ {flags}(void)riid; *factory = 0; return {result}; }}\n"
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

/// Native builds of vkd3d export these functions and use Microsoft's calling convention. Calling them would crash.
#[cfg(all(unix, target_arch = "x86_64"))]
#[test]
fn a_library_with_another_calling_convention_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    for symbol in ["vkd3d_create_event", "D3D12CreateDeviceVKD3D"] {
        let source = format!(
            "#include <stdlib.h>\n{PRELUDE}EXPORT void D3D12CreateDevice(void) {{ abort(); }}\n\
             EXPORT void *{symbol}(void) {{ abort(); }}\n"
        );
        let Some(path) = compile(directory.path(), symbol, &source) else { return };
        let error = open(&path).unwrap_err();
        assert_eq!(error, LoadError::ForeignCalls { library: path.clone(), symbol });
        assert!(error.is_about_name());
        assert!(error.to_string().contains("calling convention"), "{error}");
    }
}
