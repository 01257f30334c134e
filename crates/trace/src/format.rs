//! Formats of files, recognized by content.

use std::fmt;

use crate::session;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Allocations and frees as [CSV](crate#format).
    Csv,
    /// A [capture](crate::gpgmm) of GPGMM: Chrome trace events as JSON.
    Capture,
    /// A binary [session].
    Session,
}

impl Format {
    /// Recognizes the format of a file by its first uncompressed bytes. Everything that is no other format is CSV, whose
    /// errors are the most readable.
    pub(crate) fn of(first: &[u8]) -> Self {
        let text = first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first).trim_ascii_start();
        if first.starts_with(&session::MAGIC[..2]) {
            Self::Session
        } else if text.starts_with(b"{") || text.starts_with(b"[") {
            Self::Capture
        } else {
            Self::Csv
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Capture => "GPGMM capture",
            Self::Session => "session",
        })
    }
}

/// Byte order mark (U+FEFF) in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognized_by_their_first_bytes() {
        for (first, format) in [
            (&b"time_us,event"[..], Format::Csv),
            (b"", Format::Csv),
            (b"\x89PNG\r\n", Format::Csv),
            (b" \r\n\t{ \"traceEvents\"", Format::Capture),
            (b"\xef\xbb\xbf[", Format::Capture),
            (b"\x89HWS", Format::Session),
        ] {
            assert_eq!(Format::of(first), format, "{first:?}");
        }
    }
}
