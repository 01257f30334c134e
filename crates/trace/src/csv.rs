//! CSV files: lines of limited length, and their fields.

use std::io::Read;
use std::ops::Range;

use crate::error::Fault;
use crate::event::EventKind;
use crate::source::Source;
use crate::text::quoted;

/// The first line of every trace.
pub(crate) const HEADER: &str = "time_us,event,id,size_bytes";

/// Content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) time_us: u64,
    pub(crate) kind: EventKind,
    /// Id of the allocation in the file.
    pub(crate) id: u64,
    /// Size in bytes, at least 1.
    pub(crate) size_bytes: u64,
}

/// Checks the first line, without its line end.
pub(crate) fn check_header(line: &[u8]) -> Result<(), Fault> {
    if line == HEADER.as_bytes() {
        return Ok(());
    }
    let found = quoted(line);
    Err(not_utf8(line).unwrap_or_else(|| format!("invalid header {found}; expected \"{HEADER}\"").into()))
}

/// Parses a line, without its line end.
pub(crate) fn parse(line: &[u8]) -> Result<Row, Fault> {
    // UTF-8 is only checked after an error, because all fields are ASCII.
    parse_fields(line).map_err(|fault| not_utf8(line).unwrap_or(fault))
}

fn parse_fields(line: &[u8]) -> Result<Row, Fault> {
    let mut fields = line.split(|&byte| byte == b',');
    let (Some(time_us), Some(event), Some(id), Some(size_bytes), None) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        // An empty line has no field, but `split` returns one.
        let found = if line.is_empty() { 0 } else { line.split(|&byte| byte == b',').count() };
        return Err(format!("expected 4 fields ({HEADER}), found {found}: {}", quoted(line)).into());
    };
    let row = Row {
        time_us: parse_number("time_us", time_us)?,
        kind: match event {
            b"alloc" => EventKind::Alloc,
            b"free" => EventKind::Free,
            _ => {
                let found = quoted(event);
                return Err(format!("event must be \"alloc\" or \"free\", found {found}").into());
            }
        },
        id: parse_number("id", id)?,
        size_bytes: parse_number("size_bytes", size_bytes)?,
    };
    if row.size_bytes == 0 { Err(ZERO_SIZE.into()) } else { Ok(row) }
}

/// The rule about sizes, also of sessions.
pub(crate) const ZERO_SIZE: &str = "size_bytes is 0, but must be at least 1";

/// Parses a number of decimal digits. Unlike `u64::from_str`, a sign is not allowed.
fn parse_number(column: &str, field: &[u8]) -> Result<u64, Fault> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return Err(format!("{column} must be decimal digits, found {}", quoted(field)).into());
    }
    let append = |number: u64, digit: &u8| number.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    let number = field.iter().try_fold(0, append);
    number.ok_or_else(|| format!("{column} does not fit in 64 bits: {}", quoted(field)).into())
}

fn not_utf8(line: &[u8]) -> Option<Fault> {
    str::from_utf8(line).err().map(|_| format!("the line is not valid UTF-8: {}", quoted(line)).into())
}

/// The lines of a [`Source`], with limited length.
///
/// A line ends with LF, CR LF or the end of the file. The end of the file after a line end does not start another line.
pub(crate) struct Lines<R> {
    source: Source<R>,
    buffer: Box<[u8]>,
    /// Range of the buffer with bytes that have not been returned yet.
    filled: Range<usize>,
    /// Maximum length of a line without its end, in bytes.
    max_line_len: usize,
}

