//! DefragmentationContext.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{
    Defragmentation, DefragmentationBudget, DefragmentationDesc, DefragmentationState, Move,
};
use heapwright::{AllocationId, ByteSize, Pool};
use windows_core::HRESULT;

use super::allocation::{Allocation, Contents, Memory, OwnResource, lock};
use super::descriptors::{check_bits, null, receiving, required, store};
use super::host_memory::{HostMemory, hosted};
use super::state::{Place, State};
use super::statistics::count;
use crate::failure::{Failure, Fallible};
use crate::object::{Reference, methods};

/// `DEFRAGMENTATION_DESC`.
#[repr(C)]
pub(super) struct Description {
    flags: u32,
    max_bytes: u64,
    max_allocations: u32,
}

/// `DEFRAGMENTATION_MOVE`.
#[repr(C)]
struct MoveEntry {
    operation: u32,
    source: *mut c_void,
    target: *mut c_void,
}

/// `DEFRAGMENTATION_PASS_MOVE_INFO`.
#[repr(C)]
struct PassInfo {
    count: u32,
    moves: *mut MoveEntry,
}

/// `DEFRAGMENTATION_STATS`.
#[repr(C)]
struct Progress {
    bytes_moved: u64,
    bytes_freed: u64,
    allocations_moved: u32,
    heaps_freed: u32,
}

const ALGORITHMS: u32 = 7;
// `DEFRAGMENTATION_MOVE_OPERATION`.
const COPY: u32 = 0;
const DESTROY: u32 = 2;

/// The body of a DefragmentationContext.
struct Context {
    state: Arc<State>,
    budget: DefragmentationBudget,
    run: Mutex<Run>,
}

struct Run {
    defragmentation: Defragmentation,
    /// Those of the pass.
    moves: Vec<Planned>,
    /// The array that the program has, in the same order.
    entries: Vec<MoveEntry>,
    moved: (u32, u64),
}

// SAFETY: the pointers of the entries are only compared and passed on.
unsafe impl Send for Run {}

struct Planned {
    planned: Arc<Mutex<Option<Move>>>,
    source: Place,
    id: AllocationId,
    target: Reference<Allocation>,
}

/// Begins a defragmentation of a pool, or of the default ones.
///
/// # Safety
///
/// The pointers are null or valid.
pub(super) unsafe fn begin(
    state: &Arc<State>,
    pool: Option<&Pool>,
    desc: *const Description,
    out: *mut *mut c_void,
) -> Fallible<HRESULT> {
    // SAFETY: the caller's promise.
    let (out, desc) = unsafe { (receiving(out, "ppContext")?, required(desc, "pDesc")?) };
    check_bits("DEFRAGMENTATION_DESC::Flags", desc.flags, ALGORITHMS)?;
    let defragmentation = state.allocator.defragment(DefragmentationDesc { pool }).map_err(|error| {
        let result = if error.is_unsupported() { E_NOINTERFACE } else { error.hresult() };
        Failure::Refused(result, error.to_string())
    })?;
    let budget = DefragmentationBudget {
        moves: if desc.max_allocations == 0 { u32::MAX } else { desc.max_allocations },
        bytes: if desc.max_bytes == 0 { ByteSize::MAX } else { ByteSize::new(desc.max_bytes) },
        // A pass has as many moves as it may, however long planning them takes.
        time: Duration::MAX,
    };
    let run = Run { defragmentation, moves: Vec::new(), entries: Vec::new(), moved: (0, 0) };
    let context = Context { state: Arc::clone(state), budget, run: Mutex::new(run) };
    out.set(state.host.create(context)?.into_raw());
    Ok(S_OK)
}

