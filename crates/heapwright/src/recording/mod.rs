//! Recording of what an application does with GPU memory, for `heapwright replay`, `residency`, `recreate` and
//! `report`, and for Perfetto and chrome://tracing.
//!
//! [`RecordOptions`](crate::RecordOptions) in the description of an allocator or of a residency manager select the
//! events and the file. Without them, the environment variable `HEAPWRIGHT_RECORD` switches recording on in any program
//! that uses this library, except programs on Linux that have more rights than their user (set-uid).
//!
//! | variable | meaning |
//! |---|---|
//! | `HEAPWRIGHT_RECORD` | Path of the file. `%p` stands for the number of the process. |
//! | `HEAPWRIGHT_RECORD_FLAGS` | The events: `objects`, `calls`, `timings`, `counters`, `capture` (objects and calls), `all`; commas separate several. Without it, all. |
//!
//! If the file cannot be written, the error is logged and the program goes on; [`check_environment`] returns the error.
//!
//! # Files
//!
//! A file that ends with `.hws` is a session, the binary format of the crate `heapwright-trace`. One that ends with
//! `.json` is a Chrome trace, with the events of GPGMM of January 2024, whose capture replay reads it. Objects have
//! lifetimes and snapshots (`N`, `D` and `O` events), calls and their parameters are instants, timings are complete
//! events (`X`), and counters are counter tracks. The program `heapwright` reads both; only a session has everything
//! that an exact replay needs.
//!
//! With [`RecordScope::PerProcess`](crate::RecordScope::PerProcess), all instances that name the same file write to it
//! together, until the process ends. So do, with the flags of the first of them, instances without options that are
//! created on its device while it lives. With [`PerInstance`](crate::RecordScope::PerInstance), the file belongs to one
//! instance, and naming one that is being written is an error; without a name, each instance has a new file.
//!
//! | flag | what is recorded |
//! |---|---|
//! | `API_OBJECTS` | allocators, managers, heaps, allocations with their placement and name, in sessions also the tiles of reserved resources ([`record_reserved`](crate::ResourceAllocator::record_reserved)); in Chrome traces also residency lists, and how each heap was created |
//! | `API_CALLS` | the descriptions of allocations, frames and idle periods, pools, defragmentations, requests that failed, dropped allocators, submissions and paging, contents; in Chrome traces each call, also if it failed |
//! | `API_TIMINGS` | the duration of these calls (Chrome traces only) |
//! | `COUNTERS` | budget, usage, resident bytes; reserved and used bytes and fragmentation of each allocator; at most every 10 ms, or after each allocation with `use_detailed_timing_events`, and by `record_counters` of allocators and managers |
//!
//! Calls have GPGMM's names, such as `ResourceAllocator.CreateResource`, `ResourceAllocation.Unmap` or
//! `ResidencyManager.SetVideoMemoryReservation`. Those that only return what an object holds are not recorded
//! (`GetInfo`, `GetResource`, `GetGPUVirtualAddress`, `GetMemory`, `GetDebugName` and their like), nor are application
//! data and callbacks. A call that failed has the error as its `Description`, and GPGMM's replay passes over it. A
//! residency list is recorded with its first heap, by which its manager is known; the destruction of a pool, of an
//! allocator's last handle, and paging have no duration.
//!
//! [`ResourceAllocation::record_contents`](crate::ResourceAllocation::record_contents) records the bytes of a buffer
//! that the CPU can access, and [`record_bytes`](crate::ResourceAllocation::record_bytes) those of any other.
//!
//! # What a replay repeats
//!
//! `heapwright replay --profile captured` makes the same calls with the same settings, and on the same device every
//! size, offset and heap is the same: with pools, nested allocators, prefetched heaps, defragmentations, memory without
//! resources (also that of transient frames), imports and requests that fail, too. Of a session with objects and calls,
//! it compares each placement, heap, offset, move and failure, and the bytes that allocators held where counters are
//! recorded. The first difference is an error, with exit code 1. It has one of these causes:
//!
//! * calls of several threads are repeated in the order in which they were recorded, which may not be that in which
//!   they took effect;
//! * another allocator of the process, which is not in the file, has released its empty heaps for one that is, or the
//!   other way round;
//! * budgets, and what the device refuses, are those of the replay, which has no residency manager;
//! * deferred frees are recorded when they happen, also if that is during a request that is short of memory;
//! * a resource in a `D3D12_BARRIER_LAYOUT` is created in state COMMON, without castable formats and clear value, and a
//!   pool in a protected session outside of it; imported resources are committed ones.
//!
//! # Threads, crashes and cost
//!
//! Calls put their events in a queue, and a thread writes them four times per second. Each time, the file is complete,
//! so that a crash loses the events of the last moment only. A call that finds the queue full, with 65,536 events or
//! 256 MiB of contents and lists of heaps, waits for the writer: no event is lost. If writing fails, as on a full disk,
//! or makes no progress for ten seconds, an error is logged, and nothing more is recorded; likewise when a session
//! reaches a [limit of its format](heapwright_trace::session#format), as with 4,194,304 allocations and frees. The file
//! is complete then, and can be read. Events of several threads are in the order in which they enter the queue; a heap
//! that another thread destroys while a call submits, evicts or pages it in may be missing from that call. The file is
//! also written when an instance and all that it created are dropped. With the last one in the file, the thread ends,
//! so that a library with this code can be unloaded. The call waits for that. On Windows, no thread ends while
//! `DllMain` executes, so a DLL must not drop it there, nor in destructors of static C++ objects: the call would not
//! return.
//!
//! While a recording is made, calls do what threads of the allocator do otherwise, so that a replay does it at the same
//! moment: they release what was empty for too long, and create the heaps that are prefetched, for which they take
//! longer. Without a recording, an allocation costs one load and one branch more.

mod environment;
mod gpgmm_fields;
mod instance;
mod object;
mod object_name;
mod recorder;
mod thread_names;

pub use self::environment::check_environment;
pub(crate) use self::gpgmm_fields::{
    HeapMemory, allocator_fields, clear_value_fields, failure_args, name_args, resource_call,
};
pub(crate) use self::instance::Recording;
pub(crate) use self::object::{
    COMPLETE_MOVE, MAP, Recorded, RecordedAllocation, RecordedMapping, RecordedMove, RecordedOptions, UNMAP,
};
pub(crate) use self::object_name::object_name;
pub(crate) use heapwright_trace::chrome::{CREATE_HEAP, CREATE_RESOURCE};
pub(crate) use heapwright_trace::stream::{Allocated, Event, InstanceKind, Settings};
