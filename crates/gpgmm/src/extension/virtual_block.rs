//! IVirtualBlock.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright::ByteSize;
use heapwright::d3d12::*;
use heapwright::suballoc::{SuballocError, SuballocationId, Tlsf};
use windows_core::{GUID, HRESULT};

use super::interfaces::{IID_VIRTUAL_BLOCK, VirtualBlockMethods};
use super::structures::{VirtualAllocation, VirtualTotals, alignment};
use crate::call::{self, Failure};
use crate::interfaces::This;
use crate::object::{Body, Unknown, body};

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

static METHODS: VirtualBlockMethods = VirtualBlockMethods {
    unknown: Unknown::of::<VirtualBlock>(),
    allocate,
    free,
    get_allocation,
    clear,
    get_totals,
};

impl Body for VirtualBlock {
    type Methods = VirtualBlockMethods;

    fn methods() -> &'static VirtualBlockMethods {
        &METHODS
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
    call::hresult("IVirtualBlock::Allocate", || {
        let make = || {
            let aligned = alignment("alignment", aligned)?;
            // SAFETY: C++ calls the method of a live object.
            let mut ranges = unsafe { body::<VirtualBlock>(this) }.lock();
            let made = ranges.tlsf.allocate(ByteSize::new(size), aligned).map_err(refused)?;
            ranges.last_id += 1;
            let id = ranges.last_id;
            let allocation = VirtualAllocation { id, offset: made.range.start().get(), size, user_data };
            ranges.live.insert(id, (made.id, allocation));
            Ok(allocation)
        };
        // SAFETY: null or writable space.
        unsafe { call::write(out, "pAllocationOut", make) }
    })
}

unsafe extern "system" fn free(this: This, id: u64) -> HRESULT {
    call::hresult("IVirtualBlock::Free", || {
        // SAFETY: C++ calls the method of a live object.
        let mut ranges = unsafe { body::<VirtualBlock>(this) }.lock();
        let (range, _) = ranges.live.remove(&id).ok_or_else(|| unknown(id))?;
        ranges.tlsf.free(range).map_err(refused)?;
        Ok(S_OK)
    })
}

unsafe extern "system" fn get_allocation(this: This, id: u64, out: *mut VirtualAllocation) -> HRESULT {
    call::hresult("IVirtualBlock::GetAllocation", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        unsafe {
            call::write(out, "pAllocationOut", || {
                let ranges = body::<VirtualBlock>(this).lock();
                ranges.live.get(&id).map(|(_, allocation)| *allocation).ok_or_else(|| unknown(id))
            })
        }
    })
}

unsafe extern "system" fn clear(this: This) -> HRESULT {
    call::hresult("IVirtualBlock::Clear", || {
        // SAFETY: C++ calls the method of a live object.
        let mut ranges = unsafe { body::<VirtualBlock>(this) }.lock();
        ranges.live.clear();
        ranges.tlsf.clear();
        Ok(S_OK)
    })
}

unsafe extern "system" fn get_totals(this: This, out: *mut VirtualTotals) -> HRESULT {
    call::hresult("IVirtualBlock::GetTotals", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        unsafe {
            call::write(out, "pTotalsOut", || {
                let Ranges { tlsf, .. } = &*body::<VirtualBlock>(this).lock();
                Ok(VirtualTotals {
                    capacity: tlsf.capacity().get(),
                    used_size: tlsf.used().get(),
                    allocation_count: tlsf.allocation_count(),
                    largest_free_size: tlsf.largest_free_range().get(),
                })
            })
        }
    })
}
