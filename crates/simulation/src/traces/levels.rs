//! A game with levels.

use super::recorder::{Block, KIB, MIB, Range, Recorder, mesh, texture};

/// Number of levels that are played.
const LEVELS: Range = Range::common(5, 8);
/// Bytes of a level's assets, in MiB.
const LEVEL_SIZE: Range = Range::apart((150, 900), (1_000, 2_200));
/// Per mille of the assets that the next level uses, too.
const SHARED: Range = Range::apart((150, 400), (20, 120));
/// Largest side of a texture, as a power of two.
const TEXTURE_SIDE: Range = Range::apart((10, 11), (12, 12));
/// Frames of a level. Many are left out between two in which something is allocated.
const FRAMES_PER_LEVEL: Range = Range::common(300, 900);
/// Bytes of a cutscene, in MiB.
const CUTSCENE_SIZE: Range = Range::common(40, 250);

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    let texture_side = 1 << recorder.draw(TEXTURE_SIDE);
    // Whether the next level is loaded while the GPU still uses the last one.
    let overlaps = recorder.chance(250);
    let mut left: Vec<Block> = assets(recorder, 120 * MIB, texture_side / 2);
    let mut level = Vec::new();
    for _ in 0..(recorder.draw(LEVELS) * length).div_ceil(100) {
        let shared = recorder.draw(SHARED);
        let (kept, gone): (Vec<Block>, Vec<Block>) = level.into_iter().partition(|_| recorder.chance(shared));
        for block in gone {
            recorder.retire(block);
        }
        if !overlaps {
            recorder.wait_for_gpu();
        }
        let target = recorder.draw(LEVEL_SIZE) * MIB;
        level = kept;
        let kept_bytes: u64 = level.iter().map(Block::bytes).sum();
        level.extend(assets(recorder, target.saturating_sub(kept_bytes), texture_side));
        recorder.wait_for_gpu();
        play(recorder, texture_side);
    }
    left.extend(level);
    left
}

/// Loads assets of `total` bytes, a few in each frame of the loading screen.
fn assets(recorder: &mut Recorder, total: u64, texture_side: u64) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut loaded = 0;
    while loaded < total {
        let bytes = if recorder.chance(600) { texture(recorder, (32, texture_side)) } else { mesh(recorder) };
        loaded += bytes;
        blocks.push(recorder.allocate(bytes));
        if recorder.chance(60) {
            recorder.end_frame();
        }
    }
    blocks
}

/// Plays a level: effects in some of the frames, things that are picked up and dropped, and cutscenes.
fn play(recorder: &mut Recorder, texture_side: u64) {
    let mut spawned: Vec<Block> = Vec::new();
    for _ in 0..recorder.draw(FRAMES_PER_LEVEL) {
        for _ in 0..recorder.between(0, 3) {
            let bytes = recorder.log_uniform(512, 128 * KIB);
            let effect = recorder.allocate(bytes);
            recorder.retire(effect);
        }
        if recorder.chance(80) {
            let bytes = if recorder.chance(500) { mesh(recorder) } else { texture(recorder, (32, 512)) };
            spawned.push(recorder.allocate(bytes));
        }
        if spawned.len() > 40 {
            let place = recorder.position(spawned.len());
            recorder.retire(spawned.swap_remove(place));
        }
        if recorder.chance(3) {
            let total = recorder.draw(CUTSCENE_SIZE) * MIB;
            let cutscene = assets(recorder, total, texture_side);
            let frames = recorder.between(200, 1_000);
            recorder.wait(frames * 16_667);
            for block in cutscene {
                recorder.retire(block);
            }
        }
        // Frames in which nothing is allocated.
        let frames = recorder.between(0, 4);
        recorder.wait(frames * 16_667);
        recorder.end_frame();
    }
    for block in spawned {
        recorder.retire(block);
    }
}
