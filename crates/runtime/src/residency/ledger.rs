//! The residency ledger: the residency counts of all pageable objects, and the calls that changed them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;

use super::report::{CountedObject, PageableKind, PagingCalls, ResidencyReport};

/// The pageable objects of one GPU, and the calls that made them resident or evicted them.
///
/// Creating and releasing an object each take the ledger's lock for O(1). A call of `MakeResident`,
/// `EnqueueMakeResident` or `Evict` holds it for O(1) per object.
#[derive(Default)]
pub(crate) struct ResidencyLedger {
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    /// The sums. The report's lists of objects and counts of live objects are only filled in by `report`.
    sums: ResidencyReport,
    /// Number of live objects.
    alive: u64,
    /// Objects with a count above one, by creation number.
    above_one: BTreeMap<u64, (Arc<About>, u32)>,
    next_number: u64,
}

/// The description of an object in reports and messages.
struct About {
    kind: PageableKind,
    size: ByteSize,
    name: Mutex<Option<String>>,
}

/// The record of one object in the ledger. Dropping it removes the object.
pub(crate) struct PageableRecord {
    ledger: Arc<ResidencyLedger>,
    about: Arc<About>,
    number: u64,
    /// Changed only under the ledger's lock.
    count: AtomicU32,
}

/// The methods that the ledger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    MakeResident,
    EnqueueMakeResident,
    Evict,
}

/// One call that changes counts. It holds the ledger's lock, so no other call can change them before it completes or is
/// undone.
pub(crate) struct Batch<'a> {
    books: MutexGuard<'a, Books>,
    call: Call,
    is_done: bool,
}

impl ResidencyLedger {
    /// Adds an object that was just created.
    pub(crate) fn created(
        self: &Arc<Self>,
        kind: PageableKind,
        size: ByteSize,
        is_resident: bool,
    ) -> PageableRecord {
        let about = Arc::new(About { kind, size, name: Mutex::default() });
        let mut books = self.books();
        let number = books.next_number;
        books.next_number += 1;
        books.alive += 1;
        if is_resident {
            books.sums.created_resident.add(size);
            books.sums.resident.add(size);
        }
        drop(books);
        PageableRecord { ledger: Arc::clone(self), about, number, count: AtomicU32::new(is_resident.into()) }
    }

    /// Begins a call. It counts as refused unless it is [completed](Batch::made_resident).
    pub(crate) fn begin(&self, call: Call) -> Batch<'_> {
        let mut books = self.books();
        books.calls(call).calls += 1;
        Batch { books, call, is_done: false }
    }

    /// Begins to revert a completed call, which then counts as refused.
    pub(crate) fn reopen(&self, call: Call) -> Batch<'_> {
        Batch { books: self.books(), call, is_done: false }
    }

    /// Returns a report. Cost: O(objects with a count above one).
    pub(crate) fn report(&self) -> ResidencyReport {
        let books = self.books();
        let counted = |(about, count): &(Arc<About>, u32)| about.counted(*count);
        let mut report = books.sums.clone();
        report.above_one = books.above_one.values().map(counted).collect();
        report.alive_with_zero = books.alive.saturating_sub(report.resident.objects);
        report.alive_with_one = report.resident.objects.saturating_sub(report.above_one.len() as u64);
        report
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn calls(&mut self, call: Call) -> &mut PagingCalls {
        match call {
            Call::MakeResident => &mut self.sums.make_resident,
            Call::EnqueueMakeResident => &mut self.sums.enqueue_make_resident,
            Call::Evict => &mut self.sums.evict,
        }
    }

    /// Sets the count of a live object.
    fn set_count(&mut self, record: &PageableRecord, count: u32) {
        record.count.store(count, Ordering::Relaxed);
        if count > 1 {
            self.above_one.insert(record.number, (Arc::clone(&record.about), count));
        } else {
            self.above_one.remove(&record.number);
        }
    }
}

impl Batch<'_> {
    /// Completes a successful call: increments the count of each object.
    pub(crate) fn made_resident<'a>(mut self, records: impl Iterator<Item = &'a PageableRecord>) {
        for record in records {
            let before = record.count.load(Ordering::Relaxed);
            if before == 0 {
                self.books.sums.paged_in.add(record.about.size);
                self.books.sums.resident.add(record.about.size);
            }
            self.books.set_count(record, before.saturating_add(1));
            self.books.calls(self.call).objects += 1;
        }
        self.is_done = true;
    }

    /// Reverts [`made_resident`](Self::made_resident) of a call that was [reopened](ResidencyLedger::reopen).
    pub(crate) fn take_back<'a>(mut self, records: impl Iterator<Item = &'a PageableRecord>) {
        for record in records {
            let before = record.count.load(Ordering::Relaxed);
            if before == 1 {
                self.books.sums.paged_in.remove(record.about.size);
                self.books.sums.resident.remove(record.about.size);
            }
            self.books.set_count(record, before.saturating_sub(1));
            self.books.calls(self.call).objects -= 1;
        }
    }

    /// Checks that the count of each object is at least the number of times that the object is listed.
    ///
    /// # Errors
    ///
    /// Returns the index of the first object whose count is too low.
    pub(crate) fn check_evicts<'a>(
        &self,
        records: impl Iterator<Item = &'a PageableRecord> + Clone,
    ) -> Result<(), usize> {
        let mut taken = 0;
        let mut refused = None;
        for (index, record) in records.clone().enumerate() {
            let Some(left) = record.count.load(Ordering::Relaxed).checked_sub(1) else {
                refused = Some(index);
                break;
            };
            record.count.store(left, Ordering::Relaxed);
            taken = index + 1;
        }
        for record in records.take(taken) {
            record.count.fetch_add(1, Ordering::Relaxed);
        }
        refused.map_or(Ok(()), Err)
    }

    /// Completes a successful call: decrements the count of each object.
    pub(crate) fn evicted<'a>(mut self, records: impl Iterator<Item = &'a PageableRecord>) {
        for record in records {
            let before = record.count.load(Ordering::Relaxed);
            if before == 1 {
                self.books.sums.paged_out.add(record.about.size);
                self.books.sums.resident.remove(record.about.size);
            }
            self.books.set_count(record, before.saturating_sub(1));
            self.books.calls(self.call).objects += 1;
        }
        self.is_done = true;
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.books.calls(self.call).refused += 1;
        }
    }
}

impl PageableRecord {
    /// Sets or removes the object's name in reports and messages.
    pub(crate) fn set_name(&self, name: Option<&str>) {
        *self.about.name.lock().unwrap_or_else(PoisonError::into_inner) = name.map(str::to_owned);
    }

    /// Returns the residency count, as changed by successful calls.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the name last set with [`set_name`](Self::set_name).
    pub(crate) fn name(&self) -> Option<String> {
        self.about.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for PageableRecord {
    fn drop(&mut self) {
        let (count, size) = (self.count.load(Ordering::Relaxed), self.about.size);
        let mut books = self.ledger.books();
        books.alive = books.alive.saturating_sub(1);
        if count == 0 {
            return;
        }
        books.sums.resident.remove(size);
        books.sums.released_resident.add(size);
        if count > 1 {
            books.above_one.remove(&self.number);
            books.sums.released_above_one_count += 1;
            if books.sums.released_above_one.len() < ResidencyReport::RELEASED_ABOVE_ONE_LISTED {
                books.sums.released_above_one.push(self.about.counted(count));
            }
        }
    }
}

impl About {
    fn counted(&self, count: u32) -> CountedObject {
        let name = self.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        CountedObject { kind: self.kind, name, size: self.size, count }
    }
}
