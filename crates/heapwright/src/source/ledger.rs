//! The ledger: what an allocator holds, and what limits it.
//!
//! Each limit of bytes is a [`Row`]. Memory is charged to its rows before the device is called, or the row that lacks
//! bytes is returned.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_d3d12::IDXGIAdapter3;

use crate::adapter::Fraction;
use crate::desc::HeapLimits;
use crate::error::{Limit, Row};
use crate::residency::ResidencyManager;
use crate::{HeapType, SegmentGroup, VideoMemoryInfo};

/// The bytes of an allocator's heaps and committed resources.
///
/// Bytes are charged before the device is called, so that threads which create heaps at the same time cannot exceed a
/// limit together. Every value is an atomic of its own, without a lock.
pub(crate) struct Ledger {
    limits: HeapLimits,
    pub(crate) video_memory: VideoMemory,
    types: [TypeAccount; HeapType::ALL.len()],
    /// Heaps and committed resources in each segment group.
    groups: [Tally; SegmentGroup::ALL.len()],
    being_created: BytesBeingCreated,
    /// Number of heaps that the device created.
    heaps_created: AtomicU64,
    /// Estimated time for heaps and committed resources, in nanoseconds.
    heap_nanos: AtomicU64,
}

/// Bytes that are being created in each segment group, and that the adapter may not count yet. Shared by all nested
/// allocators.
pub(crate) type BytesBeingCreated = Arc<Mutex<[ByteSize; SegmentGroup::ALL.len()]>>;

/// Bytes that are being created. Dropping this ends that.
pub(crate) struct BudgetCharge {
    being_created: BytesBeingCreated,
    group: SegmentGroup,
    size: ByteSize,
}

impl Drop for BudgetCharge {
    fn drop(&mut self) {
        let mut being_created = self.being_created.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &mut being_created[self.group.index()];
        *bytes = bytes.saturating_sub(self.size);
    }
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
            memory.row(group);
        }
        memory
    }

    /// Returns the row of a segment group's budget, if usage and budget are known.
    fn row(&self, group: SegmentGroup) -> Option<Row> {
        let row = |held, most| Row { limit: Limit::Budget(group), held, most };
        if let Some(manager) = &self.residency {
            let (usage, budget) = manager.usage_and_budget(group);
            return (manager.has_group(group) && budget != ByteSize::MAX).then(|| row(usage, budget));
        }
        let info = VideoMemoryInfo::query(self.adapter.as_ref()?, group).ok()?;
        let is_counted = &self.is_counted[group.index()];
        if info.is_report() {
            is_counted.store(true, Ordering::Relaxed);
        }
        is_counted.load(Ordering::Relaxed).then(|| row(info.current_usage, info.budget))
    }

    /// Returns whether nothing was ever reported about a segment group, so that its budget is not known.
    pub(crate) fn is_unreported(&self, group: SegmentGroup) -> bool {
        match &self.residency {
            Some(manager) => manager.is_unreported(group),
            None => !self.is_counted[group.index()].load(Ordering::Relaxed),
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
    ledger: Arc<Ledger>,
    account: Account,
    what: Charged,
    size: ByteSize,
}

impl Ledger {
    pub(crate) fn new(
        limits: HeapLimits,
        video_memory: VideoMemory,
        being_created: BytesBeingCreated,
    ) -> Arc<Self> {
        Arc::new(Self {
            limits,
            video_memory,
            types: Default::default(),
            groups: Default::default(),
            being_created,
            heaps_created: AtomicU64::new(0),
            heap_nanos: AtomicU64::new(0),
        })
    }

    pub(crate) fn being_created(&self) -> BytesBeingCreated {
        Arc::clone(&self.being_created)
    }

    /// Returns the row of a segment group's budget, if it is known.
    pub(crate) fn budget_row(&self, group: SegmentGroup) -> Option<Row> {
        self.video_memory.row(group)
    }

    /// Returns the rows of the allocator's own limits: that of a heap type, and that of its share of a budget, which is
    /// queried. Without a limit, nothing exceeds a row.
    pub(crate) fn rows(&self, Account { heap_type, group }: Account) -> [Row; 2] {
        let held = |counter: &AtomicU64| ByteSize::new(counter.load(Ordering::Relaxed));
        let of_type = Row {
            limit: Limit::HeapType,
            held: held(&self.types[heap_type.index()].held),
            most: self.limits.of(heap_type).unwrap_or(ByteSize::MAX),
        };
        let share = self.limits.share_of_budget;
        let budget = share.and_then(|share| Some((share, self.budget_row(group)?.most)));
        let of_group = budget.map(|(share, budget)| Row {
            limit: Limit::BudgetShare { group, share, budget },
            held: held(&self.groups[group.index()].bytes),
            most: Fraction::new(share).of(budget),
        });
        [of_type, of_group.unwrap_or(Row { most: ByteSize::MAX, ..of_type })]
    }

    /// Returns the bytes that the allocator's own limits leave.
    pub(crate) fn left(&self, account: Account) -> ByteSize {
        let [of_type, of_group] = self.rows(account);
        of_type.left().min(of_group.left())
    }

    /// Charges `size` bytes to the allocator's own limits.
    pub(crate) fn charge(
        self: &Arc<Self>,
        account: Account,
        what: Charged,
        size: ByteSize,
    ) -> Result<Charge, Row> {
        let [type_row, group_row] = self.rows(account);
        let (of_type, of_group) =
            (&self.types[account.heap_type.index()], &self.groups[account.group.index()]);
        // Unless they would exceed the most of the row.
        let add = |counter: &AtomicU64, row: Row| {
            let within = |held: u64| held.checked_add(size.get()).filter(|&held| held <= row.most.get());
            let added = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
            added.map(drop).map_err(|held| Row { held: ByteSize::new(held), ..row })
        };
        if what != Charged::Imported {
            add(&of_type.held, type_row)?;
        }
        if what.is_memory() {
            add(&of_group.bytes, group_row).inspect_err(|_| {
                of_type.held.fetch_sub(size.get(), Ordering::Relaxed);
            })?;
            of_group.count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(tally) = of_type.tally(what) {
            tally.add(size.get());
        }
        Ok(Charge { ledger: Arc::clone(self), account, what, size })
    }

    /// Charges `size` bytes to a budget until they are created. `is_limited` says whether the budget must not be
    /// exceeded.
    pub(crate) fn charge_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        is_limited: bool,
    ) -> Result<BudgetCharge, Row> {
        let mut being_created = self.being_created.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &mut being_created[group.index()];
        if let Some(row) = is_limited.then(|| self.budget_row(group)).flatten() {
            let row = Row { held: row.held.saturating_add(*bytes), ..row };
            row.check(size)?;
        }
        *bytes = bytes.saturating_add(size);
        Ok(BudgetCharge { being_created: self.being_created(), group, size })
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
    /// Charges the same bytes in another ledger, whose limits apply, when a heap changes its owner.
    pub(crate) fn transferred(&self, ledger: &Arc<Ledger>) -> Result<Self, Row> {
        ledger.charge(self.account, self.what, self.size)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let account = &self.ledger.types[self.account.heap_type.index()];
        if let Some(tally) = account.tally(self.what) {
            tally.subtract(self.size.get());
        }
        if self.what != Charged::Imported {
            account.held.fetch_sub(self.size.get(), Ordering::Relaxed);
        }
        if self.what.is_memory() {
            self.ledger.groups[self.account.group.index()].subtract(self.size.get());
        }
    }
}
