//! `cargo xtask walks`: counts the functions and files that requests pass through.
//!
//! The program `lab/walks` makes each walk in a function of its own, whose calls valgrind's callgrind collects. A
//! function counts if it executes at least [`LEAST`] instructions of its own in the crates that the walk is about.
//! Closures, number types, locks and derived traits do not count, so that the figure is what a reader has to follow.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use crate::command;

/// Instructions of its own from which a function counts.
const LEAST: u64 = 25;

const LIBRARY: &[&str] = &["core", "heapwright", "aliasing", "transient", "residency"];
const RUNTIME: &[&str] = &["runtime"];

/// The functions of the program, what they do, and the crates whose functions count.
const WALKS: &[(&str, &str, &[&str])] = &[
    ("create_slot", "create, a slot is at hand", LIBRARY),
    ("create_range", "create, a range is at hand", LIBRARY),
    ("create_part", "create, part of a buffer", LIBRARY),
    ("create_new_heap", "create, with a new heap", LIBRARY),
    ("free_slot", "free, a slot", LIBRARY),
    ("free_range", "free, a range", LIBRARY),
    ("free_last", "free, the last of a heap", LIBRARY),
    ("submit_resident", "submit, all resident", LIBRARY),
    ("submit_paged", "submit, three heaps paged in", LIBRARY),
    ("prepare", "transient prepare, a new frame of four buffers", LIBRARY),
    ("defragmentation_step", "first step of a defragmentation", LIBRARY),
    ("runtime_create_placed", "the runtime's CreatePlacedResource", RUNTIME),
    ("runtime_aliasing_barrier", "the runtime's ResourceBarrier, aliasing", RUNTIME),
];

/// Functions of traits that a reader does not look up.
const TRIVIAL: &[&str] = &[
    "eq",
    "partial_cmp",
    "cmp",
    "default",
    "clone",
    "deref",
    "from",
    "index",
    "index_mut",
    "get",
    "len",
    "is_empty",
    "hash",
    "drop_in_place",
    "fmt",
];

/// Prints the walks as a table, and their functions with `is_verbose`.
pub(crate) fn run(root: &Path, is_verbose: bool) -> Result<(), String> {
    let target = crate::target_folder(root).join("lab");
    let mut build = Command::new("cargo");
    build.args([
        "build",
        "--locked",
        "--manifest-path",
        "lab/Cargo.toml",
        "--profile",
        "walks",
        "-p",
        "heapwright-walks",
    ]);
    command::run(build.arg("--target-dir").arg(&target).current_dir(root))?;
    let file = target.join("walks.callgrind");
    println!("{:48}{:>10}{:>7}", "walk", "functions", "files");
    for (function, title, crates) in WALKS {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", &format!("--toggle-collect=heapwright_walks::{function}")]);
        valgrind.arg(format!("--callgrind-out-file={}", file.display()));
        command::output(valgrind.arg(target.join("walks/heapwright-walks")))?;
        let profile =
            std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let counted = counted(&Profile::parse(&profile), crates);
        if counted.is_empty() {
            return Err(format!("callgrind saw no function in {function}"));
        }
        let files: BTreeSet<_> = counted.iter().map(|(file, _)| file).collect();
        println!("{title:48}{:>10}{:>7}", counted.len(), files.len());
        if is_verbose {
            for (file, name) in &counted {
                println!("    {file:52} {name}");
            }
        }
    }
    Ok(())
}

/// What functions cost by themselves.
#[derive(Default)]
struct Profile {
    /// The functions, with their files and instructions.
    functions: BTreeMap<String, (String, u64)>,
}

