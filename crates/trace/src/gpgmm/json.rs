//! Splits a JSON file into the elements of one array, without a copy of the file in memory.

use std::io::Read;

use crate::error::Fault;
use crate::kind::BYTE_ORDER_MARK;
use crate::source::Source;
use crate::text::quoted;
use crate::visible::Visible;

/// The objects in the array `traceEvents` of an object, or in an array.
///
/// Members before and after the array are skipped; their brackets must match in number. The objects are not parsed.
pub(super) struct Objects<R> {
    source: Source<R>,
    buffer: Box<[u8]>,
    /// Next byte of the buffer, and end of its bytes.
    next: usize,
    end: usize,
    /// Offset of the buffer in the file.
    offset: u64,
    state: State,
    object: Vec<u8>,
    object_offset: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// In the array, and whether an object precedes, and whether the array is a member.
    Array {
        has_object: bool,
        is_member: bool,
    },
    Done,
}

const BUFFER_LEN: usize = 64 << 10;

const NO_EVENTS: &str = "the JSON object has no array traceEvents; it is not a capture of GPGMM";
const TRUNCATED: &str = "unexpected end of the JSON; the file may be truncated";

/// Maximum length of an object, in bytes.
const MAX_OBJECT_LEN: usize = 4 << 20;

/// Maximum length of a member's name, in bytes.
const MAX_NAME_LEN: usize = 256;

