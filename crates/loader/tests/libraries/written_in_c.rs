//! Libraries that are wrong, or have less than the runtime's.

use heapwright::d3d12::{DXGI_ERROR_UNSUPPORTED, E_NOINTERFACE};
use heapwright_loader::LoadError;

use crate::support::{PRELUDE, compile, library, open, shared};

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
fn a_file_that_is_no_library() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, "hello").unwrap();
    let error = open(&path).unwrap_err();
    let LoadError::CannotLoad { reason, .. } = &error else { panic!("{error}") };
    assert!(!reason.is_empty() && !reason.contains(path.to_str().unwrap()), "{reason}");
}

#[test]
fn a_path_with_a_zero_in_it() {
    assert!(matches!(open("a\0b"), Err(LoadError::CannotLoad { .. })));
    assert!(matches!(open(""), Err(LoadError::CannotLoad { .. })));
}

/// A name without a directory is a file of the current one: the C library, which the system would find, is not.
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
    assert!(!error.is_about_name());
    assert_eq!(
        error.to_string(),
        format!("{}: D3D12CreateDevice answered E_NOINTERFACE (0x80004002)", d3d12.library().display())
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
        let error = open(&path).unwrap_err();
        assert_eq!(error, LoadError::ForeignCalls { library: path.clone(), symbol });
        assert!(error.is_about_name());
        assert!(error.to_string().contains("calling convention"), "{error}");
    }
}
