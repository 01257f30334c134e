//! What can go wrong.

use std::fmt;

use heapwright_core::ByteSize;
use heapwright_core::residency::OverBudget;
use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::{
    DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_RESET,
    DXGI_ERROR_DRIVER_INTERNAL_ERROR, E_FAIL, E_INVALIDARG, E_NOTIMPL, E_OUTOFMEMORY,
};
use windows_core::HRESULT;

use crate::{HeapType, SegmentGroup};

/// What can go wrong, with what was asked and what stood in the way.
///
/// A caller has few reactions to choose from, and asks for them: [`is_out_of_memory`](Self::is_out_of_memory) (free
/// something, or use less), [`is_over_budget`](Self::is_over_budget) (the same, though the device might have had more),
/// [`is_device_removed`](Self::is_device_removed) (begin anew),
/// [`is_invalid_argument`](Self::is_invalid_argument) (the call was wrong), [`is_unsupported`](Self::is_unsupported)
/// (the device or this version does not have it). Printed, it is one line.
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
    /// More than any memory of the device holds.
    TooLarge {
        field: &'static str,
        rule: String,
    },
    /// What must be resident at the same time is more than the budget.
    OverBudget(OverBudget),
    Device {
        call: &'static str,
        hresult: HRESULT,
    },
    /// After so many of several lists were executed.
    AfterLists {
        executed: usize,
        error: Error,
    },
}

/// An allocation that found no memory: what was asked, what was tried, what is in use.
#[derive(Debug, Clone)]
pub(crate) struct Shortage {
    pub(crate) requested: ByteSize,
    pub(crate) heap_type: HeapType,
    /// What the allocator holds in heaps of this type and kind, and how much of it is in use.
    pub(crate) reserved: ByteSize,
    pub(crate) used: ByteSize,
    /// Usage and budget of the segment group, where the adapter is known.
    pub(crate) video_memory: Option<(ByteSize, ByteSize)>,
    /// In the order in which it was tried.
    pub(crate) attempts: Vec<Attempt>,
    /// GPGMM answers E_FAIL to NEVER_FALLBACK.
    pub(crate) never_fallback: bool,
}

/// A source of memory that was tried, and why it had none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) source: MemorySource,
    pub(crate) obstacle: Obstacle,
}

/// Where memory may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemorySource {
    /// Room in what is held.
    HeldMemory,
    /// A new heap of this size.
    NewHeap(ByteSize),
    /// Placing the resource in room that was found.
    Placing,
    /// A committed resource of this size.
    Committed(ByteSize),
}

/// What stood in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// What the device answered.
    Device(HRESULT),
    /// The allocator's limit for the heap type.
    Limit { limit: ByteSize, held: ByteSize },
    /// The operating system's budget.
    Budget { group: SegmentGroup, budget: ByteSize, usage: ByteSize },
    /// As many heaps as the pool may have.
    HeapCount { limit: u64 },
    /// A heap size that is not allowed.
    HeapSize { limit: ByteSize },
    /// There is no room, and no heap may be created.
    NoRoom,
}

impl Error {
    pub(crate) fn invalid_argument(field: &'static str, rule: impl Into<String>) -> Self {
        Kind::InvalidArgument { field, rule: rule.into() }.into()
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Kind::Unsupported { what: what.into() }.into()
    }

    pub(crate) fn out_of_memory(shortage: Shortage) -> Self {
        Kind::OutOfMemory(shortage).into()
    }

    /// What `field` asks for is more than any memory of the device holds, and no limit or budget is to blame.
    pub(crate) fn too_large(field: &'static str, rule: impl Into<String>) -> Self {
        Kind::TooLarge { field, rule: rule.into() }.into()
    }

    pub(crate) fn over_budget(over: OverBudget) -> Self {
        Kind::OverBudget(over).into()
    }

    /// Says which of several lists it is about.
    #[cold]
    pub(crate) fn in_list(self, number: usize) -> Self {
        match *self.kind {
            Kind::InvalidArgument { field, rule } => {
                Self::invalid_argument(field, format!("number {number} {rule}"))
            }
            kind => kind.into(),
        }
    }

