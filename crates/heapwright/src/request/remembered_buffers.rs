//! A cache of a device's results for buffers, so that each description is queried once.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

/// Number of cached results: 4 KiB in total.
const PLACES: usize = 1 << PLACES_LOG2;
const PLACES_LOG2: u32 = 9;

/// A cache of a device's results for buffers: a table in which each description has one slot, which holds the last
/// result.
///
/// A device returns the same result for the same description each time (the HLK tests of tight alignment require it),
/// so the cache changes no decision, only whether the device is called.
///
/// Each entry is one word, which is read and written atomically: there is no lock, and no thread can read a part of an
/// entry. Entries that do not fit into a word are not cached: widths from 1 TiB on, flags from bit 12 on, and sizes
/// that are not the width rounded up to the alignment.
///
/// Cost: O(1).
pub(super) struct RememberedBuffers {
    places: Box<[AtomicU64; PLACES]>,
}

/// A description and its result in a word, from the lowest bit up:
///
/// | bits | |
/// |---|---|
/// | 40 | width, not zero |
/// | 12 | flags |
/// | 5 | the alignment of the description: 0, or 1 + the power of two |
/// | 5 | the alignment of the result, as a power of two |
///
/// The first three are the key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Question(u64);

const WIDTH_BITS: u32 = 40;
const FLAG_BITS: u32 = 12;
const ALIGNMENT_BITS: u32 = 5;
const QUESTION_BITS: u32 = WIDTH_BITS + FLAG_BITS + ALIGNMENT_BITS;

impl Question {
    /// Returns `None` for a description that is not a well-formed buffer, or does not fit.
    #[inline]
    fn of(desc: &D3D12_RESOURCE_DESC) -> Option<Self> {
        let is_plain = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
            && (desc.Height, desc.DepthOrArraySize, desc.MipLevels) == (1, 1, 1)
            && (desc.Format, desc.Layout) == (DXGI_FORMAT_UNKNOWN, D3D12_TEXTURE_LAYOUT_ROW_MAJOR)
            && (desc.SampleDesc.Count, desc.SampleDesc.Quality) == (1, 0);
        let flags = u64::from(desc.Flags);
        let alignment = match desc.Alignment {
            0 => 0,
            alignment => 1 + Alignment::new(alignment)?.log2(),
        };
        let fits = desc.Width != 0
            && desc.Width >> WIDTH_BITS == 0
            && flags >> FLAG_BITS == 0
            && alignment >> ALIGNMENT_BITS == 0;
        (is_plain && fits).then_some(Self(
            desc.Width | flags << WIDTH_BITS | u64::from(alignment) << (WIDTH_BITS + FLAG_BITS),
        ))
    }

    fn width(self) -> ByteSize {
        ByteSize::new(self.0 & ((1 << WIDTH_BITS) - 1))
    }

    /// Returns the index in the table. Consecutive widths, and those of an arithmetic progression, are far apart.
    #[inline]
    fn place(self) -> usize {
        // 2^64 over the golden ratio.
        let spread = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES_LOG2);
        usize::try_from(spread).unwrap_or(0)
    }
}

impl RememberedBuffers {
    pub(super) fn new() -> Self {
        Self { places: Box::new([const { AtomicU64::new(0) }; PLACES]) }
    }

    /// Returns the cached result for a description, if there is one.
    #[inline]
    pub(super) fn get(&self, desc: &D3D12_RESOURCE_DESC) -> Option<(ByteSize, Alignment)> {
        self.find(Question::of(desc)?)
    }

    #[inline]
    fn find(&self, question: Question) -> Option<(ByteSize, Alignment)> {
        // Relaxed: the word is complete in itself, and no other data depends on it.
        let word = self.places[question.place()].load(Ordering::Relaxed);
        if word & ((1 << QUESTION_BITS) - 1) != question.0 {
            return None;
        }
        let alignment = Alignment::new(1 << (word >> QUESTION_BITS))?;
        Some((question.width().align_up(alignment)?, alignment))
    }

    /// Returns the cached result for a description, or the result of `ask`, which is then cached.
    pub(super) fn get_or<E>(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        ask: impl FnOnce() -> Result<Option<(ByteSize, Alignment)>, E>,
    ) -> Result<Option<(ByteSize, Alignment)>, E> {
        let Some(question) = Question::of(desc) else { return ask() };
        if let Some(found) = self.find(question) {
            return Ok(Some(found));
        }
        let answer = ask()?;
        if let Some((size, alignment)) = answer {
            let log2 = u64::from(alignment.log2());
            if log2 >> ALIGNMENT_BITS == 0 && question.width().align_up(alignment) == Some(size) {
                self.places[question.place()].store(question.0 | log2 << QUESTION_BITS, Ordering::Relaxed);
            }
        }
        Ok(answer)
    }
}

