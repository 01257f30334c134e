//! Files of a crate that import each other are a circle, which a reader has to understand as one. Those that there are
//! stand in a list.
//!
//! A file and the files of its own folder are one thing in parts: what `x/y.rs` imports of `x.rs` is no import here. A
//! name counts as the file's that defines it, through all `use` declarations that export it again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use syn::visit::{self, Visit};

use super::{parse, root, sources};

/// A module as its names from the crate's root on.
type Module = Vec<String>;

/// The circles of each crate. This list only becomes shorter.
const KNOWN: &str = include_str!("circles.txt");

/// The modules and items that a file names.
#[derive(Default)]
struct Names {
    /// The paths of its `use` declarations, with the names that they bring in, and whether these are exported.
    uses: Vec<(Vec<String>, String, bool)>,
    /// Other paths that begin with `crate`, `self` or `super`.
    paths: Vec<Vec<String>>,
}

impl Names {
    fn add(&mut self, before: &[String], tree: &syn::UseTree, is_exported: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.add(&with(&path.ident), &path.tree, is_exported),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                self.uses.push((before.to_vec(), last, is_exported));
            }
            syn::UseTree::Name(name) => {
                self.uses.push((with(&name.ident), name.ident.to_string(), is_exported))
            }
            syn::UseTree::Rename(rename) => {
                self.uses.push((with(&rename.ident), rename.rename.to_string(), is_exported));
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.add(before, item, is_exported));
            }
            syn::UseTree::Glob(_) => self.uses.push((before.to_vec(), "*".to_owned(), is_exported)),
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !super::is_of_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !super::is_of_tests(&item.attrs) {
            self.add(&[], &item.tree, !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 && matches!(names[0].as_str(), "crate" | "self" | "super") {
            self.paths.push(names);
        }
        visit::visit_path(self, path);
    }
}

/// The files of a crate, by their modules.
struct Files {
    names: BTreeMap<Module, Names>,
    files: BTreeMap<Module, PathBuf>,
}

impl Files {
    fn read(name: &str) -> Self {
        let folder = root().join("crates").join(name).join("src");
        let mut paths = Vec::new();
        sources(&folder, &mut paths);
        let (mut names, mut files) = (BTreeMap::new(), BTreeMap::new());
        for path in paths {
            let inside = path.strip_prefix(&folder).expect("in the folder").with_extension("");
            let mut module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                module.pop();
            }
            let mut found = Names::default();
            found.visit_file(&parse(&path));
            names.insert(module.clone(), found);
            files.insert(module, path.strip_prefix(folder.as_path()).expect("in the folder").to_owned());
        }
        Self { names, files }
    }

    /// Returns the module whose file defines what a path of a module names, if it is of this crate.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<Module> {
        let (mut base, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (module.to_vec(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            first => {
                let child = [module, &[first.to_owned()]].concat();
                self.names.contains_key(&child).then_some(())?;
                (module.to_vec(), path)
            }
        };
        while let Some(name) = rest.first() {
            let child = [base.as_slice(), std::slice::from_ref(name)].concat();
            if self.names.contains_key(&child) {
                (base, rest) = (child, &rest[1..]);
                continue;
            }
            let uses = &self.names.get(&base)?.uses;
            let brought =
                uses.iter().find(|(of, as_name, _)| as_name == name && (of != path || base != module));
            // Definitions go in circles only if `use` declarations do, which do not compile.
            return match brought {
                Some((of, ..)) if depth < 16 => self.resolve(&base, of, depth + 1),
                _ => Some(base),
            };
        }
        Some(base)
    }

    /// Returns the modules that a module imports.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let names = &self.names[module];
        let is_map = |file: &PathBuf| file.ends_with("mod.rs") || file.ends_with("lib.rs");
        // A map exports what its folder has.
        let is_map = is_map(&self.files[module]);
        let used = names.uses.iter().filter(|(.., is_exported)| !(is_map && *is_exported));
        used.map(|(path, ..)| path)
            .chain(&names.paths)
            .filter_map(|path| self.resolve(module, path, 0))
            .filter(|found| !module.starts_with(found))
            .collect()
    }

    /// Returns a line for each circle: its files.
    fn circles(&self) -> Vec<String> {
        let imports: BTreeMap<_, _> =
            self.names.keys().map(|module| (module, self.imports(module))).collect();
        let reached = |from: &Module| {
            let (mut found, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(module) = next.pop() {
                next.extend(imports[module].iter().filter(|to| found.insert((*to).clone())));
            }
            found
        };
        let reached: BTreeMap<_, _> = self.names.keys().map(|module| (module, reached(module))).collect();
        let circle_of = |module: &Module| {
            let there = reached[module].iter().filter(|to| reached[*to].contains(module));
            there.map(|to| self.files[to].display().to_string().replace('\\', "/")).collect::<Vec<_>>()
        };
        let circles: BTreeSet<_> =
            self.names.keys().map(circle_of).filter(|circle| circle.len() > 1).collect();
        circles.into_iter().map(|circle| circle.join(" ")).collect()
    }
}

#[test]
fn files_import_each_other_only_where_a_list_says_so() {
    let mut text = String::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("a folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        for circle in Files::read(&name).circles() {
            text += &format!("{name}: {circle}\n");
        }
    }
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    let known: Vec<_> = KNOWN.lines().filter(|line| !line.starts_with('#')).collect();
    let added: Vec<_> = lines.iter().filter(|line| !known.contains(line)).collect();
    let gone: Vec<_> = known.iter().filter(|line| !lines.contains(line)).collect();
    assert!(
        added.is_empty() && gone.is_empty(),
        "files that import each other, and are not in xtask/tests/layers/circles.txt:\n{added:#?}\n\
         and those in it that are no circle any more:\n{gone:#?}"
    );
}
