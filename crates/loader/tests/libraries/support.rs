//! Paths of libraries, and compilation of libraries in C.

use std::path::{Path, PathBuf};
use std::process::Command;

use heapwright::d3d12::{D3D12_RESOURCE_STATE_GENERIC_READ, ID3D12Device, LUID};
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright_loader::{D3d12, Gpu, LoadError};

/// Returns the path of the runtime's library, which cargo builds into the directory of the test program.
pub(crate) fn runtime() -> PathBuf {
    let directory = std::env::current_exe().expect("the test program's path");
    let directory = directory.parent().expect("it is in a directory");
    let path = directory.join(shared("heapwright_d3d12_runtime"));
    assert!(path.exists(), "cargo builds {} before the test", path.display());
    path
}

/// Loads the runtime's library or one that a test compiled.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<D3d12, LoadError> {
    // SAFETY: the libraries of these tests have no initialization routines. Their functions have the types of Direct3D
    // 12 and DXGI, except for libraries that the loader rejects without calling them.
    unsafe { D3d12::open(path) }
}

/// Returns the file name of a shared library.
pub(crate) fn shared(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// Compiles `source` to a shared library in `directory`. Prints a message and returns `None` without a C compiler.
#[allow(clippy::print_stderr, reason = "why the test is skipped")]
pub(crate) fn compile(directory: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let file = directory.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("the source can be written");
    let path = directory.join(shared(name));
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-o"]).arg(&path).arg(&file);
    if cfg!(unix) {
        compile.arg("-fPIC");
    }
    if cfg!(target_os = "linux") {
        compile.arg("-ldl");
    }
    let output = match compile.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: there is no C compiler (running `cc`: {error})");
            return None;
        }
    };
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
    Some(path)
}

/// Common start of the sources: `EXPORT` and the required types of Direct3D 12.
pub(crate) const PRELUDE: &str = "\
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility(\"default\")))
#endif
typedef int HRESULT;
";

/// Compiles and loads a library with these functions.
pub(crate) fn library(directory: &Path, name: &str, functions: &str) -> Option<D3d12> {
    let path = compile(directory, name, &format!("{PRELUDE}{functions}"))?;
    Some(open(path).unwrap())
}

/// Creates a heap and a placed buffer in it, and writes and reads the buffer.
pub(crate) fn place_a_buffer(gpu: &Gpu) {
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), Default::default()).unwrap();
    let upload = ResourceAllocationDesc::new(HeapType::Upload);
    let desc = buffer_desc(ByteSize::from_kib(4));
    let mut buffer =
        allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None).unwrap();
    buffer.map().unwrap().write(7, b"hello").unwrap();
    let mut read = [0; 5];
    buffer.map().unwrap().read(7, &mut read).unwrap();
    assert_eq!(&read, b"hello");
    assert!(allocator.stats().reserved >= ByteSize::from_kib(4));
}

pub(crate) fn luid(device: &ID3D12Device) -> LUID {
    // SAFETY: the device is a live COM object.
    unsafe { device.GetAdapterLuid() }
}
