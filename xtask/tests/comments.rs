//! Comments are narrow enough to be read: at most 120 columns, but for the rows of tables.

use std::fs;
use std::path::{Path, PathBuf};

const WIDTH: usize = 120;

/// Adds the Rust sources of a folder, without what is built and generated.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let is_left_out = name.starts_with('.') || name.starts_with("target") || name == "bindings";
        if path.is_dir() && !is_left_out {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// Returns the text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim_start())
}

#[test]
fn no_comment_has_more_than_120_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let mut files = Vec::new();
    sources(root, &mut files);
    assert!(files.len() > 500, "{} files", files.len());
    let mut wide = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("UTF-8");
        for (number, line) in text.lines().enumerate() {
            let is_wide = line.chars().count() > WIDTH;
            if is_wide && comment(line).is_some_and(|text| !text.starts_with('|')) {
                wide.push(format!("{}:{}", path.strip_prefix(root).expect("inside").display(), number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "{} comments have more than {WIDTH} columns:\n{}", wide.len(), wide.join("\n"));
}
