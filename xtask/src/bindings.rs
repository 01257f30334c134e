//! Regenerates the files of `crates/d3d12/src/bindings` from the Windows metadata.
//!
//! windows-bindgen emits the `_Impl` trait of an interface only when each type that the interface's
//! methods name is selected too, so the filter lists every D3D12 and DXGI name of the metadata rather
//! than the few that are in use today. Video is left out: it is a third of the names and no part of memory.
//! What the library needs is in one file, and all else in another, for the feature `complete`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use windows_metadata::reader::{File, Index};

use crate::{items, struct_returns};

const NAMESPACE: &str = "Windows.Win32";

/// Prefixes of the names that the bindings hold.
const PREFIXES: &[&str] = &["D3D12", "ID3D12", "CLSID_D3D12", "DXGI", "IDXGI", "D3D_", "PFN_D3D12"];

/// Names beginning with one of these stay out although a prefix above selects them.
const LEFT_OUT: &[&str] = &["D3D12_VIDEO", "ID3D12Video", "D3D12_FEATURE_DATA_VIDEO"];

/// What the interfaces above name beside themselves, and the exports that start everything.
const EXTRA: &[&str] = &[
    "RECT",
    "POINT",
    "HANDLE",
    "HWND",
    "LUID",
    "SECURITY_ATTRIBUTES",
    "HMONITOR",
    "LARGE_INTEGER",
    "CreateDXGIFactory",
    "CreateDXGIFactory1",
    "CreateDXGIFactory2",
    "E_NOTIMPL",
    "E_NOINTERFACE",
    "E_POINTER",
    "E_FAIL",
    "E_INVALIDARG",
    "E_OUTOFMEMORY",
    "S_OK",
    "S_FALSE",
    // What the runtime's host driver asks of Windows: address space that is committed later.
    "VirtualAlloc",
    "VirtualFree",
    "MEM_RESERVE",
    "MEM_COMMIT",
    "MEM_RELEASE",
    "PAGE_READWRITE",
    "PAGE_NOACCESS",
    // What `heapwright_d3d12::event` is made of on Windows.
    "CreateEventW",
    "SetEvent",
    "ResetEvent",
    "WaitForSingleObject",
    "CloseHandle",
    "CompareObjectHandles",
    "DuplicateHandle",
    "GetCurrentProcess",
    "GetHandleInformation",
    "CompareObjectHandles",
    "DUPLICATE_SAME_ACCESS",
    "WAIT_OBJECT_0",
    "WAIT_TIMEOUT",
    "WAIT_FAILED",
    "INFINITE",
];

/// What heapwright and those who call it need: the interfaces that it takes, hands out and asks for, those by which a program makes them, the
/// debug layer's, and what `heapwright_d3d12::event` calls. `items` says what each name brings.
const LIBRARY: &[&str] = &[
    "D3D12CreateDevice",
    "D3D12GetDebugInterface",
    "D3D12GetInterface",
    "CreateDXGIFactory1",
    "CreateDXGIFactory2",
    "CLSID_D3D12DeviceFactory",
    "ID3D12CommandQueue",
    "ID3D12Debug1",
    "ID3D12Device14",
    // `trim::ID3D12Device15` is made by windows-interface, which names it.
    "ID3D12Device14_Impl",
    "ID3D12DeviceFactory",
    "ID3D12DeviceRemovedExtendedDataSettings",
    "ID3D12Fence1",
    "ID3D12GraphicsCommandList",
    "ID3D12Heap1",
    "ID3D12InfoQueue1",
    "ID3D12Resource2",
    "IDXGIAdapter4",
    "IDXGIFactory6",
    "D3D12_FEATURE_DATA_ARCHITECTURE",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS12",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS16",
    "D3D12_FEATURE_DATA_FORMAT_INFO",
    "D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT",
    "D3D12_FEATURE_DATA_TIGHT_ALIGNMENT",
    "CloseHandle",
    "CompareObjectHandles",
    "CreateEventW",
    "DuplicateHandle",
    "GetCurrentProcess",
    "GetHandleInformation",
    "ResetEvent",
    "SetEvent",
    "WaitForSingleObject",
    // Their constants: limits, alignments, flags and errors.
    "DXGI_ADAPTER_FLAG",
    "HRESULT",
    "i32",
    "u32",
];

/// Writes the bindings, or with `check` compares them with what is checked in.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let folder = root.join("crates/d3d12/src/bindings");
    // windows-bindgen formats with the rustfmt.toml that it finds from the current directory upwards.
    std::env::set_current_dir(root).map_err(|e| format!("entering {}: {e}", root.display()))?;
    let generated = generate().map_err(|e| format!("generating the bindings: {e}"))?;
    let generated = use_windows_core_0_62(write_out_defaults(&struct_returns::fix(&generated)?))?;
    let (library, rest) = items::divide(&generated, LIBRARY)?;
    for (name, fresh) in [("library.rs", library), ("complete.rs", format!("use super::library::*;\n{rest}"))]
    {
        let target = folder.join(name);
        if check {
            compare(&target, &fresh)?;
        } else {
            fs::write(&target, &fresh).map_err(|e| format!("writing {}: {e}", target.display()))?;
            eprintln!("wrote {} ({} lines)", target.display(), fresh.lines().count());
        }
    }
    Ok(())
}

