//! Records the events of a simulated program.

use std::collections::VecDeque;

use heapwright_core::ByteSize;
use heapwright_trace::{EventKind, Trace};

use super::GeneratedTrace;
use super::random::Random;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;

/// Duration of a frame at 60 Hz, in microseconds.
const FRAME_US: u64 = 16_667;

/// Number of frames after which the GPU is done with what a frame used.
const FRAMES_IN_FLIGHT: usize = 2;

/// The range of a parameter for low seeds, and for others. Bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    first: (u64, u64),
    second: (u64, u64),
}

impl Range {
    /// A range for all seeds.
    pub(super) const fn common(low: u64, high: u64) -> Self {
        assert!(low <= high, "a range must not be empty");
        Self { first: (low, high), second: (low, high) }
    }

    /// Ranges that do not overlap, which is checked when the constant is compiled.
    pub(super) const fn apart(first: (u64, u64), second: (u64, u64)) -> Self {
        assert!(first.0 <= first.1 && second.0 <= second.1, "a range must not be empty");
        assert!(first.1 < second.0 || second.1 < first.0, "the ranges must not overlap");
        Self { first, second }
    }
}
/// A live allocation. It cannot be copied, so each is freed at most once.
#[derive(Debug)]
#[must_use]
pub(super) struct Block {
    id: u64,
    size: ByteSize,
}

impl Block {
    pub(super) fn bytes(&self) -> u64 {
        self.size.get()
    }
}

/// The events so far, the time, and the source of random numbers.
#[derive(Debug)]
pub(super) struct Recorder {
    has_second_ranges: bool,
    random: Random,
    now_us: u64,
    /// Time, kind, id and size of each.
    events: Vec<(u64, EventKind, u64, ByteSize)>,
    allocation_count: u64,
    live: u64,
    /// The resources freed while the GPU may use them, by frame; the last entry belongs to the current frame.
    retired: VecDeque<Vec<Block>>,
}

impl Recorder {
    pub(super) fn new(generated: GeneratedTrace) -> Self {
        let seed = Random::mix(generated.shape as u64 + 1) ^ u64::from(generated.seed);
        Self {
            has_second_ranges: generated.has_second_ranges(),
            random: Random::mixed(seed),
            now_us: 0,
            events: Vec::new(),
            allocation_count: 0,
            live: 0,
            retired: VecDeque::from([Vec::new()]),
        }
    }

    /// Allocates `bytes`, or one byte if that is 0.
    pub(super) fn allocate(&mut self, bytes: u64) -> Block {
        let block = Block { id: self.allocation_count, size: ByteSize::new(bytes.max(1)) };
        self.allocation_count += 1;
        self.push(&block, EventKind::Alloc);
        self.live += block.bytes();
        block
    }

    pub(super) fn free(&mut self, block: Block) {
        self.push(&block, EventKind::Free);
        self.live -= block.bytes();
    }

    pub(super) fn free_all(&mut self, blocks: impl IntoIterator<Item = Block>) {
        for block in blocks {
            self.free(block);
        }
    }

    /// Frees a block once the GPU is done with the current frame.
    pub(super) fn retire(&mut self, block: Block) {
        // There is always an entry for the current frame.
        self.retired.back_mut().expect("the current frame has an entry").push(block);
    }

    /// Ends the current frame, and frees what the GPU no longer uses.
    pub(super) fn end_frame(&mut self) {
        self.now_us = (self.now_us / FRAME_US + 1) * FRAME_US;
        self.retired.push_back(Vec::new());
        if self.retired.len() > FRAMES_IN_FLIGHT + 1 {
            let done = self.retired.pop_front().unwrap_or_default();
            self.free_all(done);
        }
    }

    /// Frees everything that was retired, as after waiting for the GPU.
    pub(super) fn wait_for_gpu(&mut self) {
        for done in std::mem::replace(&mut self.retired, VecDeque::from([Vec::new()])) {
            self.free_all(done);
        }
    }

    /// Lets time pass.
    pub(super) fn wait(&mut self, microseconds: u64) {
        self.now_us += microseconds;
    }

    /// Records the frames of a program that shows a menu: two small buffers a frame.
    pub(super) fn idle(&mut self, frames: u64) {
        for _ in 0..frames {
            for _ in 0..2 {
                let bytes = self.log_uniform(256, 16 * KIB);
                let block = self.allocate(bytes);
                self.retire(block);
            }
            self.end_frame();
        }
        self.wait_for_gpu();
    }

