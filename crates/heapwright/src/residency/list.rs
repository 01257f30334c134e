//! Lists of the heaps that a command list uses.

use std::sync::{
    OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
};
use std::time::Instant;

use heapwright_core::residency::ManagedHeapId;
use heapwright_d3d12::ID3D12CommandList;

use super::heap::ResidencyHeap;
use super::recorded::ManagerRecording;
use crate::Error;
use crate::recording::{Recorded, Recording};

/// The heaps that a command list uses: `IResidencyList` of GPGMM.
///
/// Each command list has one. While commands are recorded, add the heaps of the resources that they use; then pass both
/// to [`ResidencyManager::execute_command_lists`](crate::residency::ResidencyManager::execute_command_lists).
/// Afterwards the list may be executed again, or [reset](Self::reset). Any number of lists may exist.
///
/// The list does not keep heaps alive: if a heap was dropped, executing the list is an error that names it. The first
/// heap that is added binds the list to that heap's manager until it is reset.
///
/// # Threads
///
/// `Send` and `Sync`; one thread records at a time, and any number of threads execute. A list that is
/// [open](Self::open) cannot be executed or opened again until it is closed, nor recorded while a call that executes it
/// reads it: that is an error, and never waits.
///
/// ```
/// use heapwright::residency::ResidencyList;
///
/// let list = ResidencyList::new();
/// let recording = list.open()?;
/// assert!(list.open().unwrap_err().to_string().contains("already open"));
/// drop(recording); // closes it
/// assert!(list.is_empty()?);
/// # Ok::<(), heapwright::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ResidencyList {
    entries: RwLock<Entries>,
    /// The list in the recording of the manager of the first heap that was added.
    recorded: OnceLock<Recorded>,
}

#[derive(Debug, Default)]
struct Entries {
    /// The number of the manager; zero without heaps.
    manager: u64,
    heaps: Vec<ManagedHeapId>,
    /// The index in `heaps` where the heap of each slot may be. An index that is out of range, or of another heap, is
    /// ignored, so that a reset need not clear this.
    positions: Vec<u32>,
}

/// A list that is being recorded. Dropping it closes the list.
#[derive(Debug)]
pub struct OpenResidencyList<'a> {
    list: &'a ResidencyList,
    entries: RwLockWriteGuard<'a, Entries>,
}

impl ResidencyList {
    /// Returns the list with the command list whose heaps it names, for
    /// [`execute_command_lists`](crate::residency::ResidencyManager::execute_command_lists).
    #[must_use]
    #[inline]
    pub fn of<'a>(&'a self, commands: &'a ID3D12CommandList) -> (&'a ID3D12CommandList, &'a Self) {
        (commands, self)
    }

    /// Creates a list without heaps.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the list for recording, until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// Invalid argument while it is already open, or being executed.
    #[inline]
    pub fn open(&self) -> Result<OpenResidencyList<'_>, Error> {
        self.recording().map(|entries| OpenResidencyList { list: self, entries })
    }

    /// Adds a heap: `IResidencyList::Add`. Adding a heap a second time changes nothing. O(1), amortized.
    ///
    /// A heap without a manager is always resident, and not added.
    ///
    /// # Errors
    ///
    /// Invalid argument while the list is already open or being executed, and for a heap of a different manager than
    /// the list's heaps.
    #[inline]
    pub fn add(&self, heap: &ResidencyHeap) -> Result<(), Error> {
        self.traced_add(heap, || self.recording()?.add(heap))
    }

    /// Removes all heaps: `IResidencyList::Reset`. O(1); the list keeps its memory.
    ///
    /// # Errors
    ///
    /// Invalid argument while it is already open, or being executed.
    #[inline]
    pub fn reset(&self) -> Result<(), Error> {
        self.traced_reset(|| {
            self.recording()?.reset();
            Ok(())
        })
    }

    /// Adds a heap, which is recorded; the list is from its first heap on.
    #[inline]
    fn traced_add<T>(&self, heap: &ResidencyHeap, add: impl FnOnce() -> T) -> T {
        match heap.pager().and_then(|manager| manager.recording.as_ref()) {
            None => add(),
            Some(recording) => {
                let recording = &recording.recording;
                let recorded = self.recorded.get_or_init(|| {
                    let (start, recorded) = (Instant::now(), recording.list());
                    recording.made("ResidencyList.CreateResidencyList", || list_args(&recorded), start);
                    recorded
                });
                let args = || {
                    // The list may be in the file of another manager, whose ids mean nothing here.
                    let is_here = recorded.recording().shares_file_with(recording);
                    let list = if is_here { list_args(recorded) + "," } else { String::new() };
                    list + &heap.recorded_args()
                };
                Recording::traced(Some(&**recording), "ResidencyList.Add", args, add)
            }
        }
    }

    /// Returns the numbers that a manager's recording has for the heaps. Read before a call: a heap that is destroyed
    /// afterwards may be in the list.
    #[inline]
    pub(super) fn recorded_heaps(&self, manager: u64, recording: &ManagerRecording) -> Vec<u64> {
        self.read(manager, |heaps| recording.ids(heaps)).unwrap_or_default()
    }

    /// Removes all heaps, which is recorded.
    #[inline]
    fn traced_reset<T>(&self, reset: impl FnOnce() -> T) -> T {
        match self.recorded.get() {
            None => reset(),
            Some(list) => {
                Recording::traced(Some(&**list.recording()), "ResidencyList.Reset", || list_args(list), reset)
            }
        }
    }

    /// Returns the number of heaps.
    ///
    /// # Errors
    ///
    /// Invalid argument while it is already open.
    #[inline]
    pub fn len(&self) -> Result<usize, Error> {
        Ok(self.reading()?.heaps.len())
    }

    /// Checks whether the list has no heap.
    ///
    /// # Errors
    ///
    /// Invalid argument while it is already open.
    #[inline]
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.len()? == 0)
    }

    /// Calls `read` with the heaps of the list, on behalf of their manager.
    #[inline]
    pub(super) fn read<T>(&self, manager: u64, read: impl FnOnce(&[ManagedHeapId]) -> T) -> Result<T, Error> {
        let entries = self.reading()?;
        if entries.manager != manager && entries.manager != 0 {
            let rule = "the list contains heaps of another residency manager";
            return Err(Error::invalid_argument("residency list", rule));
        }
        Ok(read(&entries.heaps))
    }

    #[inline]
    fn recording(&self) -> Result<RwLockWriteGuard<'_, Entries>, Error> {
        locked(
            self.entries.try_write(),
            "the list is already open, or being executed; it can be recorded by one caller at a time",
        )
    }

    #[inline]
    fn reading(&self) -> Result<RwLockReadGuard<'_, Entries>, Error> {
        locked(self.entries.try_read(), "the list is already open; it must be closed before it is executed")
    }
}

