//! The crate's error type.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Weak;

use heapwright_core::ByteSize;
use heapwright_core::placement::PlacementError;
use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::{
    DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_RESET,
    DXGI_ERROR_DRIVER_INTERNAL_ERROR, E_FAIL, E_INVALIDARG, E_NOTIMPL, E_OUTOFMEMORY,
};
use windows_core::HRESULT;

use crate::{HeapType, PlacementReason, SegmentGroup};

/// The error of a failed call, with the request and the reason for the failure.
///
/// The predicates correspond to the reactions that a caller can choose from:
/// [`is_out_of_memory`](Self::is_out_of_memory) (free memory, or use less), [`is_over_budget`](Self::is_over_budget)
/// (the same, although the device might have had more), [`is_device_removed`](Self::is_device_removed) (recreate the
/// device), [`is_invalid_argument`](Self::is_invalid_argument) (correct the call),
/// [`is_unsupported`](Self::is_unsupported) (the device or this version lacks the feature). `Display` prints one line.
#[derive(Debug, Clone)]
pub struct Error {
    kind: Box<Kind>,
}

#[derive(Debug, Clone)]
enum Kind {
    InvalidArgument {
        field: &'static str,
        rule: String,
    },
    Unsupported {
        what: String,
    },
    OutOfMemory(Shortage),
    /// The request exceeds every memory of the device.
    TooLarge {
        field: &'static str,
        rule: String,
    },
    /// The heaps that must be resident at the same time exceed the budget.
    OverBudget(String),
    Device {
        call: &'static str,
        hresult: HRESULT,
    },
    /// The error occurred after `executed` of several lists were executed.
    AfterLists {
        executed: usize,
        error: Error,
    },
}

/// An allocation that found no memory: the request and the attempts.
#[derive(Debug, Clone)]
pub(crate) struct Shortage {
    pub(crate) requested: ByteSize,
    pub(crate) heap_type: HeapType,
    pub(crate) holder: Holder,
    /// The attempts, in order.
    pub(crate) attempts: Vec<Attempt>,
    /// Whether NEVER_FALLBACK is set, for which GPGMM returns E_FAIL.
    pub(crate) never_fallback: bool,
}

/// What an allocator holds in heaps of a type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldBytes {
    pub(crate) reserved: ByteSize,
    /// The part of it that is in use.
    pub(crate) used: ByteSize,
    /// Usage and budget of the segment group, if the adapter is known.
    pub(crate) video_memory: Option<(ByteSize, ByteSize)>,
}

/// Tells what an allocator holds. Messages ask when they are read, because most of them never are.
pub(crate) trait HoldsMemory: Send + Sync {
    fn held_in(&self, heap_type: HeapType) -> HeldBytes;
}

/// The allocator that found no memory.
#[derive(Clone)]
pub(crate) struct Holder(pub(crate) Weak<dyn HoldsMemory>);

// It is only read.
impl UnwindSafe for Holder {}
impl RefUnwindSafe for Holder {}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Holder")
    }
}

/// A source of memory that was tried, and why it failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) source: MemorySource,
    pub(crate) obstacle: Obstacle,
}

/// A source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemorySource {
    /// A free range in memory that is already held.
    HeldMemory,
    /// A new heap of this size.
    NewHeap(ByteSize),
    /// Placing the resource in a free range that was found.
    Placing,
    /// A committed resource of this size.
    Committed(ByteSize),
}

/// The reason why a source of memory failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Obstacle {
    /// The device's error.
    Device(HRESULT),
    /// A limit of bytes would be exceeded.
    Over(Row),
    /// The pool already has its maximum number of heaps.
    HeapCount { limit: u64 },
    /// The heap size is not allowed.
    HeapSize { limit: ByteSize },
    /// No free range is large enough, and no heap may be created.
    NoRoom,
}

