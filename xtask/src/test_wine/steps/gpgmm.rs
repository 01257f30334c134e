//! The C++ program that uses every member of the headers, and the samples.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, iter, thread};

use super::super::summary::Counts;
use super::{Place, native};
use crate::command;

const LIMIT: Duration = Duration::from_secs(1800);

/// The compiled programs of crates/gpgmm.
pub(in crate::test_wine) struct Programs {
    /// The program that uses every member of the headers.
    members: PathBuf,
    samples: Vec<PathBuf>,
}

/// Compiles the programs of crates/gpgmm with MinGW, except for one file that clang compiles for Microsoft's C++ ABI.
pub(super) fn compile(place: &Place<'_>) -> Result<Programs, String> {
    let folder = place.gpgmm_folder();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let package = place.root.join("crates/gpgmm");
    let (sources, include) = (package.join("tests/cpp"), package.join("include"));

    let library = place.built.gpgmm()?;
    let headers = ["gpgmm_d3d12.h", "heapwright_d3d12.h", "D3D12MemAlloc.h"];
    check_exports(library, &headers.map(|name| include.join(name)))?;
    // The program finds the DLL beside it.
    fs::copy(library, folder.join("gpgmm_d3d12.dll"))
        .map_err(|error| format!("{}: {error}", library.display()))?;

    let microsoft = folder.join("microsoft.obj");
    let mut command = Command::new("clang++");
    command.args(["--target=x86_64-pc-windows-msvc"]).args(OPTIONS).arg("-c");
    command.arg("-I").arg(&include).arg("-o").arg(&microsoft);
    command::output(command.arg(sources.join("msvc/calls.cpp")))?;

    let compiler = || {
        // The variant of MinGW's that has std::thread.
        let mut command = Command::new("x86_64-w64-mingw32-g++-posix");
        command.args(OPTIONS).args(["-static", "-DGPGMM_SHARED_LIBRARY", "-DD3D12MA_IMPORTS"]);
        command.arg("-I").arg(&include);
        command
    };
    let object = |source: &Path| {
        let object = folder.join(source.file_name().unwrap_or_default()).with_extension("o");
        let mut command = compiler();
        command.args([
            "-DGPGMM_TEST_MICROSOFT",
            "-isystem/usr/include/directx",
            "-isystem/usr/include/dxguids",
        ]);
        command::output(command.arg("-c").arg("-o").arg(&object).arg(source)).map(|_| object)
    };
    let link = |name: &str, files: &[PathBuf]| {
        let program = folder.join(name).with_extension("exe");
        command::output(compiler().arg("-o").arg(&program).args(files).arg(library)).map(|_| program)
    };
    // With MinGW's own headers of D3D12.
    let sample = |source: &Path| {
        let name = source.file_stem().unwrap_or_default().display().to_string();
        link(&name, &[source.to_path_buf()])
    };
    let mut objects = each_at_once(&cpp_files(&sources)?, &object)?;
    objects.push(microsoft);
    Ok(Programs {
        members: link("members", &objects)?,
        samples: each_at_once(&cpp_files(&package.join("example"))?, &sample)?,
    })
}

const OPTIONS: [&str; 5] = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1"];

/// Compiles files on all cores, and returns the results in their order.
fn each_at_once(
    files: &[PathBuf],
    compile: &(impl Fn(&Path) -> Result<PathBuf, String> + Sync),
) -> Result<Vec<PathBuf>, String> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = mine.map_while(|index| Some((index, files.get(index)?)));
        mine.map(|(index, file)| Ok((index, compile(file)?))).collect::<Result<Vec<_>, String>>()
    };
    let mut results = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        results.collect::<Result<Vec<_>, _>>()
    })?
    .concat();
    results.sort_unstable();
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Runs the programs on a device: "system", or the runtime's.
pub(super) fn run(place: &Place<'_>, device: Option<&str>) -> Result<Counts, String> {
    let programs = place.gpgmm_programs.get_or_init(|| compile(place)).as_ref().map_err(Clone::clone)?;
    let name = device.unwrap_or("ours");
    let run_program = |program: &Path, device: &Path| {
        let mut command = place.wine.command(program);
        // Recordings and reports go there.
        command.arg(device).current_dir(place.gpgmm_folder()).env("HEAPWRIGHT_OPTIONS", "aliasing=advanced");
        let stem = program.file_stem().unwrap_or_default().display();
        place.run(command, LIMIT, &format!("gpgmm-{name}-{stem}"))
    };
    let runtime = place.built.runtime()?;
    let run = run_program(&programs.members, device.map_or(runtime, Path::new))?;
    let mut counts = native::checks(&run).ok_or_else(|| run.describe())?;
    for sample in &programs.samples {
        let run = run_program(sample, device.map_or(runtime, |_| Path::new("d3d12.dll")))?;
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
