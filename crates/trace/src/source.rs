//! Input of a trace, decompressed if it is gzip, whose first bytes can be examined.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::Fault;
use crate::kind::{BYTE_ORDER_MARK, FileKind};

/// The uncompressed bytes of a file.
pub(crate) struct Source<R> {
    input: Input<R>,
    /// First bytes that [`Source::first`] has read.
    first: io::Cursor<Vec<u8>>,
    /// Error that occurred after `first`.
    error: Option<Fault>,
}

enum Input<R> {
    Plain(Whole<R>),
    // Boxed because a decoder is large.
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
}

/// A file, including the first bytes that have already been read.
type Whole<R> = io::Chain<io::Cursor<Vec<u8>>, BufReader<R>>;

/// The first two bytes of every gzip file (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

impl<R: Read> Source<R> {
    /// Creates a source. The first two bytes of `input` determine whether it is gzip.
    pub(crate) fn new(input: R) -> Result<Self, Fault> {
        let mut input = BufReader::with_capacity(32 << 10, input);
        let mut first = Vec::with_capacity(GZIP_MAGIC.len());
        // `fill_buf` is not sufficient, because a pipe may return one byte at a time.
        input.by_ref().take(2).read_to_end(&mut first).map_err(|error| classify(error, false))?;
        let is_gzip = first == GZIP_MAGIC;
        let whole = io::Cursor::new(first).chain(input);
        let input =
            if is_gzip { Input::Gzip(Box::new(MultiGzDecoder::new(whole))) } else { Input::Plain(whole) };
        Ok(Self { input, first: io::Cursor::default(), error: None })
    }

    /// Returns the first bytes by which a file is recognized, without consuming them. Call before [`read`](Self::read).
    pub(crate) fn first(&mut self) -> &[u8] {
        self.read_first(FileKind::FIRST_LEN);
        let is_text = |byte: &&u8| **byte != 0 && !byte.is_ascii_whitespace();
        // The first character, behind a byte order mark in UTF-8 or UTF-16.
        let character = self.first.get_ref().iter().filter(is_text).find(|byte| byte.is_ascii());
        if let Some(b'{' | b'[' | b'<') = character {
            self.read_first(FileKind::FIRST_TEXT_LEN);
        }
        self.first.get_ref()
    }

    /// Returns the first bytes that [`first`](Self::first) has read.
    pub(crate) fn read_so_far(&self) -> &[u8] {
        self.first.get_ref()
    }

    /// Returns whether the first character is the bracket of a JSON object or array.
    pub(crate) fn begins_with_json(&self) -> bool {
        let first = self.first.get_ref();
        let text = first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first).trim_ascii_start();
        matches!(text, [b'{' | b'[', ..])
    }

    /// Reads until there are `count` first bytes, or until the input ends.
    fn read_first(&mut self, count: usize) {
        let first = self.first.get_mut();
        let mut len = first.len();
        first.resize(count.max(len), 0);
        while len < count && self.error.is_none() {
            match self.input.read(&mut first[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                // Returned after the bytes that precede it.
                Err(error) => self.error = Some(error),
            }
        }
        first.truncate(len);
    }

    /// Reads bytes into `buffer` and returns their number, 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        match self.first.read(buffer).map_err(Fault::Io)? {
            0 => self.error.take().map_or_else(|| self.input.read(buffer), Err),
            len => Ok(len),
        }
    }

    /// Reads bytes until `buffer` is full or the input ends. Returns the number of bytes.
    pub(crate) fn read_full(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let mut len = 0;
        while len < buffer.len() {
            match self.read(&mut buffer[len..])? {
                0 => break,
                more => len += more,
            }
        }
        Ok(len)
    }
}

impl<R: Read> Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        loop {
            let result = match self {
                Self::Plain(input) => input.read(buffer).map_err(|error| (error, false)),
                Self::Gzip(decoder) => decoder.read(buffer).map_err(|error| (error, true)),
            };
            match result {
                Ok(len) => return Ok(len),
                Err((error, _)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err((error, is_gzip)) => return Err(classify(error, is_gzip)),
            }
        }
    }
}

/// Converts an I/O error. The decoder reports invalid data with one of three kinds, which reading a file does not
/// return.
fn classify(error: io::Error, is_gzip: bool) -> Fault {
    match error.kind() {
        io::ErrorKind::UnexpectedEof if is_gzip => Fault::GzipTruncated,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if is_gzip => {
            format!("invalid gzip data: {error}").into()
        }
        _ => Fault::Io(error),
    }
}
