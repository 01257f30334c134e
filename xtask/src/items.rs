//! Division of the generated items into those that the library needs and the rest.
//!
//! Nearly all types of Direct3D 12 are reachable from an interface, but only few `_Impl` traits and only some of the
//! constants and structures. The others are excluded to reduce compile times.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the items that `wanted` depends on, directly or indirectly, and all others, in order.
///
/// A name includes its trait implementations, and a type includes its constants. The `_Impl` trait of an interface is a
/// separate name (`IThing_Impl`), which includes the constructor of the vtable.
pub(crate) fn divide(text: &str, wanted: &[&str]) -> Result<(String, String), String> {
    let items = split(text);
    let mut by_name: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for item in &items {
        let name = name_of(item)?;
        if let Some(enumeration) = type_of_constant(item) {
            values.entry(enumeration).or_default().push(name.clone());
        }
        by_name.entry(name).or_default().push(item);
    }
    let mut needed = BTreeSet::new();
    let mut open: Vec<String> = wanted.iter().map(|name| name.to_string()).collect();
    while let Some(name) = open.pop() {
        if needed.contains(&name) {
            continue;
        }
        let (items, values) = (by_name.get(&name), values.get(name.as_str()));
        if items.is_none() && values.is_none() {
            return Err(format!("the generated code does not define `{name}`, which the library needs"));
        }
        for word in items.into_iter().flatten().flat_map(|item| words(item)) {
            let word = word.strip_suffix("_Vtbl").unwrap_or(word);
            if by_name.contains_key(word) {
                open.push(word.to_string());
            }
        }
        open.extend(values.into_iter().flatten().cloned());
        needed.insert(name);
    }
    let (mut library, mut rest) = (String::new(), String::new());
    for item in &items {
        let part = if needed.contains(&name_of(item)?) { &mut library } else { &mut rest };
        part.push_str(item);
    }
    Ok((library, rest))
}

/// Splits `text` into items. An item ends with a line that ends with `;` or `}` outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut end, mut depth) = (0, 0, 0_i64);
    for line in text.split_inclusive('\n') {
        end += line.len();
        for character in line.chars() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        if depth == 0 && line.trim_end().ends_with([';', '}']) {
            items.push(&text[start..end]);
            start = end;
        }
    }
    items
}

/// Returns the name under which an item is selected.
fn name_of(item: &str) -> Result<String, String> {
    let declaration = item.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    // `windows_core::imp::interface_hierarchy!(` may be the end of a line.
    let is_macro = declaration.starts_with("windows_core::imp::");
    let declared = if is_macro { item.split_once('(').map(|(_, rest)| rest) } else { Some(declaration) };
    let declared = declared.unwrap_or_default();
    let declared = declared.split_once(" for ").map_or(declared, |(_, implementor)| implementor);
    let name = words(declared)
        .find(|word| {
            !matches!(
                *word,
                "pub" | "unsafe" | "fn" | "struct" | "union" | "type" | "const" | "trait" | "impl" | "T"
            )
        })
        .ok_or_else(|| format!("cannot determine the name of the item: {declaration}"))?;
    let name = ["_ImplVtbl", "_Impl", "_Vtbl"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let is_for_implementors = words(item).any(|word| word.ends_with("_Impl"));
    Ok(if is_for_implementors { format!("{name}_Impl") } else { name.to_string() })
}

fn type_of_constant(item: &str) -> Option<&str> {
    let (_, typed) = item.strip_prefix("pub const ")?.split_once(':')?;
    words(typed.strip_prefix(" windows_core::").unwrap_or(typed)).next()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATED: &str = r#"pub type COLOUR = i32;
pub const COLOUR_RED: COLOUR = 1;
pub const SIZE: u32 =
    2;
#[repr(C)]
pub struct DESC {
    pub Colour: COLOUR,
}
impl Default for DESC {
    fn default() -> Self {
        unsafe { core::mem::zeroed() }
    }
}
windows_core::imp::define_interface!(IThing, IThing_Vtbl, 0x1);
windows_core::imp::interface_hierarchy!(
    IThing,
    windows_core::IUnknown
);
pub struct IThing_Vtbl {
    pub GetDesc: unsafe extern "system" fn(*mut core::ffi::c_void, *mut DESC),
}
pub trait IThing_Impl: windows_core::IUnknownImpl {
    fn GetDesc(&self) -> DESC;
}
impl IThing_Vtbl {
    pub const fn new<Identity: IThing_Impl, const OFFSET: isize>() -> Self {}
}
"#;

    #[test]
    fn a_name_includes_only_its_dependencies() {
        let (library, rest) = divide(GENERATED, &["IThing"]).expect("well formed");
        for part in [
            "define_interface",
            "_hierarchy",
            "struct IThing_Vtbl",
            "struct DESC",
            "impl Default",
            "type COLOUR",
            "COLOUR_RED",
        ] {
            assert!(library.contains(part) && !rest.contains(part), "{part}");
        }
        for part in ["const SIZE: u32 =\n    2;", "trait IThing_Impl", "impl IThing_Vtbl"] {
            assert!(rest.contains(part) && !library.contains(part), "{part}");
        }
        let (library, rest) = divide(GENERATED, &["IThing_Impl", "SIZE"]).expect("well formed");
        assert_eq!((library.as_str(), rest.as_str()), (GENERATED, ""));
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        assert!(divide(GENERATED, &["IOther"]).is_err());
    }
}
