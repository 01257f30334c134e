//! A renderer whose targets depend on the size of its window.

use super::recorder::{Block, KIB, MIB, Range, Recorder, in_units, mesh, texture};

/// Number of render targets.
const TARGETS: Range = Range::apart((8, 16), (20, 34));
/// Small buffers in a frame.
const BUFFERS_PER_FRAME: Range = Range::common(2, 10);
/// Width of the screen.
const SCREEN_WIDTH: Range = Range::apart((1_600, 2_560), (2_880, 3_840));
/// Frames between two actions of the user.
const FRAMES_PER_ACTION: Range = Range::common(60, 300);
/// Frames in which the edge of the window is dragged.
const DRAG_FRAMES: Range = Range::common(15, 60);

const FRAMES: u64 = 3_000;

/// Number of targets that have several samples for each pixel.
const MULTISAMPLED: usize = 3;

/// Bytes of a pixel and the divisor of the resolution.
#[derive(Clone, Copy)]
struct Target {
    pixel_bytes: u64,
    divisor: u64,
}

struct Renderer {
    targets: Vec<Target>,
    blocks: Vec<Block>,
    samples: u64,
    /// Per cent of the window's size in which the scene is rendered.
    scale: u64,
    shadow_side: u64,
    shadow_maps: Vec<Block>,
}

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    let targets = (0..recorder.draw(TARGETS)).map(|_| Target {
        pixel_bytes: recorder.pick(&[1, 2, 4, 4, 4, 4, 8, 8, 16]),
        divisor: recorder.pick(&[1, 1, 1, 1, 2, 2, 4, 8]),
    });
    let targets = targets.collect();
    let width = recorder.draw(SCREEN_WIDTH) / 8 * 8;
    let screen = (width, width * 9 / 16);
    let mut window = (screen.0 / 2, screen.1 / 2);
    let mut renderer = Renderer {
        targets,
        blocks: Vec::new(),
        samples: 1,
        scale: 100,
        shadow_side: 2048,
        shadow_maps: Vec::new(),
    };
    renderer.resize(recorder, window);
    renderer.recreate_shadow_maps(recorder);
    let mut scene: Vec<Block> = Vec::new();
    let scene_bytes = recorder.between(40, 400) * MIB;
    while scene.iter().map(Block::bytes).sum::<u64>() < scene_bytes {
        let bytes = if recorder.chance(500) { mesh(recorder) } else { texture(recorder, (64, 1024)) };
        scene.push(recorder.allocate(bytes));
    }

    let frames = FRAMES * length / 100;
    let (mut frame, mut next_action) = (0, recorder.draw(FRAMES_PER_ACTION));
    while frame < frames {
        frame += 1;
        render(recorder);
        if frame < next_action {
            continue;
        }
        match recorder.between(0, 9) {
            // The window is dragged: a new size in almost every frame.
            0..=3 => {
                let target = recorder.between(screen.0 / 4, screen.0);
                let drag_frames = recorder.draw(DRAG_FRAMES);
                for step in 1..=drag_frames {
                    let share = |from: u64, to: u64| (from * (drag_frames - step) + to * step) / drag_frames;
                    let size = (share(window.0, target), share(window.1, target * 9 / 16));
                    if recorder.chance(800) || step == drag_frames {
                        renderer.resize(recorder, size);
                    }
                    render(recorder);
                }
                frame += drag_frames;
                window = (target, target * 9 / 16);
            }
            4 => {
                window = screen;
                renderer.resize(recorder, window);
            }
            5 => {
                // Minimized.
                renderer.free_targets(recorder);
                render(recorder);
                let seconds = recorder.between(2, 60);
                recorder.wait(seconds * 1_000_000);
                renderer.resize(recorder, window);
            }
            6 | 7 => {
                renderer.scale = recorder.pick(&[50, 67, 77, 85, 100]);
                renderer.resize(recorder, window);
            }
            8 => {
                renderer.samples = recorder.pick(&[1, 2, 4]);
                renderer.resize(recorder, window);
            }
            _ => {
                renderer.shadow_side = recorder.pick(&[1024, 2048, 4096]);
                renderer.recreate_shadow_maps(recorder);
            }
        }
        next_action = frame + recorder.draw(FRAMES_PER_ACTION);
    }
    recorder.wait_for_gpu();
    scene.extend(renderer.blocks);
    scene.extend(renderer.shadow_maps);
    scene
}

/// Records the small buffers of a frame.
fn render(recorder: &mut Recorder) {
    for _ in 0..recorder.draw(BUFFERS_PER_FRAME) {
        let bytes = recorder.log_uniform(64, 512 * KIB);
        let block = recorder.allocate(bytes);
        recorder.retire(block);
    }
    recorder.end_frame();
}

impl Renderer {
    /// Creates the targets for a window of the given size. The old ones are freed when the GPU is done with them.
    fn resize(&mut self, recorder: &mut Recorder, (width, height): (u64, u64)) {
        self.free_targets(recorder);
        let (width, height) = (width * self.scale / 100, height * self.scale / 100);
        for (place, &Target { pixel_bytes, divisor }) in self.targets.iter().enumerate() {
            let samples = if place < MULTISAMPLED && divisor == 1 { self.samples } else { 1 };
            let bytes = in_units(width.div_ceil(divisor) * height.div_ceil(divisor) * pixel_bytes * samples);
            self.blocks.push(recorder.allocate(bytes));
        }
    }

    fn free_targets(&mut self, recorder: &mut Recorder) {
        for block in self.blocks.drain(..) {
            recorder.retire(block);
        }
    }

    fn recreate_shadow_maps(&mut self, recorder: &mut Recorder) {
        for block in self.shadow_maps.drain(..) {
            recorder.retire(block);
        }
        for _ in 0..4 {
            self.shadow_maps.push(recorder.allocate(self.shadow_side * self.shadow_side * 4));
        }
    }
}
