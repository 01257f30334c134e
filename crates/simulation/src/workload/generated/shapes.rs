//! The programs of each shape.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "the numbers are small"
)]

use super::program::{Beginning, Program};
use super::{GeneratedWorkload, WorkloadShape};
use crate::seeded::{Part, Shape as _};
use crate::workload::{Random, Workload};

const MIB: u64 = 1 << 20;

/// Generates a workload.
pub(super) fn generate(generated: GeneratedWorkload) -> Workload {
    let stream = WorkloadShape::ALL.iter().position(|&other| other == generated.shape).unwrap_or(0);
    let mut generator = Generator {
        random: Random::seeded(u64::from(generated.seed) * 64 + stream as u64),
        program: Program::new(generated.to_string()),
        is_evaluation: generated.part() == Part::Evaluation,
    };
    // The generator's first numbers of consecutive seeds are alike.
    generator.random.bits();
    generator.shape(generated.shape);
    generator.program.done()
}

struct Generator {
    random: Random,
    program: Program,
    is_evaluation: bool,
}

impl Generator {
    /// Returns a number in the range of the part.
    fn choose(&mut self, development: [u64; 2], evaluation: [u64; 2]) -> usize {
        let [low, high] = if self.is_evaluation { evaluation } else { development };
        self.random.range(low, high + 1) as usize
    }

    fn between(&mut self, low: u64, high: u64) -> usize {
        self.random.range(low, high + 1) as usize
    }

    fn heaps(&mut self, count: usize, least: u64, most: u64, beginning: Beginning) -> Vec<usize> {
        self.program.heaps(count, least * MIB..most * MIB, beginning, &mut self.random)
    }

    fn shape(&mut self, shape: WorkloadShape) {
        let begin = self.program.submissions.len();
        match shape {
            WorkloadShape::World => self.world(),
            WorkloadShape::Levels => self.levels(),
            WorkloadShape::RenderGraph => self.render_graph(),
            WorkloadShape::KvCache => self.kv_cache(),
            WorkloadShape::Serving => self.serving(),
            WorkloadShape::Streams => self.streams(),
            WorkloadShape::Documents => self.documents(),
            WorkloadShape::Training => self.training(),
            WorkloadShape::Budgets => self.budgets(),
            WorkloadShape::TwoQueues => self.two_queues(),
            WorkloadShape::Sequence => return self.sequence(),
        }
        self.set_budget(begin);
    }

    /// Sets the budget of the submissions from `begin` on: a share of what is alive at most, or a multiple of
    /// what is used at the same time, and at least that.
    fn set_budget(&mut self, begin: usize) {
        let together = self.program.peak_from(begin, 4) as f64;
        let alive = self.program.most_alive(begin) as f64;
        let share = 0.4 + 0.5 * self.random.unit();
        let room = 1.1 + 1.2 * self.random.unit();
        let budget = if self.random.chance(0.6) { alive * share } else { together * room };
        let budget = budget.clamp(together * 1.05, (alive * 0.95).max(together * 1.05));
        for submission in &mut self.program.submissions[begin..] {
            // So far the budget is a share in thousandths.
            submission.budget = (budget * submission.budget as f64 / 1000.0) as u64;
        }
    }

    fn submit(&mut self, uses: Vec<usize>) {
        self.program.submit(0, 1000, uses);
    }

    fn world(&mut self) {
        let side = self.choose([24, 30], [31, 40]);
        let (radius, speed) = (self.between(3, 5) as f64, 0.05 + 0.3 * self.random.unit());
        let tiles = self.heaps(side * side, 1, 8, Beginning::Evicted);
        let shared = self.heaps(20, 1, 24, Beginning::Created);
        let (turning, jumps) = (0.4 * self.random.unit(), 0.006 * self.random.unit());
        let visible = 0.5 + 0.5 * self.random.unit();
        let passes = self.between(1, 3);
        let homes: Vec<[f64; 2]> =
            (0..3).map(|_| [self.random.unit(), self.random.unit()].map(|at| at * side as f64)).collect();
        let ([mut x, mut y], mut heading) = (homes[0], 0.0);
        for _ in 0..900 / passes {
            heading += (self.random.unit() - 0.5) * turning;
            (x, y) = (x + f64::cos(heading) * speed, y + f64::sin(heading) * speed);
            if self.random.chance(jumps) {
                [x, y] = homes[self.random.index(homes.len())];
            }
            let mut seen = Vec::new();
            let reach = radius as i64 + 1;
            for (dx, dy) in (-reach..=reach).flat_map(|dx| (-reach..=reach).map(move |dy| (dx, dy))) {
                let distance = ((dx * dx + dy * dy) as f64).sqrt();
                if distance < radius - 1.5 || distance < radius && self.random.chance(visible) {
                    let [column, row] =
                        [x as i64 + dx, y as i64 + dy].map(|at| at.rem_euclid(side as i64) as usize);
                    seen.push(tiles[row * side + column]);
                }
            }
            for pass in 0..passes {
                let mut uses: Vec<_> =
                    seen.iter().copied().filter(|tile| passes == 1 || (tile + pass) % passes != 0).collect();
                uses.extend(shared.iter().skip(pass).step_by(passes));
                self.submit(uses);
            }
        }
    }

