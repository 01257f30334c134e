//! The files that `cargo cinstall` installs, as build systems find them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{can_compile, libraries, library, package};

/// Returns `false` without CMake, and prints the reason.
fn has_cmake() -> bool {
    let has_cmake = Command::new("cmake").arg("--version").output().is_ok();
    if !has_cmake {
        eprintln!("skipped: there is no cmake");
    }
    has_cmake
}

fn install(from: &Path, to: PathBuf) {
    fs::create_dir_all(&to).expect("a directory of the prefix");
    fs::copy(from, to.join(from.file_name().expect("a file"))).expect("a file is installed");
}

/// Lays a directory out as `cargo cinstall` does, except for the libraries.
fn install_headers(prefix: &Path) {
    for entry in fs::read_dir(package().join("include")).expect("the headers") {
        install(&entry.expect("an entry").path(), prefix.join("include"));
    }
    for name in ["heapwright", "gpgmm_d3d12"] {
        for entry in fs::read_dir(package().join("cmake").join(name)).expect("the CMake package") {
            install(&entry.expect("an entry").path(), prefix.join("share").join(name).join("cmake"));
        }
    }
}

/// Runs a command and returns what it wrote, after checking that it succeeded.
fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn cmake_builds_the_examples() {
    if !can_compile("g++") || !has_cmake() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let prefix = directory.path().join("prefix");
    install_headers(&prefix);
    install(&library("gpgmm_d3d12"), prefix.join("lib"));
    install(&libraries().join("libgpgmm_d3d12.a"), prefix.join("lib"));
    let build = directory.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(package().join("example")).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    let flags = format!("-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror {}", super::SANITIZERS.join(" "));
    output_of(configure.arg(flags));
    output_of(Command::new("cmake").arg("--build").arg(&build));
    for (program, wanted) in [
        ("upload", "1 buffer of 65536 bytes in 1 heap of "),
        ("frame_graph", "4 stages of 1 MiB in 2 MiB, 3 submissions, 3 frames as expected\n"),
        ("defragmentation", "3 moves, 3 heaps released, 4 buffers intact\n"),
        ("report", "report.json: "),
        ("d3d12ma", "23 allocations of "),
    ] {
        for program in [program.to_owned(), format!("{program}_static")] {
            let mut run = Command::new(build.join(&program));
            run.env("HEAPWRIGHT_RECORD", directory.path().join(format!("{program}.hws")));
            let text = output_of(run.arg(library("heapwright_d3d12_runtime")).current_dir(directory.path()));
            assert!(text.starts_with(wanted), "{program}: {text}");
        }
    }
    let report = fs::read(directory.path().join("report.json")).expect("the report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert!(report.to_string().contains(r#""mesh 7""#), "{report}");
    // The program of D3D12MA is recorded as others are, without a change.
    for (file, wanted) in [("statistics.json", "\"0 - meshes\""), ("d3d12ma.hws", "bricks")] {
        let bytes = fs::read(directory.path().join(file)).expect("it is written");
        assert!(bytes.windows(wanted.len()).any(|part| part == wanted.as_bytes()), "{file}: no {wanted}");
    }
}

/// GPGMM's names of the package and its targets, and its file for pkg-config.
#[test]
fn the_package_has_gpgmms_names_too() {
    let pc = fs::read_to_string(package().join("packaging/gpgmm_d3d12.pc")).expect("the file");
    assert!(pc.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"), "\nRequires: heapwright\n")), "{pc}");
    if !can_compile("g++") || !has_cmake() {
        return;
    }
    let finder = Finder::new(&["libgpgmm_d3d12.so", "libgpgmm_d3d12.a"]);
    let project = "cmake_minimum_required(VERSION 3.16)\nproject(finder CXX)\n\
                   find_package(gpgmm_d3d12 0.1 REQUIRED)\n\
                   get_target_property(shared gpgmm_d3d12::gpgmm_d3d12 INTERFACE_LINK_LIBRARIES)\n\
                   get_target_property(static gpgmm_d3d12::static INTERFACE_LINK_LIBRARIES)\n\
                   message(\"found: ${gpgmm_d3d12_VERSION}, ${shared}, ${static}\")\n";
    fs::write(finder.path("CMakeLists.txt"), project).expect("written");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(finder.found(&[]), format!("{version}, heapwright::heapwright, heapwright::static"));
}

/// A CMake project that finds the package, and prints what it found.
struct Finder {
    directory: tempfile::TempDir,
}

impl Finder {
    /// Installs the package, with libraries without contents, in the directory `prefix`.
    fn new(libraries: &[&str]) -> Self {
        let project = "cmake_minimum_required(VERSION 3.16)\nproject(finder CXX)\n\
                       find_package(heapwright ${WANTED})\n\
                       if(heapwright_FOUND)\n\
                       get_target_property(includes heapwright::heapwright INTERFACE_INCLUDE_DIRECTORIES)\n\
                       message(\"found: ${heapwright_VERSION}, ${HEAPWRIGHT_SHARED_LIBRARY}, ${includes}\")\n\
                       endif()\n";
        let finder = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        fs::write(finder.path("CMakeLists.txt"), project).expect("written");
        finder.install("prefix", libraries);
        finder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn install(&self, prefix: &str, libraries: &[&str]) {
        let prefix = self.path(prefix);
        install_headers(&prefix);
        fs::create_dir_all(prefix.join("lib")).expect("a directory");
        for library in libraries {
            fs::write(prefix.join("lib").join(library), "").expect("written");
        }
    }

    /// Configures the project in the same build directory, and returns what CMake wrote.
    fn find(&self, arguments: &[String]) -> String {
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(self.directory.path()).arg("-B").arg(self.path("build"));
        configure.arg(format!("-DCMAKE_PREFIX_PATH={}", self.path("prefix").display()));
        output_of(configure.args(arguments))
    }

    /// As [`find`](Self::find), and checks that the package was found.
    fn found(&self, arguments: &[String]) -> String {
        let text = self.find(arguments);
        let found = text.lines().find_map(|line| line.strip_prefix("found: "));
        found.unwrap_or_else(|| panic!("{arguments:?}: {text}")).to_owned()
    }
}

#[test]
fn cmake_checks_the_version() {
    if !can_compile("g++") || !has_cmake() {
        return;
    }
    let version = env!("CARGO_PKG_VERSION");
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().expect("a number")).collect();
    let &[major, minor, patch] = &parts[..] else { panic!("{version}") };
    let finder = Finder::new(&["libgpgmm_d3d12.so"]);
    let wanted = |wanted: &str| [format!("-DWANTED={wanted}")];
    let next = minor + 1;
    let newer = format!("{major}.{minor}.{}", patch + 1);
    for other in [format!("{major}.{next}"), newer, (major + 1).to_string(), format!("{major}.{next}...9")] {
        let text = finder.find(&wanted(&other));
        assert!(text.contains(&format!("version: {version}")), "{other}: {text}");
        assert!(!text.contains("found: "), "{other}: {text}");
    }
    for other in [
        version.to_owned(),
        format!("{major}.{minor}"),
        format!("{version};EXACT"),
        format!("0.0...{version}"),
        String::new(),
    ] {
        let found = finder.found(&wanted(&other));
        assert!(found.starts_with(&format!("{version}, ")), "{other}: {found}");
    }
    let text = finder.find(&wanted(&format!("0.0...<{version}")));
    assert!(!text.contains("found: "), "{text}");
}

/// The DirectX-Headers may be anywhere; without them, the package is not found.
#[test]
fn cmake_finds_the_headers_of_d3d12() {
    if !can_compile("g++") || !has_cmake() {
        return;
    }
    let finder = Finder::new(&["libgpgmm_d3d12.so"]);
    let headers = finder.path("headers");
    fs::create_dir(&headers).expect("a directory");
    for name in ["directx", "wsl"] {
        symlink(Path::new("/usr/include").join(name), headers.join(name)).expect("a link");
    }
    let found = finder.found(&[format!("-DHEAPWRIGHT_DIRECTX_HEADERS={}", headers.display())]);
    let headers = headers.display();
    assert!(found.ends_with(&format!(";{headers};{headers}/wsl/stubs;{headers}/directx")), "{found}");
    let nowhere = [
        "-UHEAPWRIGHT_DIRECTX_HEADERS",
        "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
        "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF",
    ];
    let text = finder.find(&nowhere.map(str::to_owned));
    assert!(text.contains("DirectX-Headers") && !text.contains("found: "), "{text}");
}

/// A second prefix is not mistaken for the first, whose paths CMake has stored.
#[test]
fn cmake_finds_another_prefix() {
    if !can_compile("g++") || !has_cmake() {
        return;
    }
    let finder = Finder::new(&["libgpgmm_d3d12.so"]);
    finder.install("other", &["libgpgmm_d3d12.so"]);
    for prefix in ["prefix", "other"] {
        let prefix = finder.path(prefix);
        let package = prefix.join("share/heapwright/cmake");
        let found = finder.found(&[format!("-Dheapwright_DIR={}", package.display())]);
        let library = prefix.join("lib/libgpgmm_d3d12.so");
        let include = prefix.join("include");
        assert!(found.contains(&format!(", {}, {}", library.display(), include.display())), "{found}");
    }
}

/// cargo and cargo-c name the import library of the DLL differently. With a toolchain that has a root, CMake would look
/// for packages below it.
#[test]
fn cmake_finds_the_import_library() {
    let compiler = "x86_64-w64-mingw32-g++";
    if !can_compile(compiler) || !has_cmake() {
        return;
    }
    for library in ["libgpgmm_d3d12.dll.a", "gpgmm_d3d12.dll.a"] {
        let finder = Finder::new(&[library]);
        let mut arguments = vec![
            "-DCMAKE_SYSTEM_NAME=Windows".to_owned(),
            format!("-DCMAKE_CXX_COMPILER={compiler}"),
            "-DCMAKE_FIND_ROOT_PATH=/usr/x86_64-w64-mingw32".to_owned(),
        ];
        arguments
            .extend(["LIBRARY", "INCLUDE"].map(|kind| format!("-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY")));
        let found = finder.found(&arguments);
        assert!(found.contains(&format!("/lib/{library}, ")), "{found}");
    }
}
