//! IDefragmentation and IMove.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright::d3d12::*;
use heapwright::defragmentation::{Defragmentation, DefragmentationState, Move};
use heapwright::{ClearValue, InitialState};
use windows_core::{GUID, HRESULT, Interface};

use super::interfaces::{DefragmentationMethods, IID_DEFRAGMENTATION, IID_MOVE, MoveMethods};
use super::structures::{Budget, Progress};
use crate::allocation::Allocation;
use crate::call::{self, Failure, Out};
use crate::interfaces::This;
use crate::object::{Body, Reference, Unknown, body, recognize};
use crate::residency_heap::Heap;

/// The body of an IDefragmentation.
pub(super) struct Run(pub(super) Mutex<Defragmentation>);

impl Run {
    fn lock(&self) -> MutexGuard<'_, Defragmentation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static RUN_METHODS: DefragmentationMethods =
    DefragmentationMethods { unknown: Unknown::of::<Run>(), step, get_progress };

impl Body for Run {
    type Methods = DefragmentationMethods;

    fn methods() -> &'static DefragmentationMethods {
        &RUN_METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_DEFRAGMENTATION];
}

unsafe extern "system" fn step(
    this: This,
    budget: *const Budget,
    max_move_count: u32,
    moves_out: *mut *mut c_void,
    count_out: *mut u32,
    state_out: *mut u32,
) -> HRESULT {
    call::hresult("IDefragmentation::Step", || {
        // SAFETY: C++ calls the method of a live object, with null or a budget, and null or writable space.
        let (run, budget, count_out, state_out) =
            unsafe { (body::<Run>(this), budget.as_ref(), count_out.as_mut(), state_out.as_mut()) };
        let count_out = count_out.ok_or_else(|| Failure::null("pMoveCountOut"))?;
        *count_out = 0;
        let state_out = state_out.ok_or_else(|| Failure::null("pStateOut"))?;
        *state_out = 0;
        if moves_out.is_null() {
            return Err(Failure::null("ppMovesOut"));
        }
        if max_move_count == 0 {
            return Err(Failure::invalid_argument("maxMoveCount is 0; at least 1 is required"));
        }
        let step = run.lock().step(Budget::convert(budget, max_move_count));
        *state_out = match step.state {
            DefragmentationState::AwaitingMoves => 1,
            DefragmentationState::Finished => 2,
            _ => 0,
        };
        for (index, planned) in step.moves.into_iter().enumerate() {
            let object = Reference::new(PlannedMove(Mutex::new(Some(planned))));
            // SAFETY: space for `max_move_count` pointers, and the budget has as many moves.
            unsafe { moves_out.add(index).write(object.into_raw()) };
            *count_out += 1;
        }
        Ok(S_OK)
    })
}

unsafe extern "system" fn get_progress(this: This, out: *mut Progress) -> HRESULT {
    call::hresult("IDefragmentation::GetProgress", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        unsafe { call::write(out, "pProgressOut", || Ok(body::<Run>(this).lock().progress().into())) }
    })
}

/// The body of an IMove. `None` after completion.
struct PlannedMove(Mutex<Option<Move>>);

impl PlannedMove {
    fn lock(&self) -> MutexGuard<'_, Option<Move>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static MOVE_METHODS: MoveMethods = MoveMethods {
    unknown: Unknown::of::<PlannedMove>(),
    get_user_data,
    get_size,
    get_destination,
    get_destination_memory,
    create_resource,
    complete,
};

impl Body for PlannedMove {
    type Methods = MoveMethods;

    fn methods() -> &'static MoveMethods {
        &MOVE_METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_MOVE];
}

fn completed() -> Failure {
    Failure::Refused(E_FAIL, "the move was completed".into())
}

/// Returns the allocation of a parameter.
///
/// # Safety
///
/// The pointer is null or points to a COM object that is alive for `'a`.
pub(super) unsafe fn allocation_of<'a>(allocation: *const c_void) -> Result<&'a Allocation, Failure> {
    if allocation.is_null() {
        return Err(Failure::null("pAllocation"));
    }
    // SAFETY: the caller's promise.
    unsafe { recognize::<Allocation>(allocation) }
        .ok_or_else(|| Failure::invalid_argument("pAllocation is of another library"))
}

unsafe extern "system" fn get_user_data(this: This) -> u64 {
    call::value("IMove::GetUserData", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { body::<PlannedMove>(this) }.lock().as_ref().map_or(0, Move::user_data)
    })
}

unsafe extern "system" fn get_size(this: This) -> u64 {
    call::value("IMove::GetSize", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { body::<PlannedMove>(this) }.lock().as_ref().map_or(0, |planned| planned.size().get())
    })
}

unsafe extern "system" fn get_destination(
    this: This,
    heap_out: *mut *mut c_void,
    offset_out: *mut u64,
) -> HRESULT {
    call::hresult("IMove::GetDestination", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        let (this, heap_out, offset_out) = unsafe {
            (body::<PlannedMove>(this), Out::required(heap_out, "ppHeapOut")?, offset_out.as_mut())
        };
        let offset_out = offset_out.ok_or_else(|| Failure::null("pOffsetOut"))?;
        let planned = this.lock();
        let (heap, offset) = planned.as_ref().and_then(Move::destination).ok_or_else(completed)?;
        *offset_out = offset.get();
        heap_out.set(heap.clone().into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn get_destination_memory(this: This, out: *mut *mut c_void) -> HRESULT {
    call::hresult("IMove::GetDestinationMemory", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        let (this, out) = unsafe { (body::<PlannedMove>(this), Out::required(out, "ppMemoryOut")?) };
        let memory = this.lock().as_ref().ok_or_else(completed)?.destination_memory_reference();
        let Some(memory) = memory else { return Ok(S_FALSE) };
        out.set(Heap::of_memory(memory).into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn create_resource(
    this: This,
    allocation: *mut c_void,
    initial_state: D3D12_RESOURCE_STATES,
    clear_value: *const D3D12_CLEAR_VALUE,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("IMove::CreateResource", || {
        // SAFETY: C++ calls the method of a live object, with null or live objects, null or a clear value, and null or writable
        // space for a pointer.
        let (this, out, allocation, clear_value) = unsafe {
            (
                body::<PlannedMove>(this),
                Out::required(out, "ppResourceOut")?,
                allocation_of(allocation)?,
                clear_value.as_ref().map(|value| ClearValue::from_d3d12(value)),
            )
        };
        let mut planned = this.lock();
        let planned = planned.as_mut().ok_or_else(completed)?;
        let state = InitialState::State(initial_state);
        let resource = planned.create_resource(&allocation.read(), state, clear_value)?;
        out.set(resource.clone().into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn complete(this: This, allocation: *mut c_void) -> HRESULT {
    call::hresult("IMove::Complete", || {
        // SAFETY: C++ calls the method of a live object, with null or another one.
        let (this, allocation) = unsafe { (body::<PlannedMove>(this), allocation_of(allocation)?) };
        let mut planned = this.lock();
        allocation.complete(&mut planned)?;
        Ok(S_OK)
    })
}
