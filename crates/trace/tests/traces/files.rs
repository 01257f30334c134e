//! Files: errors of opening and of gzip data.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use heapwright_trace::{Position, Trace, TraceError};
use tempfile::TempDir;

const CSV: &str = "time_us,event,id,size_bytes\n0,alloc,0,16\n1,alloc,1,32\n2,free,0,16\n";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    Trace::from_reader("t.csv.gz", bytes)
}

fn error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn gzip_is_recognized_by_its_first_bytes() {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in [
        ("a.csv", gzip(CSV)),
        ("a.csv.gz", CSV.as_bytes().to_vec()),
        ("b.csv.gz", gzip(CSV)),
        ("b", CSV.into()),
    ] {
        let trace = Trace::read(file(&folder, name, &bytes)).unwrap();
        assert_eq!(trace.events().len(), 3, "{name}");
        assert_eq!(trace.peak_live().get(), 48, "{name}");
    }
}

#[test]
fn a_gzip_file_may_have_several_members() {
    let (first, second) = CSV.split_at(35);
    let members = [gzip(first), gzip(""), gzip(second)].concat();
    assert_eq!(read(&members).unwrap().events(), read(CSV.as_bytes()).unwrap().events());
}

#[test]
fn a_missing_file_and_a_directory_have_no_line() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing.csv");
    let error = Trace::read(&missing).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: no such file", missing.display()));
    assert_eq!(error.position(), None);
    let error = Trace::read(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: is a directory, not a trace file", folder.path().display()));
    assert_eq!(error.path(), folder.path());
}

#[test]
fn an_empty_file_has_no_header_compressed_or_not() {
    let rule = "t.csv.gz:1: the file is empty; expected the header \"time_us,event,id,size_bytes\"";
    assert_eq!(error(b""), rule);
    assert_eq!(error(&gzip("")), rule);
}

#[test]
fn gzip_cut_anywhere_is_truncated() {
    let whole = gzip(CSV);
    // One byte is not recognized as gzip.
    assert!(error(&whole[..1]).contains("is a binary file"), "{}", error(&whole[..1]));
    for len in 2..whole.len() {
        let error = error(&whole[..len]);
        assert!(error.contains("unexpected end of the gzip data"), "{len}: {error}");
    }
}

#[test]
fn the_error_of_truncated_gzip_has_a_line() {
    let rows: String = (0..20_000).map(|id| format!("{id},alloc,{id},{}\n", id * 7919 % 65521 + 1)).collect();
    let whole = gzip(&format!("time_us,event,id,size_bytes\n{rows}"));
    let error = read(&whole[..whole.len() / 2]).unwrap_err();
    let Some(Position::Line(line)) = error.position() else { panic!("{error}") };
    assert!((9_000..11_000).contains(&line), "{error}");
    assert!(error.to_string().starts_with(&format!("t.csv.gz:{line}: ")), "{error}");
}

#[test]
fn the_error_of_invalid_gzip_has_a_line() {
    let whole = gzip(CSV);
    // The last eight bytes are a checksum and a length.
    let mut wrong_checksum = whole.clone();
    wrong_checksum[whole.len() - 8] ^= 1;
    let message = error(&wrong_checksum);
    assert!(message.starts_with("t.csv.gz:5: invalid gzip data: "), "{message}");
    let mut wrong_method = whole.clone();
    wrong_method[2] = 7;
    let message = error(&wrong_method);
    assert!(message.starts_with("t.csv.gz:1: invalid gzip data: "), "{message}");
    let trailing_garbage = [&whole[..], b"garbage"].concat();
    let message = error(&trailing_garbage);
    assert!(message.starts_with("t.csv.gz:5: "), "{message}");
}

#[test]
fn other_compression_is_named() {
    for (bytes, name) in
        [(&b"PK\x03\x04"[..], "a ZIP archive"), (b"\x28\xb5\x2f\xfd", "compressed with Zstandard")]
    {
        let error = error(bytes);
        assert!(error.starts_with(&format!("t.csv.gz: is {name} (")), "{error}");
    }
}

#[test]
fn an_error_is_one_line_for_any_path() {
    let error = Trace::from_reader(Path::new("a\nb.csv"), &b"x"[..]).unwrap_err().to_string();
    assert!(error.starts_with("a\\u{a}b.csv:1: "), "{error}");
    assert_eq!(error.lines().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_file_without_read_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "secret.csv", CSV.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser can read it.
    if fs::File::open(&path).is_err() {
        assert_eq!(
            Trace::read(&path).unwrap_err().to_string(),
            format!("{}: permission denied", path.display())
        );
    }
}
