//! Makes the generated functions of vtables safe against null pointers to results.
//!
//! In COM, a method that returns a value besides its HRESULT takes a pointer to it as the last parameter. The methods
//! that windows-bindgen generates write through this pointer without checking it, so that a caller who passes null
//! crashes in the implementation.

/// Methods that accept a null pointer (vkd3d-proton's test_destruction_notifier_callback, for Windows). Their traits
/// pass the pointer on, so that the implementation knows whether the result is requested.
const OPTIONAL: &[(&str, &str)] = &[("ID3DDestructionNotifier", "RegisterDestructionCallback")];

/// A pointer to a result: parameter name and type.
struct Optional {
    trait_name: String,
    method: &'static str,
    parameter: String,
}

/// Changes the functions of vtables so that null pointers to results are refused before the implementation is called,
/// or are passed to it if they are optional.
pub(crate) fn check(text: &str) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let optional = check_functions(&mut lines)?;
    for one in &optional {
        pass_on(&mut lines, one)?;
    }
    if optional.len() != OPTIONAL.len() {
        return Err(format!(
            "{} of {} methods with optional results were found",
            optional.len(),
            OPTIONAL.len()
        ));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Changes the functions and returns those whose results are optional.
fn check_functions(lines: &mut Vec<String>) -> Result<Vec<Optional>, String> {
    let (mut interface, mut method, mut call) = (String::new(), String::new(), None);
    let mut found = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim();
        if let Some(name) = line.strip_prefix("impl ").and_then(|rest| rest.strip_suffix("_Vtbl {")) {
            interface = name.to_string();
        } else if let Some(rest) = line.strip_prefix("unsafe extern \"system\" fn ") {
            (method, call) = (rest.split(['<', '(']).next().unwrap_or_default().to_string(), None);
        } else if line.starts_with(&format!("match {interface}_Impl::{method}(")) {
            call = Some(index);
        } else if line == "Ok(ok__) => {" {
            let start = call.ok_or_else(|| format!("line {}: no call for the result", index + 1))?;
            let written = lines.get(index + 1).and_then(|line| line.trim().split_once(".write("));
            let (pointer, _) = written.ok_or_else(|| format!("line {}: no result is written", index + 1))?;
            let pointer = pointer.to_string();
            match OPTIONAL.iter().find(|(of, name)| *of == interface && *name == method) {
                Some(&(_, method)) => {
                    let parameter = parameter_line(lines, start, &pointer)?;
                    pass_to_implementation(lines, start, index, &pointer)?;
                    found.push(Optional { trait_name: format!("{interface}_Impl"), method, parameter });
                }
                None => {
                    lines.insert(start, refusal(&interface, &pointer, &lines[start]));
                    index += 1;
                }
            }
        }
        index += 1;
    }
    Ok(found)
}

/// Returns the check of a pointer, indented like `call`. DXGI's factories refuse null with an error of their own
/// (references of `IDXGIFactory::EnumAdapters` and `CreateSwapChain`).
fn refusal(interface: &str, pointer: &str, call: &str) -> String {
    let error =
        if interface.starts_with("IDXGIFactory") { "DXGI_ERROR_INVALID_CALL" } else { "E_INVALIDARG" };
    let indent = " ".repeat(call.len() - call.trim_start().len());
    format!("{indent}if {pointer}.is_null() {{\n{indent}    return {error};\n{indent}}}")
}

/// Returns the declaration of a parameter of the function that contains line `before`.
fn parameter_line(lines: &[String], before: usize, name: &str) -> Result<String, String> {
    let declared = lines[..before].iter().rev().find(|line| line.trim().starts_with(&format!("{name}: ")));
    declared.map(|line| line.trim().to_string()).ok_or_else(|| format!("no parameter `{name}`"))
}

/// Replaces the `match` from line `start`, whose first arm is in line `arm`, by a call with one more argument.
fn pass_to_implementation(
    lines: &mut Vec<String>,
    start: usize,
    arm: usize,
    pointer: &str,
) -> Result<(), String> {
    let indent = lines[start].len() - lines[start].trim_start().len();
    let end = find(lines, arm, |line| line.len() == indent + 1 && line.trim() == "}")?;
    // The arguments end in the line before the first arm: `) {`.
    let pad = " ".repeat(indent);
    lines[start] = lines[start].replacen("match ", "", 1);
    let close = [
        format!("{pad}    core::mem::transmute_copy(&{pointer}),"),
        format!("{pad})"),
        format!("{pad}.into()"),
    ];
    lines.splice(arm - 1..=end, close);
    Ok(())
}

