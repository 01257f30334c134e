//! Escaping of text and JSON in HTML.

use std::fmt::{self, Display, Formatter, Write};
use std::io;

use crate::Visible;

/// Text in an element or a quoted attribute. HTML's special characters are escaped, and invisible characters are
/// written as by [`Visible`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct HtmlText<'a>(pub(crate) &'a str);

impl Display for HtmlText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", Visible(self.0))
    }
}

struct Escaping<'a, 'f>(&'a mut Formatter<'f>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (place, byte) in text.bytes().enumerate() {
            let escaped = match byte {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                _ => continue,
            };
            self.0.write_str(&text[plain..place])?;
            self.0.write_str(escaped)?;
            plain = place + 1;
        }
        self.0.write_str(&text[plain..])
    }
}

/// A writer that escapes JSON for a `<script>` element, which `<` could end.
///
/// In JSON the escaped characters only occur in strings, where an escape sequence is equivalent.
#[derive(Debug)]
pub(crate) struct ScriptJson<W>(pub(crate) W);

impl<W: io::Write> io::Write for ScriptJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut plain = 0;
        for (place, byte) in bytes.iter().enumerate() {
            let escaped: &[u8] = match byte {
                b'<' => br"\u003c",
                b'>' => br"\u003e",
                b'&' => br"\u0026",
                _ => continue,
            };
            self.0.write_all(&bytes[plain..place])?;
            self.0.write_all(escaped)?;
            plain = place + 1;
        }
        self.0.write_all(&bytes[plain..])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let hostile = "</td><script>alert('1')</script> \"on\"=&lt; \0 \u{202e}";
        assert_eq!(
            HtmlText(hostile).to_string(),
            "&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &quot;on&quot;=&amp;lt; \\u{0} \\u{202e}"
        );
    }

    #[test]
    fn json_cannot_end_its_script() {
        let hostile = "</script><!--<script>& \\ \" 影";
        let mut written = Vec::new();
        serde_json::to_writer(ScriptJson(&mut written), hostile).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(!written.contains(['<', '>', '&']), "{written}");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), hostile);
    }
}
