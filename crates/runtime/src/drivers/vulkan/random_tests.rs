//! Random evictions and returns among creations, recreations at addresses, releases and reserved ranges, compared with
//! a model.
//!
//! HEAPWRIGHT_RANDOM_EVICTIONS is the number of evictions and returns, and HEAPWRIGHT_RANDOM_SEED the seed.

use std::sync::PoisonError;
use std::time::Instant;

use heapwright_core::GpuVirtualAddress;

use super::fault_tests::{INJECTING, or_skip};
use super::*;
use crate::ddi::DeviceArgs;
use crate::ddi::umddi::D3D12DDI_HEAP_FLAG_NONE;
use crate::drivers::driver::DriverDevice;
use crate::drivers::heap::DriverHeap;
use crate::drivers::paging_work::PagingWork;
use crate::residency::PageableKind;

/// The number of evictions and returns of each run.
const STEPS: u64 = 400;

/// Heaps that exist at most.
const HEAPS: usize = 40;

/// Devices with reserved ranges that exist at most.
const DEVICES: usize = 3;

const PAGE: u64 = 64 * 1024;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("small")
    }
}

/// A heap, and what the model knows about it.
struct Known {
    heap: Arc<DriverHeap>,
    pages: Pages,
    is_resident: bool,
    /// The word in its first and its last page.
    word: u64,
}

/// The pages from the first address to the second.
type Pages = (u64, u64);

fn overlap(a: Pages, b: Pages) -> bool {
    a.0 < b.1 && b.0 < a.1
}

struct Model {
    driver: Driver,
    recorder: Recorder,
    random: Random,
    plain: DriverDevice,
    heaps: Vec<Known>,
    reserved: Vec<(DriverDevice, Vec<Pages>)>,
    /// Addresses of heaps that were released.
    released: Vec<Pages>,
}

impl Model {
    fn new(backend: Arc<VulkanBackend>, seed: u64) -> Self {
        let driver = Arc::clone(&backend).driver();
        let readback = backend.types.readback;
        let recorder = Recorder::create(&backend.device, driver.space(), &backend.engine, readback);
        let recorder = recorder.expect("a queue");
        let plain = driver.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
        let (heaps, reserved, released) = (Vec::new(), Vec::new(), Vec::new());
        Self { driver, recorder, random: Random(seed), plain, heaps, reserved, released }
    }

    /// The addresses that belong to someone.
    fn taken(&self) -> impl Iterator<Item = Pages> {
        let reserved = self.reserved.iter().flat_map(|(_, pages)| pages.iter().copied());
        self.heaps.iter().map(|known| known.pages).chain(reserved)
    }

    /// Creates a heap: at the addresses of a released one, or anywhere.
    fn create(&mut self) {
        let at = (self.random.below(3) == 0 && !self.reserved.is_empty()).then(|| {
            let device = self.random.index(self.reserved.len());
            let pages = &self.reserved[device].1;
            (device, pages[self.random.index(pages.len())])
        });
        let size = match at {
            Some((_, (start, end))) => end - start,
            None => match self.random.below(8) {
                0 => PAGE * (1 + self.random.below(512)),
                1..4 => PAGE * (1 + self.random.below(64)),
                _ => PAGE * (1 + self.random.below(16)),
            },
        };
        let is_resident = self.random.below(4) > 0;
        let args = HeapArgs {
            size: ByteSize::new(size),
            alignment: KIB_64,
            cpu_page_property: CpuPageProperty::NotAvailable,
            memory_pool: MemoryPool::L1,
            flags: D3D12DDI_HEAP_FLAG_NONE,
            existing: None,
            zeroed: true,
            not_resident: !is_resident,
            pageable: PageableKind::Heap,
            create_at: at.and_then(|(_, (start, _))| GpuVirtualAddress::new(start)),
        };
        let device = at.map_or(&self.plain, |(device, _)| &self.reserved[device].0);
        let created = self.driver.create_heap(device, &args);
        let is_free = |pages: Pages| self.heaps.iter().all(|known| !overlap(known.pages, pages));
        if let Some((_, pages)) = at {
            assert_eq!(created.is_ok(), is_free(pages), "{pages:x?}: {:x?}", created.err());
            if !is_free(pages) {
                return;
            }
        }
        let heap = created.expect("few and small");
        let start = heap.gpu_virtual_address().get();
        let pages = (start, start + size);
        match at {
            Some((_, wanted)) => assert_eq!(pages, wanted),
            None => assert!(self.taken().all(|taken| !overlap(taken, pages)), "{pages:x?} is another's"),
        }
        self.heaps.push(Known { heap, pages, is_resident, word: 0 });
        if is_resident {
            self.check(self.heaps.len() - 1);
        }
    }

