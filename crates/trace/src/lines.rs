//! Splits input into lines, with a buffer of fixed size.

use std::io::Read;
use std::ops::Range;

use crate::error::TraceErrorKind;
use crate::source::Source;

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
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, TraceErrorKind> {
        let Some(line) = self.next_range()? else { return Ok(None) };
        let line = &self.buffer[line];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.max_line_len { Err(TraceErrorKind::LineTooLong) } else { Ok(Some(line)) }
    }

    /// Returns the range of the next line in the buffer, without its LF.
    fn next_range(&mut self) -> Result<Option<Range<usize>>, TraceErrorKind> {
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
                return Err(TraceErrorKind::LineTooLong);
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
    fn read_more(&mut self) -> Result<usize, TraceErrorKind> {
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

    fn split(input: impl Read, max_line_len: usize) -> Result<Vec<String>, TraceErrorKind> {
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
        assert!(matches!(split(Endless(endless), 100), Err(TraceErrorKind::LineTooLong)));
        assert!(read <= 2 * BUFFER_LEN, "{read} bytes were read");
    }

    #[test]
    fn input_larger_than_the_buffer_is_split_completely() {
        let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        let all = split(text.as_bytes(), 100).unwrap();
        assert_eq!(all.len(), 20_000);
        assert!(all.iter().enumerate().all(|(number, line)| *line == format!("line {number}")));
    }
}
