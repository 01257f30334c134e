//! Handing command lists to queues, with what they use resident.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_core::residency::Submission;
use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::Interface as _;

use super::ResidencyList;
use super::list::Entries;
use super::pager::{Ask, Pager, QueueGuard, destroyed};
use super::queue::ManagedQueue;
use super::shared::Shared;
use crate::Error;

/// What came of a submission with everything resident.
struct Executed {
    value: FenceValue,
    /// Usage of the segment groups, if it or a budget has changed.
    news: Option<[ByteSize; 2]>,
}

/// Command lists, each with what it uses.
type Lists<'a> = &'a [(&'a ID3D12CommandList, &'a ResidencyList)];

impl Shared {
    /// Executes command lists once what they use is resident.
    ///
    /// # Safety
    ///
    /// As [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
    pub(super) unsafe fn execute(
        &self,
        queue: &ID3D12CommandQueue,
        lists: Lists<'_>,
    ) -> Result<FenceValue, Error> {
        self.check_failure()?;
        let queue = self.queue(queue)?;
        if lists.is_empty() {
            return Ok(*queue.lock());
        }
        self.count_submission();
        // SAFETY: the caller's promises.
        let executed = unsafe { self.execute_resident(&queue, lists) }?;
        let value = match executed {
            Some(Executed { value, news }) => {
                if let Some(usage) = news {
                    self.tell_pressure_at(usage);
                }
                value
            }
            None => {
                // SAFETY: the caller's promises; nothing was executed above.
                let value = unsafe { self.execute_paging(&queue, lists) }?;
                self.tell_pressure();
                value
            }
        };
        self.after_submission();
        Ok(value)
    }

    /// The way when everything is resident; `None` when something is not, and then nothing was executed.
    ///
    /// # Safety
    ///
    /// As [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
    #[inline]
    unsafe fn execute_resident(
        &self,
        queue: &ManagedQueue,
        lists: Lists<'_>,
    ) -> Result<Option<Executed>, Error> {
        let mut last = queue.lock();
        let value = self.next_value(&last)?;
        let completed = queue.completed();
        if completed == FenceValue::DEVICE_REMOVED {
            return Err(self.removed());
        }
        let mut arrives = FenceValue::ZERO;
        let (submission, news) = {
            let mut state = self.lock();
            state.apply_memory(&self.budgets);
            let planner = &mut state.planner;
            planner.complete(queue.slot, completed);
            if planner.awaits_paging() {
                planner.complete_paging(self.paging_completed());
            }
            for (number, (_, list)) in lists.iter().enumerate().filter(|_| planner.has_missing()) {
                let entries = list.entries().map_err(|error| error.in_list(number))?;
                let heaps = self.heaps(&entries, number)?;
                let are_resident = planner.are_resident(heaps);
                if !are_resident.map_err(|gone| destroyed(number, gone.position))? {
                    return Ok(None);
                }
            }
            let submission = planner.begin(queue.slot, value, self.elapsed());
            for (number, (_, list)) in lists.iter().enumerate() {
                // Between the two somebody may have changed a list.
                let touched = list.entries().map_err(|error| error.in_list(number)).and_then(|entries| {
                    let heaps = self.heaps(&entries, number)?;
                    planner.touch(&submission, heaps).map_err(|gone| destroyed(number, gone.position))
                });
                match touched {
                    Ok(touched) if !touched.is_missing => arrives = arrives.max(touched.arrives),
                    Ok(_) => {
                        planner.cancel(&submission);
                        return Ok(None);
                    }
                    Err(error) => {
                        planner.cancel(&submission);
                        return Err(error);
                    }
                }
            }
            (submission, state.news(&self.budgets))
        };
        // SAFETY: the caller's promises; what is in the residency lists is resident, or paged in when `arrives` comes.
        unsafe { self.hand_over(queue, &mut last, &submission, arrives, lists) }?;
        Ok(Some(Executed { value, news }))
    }

