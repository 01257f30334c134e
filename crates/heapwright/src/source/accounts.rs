//! Bytes held for each heap type, and their limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_d3d12::IDXGIAdapter3;

use crate::adapter::Fraction;
use crate::desc::HeapLimits;
use crate::error::Obstacle;
use crate::residency::ResidencyManager;
use crate::{HeapType, SegmentGroup, VideoMemoryInfo};

/// The bytes of an allocator's heaps and committed resources.
///
/// Bytes are charged before the device is called, so that threads which create heaps at the same time cannot exceed a
/// limit together. Every value is an atomic of its own, without a lock.
pub(crate) struct Accounts {
    limits: HeapLimits,
    pub(crate) video_memory: VideoMemory,
    types: [TypeAccount; HeapType::ALL.len()],
    /// Heaps and committed resources in each segment group.
    groups: [Tally; SegmentGroup::ALL.len()],
    /// Number of heaps that the device created.
    heaps_created: AtomicU64,
    /// Estimated time for heaps and committed resources, in nanoseconds.
    heap_nanos: AtomicU64,
}

/// Where usage and budgets are read: from the residency manager, if there is one, or from the adapter.
pub(crate) struct VideoMemory {
    adapter: Option<IDXGIAdapter3>,
    residency: Option<ResidencyManager>,
    /// Whether the adapter ever reported something about a segment group. Zeros are no report before, and a budget of
    /// zero from then on.
    is_counted: [AtomicBool; SegmentGroup::ALL.len()],
}

impl VideoMemory {
    /// Reads from a manager or an adapter, which is queried for the first time.
    pub(crate) fn new(adapter: Option<&IDXGIAdapter3>, residency: Option<&ResidencyManager>) -> Self {
        let is_counted = Default::default();
        let memory = Self { adapter: adapter.cloned(), residency: residency.cloned(), is_counted };
        for group in SegmentGroup::ALL {
            memory.usage_and_budget(group);
        }
        memory
    }

    /// Returns usage and budget of a segment group, if they are known.
    pub(crate) fn usage_and_budget(&self, group: SegmentGroup) -> Option<(ByteSize, ByteSize)> {
        if let Some(manager) = &self.residency {
            let (usage, budget) = manager.usage_and_budget(group);
            return (manager.has_group(group) && budget != ByteSize::MAX).then_some((usage, budget));
        }
        let info = VideoMemoryInfo::query(self.adapter.as_ref()?, group).ok()?;
        let is_counted = &self.is_counted[group.index()];
        if info.is_report() {
            is_counted.store(true, Ordering::Relaxed);
        }
        is_counted.load(Ordering::Relaxed).then_some((info.current_usage, info.budget))
    }

    /// Returns whether nothing was ever reported about a segment group, so that its budget is not known.
    pub(crate) fn is_unreported(&self, group: SegmentGroup) -> bool {
        match &self.residency {
            Some(manager) => manager.is_unreported(group),
            None => self.adapter.is_some() && !self.is_counted[group.index()].load(Ordering::Relaxed),
        }
    }
}

#[derive(Default)]
struct TypeAccount {
    /// Bytes that the limit applies to: heaps and committed resources, and in unified memory the resources of the type.
    held: AtomicU64,
    heaps: Tally,
    committed: Tally,
    imported: Tally,
}

#[derive(Default)]
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

/// The limits that apply to memory: that of a heap type and that of a segment group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    pub(crate) heap_type: HeapType,
    pub(crate) group: SegmentGroup,
}

/// Bytes that were charged to an account. Dropping this returns them.
pub(crate) struct Charge {
    accounts: Arc<Accounts>,
    account: Account,
    what: Charged,
    size: ByteSize,
}

/// A limit, and the bytes that count towards it.
pub(crate) struct Limited<'a> {
    held: &'a AtomicU64,
    limit: ByteSize,
    /// The budget of which it is a share.
    of_budget: Option<(SegmentGroup, f64, ByteSize)>,
}

