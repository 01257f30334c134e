//! `cargo xtask bindings`: generates `crates/d3d12/src/bindings` from the Windows metadata.
//!
//! windows-bindgen generates the `_Impl` trait of an interface only if all types in its methods are selected. Therefore
//! the filter selects all names of Direct3D 12 and DXGI except video. The items that the library needs are written to
//! one file, and the others to a second file, for the feature `complete`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use windows_metadata::reader::{File, Index};

use crate::{items, out_pointers, struct_returns};

const NAMESPACE: &str = "Windows.Win32";

/// Prefixes of selected names.
const PREFIXES: &[&str] = &["D3D12", "ID3D12", "CLSID_D3D12", "DXGI", "IDXGI", "D3D_", "PFN_D3D12"];

/// Prefixes of names that are excluded despite [`PREFIXES`].
const LEFT_OUT: &[&str] = &["D3D12_VIDEO", "ID3D12Video", "D3D12_FEATURE_DATA_VIDEO"];

/// Other types in the interfaces, and exported functions.
const EXTRA: &[&str] = &[
    "RECT",
    "ID3DDestructionNotifier",
    "PFN_DESTRUCTION_CALLBACK",
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
    // Used by the runtime's host driver to reserve and commit address space.
    "VirtualAlloc",
    "VirtualFree",
    "MEM_RESERVE",
    "MEM_COMMIT",
    "MEM_RELEASE",
    "PAGE_READWRITE",
    "PAGE_NOACCESS",
    // Used by `heapwright_d3d12::event`.
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

/// Names that heapwright and its callers need: interfaces in its API, functions to create them, the debug layer, and
/// the functions that `heapwright_d3d12::event` calls. See `items` for the dependencies that are included.
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
    // Required by the declaration of `trim::ID3D12Device15`.
    "ID3D12Device14_Impl",
    "ID3D12DeviceFactory",
    "ID3D12DeviceRemovedExtendedDataSettings",
    "ID3D12Fence1",
    "ID3D12GraphicsCommandList7",
    "ID3D12Heap1",
    "ID3D12InfoQueue1",
    "ID3D12Resource2",
    "IDXGIAdapter4",
    "IDXGIFactory6",
    "D3D12_FEATURE_DATA_ARCHITECTURE",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS12",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS16",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS19",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS4",
    "D3D12_FEATURE_DATA_D3D12_OPTIONS8",
    "D3D12_FEATURE_DATA_FEATURE_LEVELS",
    "D3D12_FEATURE_DATA_FORMAT_INFO",
    "D3D12_FEATURE_DATA_FORMAT_SUPPORT",
    "D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT",
    "D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS",
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
    // Types of constants: limits, alignments, flags and errors.
    "DXGI_ADAPTER_FLAG",
    "HRESULT",
    "i32",
    "u32",
];

/// Interfaces that are `Send` and `Sync` (see `heapwright_d3d12::threading`), without those that inherit from them.
/// Their `_Impl` traits require both of implementations.
const FREE_THREADED: &[&str] = &[
    "ID3D12Device",
    "ID3D12Heap",
    "ID3D12Resource",
    "ID3D12DescriptorHeap",
    "ID3D12QueryHeap",
    "ID3D12ProtectedResourceSession",
    "ID3D12CommandQueue",
    "ID3D12Fence",
    "IDXGIFactory4",
    "IDXGIAdapter",
];

/// Writes the bindings, or compares them with the existing files if `check` is set.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let folder = root.join("crates/d3d12/src/bindings");
    // windows-bindgen uses the rustfmt.toml in the current directory or its ancestors.
    std::env::set_current_dir(root).map_err(|e| format!("entering {}: {e}", root.display()))?;
    let generated = generate().map_err(|e| format!("generating the bindings: {e}"))?;
    let generated = use_windows_core_0_62(write_out_defaults(&struct_returns::fix(&generated)?))?;
    let generated = null_handles_on_failure(&out_pointers::check(&require_threads(generated)?)?);
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
        || "one is a prefix of the other".to_string(),
        |n| format!("first difference in line {}", n + 1),
    );
    Err(format!(
        "{} is outdated ({place}); run `cargo xtask bindings` and commit the result",
        target.display()
    ))
}

fn generate() -> io::Result<String> {
    let metadata = File::new(windows_default::WIN32.to_vec())
        .ok_or_else(|| io::Error::other("windows-default contains no readable metadata"))?;
    let names = select(&Index::new(vec![metadata]));

    // windows-bindgen can only write to a path.
    let out = scratch_file();
    let mut bindgen = windows_bindgen::builder();
    bindgen.output(&out).flat().implement_all();
    for name in &names {
        bindgen.filter(&format!("{NAMESPACE}.{name}"));
    }
    bindgen.write();
    let text = fs::read_to_string(&out);
    fs::remove_file(&out)?;
    // Files in a checkout on Windows may have CR LF line endings.
    text.map(|t| t.replace("\r\n", "\n"))
}

/// Replacements that adapt the code of windows-bindgen 0.100 to windows-core 0.62, which the crate `windows` 0.62 uses
/// and which supports older versions of Rust. The string types of windows-core exist only on Windows; those of `crate`
/// exist everywhere.
const NAMES_FOR_WINDOWS_CORE_0_62: &[(&str, &str)] = &[
    ("windows_core::imp::Type::", "windows_core::Type::"),
    ("windows_core::imp::box_new(", "windows_core::imp::Box::new("),
    ("windows_core::PCSTR", "crate::PCSTR"),
    ("windows_core::PCWSTR", "crate::PCWSTR"),
];

/// Replaces derived implementations of `Default` for structures with raw pointers, because raw pointers do not
/// implement `Default` in Rust 1.87.
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
        // A structure ends with a brace, a tuple structure on its first line.
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
            return Err(format!(
                "the generated code does not contain `{from}`, which should be replaced with `{to}`"
            ));
        }
        text = text.replace(from, to);
    }
    Ok(text)
}

/// Adds the bounds of [`FREE_THREADED`].
fn require_threads(mut text: String) -> Result<String, String> {
    for interface in FREE_THREADED {
        let declaration = format!("pub trait {interface}_Impl: ");
        let start = text.find(&declaration).ok_or_else(|| format!("`{interface}_Impl` is not defined"))?;
        let end = text[start..].find(" {").ok_or_else(|| format!("`{interface}_Impl` has no body"))?;
        text.insert_str(start + end, " + Send + Sync");
    }
    Ok(text)
}

/// Has methods that fail write a null handle instead of leaving the caller's variable as it was.
fn null_handles_on_failure(text: &str) -> String {
    let mut handle = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_suffix(": *mut HANDLE,") {
            handle = Some(name);
        } else if trimmed.starts_with("unsafe extern") {
            handle = None;
        }
        match handle {
            Some(name) if trimmed == "Err(err) => err.into()," => {
                let indent = " ".repeat(line.len() - trimmed.len());
                lines.push(format!("{indent}Err(err) => {{"));
                lines.push(format!("{indent}    {name}.write(HANDLE::default());"));
                lines.push(format!("{indent}    err.into()"));
                lines.push(format!("{indent}}}"));
                handle = None;
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.push(String::new());
    lines.join("\n")
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
    fn structures_with_raw_pointers_implement_default_manually() {
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
