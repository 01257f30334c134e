//! Local search over the order of first fit: each buffer has a key, and the one with the largest key is placed first.
//!
//! The keys begin as the logarithm of the size plus a multiple of that of the lifetime. A step changes the keys of all
//! buffers a little, or those of some buffers more, and is kept if the packing is no higher. Most of the gap above the
//! load closes within some hundred steps if sizes and lifetimes are random, where no fixed order is good and an exact
//! search has too much to choose from.

use super::greedy::{Fit, fixed_first};
use super::instance::{Instance, LIMIT};
use super::search::Random;
use super::solve::{Part, Planner};

/// Exponents of the lifetime beside the size in the orders that are tried first, in eighths.
const EXPONENTS: [u32; 6] = [3, 0, 2, 5, 8, 12];

/// A power of two in a key.
const ONE: u32 = 1 << FRACTION;
const FRACTION: u32 = 16;

/// Keys of all buffers change by at most half of this, the keys of some by at most half of four times this, and mostly
/// by less.
const RANGE: u64 = ONE as u64;
/// Changes are smaller by up to this power of two, less one.
const HALVINGS: u64 = 6;

/// The number of buffers whose keys change is below this power of two.
const MAX_CHANGED: u64 = 8;

/// The keys of the lowest packing so far.
pub(super) struct KeySearch {
    keys: Vec<i64>,
    /// Height of that packing.
    height: u64,
    /// Number of exponents that were tried.
    begun: usize,
    random: Random,
}

impl KeySearch {
    pub(super) fn new() -> Self {
        Self { keys: Vec::new(), height: LIMIT, begun: 0, random: Random::new(1) }
    }

    /// Returns the keys of the next packing to try.
    fn next(&mut self, instance: &Instance, part: &Part, offsets: &[u64]) -> Vec<i64> {
        if let Some(&exponent) = EXPONENTS.get(self.begun) {
            self.begun += 1;
            return part.buffers.iter().map(|&buffer| initial_key(instance, buffer, exponent)).collect();
        }
        let mut keys = self.keys.clone();
        let random = &mut self.random;
        let kind = random.next_below(4);
        if kind < 2 {
            let range = RANGE >> random.next_below(HALVINGS);
            keys.iter_mut().for_each(|key| *key += change(random, range));
            return keys;
        }
        let most = 1 << random.next_below(MAX_CHANGED);
        for _ in 0..=random.next_below(most) {
            let range = (4 * RANGE) >> random.next_below(HALVINGS);
            let mut chosen = random_index(random, keys.len());
            if kind == 2 {
                keys[chosen] += change(random, range);
                continue;
            }
            // Buffers above the bound come earlier.
            for _ in 0..TRIES {
                let buffer = part.buffers[chosen] as usize;
                if offsets[buffer] + instance.buffers[buffer].size.get() > part.bound {
                    break;
                }
                chosen = random_index(random, keys.len());
            }
            keys[chosen] += change(random, range).abs();
        }
        keys
    }
}

/// Buffers that are looked at to find one above the bound.
const TRIES: usize = 64;

fn initial_key(instance: &Instance, buffer: u32, exponent: u32) -> i64 {
    let size = instance.buffers[buffer as usize].size.get();
    let length = instance.sections.count_of(buffer as usize) as u64;
    i64::from(log2(size)) + i64::from(exponent) * i64::from(log2(length)) / 8
}

/// Returns the binary logarithm of a number, in units of 1 / [`ONE`]; between two powers of two it is interpolated.
fn log2(value: u64) -> u32 {
    let whole = value.max(1).ilog2();
    let scaled = (u128::from(value.max(1)) << FRACTION) >> whole;
    // `scaled` is from ONE to 2 * ONE - 1.
    whole * ONE + u32::try_from(scaled).map_or(0, |scaled| scaled - ONE)
}

/// Returns a number between minus and plus half of `range`.
fn change(random: &mut Random, range: u64) -> i64 {
    let half = range / 2;
    i64::try_from(random.next_below(range.max(1))).unwrap_or(0) - i64::try_from(half).unwrap_or(0)
}

fn random_index(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.next_below(count as u64)).unwrap_or(0)
}

impl Planner<'_, '_> {
    /// Makes up to `packings` packings by first fit, each with changed keys, and keeps the lowest.
    pub(super) fn search_keys(&mut self, part: &mut Part, aim: u64, search: &mut KeySearch, packings: u64) {
        let mut placed = self.offsets.clone();
        for _ in 0..packings {
            if part.height <= part.bound.max(aim) || !self.work.step() || self.work.poll() {
                return;
            }
            let keys = search.next(self.instance, part, &self.offsets);
            let mut sorted: Vec<_> = keys.iter().zip(&part.buffers).collect();
            sorted.sort_unstable_by_key(|&(&key, &buffer)| (std::cmp::Reverse(key), buffer));
            let mut order: Vec<u32> = sorted.into_iter().map(|(_, &buffer)| buffer).collect();
            fixed_first(self.instance, &mut order);
            let limit = search.height.saturating_add(1);
            let Some(height) = self.greedy.place(&order, Fit::First, limit, &mut placed) else { continue };
            (search.keys, search.height) = (keys, height);
            if height < part.height {
                (part.height, part.fit, part.order) = (height, Fit::First, order);
                self.offsets.copy_from_slice(&placed);
            }
        }
    }
}
