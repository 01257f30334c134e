//! Undefined bytes that are noise: written when they are first read.
//!
//! A program may make gigabytes undefined with each command (a discard, a dispatch whose unordered access views show
//! all of its memory), and read a few of these bytes later. A heap therefore notes which of its bytes are noise. A read
//! first writes the noise that it would find, and a write forgets it. So the noise of a command costs what is read of
//! it, not what it covers. Memory that the CPU can access is overwritten at once, because the application may read it
//! at any time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::address_space::{AddressSpace, Span};
use super::driver::GpuMemory;
use super::page_fault::PageFault;

/// The bytes of a heap that are noise and not written yet.
#[derive(Debug, Default)]
pub(super) struct UnwrittenNoise(Mutex<NoiseRanges>);

/// Ranges that do not overlap, by their first byte: their ends, and the seeds of their noise.
#[derive(Debug, Default)]
struct NoiseRanges(BTreeMap<u64, (u64, u64)>);

impl NoiseRanges {
    /// Removes the noise from a range, and returns what was removed. O(log ranges + removed).
    fn take(&mut self, range: &Range<u64>) -> Vec<(Range<u64>, u64)> {
        let mut taken = Vec::new();
        if range.is_empty() {
            return taken;
        }
        let before = self.0.range(..range.start).next_back().filter(|(_, (end, _))| *end > range.start);
        let mut first = before.map_or(range.start, |(&start, _)| start);
        while let Some((&start, &(end, seed))) = self.0.range(first..range.end).next() {
            self.0.remove(&start);
            if start < range.start {
                self.0.insert(start, (range.start, seed));
            }
            if end > range.end {
                self.0.insert(range.end, (end, seed));
            }
            taken.push((start.max(range.start)..end.min(range.end), seed));
            first = range.start;
        }
        taken
    }

    /// Adds noise, instead of what was in the range. O(log ranges), amortized.
    fn add(&mut self, range: Range<u64>, seed: u64) {
        if range.is_empty() {
            return;
        }
        self.take(&range);
        let Range { mut start, mut end } = range;
        if let Some((&before, &(its_end, its_seed))) = self.0.range(..start).next_back() {
            if its_end == start && its_seed == seed {
                start = before;
            }
        }
        if let Some(&(its_end, its_seed)) = self.0.get(&end) {
            if its_seed == seed {
                self.0.remove(&end);
                end = its_end;
            }
        }
        self.0.insert(start, (end, seed));
    }
}

/// Whether any heap of an address space has unwritten noise, and how many bytes of noise were written.
#[derive(Debug, Default)]
pub(super) struct NoiseUse {
    is_used: AtomicBool,
    written: AtomicU64,
}

impl NoiseUse {
    /// Returns the number of bytes of noise that were written.
    #[cfg(test)]
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// A queue's access to memory of which some bytes are noise.
pub(super) struct NoisyMemory {
    memory: Box<dyn GpuMemory + Send>,
    space: Arc<AddressSpace>,
}

impl NoisyMemory {
    pub(super) fn new(memory: Box<dyn GpuMemory + Send>, space: Arc<AddressSpace>) -> Self {
        Self { memory, space }
    }

    fn is_used(&self) -> bool {
        self.space.noise().is_used.load(Ordering::Relaxed)
    }

    /// Calls `visit` with each contiguous range of a heap behind `size` bytes from `address` on. Addresses without
    /// memory are skipped.
    fn for_each_span(&mut self, address: u64, size: u64, mut visit: impl FnMut(&mut Self, u64, Span)) {
        let mut done = 0;
        while done < size {
            // The application has not caused a fault here.
            let Ok(span) = self.space.translate(address + done, size - done) else { return };
            let step = span.size();
            visit(self, address + done, span);
            done += step;
        }
    }

    /// Writes the noise in bytes that are about to be read.
    fn before_read(&mut self, address: u64, size: u64) {
        if !self.is_used() {
            return;
        }
        self.for_each_span(address, size, |this, address, span| {
            let Span::Memory { heap, offset, size } = span else { return };
            // Locked until the noise is written, so that another queue does not read what was there before.
            let mut ranges = heap.noise().0.lock().unwrap_or_else(PoisonError::into_inner);
            for (range, seed) in ranges.take(&(offset..offset + size)) {
                this.write_noise(address + (range.start - offset), range.end - range.start, seed);
            }
        });
    }

    /// Forgets the noise in bytes that are about to be written.
    fn before_write(&mut self, address: u64, size: u64) {
        if !self.is_used() {
            return;
        }
        self.for_each_span(address, size, |_, _, span| {
            let Span::Memory { heap, offset, size } = span else { return };
            heap.noise().0.lock().unwrap_or_else(PoisonError::into_inner).take(&(offset..offset + size));
        });
    }

    fn write_noise(&mut self, address: u64, size: u64, seed: u64) {
        self.space.noise().written.fetch_add(size, Ordering::Relaxed);
        self.memory.scramble(address, size, seed);
    }
}

impl GpuMemory for NoisyMemory {
    fn copy(&mut self, target: u64, source: u64, size: u64) -> Result<(), PageFault> {
        self.before_read(source, size);
        self.before_write(target, size);
        self.memory.copy(target, source, size)
    }

