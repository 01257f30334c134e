//! VirtualBlock.

use std::ffi::c_void;
use std::sync::Mutex;

use heapwright::d3d12::*;
use heapwright::suballoc::{Linear, SuballocError, Suballocation, SuballocationId, Tlsf};
use heapwright::{ByteSize, SegmentGroup};
use windows_core::HRESULT;

use super::allocation::lock;
use super::descriptors::{Callbacks, check_bits, null, required, store, strategy_of};
use super::host_memory::{HostMemory, hosted};
use super::json;
use super::statistics::{Block, DetailedStatistics, Snapshot, Statistics, Used};
use crate::debug_name::WideChar;
use crate::descriptors::alignment;
use crate::failure::{Failure, Fallible};
use crate::object::{Reference, methods};

/// `VIRTUAL_BLOCK_DESC`.
#[repr(C)]
pub struct BlockDesc {
    flags: u32,
    size: u64,
    callbacks: *const Callbacks,
}

/// `VIRTUAL_ALLOCATION_DESC`.
#[repr(C)]
struct AllocationDesc {
    flags: u32,
    size: u64,
    alignment: u64,
    private_data: usize,
}

/// `VIRTUAL_ALLOCATION_INFO`.
#[repr(C)]
#[derive(Clone, Copy)]
struct AllocationInfo {
    offset: u64,
    size: u64,
    private_data: usize,
}

const LINEAR: u32 = 1;
const UPPER_ADDRESS: u32 = 8;
const ALLOCATION_FLAGS: u32 = 0x3_4008;

/// The body of a VirtualBlock.
pub(crate) struct VirtualBlock {
    host: HostMemory,
    ranges: Mutex<Ranges>,
}

struct Ranges {
    size: u64,
    algorithm: Algorithm,
    live: LiveRanges,
}

enum Algorithm {
    Tlsf(Box<Tlsf>),
    Linear(Linear),
}

struct Live {
    id: SuballocationId,
    info: AllocationInfo,
}

/// The ranges in use, by their handles: the number of the range's place, counted from one, and how often the place was
/// vacated before, so that the handle of a freed range is not one of the range that is there now.
#[derive(Default)]
struct LiveRanges {
    places: Vec<Place>,
    /// The numbers of the places without a range.
    vacant: Vec<u32>,
}

#[derive(Default)]
struct Place {
    live: Option<Live>,
    vacated: u32,
}

impl LiveRanges {
    fn is_empty(&self) -> bool {
        self.vacant.len() == self.places.len()
    }

    fn iter(&self) -> impl Iterator<Item = &Live> {
        self.places.iter().filter_map(|place| place.live.as_ref())
    }

    /// Makes sure that there is a vacant place.
    fn reserve(&mut self) -> Fallible<()> {
        if self.vacant.is_empty() {
            let next = u32::try_from(self.places.len() + 1);
            let next = next.map_err(|_| Failure::Refused(E_OUTOFMEMORY, "too many ranges".to_owned()))?;
            self.places.push(Place::default());
            self.vacant.push(next);
        }
        Ok(())
    }

    /// Adds a range to a place that was reserved, and returns its handle.
    fn insert(&mut self, live: Live) -> u64 {
        let Some(number) = self.vacant.pop() else { return 0 };
        let place = &mut self.places[number as usize - 1];
        place.live = Some(live);
        u64::from(place.vacated) << 32 | u64::from(number)
    }

    fn place(&mut self, handle: u64) -> Option<(u32, &mut Place)> {
        let number = u32::try_from(handle & u64::from(u32::MAX)).ok()?;
        let place = self.places.get_mut((number as usize).checked_sub(1)?)?;
        (u64::from(place.vacated) == handle >> 32).then_some((number, place))
    }

    fn get(&mut self, handle: u64) -> Option<&mut Live> {
        self.place(handle)?.1.live.as_mut()
    }

