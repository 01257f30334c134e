//! What is held, by heap type, and what may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::ByteSize;

use super::{HeapLimits, HeapType};
use crate::error::Obstacle;

/// What an allocator's heaps and committed resources take.
///
/// A charge is made before the device is asked, so that threads which create heaps at the same time cannot pass a limit
/// together. Every number is an atomic of its own: no lock.
#[derive(Debug)]
pub(super) struct Accounts {
    limits: HeapLimits,
    types: [TypeAccount; HeapType::ALL.len()],
    /// Heaps that the device was made to create.
    heaps_created: AtomicU64,
}

#[derive(Debug, Default)]
struct TypeAccount {
    /// Heaps and committed resources together: what a limit is about.
    held: AtomicU64,
    heaps: Tally,
    committed: Tally,
    imported: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    bytes: AtomicU64,
    count: AtomicU64,
}

/// How many, and how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Held {
    pub(super) bytes: u64,
    pub(super) count: u64,
}

impl Tally {
    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    fn get(&self) -> Held {
        Held { bytes: self.bytes.load(Ordering::Relaxed), count: self.count.load(Ordering::Relaxed) }
    }
}

/// What a charge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charged {
    Heap,
    Committed,
    /// Made by someone else: no limit applies.
    Imported,
}

/// Bytes that an account was charged with; they come back when this is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    accounts: Arc<Accounts>,
    heap_type: HeapType,
    what: Charged,
    size: ByteSize,
}

impl Accounts {
    pub(super) fn new(limits: HeapLimits) -> Arc<Self> {
        Arc::new(Self { limits, types: Default::default(), heaps_created: AtomicU64::new(0) })
    }

    /// Charges `size` bytes, or says which limit they would pass.
    pub(super) fn charge(
        self: &Arc<Self>,
        heap_type: HeapType,
        what: Charged,
        size: ByteSize,
    ) -> Result<Charge, Obstacle> {
        let account = &self.types[heap_type.index()];
        if what != Charged::Imported {
            let limit = self.limits.of(heap_type).unwrap_or(ByteSize::MAX).get();
            let within = |held: u64| held.checked_add(size.get()).filter(|&held| held <= limit);
            account
                .held
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, within)
                .map_err(|held| Obstacle::Limit { limit: ByteSize::new(limit), held: ByteSize::new(held) })?;
        }
        account.tally(what).add(size.get());
        Ok(Charge { accounts: Arc::clone(self), heap_type, what, size })
    }

    /// What is left below the limit of a heap type.
    pub(super) fn available(&self, heap_type: HeapType) -> ByteSize {
        let limit = self.limits.of(heap_type).unwrap_or(ByteSize::MAX);
        limit.saturating_sub(ByteSize::new(self.types[heap_type.index()].held.load(Ordering::Relaxed)))
    }

    pub(super) fn count_created_heap(&self) {
        self.heaps_created.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn heaps_created(&self) -> u64 {
        self.heaps_created.load(Ordering::Relaxed)
    }

    /// What a heap type holds of one sort.
    pub(super) fn held(&self, heap_type: HeapType, what: Charged) -> Held {
        self.types[heap_type.index()].tally(what).get()
    }

    /// Bytes of heaps and committed resources. O(1).
    pub(super) fn reserved(&self) -> ByteSize {
        let of = |account: &TypeAccount| ByteSize::new(account.held.load(Ordering::Relaxed));
        self.types.iter().map(of).fold(ByteSize::ZERO, ByteSize::saturating_add)
    }
}

impl TypeAccount {
    fn tally(&self, what: Charged) -> &Tally {
        match what {
            Charged::Heap => &self.heaps,
            Charged::Committed => &self.committed,
            Charged::Imported => &self.imported,
        }
    }
}

impl Charge {
    pub(super) fn is_on(&self, accounts: &Arc<Accounts>) -> bool {
        Arc::ptr_eq(&self.accounts, accounts)
    }

    /// The same bytes on another account, when a heap changes hands; the other's limit decides.
    pub(super) fn transferred(&self, accounts: &Arc<Accounts>) -> Result<Self, Obstacle> {
        accounts.charge(self.heap_type, self.what, self.size)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let account = &self.accounts.types[self.heap_type.index()];
        account.tally(self.what).subtract(self.size.get());
        if self.what != Charged::Imported {
            account.held.fetch_sub(self.size.get(), Ordering::Relaxed);
        }
    }
}
