//! Input of a trace, decompressed if it is gzip.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::TraceErrorKind;

/// The uncompressed bytes of a file.
pub(crate) enum Source<R> {
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
    pub(crate) fn new(input: R) -> Result<Self, TraceErrorKind> {
        let mut input = BufReader::with_capacity(32 << 10, input);
        let mut first = Vec::with_capacity(GZIP_MAGIC.len());
        // `fill_buf` is not sufficient, because a pipe may return one byte at a time.
        input.by_ref().take(2).read_to_end(&mut first).map_err(|error| classify(error, false))?;
        let is_gzip = first == GZIP_MAGIC;
        let whole = io::Cursor::new(first).chain(input);
        Ok(if is_gzip { Self::Gzip(Box::new(MultiGzDecoder::new(whole))) } else { Self::Plain(whole) })
    }

    /// Reads bytes into `buffer` and returns their number, 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, TraceErrorKind> {
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

/// Converts an I/O error. The decoder reports invalid data with one of three kinds, which reading a file does not return.
fn classify(error: io::Error, is_gzip: bool) -> TraceErrorKind {
    match error.kind() {
        io::ErrorKind::UnexpectedEof if is_gzip => TraceErrorKind::GzipTruncated,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if is_gzip => {
            TraceErrorKind::GzipCorrupt(error.to_string())
        }
        io::ErrorKind::IsADirectory => TraceErrorKind::Directory,
        _ => TraceErrorKind::Io(error),
    }
}