fn compare(target: &Path, fresh: &str) -> Result<(), String> {
    let present = fs::read_to_string(target).map_err(|e| format!("reading {}: {e}", target.display()))?;
    if present == fresh {
        return Ok(());
    }
    let line = present.lines().zip(fresh.lines()).position(|(a, b)| a != b);
    let place = line.map_or_else(
        || "one is a beginning of the other".to_string(),
        |n| format!("first difference in line {}", n + 1),
    );
    Err(format!(
        "{} is not what `cargo xtask bindings` generates ({place}); run it and commit the result",
        target.display()
    ))
}

fn generate() -> io::Result<String> {
    let metadata = File::new(windows_default::WIN32.to_vec())
        .ok_or_else(|| io::Error::other("windows-default holds no readable metadata"))?;
    let names = select(&Index::new(vec![metadata]));

    // windows-bindgen writes to a path only.
    let out = scratch_file();
    let mut bindgen = windows_bindgen::builder();
    bindgen.output(&out).flat().implement_all();
    for name in &names {
        bindgen.filter(&format!("{NAMESPACE}.{name}"));
    }
    bindgen.write();
    let text = fs::read_to_string(&out);
    fs::remove_file(&out)?;
    // A checkout on Windows may hold either line ending; the generated text always has \n.
    text.map(|t| t.replace("\r\n", "\n"))
}

/// What windows-bindgen 0.100 writes for the windows-core of its own version, and what windows-core 0.62 calls it. That is the
/// version of the crate `windows` 0.62, and permits older Rust. Its strings are for Windows alone; `crate` has them everywhere.
const NAMES_FOR_WINDOWS_CORE_0_62: &[(&str, &str)] = &[
    ("windows_core::imp::Type::", "windows_core::Type::"),
    ("windows_core::imp::box_new(", "windows_core::imp::Box::new("),
    ("windows_core::PCSTR", "crate::PCSTR"),
    ("windows_core::PCWSTR", "crate::PCWSTR"),
];

/// Rust 1.87 has no `Default` of raw pointers to derive from: structures that hold one get the implementation that windows-bindgen
/// writes wherever it cannot derive.
fn write_out_defaults(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let mut index = 0;
    while index < lines.len() {
        let derive = index;
        index += 1;
        if !lines[derive].starts_with("#[derive(") || !lines[derive].contains("Default") {
            continue;
        }
        let Some(name) =
            lines[index].strip_prefix("pub struct ").and_then(|rest| rest.split([' ', '(']).next())
        else {
            continue;
        };
        let name = name.to_string();
        // A structure of named fields ends with a brace, one that wraps a pointer in the line that it begins in.
        let end = (index..lines.len())
            .find(|&line| lines[line] == "}" || lines[line].ends_with(");"))
            .unwrap_or(index);
        if lines[index..=end].iter().any(|line| line.contains("*mut ") || line.contains("*const ")) {
            lines[derive] = lines[derive].replace(" Default,", "").replace(", Default)", ")");
            let default = format!(
                "impl Default for {name} {{\n    fn default() -> Self {{\n        unsafe {{ core::mem::zeroed() }}\n    }}\n}}"
            );
            lines.insert(end + 1, default);
        }
        index = end + 1;
    }
    lines.push(String::new());
    lines.join("\n")
}

fn use_windows_core_0_62(mut text: String) -> Result<String, String> {
    for (from, to) in NAMES_FOR_WINDOWS_CORE_0_62 {
        if !text.contains(from) {
            return Err(format!("the generated text has no `{from}`, which was to become `{to}`"));
        }
        text = text.replace(from, to);
    }
    Ok(text)
}

fn select(index: &Index) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, _) in index.namespace_items(NAMESPACE) {
        let wanted = EXTRA.contains(&name) || PREFIXES.iter().any(|p| name.starts_with(p));
        if wanted && !LEFT_OUT.iter().any(|p| name.starts_with(p)) {
            names.insert(name.to_string());
        }
    }
    names
}

fn scratch_file() -> PathBuf {
    std::env::temp_dir().join(format!("heapwright-bindings-{}.rs", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_with_raw_pointers_get_a_default_that_is_written_out() {
        let numbers =
            "#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]\npub struct A {\n    pub x: u32,\n}\n";
        assert_eq!(write_out_defaults(numbers), numbers);
        let zeroed = "fn default() -> Self {\n        unsafe { core::mem::zeroed() }\n    }\n}\n";
        assert_eq!(
            write_out_defaults(&numbers.replace("u32", "*mut u32")),
            format!(
                "#[derive(Clone, Copy, Debug, Eq, PartialEq)]\npub struct A {{\n    pub x: *mut u32,\n}}\nimpl Default for A {{\n    {zeroed}"
            )
        );
        let handle = "#[derive(Clone, Copy, Default)]\npub struct H(pub *mut core::ffi::c_void);\n";
        assert_eq!(
            write_out_defaults(handle),
            format!(
                "#[derive(Clone, Copy)]\npub struct H(pub *mut core::ffi::c_void);\nimpl Default for H {{\n    {zeroed}"
            )
        );
    }
}
