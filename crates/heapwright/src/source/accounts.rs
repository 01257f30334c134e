//! Bytes held for each heap type, and their limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use heapwright_core::ByteSize;

use crate::HeapType;
use crate::desc::HeapLimits;
use crate::error::Obstacle;

/// The bytes of an allocator's heaps and committed resources.
///
/// Bytes are charged before the device is called, so that threads which create heaps at the same time cannot exceed a
/// limit together. Every value is an atomic of its own, without a lock.
#[derive(Debug)]
pub(crate) struct Accounts {
    limits: HeapLimits,
    types: [TypeAccount; HeapType::ALL.len()],
    /// Number of heaps that the device created.
    heaps_created: AtomicU64,
    /// Estimated time for heaps and committed resources, in nanoseconds.
    heap_nanos: AtomicU64,
}

#[derive(Debug, Default)]
struct TypeAccount {
    /// Bytes that the limit applies to: heaps and committed resources, and in unified memory the resources of the type.
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

/// A count, and a sum of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Held {
    pub(crate) bytes: u64,
    pub(crate) count: u64,
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

/// The subject of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    Heap,
    Committed,
    /// Created by the application; no limit applies.
    Imported,
    /// A resource in unified memory, whose heap is charged to DEFAULT. The limit of the requested type applies, and no
    /// further bytes are held.
    InUnifiedMemory,
}

/// Bytes that were charged to an account. Dropping this returns them.
#[derive(Debug)]
pub(crate) struct Charge {
    accounts: Arc<Accounts>,
    heap_type: HeapType,
    what: Charged,
    size: ByteSize,
}

impl Accounts {
    pub(crate) fn new(limits: HeapLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            types: Default::default(),
            heaps_created: AtomicU64::new(0),
            heap_nanos: AtomicU64::new(0),
        })
    }

    /// Charges `size` bytes, or returns the limit that they would exceed.
    pub(crate) fn charge(
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
        if let Some(tally) = account.tally(what) {
            tally.add(size.get());
        }
        Ok(Charge { accounts: Arc::clone(self), heap_type, what, size })
    }

    /// Checks whether `size` more bytes would be within the limit of a heap type after `given_back` bytes are released.
    pub(crate) fn check(
        &self,
        heap_type: HeapType,
        size: ByteSize,
        given_back: ByteSize,
    ) -> Result<(), Obstacle> {
        let limit = self.limits.of(heap_type).unwrap_or(ByteSize::MAX);
        let held = ByteSize::new(self.types[heap_type.index()].held.load(Ordering::Relaxed));
        match held.saturating_sub(given_back).checked_add(size) {
            Some(sum) if sum <= limit => Ok(()),
            _ => Err(Obstacle::Limit { limit, held }),
        }
    }

    /// Returns the bytes that the limit of a heap type leaves.
    pub(crate) fn left(&self, heap_type: HeapType) -> ByteSize {
        let limit = self.limits.of(heap_type).unwrap_or(ByteSize::MAX);
        limit.saturating_sub(ByteSize::new(self.types[heap_type.index()].held.load(Ordering::Relaxed)))
    }

    /// Returns the bytes by which `size` more bytes would exceed the limit of a heap type.
    pub(crate) fn bytes_over_limit(&self, heap_type: HeapType, size: ByteSize) -> ByteSize {
        let limit = self.limits.of(heap_type).unwrap_or(ByteSize::MAX);
        let held = ByteSize::new(self.types[heap_type.index()].held.load(Ordering::Relaxed));
        held.saturating_add(size).saturating_sub(limit)
    }

    pub(crate) fn count_created_heap(&self) {
        self.heaps_created.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_heap_time(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.heap_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(crate) fn heap_time(&self) -> Duration {
        Duration::from_nanos(self.heap_nanos.load(Ordering::Relaxed))
    }

    pub(crate) fn heaps_created(&self) -> u64 {
        self.heaps_created.load(Ordering::Relaxed)
    }

    /// Returns count and bytes that a heap type holds of one kind.
    pub(crate) fn held(&self, heap_type: HeapType, what: Charged) -> Held {
        self.types[heap_type.index()].tally(what).map(Tally::get).unwrap_or_default()
    }

    /// Returns the bytes of heaps and committed resources. O(1).
    pub(crate) fn reserved(&self) -> ByteSize {
        let of = |account: &TypeAccount| {
            ByteSize::new(account.heaps.get().bytes)
                .saturating_add(ByteSize::new(account.committed.get().bytes))
        };
        self.types.iter().map(of).fold(ByteSize::ZERO, ByteSize::saturating_add)
    }
}

impl TypeAccount {
    fn tally(&self, what: Charged) -> Option<&Tally> {
        match what {
            Charged::Heap => Some(&self.heaps),
            Charged::Committed => Some(&self.committed),
            Charged::Imported => Some(&self.imported),
            Charged::InUnifiedMemory => None,
        }
    }
}

impl Charge {
    pub(crate) fn is_on(&self, accounts: &Arc<Accounts>) -> bool {
        Arc::ptr_eq(&self.accounts, accounts)
    }

    /// Charges the same bytes to other accounts, when a heap changes its owner. The limit of the new accounts applies.
    pub(crate) fn transferred(&self, accounts: &Arc<Accounts>) -> Result<Self, Obstacle> {
        accounts.charge(self.heap_type, self.what, self.size)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let account = &self.accounts.types[self.heap_type.index()];
        if let Some(tally) = account.tally(self.what) {
            tally.subtract(self.size.get());
        }
        if self.what != Charged::Imported {
            account.held.fetch_sub(self.size.get(), Ordering::Relaxed);
        }
    }
}
