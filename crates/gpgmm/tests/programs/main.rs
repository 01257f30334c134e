//! Tests of the library with C++ programs.
//!
//! The programs are compiled with the header and linked with the library, and use the runtime as their device.
//! `cargo xtask test-wine` compiles the same for Windows.
#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::print_stderr, reason = "the reason why a test is skipped")]
#![allow(unused_crate_dependencies, reason = "cargo builds the libraries for the programs")]

mod packages;
mod played;
mod player;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Flags of the sanitizers. COM objects have no C++ type information, and flags have more values than enumerators.
const SANITIZERS: &[&str] =
    &["-fsanitize=address,undefined", "-fno-sanitize=vptr,enum", "-fno-sanitize-recover=undefined"];

/// Returns the directory into which cargo builds the libraries.
fn libraries() -> PathBuf {
    let program = std::env::current_exe().expect("the path of the test program");
    program.parent().expect("the test program is in a directory").to_path_buf()
}

fn library(name: &str) -> PathBuf {
    let path = libraries().join(format!("lib{name}.so"));
    assert!(path.exists(), "{} is missing; cargo builds it before the test", path.display());
    path
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns `false` if a compiler or the headers are missing, and prints the reason.
fn can_compile(compiler: &str) -> bool {
    let has_headers = Path::new("/usr/include/directx/d3d12.h").exists();
    let has_compiler = Command::new(compiler).arg("--version").output().is_ok();
    if !has_headers {
        eprintln!("skipped: no D3D12 headers in /usr/include/directx (Debian package directx-headers-dev)");
    } else if !has_compiler {
        eprintln!("skipped: there is no compiler `{compiler}`");
    }
    has_headers && has_compiler
}

/// Compiles the test program.
fn compile(compiler: &str, options: &[&str], program: &Path) {
    let sources = std::fs::read_dir(package().join("tests/cpp")).expect("the program's directory");
    let mut sources: Vec<PathBuf> = sources.map(|entry| entry.expect("an entry").path()).collect();
    sources.retain(|path| path.extension().is_some_and(|ending| ending == "cpp"));
    sources.sort();
    assert!(sources.len() > 5, "the program's files are missing");
    let library = library("gpgmm_d3d12");
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-g"]).args(options);
    command.arg("-I").arg(package().join("include"));
    for headers in ["/usr/include/wsl/stubs", "/usr/include/directx", "/usr/include/dxguids"] {
        command.args(["-isystem", headers]);
    }
    command.args(sources).arg("-o").arg(program).arg(&library);
    command.arg(format!("-Wl,-rpath,{}", libraries().display())).args(["-ldl", "-lpthread"]);
    let output = command.output().expect("the compiler starts");
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a command and returns what it wrote, after checking that all is well.
fn run(mut command: Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned());
    assert!(status.success() && stdout.contains("all is well"), "{command:?}: {status}: {stdout}{stderr}");
    (stdout, stderr)
}

/// Every kind of device, with AddressSanitizer, which also finds leaks, and UndefinedBehaviorSanitizer.
#[test]
fn a_cpp_program_uses_every_member() {
    if !can_compile("g++") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("members");
    compile("g++", SANITIZERS, &program);
    for profile in ["discrete", "uma", "cache-coherent-uma", "heap-tier-1", "first-generation"] {
        let mut command = Command::new(&program);
        command.arg(library("heapwright_d3d12_runtime")).env("HEAPWRIGHT_PROFILE", profile);
        command.env("HEAPWRIGHT_OPTIONS", "aliasing=advanced");
        command.current_dir(directory.path());
        let (stdout, stderr) = run(command);
        assert!(stdout.contains("COM rules: ok"), "{profile}: {stdout}");
        for (trace, allocations) in
            [("played", 20), ("alone", 1), ("allocator", 1), ("manager", 0), ("process", 1)]
        {
            let played = player::play(profile, &directory.path().join(format!("{trace}.json")));
            assert_eq!(played.allocations, allocations, "{trace}, {profile}");
        }
        let statistics = stdout.lines().find_map(|line| line.strip_prefix("statistics: ")).expect("a string");
        check_statistics(&serde_json::from_str(statistics).expect("it is JSON"));
        // The leak is reported by name, and nothing that the level of the log excludes.
        let leaks: Vec<&str> = stderr.lines().filter(|line| line.contains("outlives")).collect();
        assert_eq!(leaks.len(), 1, "{profile}: {stderr}");
        assert!(leaks[0].contains("forgotten shadow map"), "{profile}: {stderr}");
        // So is the refusal of what exceeds a share of the budget.
        let says = "would exceed 0.000000001 of the local budget of ";
        let refusals: Vec<&str> = stderr.lines().filter(|line| line.contains(says)).collect();
        assert!(refusals.len() == 1 && refusals[0].ends_with(" (0 B reserved)"), "{profile}: {stderr}");
        assert_eq!(stderr.lines().count(), 3, "{profile}: {stderr}");
    }
}

/// Checks the form of a string of D3D12MA's statistics, which tools read.
fn check_statistics(all: &Value) {
    for number in ["BlockCount", "BlockBytes", "AllocationCount", "AllocationSizeMin", "UnusedRangeSizeMax"] {
        assert!(all["Total"][number].is_u64(), "{number} in {}", all["Total"]);
    }
    let level = &all["MemoryInfo"]["L0"];
    assert!(level["Budget"]["UsageBytes"].is_u64() && level["MemoryPools"]["CUSTOM"]["Stats"].is_object());
    let usual = &all["DefaultPools"]["DEFAULT"];
    assert_eq!((&usual["Flags"], &usual["PreferredBlockSize"]), (&json!([]), &json!(0)));
    assert_eq!(usual["DedicatedAllocations"][0]["Type"], "BUFFER");
    assert_eq!(usual["Blocks"]["0"]["Suballocations"][0]["Offset"], 0);
    let ring = &all["CustomPools"]["UPLOAD"][0];
    assert_eq!((&ring["Name"], &ring["Flags"]), (&json!("0 - ring"), &json!(["ALLOW_ONLY_BUFFERS"])));
    assert_eq!(ring["Blocks"]["0"]["UnusedRanges"], 1);
    assert_eq!(
        (&ring["PreferredBlockSize"], &ring["Blocks"]["0"]["TotalBytes"]),
        (&json!(4 << 20), &json!(4 << 20))
    );
}

/// clang compiles the header as well, without a sanitizer, so that the program can run in valgrind. There, definite
/// leaks are errors. "Possibly lost" is std's handle of the main thread.
#[test]
fn clang_compiles_the_header_and_valgrind_finds_nothing() {
    let Some(compiler) = ["clang++", "g++"].into_iter().find(|compiler| can_compile(compiler)) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("members");
    // Valgrind 3.19 does not read clang's DWARF 5.
    compile(compiler, &["-O1", "-gdwarf-4"], &program);
    let runtime = library("heapwright_d3d12_runtime");
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("without valgrind: there is none");
        let mut command = Command::new(&program);
        command.arg(runtime).current_dir(directory.path());
        run(command);
        return;
    }
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite"]);
    command.arg("--errors-for-leak-kinds=definite").arg(&program).arg(runtime);
    command.current_dir(directory.path());
    let (_, stderr) = run(command);
    assert!(!stderr.contains("=="), "{stderr}");
}

