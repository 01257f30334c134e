//! Programs whose memory comes and goes: bursts after pauses, small processes, sawtooths and rare peaks.
//!
//! | program | what it does |
//! |---|---|
//! | `bursts` | a long pause, then a few hundred operations with temporary buffers, again and again |
//! | `thumbnails` | a gallery of 40 to 400 MiB: rows of thumbnails replace the oldest ones while the user scrolls, each through a staging buffer |
//! | `decoding` | a video: a picture and its bits for each frame, a few reference pictures, and other resolutions from time to time |
//! | `sawtooth` | memory climbs for seconds, and falls to a tenth at once, of which every tenth buffer is left |
//! | `peaks` | a steady exchange of some hundred MiB, and rarely a buffer of gigabytes for an operation or two |
//! | `climbs` | the same exchange, and rarely a hundred large buffers, freed in reverse: an iteration of a training |
//!
//! As with the [generated traces](Part::traces), constants are tuned with the development half, and the
//! evaluation half is only evaluated. The parameters differ by half, not only the seeds.

use std::collections::VecDeque;

use heapwright_core::ByteSize;
use heapwright_simulation::Random;
use heapwright_trace::{EventKind, Trace, TraceError};

use super::Part;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000;

/// The number of traces of each program and half.
const SEEDS: u64 = 3;

const PROGRAMS: [(&str, fn(&mut Recorder)); 6] = [
    ("bursts", bursts),
    ("thumbnails", thumbnails),
    ("decoding", decoding),
    ("sawtooth", sawtooth),
    ("peaks", peaks),
    ("climbs", climbs),
];

/// Returns the traces of a half.
///
/// # Errors
///
/// Returns an error if the events are no trace, which would be a defect of this module.
pub fn of_half(half: Part) -> Result<Vec<Trace>, TraceError> {
    let mut traces = Vec::new();
    for (place, (name, record)) in (1..).zip(PROGRAMS) {
        for number in 1..=SEEDS {
            let seed = number + if half == Part::Evaluation { 1000 } else { 0 };
            let random = Random::seeded(seed << 8 | place);
            let mut recorder = Recorder { half, random, now_us: 0, count: 0, events: Vec::new() };
            record(&mut recorder);
            traces.push(Trace::from_events(format!("program:{name}:{seed}"), recorder.events)?);
        }
    }
    Ok(traces)
}

struct Recorder {
    half: Part,
    random: Random,
    now_us: u64,
    count: u64,
    events: Vec<(u64, EventKind, u64, ByteSize)>,
}

/// A live buffer.
struct Buffer(u64, ByteSize);

impl Recorder {
    /// Returns one of two values by half.
    fn by_half<T>(&self, development: T, evaluation: T) -> T {
        if self.half == Part::Development { development } else { evaluation }
    }

    /// Returns a number from `low` to `high`.
    fn uniform(&mut self, low: u64, high: u64) -> u64 {
        low + self.random.bits() % (high - low + 1)
    }

    /// Returns one of the numbers below `count`.
    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.random.bits() % count as u64).unwrap_or(0)
    }

    /// Returns a number from `low` to below `high`, log-uniformly distributed between the powers of two.
    fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let octave = self.uniform(0, u64::from((high / low).ilog2()) - 1);
        self.uniform(low << octave, (low << (octave + 1)) - 1)
    }

    fn allocate(&mut self, bytes: u64) -> Buffer {
        let buffer = Buffer(self.count, ByteSize::new(bytes));
        self.count += 1;
        self.events.push((self.now_us, EventKind::Alloc, buffer.0, buffer.1));
        buffer
    }

    fn free(&mut self, Buffer(id, size): Buffer) {
        self.events.push((self.now_us, EventKind::Free, id, size));
    }

    fn free_all(&mut self, buffers: impl IntoIterator<Item = Buffer>) {
        buffers.into_iter().for_each(|buffer| self.free(buffer));
    }

    /// Frees one of several buffers.
    fn free_any(&mut self, buffers: &mut Vec<Buffer>) {
        let place = self.index(buffers.len());
        let buffer = buffers.swap_remove(place);
        self.free(buffer);
    }

    fn wait(&mut self, us: u64) {
        self.now_us += us;
    }
}

fn bursts(recorder: &mut Recorder) {
    let kept = recorder.by_half(24, 40);
    let sizes = recorder.by_half((128 * KIB, 16 * MIB), (64 * KIB, 32 * MIB));
    let pauses = recorder.by_half((2, 64), (5, 320));
    let mut base: Vec<Buffer> = Vec::new();
    for _ in 0..kept {
        let bytes = recorder.log_uniform(MIB, 8 * MIB);
        base.push(recorder.allocate(bytes));
    }
    for _ in 0..60 {
        let pause = recorder.log_uniform(pauses.0, pauses.1);
        recorder.wait(pause * SECOND);
        let mut temporary = Vec::new();
        let most = 20 + recorder.index(40);
        for _ in 0..recorder.uniform(150, 400) {
            recorder.wait(1_000);
            if temporary.len() >= most {
                recorder.free_any(&mut temporary);
            } else {
                let bytes = recorder.log_uniform(sizes.0, sizes.1);
                temporary.push(recorder.allocate(bytes));
            }
        }
        recorder.free_all(temporary);
    }
    recorder.free_all(base);
}

