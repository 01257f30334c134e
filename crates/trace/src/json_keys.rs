//! Keys of the beginning of a JSON file.

/// Returns the keys of the outermost object, or of the first object in the outermost array, as far as the text goes.
pub(crate) fn top_level_keys(text: &[u8]) -> Vec<&[u8]> {
    let mut keys = Vec::new();
    let depth_of_keys = if text.starts_with(b"[") { 2 } else { 1 };
    let mut depth = 0_u32;
    let mut place = 0;
    while let Some(&byte) = text.get(place) {
        match byte {
            b'"' => {
                let Some(len) = string_len(&text[place + 1..]) else { break };
                let string = &text[place + 1..][..len];
                place += len + 1;
                let next = text[place + 1..].trim_ascii_start().first();
                if depth == depth_of_keys && next == Some(&b':') {
                    keys.push(string);
                }
            }
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                // The first element of an array says enough.
                if depth < depth_of_keys {
                    break;
                }
            }
            _ => {}
        }
        place += 1;
    }
    keys
}

/// Returns the length of a string up to its closing quote.
fn string_len(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<&str> {
        top_level_keys(text.as_bytes()).into_iter().map(|key| str::from_utf8(key).unwrap()).collect()
    }

    #[test]
    fn keys_of_the_outermost_object_are_found() {
        assert_eq!(keys(r#"{"a": {"b": [1]}, "c" :"d\"}", "e":["f"], "g": {"h"#), ["a", "c", "e", "g"]);
        assert_eq!(keys(r#"[{"a": 1, "b": {"c": 2}}, {"d": 3}]"#), ["a", "b"]);
        assert_eq!(keys(r#"["a", {"b": 1}]"#), ["b"]);
        for nothing in ["", "{", "{}", "[", "[]", "{\"a", "{\"a\"", "[1, 2]"] {
            assert!(keys(nothing).is_empty(), "{nothing}");
        }
    }
}
