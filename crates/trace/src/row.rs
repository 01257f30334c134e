//! Parsing of single lines.

use crate::error::{Column, TraceErrorKind};
use crate::event::EventKind;
use crate::text::Snippet;

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
pub(crate) fn check_header(line: &[u8]) -> Result<(), TraceErrorKind> {
    if line == HEADER.as_bytes() {
        return Ok(());
    }
    Err(match not_utf8(line) {
        Some(error) => error,
        None => TraceErrorKind::WrongHeader { found: Snippet::new(line) },
    })
}

/// Parses a line, without its line end.
pub(crate) fn parse(line: &[u8]) -> Result<Row, TraceErrorKind> {
    // UTF-8 is only checked after an error, because all fields are ASCII.
    parse_fields(line).map_err(|error| not_utf8(line).unwrap_or(error))
}

fn parse_fields(line: &[u8]) -> Result<Row, TraceErrorKind> {
    let mut fields = line.split(|&byte| byte == b',');
    let (Some(time_us), Some(event), Some(id), Some(size_bytes), None) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(wrong_field_count(line));
    };
    let row = Row {
        time_us: parse_number(Column::TimeUs, time_us)?,
        kind: match event {
            b"alloc" => EventKind::Alloc,
            b"free" => EventKind::Free,
            _ => return Err(TraceErrorKind::UnknownEvent { found: Snippet::new(event) }),
        },
        id: parse_number(Column::Id, id)?,
        size_bytes: parse_number(Column::SizeBytes, size_bytes)?,
    };
    if row.size_bytes == 0 {
        return Err(TraceErrorKind::ZeroSize);
    }
    Ok(row)
}

/// Parses a number of decimal digits. Unlike `u64::from_str`, a sign is not allowed.
fn parse_number(column: Column, digits: &[u8]) -> Result<u64, TraceErrorKind> {
    // Numbers with up to this many digits always fit in 64 bits.
    const ALWAYS_FITS: usize = u64::MAX.ilog10() as usize;
    let mut number: u64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_a_number(column, digits));
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    match digits.len() {
        0 => Err(not_a_number(column, digits)),
        1..=ALWAYS_FITS => Ok(number),
        _ => parse_long_number(digits).ok_or_else(|| number_too_large(column, digits)),
    }
}

/// Parses a sequence of digits. Returns `None` if the number exceeds 64 bits.
#[cold]
fn parse_long_number(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0_u64, |number, &digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

#[cold]
fn not_a_number(column: Column, found: &[u8]) -> TraceErrorKind {
    TraceErrorKind::NotANumber { column, found: Snippet::new(found) }
}

#[cold]
fn number_too_large(column: Column, found: &[u8]) -> TraceErrorKind {
    TraceErrorKind::NumberTooLarge { column, found: Snippet::new(found) }
}

#[cold]
fn wrong_field_count(line: &[u8]) -> TraceErrorKind {
    // An empty line has no field, but `split` returns one.
    let found = if line.is_empty() { 0 } else { line.split(|&byte| byte == b',').count() };
    TraceErrorKind::FieldCount { found, line: Snippet::new(line) }
}

#[cold]
fn not_utf8(line: &[u8]) -> Option<TraceErrorKind> {
    str::from_utf8(line).err().map(|_| TraceErrorKind::NotUtf8 { line: Snippet::new(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(
                matches!(check_header(wrong.as_bytes()), Err(TraceErrorKind::WrongHeader { .. })),
                "{wrong:?}"
            );
        }
        assert_eq!(
            check_header("\u{feff}time_us,event,id,size_bytes".as_bytes()).unwrap_err().to_string(),
            "invalid header \"\\u{feff}time_us,event,id,size_bytes\"; expected \"time_us,event,id,size_bytes\""
        );
        assert!(matches!(check_header(b"\xff\xfet\0i\0"), Err(TraceErrorKind::NotUtf8 { .. })));
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