    fn remove(&mut self, handle: u64) -> Option<Live> {
        let (number, place) = self.place(handle)?;
        let live = place.live.take()?;
        place.vacated = place.vacated.wrapping_add(1);
        self.vacant.push(number);
        Some(live)
    }

    fn clear(&mut self) {
        for (number, place) in (1..).zip(&mut self.places) {
            if place.live.take().is_some() {
                place.vacated = place.vacated.wrapping_add(1);
                self.vacant.push(number);
            }
        }
    }
}

/// Creates a block.
///
/// # Safety
///
/// As the exported function.
pub(crate) unsafe fn create(desc: *const BlockDesc) -> Fallible<Reference<VirtualBlock>> {
    // SAFETY: the caller's promises.
    let (desc, host) = unsafe {
        let desc = required(desc, "pDesc")?;
        (desc, HostMemory::of(desc.callbacks)?)
    };
    check_bits("VIRTUAL_BLOCK_DESC::Flags", desc.flags, LINEAR)?;
    let algorithm = match desc.flags {
        LINEAR => Linear::new(ByteSize::new(desc.size)).map(Algorithm::Linear),
        _ => Tlsf::new(ByteSize::new(desc.size)).map(|tlsf| Algorithm::Tlsf(Box::new(tlsf))),
    };
    let refused = |error| Failure::invalid_argument(format!("VIRTUAL_BLOCK_DESC::Size: {error}"));
    let (size, algorithm) = (desc.size, algorithm.map_err(refused)?);
    let ranges = Ranges { size, algorithm, live: LiveRanges::default() };
    host.create(VirtualBlock { host, ranges: Mutex::new(ranges) })
}

impl Algorithm {
    fn allocate(&mut self, desc: &AllocationDesc) -> Fallible<Suballocation> {
        check_bits("VIRTUAL_ALLOCATION_DESC::Flags", desc.flags, ALLOCATION_FLAGS)?;
        use SuballocError::{LargerThanCapacity, OutOfSpace, TooManyRanges};
        let aligned = alignment("VIRTUAL_ALLOCATION_DESC::Alignment", desc.alignment)?;
        let (size, is_upper) = (ByteSize::new(desc.size), desc.flags & UPPER_ADDRESS != 0);
        let made = match self {
            Self::Tlsf(_) if is_upper => {
                return Err(Failure::invalid_argument("UPPER_ADDRESS requires a linear block"));
            }
            Self::Tlsf(tlsf) => tlsf.allocate_with(size, aligned, strategy_of(desc.flags)),
            Self::Linear(linear) if is_upper => linear.allocate_upper(size, aligned),
            Self::Linear(linear) => linear.allocate(size, aligned),
        };
        made.map_err(|error| {
            let is_full =
                matches!(error, OutOfSpace { .. } | LargerThanCapacity { .. } | TooManyRanges { .. });
            Failure::Refused(if is_full { E_OUTOFMEMORY } else { E_INVALIDARG }, error.to_string())
        })
    }

    fn free(&mut self, id: SuballocationId) {
        // Its handle was live, so it is.
        let _ = match self {
            Self::Tlsf(tlsf) => tlsf.free(id),
            Self::Linear(linear) => linear.free(id),
        };
    }
}

impl Ranges {
    /// Returns what is in use, as in a heap.
    fn block(&self) -> Block {
        let used = |live: &Live| {
            let AllocationInfo { offset, size, private_data } = live.info;
            Used { offset, size, private_data, ..Default::default() }
        };
        let allocations = self.live.iter().map(used).collect();
        Block::new(self.size, D3D12_HEAP_TYPE_DEFAULT, SegmentGroup::Local, None, allocations)
    }

    fn statistics(&self) -> DetailedStatistics {
        Snapshot { blocks: vec![self.block()] }.sum(|_| true)
    }
}

hosted!(VirtualBlock, METHODS, |this| this.host, |_| None);