/// A limit of bytes, and what counts towards it, at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    pub(crate) limit: Limit,
    pub(crate) held: ByteSize,
    pub(crate) most: ByteSize,
}

/// A limit on the memory of an allocator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    /// The allocator's limit for the heap type.
    HeapType,
    /// The allocator's limit for the segment group, a share of its budget.
    BudgetShare { group: SegmentGroup, share: f64, budget: ByteSize },
    /// The operating system's budget, towards which everything of the process counts.
    Budget(SegmentGroup),
}

impl Row {
    /// Returns the bytes that are left.
    pub(crate) fn left(&self) -> ByteSize {
        self.most.saturating_sub(self.held)
    }

    /// Returns the bytes by which `size` more bytes would exceed the limit.
    pub(crate) fn missing(&self, size: ByteSize) -> ByteSize {
        self.held.saturating_add(size).saturating_sub(self.most)
    }

    /// Returns itself as an error if `size` more bytes would exceed the limit.
    pub(crate) fn check(self, size: ByteSize) -> Result<(), Self> {
        if self.missing(size).is_zero() { Ok(()) } else { Err(self) }
    }
}

impl From<Row> for Obstacle {
    fn from(row: Row) -> Self {
        Self::Over(row)
    }
}

/// The reason why a request has no memory: the attempts, and whether further attempts are pointless.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) fatal: Option<Error>,
}

impl Refusal {
    pub(crate) fn of(source: MemorySource, obstacle: Obstacle) -> Self {
        Self { attempts: vec![Attempt { source, obstacle }], fatal: None }
    }

    /// Adds the result of another attempt.
    pub(crate) fn append(&mut self, other: Self) {
        self.attempts.extend(other.attempts);
        self.fatal = self.fatal.take().or(other.fatal);
    }

    /// Adds the result of another attempt, unless further attempts are pointless.
    pub(crate) fn add(&mut self, other: Self) -> Result<(), Self> {
        if other.fatal.is_some() {
            return Err(other);
        }
        self.attempts.extend(other.attempts);
        Ok(())
    }

    /// Returns whether a heap of the required size is not allowed, or does not match the algorithm.
    pub(crate) fn is_about_size(&self) -> bool {
        self.attempts.iter().any(|attempt| matches!(attempt.obstacle, Obstacle::HeapSize { .. }))
    }

    /// Returns whether every obstacle was a shortage of memory. An HRESULT other than E_OUTOFMEMORY is not a shortage,
    /// because releasing memory would not change it.
    pub(crate) fn is_shortage(&self) -> bool {
        let is_shortage = |attempt: &Attempt| !matches!(attempt.obstacle, Obstacle::Device(hresult) if hresult != E_OUTOFMEMORY);
        self.fatal.is_none() && self.attempts.iter().all(is_shortage)
    }
}

impl Refusal {
    /// Returns whether every obstacle was a limit, which may permit the memory after others released theirs.
    pub(crate) fn is_by_limit(&self) -> bool {
        let is_limit =
            |attempt: &Attempt| matches!(attempt.obstacle, Obstacle::Over(_) | Obstacle::HeapCount { .. });
        self.fatal.is_none() && self.attempts.iter().all(is_limit)
    }

    /// Returns why the placements that were refused are followed by another one: the first limit that refused, if one
    /// did.
    pub(crate) fn reason(&self) -> PlacementReason {
        let limit = |attempt: &Attempt| match attempt.obstacle {
            Obstacle::Over(Row { limit: Limit::HeapType, .. }) => Some(PlacementReason::HeapTypeLimit),
            Obstacle::Over(Row { limit: Limit::BudgetShare { .. }, .. }) => {
                Some(PlacementReason::BudgetShare)
            }
            Obstacle::Over(Row { limit: Limit::Budget(_), .. }) => Some(PlacementReason::Budget),
            Obstacle::Device(_)
            | Obstacle::HeapCount { .. }
            | Obstacle::HeapSize { .. }
            | Obstacle::NoRoom => None,
        };
        self.attempts.iter().find_map(limit).unwrap_or(PlacementReason::OutOfMemory)
    }

