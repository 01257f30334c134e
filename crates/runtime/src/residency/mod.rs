//! A ledger of residency: proof that `MakeResident` and `Evict`, which are reference counts, balance.
//!
//! Every pageable object of a GPU has a count: a heap, a committed resource, a descriptor heap, a query heap. It begins at one,
//! or at zero with `D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT`; `MakeResident` and `EnqueueMakeResident` add one, and `Evict` takes one
//! away. D3D12 allows any count, but a program that manages residency means *resident* by one and *evicted* by zero: what is
//! counted twice is not paged out by one `Evict`, and D3D12 offers no way to see that.
//! [`Instance::residency`](crate::Instance::residency) does, and [`ResidencyReport::check_balance`] names each such object.
//!
//! # The identity
//!
//! With *in* for what came from zero to one and *out* for what went from one to zero, of objects as well as of bytes:
//!
//! ```text
//! created resident + in = out + released while resident + resident now
//! ```
//!
//! It holds in each report, as one lock orders all changes: a call of `MakeResident`, `EnqueueMakeResident` or `Evict` counts
//! whole, or, when it is refused, not at all. The bytes that are resident are the `CurrentUsage` of both segment groups whenever
//! no object is being created or released.

mod ledger;
mod report;

pub(crate) use ledger::Call;
pub(crate) use ledger::{PageableRecord, ResidencyLedger};
pub use report::{
    CountedObject, PageableKind, PagedObjects, PagingCalls, ResidencyImbalance, ResidencyReport,
};
