//! Properties for any input: written traces are read back, and the reader never panics.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use heapwright_trace::{EventKind, RecordReader, Trace, TraceError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A row of a file.
#[derive(Clone, Debug, PartialEq)]
struct WrittenRow {
    time_us: u64,
    kind: EventKind,
    id: u64,
    size: u64,
}

/// Variants of a file's form, all of which are valid.
#[derive(Clone, Copy, Debug)]
struct Style {
    line_end: &'static str,
    ends_last_line: bool,
    gzip: bool,
}

fn write(rows: &[WrittenRow], style: Style) -> Vec<u8> {
    let mut text = format!("time_us,event,id,size_bytes{}", style.line_end);
    for WrittenRow { time_us, kind, id, size } in rows {
        let event = match kind {
            EventKind::Alloc => "alloc",
            EventKind::Free => "free",
        };
        write!(text, "{time_us},{event},{id},{size}{}", style.line_end).unwrap();
    }
    if !style.ends_last_line {
        text.truncate(text.len() - style.line_end.len());
    }
    if style.gzip { gzip(text.as_bytes()) } else { text.into_bytes() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A step of a generated trace: an allocation with a new id, or a free of a live one.
#[derive(Clone, Debug)]
enum Step {
    Alloc { id: u64, size: u64 },
    Free(Index),
}

/// Generates steps with consecutive, nearby and arbitrary ids.
fn step() -> impl Strategy<Value = Step> {
    let id = prop_oneof![0..40_u64, any::<u64>(), (0..3_u64).prop_map(|back| u64::MAX - back)];
    let size = prop_oneof![1..10_000_u64, 1..=(1_u64 << 50)];
    prop_oneof![
        (id, size).prop_map(|(id, size)| Step::Alloc { id, size }),
        any::<Index>().prop_map(Step::Free)
    ]
}

/// Returns valid rows. `counted` replaces the ids by 0, 1, 2 and so on.
fn rows(steps: Vec<(u64, Step)>, counted: bool) -> Vec<WrittenRow> {
    let (mut rows, mut live, mut used, mut now) =
        (Vec::new(), Vec::<(u64, u64)>::new(), BTreeSet::new(), 0_u64);
    for (wait, step) in steps {
        now = now.saturating_add(wait);
        let (kind, id, size) = match step {
            Step::Alloc { id, size } => {
                let id = if counted { used.len() as u64 } else { id };
                if !used.insert(id) {
                    continue;
                }
                live.push((id, size));
                (EventKind::Alloc, id, size)
            }
            Step::Free(index) => {
                if live.is_empty() {
                    continue;
                }
                let (id, size) = live.swap_remove(index.index(live.len()));
                (EventKind::Free, id, size)
            }
        };
        rows.push(WrittenRow { time_us: now, kind, id, size });
    }
    rows
}

fn style() -> impl Strategy<Value = Style> {
    (select(&["\n", "\r\n"][..]), any::<bool>(), any::<bool>())
        .prop_map(|(line_end, ends_last_line, gzip)| Style { line_end, ends_last_line, gzip })
}

/// Reads the bytes with `Trace` and `RecordReader`, which must agree, and checks that an error is one line with the
/// file.
fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    let whole = Trace::from_reader("p.csv", bytes);
    let streamed = RecordReader::new("p.csv", bytes).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match (&whole, streamed) {
        (Ok(trace), Ok(records)) => assert_eq!(trace.events().len(), records.len()),
        (Err(error), Err(streamed)) => {
            let message = error.to_string();
            assert_eq!(message, streamed.to_string());
            assert!(!message.contains(char::is_control), "{message:?}");
            assert!(message.len() < 1000, "{message:?}");
            let location = error.location();
            assert!(error.source().is_none(), "bytes in memory can always be read: {message:?}");
            assert!(message.starts_with(&format!("{location}: ")), "{message:?}");
        }
        (whole, streamed) => panic!("{whole:?} but {streamed:?}"),
    }
    whole
}

/// The start of traces/unet_diffusion.csv.gz of the repository.
const RECORDED: &[u8] = include_bytes!("recorded.csv");

/// A random change of bytes.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
    Truncate(Index),
}

/// The bytes with a meaning in CSV.
const CSV: &[u8] = b"0123456789,\n\r-+ aflr\0\xff";

/// Generates changes. The bytes with a meaning in the format are more frequent than others.
pub(crate) fn mutation(meaningful: &'static [u8], longest_removal: usize) -> impl Strategy<Value = Mutation> {
    let byte = prop_oneof![select(meaningful), any::<u8>()];
    prop_oneof![
        4 => (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        2 => (any::<Index>(), vec(byte, 1..30)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        2 => (any::<Index>(), 1..longest_removal).prop_map(|(at, len)| Mutation::Remove(at, len)),
        1 => (any::<Index>(), 1..400_usize).prop_map(|(at, len)| Mutation::Repeat(at, len)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
    ]
}

pub(crate) fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
    match mutation {
        Mutation::Set(at, byte) => {
            let at = place(at, bytes);
            if let Some(old) = bytes.get_mut(at) {
                *old = *byte;
            }
        }
        Mutation::Insert(at, new) => {
            let at = place(at, bytes);
            bytes.splice(at..at, new.iter().copied());
        }
        Mutation::Remove(at, len) => {
            let at = place(at, bytes);
            bytes.drain(at..(at + len).min(bytes.len()));
        }
        Mutation::Repeat(at, len) => {
            let at = place(at, bytes);
            let again = bytes[at..(at + len).min(bytes.len())].to_vec();
            bytes.splice(at..at, again);
        }
        Mutation::Truncate(at) => bytes.truncate(place(at, bytes)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_traces_are_read_back(
        steps in vec((0..1000_u64, step()), 0..200),
        counted in any::<bool>(),
        style in style(),
    ) {
        let rows = rows(steps, counted);
        let trace = read(&write(&rows, style)).unwrap();
        let found: Vec<WrittenRow> = trace
            .events()
            .iter()
            .map(|event| WrittenRow {
                time_us: event.time_us,
                kind: event.kind,
                id: trace.id(event.allocation),
                size: event.size.get(),
            })
            .collect();
        prop_assert_eq!(&found, &rows);
        prop_assert_eq!(trace.allocation_count(), rows.iter().filter(|row| row.kind == EventKind::Alloc).count());
        // Indices are in order of allocation.
        let indices = trace.events().iter().filter(|event| event.kind == EventKind::Alloc);
        prop_assert!(indices.enumerate().all(|(place, event)| event.allocation.as_usize() == place));
    }

    #[test]
    fn garbage_never_panics(bytes in vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let _ = read(&gzip(&bytes));
        let _ = read(&[b"time_us,event,id,size_bytes\n", &bytes[..]].concat());
        let _ = read(&[&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0], &bytes[..]].concat());
    }

    #[test]
    fn a_damaged_recording_never_panics(mutations in vec(mutation(CSV, 40), 1..6)) {
        let mut bytes = RECORDED.to_vec();
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        let _ = read(&bytes);
    }

    #[test]
    fn a_damaged_gzip_file_never_panics(mutations in vec(mutation(CSV, 40), 1..6)) {
        let mut bytes = gzip(RECORDED);
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        let _ = read(&bytes);
    }
}
