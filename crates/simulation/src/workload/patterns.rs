//! Patterns: the places of a group of heaps that a submission uses.
//!
//! A place is the position of a heap in its group. When a heap dies, the next one takes its place.

use super::random::{Random, power};

/// The path of a camera in a world one unit wide and high, whose edges wrap around.
#[derive(Debug)]
pub(super) struct CameraPath {
    position: [f64; 2],
    heading: [f64; 2],
    speed: f64,
    turn: f64,
    back: f64,
    random: Random,
}

impl CameraPath {
    pub(super) fn new(speed: f64, turn: f64, back: f64, mut random: Random) -> Self {
        let heading = random.heading();
        Self { position: [0.5, 0.5], heading, speed, turn, back, random }
    }

    /// Advances by a frame.
    pub(super) fn step(&mut self) {
        if self.random.chance(self.turn) {
            self.heading = if self.random.chance(self.back) {
                self.heading.map(|part| -part)
            } else {
                self.random.heading()
            };
        }
        for (position, heading) in self.position.iter_mut().zip(self.heading) {
            let moved = *position + self.speed * heading;
            *position = moved - moved.floor();
        }
    }

    /// Returns the tiles of a grid of `columns` × `columns` whose center is at most `radius` away, in rows.
    pub(super) fn tiles_around(&self, columns: u32, radius: f64) -> impl Iterator<Item = u32> {
        let [x, y] = self.position;
        (0..columns).flat_map(move |row| {
            let down = distance(y, middle(row, columns));
            (0..columns).filter_map(move |column| {
                let across = distance(x, middle(column, columns));
                (across * across + down * down <= radius * radius).then_some(row * columns + column)
            })
        })
    }
}

fn middle(place: u32, columns: u32) -> f64 {
    (f64::from(place) + 0.5) / f64::from(columns)
}

/// Returns the distance on a line whose ends wrap around.
fn distance(left: f64, right: f64) -> f64 {
    let apart = (left - right).abs();
    apart.min(1.0 - apart)
}

/// A sequence of turns.
#[derive(Debug)]
pub(super) struct Turns {
    lengths: [u32; 2],
    draw: Draw,
    random: Random,
    current: u32,
    left: u32,
}

/// The choice of the next turn.
#[derive(Debug)]
pub(super) enum Draw {
    /// A random choice, by sums of weights.
    Weighted(Vec<f64>),
    /// A fixed order, with the next position.
    InOrder(Vec<u32>, usize),
}

impl Turns {
    pub(super) fn new(lengths: [u32; 2], draw: Draw, random: Random) -> Self {
        Self { lengths, draw, random, current: 0, left: 0 }
    }

    /// Advances by a frame.
    pub(super) fn step(&mut self) {
        if self.left == 0 {
            self.left = self.random.between(self.lengths);
            self.current = match &mut self.draw {
                Draw::Weighted(sums) => draw(sums, &mut self.random),
                Draw::InOrder(order, next) => {
                    let current = order[*next];
                    *next = (*next + 1) % order.len();
                    current
                }
            };
        }
        self.left -= 1;
    }

    pub(super) fn current(&self) -> u32 {
        self.current
    }
}

/// Returns the partial sums of weights, for [`draw`].
pub(super) fn sums(weights: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |weight| {
        sum += weight;
        sum
    };
    weights.into_iter().map(add).collect()
}

/// Draws an index with a probability proportional to its weight.
fn draw(sums: &[f64], random: &mut Random) -> u32 {
    let total = sums.last().copied().unwrap_or(0.0);
    let point = random.unit() * total;
    let place = sums.partition_point(|&sum| sum <= point).min(sums.len() - 1);
    u32::try_from(place).expect("a scenario file has fewer than 2^32 weights")
}

/// Independent draws from a group.
#[derive(Debug)]
pub(super) struct Draws {
    count: u32,
    /// The partial sums of the weights of ranks.
    sums: Vec<f64>,
    /// The place of each rank.
    places: Vec<u32>,
    random: Random,
}

impl Draws {
    pub(super) fn new(of: u32, count: u32, zipf: f64, mut random: Random) -> Self {
        let sums = sums((1..=of).map(|rank| 1.0 / power(f64::from(rank), zipf)));
        let mut places: Vec<u32> = (0..of).collect();
        shuffle(&mut places, &mut random);
        Self { count, sums, places, random }
    }

    /// Makes the next draws; a place may be drawn several times.
    pub(super) fn step(&mut self, used: &mut Vec<u32>) {
        for _ in 0..self.count {
            let rank = draw(&self.sums, &mut self.random);
            used.push(self.places[usize::try_from(rank).expect("usize has at least 32 bits")]);
        }
    }
}

/// A set of places that changes gradually.
#[derive(Debug)]
pub(super) struct Drifting {
    /// The places in the set, followed by the others.
    places: Vec<u32>,
    count: u32,
    change: f64,
    random: Random,
}

impl Drifting {
    pub(super) fn new(of: u32, count: u32, change: f64, mut random: Random) -> Self {
        let mut places: Vec<u32> = (0..of).collect();
        shuffle(&mut places, &mut random);
        Self { places, count, change, random }
    }

