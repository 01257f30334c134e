//! IVirtualBlock.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright::ByteSize;
use heapwright::d3d12::*;
use heapwright::suballoc::{SuballocError, SuballocationId, Tlsf};
use windows_core::{GUID, HRESULT};

use crate::call::{self, Failure};
use crate::descriptors::alignment;
use crate::object::{Body, Methods, This, method};

/// `VIRTUAL_ALLOCATION`.
#[repr(C)]
#[derive(Clone, Copy)]
struct VirtualAllocation {
    id: u64,
    offset: u64,
    size: u64,
    user_data: u64,
}

/// `VIRTUAL_BLOCK_TOTALS`.
#[repr(C)]
struct VirtualTotals {
    capacity: u64,
    used_size: u64,
    allocation_count: u64,
    largest_free_size: u64,
}

/// The body of an IVirtualBlock.
pub(crate) struct VirtualBlock(Mutex<Ranges>);

struct Ranges {
    tlsf: Tlsf,
    /// The ranges in use, by the id that C++ has.
    live: HashMap<u64, (SuballocationId, VirtualAllocation)>,
    last_id: u64,
}

impl VirtualBlock {
    /// Creates a block whose ranges are all free.
    pub(crate) fn new(capacity: u64) -> Result<Self, Failure> {
        let tlsf = Tlsf::new(ByteSize::new(capacity)).map_err(refused)?;
        Ok(Self(Mutex::new(Ranges { tlsf, live: HashMap::new(), last_id: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, Ranges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(error: SuballocError) -> Failure {
    let hresult = match error {
        SuballocError::OutOfSpace { .. }
        | SuballocError::LargerThanCapacity { .. }
        | SuballocError::TooManyRanges { .. } => E_OUTOFMEMORY,
        _ => E_INVALIDARG,
    };
    Failure::Refused(hresult, error.to_string())
}

fn unknown(id: u64) -> Failure {
    Failure::invalid_argument(format!("id: {id} is not in use"))
}

static METHODS: Methods<5> = Methods::of::<VirtualBlock>([
    allocate as *const (),
    free as *const (),
    get_allocation as *const (),
    clear as *const (),
    get_totals as *const (),
]);

const IID_VIRTUAL_BLOCK: GUID = GUID::from_u128(0xb8a40f19_71ce_4562_85d3_06f92ce8a606);

impl Body for VirtualBlock {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_VIRTUAL_BLOCK];
}

unsafe extern "system" fn allocate(
    this: This,
    size: u64,
    aligned: u64,
    user_data: u64,
    out: *mut VirtualAllocation,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IVirtualBlock::Allocate", |block: &VirtualBlock| {
            call::write(out, "pAllocationOut", || {
                let aligned = alignment("alignment", aligned)?;
                let mut ranges = block.lock();
                let made = ranges.tlsf.allocate(ByteSize::new(size), aligned).map_err(refused)?;
                ranges.last_id += 1;
                let id = ranges.last_id;
                let allocation = VirtualAllocation { id, offset: made.range.start().get(), size, user_data };
                ranges.live.insert(id, (made.id, allocation));
                Ok(allocation)
            })
        })
    }
}

unsafe extern "system" fn free(this: This, id: u64) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "IVirtualBlock::Free", |block: &VirtualBlock| {
            let mut ranges = block.lock();
            let (range, _) = ranges.live.remove(&id).ok_or_else(|| unknown(id))?;
            ranges.tlsf.free(range).map_err(refused)?;
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn get_allocation(this: This, id: u64, out: *mut VirtualAllocation) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IVirtualBlock::GetAllocation", |block: &VirtualBlock| {
            call::write(out, "pAllocationOut", || {
                let ranges = block.lock();
                ranges.live.get(&id).map(|(_, allocation)| *allocation).ok_or_else(|| unknown(id))
            })
        })
    }
}

unsafe extern "system" fn clear(this: This) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "IVirtualBlock::Clear", |block: &VirtualBlock| {
            let mut ranges = block.lock();
            ranges.live.clear();
            ranges.tlsf.clear();
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn get_totals(this: This, out: *mut VirtualTotals) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IVirtualBlock::GetTotals", |block: &VirtualBlock| {
            let Ranges { tlsf, .. } = &*block.lock();
            let totals = VirtualTotals {
                capacity: tlsf.capacity().get(),
                used_size: tlsf.used().get(),
                allocation_count: tlsf.allocation_count(),
                largest_free_size: tlsf.largest_free_range().get(),
            };
            call::write(out, "pTotalsOut", || Ok(totals))
        })
    }
}
