//! Submits command lists to queues, with the memory that they use resident.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_core::FenceValue;
use heapwright_core::residency::{ManagedHeapId, PlanRequest, Submission};
use heapwright_d3d12::*;
use windows_core::Interface as _;

use super::list::ResidencyList;
use super::pager::{PagedIn, Pager};
use super::queue::{ManagedQueue, QueueGuard, SubmittedHeaps, destroyed};
use crate::Error;

/// Command lists, each with the list of the heaps that it uses.
type Lists<'a> = &'a [(&'a ID3D12CommandList, &'a ResidencyList)];

/// Executes command lists once their heaps are resident, and returns the value that the queue signals after them.
///
/// # Safety
///
/// See [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
#[inline]
pub(super) unsafe fn execute(
    pager: &Pager,
    queue: &ID3D12CommandQueue,
    lists: Lists<'_>,
) -> Result<FenceValue, Error> {
    let queue = pager.queue(queue)?;
    let mut guard = queue.lock();
    if lists.is_empty() {
        return Ok(guard.last);
    }
    pager.count_submission();
    let (value, is_over_budget) = match touch_resident(pager, &queue, &mut guard, lists)? {
        Some(Resident { submission, arrives, has_changed, is_over_budget }) => {
            // SAFETY: the caller's promises; the heaps in the residency lists are resident, or will be when `arrives`
            // is reached.
            let handed_over = unsafe { hand_over(pager, &queue, guard, &submission, arrives, lists) };
            // A failure does not undo the change, which is reported once.
            if has_changed {
                pager.usage_changed();
            }
            handed_over?;
            (submission.value, is_over_budget)
        }
        None => {
            // The lock is released while a thread waits for the GPU.
            let mut heaps = std::mem::take(&mut guard.heaps);
            drop(guard);
            // SAFETY: the caller's promises; nothing was executed above.
            let executed = unsafe { execute_paged(pager, &queue, &mut heaps, lists) };
            queue.lock().heaps = heaps;
            let value = executed?;
            let is_over_budget = pager.books.is_over_budget();
            pager.usage_changed();
            (value, is_over_budget)
        }
    };
    pager.after_submission(is_over_budget);
    Ok(value)
}

/// A submission whose heaps are all resident or being made resident.
struct Resident {
    submission: Submission,
    /// The paging fence value to wait for; zero if there is nothing to wait for.
    arrives: FenceValue,
    /// Whether usage or a budget has changed.
    has_changed: bool,
    is_over_budget: bool,
}

/// Records the use of the heaps of the queue's next submission, if all are resident. Otherwise nothing changes, and the
/// queue has a copy of the heaps. Each residency list is locked once, so that concurrent changes do not matter.
#[inline]
fn touch_resident(
    pager: &Pager,
    queue: &ManagedQueue,
    guard: &mut QueueGuard<'_>,
    lists: Lists<'_>,
) -> Result<Option<Resident>, Error> {
    let value = guard.next_value()?;
    let completed = guard.is_reading_due().then(|| queue.completed());
    if completed == Some(FenceValue::DEVICE_REMOVED) {
        return Err(pager.device.removed());
    }
    let heaps = &mut guard.heaps;
    let mut state = pager.books.lock_updated();
    let planner = &mut state.planner;
    if let Some(completed) = completed {
        planner.complete(queue.slot, completed);
    }
    if planner.awaits_paging() {
        planner.complete_paging(pager.paged()?);
    }
    // If no heap is evicted at all, one pass suffices and no copy is needed.
    let has_missing = planner.has_missing();
    if has_missing {
        heaps.clear();
        each_list(pager.number, lists, |_, list| {
            heaps.push_list(list);
            Ok(())
        })?;
        if !planner.are_resident(&heaps.heaps).map_err(|gone| heaps.heap_is_gone(gone))? {
            return Ok(None);
        }
    }
    let submission = planner.begin(queue.slot, value);
    let touched = if has_missing {
        planner.touch(&submission, &heaps.heaps).map_err(|gone| heaps.heap_is_gone(gone))
    } else {
        let mut arrives = FenceValue::ZERO;
        let touched = each_list(pager.number, lists, |number, list| {
            let touched = planner.touch(&submission, list);
            arrives = arrives.max(touched.map_err(|gone| destroyed(number, gone.position))?);
            Ok(())
        });
        touched.map(|()| arrives)
    };
    match touched {
        Ok(arrives) => {
            let has_changed = state.has_changed(&pager.books.budgets);
            let is_over_budget = state.is_over_budget();
            Ok(Some(Resident { submission, arrives, has_changed, is_over_budget }))
        }
        Err(error) => {
            planner.cancel(&submission);
            Err(error)
        }
    }
}

