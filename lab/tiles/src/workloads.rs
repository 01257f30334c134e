//! The workloads: which buffers have which size in each frame.

/// A buffer, and the size that it has from this frame on; zero frees it.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) buffer: usize,
    pub(crate) size: u64,
}

pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// The largest size that each buffer ever has.
    pub(crate) max_sizes: Vec<u64>,
    pub(crate) frames: Vec<Vec<Change>>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The caches of a language model that serves 24 conversations of up to 2,048 tokens of 128 KiB. They begin with a
/// prompt, grow by a token in each frame, and are replaced by others when they end.
pub(crate) fn kv_caches() -> Workload {
    const CONTEXT: u64 = 2048;
    let mut random = fastrand::Rng::with_seed(53);
    let mut max_sizes = Vec::new();
    let mut live: Vec<(usize, u64, u64)> = Vec::new();
    let mut frames = Vec::new();
    for _ in 0..3000 {
        let mut changes = Vec::new();
        for (buffer, tokens, end) in &mut live {
            *tokens += 1;
            let size = if *tokens > *end { 0 } else { *tokens * 128 * KIB };
            changes.push(Change { buffer: *buffer, size });
        }
        live.retain(|(_, tokens, end)| tokens <= end);
        if live.len() < 24 {
            let prompt = random.u64(1..CONTEXT / 4);
            live.push((max_sizes.len(), prompt, random.u64(prompt..=CONTEXT)));
            changes.push(Change { buffer: max_sizes.len(), size: prompt * 128 * KIB });
            max_sizes.push(CONTEXT * 128 * KIB);
        }
        frames.push(changes);
    }
    Workload { name: "KV caches", max_sizes, frames }
}

/// The tensors of a diffusion model: 20 steps of a U-Net of four levels, whose resolution changes after ten steps. A
/// frame is a layer.
pub(crate) fn diffusion() -> Workload {
    const LEVELS: usize = 4;
    const BLOCKS: usize = 6;
    let (mut max_sizes, mut frames) = (Vec::new(), Vec::new());
    for steps in [[40 * MIB; 10], [23 * MIB + 64 * KIB; 10]] {
        for first_size in steps {
            // What each tensor needs, and the layer that reads it last.
            let mut tensors: Vec<(u64, usize)> = Vec::new();
            let mut skips = Vec::new();
            for level in (0..LEVELS).chain((0..LEVELS).rev()) {
                for _ in 0..BLOCKS {
                    let layer = tensors.len();
                    tensors.push(((first_size >> level).next_multiple_of(256), layer + 1));
                }
                if skips.len() < LEVELS {
                    skips.push(tensors.len() - 1);
                }
            }
            for (level, skip) in skips.into_iter().enumerate() {
                tensors[skip].1 = (2 * LEVELS - 1 - level) * BLOCKS;
            }
            for layer in 0..=tensors.len() {
                let of = |buffer, size| Change { buffer, size };
                let mut changes: Vec<Change> = Vec::new();
                let gone = |(_, (_, last)): &(usize, &(u64, usize))| {
                    last + 1 == layer || (layer == tensors.len() && *last >= layer)
                };
                changes.extend(tensors.iter().enumerate().filter(gone).map(|(buffer, _)| of(buffer, 0)));
                if let Some(&(size, _)) = tensors.get(layer) {
                    changes.push(of(layer, size));
                }
                frames.push(changes);
            }
            max_sizes.resize(tensors.len(), 0);
            for (max, (size, _)) in max_sizes.iter_mut().zip(&tensors) {
                *max = (*max).max(*size);
            }
        }
    }
    Workload { name: "diffusion", max_sizes, frames }
}

/// A window of 40 by 24 tiles that scrolls over a texture of 128 by 128, at changing speed. A buffer is a tile.
pub(crate) fn virtual_texture() -> Workload {
    const SIDE: usize = 128;
    let is_in = |[x, y]: [usize; 2], tile: usize| {
        (x..x + 40).contains(&(tile % SIDE)) && (y..y + 24).contains(&(tile / SIDE))
    };
    let mut random = fastrand::Rng::with_seed(54);
    let (mut at, mut direction, mut frames) = ([0_usize; 2], [1_usize, 1], Vec::new());
    let mut seen = vec![false; SIDE * SIDE];
    for _ in 0..3000 {
        let mut changes = Vec::new();
        for (tile, seen) in seen.iter_mut().enumerate() {
            if std::mem::replace(seen, is_in(at, tile)) != *seen {
                changes.push(Change { buffer: tile, size: if *seen { 64 * KIB } else { 0 } });
            }
        }
        frames.push(changes);
        for axis in 0..2 {
            let most = SIDE - [40, 24][axis];
            if random.u8(..100) == 0 || at[axis] == most {
                direction[axis] = random.usize(..3);
            }
            let back = direction[axis] == 2 || at[axis] == most;
            at[axis] = if back { at[axis].saturating_sub(1) } else { (at[axis] + direction[axis]).min(most) };
        }
    }
    Workload { name: "virtual texture", max_sizes: vec![64 * KIB; SIDE * SIDE], frames }
}
