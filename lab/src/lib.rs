//! Comparisons of heapwright with other projects, on the same operations. The programs are in `bin`; README.md
//! describes them.
//!
//! | module | contents |
//! |---|---|
//! | [`rival`] | the trait that suballocators implement to take part |
//! | [`rivals`] | the suballocators, including ours, and the lists of who takes part in which workloads |
//! | [`workload`] | the workloads; operations are generated before the clock starts, from a fixed seed |
//! | [`interleave`] | runs a workload with all rivals alternately, in rounds |
//! | [`suite`] | all workloads, timed for the report, or with each result checked |
//! | [`gpu`] | the runtime's Vulkan driver on a GPU, beside plain Vulkan and VMA |
//! | [`growth`] | how the time of an allocator grows with the number of live buffers, beside VMA and gpu-allocator |
//! | [`memory`] | heapwright beside VMA and gpu-allocator with memory of a device: held bytes and modelled time |
//! | [`residency`] | the library's eviction policies beside D3DX12Residency's rules |
//! | [`report`] | the report, as markdown; a run fails if a rival refuses what others serve |

pub mod gpu;
pub mod growth;
pub mod interleave;
pub mod memory;
pub mod random;
pub mod report;
pub mod residency;
pub mod rival;
pub mod rivals;
pub mod suite;
pub mod workload;