    /// Returns the smallest new memory for which the device had none.
    pub(crate) fn bytes_refused_by_device(&self) -> Option<ByteSize> {
        let of_attempt = |attempt: &Attempt| match (attempt.source, attempt.obstacle) {
            (
                MemorySource::NewHeap(size) | MemorySource::Committed(size),
                Obstacle::Device(E_OUTOFMEMORY),
            ) => Some(size),
            _ => None,
        };
        self.attempts.iter().filter(|_| self.fatal.is_none()).filter_map(of_attempt).min()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { attempts: Vec::new(), fatal: Some(error) }
    }
}

/// A request that no heap of its kind can serve.
impl From<PlacementError> for Refusal {
    fn from(error: PlacementError) -> Self {
        let (size, obstacle) = match error {
            PlacementError::TooLarge { requested } => {
                (requested, Obstacle::HeapSize { limit: ByteSize::ZERO })
            }
            PlacementError::NeedsOwnHeap { requested, largest } => {
                (requested, Obstacle::HeapSize { limit: largest })
            }
            PlacementError::OneHeapFull { requested } => (requested, Obstacle::HeapCount { limit: 1 }),
            PlacementError::NoUpperEnd { .. } => {
                return Error::invalid_argument("ResourceAllocationDesc::flags", error.to_string()).into();
            }
            error => return Error::invalid_argument("resource size", error.to_string()).into(),
        };
        Self::of(MemorySource::NewHeap(size), obstacle)
    }
}

impl Error {
    /// Creates an error, for crates that extend this one.
    #[doc(hidden)]
    pub fn invalid_argument(field: &'static str, rule: impl Into<String>) -> Self {
        Kind::InvalidArgument { field, rule: rule.into() }.into()
    }

    /// Creates an error, for crates that extend this one.
    #[doc(hidden)]
    pub fn unsupported(what: impl Into<String>) -> Self {
        Kind::Unsupported { what: what.into() }.into()
    }

    pub(crate) fn out_of_memory(shortage: Shortage) -> Self {
        Kind::OutOfMemory(shortage).into()
    }

    /// Creates the error for a request in `field` that exceeds every memory of the device, independent of limits and
    /// budgets.
    pub(crate) fn too_large(field: &'static str, rule: impl Into<String>) -> Self {
        Kind::TooLarge { field, rule: rule.into() }.into()
    }

    pub(crate) fn over_budget(over: &impl fmt::Display) -> Self {
        Kind::OverBudget(over.to_string()).into()
    }

    /// Adds which of several lists the error concerns.
    #[cold]
    pub(crate) fn in_list(self, number: usize) -> Self {
        match *self.kind {
            Kind::InvalidArgument { field, rule } => {
                Self::invalid_argument(field, format!("number {number} {rule}"))
            }
            kind => kind.into(),
        }
    }

    /// Adds that some of several lists were executed.
    #[cold]
    pub(crate) fn after_lists(self, executed: usize) -> Self {
        if executed == 0 {
            return self;
        }
        Kind::AfterLists { executed, error: self }.into()
    }

    /// Creates an error, for crates that extend this one.
    #[doc(hidden)]
    pub fn device(call: &'static str, hresult: HRESULT) -> Self {
        Kind::Device { call, hresult }.into()
    }