    /// Says that some of several lists were executed.
    #[cold]
    pub(crate) fn after_lists(self, executed: usize) -> Self {
        if executed == 0 {
            return self;
        }
        Kind::AfterLists { executed, error: self }.into()
    }

    pub(crate) fn device(call: &'static str, hresult: HRESULT) -> Self {
        Kind::Device { call, hresult }.into()
    }

    /// There is no memory for it, neither in the allocator's heaps nor from the device, nor within limits and budget; or none could ever
    /// hold it.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match &*self.kind {
            Kind::OutOfMemory(_) | Kind::TooLarge { .. } | Kind::OverBudget(_) => true,
            Kind::Device { hresult, .. } => *hresult == E_OUTOFMEMORY,
            Kind::AfterLists { error, .. } => error.is_out_of_memory(),
            _ => false,
        }
    }

    /// The operating system's budget stood in the way, or a limit of the allocator's: the device was not asked for all of it.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        let shortage = match &*self.kind {
            Kind::OverBudget(_) => return true,
            Kind::AfterLists { error, .. } => return error.is_over_budget(),
            Kind::OutOfMemory(shortage) => shortage,
            _ => return false,
        };
        let over =
            |attempt: &Attempt| matches!(attempt.obstacle, Obstacle::Budget { .. } | Obstacle::Limit { .. });
        shortage.attempts.iter().any(over)
    }

    /// The device is gone; only a new one helps.
    #[must_use]
    pub fn is_device_removed(&self) -> bool {
        is_removed(self.hresult())
    }

    /// The call itself was wrong; the message names the field and the rule.
    #[must_use]
    pub fn is_invalid_argument(&self) -> bool {
        matches!(&*self.kind, Kind::InvalidArgument { .. })
    }

    /// The device, or this version of heapwright, does not have what was asked for.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(&*self.kind, Kind::Unsupported { .. })
    }

    /// What a COM call would answer: the device's own answer, or E_INVALIDARG, E_NOTIMPL, E_OUTOFMEMORY; E_FAIL for a shortage
    /// under [`NEVER_FALLBACK`](crate::ResourceAllocationFlags::NEVER_FALLBACK), as document GPGMM has it.
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

/// Whether an answer means that the device is gone.
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
            Kind::Unsupported { what } => write!(f, "{what} is not supported"),
            Kind::Device { call, hresult } => write!(f, "{call} answered {:#}", Named(*hresult)),
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
        let Self { requested, heap_type, reserved, used, video_memory, attempts, never_fallback: _ } = self;
        write!(
            f,
            "out of memory: no room for {requested} in {heap_type} heaps ({used} used of {reserved} held)"
        )?;
        for (place, attempt) in attempts.iter().enumerate() {
            write!(f, "{} {attempt}", if place == 0 { "; tried" } else { ", then" })?;
        }
        if let Some((usage, budget)) = video_memory {
            write!(f, " ({usage} of the budget of {budget} in use)")?;
        }
        Ok(())
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            MemorySource::HeldMemory => f.write_str("what is held")?,
            MemorySource::NewHeap(size) => write!(f, "a heap of {size}")?,
            MemorySource::Placing => f.write_str("placing it")?,
            MemorySource::Committed(size) => write!(f, "a committed resource of {size}")?,
        }
        match self.obstacle {
            Obstacle::Device(hresult) => write!(f, ": {:#}", Named(hresult)),
            Obstacle::Limit { limit, held } => write!(f, ": the limit is {limit} and {held} are held"),
            Obstacle::Budget { group, budget, usage } => {
                write!(f, ": the {group} budget is {budget} and {usage} are in use")
            }
            Obstacle::HeapCount { limit } => write!(f, ": the pool has its {limit} heaps"),
            Obstacle::HeapSize { limit } => write!(f, ": no heap may be larger than {limit}"),
            Obstacle::NoRoom => f.write_str(": no room, and no heap may be created"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self { kind: Box::new(kind) }
    }
}
