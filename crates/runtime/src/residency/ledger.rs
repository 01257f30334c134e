//! The ledger of residency: who is resident how often, and how that came.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;

use super::report::{CountedObject, PageableKind, PagingCalls, ResidencyReport};

/// The pageable objects of one GPU, and the calls that made them resident and evicted them.
///
/// Creating and releasing an object takes the ledger's lock for O(1), and so does each object of `MakeResident` and `Evict`;
/// nothing else does.
#[derive(Default)]
pub(crate) struct ResidencyLedger {
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    /// All sums; its lists of objects and its counts of the living are filled in when it is asked for.
    sums: ResidencyReport,
    /// Objects that are alive.
    alive: u64,
    /// Objects with a count above one, by number.
    above_one: BTreeMap<u64, (Arc<About>, u32)>,
    next_number: u64,
}

/// What a message says of an object.
struct About {
    kind: PageableKind,
    size: ByteSize,
    name: Mutex<Option<String>>,
}

/// One object in the ledger, from its creation until this is dropped.
pub(crate) struct PageableRecord {
    ledger: Arc<ResidencyLedger>,
    about: Arc<About>,
    number: u64,
    /// Changed under the ledger's lock alone.
    count: AtomicU32,
}

/// The methods that a ledger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    MakeResident,
    EnqueueMakeResident,
    Evict,
}

/// One call that changes counts. As long as it lasts no other does, so that what it undoes is what it did.
pub(crate) struct Batch<'a> {
    books: MutexGuard<'a, Books>,
    call: Call,
    is_done: bool,
}

impl ResidencyLedger {
    /// Enters an object that was just created, resident or not.
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

    /// Begins a call, which is refused unless it is [done](Batch::made_resident).
    pub(crate) fn begin(&self, call: Call) -> Batch<'_> {
        let mut books = self.books();
        books.calls(call).calls += 1;
        Batch { books, call, is_done: false }
    }

    /// All that happened so far. O(objects with a count above one).
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

    /// Sets the count of an object that is alive.
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
    /// The call has success: each object has one more reason to be resident.
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

    /// Whether each object, as often as it is named, has a reason to be resident that can be taken away.
    ///
    /// # Errors
    ///
    /// The index of the first that has none left.
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

    /// The call has success: each object has one reason less to be resident.
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
    /// Names the object in reports and messages.
    pub(crate) fn set_name(&self, name: &str) {
        *self.about.name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }

    /// How often it was made resident without having been evicted, by calls that had success.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// What [`set_name`](Self::set_name) said last.
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