    /// Returns `true` if no memory was found in the allocator's heaps, on the device, or within limits and budget, or
    /// if no memory could ever hold the request.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match &*self.kind {
            Kind::OutOfMemory(_) | Kind::TooLarge { .. } | Kind::OverBudget(_) => true,
            Kind::Device { hresult, .. } => *hresult == E_OUTOFMEMORY,
            Kind::AfterLists { error, .. } => error.is_out_of_memory(),
            _ => false,
        }
    }

    /// Returns `true` if the operating system's budget or a limit of the allocator prevented the allocation. The device
    /// was then not asked for all of the memory.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        let shortage = match &*self.kind {
            Kind::OverBudget(_) => return true,
            Kind::AfterLists { error, .. } => return error.is_over_budget(),
            Kind::OutOfMemory(shortage) => shortage,
            _ => return false,
        };
        shortage.attempts.iter().any(|attempt| matches!(attempt.obstacle, Obstacle::Over(_)))
    }

    /// Returns `true` if the device was removed. Only a new device helps.
    #[must_use]
    pub fn is_device_removed(&self) -> bool {
        is_removed(self.hresult())
    }

    /// Returns `true` if an argument was invalid. The message names the field and the rule.
    #[must_use]
    pub fn is_invalid_argument(&self) -> bool {
        matches!(&*self.kind, Kind::InvalidArgument { .. })
    }

    /// Returns `true` if the device, or this version of heapwright, does not support the request.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(&*self.kind, Kind::Unsupported { .. })
    }

    /// Returns the HRESULT that a COM call would return: the device's own, or E_INVALIDARG, E_NOTIMPL or E_OUTOFMEMORY.
    /// A shortage under [`NEVER_FALLBACK`](crate::ResourceAllocationFlags::NEVER_FALLBACK) is E_FAIL, as in GPGMM.
    pub fn hresult(&self) -> HRESULT {
        match &*self.kind {
            Kind::OutOfMemory(shortage) if shortage.never_fallback => E_FAIL,
            Kind::OutOfMemory(_) | Kind::TooLarge { .. } | Kind::OverBudget(_) => E_OUTOFMEMORY,
            Kind::AfterLists { error, .. } => error.hresult(),
            Kind::Device { hresult, .. } => *hresult,
            Kind::InvalidArgument { .. } => E_INVALIDARG,
            Kind::Unsupported { .. } => E_NOTIMPL,
        }
    }
}

/// Checks whether an HRESULT means that the device was removed.
pub(crate) fn is_removed(hresult: HRESULT) -> bool {
    [
        DXGI_ERROR_DEVICE_REMOVED,
        DXGI_ERROR_DEVICE_HUNG,
        DXGI_ERROR_DEVICE_RESET,
        DXGI_ERROR_DRIVER_INTERNAL_ERROR,
    ]
    .contains(&hresult)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::InvalidArgument { field, rule } => write!(f, "{field}: {rule}"),
            Kind::TooLarge { field, rule } => write!(f, "{field}: {rule} (out of memory)"),
            Kind::Unsupported { what } => write!(f, "not supported: {what}"),
            Kind::Device { call, hresult } => write!(f, "{call} failed with {:#}", Named(*hresult)),
            Kind::OutOfMemory(shortage) => shortage.fmt(f),
            Kind::OverBudget(over) => write!(f, "out of memory: {over}"),
            Kind::AfterLists { executed, error } => {
                write!(f, "{error} (the first {executed} command lists were executed)")
            }
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, heap_type, holder, attempts, never_fallback: _ } = self;
        write!(f, "out of memory: cannot allocate {requested} in {heap_type} heaps")?;
        let held = holder.0.upgrade().map(|holder| holder.held_in(*heap_type));
        if let Some(HeldBytes { used, reserved, .. }) = held {
            write!(f, " ({used} used of {reserved} reserved)")?;
        }
        // An attempt that failed twice for the same reason is one to the reader.
        let mut different: Vec<&Attempt> = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            if !different.contains(&attempt) {
                different.push(attempt);
            }
        }
        for (place, same) in different.chunk_by(|one, next| one.obstacle == next.obstacle).enumerate() {
            f.write_str(if place == 0 { "; tried " } else { ", then " })?;
            for (place, attempt) in same.iter().enumerate() {
                write!(f, "{}{}", if place == 0 { "" } else { " and " }, attempt.source)?;
            }
            write!(f, ": {}", same[0].obstacle)?;
        }
        let says_budget = attempts.iter().any(|attempt| match attempt.obstacle {
            Obstacle::Over(row) => row.limit != Limit::HeapType,
            _ => false,
        });
        if let Some((usage, budget)) = held.and_then(|held| held.video_memory).filter(|_| !says_budget) {
            write!(f, " (current usage {usage}, budget {budget})")?;
        }
        Ok(())
    }
}