/// Calls `read` with the number and the heaps of each list, until it fails.
#[inline]
fn each_list(
    manager: u64,
    lists: Lists<'_>,
    mut read: impl FnMut(usize, &[ManagedHeapId]) -> Result<(), Error>,
) -> Result<(), Error> {
    lists.iter().enumerate().try_for_each(|(number, (_, list))| {
        list.read(manager, |heaps| read(number, heaps)).map_err(|error| error.in_list(number))?
    })
}

/// Makes missing heaps resident, and executes as many lists at a time as fit into memory together.
///
/// # Safety
///
/// See [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
#[cold]
#[inline]
unsafe fn execute_paged(
    pager: &Pager,
    queue: &ManagedQueue,
    heaps: &mut SubmittedHeaps,
    lists: Lists<'_>,
) -> Result<FenceValue, Error> {
    loop {
        let executed = heaps.executed;
        let paged_in = pager.page_submission(queue, heaps).map_err(|error| error.after_lists(executed))?;
        let PagedIn { arrives, lists: count, guard, submission } = paged_in;
        // SAFETY: the caller's promises; the heaps in these residency lists are resident, or will be when `arrives` is
        // reached.
        unsafe { hand_over(pager, queue, guard, &submission, arrives, &lists[executed..][..count]) }
            .map_err(|error| error.after_lists(executed))?;
        heaps.remove_executed(count);
        if heaps.executed >= lists.len() {
            return Ok(submission.value);
        }
    }
}

/// Submits lists to a queue: it waits for `arrives`, executes them, and signals the submission's value.
///
/// # Safety
///
/// See [`execute_command_lists`](super::ResidencyManager::execute_command_lists). The heaps in the residency lists of
/// these command lists are resident when the paging fence has reached `arrives`.
#[inline]
unsafe fn hand_over(
    pager: &Pager,
    queue: &ManagedQueue,
    mut guard: QueueGuard<'_>,
    submission: &Submission,
    arrives: FenceValue,
    lists: Lists<'_>,
) -> Result<(), Error> {
    let d3d12 = &queue.queue;
    if arrives > FenceValue::ZERO {
        // SAFETY: live COM objects.
        let hresult = unsafe { d3d12.Wait(&pager.paging_fence, arrives.get()) };
        if hresult.is_err() {
            // A submission that is never executed uses nothing.
            pager.books.lock().planner.cancel(submission);
            return Err(Error::device("ID3D12CommandQueue::Wait", hresult));
        }
    }
    let value = submission.value;
    // From here on the value is used: the books expect the queue to reach it.
    guard.last = value;
    // SAFETY: the caller's promises.
    unsafe { execute_together(d3d12, lists) };
    // SAFETY: live COM objects; values only go up.
    let hresult = unsafe { d3d12.Signal(&queue.fence, value.get()) };
    if hresult.is_err() {
        // The heaps count as used until the queue signals a later value.
        return Err(Error::device("ID3D12CommandQueue::Signal, after executing the command lists,", hresult));
    }
    Ok(())
}

/// Makes the heaps of a list resident, without a submission, if that is possible without waiting and within the budget.
/// If there is no room for them yet, does nothing.
#[inline]
pub(super) fn prefetch(pager: &Pager, list: &ResidencyList) -> Result<(), Error> {
    let heaps = list.read(pager.number, <[_]>::to_vec)?;
    let list_ends = [heaps.len()];
    let request = PlanRequest { may_exceed: false, ..pager.request(&heaps, &list_ends) };
    let paged = pager.page_if_possible(request);
    paged.or_else(
        |error| if error.is_over_budget() && pager.books.may_hold(&heaps) { Ok(()) } else { Err(error) },
    )
}

/// Submits the command lists to a queue in one call.
///
/// # Safety
///
/// See [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
#[inline]
unsafe fn execute_together(queue: &ID3D12CommandQueue, lists: Lists<'_>) {
    /// The number of lists up to which nothing is allocated. More are rare.
    const FEW: usize = 16;
    let raw = |&(list, _): &(&ID3D12CommandList, &ResidencyList)| list.as_raw();
    let (mut few, many);
    let pointers: &[*mut c_void] = if lists.len() <= FEW {
        few = [null_mut(); FEW];
        few.iter_mut().zip(lists).for_each(|(pointer, list)| *pointer = raw(list));
        &few[..lists.len()]
    } else {
        many = lists.iter().map(raw).collect::<Vec<_>>();
        &many
    };
    // More lists do not fit into memory.
    let count = u32::try_from(pointers.len()).unwrap_or(u32::MAX);
    // SAFETY: the count is the number of pointers to live COM objects; for what the lists use, the caller's promises.
    unsafe { (queue.vtable().ExecuteCommandLists)(queue.as_raw(), count, pointers.as_ptr()) };
}
