//! The three shapes of sizes that heapwright's research measured first, and their scripts.
//!
//! | shape | sizes | alignment | based on |
//! |---|---|---|---|
//! | S1 | 1 to 2,056 B, uniform; 7,200 live | 1, and 256 with sizes in units of it | VMA's own test of virtual blocks |
//! | S1, not rounded | the same | 256, with sizes of any number of bytes | none: shows the cost of such sizes |
//! | S2 | 64 KiB to 8 MiB in 64 KiB units, log-uniform; 256 MiB | 64 KiB | textures |
//! | S3 | 256 B to 64 KiB in 256 B units, log-uniform; 64 MiB | 256 | buffers |

use heapwright_core::{Alignment, ByteSize};

use super::full::Full;
use super::script::{Operation, Script};
use super::{Effort, rounded_up};
use crate::random::Random;
use crate::rival::Terms;

/// The sizes, alignment and capacity of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name in the tables.
    pub name: &'static str,
    /// Description for the report.
    pub about: &'static str,
    alignment: Alignment,
    sizes: Sizes,
    /// The capacity for measuring time instead of utilisation. A power of two, as one rival requires it.
    capacity: ByteSize,
    live: u32,
    /// The capacity of the heaps to fill.
    full_capacity: ByteSize,
    stream: u64,
}

#[derive(Clone, Copy, Debug)]
enum Sizes {
    Uniform {
        low: u32,
        high: u32,
    },
    /// Like `Uniform`, rounded up to units.
    UniformUnits {
        low: u32,
        high: u32,
        unit: Alignment,
    },
    Log {
        units: u32,
        unit: ByteSize,
    },
}

impl Sizes {
    fn draw(self, random: &mut Random) -> ByteSize {
        match self {
            Self::Uniform { low, high } => random.size(low, high),
            Self::UniformUnits { low, high, unit } => rounded_up(random.size(low, high), unit),
            Self::Log { units, unit } => random.log_size(units, unit),
        }
    }

    /// Returns the mean size in bytes, rounded down.
    fn mean(self) -> u64 {
        match self {
            Self::Uniform { low, high } => u64::from(low.midpoint(high)),
            Self::UniformUnits { low, high, unit } => u64::from(low.midpoint(high)) + unit.get() / 2,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between the bounds")]
            Self::Log { units, unit } => {
                (unit.get() as f64 * f64::from(units) / (f64::from(units) + 1.0).ln()) as u64
            }
        }
    }
}

/// Number of pairs in the first pass of a churn: as many operations as in VMA's own test after filling.
const EARLY_PAIRS: u32 = 7200;

const ALIGN_256: Alignment = Alignment::new(256).unwrap();
const ALIGN_64K: Alignment = Alignment::new(64 << 10).unwrap();

const SMALL: Shape = Shape {
    name: "S1, alignment 1",
    about: "1 to 2,056 B at alignment 1, uniform. Pairs: 7,200 live in 16 MiB. Full: 8 MiB.",
    alignment: Alignment::ONE,
    sizes: Sizes::Uniform { low: 1, high: 2056 },
    capacity: ByteSize::from_mib(16),
    live: 7200,
    full_capacity: ByteSize::from_mib(8),
    stream: 1,
};

