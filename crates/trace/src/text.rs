//! Quotation of text in messages.

use std::fmt::Write as _;

/// Maximum number of characters in a quotation. Longer text is cut off and ends with an ellipsis.
const MAX_CHARS: usize = 48;

/// Quotes text from a file for messages of one line. Control characters and invalid UTF-8 are escaped.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from('"');
    let mut char_count = 0;
    'chunks: for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().chars().map(Ok);
        for part in valid.chain(chunk.invalid().iter().map(Err)) {
            if char_count == MAX_CHARS {
                text.push('…');
                break 'chunks;
            }
            match part {
                Ok(character) => push_escaped(&mut text, character),
                Err(byte) => write!(text, "\\x{byte:02x}").expect("writing to a String cannot fail"),
            }
            char_count += 1;
        }
    }
    text.push('"');
    text
}

fn push_escaped(text: &mut String, character: char) {
    match character {
        '"' | '\\' => text.extend(['\\', character]),
        // `escape_debug` escapes control characters, separators and unassigned characters.
        _ => text.extend(character.escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_is_quoted_as_it_is() {
        assert_eq!(quoted(b"1,alloc,2,3"), "\"1,alloc,2,3\"");
        assert_eq!(quoted("größe's".as_bytes()), "\"größe\\'s\"");
    }

    #[test]
    fn control_characters_and_broken_utf8_are_escaped() {
        assert_eq!(quoted(b"a\nb\0\x1b[31m\"\\"), r#""a\nb\0\u{1b}[31m\"\\""#);
        assert_eq!(quoted(b"\xff\xfe1"), r#""\xff\xfe1""#);
    }

    #[test]
    fn long_text_is_cut() {
        let snippet = quoted(&[b'x'; 500]);
        assert_eq!(snippet, format!("\"{}…\"", "x".repeat(48)));
        let snippet = quoted(&[0xff; 500]);
        assert_eq!(snippet, format!("\"{}…\"", r"\xff".repeat(48)));
        assert_eq!(quoted(&[b'x'; 48]), format!("\"{}\"", "x".repeat(48)));
    }
}
