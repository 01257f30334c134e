//! Captures of GPGMM: recordings of Direct3D 12 applications as Chrome trace events (JSON).
//!
//! [`Trace`](crate::Trace) and [`RecordReader`](crate::RecordReader) read captures from any version of GPGMM with the
//! recording flags of `RECORD_FLAG_CAPTURE`, which are API objects and API calls. They are read as a stream; an event
//! has at most 4 MiB.
//!
//! # What is read
//!
//! A capture is an object with the array `traceEvents`, or that array alone. Events are read in the order of the file,
//! as GPGMM's own replay does. GPGMM writes the events of one thread after those of another, so a time that is less
//! than that of an earlier event is replaced by it. Object names of all versions are recognized, such as
//! `GPUMemoryAllocation`, `ResourceAllocation` and `IResourceAllocation`.
//!
//! - A call of `CreateResource` and the next new allocation of the same thread are an allocation. Its size is the width
//!   of a buffer. That of a texture follows from its description, without the device's padding.
//! - An allocation without such a call, as one that imports a resource, has the size of its first snapshot, and exists
//!   from there on. Without a snapshot, its size is unknown, and it is skipped.
//! - The first snapshot of an allocator has the options of all: algorithms, heap sizes, fragmentation limit and growth
//!   factor.
//! - An allocation that is deleted is freed. GPGMM's ids are addresses, which it reuses; allocations and heaps are
//!   numbered instead, from 0.
//! - A heap exists from its first snapshot on. The snapshot of an allocation, in captures until 2022, is its placement
//!   in a heap.
//! - A call of `ExecuteCommandLists` defines residency sets and is a submission.
//!
//! Counters, timings, messages, pools, and events of other programs are skipped, as are fields that are not listed.
//! JSON that is invalid or incomplete, a new object that exists already, an allocation that is deleted without having
//! been created, a resource description whose size is unknown, and a file without any event of GPGMM are errors with an
//! offset in the file.

mod capture;
mod event;
mod json;
mod size;
mod writer;

pub use writer::CaptureWriter;

pub(crate) use capture::Capture;
