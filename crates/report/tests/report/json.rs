//! Reading and writing of JSON, and errors with their locations.

use crate::sample::{consistent, full, to_json};
use heapwright_report::{MAX_JSON_LEN, ReadReportError, check, from_json, read, write_html};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value() -> Value {
    serde_json::from_str(&to_json(&full())).unwrap()
}

/// Returns the error for a document whose value at a JSON pointer is replaced.
#[track_caller]
fn refused_with(pointer: &str, value_there: Value) -> String {
    let mut document = value();
    *document.pointer_mut(pointer).unwrap() = value_there;
    refused(document.to_string().as_bytes())
}

#[track_caller]
fn refused(json: &[u8]) -> String {
    let error = from_json(json).unwrap_err().to_string();
    assert!(!error.contains('\n') && error.chars().count() < 800, "{error:?}");
    error
}

#[test]
fn written_reports_are_read_back() {
    let report = full();
    let json = to_json(&report);
    assert_eq!(from_json(json.as_bytes()), Ok(report.clone()));
    assert!(json.starts_with(r#"{"schema":"heapwright.report","version":1,"device":{"#), "{json}");
}

#[test]
fn the_error_of_a_writer_is_returned() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(write_html(&full(), Full).unwrap_err().to_string(), "the disk is full");
}

#[test]
fn unknown_keys_are_ignored_and_unknown_kinds_are_unknown() {
    let mut document = value();
    document["added later"] = json!({ "deep": [[[{}]]] });
    document["heaps"][0]["added"] = json!(1.5e300);
    document["heaps"][1]["allocations"][0]["kind"] = json!("acceleration_structure");
    let report = from_json(document.to_string().as_bytes()).unwrap();
    let mut expected = full();
    expected.heaps[1].allocations[0].kind = heapwright::report::AllocationKind::Unknown;
    assert_eq!(report, expected);
}

#[test]
fn schema_and_version_are_checked_first() {
    assert_eq!(
        refused_with("/schema", json!("x\n")),
        "schema: is \"x\\n\", but must be \"heapwright.report\""
    );
    assert_eq!(
        refused(br#"{"schema":"heapwright.report","version":2,"heaps":"another meaning"}"#),
        "version: is 2, but this version of heapwright reads version 1"
    );
    assert_eq!(refused(b"{}"), "schema: is missing; must be \"heapwright.report\"");
    assert_eq!(
        refused(br#"{"schema":"heapwright.report"}"#),
        "version: is missing; this version of heapwright reads version 1"
    );
    assert_eq!(
        refused(br#"{"schema":"heapwright.report","version":"1"}"#),
        "version: invalid type: string \"1\", expected u64"
    );
}

#[test]
fn syntax_errors_have_a_line() {
    assert_eq!(refused(b""), "line 1, column 0: EOF while parsing a value");
    assert_eq!(refused(b"{\n  \"schema\": nan\n}"), "line 2, column 14: expected ident");
    let report = to_json(&full());
    let cut = &report.as_bytes()[..report.len() - 1];
    assert!(refused(cut).starts_with(&format!("line 1, column {}: EOF", cut.len())), "{}", refused(cut));
    assert!(refused(format!("{report} x").as_bytes()).contains("trailing characters"));
    assert!(refused(b"\xff\xfe{}").starts_with("line 1, column 1: "));
    assert!(refused(b"[]").contains("expected"), "{}", refused(b"[]"));
    let twice = report.replacen("{\"schema\"", "{\"version\":1,\"schema\"", 1);
    assert!(refused(twice.as_bytes()).contains("duplicate field `version`"), "{}", refused(twice.as_bytes()));
}

#[test]
fn wrong_types_have_a_path() {
    assert_eq!(
        refused_with("/heaps/1/allocations/0/size", json!(-1)),
        "heaps[1].allocations[0].size: invalid value: integer `-1`, expected u64"
    );
    assert_eq!(
        refused_with("/heaps/0/size", json!(65536.5)),
        "heaps[0].size: invalid type: floating point `65536.5`, expected u64"
    );
    assert_eq!(
        refused_with("/heaps/0/heap_type", json!("TURBO\n\u{1b}[2J")),
        "heaps[0].heap_type: unknown variant `TURBO\\u{a}\\u{1b}[2J`, expected one of `DEFAULT`, `UPLOAD`, \
         `READBACK`, `GPU_UPLOAD`, `CUSTOM`"
    );
    assert_eq!(
        refused_with("/heaps/0/allocations/1/within/0/name", json!([1])),
        "heaps[0].allocations[1].within[0].name: invalid type: sequence, expected a string"
    );
    assert!(
        refused_with("/totals", json!({})).starts_with("totals: missing field `reserved`"),
        "{}",
        refused_with("/totals", json!({}))
    );
}

#[test]
fn numbers_above_64_bits_are_refused() {
    let json = to_json(&full());
    for number in ["18446744073709551616", "1e400", "1e19", "-0.0", "NaN", "Infinity", "0x10"] {
        let wrong = json.replacen("\"tlsf\",\"size\":65536", &format!("\"tlsf\",\"size\":{number}"), 1);
        assert_ne!(wrong, json);
        let error = refused(wrong.as_bytes());
        assert!(error.starts_with("heaps[0].size") || error.starts_with("line 1, "), "{number}: {error}");
    }
}

#[test]
fn deep_nesting_is_refused_and_nothing_overflows() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        refused(deep.as_bytes());
        refused(
            format!("{{\"schema\":\"heapwright.report\",\"version\":1,\"heaps\":[{{\"x\":{deep}}}]}}")
                .as_bytes(),
        );
    }
    // Unknown keys may be nested without limit.
    let ignored = to_json(&full()).replacen(
        '{',
        &format!("{{\"x\":{}{},", "[".repeat(200_000), "]".repeat(200_000)),
        1,
    );
    assert_eq!(from_json(ignored.as_bytes()), Ok(full()));
    let open = "{\"offset\":0,\"size\":1,\"kind\":\"backing_buffer\",\"within\":[";
    let within = format!("{}{}", open.repeat(50_000), "]}".repeat(50_000));
    let json = to_json(&full()).replacen("\"allocations\":[", &format!("\"allocations\":[{within},"), 1);
    assert!(refused(json.as_bytes()).contains("recursion limit"), "{}", refused(json.as_bytes()));
}

#[test]
fn no_prefix_of_a_report_is_a_report() {
    let json = to_json(&full());
    for end in 0..json.len() {
        refused(&json.as_bytes()[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_valid_report_is_read_back(report in consistent()) {
        prop_assert_eq!(check(&report), Ok(()));
        let json = to_json(&report);
        let read = from_json(json.as_bytes());
        prop_assert_eq!(read.as_ref(), Ok(&report));
        let mut again = report.clone();
        again.recount();
        prop_assert_eq!(again, report);
    }

    #[test]
    fn any_bytes_are_read_or_rejected_in_one_line(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = from_json(&bytes) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn a_changed_byte_makes_a_report_or_an_error(
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut json = to_json(&full()).into_bytes();
        let place = place.index(json.len());
        json[place] = byte;
        match from_json(&json) {
            Ok(report) => prop_assert_eq!(check(&report), Ok(())),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}

/// A reader that counts the bytes.
struct Counted<R>(R, u64);

impl<R: std::io::Read> std::io::Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.0.read(buffer)?;
        self.1 += len as u64;
        Ok(len)
    }
}

#[test]
fn an_endless_reader_is_rejected_early() {
    assert!(matches!(read(&b"[]"[..]), Err(ReadReportError::NoObject)));
    for byte in [0, b' ', b'[', b'x'] {
        let mut endless = Counted(std::io::repeat(byte), 0);
        let error = read(&mut endless).unwrap_err();
        assert_eq!(error.to_string(), "not a report: a report is a JSON object, which begins with {");
        assert!(endless.1 <= 1 << 16, "{} bytes were read", endless.1);
    }
}

#[test]
fn a_report_is_read_to_a_limit() {
    use std::io::Read as _;
    let endless = || b"{\"schema\":\"".chain(std::io::repeat(b'x'));
    let mut counted = Counted(endless(), 0);
    let error = read(&mut counted).unwrap_err();
    assert!(matches!(error, ReadReportError::TooLong), "{error}");
    assert!(counted.1 <= MAX_JSON_LEN + (1 << 20), "{} bytes were read", counted.1);
    // Spaces after the report, up to the limit and one byte beyond it.
    let json = to_json(&full());
    let spaces = MAX_JSON_LEN - json.len() as u64;
    let padded = |spaces| json.as_bytes().chain(std::io::repeat(b' ').take(spaces));
    assert_eq!(read(padded(spaces)).unwrap(), full());
    assert!(read(padded(spaces + 1)).is_err());
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let json = format!("\u{feff}{}", to_json(&full()));
    assert_eq!(from_json(json.as_bytes()), Ok(full()));
    assert_eq!(read(json.as_bytes()).unwrap(), full());
    assert!(from_json(format!("\u{feff}{json}").as_bytes()).is_err(), "one is enough");
}