impl fmt::Debug for RememberedBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.places.iter().filter(|place| place.load(Ordering::Relaxed) != 0).count();
        f.debug_struct("RememberedBuffers").field("used", &used).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn buffer(width: u64, alignment: u64, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
        let desc = crate::buffer_desc(ByteSize::new(width));
        D3D12_RESOURCE_DESC { Alignment: alignment, Flags: flags, ..desc }
    }

    /// A result that depends on every part of the description.
    fn answer(desc: &D3D12_RESOURCE_DESC) -> Option<(ByteSize, Alignment)> {
        let mixed = desc.Width ^ desc.Alignment.rotate_left(7) ^ u64::from(desc.Flags).rotate_left(3);
        let alignment = Alignment::from_log2(u32::try_from(mixed % 17).ok()?)?;
        Some((ByteSize::new(desc.Width).align_up(alignment)?, alignment))
    }

    fn asked(desc: &D3D12_RESOURCE_DESC) -> Result<Option<(ByteSize, Alignment)>, ()> {
        Ok(answer(desc))
    }

    #[test]
    fn repeated_queries_are_cached() {
        let remembered = RememberedBuffers::new();
        let desc = buffer(1000, 0, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT);
        assert_eq!(remembered.get(&desc), None);
        assert_eq!(remembered.get_or(&desc, || asked(&desc)), asked(&desc));
        assert_eq!(remembered.get(&desc), answer(&desc));
        assert_eq!(remembered.get_or(&desc, || Err("cached result must be used")), Ok(answer(&desc)));
    }

    #[test]
    fn large_and_rejected_buffers_are_not_cached() {
        let remembered = RememberedBuffers::new();
        let plain = buffer(1000, 0, 0);
        let large = [buffer(1 << WIDTH_BITS, 0, 0), buffer(0, 0, 0), buffer(1, 0, 1 << FLAG_BITS)];
        let others = [
            buffer(1000, 3, 0),
            buffer(1000, 1 << 31, 0),
            D3D12_RESOURCE_DESC { Height: 2, ..plain },
            D3D12_RESOURCE_DESC { DepthOrArraySize: 2, ..plain },
            D3D12_RESOURCE_DESC { MipLevels: 2, ..plain },
            D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_R8_UNORM, ..plain },
            D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..plain },
            D3D12_RESOURCE_DESC { SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 }, ..plain },
            D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..plain },
        ];
        for desc in large.into_iter().chain(others) {
            remembered.get_or(&desc, || asked(&desc)).expect("answered");
            assert_eq!(remembered.get(&desc), None, "{desc:?}");
        }
        for odd in
            [None, Some((ByteSize::new(2048), Alignment::ONE)), Some((ByteSize::new(8), Alignment::ONE))]
        {
            assert_eq!(remembered.get_or(&plain, || Ok::<_, ()>(odd)), Ok(odd));
            assert_eq!(remembered.get(&plain), None);
        }
        assert_eq!(remembered.get_or(&plain, || Err("failed")), Err("failed"));
        assert_eq!(remembered.get(&plain), None);
    }

    #[test]
    fn threads_never_read_partial_entries() {
        let remembered = RememberedBuffers::new();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let remembered = &remembered;
                scope.spawn(move || {
                    // Several descriptions share a slot, so threads overwrite each other's entries.
                    for round in 0..if cfg!(miri) { 200 } else { 100_000_u64 } {
                        let width = 1 + (round * 7 + thread) % 3000;
                        let desc = buffer(
                            width,
                            [0, 64, 256][usize::from(round % 2 == 0) + usize::from(round % 3 == 0)],
                            u32::try_from(round % 5).expect("small"),
                        );
                        assert_eq!(remembered.get_or(&desc, || asked(&desc)), asked(&desc), "{desc:?}");
                    }
                });
            }
        });
    }

    proptest! {
        #[test]
        fn cached_results_equal_the_queried_results(
            descs in prop::collection::vec(
                (
                    prop_oneof![1..600_u64, any::<u64>()],
                    prop_oneof![Just(0), (0..20_u32).prop_map(|log2| 1 << log2)],
                    0..4096_u32,
                ),
                1..200,
            ),
        ) {
            let remembered = RememberedBuffers::new();
            let mut model = HashMap::new();
            for (width, alignment, flags) in descs {
                let desc = buffer(width, alignment, flags);
                let key = (width, alignment, flags);
                let found = remembered.get(&desc);
                prop_assert!(found.is_none() || model.get(&key) == Some(&found));
                prop_assert_eq!(remembered.get_or(&desc, || asked(&desc)), asked(&desc));
                model.insert(key, answer(&desc));
            }
        }
    }
}
