//! Synthetic workloads: the kinds of the recorded traces, and two of games.

use std::collections::VecDeque;

use super::workload::{Recorder, Workload};
use fastrand::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Returns a workload of each kind.
pub(super) fn all(seed: u64) -> [Workload; 6] {
    [training(seed), generation(seed), serving(seed), diffusion(seed), streaming(seed), frames(seed)]
}

/// Training of a transformer: parameters and optimizer states persist. Activations grow during the first half of a step and
/// are freed during the second. Batch sizes and sequence lengths are random.
fn training(seed: u64) -> Workload {
    let (mut random, mut out) = (Rng::with_seed(seed), Recorder::default());
    let layers = random.u64(8..=24);
    let hidden = 64 * random.u64(4..=16);
    let heads = hidden / 64;
    let parameters = |out: &mut Recorder| {
        for _ in 0..layers {
            for bytes in
                [hidden * hidden * 12, hidden * 12, hidden * hidden * 16, hidden * hidden * 16, hidden * 4]
            {
                out.allocate(bytes);
            }
        }
        out.allocate(30_000 * hidden * 4);
    };
    parameters(&mut out);
    for step in 0..60 {
        let tokens = random.u64(1..=16) * random.u64(16..=256);
        let length = random.u64(16..=256);
        let input = out.allocate(tokens * 8);
        let mut activations = Vec::new();
        for _ in 0..layers {
            let query = out.allocate(tokens * hidden * 6);
            let scores = out.allocate(tokens * length * heads * 2);
            let mask = out.allocate(tokens * length * heads);
            let mixed = out.allocate(tokens * hidden * 2);
            out.free(query);
            let wide = out.allocate(tokens * hidden * 8);
            let statistics = out.allocate(tokens * 8);
            activations.extend([scores, mask, mixed, wide, statistics]);
        }
        let logits = out.allocate(tokens * 30_000 * 2);
        let loss = out.allocate(4);
        out.free(logits);
        if step == 0 {
            // Gradients.
            parameters(&mut out);
        }
        while let Some(activation) = activations.pop() {
            let gradient = out.allocate(tokens * hidden * pick(&mut random, &[2, 4, 8]));
            out.free(activation);
            out.free(gradient);
        }
        if step == 0 {
            // Both moments of the optimizer.
            parameters(&mut out);
            parameters(&mut out);
        }
        out.free(input);
        out.free(loss);
    }
    out.finish(format!("training {seed}"))
}

/// Text generation: the cache of each layer is copied to grow by a token at a time, for several sequences of random lengths.
fn generation(seed: u64) -> Workload {
    let (mut random, mut out) = (Rng::with_seed(seed ^ 1), Recorder::default());
    let layers = random.u64(6..=24);
    let hidden = 64 * random.u64(6..=16);
    for _ in 0..layers {
        out.allocate(hidden * hidden * 24);
        out.allocate(hidden * 8);
    }
    for _ in 0..8 {
        let batch = random.u64(1..=16);
        let (prompt, end) = (random.u64(8..=128), random.u64(150..=400));
        let mut cache: Vec<u32> = Vec::new();
        for length in prompt..end {
            let tokens = if length == prompt { prompt } else { 1 };
            let mut input = out.allocate(batch * tokens * hidden * 2);
            for layer in (0..layers * 2).filter_map(|layer| usize::try_from(layer).ok()) {
                let new = out.allocate(batch * length * hidden * 2);
                match cache.get_mut(layer) {
                    Some(old) => out.free(std::mem::replace(old, new)),
                    None => cache.push(new),
                }
                let scores = out.allocate(batch * tokens * length * hidden / 32);
                let output = out.allocate(batch * tokens * hidden * 2);
                out.free(std::mem::replace(&mut input, output));
                out.free(scores);
            }
            let logits = out.allocate(batch * 50_000 * 2);
            out.free(input);
            out.free(logits);
        }
        cache.drain(..).for_each(|layer| out.free(layer));
    }
    out.finish(format!("generation {seed}"))
}

/// Serving of several models with random batch sizes and resolutions. Models are replaced occasionally.
fn serving(seed: u64) -> Workload {
    let (mut random, mut out) = (Rng::with_seed(seed ^ 2), Recorder::default());
    let load = |random: &mut Rng, out: &mut Recorder| -> (Vec<u32>, Vec<(u64, u64)>) {
        let depth = random.u64(10..=40);
        let mut weights = Vec::new();
        let mut layers = Vec::new();
        let mut channels = 16;
        for layer in 0..depth {
            if layer % 8 == 7 {
                channels *= 2;
            }
            weights.push(out.allocate(channels * channels * pick(random, &[2, 18, 18])));
            weights.push(out.allocate(channels * 2));
            // Bytes per pixel, and the reduction of the resolution.
            layers.push((channels * 2, layer / 8));
        }
        (weights, layers)
    };
    let mut models: Vec<_> = (0..3).map(|_| load(&mut random, &mut out)).collect();
    for request in 0..250 {
        let which = random.usize(..3);
        if request % 60 == 59 {
            for weight in std::mem::take(&mut models[which].0) {
                out.free(weight);
            }
            models[which] = load(&mut random, &mut out);
        }
        let pixels = random.u64(1..=24) * pick(&mut random, &[128 * 128, 224 * 224, 320 * 320]);
        let input = out.allocate(pixels * 6);
        let (mut current, mut skip) = (input, None);
        for (position, &(bytes, halvings)) in models[which].1.clone().iter().enumerate() {
            let next = out.allocate((pixels >> (2 * halvings) >> 2) * bytes);
            let workspace = (random.u64(..3) == 0).then(|| out.allocate(random.u64(1..=8) * MIB));
            if position % 3 == 0 {
                if let Some(kept) = skip.replace(current) {
                    out.free(kept);
                }
            } else {
                out.free(current);
            }
            workspace.into_iter().for_each(|workspace| out.free(workspace));
            current = next;
        }
        skip.into_iter().for_each(|kept| out.free(kept));
        out.free(current);
    }
    out.finish(format!("serving {seed}"))
}

