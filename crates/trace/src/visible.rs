//! Text with visible control characters.

use std::fmt::{self, Display, Formatter};

/// Displays text on one line. Control characters, characters that change the direction of text, and those that are
/// displayed as nothing are written as `\u{..}`.
///
/// Use it for names of resources, which may contain escape sequences that move the cursor or imitate other output.
///
/// ```
/// use heapwright_trace::Visible;
///
/// assert_eq!(Visible("line\nbreak \u{1b}[31m \u{202e}").to_string(), r"line\u{a}break \u{1b}[31m \u{202e}");
/// assert_eq!(Visible("a\u{e0041}\u{180e}\u{3164}").to_string(), r"a\u{e0041}\u{180e}\u{3164}");
/// assert_eq!(Visible("schön, 影, \"quoted\"").to_string(), "schön, 影, \"quoted\"");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a>(pub &'a str);

impl Display for Visible<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut plain = 0;
        for (place, character) in self.0.char_indices().filter(|&(_, character)| is_hidden(character)) {
            f.write_str(&self.0[plain..place])?;
            write!(f, "\\u{{{:x}}}", u32::from(character))?;
            plain = place + character.len_utf8();
        }
        f.write_str(&self.0[plain..])
    }
}

impl Visible<'_> {
    /// Returns about `limit` characters of the text, with `…` if it was cut off.
    #[must_use]
    pub fn shortened(self, limit: usize) -> String {
        match self.0.char_indices().nth(limit) {
            Some((cut, _)) => format!("{}…", Visible(&self.0[..cut])),
            None => self.to_string(),
        }
    }
}

/// Returns whether a character is escaped: control characters, separators of lines and paragraphs, format characters
/// such as overrides of direction, characters that are displayed as nothing (Unicode's Cf and
/// Default_Ignorable_Code_Point), and noncharacters.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
        || u32::from(character) & 0xfffe == 0xfffe
        || matches!(character, '\u{fdd0}'..='\u{fdef}')
}
