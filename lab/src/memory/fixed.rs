//! Core's placement with fixed settings, whatever the device takes for heaps.

use std::time::Duration;

use heapwright_core::placement::{
    HeapRetention, HeapSizing, Keeping, PlacementError, PlacementRequest, SharedHeapSet, SharedPlacementId,
};
use heapwright_core::{Alignment, ByteSize};

use super::allocators::{Failed, MemoryAllocator};
use super::meter::{Block, DeviceCall};
use super::prices::Prices;

/// Settings that do not depend on prices.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Sizes of new heaps.
    pub sizing: HeapSizing,
    /// The number of operations for which an empty heap is kept.
    pub operations: u64,
}

impl Settings {
    /// The defaults of heapwright before it learned prices, tuned on plain memory of an H200.
    pub const FORMER: Self = Self {
        sizing: HeapSizing { maximum: ByteSize::from_mib(128), ..HeapSizing::DEVICE_LOCAL },
        operations: 500,
    };

    /// Returns all combinations of usual fractions, sizes and retentions.
    pub fn grid() -> impl Iterator<Item = Self> {
        const SIZES: [(u32, u64, u64); 8] = [
            (4, 4096, 64),
            (4, 4096, 512),
            (8, 4096, 128),
            (10, 4096, 16),
            (10, 4096, 64),
            (16, 1024, 32),
            (32, 1024, 64),
            (64, 256, 16),
        ];
        const OPERATIONS: [u64; 16] =
            [0, 5, 20, 50, 100, 200, 300, 500, 800, 1_200, 2_000, 3_500, 5_000, 10_000, 20_000, 200_000];
        SIZES.into_iter().flat_map(|(fraction, kib, mib)| {
            let (minimum, maximum) = (ByteSize::from_kib(kib), ByteSize::from_mib(mib));
            let sizing = HeapSizing { minimum, maximum, fraction, ..HeapSizing::DEVICE_LOCAL };
            OPERATIONS.map(|operations| Self { sizing, operations })
        })
    }
}

/// Core's placement of buffers on one thread. Sizes of heaps are their own handles.
pub struct Fixed {
    set: SharedHeapSet<ByteSize>,
    calls: Vec<DeviceCall>,
    periods: u128,
}

impl Fixed {
    /// Creates an allocator with these settings.
    #[must_use]
    pub fn with(settings: &Settings) -> Self {
        let keeping = Keeping::Operations(settings.operations);
        let retention = HeapRetention { keeping, ..HeapRetention::default() };
        let slots_up_to = SharedHeapSet::<ByteSize>::SLOTS_UP_TO;
        Self {
            set: SharedHeapSet::new(settings.sizing, retention, slots_up_to, 1),
            calls: vec![],
            periods: 0,
        }
    }

    fn free_all(&mut self, heaps: Vec<ByteSize>) {
        self.calls.extend(heaps.into_iter().map(|size| DeviceCall::Free(Block::shared(size))));
    }

    fn place(&mut self, size: ByteSize) -> Result<SharedPlacementId, PlacementError> {
        let alignment = Alignment::new(256).unwrap_or(Alignment::ONE);
        let size = size.align_up(alignment).ok_or(PlacementError::TooManyBytes)?;
        let request = PlacementRequest::new(size, alignment);
        if let Some(placed) = self.set.allocate(&request)? {
            return Ok(placed.id);
        }
        let wanted = self.set.plan(&request)?;
        self.free_all(wanted.release);
        self.calls.push(DeviceCall::Create(Block::shared(wanted.size)));
        Ok(self.set.allocate_in_new(wanted.size, wanted.size, &request)?.id)
    }
}

/// A period of heapwright's allocator.
const PERIOD: Duration = Duration::from_millis(400);

impl MemoryAllocator for Fixed {
    type Buffer = SharedPlacementId;

    fn new(_prices: &Prices) -> Result<Self, Failed> {
        Ok(Self::with(&Settings::FORMER))
    }

    fn allocate(&mut self, size: ByteSize) -> Result<SharedPlacementId, Failed> {
        self.place(size).map_err(Failed::new)
    }

    fn free(&mut self, buffer: SharedPlacementId) -> Result<(), Failed> {
        let heaps = self.set.free(buffer).map_err(Failed::new)?;
        self.free_all(heaps);
        Ok(())
    }

    fn pass_time(&mut self, time: Duration) {
        while self.periods < time.as_nanos() / PERIOD.as_nanos() {
            self.periods += 1;
            let heaps = self.set.pass_period();
            self.free_all(heaps);
        }
    }

    fn take_calls(&mut self, calls: &mut Vec<DeviceCall>) {
        calls.clear();
        calls.append(&mut self.calls);
    }
}