impl Limited<'_> {
    fn obstacle(&self, held: ByteSize) -> Obstacle {
        match self.of_budget {
            None => Obstacle::Limit { limit: self.limit, held },
            Some((group, share, budget)) => Obstacle::BudgetShare { group, share, budget, held },
        }
    }

    fn held(&self) -> ByteSize {
        ByteSize::new(self.held.load(Ordering::Relaxed))
    }

    /// Adds `size` bytes, unless they would exceed the limit.
    fn add(&self, size: ByteSize) -> Result<(), Obstacle> {
        let within = |held: u64| held.checked_add(size.get()).filter(|&held| held <= self.limit.get());
        let added = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        added.map(drop).map_err(|held| self.obstacle(ByteSize::new(held)))
    }

    /// Checks whether `size` more bytes would be within the limit after `given_back` bytes are released.
    pub(crate) fn check(&self, size: ByteSize, given_back: ByteSize) -> Result<(), Obstacle> {
        let held = self.held();
        match held.saturating_sub(given_back).checked_add(size) {
            Some(sum) if sum <= self.limit => Ok(()),
            _ => Err(self.obstacle(held)),
        }
    }

    /// Returns the bytes that the limit leaves.
    pub(crate) fn left(&self) -> ByteSize {
        self.limit.saturating_sub(self.held())
    }

    /// Returns the bytes by which `size` more bytes would exceed the limit.
    pub(crate) fn bytes_over(&self, size: ByteSize) -> ByteSize {
        self.held().saturating_add(size).saturating_sub(self.limit)
    }
}

impl Accounts {
    pub(crate) fn new(limits: HeapLimits, video_memory: VideoMemory) -> Arc<Self> {
        Arc::new(Self {
            limits,
            video_memory,
            types: Default::default(),
            groups: Default::default(),
            heaps_created: AtomicU64::new(0),
            heap_nanos: AtomicU64::new(0),
        })
    }

    /// Returns the limit of a heap type.
    pub(crate) fn of_type(&self, heap_type: HeapType) -> Limited<'_> {
        let limit = self.limits.of(heap_type).unwrap_or(ByteSize::MAX);
        Limited { held: &self.types[heap_type.index()].held, limit, of_budget: None }
    }

    /// Returns the limit of a segment group. Unless it has none, its budget is queried.
    pub(crate) fn of_group(&self, group: SegmentGroup) -> Limited<'_> {
        let budget = |share| Some((group, share, self.video_memory.usage_and_budget(group)?.1));
        let of_budget = self.limits.share_of_budget.and_then(budget);
        let limit = of_budget.map_or(ByteSize::MAX, |(_, share, budget)| Fraction::new(share).of(budget));
        Limited { held: &self.groups[group.index()].bytes, limit, of_budget }
    }

    /// Charges `size` bytes, or returns the limit that they would exceed.
    pub(crate) fn charge(
        self: &Arc<Self>,
        account: Account,
        what: Charged,
        size: ByteSize,
    ) -> Result<Charge, Obstacle> {
        if what != Charged::Imported {
            self.of_type(account.heap_type).add(size)?;
        }
        if what.is_memory() {
            self.of_group(account.group).add(size).inspect_err(|_| {
                self.types[account.heap_type.index()].held.fetch_sub(size.get(), Ordering::Relaxed);
            })?;
            self.groups[account.group.index()].count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(tally) = self.types[account.heap_type.index()].tally(what) {
            tally.add(size.get());
        }
        Ok(Charge { accounts: Arc::clone(self), account, what, size })
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

    /// Returns count and bytes of the heaps and committed resources in a segment group.
    pub(crate) fn held_in(&self, group: SegmentGroup) -> Held {
        self.groups[group.index()].get()
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

impl Charged {
    /// Returns whether the allocator created memory for it.
    fn is_memory(self) -> bool {
        matches!(self, Self::Heap | Self::Committed)
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
        accounts.charge(self.account, self.what, self.size)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let account = &self.accounts.types[self.account.heap_type.index()];
        if let Some(tally) = account.tally(self.what) {
            tally.subtract(self.size.get());
        }
        if self.what != Charged::Imported {
            account.held.fetch_sub(self.size.get(), Ordering::Relaxed);
        }
        if self.what.is_memory() {
            self.accounts.groups[self.account.group.index()].subtract(self.size.get());
        }
    }
}