/// All shapes. Those of S1 draw the same sizes.
pub const SHAPES: [Shape; 5] = [
    SMALL,
    Shape {
        name: "S1, alignment 256",
        about: "1 to 2,056 B, uniform, rounded up to units of 256 B, at alignment 256. Pairs: 7,200 live in 16 MiB. Full: 8 MiB.",
        alignment: ALIGN_256,
        sizes: Sizes::UniformUnits { low: 1, high: 2056, unit: ALIGN_256 },
        ..SMALL
    },
    Shape {
        name: "S1, alignment 256, sizes not rounded (a pathological case)",
        about: "1 to 2,056 B at alignment 256, uniform, sizes of any number of bytes. No allocator of resources asks so: drivers answer \
                sizes in units of the alignment. Free ranges that nothing fits into lie between the used ones, and make the lists of \
                some rivals long. Pairs: 7,200 live in 16 MiB. Full: 8 MiB.",
        alignment: ALIGN_256,
        ..SMALL
    },
    Shape {
        name: "S2",
        about: "64 KiB to 8 MiB in 64 KiB units at alignment 64 KiB, log-uniform. Pairs: 100 live in 256 MiB, about two \
                thirds of it. Full: 256 MiB.",
        alignment: ALIGN_64K,
        sizes: Sizes::Log { units: 128, unit: ByteSize::from_kib(64) },
        capacity: ByteSize::from_mib(256),
        live: 100,
        full_capacity: ByteSize::from_mib(256),
        stream: 2,
    },
    Shape {
        name: "S3",
        about: "256 B to 64 KiB in 256 B units at alignment 256, log-uniform. Pairs: 4,000 live in 64 MiB, about two \
                thirds of it. Full: 64 MiB.",
        alignment: ALIGN_256,
        sizes: Sizes::Log { units: 256, unit: ByteSize::new(256) },
        capacity: ByteSize::from_mib(64),
        live: 4000,
        full_capacity: ByteSize::from_mib(64),
        stream: 3,
    },
];

impl Shape {
    /// Creates a script that fills all slots and then frees and reallocates random ones. The first pass has 7,200
    /// pairs, while one large free range still exists, as in VMA's own test. The second pass follows it.
    #[must_use]
    pub fn churn(&self, effort: Effort) -> Script {
        let pairs = effort.pick(200_000, 20_000);
        let mut random = Random::new(self.stream);
        let warm_up =
            (0..self.live).map(|slot| Operation::Allocate { slot, size: self.sizes.draw(&mut random) });
        let warm_up = warm_up.collect();
        let passes = [EARLY_PAIRS, pairs].map(|pairs| {
            let pairs = (0..pairs).map(|_| {
                let slot = random.below(self.live);
                [Operation::Free { slot }, Operation::Allocate { slot, size: self.sizes.draw(&mut random) }]
            });
            pairs.flatten().collect()
        });
        Script {
            name: self.name.to_owned(),
            terms: Terms { capacity: self.capacity, alignment: self.alignment, most_live: self.live },
            slots: self.live as usize,
            warm_up,
            passes: passes.into(),
        }
    }

    /// Creates a workload that fills the capacity until a refusal and continues there.
    #[must_use]
    pub fn full(&self, effort: Effort) -> Full {
        let mut random = Random::new(self.stream + 100);
        let mut steps =
            |count: u64| (0..count).map(|_| (random.bits(), self.sizes.draw(&mut random))).collect();
        // Two and a half times the number that fills the heap without waste: every second allocation is freed, and
        // sizes vary.
        let fill = self.full_capacity.get() * 5 / 2 / self.sizes.mean();
        let fills = (0..effort.pick(16, 4)).map(|_| steps(fill)).collect();
        Full {
            terms: Terms {
                capacity: self.full_capacity,
                alignment: self.alignment,
                most_live: u32::try_from(fill).unwrap_or(u32::MAX),
            },
            fills,
            steps: steps(effort.pick(100_000, 15_000)),
        }
    }
}

/// Number of live allocations of the upload ring: the uploads of a few frames.
const RING_LIVE: u32 = 2000;

/// Creates a script that frees in the order of the allocations, like an upload ring that waits for fences: 256 B to 64
/// KiB at alignment 256; the oldest of 2,000 is freed before each allocation.
#[must_use]
pub fn upload_ring(effort: Effort) -> Script {
    let pairs: u32 = effort.pick(200_000, 50_000);
    let mut random = Random::new(4);
    let mut size = || random.log_size(256, ByteSize::new(256));
    let warm_up = (0..RING_LIVE).map(|slot| Operation::Allocate { slot, size: size() }).collect();
    let pairs = (0..pairs).map(|pair| {
        let slot = pair % RING_LIVE;
        [Operation::Free { slot }, Operation::Allocate { slot, size: size() }]
    });
    Script {
        name: "upload ring".to_owned(),
        // Twice the average size of the live allocations.
        terms: Terms { capacity: ByteSize::from_mib(64), alignment: ALIGN_256, most_live: RING_LIVE },
        slots: RING_LIVE as usize,
        warm_up,
        passes: vec![pairs.flatten().collect()],
    }
}