#[inline]
fn locked<T>(result: TryLockResult<T>, rule: &str) -> Result<T, Error> {
    match result {
        Ok(entries) => Ok(entries),
        // A panic leaves no harmful state: positions are checked against the heaps.
        Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => Err(Error::invalid_argument("residency list", rule)),
    }
}

impl OpenResidencyList<'_> {
    /// Adds a heap, like [`ResidencyList::add`].
    ///
    /// # Errors
    ///
    /// Invalid argument for a heap of a different manager than the list's heaps.
    #[inline]
    pub fn add(&mut self, heap: &ResidencyHeap) -> Result<(), Error> {
        self.list.traced_add(heap, || self.entries.add(heap))
    }

    /// Removes all heaps.
    #[inline]
    pub fn reset(&mut self) {
        self.list.traced_reset(|| self.entries.reset());
    }

    /// Closes the list, like dropping this value.
    pub fn close(self) {}
}

impl Entries {
    #[inline]
    fn add(&mut self, heap: &ResidencyHeap) -> Result<(), Error> {
        let Some((manager, id)) = heap.managed() else { return Ok(()) };
        if self.manager != manager {
            if self.manager != 0 {
                let rule = "the heap belongs to a different residency manager than the heaps of the list";
                return Err(Error::invalid_argument("residency heap", rule));
            }
            self.manager = manager;
        }
        let slot = id.slot().index();
        if let Some(&position) = self.positions.get(slot) {
            let there = usize::try_from(position).ok().and_then(|position| self.heaps.get(position));
            if there == Some(&id) {
                return Ok(());
            }
        } else {
            self.positions.resize(slot + 1, u32::MAX);
        }
        self.positions[slot] = u32::try_from(self.heaps.len()).unwrap_or(u32::MAX);
        self.heaps.push(id);
        Ok(())
    }

    #[inline]
    fn reset(&mut self) {
        self.manager = 0;
        self.heaps.clear();
    }
}

/// Returns a list in the arguments of a recorded call.
#[inline]
fn list_args(list: &Recorded) -> String {
    format!("\"list\":\"{:#x}\"", list.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_exclude_recording_alone() {
        let list = ResidencyList::new();
        let refused = |result: Result<(), Error>| {
            let error = result.expect_err("it is being read").to_string();
            assert!(error.contains("being executed"), "{error}");
        };
        let elsewhere = || {
            assert_eq!(list.read(1, <[_]>::len).expect("nobody records"), 0);
            assert!(list.is_empty().expect("nobody records"));
            refused(list.open().map(drop));
            refused(list.reset());
        };
        let read = |_: &[ManagedHeapId]| std::thread::scope(|scope| scope.spawn(elsewhere).join());
        list.read(1, read).expect("nobody records").expect("no panic");
        list.reset().expect("nobody reads");
    }
}