/// Image generation with a U-Net: many passes, which keep the results of the encoder for the decoder, for several
/// resolutions.
fn diffusion(seed: u64) -> Workload {
    let (mut random, mut out) = (Rng::with_seed(seed ^ 3), Recorder::default());
    let base = random.u64(2..=6) * 16;
    let levels = 4;
    for level in 0..levels {
        for _ in 0..8 {
            out.allocate((base << level) * (base << level) * 18);
            out.allocate((base << level) * 2);
        }
    }
    for _ in 0..10 {
        let (width, height) =
            (pick(&mut random, &[32, 40, 48, 64, 80, 96]), pick(&mut random, &[32, 48, 64, 96]));
        let pixels = random.u64(1..=4) * width * height;
        let latent = out.allocate(pixels * 8);
        for _ in 0..15 {
            let mut current = out.allocate(pixels * base * 2);
            let embedding = out.allocate(base * 8);
            let mut skips = Vec::new();
            let layer = |out: &mut Recorder, random: &mut Rng, current: u32, bytes: u64| {
                let normed = out.allocate(bytes);
                let statistics = out.allocate(pick(random, &[256, 512, 2048]));
                let next = out.allocate(bytes);
                out.free(normed);
                out.free(current);
                out.free(statistics);
                next
            };
            for level in 0..levels {
                let bytes = (pixels >> (2 * level)) * (base << level) * 2;
                for _ in 0..2 {
                    current = layer(&mut out, &mut random, current, bytes);
                    skips.push(out.allocate(bytes));
                }
            }
            for level in (0..levels).rev() {
                let bytes = (pixels >> (2 * level)) * (base << level) * 2;
                for _ in 0..2 {
                    let joined = out.allocate(2 * bytes);
                    skips.pop().into_iter().for_each(|skip| out.free(skip));
                    out.free(current);
                    current = layer(&mut out, &mut random, joined, bytes);
                }
            }
            out.free(current);
            out.free(embedding);
        }
        out.free(latent);
    }
    out.finish(format!("diffusion {seed}"))
}

/// Texture streaming: compressed textures with mips are loaded within a budget, and the least recently used are freed.
fn streaming(seed: u64) -> Workload {
    let (mut random, mut out) = (Rng::with_seed(seed ^ 4), Recorder::default());
    let budget = random.u64(200..=600) * MIB;
    let mut resident: VecDeque<(u32, u64)> = VecDeque::new();
    let mut held = 0;
    for _ in 0..6_000 {
        let side: u64 = pick(&mut random, &[128, 256, 256, 512, 512, 512, 1024, 1024, 2048]);
        let other = if random.u64(..4) == 0 { side / 2 } else { side };
        // Half a byte or one byte per pixel, plus a third for the mips.
        let bytes = (side * other * pick(&mut random, &[1, 2, 2]) / 2 * 4 / 3).next_multiple_of(4 * KIB);
        while held + bytes > budget {
            let Some((number, bytes)) = resident.pop_front() else { break };
            out.free(number);
            held -= bytes;
        }
        resident.push_back((out.allocate(bytes), bytes));
        held += bytes;
        // Textures that are used again stay longer.
        for _ in 0..3 {
            let at = random.usize(..resident.len());
            let again = resident.remove(at).expect("it is in range");
            resident.push_back(again);
        }
    }
    out.finish(format!("streaming {seed}"))
}

/// Rendering of frames: buffers that live for three frames, long-lived meshes, and render targets that are recreated when
/// the resolution changes.
fn frames(seed: u64) -> Workload {
    let (mut random, mut out) = (Rng::with_seed(seed ^ 5), Recorder::default());
    let mut in_flight: VecDeque<Vec<u32>> = VecDeque::new();
    let mut targets: Vec<u32> = Vec::new();
    let mut meshes: Vec<u32> = Vec::new();
    for frame in 0..400 {
        if frame % 50 == 0 {
            targets.drain(..).for_each(|target| out.free(target));
            let pixels = pick(&mut random, &[1280 * 720, 1600 * 900, 1920 * 1080, 2560 * 1440]);
            for bytes in [4, 4, 8, 8, 2, 1] {
                targets.push(out.allocate(pixels * bytes));
            }
        }
        for _ in 0..random.u64(0..=6) {
            meshes.push(out.allocate(random.u64(4..=256) * random.u64(1..=8) * KIB));
        }
        while meshes.len() > 500 {
            let at = random.usize(..meshes.len());
            out.free(meshes.swap_remove(at));
        }
        let mut buffers = Vec::new();
        for _ in 0..random.u64(10..=30) {
            let bytes = random.u64(1..=64) * pick(&mut random, &[64, 256, 1024, 16 * KIB]);
            buffers.push(out.allocate(bytes));
        }
        in_flight.push_back(buffers);
        if in_flight.len() > 3 {
            in_flight.pop_front().into_iter().flatten().for_each(|buffer| out.free(buffer));
        }
    }
    out.finish(format!("frames {seed}"))
}

/// Returns one of the values.
fn pick(random: &mut Rng, of: &[u64]) -> u64 {
    of[random.usize(..of.len())]
}
