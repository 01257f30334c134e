//! Changes methods that return a structure so that they return the pointer to it.
//!
//! In COM such a method takes a pointer to the structure after `this`. With MSVC's calling convention, which C headers
//! declare explicitly, the method returns this pointer, and callers use it. The methods that windows-bindgen generates
//! return nothing. A null pointer is returned as it is; nothing is written to it.

use std::collections::BTreeMap;

/// Changes the functions that implement such methods, and the fields of the vtables.
pub(crate) fn fix(text: &str) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let methods = fix_functions(&mut lines)?;
    let fields = fix_fields(&mut lines, &methods)?;
    if methods.is_empty() || fields != methods.len() {
        return Err(format!(
            "{} methods return a structure, but {fields} fields of vtables were found for them",
            methods.len()
        ));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Changes the functions to return `result__`. Returns the type of the structure by vtable and method.
fn fix_functions(lines: &mut Vec<String>) -> Result<BTreeMap<(String, String), String>, String> {
    let mut methods = BTreeMap::new();
    let (mut table, mut method) = (String::new(), String::new());
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim();
        if let Some(name) = between(line, "impl ", "_Vtbl {") {
            table = name.to_string();
        } else if let Some(rest) = line.strip_prefix("unsafe extern \"system\" fn ") {
            method = rest.split(['<', '(']).next().unwrap_or_default().to_string();
        } else if let Some(target) = between(line, "result__: *mut ", ",").map(str::to_string) {
            // The method may have another return type after the parameters.
            let end = find(lines, index, |line| line.trim().starts_with(')'))?;
            if lines[end].trim() == ") {" {
                lines[end] = lines[end].replace(") {", &format!(") -> *mut {target} {{"));
                let start = find(lines, end, |line| line.trim().starts_with("*result__ = "))?;
                let last = find(lines, start, |line| line.ends_with(';'))?;
                let indent = " ".repeat(lines[start].len() - lines[start].trim_start().len());
                lines[start] = lines[start].replacen("*result__ = ", "let ok__ = ", 1);
                let check = format!("{indent}if !result__.is_null() {{");
                let write = format!("{indent}    result__.write(ok__);");
                lines.splice(
                    last + 1..last + 1,
                    [check, write, format!("{indent}}}"), format!("{indent}result__")],
                );
                methods.insert((table.clone(), method.clone()), target);
            }
        }
        index += 1;
    }
    Ok(methods)
}

/// Changes the types of the fields and returns their number.
fn fix_fields(lines: &mut [String], methods: &BTreeMap<(String, String), String>) -> Result<usize, String> {
    let mut table = String::new();
    let mut fields = 0;
    for index in 0..lines.len() {
        let line = lines[index].trim();
        if let Some(name) = between(line, "pub struct ", "_Vtbl {") {
            table = name.to_string();
        }
        // A long type follows on the next line.
        let Some((name, _)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        let Some(target) = methods.get(&(table.clone(), name.to_string())) else { continue };
        let end = find(lines, index, |line| line.ends_with("),"))?;
        let kept = lines[end].strip_suffix(',').unwrap_or(&lines[end]);
        lines[end] = format!("{kept} -> *mut {target},");
        fields += 1;
    }
    Ok(fields)
}

/// Returns the text between `before` and `after`, if the line consists of these parts.
fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    line.strip_prefix(before)?.strip_suffix(after)
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

    const GENERATED: &str = r#"pub struct IThing_Vtbl {
    pub GetSize: unsafe extern "system" fn(*mut core::ffi::c_void) -> u32,
    pub GetDesc: unsafe extern "system" fn(*mut core::ffi::c_void, *mut DESC),
    pub GetBoth: unsafe extern "system" fn(
        *mut core::ffi::c_void,
        *mut BOTH,
        u32,
    ),
    pub GetAName:
        unsafe extern "system" fn(*mut core::ffi::c_void, *mut NAME),
}
impl IThing_Vtbl {
    pub const fn new() -> Self {
        unsafe extern "system" fn GetDesc<Identity: IThing_Impl, const OFFSET: isize>(
            this: *mut core::ffi::c_void,
            result__: *mut DESC,
        ) {
            unsafe {
                *result__ = IThing_Impl::GetDesc(this);
            }
        }
        unsafe extern "system" fn GetBoth(
            this: *mut core::ffi::c_void,
            result__: *mut BOTH,
            index: u32,
        ) {
            unsafe {
                *result__ = IThing_Impl::GetBoth(
                    this,
                    core::mem::transmute_copy(&index),
                );
            }
        }
        unsafe extern "system" fn GetAName(this: *mut core::ffi::c_void,
            result__: *mut NAME,
        ) {
            unsafe {
                *result__ = IThing_Impl::GetAName(this);
            }
        }
        unsafe extern "system" fn Open(
            this: *mut core::ffi::c_void,
            result__: *mut HANDLE,
        ) -> windows_core::HRESULT {
        }
    }
}
"#;

    #[test]
    fn only_methods_that_return_structures_change() {
        let written = "\n                if !result__.is_null() {\n                    result__.write(ok__);\n                }\n                result__\n";
        let expected = GENERATED
            .replace("*result__ = ", "let ok__ = ")
            .replace("c_void, *mut DESC),", "c_void, *mut DESC) -> *mut DESC,")
            .replace("        u32,\n    ),", "        u32,\n    ) -> *mut BOTH,")
            .replace("result__: *mut DESC,\n        ) {", "result__: *mut DESC,\n        ) -> *mut DESC {")
            .replace("index: u32,\n        ) {", "index: u32,\n        ) -> *mut BOTH {")
            .replace("*mut NAME),", "*mut NAME) -> *mut NAME,")
            .replace("result__: *mut NAME,\n        ) {", "result__: *mut NAME,\n        ) -> *mut NAME {")
            .replace("GetAName(this);\n", &format!("GetAName(this);{written}"))
            .replace("GetDesc(this);\n", &format!("GetDesc(this);{written}"))
            .replace(
                "                );\n            }",
                &format!("                );{written}            }}"),
            );
        assert_eq!(fix(GENERATED).expect("well formed"), expected);
    }

    #[test]
    fn unexpected_code_is_an_error() {
        assert!(fix("pub struct IThing_Vtbl {\n}\n").is_err(), "no such method");
        let without_field = GENERATED.replace("pub GetDesc:", "pub Other:");
        assert!(fix(&without_field).is_err());
    }
}
