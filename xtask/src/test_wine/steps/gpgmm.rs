//! The C++ program that uses every member of the headers, and the samples.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::summary::Counts;
use super::{Place, native};
use crate::command;

const LIMIT: Duration = Duration::from_secs(1800);

/// Compiles the programs of crates/gpgmm with MinGW, except for one file that clang compiles for Microsoft's C++ ABI,
/// and runs them on a device: "system", or the runtime's.
pub(super) fn run(place: &Place<'_>, device: Option<&str>) -> Result<Counts, String> {
    let folder = place.folder.join("gpgmm");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let package = place.root.join("crates/gpgmm");
    let sources = package.join("tests/cpp");

    let microsoft = folder.join("microsoft.obj");
    let mut command = Command::new("clang++");
    command.args([
        "--target=x86_64-pc-windows-msvc",
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-c",
    ]);
    command.arg("-I").arg(package.join("include")).arg("-o").arg(&microsoft);
    command::output(command.arg(sources.join("msvc/calls.cpp")))?;

    let library = place.built.gpgmm()?;
    let headers = ["gpgmm_d3d12.h", "heapwright_d3d12.h", "D3D12MemAlloc.h"];
    let headers = headers.map(|name| package.join("include").join(name));
    check_exports(library, &headers)?;
    // The program finds the DLL beside it.
    fs::copy(library, folder.join("gpgmm_d3d12.dll"))
        .map_err(|error| format!("{}: {error}", library.display()))?;
    let compile_program = |name: &str, files: &[PathBuf], options: &[&str]| {
        let program = folder.join(name).with_extension("exe");
        // The variant of MinGW's that has std::thread.
        let mut command = Command::new("x86_64-w64-mingw32-g++-posix");
        command.args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-static",
            "-DGPGMM_SHARED_LIBRARY",
            "-DD3D12MA_IMPORTS",
        ]);
        command.args(options).arg("-I").arg(package.join("include"));
        command::output(command.arg("-o").arg(&program).args(files).arg(library)).map(|_| program)
    };
    let name = device.unwrap_or("ours");
    let run_program = |program: &Path, device: &Path| {
        let mut command = place.wine.command(program);
        // Recordings and reports go there.
        command.arg(device).current_dir(&folder).env("HEAPWRIGHT_OPTIONS", "aliasing=advanced");
        let stem = program.file_stem().unwrap_or_default().display();
        place.run(command, LIMIT, &format!("gpgmm-{name}-{stem}"))
    };

    let runtime = place.built.runtime()?;
    let mut files = cpp_files(&sources)?;
    files.push(microsoft);
    let directx = ["-DGPGMM_TEST_MICROSOFT", "-isystem/usr/include/directx", "-isystem/usr/include/dxguids"];
    let program = compile_program("members", &files, &directx)?;
    let run = run_program(&program, device.map_or(runtime, Path::new))?;
    let mut counts = native::checks(&run).ok_or_else(|| run.describe())?;
    for sample in cpp_files(&package.join("example"))? {
        let name = sample.file_stem().unwrap_or_default().display().to_string();
        // With MinGW's own headers of D3D12.
        let program = compile_program(&name, &[sample], &[])?;
        let run = run_program(&program, device.map_or(runtime, |_| Path::new("d3d12.dll")))?;
        counts.add(Counts::one(if run.is_success() { Ok(()) } else { Err(run.describe()) }));
    }
    Ok(counts)
}

/// Returns the C++ files of a folder.
fn cpp_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "cpp") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Checks that the DLL exports the functions that the headers declare, and nothing else.
fn check_exports(library: &Path, headers: &[PathBuf]) -> Result<(), String> {
    let mut declarations = String::new();
    for header in headers {
        declarations +=
            &fs::read_to_string(header).map_err(|error| format!("{}: {error}", header.display()))?;
    }
    let declared = declarations.lines().filter_map(|line| {
        line.strip_prefix("GPGMM_EXPORT HRESULT ").or_else(|| line.strip_prefix("D3D12MA_API HRESULT "))
    });
    let declared: BTreeSet<&str> = declared.filter_map(|line| line.split('(').next()).collect();
    let listed = command::output(Command::new("x86_64-w64-mingw32-objdump").arg("-p").arg(library))?;
    let exported = exports(&listed);
    if declared.is_empty() || exported != declared {
        return Err(format!("{} exports {exported:?}, the headers declare {declared:?}", library.display()));
    }
    Ok(())
}

/// Returns the names in the export table of a DLL, as `objdump -p` prints it.
fn exports(listed: &str) -> BTreeSet<&str> {
    let table = listed.lines().skip_while(|line| !line.starts_with("[Ordinal/Name Pointer] Table")).skip(1);
    let rows = table.take_while(|line| line.trim_start().starts_with('['));
    rows.filter_map(|row| row.split_whitespace().next_back()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_from_the_table_of_names() {
        let listed = "The Export Tables\n\nExport Address Table -- Ordinal Base 1\n\t[   0] +base[   1] 1000 Export RVA\n\n\
                      [Ordinal/Name Pointer] Table\n\t[   0] First\n\t[   1] +base[   2]  0001 Second\n\n\
                      The Function Table\n\t[   0] Other\n";
        assert_eq!(exports(listed), BTreeSet::from(["First", "Second"]));
        assert!(exports("there is no table").is_empty());
    }
}
