//! An inference server with several models.

use super::recorder::{Block, KIB, MIB, Range, Recorder};

/// Number of models that clients ask for.
const MODELS: Range = Range::apart((3, 5), (6, 9));
/// Layers of a model.
const LAYERS: Range = Range::common(12, 32);
/// Width of a layer, in units of 64.
const WIDTH: Range = Range::apart((8, 16), (18, 28));
/// Memory for weights, in MiB; models that were not used for long are unloaded.
const WEIGHTS: Range = Range::common(800, 3_000);
/// Conversations of a language model that run at once.
const CONVERSATIONS: Range = Range::common(2, 8);
/// Tokens of an answer.
const TOKENS: Range = Range::common(10, 80);

const REQUESTS: u64 = 160;

struct Model {
    layers: u64,
    width: u64,
    is_language: bool,
    /// Empty while the model is not loaded.
    weights: Vec<Block>,
    last_use: u64,
}

impl Model {
    fn weight_bytes(&self) -> u64 {
        self.layers * 12 * self.width * self.width * 2
    }

    fn load(&mut self, recorder: &mut Recorder) {
        let square = self.width * self.width * 2;
        self.weights.push(recorder.allocate(32_000 * self.width * 2));
        for _ in 0..self.layers {
            for bytes in [3 * square, square, 4 * square, 4 * square, self.width * 2, self.width * 2] {
                self.weights.push(recorder.allocate(bytes));
            }
        }
        let milliseconds = self.weight_bytes() / MIB;
        recorder.wait(milliseconds * 1000);
    }
}

/// A conversation with a language model.
struct Conversation {
    /// Tokens in the cache.
    tokens: u64,
    /// Tokens still to be generated.
    remaining: u64,
    /// Chunks of the cache, each for some tokens of all layers.
    cache: Vec<Block>,
}

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    let models = (0..recorder.draw(MODELS)).map(|number| Model {
        layers: recorder.draw(LAYERS),
        width: 64 * recorder.draw(WIDTH),
        is_language: number % 2 == 0,
        weights: Vec::new(),
        last_use: 0,
    });
    let mut models: Vec<Model> = models.collect();
    let limit = recorder.draw(WEIGHTS) * MIB;
    for request in 1..=REQUESTS * length / 100 {
        // The most popular models change over the day.
        if request % 40 == 0 {
            let first = models.remove(0);
            models.push(first);
        }
        let chosen = recorder.popular(models.len());
        if models[chosen].weights.is_empty() {
            unload_for(recorder, &mut models, chosen, limit);
            models[chosen].load(recorder);
        }
        models[chosen].last_use = request;
        if models[chosen].is_language {
            converse(recorder, &models[chosen]);
        } else {
            classify(recorder, &models[chosen]);
        }
        // Requests come in bursts, with pauses of up to minutes.
        let pause = if recorder.chance(150) {
            recorder.log_uniform(200_000, 60_000_000)
        } else {
            recorder.between(100, 20_000)
        };
        recorder.wait(pause);
    }
    models.into_iter().flat_map(|model| model.weights).collect()
}

/// Unloads the models that were not used for the longest time, until there is room for the weights of another.
fn unload_for(recorder: &mut Recorder, models: &mut [Model], chosen: usize, limit: u64) {
    while recorder.live() + models[chosen].weight_bytes() > limit {
        let loaded = models.iter_mut().filter(|model| !model.weights.is_empty());
        let Some(oldest) = loaded.min_by_key(|model| model.last_use) else { return };
        let weights = std::mem::take(&mut oldest.weights);
        recorder.free_all(weights);
    }
}

/// A batch of images of random size goes through a network: activations and workspaces.
fn classify(recorder: &mut Recorder, model: &Model) {
    let batch = recorder.between(1, 32);
    let side = recorder.pick(&[128, 192, 224, 256, 320]);
    let mut pixels = batch * side * side;
    let mut current = recorder.allocate(pixels * 3 * 2);
    let mut channels = 32;
    let mut skip: Option<Block> = None;
    for layer in 0..model.layers {
        if layer % (model.layers / 5).max(1) == 0 {
            pixels = (pixels / 4).max(batch);
            channels = (channels * 2).min(model.width);
        }
        let next = recorder.allocate(pixels * channels * 2);
        if recorder.chance(300) {
            let bytes = recorder.log_uniform(64 * KIB, 32 * MIB);
            let workspace = recorder.allocate(bytes);
            recorder.free(workspace);
        }
        let old = std::mem::replace(&mut current, next);
        if layer % 3 == 0 {
            if let Some(unused) = skip.replace(old) {
                recorder.free(unused);
            }
        } else {
            recorder.free(old);
        }
    }
    recorder.free_all(skip);
    recorder.free(current);
}

/// Several conversations are answered token by token; a finished one makes room for the next.
fn converse(recorder: &mut Recorder, model: &Model) {
    const TOKENS_PER_CHUNK: u64 = 32;
    let token_bytes = model.layers * model.width * 2 * 2;
    let mut waiting = recorder.draw(CONVERSATIONS);
    let at_once = recorder.draw(CONVERSATIONS);
    let mut running: Vec<Conversation> = Vec::new();
    while waiting > 0 || !running.is_empty() {
        while waiting > 0 && (running.len() as u64) < at_once {
            waiting -= 1;
            let tokens = recorder.log_uniform(16, 1_500);
            // The prompt goes through the network at once.
            for _ in 0..6 {
                let query = recorder.allocate(tokens * model.width * 6);
                let wide = recorder.allocate(tokens * model.width * 8);
                recorder.free(query);
                recorder.free(wide);
            }
            let cache = (0..tokens.div_ceil(TOKENS_PER_CHUNK))
                .map(|_| recorder.allocate(TOKENS_PER_CHUNK * token_bytes))
                .collect();
            let remaining = recorder.draw(TOKENS);
            running.push(Conversation { tokens, remaining, cache });
        }
        let hidden = recorder.allocate(running.len() as u64 * model.width * 2);
        let logits = recorder.allocate(running.len() as u64 * 32_000 * 2);
        for conversation in &mut running {
            conversation.tokens += 1;
            conversation.remaining -= 1;
            if conversation.tokens.div_ceil(TOKENS_PER_CHUNK) > conversation.cache.len() as u64 {
                conversation.cache.push(recorder.allocate(TOKENS_PER_CHUNK * token_bytes));
            }
        }
        recorder.free(hidden);
        recorder.free(logits);
        recorder.wait(8_000);
        let (done, going): (Vec<_>, Vec<_>) =
            running.into_iter().partition(|conversation| conversation.remaining == 0);
        running = going;
        for conversation in done {
            recorder.free_all(conversation.cache);
        }
    }
}