    fn levels(&mut self) {
        let count = self.choose([3, 5], [6, 8]);
        let shared = self.heaps(30, 1, 12, Beginning::Created);
        let hub = self.heaps(40, 1, 12, Beginning::Evicted);
        let levels: Vec<_> = (0..count)
            .map(|_| {
                let heaps = self.between(60, 160);
                self.heaps(heaps, 1, 20, Beginning::Evicted)
            })
            .collect();
        let again = self.random.chance(0.6);
        for turn in 0..8 {
            let level = if again { self.random.index(count) } else { turn % count };
            let (stay, part) = (self.between(40, 160), self.between(2, 5));
            for (heaps, frames) in [(&levels[level], stay), (&hub, 25)] {
                for frame in 0..frames {
                    let from = frame * (heaps.len() - heaps.len() / part) / frames;
                    let mut uses = shared.clone();
                    for &heap in &heaps[from..from + heaps.len() / part] {
                        if self.random.chance(0.9) {
                            uses.push(heap);
                        }
                    }
                    self.submit(uses);
                }
            }
        }
    }

    fn render_graph(&mut self) {
        let passes = self.choose([3, 6], [7, 12]);
        let mut of_pass = Vec::new();
        for _ in 0..passes {
            let (targets, inputs) = (self.between(2, 5), self.between(5, 25));
            let period = [1, 1, 1, 2, 4, 16][self.random.index(6)];
            let targets = self.heaps(targets, 4, 32, Beginning::Created);
            let inputs = self.heaps(inputs, 1, 16, Beginning::Evicted);
            of_pass.push((targets, inputs, period));
        }
        let used = 0.2 + 0.8 * self.random.unit();
        for frame in 0..1_200 / passes {
            for pass in 0..passes {
                let (targets, inputs, period) = of_pass[pass].clone();
                if frame % period != pass % period {
                    continue;
                }
                let mut uses = targets;
                uses.extend(inputs.into_iter().filter(|_| self.random.chance(used)));
                // The result of the pass before.
                uses.push(of_pass[(pass + passes - 1) % passes].0[0]);
                self.submit(uses);
            }
        }
    }

    fn kv_cache(&mut self) {
        let users = self.choose([2, 4], [5, 9]);
        let (layers, batch) = (self.between(8, 24), self.between(1, users as u64));
        let weights = self.heaps(layers, 8, 40, Beginning::Evicted);
        let mut caches: Vec<Vec<usize>> = vec![Vec::new(); users];
        let in_turn = self.random.chance(0.5);
        for token in 0..600 {
            let serves: Vec<usize> = (0..batch)
                .map(|place| if in_turn { (token / 20 + place) % users } else { self.random.index(users) })
                .collect();
            let mut uses = weights.clone();
            for user in serves {
                if self.random.chance(0.15) {
                    let page = self.program.heap(self.random.range(2 * MIB, 8 * MIB), Beginning::Created);
                    self.program.heaps[page].transient = true;
                    caches[user].push(page);
                }
                if caches[user].len() > 60 || self.random.chance(0.002) {
                    caches[user].clear();
                }
                uses.extend(&caches[user]);
            }
            self.submit(uses);
        }
    }

    fn serving(&mut self) {
        let count = self.choose([3, 4], [5, 8]);
        let models: Vec<_> = (0..count)
            .map(|_| {
                let layers = self.between(8, 48);
                self.heaps(layers, 4, 40, Beginning::Evicted)
            })
            .collect();
        let activations = self.heaps(6, 8, 24, Beginning::Created);
        let (order, longest, at_once) = (self.random.index(3), self.between(2, 30), self.between(2, 12));
        let mut turn = 0;
        let end = self.program.submissions.len() + 1_200;
        while self.program.submissions.len() < end {
            let model = match order {
                0 => turn % count,
                1 => (self.random.unit().powi(3) * count as f64) as usize,
                _ => self.random.index(count),
            };
            for _ in 0..self.between(1, longest as u64) {
                for layers in models[model].chunks(at_once) {
                    let mut uses = layers.to_vec();
                    uses.extend(&activations[..2 + model.min(4)]);
                    self.submit(uses);
                }
            }
            turn += 1;
        }
    }

    fn streams(&mut self) {
        let always = self.heaps(40, 2, 12, Beginning::Created);
        let seldom = self.heaps(100, 2, 12, Beginning::Created);
        let (once, period) = (self.choose([2, 4], [5, 8]), self.between(3, 40));
        let reread = if self.random.chance(0.4) { 0.3 * self.random.unit() } else { 0.0 };
        let mut before = Vec::new();
        for frame in 0..900 {
            let mut uses = always.clone();
            uses.extend(seldom.iter().skip(frame % period).step_by(period));
            for _ in 0..once {
                if !before.is_empty() && self.random.chance(reread) {
                    uses.push(before[self.random.index(before.len())]);
                } else {
                    let heap = self.program.heap(self.random.range(2 * MIB, 6 * MIB), Beginning::Evicted);
                    before.push(heap);
                    uses.push(heap);
                }
            }
            self.submit(uses);
        }
    }