/// clang checks the headers for Microsoft's compilers, with MinGW's headers of Windows in place of Microsoft's.
#[test]
fn microsofts_compilers_accept_the_headers() {
    let windows = Path::new("/usr/share/mingw-w64/include");
    if !can_compile("clang++") {
        return;
    }
    if !windows.join("dxgi1_4.h").exists() {
        eprintln!("skipped: no Windows headers in {}", windows.display());
        return;
    }
    let mut command = Command::new("clang++");
    command.args([
        "--target=x86_64-pc-windows-msvc",
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
    ]);
    // Otherwise MinGW's headers remove the attributes of clang's.
    command.args(["-D__GNUC__=12", "-D__GNUC_MINOR__=0"]);
    command.arg("-I").arg(package().join("include"));
    command.args(["-isystem", "/usr/include/directx", "-isystem"]).arg(windows);
    let output = command.arg(package().join("tests/cpp/msvc/headers.cpp")).output().expect("clang starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The library exports the functions of the API, and nothing else.
#[test]
fn nothing_else_is_exported() {
    let output = match Command::new("nm").args(["-D", "--defined-only"]).arg(library("gpgmm_d3d12")).output()
    {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: nm: {error}");
            return;
        }
    };
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    names.sort_unstable();
    let headers = HEADERS.map(|(header, ..)| header_text(header)).concat();
    let declared = headers.lines().filter_map(|line| {
        line.strip_prefix("GPGMM_EXPORT HRESULT ").or_else(|| line.strip_prefix("D3D12MA_API HRESULT "))
    });
    let mut declared: Vec<&str> = declared.filter_map(|line| line.split('(').next()).collect();
    declared.sort_unstable();
    assert_eq!(declared.len(), 10);
    assert_eq!(names, declared);
}

/// The headers, their namespaces, and the pages that list their members.
const HEADERS: [(&str, &str, &str); 4] = [
    ("gpgmm_d3d12.h", "gpgmm::d3d12", "reference.md"),
    ("heapwright_d3d12.h", "heapwright::d3d12", "extension.md"),
    ("D3D12MemAlloc.h", "D3D12MA", "d3d12ma.md"),
    ("heapwright_d3d12ma.h", "heapwright::d3d12ma", "d3d12ma.md"),
];

fn header_text(name: &str) -> String {
    std::fs::read_to_string(package().join("include").join(name)).expect("the header")
}

/// Returns the rows of a page: the names in the first column, and the tests in the third.
fn reference(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let text = std::fs::read_to_string(package().join("docs").join(page)).expect("the reference");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")).map(|row| {
        let columns: Vec<&str> = row.split(" | ").collect();
        assert_eq!(columns.len(), 4, "{row}");
        let names = columns[0].split(|character: char| !(character.is_alphanumeric() || character == '_'));
        let tests = columns[2].split(", ").map(str::to_owned).collect();
        (names.map(str::to_owned).collect(), tests)
    });
    rows.collect()
}