    /// Returns the set, then replaces some of it by others.
    pub(super) fn step(&mut self, used: &mut Vec<u32>) {
        let [set, others] =
            [0, self.count].map(|place| usize::try_from(place).expect("usize has at least 32 bits"));
        used.extend_from_slice(&self.places[set..others]);
        let other_count = u32::try_from(self.places.len()).unwrap_or(u32::MAX) - self.count;
        if other_count == 0 {
            return;
        }
        let mut changes = self.change;
        while changes > 0.0 && (changes >= 1.0 || self.random.chance(changes)) {
            let leaves = self.random.below(self.count);
            let enters = self.count + self.random.below(other_count);
            let [leaves, enters] =
                [leaves, enters].map(|place| usize::try_from(place).expect("usize has at least 32 bits"));
            self.places.swap(leaves, enters);
            changes -= 1.0;
        }
    }
}

fn shuffle(places: &mut [u32], random: &mut Random) {
    for end in (1..places.len()).rev() {
        let count = u32::try_from(end + 1).expect("a group has fewer than 2^32 heaps");
        places.swap(end, usize::try_from(random.below(count)).expect("usize has at least 32 bits"));
    }
}

/// Returns the share of `of` places that repetition `part` of `parts` uses: equal shares, in order.
pub(super) fn share(of: u32, part: u32, parts: u32) -> std::ops::Range<u32> {
    let at = |part: u32| {
        let place = u64::from(of) * u64::from(part) / u64::from(parts);
        u32::try_from(place).expect("the count is at most the number of heaps")
    };
    at(part)..at(part + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn shares_cover_everything_in_order() {
        for (of, parts) in [(10, 3), (3, 10), (0, 2), (u32::MAX, 7)] {
            let mut end = 0;
            for part in 0..parts {
                let share = share(of, part, parts);
                assert_eq!(share.start, end);
                end = share.end;
            }
            assert_eq!(end, of);
        }
    }

    #[test]
    fn a_camera_sees_a_circle_across_the_edges() {
        let mut camera = CameraPath::new(0.0, 0.0, 0.0, Random::new(1, 0));
        assert_eq!(camera.tiles_around(10, 0.08).count(), 4, "the camera is where four tiles meet");
        camera.position = [0.0, 0.05];
        let seen: Vec<u32> = camera.tiles_around(10, 0.12).collect();
        assert_eq!(seen, [0, 9, 10, 19, 90, 99], "tiles at the opposite edge are adjacent");
    }

    #[test]
    fn a_camera_that_turns_back_revisits_tiles() {
        let mut camera = CameraPath::new(0.01, 0.0, 1.0, Random::new(5, 0));
        let start = camera.position;
        for _ in 0..20 {
            camera.step();
        }
        assert!(distance(camera.position[0], start[0]) + distance(camera.position[1], start[1]) > 0.15);
        camera.heading = camera.heading.map(|part| -part);
        for _ in 0..20 {
            camera.step();
        }
        assert!(distance(camera.position[0], start[0]) + distance(camera.position[1], start[1]) < 1e-9);
    }

    #[test]
    fn turns_follow_their_lengths_and_weights() {
        let draw = Draw::Weighted(sums([3.0, 1.0]));
        let mut turns = Turns::new([5, 5], draw, Random::new(9, 0));
        let mut counts = [0; 2];
        for frame in 0..5000 {
            let before = turns.current();
            turns.step();
            assert!(turns.current() == before || frame % 5 == 0, "the draw changed within a turn");
            counts[turns.current() as usize] += 1;
        }
        assert!((3400..4100).contains(&counts[0]), "{counts:?}");
        let mut turns = Turns::new([2, 2], Draw::InOrder(vec![1, 0, 2], 0), Random::new(9, 0));
        let seen: Vec<u32> = (0..8)
            .map(|_| {
                turns.step();
                turns.current()
            })
            .collect();
        assert_eq!(seen, [1, 1, 0, 0, 2, 2, 1, 1]);
    }

    #[test]
    fn a_drifting_set_changes_by_the_requested_count() {
        let mut set = Drifting::new(100, 40, 2.5, Random::new(2, 0));
        let mut before: Option<BTreeSet<u32>> = None;
        let mut changed = 0;
        for _ in 0..1000 {
            let mut used = Vec::new();
            set.step(&mut used);
            let used: BTreeSet<u32> = used.into_iter().collect();
            assert_eq!(used.len(), 40);
            changed += before.map_or(0, |before| before.difference(&used).count());
            before = Some(used);
        }
        // A place may be swapped out and back in at once.
        assert!((2300..2600).contains(&changed), "{changed}");
    }

    #[test]
    fn popular_heaps_are_drawn_more_often() {
        let mut draws = Draws::new(10, 10_000, 1.0, Random::new(4, 0));
        let mut used = Vec::new();
        draws.step(&mut used);
        let mut counts = [0_u32; 10];
        for place in used {
            counts[place as usize] += 1;
        }
        counts.sort_unstable();
        // 1 / H(10) is 0.341, and a tenth of that 0.034.
        assert!((3200..3600).contains(&counts[9]) && (280..400).contains(&counts[0]), "{counts:?}");
    }
}