    /// The way when something has to be paged in: as many lists at a time as fit into memory together.
    ///
    /// # Safety
    ///
    /// As [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
    #[cold]
    unsafe fn execute_paging(&self, queue: &ManagedQueue, lists: Lists<'_>) -> Result<FenceValue, Error> {
        let mut executed = 0;
        loop {
            let ask = Ask { may_wait: true, may_exceed: !self.is_always_in_budget(), ..Ask::default() };
            let fill = |pager: &mut Pager| {
                for (number, (_, list)) in lists.iter().enumerate().skip(executed) {
                    let entries = list.entries().map_err(|error| error.in_list(number))?;
                    pager.heaps.extend_from_slice(self.heaps(&entries, number)?);
                    pager.list_ends.push(pager.heaps.len());
                }
                Ok(())
            };
            let (value, handed_over) = self
                .page(Some(queue), ask, fill, |done, last, shared| {
                    let lists = &lists[executed..][..done.lists];
                    let value = match (last, &done.submission) {
                        (Some(last), Some(submission)) => {
                            // SAFETY: the caller's promises; what is in these residency lists is resident, or paged in when
                            // `arrives` comes.
                            unsafe { shared.hand_over(queue, last, submission, done.arrives, lists) }?;
                            submission.value()
                        }
                        _ => FenceValue::ZERO,
                    };
                    Ok((value, done.lists))
                })
                .map_err(|error| error.after_lists(executed))?;
            executed += handed_over;
            if executed >= lists.len() {
                return Ok(value);
            }
        }
    }

    #[inline]
    fn heaps<'a>(
        &self,
        entries: &'a Entries,
        number: usize,
    ) -> Result<&'a [heapwright_core::residency::ManagedHeapId], Error> {
        entries.heaps_of(self.number()).map_err(|error| error.in_list(number))
    }

    /// Hands lists to a queue, behind what they wait for, and in front of the value that says that they are done.
    ///
    /// # Safety
    ///
    /// As [`execute_command_lists`](super::ResidencyManager::execute_command_lists). What the residency lists of these command lists name
    /// is resident when the paging fence has come to `arrives`.
    #[inline]
    unsafe fn hand_over(
        &self,
        queue: &ManagedQueue,
        last: &mut QueueGuard<'_>,
        submission: &Submission,
        arrives: FenceValue,
        lists: Lists<'_>,
    ) -> Result<(), Error> {
        let d3d12 = &queue.queue;
        if arrives > FenceValue::ZERO {
            // SAFETY: live COM objects.
            let hresult = unsafe { d3d12.Wait(&self.paging_fence, arrives.get()) };
            if hresult.is_err() {
                // What is never executed uses nothing.
                self.lock().planner.cancel(submission);
                return Err(Error::device("ID3D12CommandQueue::Wait", hresult));
            }
        }
        let value = submission.value();
        // From here on the value is taken: the books say that the queue comes to it.
        **last = value;
        // SAFETY: the caller's promises.
        unsafe { execute_together(d3d12, lists) };
        // SAFETY: live COM objects; values only go up.
        let hresult = unsafe { d3d12.Signal(&queue.fence, value.get()) };
        if hresult.is_err() {
            // What they use counts as used until the queue signals a later value.
            return Err(Error::device(
                "ID3D12CommandQueue::Signal (the command lists are executed)",
                hresult,
            ));
        }
        Ok(())
    }

    /// Pages in what a list names, without a submission.
    pub(super) fn prefetch(&self, list: &ResidencyList) -> Result<(), Error> {
        self.check_failure()?;
        let ask = Ask { may_wait: false, may_exceed: false, ..Ask::default() };
        let fill = |pager: &mut Pager| {
            let entries = list.entries()?;
            pager.heaps.extend_from_slice(entries.heaps_of(self.number())?);
            pager.list_ends.push(pager.heaps.len());
            Ok(())
        };
        self.page(None, ask, fill, |_, _, _| Ok(()))
    }
}

/// Hands the command lists to a queue in one call.
///
/// # Safety
///
/// As [`execute_command_lists`](super::ResidencyManager::execute_command_lists).
unsafe fn execute_together(queue: &ID3D12CommandQueue, lists: Lists<'_>) {
    /// Lists that are handed over without an allocation: more are rare.
    const FEW: usize = 32;
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
    // More lists than that do not fit into memory.
    let count = u32::try_from(pointers.len()).unwrap_or(u32::MAX);
    // SAFETY: there are as many pointers to live COM objects as the count says; of what the lists use, the caller's promises.
    unsafe { (queue.vtable().ExecuteCommandLists)(queue.as_raw(), count, pointers.as_ptr()) };
}
