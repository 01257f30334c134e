//! Tests of the library with C and C++ programs.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::print_stderr, reason = "the reason why the test is skipped")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of the library, which cargo builds into the directory of the test program.
fn library() -> PathBuf {
    let directory = std::env::current_exe().expect("the path of the test program");
    let directory = directory.parent().expect("the test program is in a directory");
    let name =
        format!("{}heapwright_d3d12_runtime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let path = directory.join(name);
    assert!(path.exists(), "{} is missing; cargo builds it before the test", path.display());
    path
}

/// Compiles a program of this directory and runs it with the library.
fn run(compiler: &str, options: &[&str], source: &str) {
    let directory = tempfile::tempdir().expect("failed to create a temporary directory");
    let program = directory.path().join(format!("program{}", std::env::consts::EXE_SUFFIX));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let mut compile = Command::new(compiler);
    compile.args(["-Wall", "-Wextra", "-Werror", "-O1"]).args(options);
    compile.arg("-o").arg(&program).arg(source);
    if cfg!(target_os = "linux") {
        compile.arg("-ldl");
    }
    let output = match compile.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: failed to run the compiler `{compiler}`: {error}");
            return;
        }
    };
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));

    let output = Command::new(&program).arg(library()).output().expect("failed to run the program");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("all is well"),
        "{}: {text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_c_program_uses_the_runtime() {
    run("cc", &["-std=c99"], "program.c");
}

/// Runs a program that uses the official headers for Linux. `cargo xtask test-wine` compiles it for Windows.
#[cfg(target_os = "linux")]
fn run_cpp(source: &str) {
    if !Path::new("/usr/include/directx/d3d12.h").exists() {
        eprintln!("skipped: no D3D12 headers in /usr/include/directx (Debian package directx-headers-dev)");
        return;
    }
    let folders = ["/usr/include/wsl/stubs", "/usr/include/directx", "/usr/include/dxguids"];
    let options: Vec<&str> =
        ["-std=c++17"].into_iter().chain(folders.iter().flat_map(|folder| ["-isystem", folder])).collect();
    run("c++", &options, source);
}

#[cfg(target_os = "linux")]
#[test]
fn a_cpp_program_with_the_official_headers_uses_the_runtime() {
    run_cpp("program.cpp");
}

/// Applications' startup code works without debug messages.
#[cfg(target_os = "linux")]
#[test]
fn a_cpp_program_starts_as_applications_do() {
    run_cpp("startup.cpp");
}
