//! Quotation of text and paths in messages.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::path::Path;

/// A quotation of text from a file, for messages of one line.
///
/// It has at most [`Snippet::MAX_CHARS`] characters. Control characters and invalid UTF-8 are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet(String);

impl Snippet {
    /// Maximum number of characters. Longer text is cut off and ends with an ellipsis.
    pub const MAX_CHARS: usize = 48;

    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut text = String::from('"');
        let mut char_count = 0;
        'chunks: for chunk in bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                if char_count == Self::MAX_CHARS {
                    text.push('…');
                    break 'chunks;
                }
                push_escaped(&mut text, character);
                char_count += 1;
            }
            for byte in chunk.invalid() {
                if char_count == Self::MAX_CHARS {
                    text.push('…');
                    break 'chunks;
                }
                write!(text, "\\x{byte:02x}").expect("writing to a String cannot fail");
                char_count += 1;
            }
        }
        text.push('"');
        Self(text)
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn push_escaped(text: &mut String, character: char) {
    match character {
        '"' | '\\' => text.extend(['\\', character]),
        // `escape_debug` escapes control characters, separators and unassigned characters.
        _ => text.extend(character.escape_debug()),
    }
}

/// Formats a path on one line, without shortening it.
pub(crate) fn display_path(path: &Path) -> String {
    let lossy: Cow<'_, str> = path.to_string_lossy();
    if !lossy.chars().any(needs_escape) {
        return lossy.into_owned();
    }
    let mut text = String::with_capacity(lossy.len() + 8);
    for character in lossy.chars() {
        if needs_escape(character) {
            text.extend(character.escape_unicode());
        } else {
            text.push(character);
        }
    }
    text
}

/// Returns whether a character is escaped: control characters, and separators that some programs treat as a line end.
fn needs_escape(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_is_quoted_as_it_is() {
        assert_eq!(Snippet::new(b"1,alloc,2,3").to_string(), "\"1,alloc,2,3\"");
        assert_eq!(Snippet::new("größe's".as_bytes()).to_string(), "\"größe\\'s\"");
    }

    #[test]
    fn control_characters_and_broken_utf8_are_escaped() {
        assert_eq!(Snippet::new(b"a\nb\0\x1b[31m\"\\").to_string(), r#""a\nb\0\u{1b}[31m\"\\""#);
        assert_eq!(Snippet::new(b"\xff\xfe1").to_string(), r#""\xff\xfe1""#);
    }

    #[test]
    fn long_text_is_cut() {
        let snippet = Snippet::new(&[b'x'; 500]).to_string();
        assert_eq!(snippet, format!("\"{}…\"", "x".repeat(48)));
        let snippet = Snippet::new(&[0xff; 500]).to_string();
        assert_eq!(snippet, format!("\"{}…\"", r"\xff".repeat(48)));
        assert_eq!(Snippet::new(&[b'x'; 48]).to_string(), format!("\"{}\"", "x".repeat(48)));
    }

    #[test]
    fn a_path_stays_on_one_line() {
        assert_eq!(display_path(Path::new("dir with space/größe.csv")), "dir with space/größe.csv");
        assert_eq!(display_path(Path::new("a\nb\u{2028}.csv")), r"a\u{a}b\u{2028}.csv");
    }
}
