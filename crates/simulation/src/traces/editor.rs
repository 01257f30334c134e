//! An image editor.

use std::collections::VecDeque;

use super::recorder::{Block, KIB, Range, Recorder, in_units};

/// Documents that are open at once, at most.
const OPEN_DOCUMENTS: Range = Range::apart((2, 4), (5, 8));
/// Longer side of a document.
const SIDE: Range = Range::common(1_000, 6_000);
/// Layers of a new document.
const LAYERS: Range = Range::common(1, 7);
/// Steps of the undo history.
const UNDO_STEPS: Range = Range::apart((10, 25), (30, 60));
/// Seconds between two actions, at most.
const PAUSE: Range = Range::common(2, 10);

const ACTIONS: u64 = 1_500;

/// Live bytes above which the undo history is shortened and no document is opened.
const MEMORY_LIMIT: u64 = 3 << 30;

struct Document {
    width: u64,
    height: u64,
    layers: Vec<Block>,
    undo: VecDeque<Vec<Block>>,
    thumbnails: Vec<Block>,
}

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    // Icons, fonts and the buffers of the window.
    let interface = (0..150).map(|_| {
        let bytes = recorder.log_uniform(KIB, 256 * KIB);
        recorder.allocate(bytes)
    });
    let mut left: Vec<Block> = interface.collect();
    let most_open = recorder.draw(OPEN_DOCUMENTS);
    let undo_steps = recorder.draw(UNDO_STEPS);
    let pause = recorder.draw(PAUSE) * 1_000_000;
    let mut documents: Vec<Document> = Vec::new();
    for _ in 0..ACTIONS * length / 100 {
        let open = documents.len() as u64;
        let opens = if open == 0 { 400 } else { 15 };
        if open < most_open && recorder.live() < MEMORY_LIMIT && recorder.chance(opens) {
            let document = Document::open(recorder);
            documents.push(document);
        } else if open > 0 && recorder.chance(8) {
            let place = recorder.position(documents.len());
            documents.swap_remove(place).close(recorder);
        } else if open > 0 && recorder.chance(2) {
            // The user goes home.
            documents.drain(..).for_each(|document| document.close(recorder));
            recorder.wait(120_000_000);
        } else if open > 0 {
            let place = recorder.position(documents.len());
            documents[place].edit(recorder, undo_steps);
        }
        // What the window shows is rendered in some frames, until the user has thought.
        for _ in 0..recorder.between(1, 5) {
            let bytes = recorder.log_uniform(256, 64 * KIB);
            let block = recorder.allocate(bytes);
            recorder.retire(block);
            recorder.end_frame();
        }
        let thinks = recorder.between(0, pause);
        recorder.wait(thinks);
    }
    recorder.wait_for_gpu();
    left.extend(documents.into_iter().flat_map(Document::into_blocks));
    left
}

impl Document {
    fn open(recorder: &mut Recorder) -> Self {
        let width = recorder.draw(SIDE);
        let height = width * recorder.between(50, 100) / 100;
        let mut document =
            Self { width, height, layers: Vec::new(), undo: VecDeque::new(), thumbnails: Vec::new() };
        // The composition, and the layers.
        for _ in 0..=recorder.draw(LAYERS) {
            document.add_layer(recorder);
        }
        document
    }

    fn close(self, recorder: &mut Recorder) {
        for block in self.into_blocks() {
            recorder.retire(block);
        }
        recorder.wait_for_gpu();
    }

    fn into_blocks(self) -> impl Iterator<Item = Block> {
        self.layers.into_iter().chain(self.undo.into_iter().flatten()).chain(self.thumbnails)
    }

    fn image_bytes(&self) -> u64 {
        in_units(self.width * self.height * 4)
    }

    fn add_layer(&mut self, recorder: &mut Recorder) {
        self.layers.push(recorder.allocate(self.image_bytes()));
        let longer_side = self.width.max(self.height).max(1);
        let bytes = 256 * 256 * self.height * 4 / longer_side;
        self.thumbnails.push(recorder.allocate(bytes));
    }

    /// One action: a stroke, a filter, a new or merged layer, a crop, or undoing.
    fn edit(&mut self, recorder: &mut Recorder, undo_steps: u64) {
        match recorder.between(0, 99) {
            // A stroke: the tiles under it are kept for undoing.
            0..=69 => {
                let tiles = recorder.log_uniform(1, 40);
                let step = (0..tiles).map(|_| recorder.allocate(256 * 256 * 4)).collect();
                self.undo.push_back(step);
            }
            // A filter: several passes through images of half precision, of which the original is kept.
            70..=81 => {
                let passes = recorder.between(1, 4);
                let images: Vec<Block> =
                    (0..passes).map(|_| recorder.allocate(2 * self.image_bytes())).collect();
                recorder.wait(150_000);
                let result = recorder.allocate(self.image_bytes());
                let layer = recorder.position(self.layers.len());
                let original = std::mem::replace(&mut self.layers[layer], result);
                self.undo.push_back(vec![original]);
                recorder.free_all(images);
            }
            82..=87 if self.layers.len() < 12 => self.add_layer(recorder),
            82..=91 if self.layers.len() > 2 => {
                self.undo.push_back(self.layers.pop().into_iter().collect());
                let thumbnail = self.thumbnails.pop();
                recorder.free_all(thumbnail);
            }
            // Cropping: all layers change their size.
            92..=93 => {
                self.width = (self.width * recorder.between(70, 99) / 100).max(64);
                self.height = (self.height * recorder.between(70, 99) / 100).max(64);
                let bytes = self.image_bytes();
                let old =
                    self.layers.iter_mut().map(|layer| std::mem::replace(layer, recorder.allocate(bytes)));
                let old = old.collect();
                self.undo.push_back(old);
            }
            _ => {
                let undone = self.undo.pop_back();
                recorder.free_all(undone.into_iter().flatten());
            }
        }
        while self.undo.len() as u64 > undo_steps || recorder.live() > MEMORY_LIMIT {
            let Some(oldest) = self.undo.pop_front() else { break };
            recorder.free_all(oldest);
        }
    }
}