/// The references list each structure, enumerator, function and method of the headers, with tests that exist.
#[test]
fn the_references_list_every_member() {
    let members = HEADERS.map(|(header, namespace, page)| check_reference(header, namespace, page));
    assert!(members[0] > 100 && members[1] > 30 && members[2] > 110, "only {members:?} members were found");
}

/// Checks a header's page, and returns the number of members.
fn check_reference(header: &str, namespace: &str, page: &str) -> usize {
    let header = header_text(header);
    let rows = reference(page);
    let tests = std::fs::read_to_string(package().join("tests/cpp/environment.hpp")).expect("the tests");
    for test in rows.iter().flat_map(|(_, tests)| tests) {
        assert!(tests.contains(&format!("void test_{test}(")), "there is no test {test}");
    }
    let mut members = 0;
    let mut check = |owner: &str, name: &str| {
        members += 1;
        let is_listed = |(names, _): &(Vec<String>, Vec<String>)| {
            names.iter().any(|listed| listed == name) && (owner.is_empty() || names[0] == owner)
        };
        assert!(rows.iter().any(is_listed), "{owner} {name} is not in docs/{page}");
    };
    let mut enumeration = String::new();
    // Before the namespace are declarations of DXGI.
    let start = format!("namespace {namespace} {{");
    for line in header.lines().skip_while(|line| *line != start) {
        let first_word = |text: &str| text.split([' ', '(', ',', ';']).next().unwrap_or_default().to_owned();
        if let Some(name) = line.strip_prefix("enum ") {
            enumeration = first_word(name);
            check("", &enumeration);
        } else if let Some(name) = line.strip_prefix("struct ").or_else(|| line.strip_prefix("class ")) {
            if !name.ends_with(';') {
                check("", &first_word(name));
            }
        } else if let Some(name) = line.strip_prefix("inline HRESULT ") {
            check("", &first_word(name));
        } else if let Some((_, name)) = line.split_once(" STDMETHODCALLTYPE ") {
            check("", &first_word(name));
        } else if line.trim_start().starts_with(char::is_uppercase) && !enumeration.is_empty() {
            // RESOURCE_ALLOCATION_FLAG_NONE is NONE in the row of RESOURCE_ALLOCATION_FLAGS.
            let name = first_word(line.trim());
            let prefix = enumeration.strip_suffix('S').filter(|_| enumeration.ends_with("FLAGS"));
            let prefix = format!("{}_", prefix.unwrap_or(&enumeration));
            check(&enumeration, name.strip_prefix(&prefix).expect("the enumeration's prefix"));
        } else if line.starts_with('}') {
            enumeration.clear();
        }
    }
    members
}