impl Profile {
    /// Reads callgrind's format: `fl=` and `fn=` lines say whose the following cost lines are, except the one after
    /// `calls=`, which is what a callee costs. A name occurs once, with a number that stands for it afterwards.
    fn parse(text: &str) -> Self {
        let mut profile = Self::default();
        let (mut files, mut names) = (HashMap::new(), HashMap::new());
        let (mut file, mut function, mut is_call) = (String::new(), String::new(), false);
        for line in text.lines() {
            match line.split_once('=') {
                Some(("fl", name)) => file = resolve(&mut files, name),
                Some(("fi" | "fe" | "cfi" | "cfl", name)) => drop(resolve(&mut files, name)),
                Some(("fn", name)) => {
                    function = resolve(&mut names, name);
                    let entry = profile.functions.entry(function.clone()).or_default();
                    entry.0.clone_from(&file);
                    is_call = false;
                }
                Some(("cfn", name)) => drop(resolve(&mut names, name)),
                Some(("calls", _)) => is_call = true,
                Some(_) => {}
                None if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) => {
                    let own = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
                    if let (false, Some((_, cost)), Some(own)) =
                        (is_call, profile.functions.get_mut(&function), own)
                    {
                        *cost += own;
                    }
                    is_call = false;
                }
                None => {}
            }
        }
        profile
    }
}

/// Returns the name that `(7) name` defines, or that `(7)` stands for.
fn resolve(names: &mut HashMap<String, String>, text: &str) -> String {
    let Some((number, name)) = text.strip_prefix('(').and_then(|text| text.split_once(')')) else {
        return text.to_owned();
    };
    match name.strip_prefix(' ') {
        Some(name) => names.entry(number.to_owned()).insert_entry(name.to_owned()).get().clone(),
        None => names.get(number).cloned().unwrap_or_default(),
    }
}

/// Returns the files, from the crate's name on, and the names of the functions of some crates that count.
fn counted(profile: &Profile, crates: &[&str]) -> BTreeSet<(String, String)> {
    let of = |(function, (file, cost)): (&String, &(String, u64))| {
        let (_, file) = file.split_once("crates/")?;
        let (package, path) = file.split_once("/src/")?;
        let is_trivial_file = package == "core" && (path.starts_with("units") || path.starts_with("sync"));
        let name = name_of(function);
        let counts = *cost >= LEAST && !function.contains("closure") && !TRIVIAL.contains(&name.as_str());
        (crates.contains(&package) && counts && !is_trivial_file).then(|| (format!("{package}/{path}"), name))
    };
    profile.functions.iter().filter_map(of).collect()
}

/// Returns the name of a function without its path, generic arguments and hash.
fn name_of(function: &str) -> String {
    let (mut depth, mut plain) = (0_u32, String::new());
    for character in function.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    let is_hash = |part: &&str| part.len() == 17 && part.starts_with('h');
    plain.rsplit("::").find(|part| !part.is_empty() && !is_hash(part)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_instructions_of_functions_are_counted_without_those_of_callees() {
        let text = "\
events: Ir
fl=(1) /x/crates/heapwright/src/heaps/take.rs
fn=(1) heapwright::heaps::take::PlacedRange::take::h0123456789abcdef
10 20
+1 5
cfl=(2) /x/crates/core/src/placement/lane.rs
cfn=(2) <heapwright_core::placement::lane::Lane<H> as Place<T>>::allocate
calls=1 7
+2 1000
fl=(2)
fn=(2)
7 400
fn=(3) heapwright_core::units::ByteSize::get
8 30
fl=(3) /x/crates/core/src/units/bytes.rs
fn=(4) heapwright_core::units::ByteSize::align_up
8 30
fl=(1)
fn=(5) heapwright::heaps::take::small
8 24
fn=(6) heapwright::heaps::take::take::{{closure}}
8 2400
";
        let counted = counted(&Profile::parse(text), LIBRARY);
        let expected = [("core/placement/lane.rs", "allocate"), ("heapwright/heaps/take.rs", "take")];
        let expected = expected.map(|(file, name)| (file.to_owned(), name.to_owned()));
        assert_eq!(counted, BTreeSet::from(expected));
        assert!(super::counted(&Profile::parse(text), RUNTIME).is_empty());
    }
}
