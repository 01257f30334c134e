//! Memory snapshots of PyTorch: what `torch.cuda.memory._dump_snapshot` writes, as a pickle or converted to JSON.
//!
//! [`Trace`](crate::Trace) and [`RecordReader`](crate::RecordReader) read snapshots whose history was recorded
//! (`torch.cuda.memory._record_memory_history`). A pickle is data for a small machine that can also call any Python
//! function. Only its instructions for data are followed; what a call would return is unknown and ignored.
//!
//! # What is read
//!
//! - `device_traces`, a list of entries for each GPU. `alloc` is an allocation of `size` bytes, and `free_completed`
//!   frees it. A GPU without any `free_completed` is read with `free_requested` instead. Events of all GPUs are in the
//!   order of `time_us`, which counts from the first entry.
//! - Memory that is freed, or in use at the end according to `segments`, without an `alloc` was allocated before the
//!   history began. It is allocated at its beginning.
//! - `segments`, `segment_alloc` and `segment_free` are PyTorch's own heaps, in which the allocations are placed. A
//!   snapshot with expandable segments, which grow (`segment_map`), has no heaps.
//! - The first function in a `.py` file among an allocation's `frames` is its name: `forward (model.py:12)`. All names
//!   together have at most 32 MiB; later allocations have none.
//!
//! Other entries (`oom`, `snapshot`) are skipped, as are keys that are not named here. Allocations of 0 bytes are
//! skipped. A snapshot has at most 2^25 values and 1 GiB, which bounds the memory for malicious files.

mod history;
mod json;
mod pickle;
mod records;
mod values;

pub(crate) use records::Snapshot;