    fn documents(&mut self) {
        let most = self.choose([3, 5], [6, 10]);
        let tools = self.heaps(20, 1, 8, Beginning::Created);
        let mut open: Vec<Vec<usize>> = Vec::new();
        for _ in 0..120 {
            if open.len() < 2 || open.len() < most && self.random.chance(0.3) {
                let pages = self.between(10, 60);
                let document = self.heaps(pages, 1, 16, Beginning::Created);
                document.iter().for_each(|&page| self.program.heaps[page].transient = true);
                open.push(document);
            } else if self.random.chance(0.1) {
                let closed = self.random.index(open.len());
                open.swap_remove(closed);
            }
            // The one that was opened last is the most likely.
            let at = (self.random.unit().powi(2) * open.len() as f64) as usize;
            let document = open[open.len() - 1 - at].clone();
            let (frames, part) = (self.between(2, 16), self.between(1, 4));
            for frame in 0..frames {
                let mut uses = tools.clone();
                let shown = document.len().div_ceil(part);
                let from = frame * (document.len() - shown) / frames;
                uses.extend(&document[from..from + shown]);
                self.submit(uses);
            }
        }
    }

    fn training(&mut self) {
        let layers = self.choose([12, 24], [25, 48]);
        let weights = self.heaps(layers, 2, 16, Beginning::Created);
        let states = self.heaps(layers, 4, 32, Beginning::Created);
        let regular = self.random.chance(0.5);
        for step in 0..(1_000 / layers) {
            let batch = if regular { 2 } else { self.random.range(1, 5) };
            let mut kept: Vec<usize> = Vec::new();
            for (layer, &weight) in weights.iter().enumerate() {
                let size = (2 + (layer as u64 * 7919) % 23) * MIB * batch / 2;
                let result = self.program.heap(size, Beginning::Created);
                self.program.heaps[result].transient = true;
                let mut uses = vec![weight, result];
                uses.extend(kept.last());
                kept.push(result);
                self.submit(uses);
            }
            // An evaluation has no backward pass.
            if step % 8 == 7 {
                continue;
            }
            for layer in (0..layers).rev() {
                let mut uses = vec![weights[layer], kept[layer], states[layer]];
                uses.extend(layer.checked_sub(1).map(|before| kept[before]));
                self.submit(uses);
            }
        }
    }

    fn budgets(&mut self) {
        let groups = self.choose([4, 8], [9, 14]);
        let shared = self.heaps(30, 1, 12, Beginning::Created);
        let scenes: Vec<_> = (0..groups).map(|_| self.heaps(25, 1, 16, Beginning::Created)).collect();
        let stay = self.between(5, 60);
        let in_turn = self.random.chance(0.5);
        let (mut share, mut scene) = (1000, 0);
        for frame in 0..1_000 {
            if self.random.chance(0.008) {
                share = self.random.range(450, 1001);
            }
            if frame % stay == 0 {
                scene = if in_turn { (scene + 1) % groups } else { self.random.index(groups) };
            }
            let mut uses = shared.clone();
            uses.extend(&scenes[scene]);
            uses.push(scenes[(scene + groups / 2) % groups][frame % 25]);
            self.program.submit(0, share, uses);
        }
    }

    fn two_queues(&mut self) {
        let rate = self.choose([2, 3], [4, 7]);
        let drawn = self.heaps(120, 1, 16, Beginning::Evicted);
        let parts = self.between(2, 8);
        let computed = self.heaps(20 * parts, 2, 16, Beginning::Evicted);
        let shared = self.heaps(10, 4, 16, Beginning::Created);
        let in_turn = self.random.chance(0.6);
        let mut part = 0;
        for frame in 0..700 {
            let from = frame * 60 / 700;
            let mut uses = shared.clone();
            uses.extend(drawn[from..from + 60].iter().copied().filter(|_| self.random.chance(0.85)));
            self.submit(uses);
            if frame % rate == 0 {
                part = if in_turn { (part + 1) % parts } else { self.random.index(parts) };
                let mut uses = computed[part * 20..(part + 1) * 20].to_vec();
                uses.extend(&shared[..4]);
                self.program.submit(1, 1000, uses);
            }
        }
    }

    fn sequence(&mut self) {
        let begin = self.program.submissions.len();
        for _ in 0..self.between(2, 3) {
            let shape = WorkloadShape::ALL[self.random.index(WorkloadShape::ALL.len() - 1)];
            self.shape(shape);
        }
        // The budget is the computer's, not the program's.
        let budgets = self.program.submissions[begin..].iter().map(|submission| submission.budget);
        let budget = budgets.max().unwrap_or(0);
        for submission in &mut self.program.submissions[begin..] {
            submission.budget = budget;
        }
    }
}