methods!(METHODS, VirtualBlock, "VirtualBlock":
    getter IsEmpty(this) -> i32 { i32::from(lock(&this.ranges).live.is_empty()) }
    getter GetAllocationInfo(this, handle: u64, out: *mut AllocationInfo) -> () {
        let none = AllocationInfo { offset: u64::MAX, size: 0, private_data: 0 };
        store(out, || lock(&this.ranges).live.get(handle).map_or(none, |live| live.info));
    }
    method Allocate(this, desc: *const AllocationDesc, handle_out: *mut u64, offset_out: *mut u64) -> HRESULT {
        let handle_out = handle_out.as_mut().ok_or_else(|| null("pAllocation"))?;
        let (mut unused, mut ranges) = (0, lock(&this.ranges));
        let offset_out = offset_out.as_mut().unwrap_or(&mut unused);
        (*handle_out, *offset_out) = (0, u64::MAX);
        let desc = required(desc, "pDesc")?;
        ranges.live.reserve()?;
        let made = ranges.algorithm.allocate(desc)?;
        *offset_out = made.range.start().get();
        let info = AllocationInfo { offset: *offset_out, size: desc.size, private_data: desc.private_data };
        *handle_out = ranges.live.insert(Live { id: made.id, info });
        Ok(S_OK)
    }
    getter FreeAllocation(this, handle: u64) -> () {
        let mut ranges = lock(&this.ranges);
        match ranges.live.remove(handle) {
            Some(live) => ranges.algorithm.free(live.id),
            None if handle == 0 => {}
            None => tracing::error!("VirtualBlock::FreeAllocation: {handle} is not live"),
        }
    }
    getter Clear(this) -> () {
        let mut ranges = lock(&this.ranges);
        ranges.live.clear();
        match &mut ranges.algorithm {
            Algorithm::Tlsf(tlsf) => tlsf.clear(),
            Algorithm::Linear(linear) => linear.clear(),
        }
    }
    getter SetAllocationPrivateData(this, handle: u64, data: usize) -> () {
        if let Some(live) = lock(&this.ranges).live.get(handle) {
            live.info.private_data = data;
        }
    }
    getter GetStatistics(this, out: *mut Statistics) -> () {
        store(out, || lock(&this.ranges).statistics().stats);
    }
    getter CalculateStatistics(this, out: *mut DetailedStatistics) -> () {
        store(out, || lock(&this.ranges).statistics());
    }
    getter BuildStatsString(this, out: *mut *mut WideChar) -> () {
        store(out, || this.host.string(&json::of_virtual_block(&lock(&this.ranges).block())));
    }
    getter FreeStatsString(this, string: *mut c_void) -> () { this.host.free(string) }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_is_not_that_of_the_next_range_in_its_place() {
        let mut tlsf = Tlsf::new(ByteSize::from_kib(1)).unwrap();
        let mut range = |offset| {
            let id = tlsf.allocate(ByteSize::new(1), heapwright::Alignment::ONE).unwrap().id;
            Live { id, info: AllocationInfo { offset, size: 1, private_data: 0 } }
        };
        let mut live = LiveRanges::default();
        let mut insert = |live: &mut LiveRanges, offset| {
            assert!(live.reserve().is_ok());
            live.insert(range(offset))
        };
        let first = insert(&mut live, 0);
        assert_eq!(live.remove(first).map(|live| live.info.offset), Some(0));
        let second = insert(&mut live, 1);
        assert_ne!(first, second);
        assert!(live.remove(first).is_none() && live.get(first).is_none());
        assert_eq!(live.get(second).map(|live| live.info.offset), Some(1));
        live.clear();
        let third = insert(&mut live, 2);
        assert!(live.get(second).is_none() && live.get(third).is_some());
        for handle in [0, u64::MAX, u64::from(u32::MAX), third + 1, third + (1 << 32)] {
            assert!(live.get(handle).is_none() && live.remove(handle).is_none(), "{handle:#x}");
        }
        assert!(live.remove(third).is_some() && live.is_empty());
    }
}