    fn write(&mut self, target: u64, bytes: &[u8]) -> Result<(), PageFault> {
        self.before_write(target, bytes.len() as u64);
        self.memory.write(target, bytes)
    }

    fn read(&mut self, source: u64, bytes: &mut [u8]) -> Result<(), PageFault> {
        self.before_read(source, bytes.len() as u64);
        self.memory.read(source, bytes)
    }

    fn fill(&mut self, target: u64, size: u64, pattern: &[u8]) -> Result<(), PageFault> {
        self.before_write(target, size);
        self.memory.fill(target, size, pattern)
    }

    fn finish(&mut self) -> Result<(), PageFault> {
        self.memory.finish()
    }

    /// Notes that bytes are noise, or overwrites them if the CPU can access them.
    fn scramble(&mut self, target: u64, size: u64, seed: u64) {
        self.for_each_span(target, size, |this, address, span| {
            let Span::Memory { heap, offset, size } = span else { return };
            if heap.is_cpu_accessible() {
                return this.write_noise(address, size, seed);
            }
            this.space.noise().is_used.store(true, Ordering::Relaxed);
            heap.noise().0.lock().unwrap_or_else(PoisonError::into_inner).add(offset..offset + size, seed);
        });
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "heaps of a few bytes")]
mod tests {
    use heapwright_core::ByteSize;
    use proptest::prelude::*;

    use super::*;
    use crate::drivers::host::tests::{MakeHeap as _, driver, video};

    proptest! {
        #[test]
        fn ranges_behave_like_an_array(
            steps in proptest::collection::vec((0_u64..40, 0_u64..20, 0_u64..4), 1..40),
        ) {
            let mut ranges = NoiseRanges::default();
            let mut bytes = [0_u64; 64];
            for (start, size, seed) in steps {
                let range = start..start + size;
                let touched = &mut bytes[start as usize..(start + size) as usize];
                // Seed 0 stands for a write.
                if seed == 0 {
                    let mut found = vec![0; size as usize];
                    for (taken, seed) in ranges.take(&range) {
                        found[(taken.start - start) as usize..(taken.end - start) as usize].fill(seed);
                    }
                    prop_assert_eq!(&found[..], &*touched);
                } else {
                    ranges.add(range, seed);
                }
                touched.fill(seed);
                let mut all = [0_u64; 64];
                for (&start, &(end, seed)) in &ranges.0 {
                    prop_assert!(start < end);
                    all[start as usize..end as usize].fill(seed);
                }
                prop_assert_eq!(all, bytes);
            }
        }
    }

    #[test]
    fn noise_costs_what_is_read_of_it() {
        let driver = driver("discrete");
        let heap = driver.make_heap(&video(ByteSize::from_gib(2))).expect("the request fits");
        let (start, size) = (heap.gpu_virtual_address().get(), heap.size().get());
        let mut memory = driver.gpu_memory().expect("a queue's memory");
        let written = || driver.space().noise().written();
        for seed in 0..10_000 {
            memory.scramble(start, size, seed);
        }
        assert_eq!(written(), 0);
        memory.write(start + 8, &[1; 8]).expect("mapped");
        let mut bytes = [0; 24];
        memory.read(start, &mut bytes).expect("mapped");
        assert_eq!((written(), &bytes[8..16]), (16, &[1; 8][..]));
        assert!(bytes[..8] != [0; 8] && bytes[16..] != [0; 8], "{bytes:?}");
        let seen = bytes;
        memory.read(start, &mut bytes).expect("mapped");
        assert_eq!((written(), bytes), (16, seen), "written once");
        memory.copy(start + (1 << 20), start + 24, 100).expect("mapped");
        assert_eq!(written(), 116, "copied bytes are read, and those of the target are overwritten");
        memory.fill(start, 1 << 20, &[0]).expect("mapped");
        memory.read(start + (1 << 19), &mut bytes).expect("mapped");
        assert_eq!((written(), bytes), (116, [0; 24]), "filled");
    }

    /// Noise that is written in parts is that of the whole.
    #[test]
    fn noise_depends_on_the_address() {
        let driver = driver("discrete");
        let heap = driver.make_heap(&video(ByteSize::from_mib(1))).expect("the request fits");
        let mut memory = driver.gpu_memory().expect("a queue's memory");
        let start = heap.gpu_virtual_address().get();
        let parts: &[Range<u64>] = &[0..3, 3..4096, 4096..4105, 4105..10_000];
        let whole = std::slice::from_ref(&(0..10_000));
        let [parts, whole] = [parts, whole].map(|ranges| {
            memory.scramble(start, 10_000, 7);
            let read = ranges.iter().flat_map(|range| {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                memory.read(start + range.start, &mut bytes).expect("mapped");
                bytes
            });
            read.collect::<Vec<u8>>()
        });
        assert_eq!(parts, whole);
        assert!(whole.iter().filter(|&&byte| byte == 0).count() < 200, "noise");
    }
}
