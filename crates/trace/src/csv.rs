//! CSV files: lines of limited length, and their fields.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use crate::error::Fault;
use crate::event::EventKind;
use crate::kind::BYTE_ORDER_MARK;
use crate::rules::too_many_events;
use crate::source::Source;
use crate::text::quoted;

/// The columns of every trace, in the order in which they are written.
pub(crate) const HEADER: &str = "time_us,event,id,size_bytes";

/// The maximum length of a line, in bytes.
pub(crate) const MAX_LINE_LEN: usize = 4096;

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

/// The rows of a CSV file.
pub(crate) struct Rows<R> {
    lines: Lines<R>,
    columns: Columns,
}

impl<R: Read> Rows<R> {
    /// Reads the header, after a byte order mark if there is one.
    pub(crate) fn open(source: Source<R>) -> Result<Self, Fault> {
        let mut lines = Lines::new(source, MAX_LINE_LEN);
        let empty = || format!("the file is empty; expected the header \"{HEADER}\"");
        let header = lines.next_line()?.ok_or_else(empty)?;
        let columns = Columns::of(header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header))?;
        Ok(Self { lines, columns })
    }

    /// Returns the next row. Another row is an error if the limit is reached.
    pub(crate) fn next_row(&mut self, is_limit_reached: bool) -> Result<Option<Row>, Fault> {
        match self.lines.next_line()? {
            None => Ok(None),
            Some(_) if is_limit_reached => Err(too_many_events()),
            Some(line) => self.columns.parse(line).map(Some),
        }
    }
}

/// The columns of a file.
#[derive(Debug)]
struct Columns {
    /// What each column is.
    titles: Vec<Title>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Title {
    TimeUs,
    Event,
    Id,
    SizeBytes,
    /// The column is skipped.
    Other,
}

impl Columns {
    /// Reads the first line, without its line end.
    fn of(line: &[u8]) -> Result<Self, Fault> {
        let found = |rule: &str| {
            let found = quoted(line);
            not_utf8(line)
                .unwrap_or_else(|| format!("invalid header {found}; expected \"{HEADER}\"{rule}").into())
        };
        let mut titles = Vec::new();
        for title in Fields(Some(line)) {
            let title = match &*title? {
                b"time_us" => Title::TimeUs,
                b"event" => Title::Event,
                b"id" => Title::Id,
                b"size_bytes" => Title::SizeBytes,
                _ => Title::Other,
            };
            if title != Title::Other && titles.contains(&title) {
                return Err(found(", each column once"));
            }
            titles.push(title);
        }
        let all = [Title::TimeUs, Title::Event, Title::Id, Title::SizeBytes];
        if all.iter().all(|title| titles.contains(title)) { Ok(Self { titles }) } else { Err(found("")) }
    }

    /// Parses a line, without its line end.
    fn parse(&self, line: &[u8]) -> Result<Row, Fault> {
        // UTF-8 is only checked after an error, because all fields that are read are ASCII.
        self.parse_fields(line)
            .map_err(|fault| not_utf8(line).or_else(|| self.wrong_count(line)).unwrap_or(fault))
    }

    fn parse_fields(&self, line: &[u8]) -> Result<Row, Fault> {
        let mut row = Row { time_us: 0, kind: EventKind::Alloc, id: 0, size_bytes: 0 };
        let mut fields = Fields(Some(line));
        for title in &self.titles {
            let field = fields.next().ok_or(MISSING)?;
            let field = field?;
            match title {
                Title::TimeUs => row.time_us = parse_number("time_us", &field)?,
                Title::Event => row.kind = parse_event(&field)?,
                Title::Id => row.id = parse_number("id", &field)?,
                Title::SizeBytes => row.size_bytes = parse_number("size_bytes", &field)?,
                Title::Other => {}
            }
        }
        match fields.next() {
            Some(_) => Err(MISSING.into()),
            None if row.size_bytes == 0 => Err(ZERO_SIZE.into()),
            None => Ok(row),
        }
    }