impl fmt::Display for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeldMemory => f.write_str("existing heaps"),
            Self::NewHeap(size) => write!(f, "a new heap of {size}"),
            Self::Placing => f.write_str("placing the resource"),
            Self::Committed(size) => write!(f, "a committed resource of {size}"),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(hresult) => write!(f, "{:#}", Named(*hresult)),
            Self::Over(Row { limit, held, most }) => match limit {
                Limit::HeapType => write!(f, "would exceed the limit of {most} ({held} reserved)"),
                Limit::BudgetShare { group, share, budget } => {
                    write!(f, "would exceed {share} of the {group} budget of {budget} ({held} reserved)")
                }
                Limit::Budget(group) => {
                    write!(f, "would exceed the {group} budget of {most} ({held} in use)")
                }
            },
            Self::HeapCount { limit } => write!(f, "the pool has reached its max_heap_count of {limit}"),
            Self::HeapSize { limit } => write!(f, "exceeds the maximum heap size of {limit}"),
            Self::NoRoom => f.write_str("no free range is large enough, and creating a heap is not allowed"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self { kind: Box::new(kind) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Full;

    impl HoldsMemory for Full {
        fn held_in(&self, _: HeapType) -> HeldBytes {
            let mib = ByteSize::from_mib(2);
            HeldBytes { reserved: mib, used: mib, video_memory: Some((mib, mib)) }
        }
    }

    #[test]
    fn a_shortage_says_each_attempt_once_and_the_budget_once() {
        let over = Obstacle::Over(Row {
            limit: Limit::Budget(SegmentGroup::Local),
            held: ByteSize::from_mib(2),
            most: ByteSize::from_mib(2),
        });
        let heap = Attempt { source: MemorySource::NewHeap(ByteSize::from_kib(64)), obstacle: over };
        let committed = Attempt { source: MemorySource::Committed(ByteSize::from_kib(60)), obstacle: over };
        let device = Attempt { source: MemorySource::Placing, obstacle: Obstacle::Device(E_OUTOFMEMORY) };
        let allocator = Arc::new(Full);
        let holder: Weak<Full> = Arc::downgrade(&allocator);
        let shortage = |attempts| Shortage {
            requested: ByteSize::from_kib(60),
            heap_type: HeapType::Default,
            holder: Holder(Weak::<Full>::clone(&holder)),
            attempts,
            never_fallback: false,
        };
        let attempts = vec![heap.clone(), committed.clone(), device.clone(), committed, heap, device.clone()];
        assert_eq!(
            Error::out_of_memory(shortage(attempts)).to_string(),
            "out of memory: cannot allocate 60.00 KiB in DEFAULT heaps (2.00 MiB used of 2.00 MiB reserved); tried a new heap of \
             64.00 KiB and a committed resource of 60.00 KiB: would exceed the local budget of 2.00 MiB (2.00 MiB in use), then \
             placing the resource: E_OUTOFMEMORY (0x8007000e)"
        );
        let error = Error::out_of_memory(shortage(vec![device]));
        assert!(error.to_string().ends_with("(current usage 2.00 MiB, budget 2.00 MiB)"), "{error}");
        drop(allocator);
        assert!(
            error
                .to_string()
                .ends_with(" in DEFAULT heaps; tried placing the resource: E_OUTOFMEMORY (0x8007000e)"),
            "{error}"
        );
    }
}
