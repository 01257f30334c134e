//! `cargo xtask check`: formatting, clippy and tests of what changed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command;

/// A package of the workspace.
struct Package {
    name: String,
    /// Path of its folder, relative to the repository.
    folder: PathBuf,
    /// Names of the packages that it depends on, also for its tests and builds.
    dependencies: Vec<String>,
}

/// Checks the packages that differ from the last commit in common with `since`, and those that depend on them.
pub(crate) fn run(root: &Path, since: &str) -> Result<(), String> {
    let cargo = |arguments: &[&str]| command::run(Command::new("cargo").args(arguments).current_dir(root));
    let git = |arguments: &[&str]| command::output(Command::new("git").args(arguments).current_dir(root));
    cargo(&["fmt", "--all", "--check"])?;
    let base = git(&["merge-base", since, "HEAD"])?;
    let changed = git(&["diff", "--name-only", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    let files: Vec<&Path> = changed.lines().chain(new.lines()).map(Path::new).collect();
    let packages = packages(root)?;
    let affected = affected(&packages, &files);
    if affected.is_empty() {
        println!("no package differs from {since}");
        return Ok(());
    }
    println!("checking {}", affected.join(", "));
    let packages: Vec<&str> = affected.iter().flat_map(|name| ["-p", name]).collect();
    cargo(&[&["clippy"], &packages[..], &["--all-targets", "--", "-D", "warnings"]].concat())?;
    crate::test::run(root, &packages.iter().map(OsString::from).collect::<Vec<_>>())
}

/// Returns the names of the packages with changed files, and of those that depend on them. Changes of the workspace's
/// manifest or lock file affect all, and a test of xtask reads the README at the root.
fn affected<'a>(packages: &'a [Package], files: &[&Path]) -> Vec<&'a str> {
    let of_all = ["Cargo.toml", "Cargo.lock", "rustfmt.toml"].map(Path::new);
    let is_changed = |package: &Package| {
        files.iter().any(|file| {
            of_all.contains(file)
                || file.starts_with(&package.folder)
                || (package.name == "xtask" && *file == Path::new("README.md"))
        })
    };
    let mut names: BTreeSet<&str> =
        packages.iter().filter(|package| is_changed(package)).map(|package| package.name.as_str()).collect();
    loop {
        let count = names.len();
        for package in packages {
            if package.dependencies.iter().any(|dependency| names.contains(dependency.as_str())) {
                names.insert(&package.name);
            }
        }
        if names.len() == count {
            return names.into_iter().collect();
        }
    }
}

/// Returns the packages of the workspace.
fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
    let text = command::output(&mut metadata)?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let package = |value: &Value| {
        let manifest = Path::new(value["manifest_path"].as_str()?);
        let dependencies = value["dependencies"].as_array()?.iter();
        Some(Package {
            name: value["name"].as_str()?.to_owned(),
            folder: manifest.parent()?.strip_prefix(root).ok()?.to_owned(),
            dependencies: dependencies
                .filter(|dependency| dependency["path"].is_string())
                .filter_map(|dependency| Some(dependency["name"].as_str()?.to_owned()))
                .collect(),
        })
    };
    let packages = metadata["packages"].as_array().into_iter().flatten().map(package);
    packages
        .collect::<Option<_>>()
        .ok_or_else(|| "cargo metadata describes a package in another way".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|&name| name.to_owned()).collect();
        Package { name: name.to_owned(), folder: folder.into(), dependencies }
    }

    #[test]
    fn a_change_affects_what_depends_on_it() {
        let packages = [
            package("heapwright-cli", "crates/cli", &["heapwright"]),
            package("heapwright", "crates/heapwright", &["core"]),
            package("core", "crates/core", &[]),
            package("core-like", "crates/core-like", &[]),
            package("xtask", "xtask", &[]),
        ];
        let affected = |file: &str| affected(&packages, &[Path::new(file)]);
        assert_eq!(affected("crates/core/src/lib.rs"), ["core", "heapwright", "heapwright-cli"]);
        assert_eq!(affected("crates/cli/Cargo.toml"), ["heapwright-cli"]);
        assert_eq!(affected("README.md"), ["xtask"]);
        assert_eq!(affected("Cargo.lock").len(), 5);
        assert_eq!(affected("docs/vulkan.md"), [""; 0]);
    }
}