    /// Returns the error of a line with another number of fields than columns.
    fn wrong_count(&self, line: &[u8]) -> Option<Fault> {
        let (count, found_text) = (self.titles.len(), quoted(line));
        // An empty line has no field, but would be split into one.
        let found = if line.is_empty() {
            0
        } else {
            Fields(Some(line)).try_fold(0, |count, field| field.ok().map(|_| count + 1))?
        };
        if found == count {
            return None;
        }
        let names = if count == 4 { format!(" ({HEADER})") } else { String::new() };
        Some(format!("expected {count} fields{names}, found {found}: {found_text}").into())
    }
}

/// Replaced by an error with the numbers of fields.
const MISSING: &str = "fields are missing, or there are too many";

/// The fields of a line, without quotes and without white space around them. `None` after the last one.
struct Fields<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, [u8]>, Fault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let line = self.0?.trim_ascii_start();
        if line.first() == Some(&b'"') {
            return Some(self.next_quoted(&line[1..]));
        }
        let end = line.iter().position(|&byte| byte == b',');
        self.0 = end.map(|end| &line[end + 1..]);
        Some(Ok(line[..end.unwrap_or(line.len())].trim_ascii_end().into()))
    }
}

impl<'a> Fields<'a> {
    /// Returns a field in quotes, of which the first one was read.
    fn next_quoted(&mut self, line: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        self.0 = None;
        let mut field = Vec::new();
        let mut rest = line;
        loop {
            let Some(end) = memchr::memchr(b'"', rest) else {
                return Err(format!("a field has no closing quote: {}", quoted(line)).into());
            };
            field.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix(b"\"") {
                Some(after) => {
                    field.push(b'"');
                    rest = after;
                }
                None => break,
            }
        }
        match rest.trim_ascii_start() {
            [] => {}
            [b',', after @ ..] => self.0 = Some(after),
            _ => return Err(format!("a field goes on behind its closing quote: {}", quoted(line)).into()),
        }
        Ok(field.into())
    }
}

fn parse_event(field: &[u8]) -> Result<EventKind, Fault> {
    match field {
        b"alloc" => Ok(EventKind::Alloc),
        b"free" => Ok(EventKind::Free),
        _ => Err(format!("event must be \"alloc\" or \"free\", found {}", quoted(field)).into()),
    }
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

    fn parse(line: &[u8]) -> Result<Row, Fault> {
        Columns::of(HEADER.as_bytes()).unwrap().parse(line)
    }

    fn error(line: &[u8]) -> String {
        parse(line).unwrap_err().to_string()
    }

    #[test]
    fn columns_are_in_any_order_and_fields_may_be_quoted() {
        let expected = Row { time_us: 5, kind: EventKind::Free, id: 7, size_bytes: 16 };
        for (header, line) in [
            ("time_us,event,id,size_bytes", "\"5\",\"free\",\"7\",\"16\""),
            ("size_bytes,id,event,time_us", "16,7,free,5"),
            ("\"id\", \"time_us\" ,event,size_bytes", " 7 ,5, \"free\" ,\"16\""),
            ("id,name,time_us,event,size_bytes,", "7,\"a, \"\"b\"\"\",5,free,16,"),
            ("name,id,time_us,event,size_bytes", ",7,5,free,16"),
        ] {
            let columns = Columns::of(header.as_bytes()).unwrap();
            assert_eq!(columns.parse(line.as_bytes()).unwrap(), expected, "{header}");
        }
        let columns = Columns::of(b"id,name,time_us,event,size_bytes").unwrap();
        let error = |line: &str| columns.parse(line.as_bytes()).unwrap_err().to_string();
        assert_eq!(error("7,\"a,5,free,16"), "a field has no closing quote: \"a,5,free,16\"");
        assert_eq!(
            error("7,\"a\"b,5,free,16"),
            "a field goes on behind its closing quote: \"a\\\"b,5,free,16\""
        );
        assert_eq!(error("7,a,5,free"), "expected 5 fields, found 4: \"7,a,5,free\"");
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
    fn the_header_has_each_column_once() {
        let error = |header: &[u8]| Columns::of(header).unwrap_err().to_string();
        for wrong in ["", "time_us,event,id,size", "Time_us,event,id,size_bytes"] {
            let error = error(wrong.as_bytes());
            assert_eq!(error, format!("invalid header \"{wrong}\"; expected \"{HEADER}\""));
        }
        assert_eq!(
            error(b"time_us,event,id,size_bytes,id"),
            format!(
                "invalid header \"time_us,event,id,size_bytes,id\"; expected \"{HEADER}\", each column once"
            )
        );
        assert_eq!(
            error("\u{feff}time_us,event,id,size_bytes".as_bytes()),
            format!("invalid header \"\\u{{feff}}time_us,event,id,size_bytes\"; expected \"{HEADER}\"")
        );
        assert!(error(b"time_us\xff").starts_with("the line is not valid UTF-8"));
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
        assert_eq!(error(b"1,alloc,2,3 4"), "size_bytes must be decimal digits, found \"3 4\"");
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
