//! Reads large sessions and fails if reading is slower than 200 MB/s or takes more than 300 MiB of memory.
//!
//! `cargo bench -p heapwright-trace -- 1024` reads sessions of 1024 MB, or with as many records as a session has at
//! most. The bytes are generated while they are read, so that neither a disk nor a file in memory is measured; the time
//! of generating them is subtracted.

use std::io::{self, Read, Write as _};
use std::time::{Duration, Instant};

use heapwright_trace::session::{
    Action, Allocation, HeapType, Record, ResourceKind, SessionReader, SessionWriter, WriteError,
};

const MIN_MB_PER_S: f64 = 200.0;
const MAX_PEAK_KIB: u64 = 300 << 10;

/// A session of `len` bytes or slightly more.
struct Generated {
    writer: Option<SessionWriter<Vec<u8>>>,
    record: fn(u64) -> Record,
    next: u64,
    ready: io::Cursor<Vec<u8>>,
    remaining: u64,
    time: Duration,
}

impl Generated {
    fn new(len: u64, record: fn(u64) -> Record) -> Self {
        Self {
            writer: Some(SessionWriter::new(Vec::new()).expect("memory can be written")),
            record,
            next: 0,
            ready: io::Cursor::default(),
            remaining: len,
            time: Duration::ZERO,
        }
    }
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        if self.ready.position() == self.ready.get_ref().len() as u64
            && let Some(mut writer) = self.writer.take()
        {
            for _ in 0..10_000 {
                match writer.write(&(self.record)(self.next)) {
                    Ok(()) => self.next += 1,
                    Err(WriteError::TooMany { .. }) => self.remaining = 0,
                    Err(error) => return Err(io::Error::other(error)),
                }
            }
            // Moves the complete blocks out and keeps the writer.
            let bytes = if self.remaining == 0 {
                writer.finish()?
            } else {
                writer.flush()?;
                let bytes = std::mem::take(writer.get_mut());
                self.writer = Some(writer);
                bytes
            };
            self.remaining = self.remaining.saturating_sub(bytes.len() as u64);
            self.ready = io::Cursor::new(bytes);
        }
        let read = self.ready.read(buffer);
        self.time += start.elapsed();
        read
    }
}

fn events(number: u64) -> Record {
    let id = number / 2;
    let action = if number.is_multiple_of(2) {
        Action::Allocate(Allocation {
            id,
            size: 65536 + number % 4096,
            kind: ResourceKind::Buffer,
            heap_type: HeapType::Default,
            flags: 0,
            name: number.is_multiple_of(16).then(|| "vertex buffer".into()),
        })
    } else {
        Action::Free { allocation: id }
    };
    Record { time_us: number * 3, action }
}

fn submissions(number: u64) -> Record {
    let action = if number.is_multiple_of(2) {
        Action::DefineSet { set: number % 4096, heaps: (0..32).map(|heap| heap * 5 + number % 7).collect() }
    } else {
        Action::Submit { queue: 0, fence_value: number, sets: vec![(number - 1) % 4096] }
    };
    Record { time_us: number * 100, action }
}

fn contents(number: u64) -> Record {
    let action = Action::Contents { allocation: number, offset: 0, bytes: vec![7; 4096] };
    Record { time_us: number, action }
}

/// Returns the maximum resident memory of this process in KiB, where Linux tells it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn main() {
    // cargo passes --bench; without it, as in `cargo test --benches`, a small session is read in any time.
    let is_measured = std::env::args().any(|arg| arg == "--bench");
    let megabytes =
        std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(if is_measured { 256 } else { 1 });
    let mut is_failed = false;
    for (name, record) in
        [("events", events as fn(u64) -> Record), ("submissions", submissions), ("contents", contents)]
    {
        let mut generated = Generated::new(megabytes * 1_000_000, record);
        let (start, mut count, mut len) = (Instant::now(), 0_u64, 0);
        let counted = CountBytes { input: &mut generated, len: &mut len };
        for record in SessionReader::new("generated.hws", counted).expect("the header is valid") {
            std::hint::black_box(record.expect("the session is valid"));
            count += 1;
        }
        let elapsed = start.elapsed() - generated.time;
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
        let rate = len as f64 / 1e6 / elapsed.as_secs_f64();
        is_failed |= is_measured && rate < MIN_MB_PER_S;
        print(format_args!("{name}: {len} bytes, {count} records, {rate:.0} MB/s"));
    }
    if let Some(peak) = peak_kib() {
        print(format_args!("peak memory: {} MiB", peak >> 10));
        is_failed |= peak > MAX_PEAK_KIB;
    }
    if is_failed {
        print(format_args!("slower than {MIN_MB_PER_S} MB/s, or more than {} MiB", MAX_PEAK_KIB >> 10));
        std::process::exit(1);
    }
}

fn print(line: std::fmt::Arguments<'_>) {
    // A closed standard output changes nothing about the result.
    let _ = writeln!(io::stdout(), "{line}");
}

struct CountBytes<'a> {
    input: &'a mut Generated,
    len: &'a mut u64,
}

impl Read for CountBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        *self.len += len as u64;
        Ok(len)
    }
}
