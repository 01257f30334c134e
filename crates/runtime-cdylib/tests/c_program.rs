//! The library in a C program's hands.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::print_stderr, reason = "the reason why the test is skipped")]

use std::path::PathBuf;
use std::process::Command;

/// The library, which cargo builds into the directory of the test program.
fn library() -> PathBuf {
    let directory = std::env::current_exe().expect("the test program's path");
    let directory = directory.parent().expect("it is in a directory");
    let name =
        format!("{}heapwright_d3d12_runtime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let path = directory.join(name);
    assert!(path.exists(), "cargo builds {} before the test", path.display());
    path
}

#[test]
fn a_c_program_uses_the_runtime() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join(format!("program{}", std::env::consts::EXE_SUFFIX));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.c");
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program).arg(source);
    if cfg!(target_os = "linux") {
        compile.arg("-ldl");
    }
    let output = match compile.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: there is no C compiler (running `cc`: {error})");
            return;
        }
    };
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));

    let output = Command::new(&program).arg(library()).output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("all is well"),
        "{}: {text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
