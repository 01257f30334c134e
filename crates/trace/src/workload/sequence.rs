//! Several programs, one after the other in one process.

use super::range::Range;
use super::recorder::{Block, Recorder};
use super::{Part, Shape};

/// Number of programs.
const PROGRAMS: Range = Range::apart((3, 3), (4, 5));
/// Length of each, in percent.
const LENGTH: Range = Range::common(15, 40);
/// Seconds between two of them.
const PAUSE: Range = Range::common(1, 30);

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    // The order differs by part, not only by seed.
    let mut shapes: Vec<Shape> = Shape::ALL.into_iter().filter(|&shape| shape != Shape::Sequence).collect();
    if recorder.part() == Part::Evaluation {
        shapes.reverse();
    }
    let mut left = Vec::new();
    for _ in 0..recorder.draw(PROGRAMS) {
        let place = recorder.popular(shapes.len());
        let shape = shapes.remove(place);
        let percent = recorder.draw(LENGTH) * length / 100;
        let blocks = shape.record(recorder, percent);
        // One allocation in fifty is forgotten, or used by the whole process.
        for block in blocks {
            if recorder.chance(20) && block.bytes() < 4 << 20 {
                left.push(block);
            } else {
                recorder.free(block);
            }
        }
        recorder.idle(120);
        let seconds = recorder.draw(PAUSE);
        recorder.wait(seconds * 1_000_000);
    }
    left
}
