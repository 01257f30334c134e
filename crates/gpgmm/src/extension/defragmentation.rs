//! IDefragmentation and IMove.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{
    Defragmentation, DefragmentationBudget, DefragmentationDesc, DefragmentationState, Move,
};
use heapwright::{ClearValue, Error, InitialState, Pool, ResourceAllocator};
use windows_core::{GUID, HRESULT, Interface};

use crate::allocation::Allocation;
use crate::call::{self, Failure};
use crate::descriptors::size;
use crate::object::{Body, Methods, Out, Reference, This, getter, method, parameter};
use crate::residency_heap::Heap;

/// `DEFRAGMENTATION_BUDGET`.
#[repr(C)]
struct Budget {
    bytes: u64,
    microseconds: u32,
}

impl Budget {
    /// Returns the budget of a step that makes at most `moves` moves.
    fn convert(budget: Option<&Self>, moves: u32) -> DefragmentationBudget {
        let defaults = DefragmentationBudget { moves, ..Default::default() };
        let Some(budget) = budget else { return defaults };
        let time = Duration::from_micros(budget.microseconds.into());
        DefragmentationBudget {
            moves,
            bytes: size(budget.bytes).unwrap_or(defaults.bytes),
            time: if time.is_zero() { defaults.time } else { time },
        }
    }
}

/// `DEFRAGMENTATION_PROGRESS`.
#[repr(C)]
struct Progress {
    move_count: u64,
    bytes_moved: u64,
    heaps_released: u64,
    bytes_released: u64,
    bytes_created: u64,
}

/// The body of an IDefragmentation.
pub(super) struct Run(Mutex<Defragmentation>);

impl Run {
    /// Begins a defragmentation of a pool, or of the allocator's own heaps.
    pub(super) fn new(allocator: &ResourceAllocator, pool: Option<&Pool>) -> Result<Self, Error> {
        Ok(Self(Mutex::new(allocator.defragment(DefragmentationDesc { pool })?)))
    }

    fn lock(&self) -> MutexGuard<'_, Defragmentation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static RUN_METHODS: Methods<2> = Methods::of::<Run>([step as *const (), get_progress as *const ()]);

const IID_DEFRAGMENTATION: GUID = GUID::from_u128(0x5f90d3b6_8a21_4c73_a4e8_91d0c6b7e303);

impl Body for Run {
    fn methods() -> *const c_void {
        RUN_METHODS.as_table()
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
    // SAFETY: C++ calls the method of a live object, with null or a budget, and null or writable space: that of the moves for
    // `max_move_count` pointers.
    unsafe {
        method(this, "IDefragmentation::Step", |run: &Run| {
            let count_out = count_out.as_mut().ok_or_else(|| Failure::null("pMoveCountOut"))?;
            *count_out = 0;
            let state_out = state_out.as_mut().ok_or_else(|| Failure::null("pStateOut"))?;
            *state_out = 0;
            if moves_out.is_null() {
                return Err(Failure::null("ppMovesOut"));
            }
            if max_move_count == 0 {
                return Err(Failure::invalid_argument("maxMoveCount is 0; at least 1 is required"));
            }
            let step = run.lock().step(Budget::convert(budget.as_ref(), max_move_count));
            *state_out = match step.state {
                DefragmentationState::AwaitingMoves => 1,
                DefragmentationState::Finished => 2,
                _ => 0,
            };
            for (index, planned) in step.moves.into_iter().enumerate() {
                let object = Reference::new(PlannedMove(Mutex::new(Some(planned))));
                moves_out.add(index).write(object.into_raw());
                *count_out += 1;
            }
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn get_progress(this: This, out: *mut Progress) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IDefragmentation::GetProgress", |run: &Run| {
            let progress = run.lock().progress();
            let converted = Progress {
                move_count: progress.moves,
                bytes_moved: progress.bytes_moved.get(),
                heaps_released: progress.heaps_freed,
                bytes_released: progress.bytes_freed.get(),
                bytes_created: progress.bytes_created.get(),
            };
            call::write(out, "pProgressOut", || Ok(converted))
        })
    }
}

/// The body of an IMove. `None` after completion.
struct PlannedMove(Mutex<Option<Move>>);

impl PlannedMove {
    fn lock(&self) -> MutexGuard<'_, Option<Move>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static MOVE_METHODS: Methods<6> = Methods::of::<PlannedMove>([
    get_user_data as *const (),
    get_size as *const (),
    get_destination as *const (),
    get_destination_memory as *const (),
    create_resource as *const (),
    complete as *const (),
]);

const IID_MOVE: GUID = GUID::from_u128(0x3de41f8a_15c7_4b9e_8b60_7e6f0a94c202);

impl Body for PlannedMove {
    fn methods() -> *const c_void {
        MOVE_METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_MOVE];
}

fn completed() -> Failure {
    Failure::Refused(E_FAIL, "the move was completed".into())
}

unsafe extern "system" fn get_user_data(this: This) -> u64 {
    let user_data = |this: &PlannedMove| this.lock().as_ref().map_or(0, Move::user_data);
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IMove::GetUserData", user_data) }
}

unsafe extern "system" fn get_size(this: This) -> u64 {
    let size = |this: &PlannedMove| this.lock().as_ref().map_or(0, |planned| planned.size().get());
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IMove::GetSize", size) }
}

unsafe extern "system" fn get_destination(
    this: This,
    heap_out: *mut *mut c_void,
    offset_out: *mut u64,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IMove::GetDestination", |this: &PlannedMove| {
            let heap_out = Out::required(heap_out, "ppHeapOut")?;
            let planned = this.lock();
            call::write(offset_out, "pOffsetOut", || {
                let (heap, offset) = planned.as_ref().and_then(Move::destination).ok_or_else(completed)?;
                heap_out.set(heap.clone().into_raw());
                Ok(offset.get())
            })
        })
    }
}

unsafe extern "system" fn get_destination_memory(this: This, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IMove::GetDestinationMemory", |this: &PlannedMove| {
            let out = Out::required(out, "ppMemoryOut")?;
            let memory = this.lock().as_ref().ok_or_else(completed)?.destination_memory_reference();
            Ok(memory.map_or(S_FALSE, |memory| out.give(Heap::of_memory(memory))))
        })
    }
}

unsafe extern "system" fn create_resource(
    this: This,
    allocation: *mut c_void,
    initial_state: D3D12_RESOURCE_STATES,
    clear_value: *const D3D12_CLEAR_VALUE,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or live objects, null or a clear value, and null or writable
    // space for a pointer.
    unsafe {
        method(this, "IMove::CreateResource", |this: &PlannedMove| {
            let out = Out::required(out, "ppResourceOut")?;
            let allocation: &Allocation = parameter(allocation, "pAllocation")?;
            let clear_value = clear_value.as_ref().map(|value| ClearValue::from_d3d12(value));
            let mut planned = this.lock();
            let planned = planned.as_mut().ok_or_else(completed)?;
            let state = InitialState::State(initial_state);
            let resource = planned.create_resource(&allocation.read(), state, clear_value, &[])?;
            out.set(resource.clone().into_raw());
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn complete(this: This, allocation: *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or another one.
    unsafe {
        method(this, "IMove::Complete", |this: &PlannedMove| {
            parameter::<Allocation>(allocation, "pAllocation")?.complete(&mut this.lock())?;
            Ok(S_OK)
        })
    }
}