impl<R: Read> Objects<R> {
    pub(super) fn new(source: Source<R>) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER_LEN].into_boxed_slice(),
            next: 0,
            end: 0,
            offset: 0,
            state: State::Start,
            object: Vec::new(),
            object_offset: 0,
        }
    }

    /// Returns the offset of the next byte in the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset + self.next as u64
    }

    /// Returns the offset of the current object in the file.
    pub(super) fn object_offset(&self) -> u64 {
        self.object_offset
    }

    /// Returns the current object.
    pub(super) fn object(&self) -> &[u8] {
        &self.object
    }

    /// Advances to the next object. Returns `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, Fault> {
        if self.state == State::Start {
            self.state = self.start()?;
        }
        let State::Array { has_object, is_member } = self.state else { return Ok(false) };
        let mut byte = self.token()?;
        if byte == b']' {
            self.take();
            self.finish(is_member)?;
            self.state = State::Done;
            return Ok(false);
        }
        if has_object {
            self.expect(b',', "a comma or ]")?;
            byte = self.token()?;
        }
        if byte != b'{' {
            return Err(self.unexpected("an object"));
        }
        self.state = State::Array { has_object: true, is_member };
        self.object_offset = self.offset();
        let mut object = std::mem::take(&mut self.object);
        object.clear();
        let read = self.value(|bytes| {
            object.extend_from_slice(bytes);
            if object.len() > MAX_OBJECT_LEN {
                return Err(format!("the event exceeds the limit of {MAX_OBJECT_LEN} bytes").into());
            }
            Ok(())
        });
        self.object = object;
        read.map(|()| true)
    }

    /// Reads up to the first element.
    fn start(&mut self) -> Result<State, Fault> {
        if self.peek()? == Some(BYTE_ORDER_MARK[0]) {
            for &byte in BYTE_ORDER_MARK {
                self.expect(byte, "a JSON object")?;
            }
        }
        if self.token()? == b'[' {
            self.take();
            return Ok(State::Array { has_object: false, is_member: false });
        }
        self.expect(b'{', "a JSON object or array")?;
        if self.token()? == b'}' {
            return Err(NO_EVENTS.into());
        }
        loop {
            let is_events = self.name()? == b"\"traceEvents\"";
            if self.token()? == b'[' && is_events {
                self.take();
                return Ok(State::Array { has_object: false, is_member: true });
            }
            self.value(|_| Ok(()))?;
            if self.token()? == b'}' {
                return Err(NO_EVENTS.into());
            }
            self.expect(b',', "a comma or }")?;
        }
    }

    /// Reads from the end of the array to the end of the file.
    fn finish(&mut self, is_member: bool) -> Result<(), Fault> {
        if is_member {
            while self.token()? != b'}' {
                self.expect(b',', "a comma or }")?;
                self.name()?;
                self.token()?;
                self.value(|_| Ok(()))?;
            }
            self.take();
        }
        self.skip_space()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    /// Reads the name of a member with its quotes, and the colon.
    fn name(&mut self) -> Result<Vec<u8>, Fault> {
        if self.token()? != b'"' {
            return Err(self.unexpected("the name of a member"));
        }
        let mut name = Vec::new();
        self.value(|bytes| {
            name.extend_from_slice(bytes);
            if name.len() > MAX_NAME_LEN {
                return Err(format!("the name of a member exceeds the limit of {MAX_NAME_LEN} bytes").into());
            }
            Ok(())
        })?;
        self.token()?;
        self.expect(b':', "a colon")?;
        Ok(name)
    }

    /// Reads a value, whose first byte is next, and passes its parts on.
    fn value(&mut self, mut part: impl FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault> {
        let is_scalar = !matches!(self.token()?, b'{' | b'[' | b'"');
        let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
        loop {
            if self.peek()?.is_none() {
                return Err(TRUNCATED.into());
            }
            let bytes = &self.buffer[self.next..self.end];
            let mut len = None;
            for (place, &byte) in bytes.iter().enumerate() {
                if in_string {
                    match byte {
                        _ if is_escaped => is_escaped = false,
                        b'\\' => is_escaped = true,
                        b'"' => in_string = false,
                        _ => {}
                    }
                } else {
                    match byte {
                        b'"' => in_string = true,
                        b'{' | b'[' => depth = depth.saturating_add(1),
                        b'}' | b']' | b',' if is_scalar => {
                            len = Some(place);
                            break;
                        }
                        b'}' | b']' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
                if !is_scalar && depth == 0 && !in_string {
                    len = Some(place + 1);
                    break;
                }
            }
            let is_end = len.is_some();
            let len = len.unwrap_or(bytes.len());
            part(&bytes[..len])?;
            self.next += len;
            if is_end {
                return Ok(());
            }
        }
    }

    /// Skips white space and returns the next byte, which stays next.
    fn token(&mut self) -> Result<u8, Fault> {
        self.skip_space()?;
        self.peek()?.ok_or_else(|| TRUNCATED.into())
    }

    fn skip_space(&mut self) -> Result<(), Fault> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek()? {
            self.take();
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8, expected: &str) -> Result<(), Fault> {
        match self.peek()? {
            Some(found) if found == byte => {
                self.take();
                Ok(())
            }
            Some(_) => Err(self.unexpected(expected)),
            None => Err(TRUNCATED.into()),
        }
    }

    fn unexpected(&self, expected: &str) -> Fault {
        // The only byte that is in the buffer for certain.
        let found = quoted(&self.buffer[self.next..][..1]);
        format!("invalid JSON: expected {expected}, found {found}").into()
    }

    fn take(&mut self) {
        self.next += 1;
    }

    fn peek(&mut self) -> Result<Option<u8>, Fault> {
        if self.next == self.end {
            self.offset += self.end as u64;
            (self.next, self.end) = (0, 0);
            self.end = self.source.read(&mut self.buffer)?;
        }
        Ok((self.next < self.end).then(|| self.buffer[self.next]))
    }
}

/// Returns the error as one line of limited length, without line and column, which are relative to the event.
pub(super) fn invalid_json(error: &serde_json::Error) -> Fault {
    // The message may quote text of the file, of any length.
    const MAX_CHARS: usize = 120;
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    format!("invalid JSON: {}", Visible(message).shortened(MAX_CHARS)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Result<Vec<String>, (u64, String)> {
        let mut objects = Objects::new(Source::new(text.as_bytes()).unwrap());
        let mut all = Vec::new();
        loop {
            match objects.advance() {
                Ok(true) => {
                    let object = str::from_utf8(objects.object()).unwrap();
                    let start = usize::try_from(objects.object_offset()).unwrap();
                    assert!(text[start..].starts_with(object));
                    all.push(object.to_owned());
                }
                Ok(false) => return Ok(all),
                Err(error) => return Err((objects.offset(), error.to_string())),
            }
        }
    }

    #[test]
    fn the_array_may_be_a_member_or_alone() {
        let expected = [r#"{"a":"]}\"{,"}"#, "{}", r#"{"b":[{},[1]]}"#];
        let array = format!("[{} ,\n{},{}]", expected[0], expected[1], expected[2]);
        for text in [
            array.clone(),
            format!("\u{feff}\r\n{array}\n"),
            format!("{{\"traceEvents\":{array}}}"),
            format!(
                r#" {{ "x": [{{"traceEvents":[{{}}]}}, 1], "n": 1.5, "s": "}}", "traceEvents" : {array} , "z":null}} "#
            ),
        ] {
            assert_eq!(split(&text).unwrap(), expected, "{text}");
        }
        assert!(split("[]").unwrap().is_empty());
    }

    #[test]
    fn errors_have_an_offset() {
        let truncated = "unexpected end of the JSON; the file may be truncated";
        for (text, offset, message) in [
            ("", 0, truncated),
            ("[{}", 3, truncated),
            ("[{\"a\":\"", 7, truncated),
            ("{\"traceEvents\":[]", 17, truncated),
            ("[1]", 1, "invalid JSON: expected an object, found \"1\""),
            ("[{}{}]", 3, "invalid JSON: expected a comma or ], found \"{\""),
            ("[{},]", 4, "invalid JSON: expected an object, found \"]\""),
            ("[]x", 2, "invalid JSON: expected the end of the file, found \"x\""),
            ("{\"heaps\":[]}", 11, "the JSON object has no array traceEvents; it is not a capture of GPGMM"),
            (
                "{\"traceEvents\":1}",
                16,
                "the JSON object has no array traceEvents; it is not a capture of GPGMM",
            ),
        ] {
            assert_eq!(split(text), Err((offset, message.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_long_object_is_refused() {
        let endless = std::io::repeat(b'x');
        let mut objects = Objects::new(Source::new(b"[{\"a\":\"".chain(endless)).unwrap());
        let error = objects.advance().unwrap_err().to_string();
        assert_eq!(error, "the event exceeds the limit of 4194304 bytes");
    }
}