    /// Returns a number from `low` to `high`, inclusive. `low` must not be greater.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.random.range(low, high + 1)
    }

    /// Returns a number from `low` to `high` whose logarithm is about uniformly distributed. `low` must not be 0.
    pub(super) fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let octave = self.between(0, u64::from((high / low).ilog2()));
        self.in_octave(low, octave, high)
    }

    /// Returns a number from `low` to `high` whose logarithm has about a normal distribution in the middle of the two.
    /// `low` must not be 0.
    pub(super) fn log_normal(&mut self, low: u64, high: u64) -> u64 {
        let octaves = u64::from((high / low).ilog2());
        let sum: u64 = (0..3).map(|_| self.between(0, octaves)).sum();
        self.in_octave(low, sum / 3, high)
    }

    fn in_octave(&mut self, low: u64, octave: u64, high: u64) -> u64 {
        let start = low << octave;
        self.between(start, high.min(2 * start))
    }

    /// Draws a parameter from its range.
    pub(super) fn draw(&mut self, range: Range) -> u64 {
        let (low, high) = if self.has_second_ranges { range.second } else { range.first };
        self.between(low, high)
    }

    /// Returns true `per_mille` times of a thousand.
    pub(super) fn chance(&mut self, per_mille: u64) -> bool {
        self.between(1, 1000) <= per_mille
    }

    /// Returns one of the values.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.position(of.len())]
    }

    /// Returns an index below `count`, which must not be 0.
    pub(super) fn position(&mut self, count: usize) -> usize {
        let last = u64::try_from(count).unwrap_or(u64::MAX) - 1;
        usize::try_from(self.between(0, last)).unwrap_or(0)
    }

    /// Returns an index below `count`, lower ones more often: popularity decreases linearly.
    pub(super) fn popular(&mut self, count: usize) -> usize {
        self.position(count).min(self.position(count))
    }

    /// Returns the sum of the live sizes.
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    pub(super) fn has_second_ranges(&self) -> bool {
        self.has_second_ranges
    }

    pub(super) fn finish(self, name: String) -> Trace {
        Trace::from_events(name, self.events)
            .expect("a recorder frees what it has allocated, in the order of time")
    }

    fn push(&mut self, block: &Block, kind: EventKind) {
        // A call of an allocator and what the program does around it.
        self.now_us += self.between(1, 6);
        self.events.push((self.now_us, kind, block.id, block.size));
    }
}

/// Returns the size of a block-compressed texture with its mips.
pub(super) fn texture(recorder: &mut Recorder, sides: (u64, u64)) -> u64 {
    let side = recorder.log_normal(sides.0, sides.1).next_power_of_two().min(sides.1);
    let other = if recorder.chance(250) { side / 2 } else { side };
    // Twice the bytes of a texel: BC1 half a byte, BC7 one, rarely without compression.
    let twice_texel = recorder.pick(&[1, 1, 2, 2, 2, 2, 2, 8]);
    in_units(side * other * twice_texel / 2 * 4 / 3)
}

/// Returns the size of the vertices and indices of a mesh.
pub(super) fn mesh(recorder: &mut Recorder) -> u64 {
    let vertices = recorder.log_normal(200, 100_000);
    vertices * recorder.pick(&[16, 24, 32, 48]) + vertices * recorder.between(3, 6) * 2
}

/// Rounds the size of a texture up, as Direct3D 12 does: to 4 KiB if it is small, otherwise to 64 KiB.
pub(super) fn in_units(bytes: u64) -> u64 {
    bytes.next_multiple_of(if bytes <= 64 * KIB { 4 * KIB } else { 64 * KIB })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceShape;

    #[test]
    fn logarithms_are_distributed_as_documented() {
        let mut recorder = Recorder::new(GeneratedTrace { shape: TraceShape::Levels, seed: 2 });
        for (low, high) in [(1, 1), (5, 9), (1, 1 << 40), (3, 100)] {
            for _ in 0..1000 {
                let drawn = [
                    recorder.between(low, high),
                    recorder.log_uniform(low, high),
                    recorder.log_normal(low, high),
                ];
                assert!(drawn.iter().all(|number| (low..=high).contains(number)), "{drawn:?}");
            }
        }
        let mut share_below = |normal: bool, limit: u64| {
            let draw = |_: &i32| match normal {
                true => recorder.log_normal(1, 1 << 20) < limit,
                false => recorder.log_uniform(1, 1 << 20) < limit,
            };
            (0..10_000).filter(draw).count()
        };
        // The lowest quarter of the logarithms holds a quarter of the numbers, or few.
        assert!((2_000..3_000).contains(&share_below(false, 1 << 5)));
        assert!(share_below(true, 1 << 5) < 800);
        assert!((4_000..6_000).contains(&share_below(true, 1 << 10)));
    }
}
