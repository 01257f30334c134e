//! A ledger of residency counts, to verify that calls of `MakeResident` and `Evict` balance.
//!
//! Every pageable object of a GPU (heap, committed resource, descriptor heap or query heap) has a residency count. It
//! starts at one, or at zero with `D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT`. `MakeResident` and `EnqueueMakeResident`
//! increment it; `Evict` decrements it. D3D12 allows any count, but a program that manages residency usually means one
//! for *resident* and zero for *evicted*: an object with a count of two is not paged out by one `Evict`, and D3D12
//! provides no way to detect this. [`Instance::residency`](crate::Instance::residency) does, and
//! [`ResidencyReport::check_balance`] lists each such object.
//!
//! # The identity
//!
//! Let *in* be the changes from zero to one and *out* the changes from one to zero. In objects as well as in bytes:
//!
//! ```text
//! created resident + in = out + released while resident + resident now
//! ```
//!
//! The identity holds in every report, because a single lock orders all changes: a call of `MakeResident`,
//! `EnqueueMakeResident` or `Evict` counts completely or, if it is refused, not at all. The resident bytes equal the
//! sum of `CurrentUsage` of both segment groups whenever no object is being created or released.

mod ledger;
mod report;

pub(crate) use ledger::Call;
pub(crate) use ledger::{PageableRecord, ResidencyLedger};
pub use report::{
    CountedObject, PageableKind, PagedObjects, PagingCalls, ResidencyImbalance, ResidencyReport,
};
