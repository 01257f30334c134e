//! Training of a network.

use super::recorder::{Block, KIB, MIB, Range, Recorder};

/// Layers of the network.
const LAYERS: Range = Range::apart((6, 12), (14, 24));
/// Width of a layer, in units of 64.
const WIDTH: Range = Range::common(4, 12);
/// Samples in a batch.
const BATCH: Range = Range::apart((2, 8), (10, 20));
/// Longest sample of a batch, which is random up to it.
const LONGEST: Range = Range::common(128, 384);
/// Steps between two evaluations.
const STEPS_PER_EVALUATION: Range = Range::common(12, 40);

const STEPS: u64 = 90;

struct Network {
    layers: u64,
    width: u64,
    /// Whether samples are sequences, with a square of scores, or images, whose resolution falls from layer to layer.
    is_transformer: bool,
}

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    let network = Network {
        layers: recorder.draw(LAYERS),
        width: 64 * recorder.draw(WIDTH),
        is_transformer: recorder.chance(500),
    };
    let mut left = network.parameters(recorder);
    let batch = recorder.draw(BATCH);
    let longest = recorder.draw(LONGEST);
    let step_us = recorder.between(50_000, 400_000);
    // Images have one size most of the time, sequences any.
    let size = |recorder: &mut Recorder| {
        if network.is_transformer {
            recorder.between(16, longest)
        } else {
            recorder.pick(&[longest, longest, longest / 2])
        }
    };
    let mut next_evaluation = recorder.draw(STEPS_PER_EVALUATION);
    for step in 0..STEPS * length / 100 {
        let length = size(recorder);
        let activations = network.forward(recorder, batch, length);
        if step == 0 {
            // Gradients.
            left.extend(network.parameters(recorder));
        }
        network.backward(recorder, activations);
        // The next batch comes when the GPU is done with this one.
        recorder.wait(step_us);
        if step == 0 {
            // Both moments of the optimizer.
            left.extend(network.parameters(recorder));
            left.extend(network.parameters(recorder));
        }
        if step == next_evaluation {
            for _ in 0..recorder.between(2, 6) {
                let length = size(recorder);
                network.evaluate(recorder, 2 * batch, length);
            }
            network.save(recorder);
            next_evaluation += recorder.draw(STEPS_PER_EVALUATION);
        }
    }
    left
}

impl Network {
    /// Allocates one number for each parameter.
    fn parameters(&self, recorder: &mut Recorder) -> Vec<Block> {
        let square = self.width * self.width * 4;
        let mut blocks = vec![recorder.allocate(20_000 * self.width * 4)];
        for _ in 0..self.layers {
            for bytes in [3 * square, square, 4 * square, 4 * square, self.width * 4, self.width * 16] {
                blocks.push(recorder.allocate(bytes));
            }
        }
        blocks
    }

    /// Returns the sizes of the activations of a layer.
    fn activation_sizes(&self, layer: u64, batch: u64, length: u64) -> [u64; 5] {
        if self.is_transformer {
            let tokens = batch * length;
            let heads = self.width / 64;
            let (hidden, scores) = (tokens * self.width * 2, tokens * length * heads * 2);
            [3 * hidden, scores, scores / 2, 4 * hidden, tokens * 8]
        } else {
            let halvings = layer * 5 / self.layers;
            let side = (length >> halvings).max(1);
            let map = batch * side * side * (16 << halvings) * 2;
            [map, map, batch * 256, map / 2, 4 * (16 << halvings)]
        }
    }

    /// Returns the activations that the gradients need.
    fn forward(&self, recorder: &mut Recorder, batch: u64, length: u64) -> Vec<Block> {
        let mut kept = vec![recorder.allocate(batch * length * 8)];
        for layer in 0..self.layers {
            for bytes in self.activation_sizes(layer, batch, length) {
                kept.push(recorder.allocate(bytes));
            }
            self.use_workspace(recorder);
        }
        let logits = recorder.allocate(batch * length * 20_000 / 4);
        kept.push(recorder.allocate(4));
        recorder.free(logits);
        kept
    }

    fn backward(&self, recorder: &mut Recorder, mut activations: Vec<Block>) {
        let mut gradient: Option<Block> = None;
        while let Some(activation) = activations.pop() {
            let next = recorder.allocate(activation.bytes());
            recorder.free_all(gradient.replace(next));
            recorder.free(activation);
            if recorder.chance(100) {
                self.use_workspace(recorder);
            }
        }
        recorder.free_all(gradient);
    }

    /// A pass without gradients, which keeps no activations.
    fn evaluate(&self, recorder: &mut Recorder, batch: u64, length: u64) {
        let mut current = recorder.allocate(batch * length * 8);
        for layer in 0..self.layers {
            for bytes in self.activation_sizes(layer, batch, length) {
                let next = recorder.allocate(bytes);
                recorder.free(std::mem::replace(&mut current, next));
            }
        }
        recorder.free(current);
    }

    /// Copies the parameters to a file, through a staging buffer for each layer.
    fn save(&self, recorder: &mut Recorder) {
        for _ in 0..self.layers {
            let staging = recorder.allocate(12 * self.width * self.width * 4);
            recorder.wait(5_000);
            recorder.free(staging);
        }
        recorder.wait(500_000);
    }

    fn use_workspace(&self, recorder: &mut Recorder) {
        let bytes = recorder.log_uniform(4 * KIB, 16 * MIB);
        let workspace = recorder.allocate(bytes);
        recorder.wait(40);
        recorder.free(workspace);
    }
}