    /// Compares the contents of a heap that is resident, and writes others.
    fn check(&mut self, index: usize) {
        let Known { heap, pages: (start, end), word, .. } = &mut self.heaps[index];
        assert!(heap.memory().is_at_its_address(), "{start:x} to {end:x}");
        let ends = [*start, *end - 4096];
        for at in ends {
            let mut bytes = [1; 4096];
            self.recorder.read(at, &mut bytes).expect("resident");
            assert!(bytes.chunks_exact(8).all(|own| own == word.to_le_bytes()), "at {at:x}");
        }
        *word = 1 + self.random.below(u64::MAX >> 33);
        for at in ends {
            self.recorder.write(at, &word.to_le_bytes().repeat(512)).expect("resident");
        }
        // Others are evicted while this is being executed only if they are not used.
        self.recorder.finish().expect("the device works");
    }

    /// Evicts a few heaps or has them return, in one call as in D3D12. Returns their number.
    fn page(&mut self) -> u64 {
        let first = self.random.index(self.heaps.len());
        let count = (1 + self.random.index(4)).min(self.heaps.len() - first);
        let mut works = Vec::new();
        for known in &mut self.heaps[first..first + count] {
            let work = if known.is_resident { known.heap.evict() } else { known.heap.make_resident() };
            works.extend(work.expect("it is as the model knows"));
            known.is_resident = !known.is_resident;
        }
        let turns_back = self.random.below(4) == 0;
        if turns_back {
            // Each of them turns back midway.
            PagingWork::begin_all(&mut works).expect("the device works");
            for known in &mut self.heaps[first..first + count] {
                let work = if known.is_resident { known.heap.evict() } else { known.heap.make_resident() };
                works.extend(work.expect("it is as the model knows"));
                known.is_resident = !known.is_resident;
            }
        }
        PagingWork::run_all(works, Instant::now()).1.expect("the device works");
        for index in first..first + count {
            let known = &self.heaps[index];
            assert_eq!(known.heap.has_arrived(), known.is_resident);
            assert_eq!(known.heap.memory().is_charged(), known.is_resident);
            assert!(self.recorder.read(known.pages.0, &mut [0]).is_ok() == known.is_resident);
            if known.is_resident {
                self.check(index);
            }
        }
        count as u64
    }

    fn release(&mut self) {
        let known = self.heaps.swap_remove(self.random.index(self.heaps.len()));
        self.recorder.finish().expect("the device works");
        self.released.push(known.pages);
    }

    /// Creates a device that reserves addresses of released heaps.
    fn reserve(&mut self) {
        let mut ranges: Vec<Pages> = Vec::new();
        for _ in 0..=self.random.below(4) {
            if !self.released.is_empty() {
                let pages = self.released.swap_remove(self.random.index(self.released.len()));
                if !ranges.iter().any(|&own| overlap(own, pages)) {
                    ranges.push(pages);
                }
            }
        }
        if ranges.is_empty() {
            return;
        }
        let range = |&(start, end): &Pages| GpuVirtualAddressRange {
            start: GpuVirtualAddress::new(start).expect("not zero"),
            size: ByteSize::new(end - start),
        };
        let reserve_ranges: Vec<_> = ranges.iter().map(range).collect();
        let created = self.driver.create_device(&DeviceArgs::new(&reserve_ranges));
        let are_free = self.taken().all(|taken| ranges.iter().all(|&own| !overlap(own, taken)));
        assert_eq!(created.is_ok(), are_free, "{ranges:x?}");
        if let Ok(device) = created {
            self.reserved.push((device, ranges));
        }
    }

    fn unreserve(&mut self) {
        drop(self.reserved.swap_remove(self.random.index(self.reserved.len())));
    }
}

#[test]
fn heaps_leave_and_return_at_addresses_of_their_own() {
    // The others have messages of the validation layer.
    let _alone = INJECTING.lock().unwrap_or_else(PoisonError::into_inner);
    let messages = validation_messages();
    let Some(backend) = or_skip(VulkanBackend::open(0)) else { return };
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let steps = number("HEAPWRIGHT_RANDOM_EVICTIONS").unwrap_or(STEPS);
    let mut model = Model::new(backend, number("HEAPWRIGHT_RANDOM_SEED").unwrap_or(1));
    let free = model.driver.space().free_size();
    let mut paged = 0;
    while paged < steps {
        match model.random.below(16) {
            0..4 if model.heaps.len() < HEAPS => model.create(),
            4..6 if model.heaps.len() > HEAPS / 2 => model.release(),
            6 if model.reserved.len() < DEVICES => model.reserve(),
            7 if !model.reserved.is_empty() && model.random.below(4) == 0 => model.unreserve(),
            _ if !model.heaps.is_empty() => paged += model.page(),
            _ => {}
        }
    }
    model.heaps.clear();
    model.reserved.clear();
    assert_eq!(model.driver.space().free_size(), free, "all addresses are free");
    assert_eq!(model.driver.video_memory(SegmentGroup::Local).current_usage, ByteSize::ZERO);
    assert_eq!(validation_messages()[messages.len()..], [] as [String; 0]);
}
