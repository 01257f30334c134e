//! Modules use only the modules below them, in the order that ARCHITECTURE.md states, and programs compile only the
//! modules they use.

mod circles;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Position of each module of a crate, from the top.
type Layers = BTreeMap<String, usize>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}

/// Reads the table of layers: rows of a crate and its modules. Arrows separate layers; modules of one layer may use
/// each other.
fn documented_layers(text: &str) -> BTreeMap<String, Layers> {
    let section = text.split("\n## Layers\n").nth(1).expect("a section \"Layers\"");
    let section = section.split("\n## ").next().expect("text");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `crates/"));
    rows.map(|row| {
        let (name, layers) = row.split_once("` | ").expect("two columns");
        let mut positions = Layers::new();
        for (position, layer) in layers.split('→').enumerate() {
            for module in layer.split('`').skip(1).step_by(2) {
                assert!(
                    positions.insert(module.to_owned(), position).is_none(),
                    "{name}: {module} is listed twice"
                );
            }
        }
        (name.to_owned(), positions)
    })
    .collect()
}

/// The names that follow `crate::`, in `use` declarations and in paths.
#[derive(Default)]
struct CrateNames(Vec<String>);

impl CrateNames {
    fn add_first_of(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => self.0.push(path.ident.to_string()),
            syn::UseTree::Name(name) => self.0.push(name.ident.to_string()),
            syn::UseTree::Rename(rename) => self.0.push(rename.ident.to_string()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_first_of(item)),
            syn::UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for CrateNames {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        // Tests may use everything.
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        if path.ident == "crate" {
            self.add_first_of(&path.tree);
        }
        visit::visit_use_path(self, path);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        if segments.next().is_some_and(|first| first.ident == "crate") {
            self.0.extend(segments.next().map(|second| second.ident.to_string()));
        }
        visit::visit_path(self, path);
    }
}

/// Returns whether an item is only compiled for tests.
fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        list.path.is_ident("cfg") && (condition.starts_with("test") || condition.starts_with("all (test"))
    })
}

fn parse(file: &Path) -> syn::File {
    let text = fs::read_to_string(file).expect("a readable file");
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the module of each name that the crate's root exports again, and of each module itself.
fn modules_by_name(root: &syn::File) -> BTreeMap<String, String> {
    fn add(names: &mut BTreeMap<String, String>, module: &str, tree: &syn::UseTree) {
        let mut add_name = |name: String| {
            names.insert(name, module.to_owned());
        };
        match tree {
            syn::UseTree::Path(path) => add(names, module, &path.tree),
            syn::UseTree::Name(name) => add_name(name.ident.to_string()),
            syn::UseTree::Rename(rename) => add_name(rename.rename.to_string()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| add(names, module, item)),
            syn::UseTree::Glob(_) => {}
        }
    }
    let mut names = BTreeMap::new();
    for item in &root.items {
        match item {
            syn::Item::Mod(module) => {
                names.insert(module.ident.to_string(), module.ident.to_string());
            }
            syn::Item::Use(reexport) => {
                if let syn::UseTree::Path(path) = &reexport.tree {
                    let module = if path.ident == "self" || path.ident == "crate" {
                        continue;
                    } else {
                        path.ident.to_string()
                    };
                    add(&mut names, &module, &path.tree);
                }
            }
            _ => {}
        }
    }
    names
}

/// Lists the files of a crate's modules, without tests, which may use everything.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && !name.ends_with("_tests.rs") {
            found.push(path);
        }
    }
}

/// Returns a line for each use of a module above, and for each module that is not in the table.
fn violations(name: &str, layers: &Layers) -> Vec<String> {
    let folder = root().join("crates").join(name).join("src");
    let modules = modules_by_name(&parse(&folder.join("lib.rs")));
    let mut files = Vec::new();
    sources(&folder, &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&folder).expect("in the folder");
        let own = inside.iter().next().expect("a name").to_string_lossy();
        let own = own.trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let Some(own_layer) = layers.get(own) else {
            found.push(format!("{}: `{own}` is in no layer", inside.display()));
            continue;
        };
        let mut names = CrateNames::default();
        names.visit_file(&parse(&file));
        names.0.sort();
        names.0.dedup();
        for used in &names.0 {
            let module = modules.get(used).map_or(used.as_str(), String::as_str);
            if layers.get(module).is_some_and(|layer| layer < own_layer) {
                found.push(format!(
                    "{}: `{own}` uses `{used}` of `{module}`, which is above it",
                    inside.display()
                ));
            }
        }
    }
    found
}

#[test]
fn modules_use_only_what_is_below_them() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let documented = documented_layers(&text);
    assert!(documented.len() >= 3, "core, heapwright and runtime have layers: {documented:?}");
    let found: Vec<_> = documented.iter().flat_map(|(name, layers)| violations(name, layers)).collect();
    assert!(found.is_empty(), "calls go one way, as ARCHITECTURE.md says:\n{}", found.join("\n"));
}

#[test]
fn a_use_of_a_module_above_is_found() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut upside_down = documented_layers(&text).remove("core").expect("a row for core");
    let last = upside_down.len();
    upside_down.values_mut().for_each(|position| *position = last - *position);
    assert!(!violations("core", &upside_down).is_empty());
    upside_down.remove("units");
    assert!(violations("core", &upside_down).iter().any(|line| line.ends_with("`units` is in no layer")));
}

/// Modules of which every function is `#[inline]` or generic, so that only programs that call them compile them.
const INLINE: [&str; 1] = ["core/src/residency/policy"];

/// The functions that are compiled with their crate, whoever uses it.
#[derive(Default)]
struct Compiled(Vec<String>);

impl Compiled {
    fn add(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature) {
        let is_generic = signature.generics.type_params().next().is_some()
            || signature.inputs.iter().any(|input| {
                matches!(input, syn::FnArg::Typed(typed) if matches!(*typed.ty, syn::Type::ImplTrait(_)))
            });
        if !is_generic && !attributes.iter().any(|attribute| attribute.path().is_ident("inline")) {
            self.0.push(signature.ident.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Compiled {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.attrs, &function.sig);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // Methods of a generic type are generic.
        if item.generics.type_params().next().is_none() {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.attrs, &function.sig);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }
}

#[test]
fn a_program_compiles_only_what_it_uses() {
    let mut files = Vec::new();
    INLINE.iter().for_each(|module| sources(&root().join("crates").join(module), &mut files));
    let found = files.iter().flat_map(|file| {
        let mut compiled = Compiled::default();
        compiled.visit_file(&parse(file));
        compiled.0.into_iter().map(move |name| format!("{}: {name}", file.display()))
    });
    let found: Vec<_> = found.collect();
    assert!(
        found.is_empty(),
        "these functions need `#[inline]`, as CONTRIBUTING.md says:\n{}",
        found.join("\n")
    );
}
