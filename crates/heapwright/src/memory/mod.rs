//! The memory of a device: heaps of each kind, and their creation.
//!
//! Listed from the device up; each file uses only those above it.
//!
//! | file | contents |
//! |---|---|
//! | `devices`, `device_resource`, `debug_name` | calls of the device |
//! | `accounts`, `heap_time`, `refusal`, `managed` | limits and totals; the estimated time for heaps; reasons why there is no memory; memory that a residency manager manages |
//! | `source` | [`HeapSource`]: device, budget, limits and residency manager of an allocator |
//! | `pool_heaps`, `heap`, `placed_range`, `labels`, `striped` | the number of a pool's heaps; a heap; a range of one; names and user data; references that are counted per thread |
//! | `engine_desc`, `typed_heaps` | [`TypedHeaps`]: the heaps of one kind, the engine that divides them, and their store of empty heaps |
//! | `prefetch`, `nesting`, `idle_clock`, `idle_thread` | heaps that are created in advance; the state that nested allocators share; the time after which idle memory is released |
//! | `heap_kinds` | [`HeapKinds`]: all heaps of an allocator, and the order in which they are released |
//! | `heap_request`, `committed` | the steps by which a request gets memory; a committed resource |

mod accounts;
mod committed;
mod debug_name;
mod device_resource;
mod devices;
mod engine_desc;
mod heap;
mod heap_kinds;
mod heap_request;
mod heap_time;
mod idle_clock;
mod idle_thread;
mod labels;
mod managed;
mod nesting;
mod placed_range;
mod placing;
mod pool_heaps;
mod prefetch;
mod prefetcher;
mod refusal;
mod siblings;
mod source;
mod spare_heaps;
mod striped;
mod typed_heaps;

pub(crate) use self::accounts::{Account, Charge, Charged};
pub(crate) use self::committed::OwnResource;
pub(crate) use self::debug_name::set as set_debug_name;
pub(crate) use self::device_resource::{Refused, check_interfaces, create_placed};
pub(crate) use self::engine_desc::engine_desc;
pub(crate) use self::heap::Heap;
pub(crate) use self::heap_kinds::{HeapKind, HeapKinds};
pub(crate) use self::heap_request::HeapRequest;
pub use self::heap_request::PredictedMemory;
pub use self::labels::AllocationId;
pub(crate) use self::labels::{BackingAddress, Label, Labels, next_number};
pub use self::managed::MemoryReference;
pub(crate) use self::managed::{KeptResident, place_resident};
pub(crate) use self::nesting::Owner;
pub(crate) use self::placed_range::PlacedRange;
pub(crate) use self::refusal::Refusal;
pub(crate) use self::source::HeapSource;
pub(crate) use self::spare_heaps::SpareHeaps;
pub(crate) use self::striped::{Stripe, Striped};
pub(crate) use self::typed_heaps::HeapsShare;
pub(crate) use self::typed_heaps::{Recycling, Sharing, TypedHeaps, TypedHeapsDesc};