fn thumbnails(recorder: &mut Recorder) {
    let most = recorder.by_half((40, 120), (90, 400));
    let most = recorder.uniform(most.0, most.1) * MIB;
    let side = recorder.by_half((160, 384), (256, 512));
    let mut shown = VecDeque::new();
    let mut held = 0;
    for _ in 0..4_000 {
        recorder.wait(33_000);
        if recorder.index(200) == 0 {
            let pause = recorder.uniform(1, 8);
            recorder.wait(pause * SECOND);
        }
        for _ in 0..recorder.uniform(2, 5) {
            let (width, height) = (recorder.uniform(side.0, side.1), recorder.uniform(side.0, side.1));
            let bytes = width * height * 4;
            let staging = recorder.allocate(bytes);
            shown.push_back(recorder.allocate(bytes));
            recorder.free(staging);
            held += bytes;
            while held > most {
                let Some(oldest) = shown.pop_front() else { break };
                held -= oldest.1.get();
                recorder.free(oldest);
            }
        }
    }
    recorder.free_all(shown);
}

fn decoding(recorder: &mut Recorder) {
    let resolutions = recorder.by_half(
        [(640, 360), (1280, 720), (1920, 1080), (1280, 720)],
        [(854, 480), (1920, 1080), (2560, 1440), (3840, 2160)],
    );
    let references = recorder.by_half(4, 9);
    let mut pictures = VecDeque::new();
    let (mut width, mut height) = resolutions[2];
    let mut most = references + recorder.index(6);
    for frame in 0..6_000 {
        recorder.wait(recorder.by_half(33_333, 16_667));
        if frame % 300 == 299 {
            (width, height) = resolutions[recorder.index(4)];
            most = references + recorder.index(6);
            if recorder.index(4) == 0 {
                let pause = recorder.uniform(1, 20);
                recorder.wait(pause * SECOND);
            }
        }
        let least = width * height / 40;
        let bits = recorder.uniform(least, least * 6);
        let bits = recorder.allocate(bits);
        // NV12.
        pictures.push_back(recorder.allocate(width * height * 3 / 2));
        recorder.free(bits);
        while pictures.len() > most {
            let oldest = pictures.pop_front();
            recorder.free_all(oldest);
        }
    }
    recorder.free_all(pictures);
}

fn sawtooth(recorder: &mut Recorder) {
    let peaks = recorder.by_half((512, 1024), (1200, 3000));
    let sizes = recorder.by_half((64 * KIB, 8 * MIB), (128 * KIB, 16 * MIB));
    let mut live: Vec<Buffer> = Vec::new();
    let mut held = 0;
    for _ in 0..16 {
        let most = recorder.uniform(peaks.0, peaks.1) * MIB;
        while held < most {
            recorder.wait(8_000);
            let bytes = recorder.log_uniform(sizes.0, sizes.1);
            held += bytes;
            live.push(recorder.allocate(bytes));
        }
        let mut left = Vec::new();
        for buffer in live {
            if recorder.index(10) == 0 {
                left.push(buffer);
            } else {
                held -= buffer.1.get();
                recorder.free(buffer);
            }
        }
        live = left;
        let pause = recorder.uniform(0, 3);
        recorder.wait(pause * SECOND);
    }
    recorder.free_all(live);
}

fn peaks(recorder: &mut Recorder) {
    let large = recorder.by_half((768, 1536), (1024, 2048));
    exchange(recorder, 30_000, 300, |recorder| {
        let bytes = recorder.uniform(large.0, large.1) * MIB;
        let peak = recorder.allocate(bytes);
        recorder.wait(2_000);
        recorder.free(peak);
    });
}

fn climbs(recorder: &mut Recorder) {
    let (count, least) = recorder.by_half((60, 2 * MIB), (100, 4 * MIB));
    exchange(recorder, 60_000, 6_000, |recorder| {
        let mut stack = Vec::new();
        for _ in 0..recorder.uniform(count, count + 30) {
            let bytes = recorder.log_uniform(least, 32 * MIB);
            recorder.wait(200);
            stack.push(recorder.allocate(bytes));
        }
        while let Some(buffer) = stack.pop() {
            recorder.wait(200);
            recorder.free(buffer);
        }
    });
}

/// Allocates and frees small buffers in so many steps, and lets the program do something else after every so many.
fn exchange(recorder: &mut Recorder, steps: u64, period: u64, other: impl Fn(&mut Recorder)) {
    let most = recorder.by_half(60, 90) + recorder.index(80);
    let mut live: Vec<Buffer> = Vec::new();
    for step in 1..=steps {
        recorder.wait(500);
        if live.len() >= most {
            recorder.free_any(&mut live);
        } else {
            let bytes = recorder.log_uniform(64 * KIB, 8 * MIB);
            live.push(recorder.allocate(bytes));
        }
        if step % period == 0 {
            other(recorder);
        }
    }
    recorder.free_all(live);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_differ_and_are_the_same_each_time() {
        let halves = [Part::Development, Part::Evaluation].map(|half| of_half(half).unwrap());
        for (half, traces) in [Part::Development, Part::Evaluation].into_iter().zip(&halves) {
            assert_eq!(traces.len(), PROGRAMS.len() * 3);
            for (trace, again) in traces.iter().zip(of_half(half).unwrap()) {
                assert_eq!((trace.name(), trace.events()), (again.name(), again.events()));
                assert!(trace.peak_live() <= ByteSize::from_gib(8), "{}", trace.name());
            }
        }
        for (one, other) in halves[0].iter().zip(&halves[1]) {
            assert_ne!(one.events(), other.events());
        }
    }
}