/// Changes the declaration of a method in its trait: a parameter instead of a result.
fn pass_on(lines: &mut Vec<String>, one: &Optional) -> Result<(), String> {
    let declaration = format!("pub trait {}: ", one.trait_name);
    let start = find(lines, 0, |line| line.starts_with(&declaration))?;
    let method = find(lines, start, |line| line.trim() == format!("fn {}(", one.method))?;
    let end = find(lines, method, |line| line.trim().starts_with(") -> windows_core::Result<"))?;
    lines[end] = "    ) -> windows_core::Result<()>;".to_string();
    lines.insert(end, format!("        {}", one.parameter));
    Ok(())
}

/// Returns the index of the first matching line from `start` on.
fn find(lines: &[String], start: usize, is_found: impl Fn(&str) -> bool) -> Result<usize, String> {
    (start..lines.len())
        .find(|index| is_found(&lines[*index]))
        .ok_or_else(|| format!("line {}: no end found for the item that begins here", start + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATED: &str = r#"pub trait ID3DDestructionNotifier_Impl: windows_core::IUnknownImpl {
    fn RegisterDestructionCallback(
        &self,
        pdata: *const core::ffi::c_void,
    ) -> windows_core::Result<u32>;
}
impl ID3DDestructionNotifier_Vtbl {
    pub const fn new() -> Self {
        unsafe extern "system" fn RegisterDestructionCallback(
            this: *mut core::ffi::c_void,
            pdata: *const core::ffi::c_void,
            pcallbackid: *mut u32,
        ) -> windows_core::HRESULT {
            unsafe {
                match ID3DDestructionNotifier_Impl::RegisterDestructionCallback(
                    this,
                    core::mem::transmute_copy(&pdata),
                ) {
                    Ok(ok__) => {
                        pcallbackid.write(ok__);
                        windows_core::HRESULT(0)
                    }
                    Err(err) => err.into(),
                }
            }
        }
    }
}
impl IDXGIFactory_Vtbl {
    pub const fn new() -> Self {
        unsafe extern "system" fn EnumAdapters(ppadapter: *mut *mut core::ffi::c_void) -> windows_core::HRESULT {
            unsafe {
                match IDXGIFactory_Impl::EnumAdapters(this) {
                    Ok(ok__) => {
                        ppadapter.write(core::mem::transmute(ok__));
                        windows_core::HRESULT(0)
                    }
                    Err(err) => err.into(),
                }
            }
        }
    }
}
"#;

    #[test]
    fn required_pointers_are_checked_and_optional_ones_passed_on() {
        let expected = GENERATED
            .replace("_void,\n    ) -> windows_core::Result<u32>", "_void,\n        pcallbackid: *mut u32,\n    ) -> windows_core::Result<()>")
            .replace("match ID3D", "ID3D")
            .replace(
                "                ) {\n                    Ok(ok__) => {\n                        pcallbackid.write(ok__);\n                        windows_core::HRESULT(0)\n                    }\n                    Err(err) => err.into(),\n                }\n",
                "                    core::mem::transmute_copy(&pcallbackid),\n                )\n                .into()\n",
            )
            .replace(
                "                match IDXGI",
                "                if ppadapter.is_null() {\n                    return DXGI_ERROR_INVALID_CALL;\n                }\n                match IDXGI",
            );
        assert_eq!(check(GENERATED).expect("well formed"), expected);
        let other = GENERATED.replace("IDXGIFactory", "ID3D12Thing");
        assert!(check(&other).expect("well formed").contains("return E_INVALIDARG;"));
    }

    #[test]
    fn unexpected_code_is_an_error() {
        assert!(check("").is_err(), "the optional results are missing");
        assert!(check(&GENERATED.replace("pcallbackid.write", "write")).is_err());
    }
}