const BUFFER_LEN: usize = 64 << 10;

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: Source<R>, max_line_len: usize) -> Self {
        // The buffer has space for CR LF after the longest line and for at least one more byte.
        assert!(max_line_len + 2 < BUFFER_LEN, "the longest line must fit in the buffer");
        Self { source, buffer: vec![0; BUFFER_LEN].into_boxed_slice(), filled: 0..0, max_line_len }
    }

    /// Returns the next line without its end, or `None` at the end of the file.
    ///
    /// After an error of the input, complete lines in the buffer are returned before the error.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, Fault> {
        let Some(line) = self.next_range()? else { return Ok(None) };
        let line = &self.buffer[line];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.max_line_len { Err(self.too_long()) } else { Ok(Some(line)) }
    }

    fn too_long(&self) -> Fault {
        format!("the line exceeds the limit of {} bytes", self.max_line_len).into()
    }

    /// Returns the range of the next line in the buffer, without its LF.
    fn next_range(&mut self) -> Result<Option<Range<usize>>, Fault> {
        let mut searched = 0;
        loop {
            let Range { start, end } = self.filled;
            if let Some(len) = memchr::memchr(b'\n', &self.buffer[start + searched..end]) {
                let line = start..start + searched + len;
                self.filled.start = line.end + 1;
                return Ok(Some(line));
            }
            searched = self.filled.len();
            // One byte beyond the limit may be the CR of a line with the maximum length.
            if searched > self.max_line_len + 1 {
                return Err(self.too_long());
            }
            if self.read_more()? == 0 {
                // The last line may have no line end.
                let line = self.filled.clone();
                self.filled.start = line.end;
                return Ok((!line.is_empty()).then_some(line));
            }
        }
    }

    /// Moves the remaining bytes to the start of the buffer and reads more. Returns the number of bytes read.
    fn read_more(&mut self) -> Result<usize, Fault> {
        self.buffer.copy_within(self.filled.clone(), 0);
        self.filled = 0..self.filled.len();
        let len = self.source.read(&mut self.buffer[self.filled.end..])?;
        self.filled.end += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time, so that every line spans several reads.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((&first, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn split(input: impl Read, max_line_len: usize) -> Result<Vec<String>, Fault> {
        let mut lines = Lines::new(Source::new(input)?, max_line_len);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line()? {
            all.push(String::from_utf8_lossy(line).into_owned());
        }
        Ok(all)
    }

    /// Splits the text with both readers, which must agree.
    fn lines(text: &str, max_line_len: usize) -> Option<Vec<String>> {
        let at_once = split(text.as_bytes(), max_line_len).ok();
        let dribbled = split(Dribble(text.as_bytes()), max_line_len).ok();
        assert_eq!(at_once, dribbled, "{text:?}");
        at_once
    }

    #[test]
    fn line_ends_may_be_lf_or_crlf_and_the_last_may_be_missing() {
        for text in ["a\nb\n\nc\n", "a\nb\n\nc", "a\r\nb\r\n\r\nc\r\n", "a\r\nb\n\r\nc"] {
            assert_eq!(lines(text, 8).unwrap(), ["a", "b", "", "c"], "{text:?}");
        }
        assert!(lines("", 8).unwrap().is_empty());
        assert_eq!(lines("\n", 8).unwrap(), [""]);
    }

    #[test]
    fn the_limit_does_not_count_the_line_end() {
        for text in ["12345678", "12345678\n", "12345678\r\n", "a\n12345678\r\nb"] {
            assert!(lines(text, 8).is_some(), "{text:?}");
        }
        for text in ["123456789", "123456789\n", "123456789\r\n", "a\n123456789\r\nb"] {
            assert!(lines(text, 8).is_none(), "{text:?}");
        }
    }

    #[test]
    fn an_endless_line_is_rejected_early() {
        let mut read = 0;
        let endless = std::iter::repeat_with(|| {
            read += 1;
            b'x'
        });
        struct Endless<I>(I);
        impl<I: Iterator<Item = u8>> Read for Endless<I> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                buffer.iter_mut().zip(&mut self.0).for_each(|(to, byte)| *to = byte);
                Ok(buffer.len())
            }
        }
        assert!(matches!(split(Endless(endless), 100), Err(Fault::Invalid(_))));
        assert!(read <= 2 * BUFFER_LEN, "{read} bytes were read");
    }

    #[test]
    fn input_larger_than_the_buffer_is_split_completely() {
        let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        let all = split(text.as_bytes(), 100).unwrap();
        assert_eq!(all.len(), 20_000);
        assert!(all.iter().enumerate().all(|(number, line)| *line == format!("line {number}")));
    }

    fn error(line: &[u8]) -> String {
        parse(line).unwrap_err().to_string()
    }

    #[test]
    fn a_row_is_read() {
        assert_eq!(
            parse(b"537,free,18446744073709551615,3072").unwrap(),
            Row { time_us: 537, kind: EventKind::Free, id: u64::MAX, size_bytes: 3072 }
        );
        assert_eq!(
            parse(b"0,alloc,007,18446744073709551615").unwrap(),
            Row { time_us: 0, kind: EventKind::Alloc, id: 7, size_bytes: u64::MAX }
        );
        assert_eq!(
            parse(b"9999999999999999999,alloc,10000000000000000000,0000000000000000000000000001").unwrap(),
            Row {
                time_us: 9_999_999_999_999_999_999,
                kind: EventKind::Alloc,
                id: 10_u64.pow(19),
                size_bytes: 1
            }
        );
    }

    #[test]
    fn the_header_is_exact() {
        assert!(check_header(b"time_us,event,id,size_bytes").is_ok());
        for wrong in
            ["", "time_us,event,id,size", "time_us,event,id,size_bytes ", "Time_us,event,id,size_bytes"]
        {
            let error = check_header(wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("invalid header"), "{error}");
        }
        assert_eq!(
            check_header("\u{feff}time_us,event,id,size_bytes".as_bytes()).unwrap_err().to_string(),
            "invalid header \"\\u{feff}time_us,event,id,size_bytes\"; expected \"time_us,event,id,size_bytes\""
        );
        let error = check_header(b"\xff\xfet\0i\0").unwrap_err().to_string();
        assert!(error.starts_with("the line is not valid UTF-8"), "{error}");
    }

    #[test]
    fn the_number_of_fields_is_four() {
        let rule = "expected 4 fields (time_us,event,id,size_bytes)";
        assert_eq!(error(b""), format!("{rule}, found 0: \"\""));
        assert_eq!(error(b"1,alloc,2"), format!("{rule}, found 3: \"1,alloc,2\""));
        assert_eq!(error(b"1,alloc,2,3,4"), format!("{rule}, found 5: \"1,alloc,2,3,4\""));
    }

    #[test]
    fn every_malformed_field_is_named() {
        assert_eq!(error(b",alloc,2,3"), "time_us must be decimal digits, found \"\"");
        assert_eq!(error(b"-1,alloc,2,3"), "time_us must be decimal digits, found \"-1\"");
        assert_eq!(error(b"1,realloc,2,3"), "event must be \"alloc\" or \"free\", found \"realloc\"");
        assert_eq!(error(b"1,alloc,+2,3"), "id must be decimal digits, found \"+2\"");
        assert_eq!(error(b"1,alloc,2, 3"), "size_bytes must be decimal digits, found \" 3\"");
        assert_eq!(error(b"1,alloc,2,3.5"), "size_bytes must be decimal digits, found \"3.5\"");
        assert_eq!(error("1,alloc,2,٣".as_bytes()), "size_bytes must be decimal digits, found \"٣\"");
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        assert_eq!(
            error(b"1,alloc,18446744073709551616,3"),
            "id does not fit in 64 bits: \"18446744073709551616\""
        );
        assert_eq!(
            error(b"99999999999999999999999,alloc,2,3"),
            "time_us does not fit in 64 bits: \"99999999999999999999999\""
        );
    }

    #[test]
    fn size_zero_and_invalid_utf8_are_errors() {
        assert_eq!(error(b"1,free,2,0"), "size_bytes is 0, but must be at least 1");
        assert_eq!(error(b"1,alloc,\xff,3"), "the line is not valid UTF-8: \"1,alloc,\\xff,3\"");
    }
}