impl Context {
    /// Plans the moves of a pass. Those of a pass that was not ended are abandoned.
    fn plan(&self, run: &mut Run) -> Fallible<()> {
        (run.moves, run.entries) = Default::default();
        loop {
            let step = run.defragmentation.step(self.budget);
            let mut live = HashMap::new();
            if !step.moves.is_empty() {
                self.state.visit(|place, allocation| {
                    live.extend(allocation.with(|it| it.id()).map(|id| (id, place)))
                });
            }
            for planned in step.moves {
                let id = planned.allocation();
                // Dropped, it is given up: another API's allocation, or one that was released meanwhile.
                let Some(&source) = live.get(&id) else { continue };
                let planned = Arc::new(Mutex::new(Some(planned)));
                let memory = Memory::Target(Arc::clone(&planned));
                let contents = || Contents::new(memory, OwnResource::Set(None), None);
                let target = self.state.enter(0, contents)?;
                let (of_source, of_target) = (source.1.as_ptr().cast(), target.as_raw());
                run.entries.push(MoveEntry { operation: COPY, source: of_source, target: of_target });
                run.moves.push(Planned { planned, source, id, target });
            }
            // A step whose moves were all given up is followed by another.
            if !run.moves.is_empty() || step.state != DefragmentationState::Planning {
                return Ok(());
            }
        }
    }

    /// Ends a pass. Returns whether another one may follow.
    fn end(&self, run: &mut Run) -> bool {
        let before = run.moved;
        let (moves, entries) = (std::mem::take(&mut run.moves), std::mem::take(&mut run.entries));
        let mut has_destroyed = false;
        for (Planned { planned, source, id, target }, entry) in moves.into_iter().zip(entries) {
            let Some(planned) = lock(&planned).take() else { continue };
            // The place may have another allocation, if the program released this one.
            let is_it = |allocation: &Reference<Allocation>| allocation.body().with(|it| it.id()) == Some(id);
            let Some(allocation) = self.state.reference_to(source).filter(is_it) else { continue };
            if entry.operation == COPY {
                let size = planned.size().get();
                let replace = |contents: &mut Contents, new| std::mem::replace(&mut contents.resource, new);
                let new = target.body().with(|contents| replace(contents, OwnResource::Set(None)));
                let complete =
                    |contents: &mut Contents| contents.complete(planned).map(|()| replace(contents, new));
                // What it had is dropped without the lock.
                if allocation.body().with(complete).is_ok() {
                    run.moved = (run.moved.0 + 1, run.moved.1 + size);
                }
            } else if entry.operation == DESTROY {
                drop(planned);
                has_destroyed = true;
                // SAFETY: the program gives up one of its references.
                drop(unsafe { Reference::<Allocation>::from_raw(allocation.as_raw()) });
            }
        }
        has_destroyed || run.moved != before
    }
}

hosted!(Context, METHODS, |this| this.state.host, |_| None);

methods!(METHODS, Context, "DefragmentationContext":
    method BeginPass(this, out: *mut PassInfo) -> HRESULT {
        let (out, mut run) = (out.as_mut().ok_or_else(|| null("pPassInfo"))?, lock(&this.run));
        *out = PassInfo { count: 0, moves: std::ptr::null_mut() };
        if let Err(failure) = this.plan(&mut run) {
            // The program does not learn of the moves that were planned.
            (run.moves, run.entries) = Default::default();
            return Err(failure);
        }
        if run.entries.is_empty() {
            return Ok(S_OK);
        }
        *out = PassInfo { count: count(run.entries.len() as u64), moves: run.entries.as_mut_ptr() };
        Ok(S_FALSE)
    }
    method EndPass(this, info: *mut PassInfo) -> HRESULT {
        let (info, mut run) = (info.as_mut().ok_or_else(|| null("pPassInfo"))?, lock(&this.run));
        let is_same = info.moves == run.entries.as_mut_ptr() && info.count as usize == run.entries.len();
        if !is_same && info.count != 0 {
            return Err(Failure::invalid_argument("pPassInfo is not what BeginPass returned"));
        }
        *info = PassInfo { count: 0, moves: std::ptr::null_mut() };
        Ok(if this.end(&mut run) { S_FALSE } else { S_OK })
    }
    getter GetStats(this, out: *mut Progress) -> () {
        let run = lock(&this.run);
        let (progress, (allocations_moved, bytes_moved)) = (run.defragmentation.progress(), run.moved);
        let (bytes_freed, heaps_freed) = (progress.bytes_freed.get(), count(progress.heaps_freed));
        store(out, || Progress { bytes_moved, bytes_freed, allocations_moved, heaps_freed });
    }
);
