//! Compares allocators by the device memory that they take: what it costs in time, and how much of it they hold.
//!
//! Each trace is replayed through heapwright on the simulated GPU, and through VMA and gpu-allocator on a Vulkan device
//! of our own ([`vulkan_device`]) that has no memory behind it but notes every call. All of their calls that create and
//! free memory are priced by the same [`prices`], so the figures are the same in every run and on every machine, except
//! those of gpu-allocator, whose choice among free ranges of the same size is random.
//!
//! | module | contents |
//! |---|---|
//! | [`allocators`] | the trait of allocators that take part, and the replay of a trace |
//! | [`ours`] | heapwright on the simulated GPU, with its defaults and with GPGMM's strategy |
//! | [`peers`] | VMA and gpu-allocator |
//! | [`d3d12ma`] | D3D12MA's rules for heaps |
//! | [`devices`] | all of them on devices with other prices |
//! | [`vulkan_device`] | the Vulkan device that notes calls |
//! | [`prices`] | the times of calls that create and free memory |
//! | [`meter`] | adds up calls and computes the figures |
//! | [`comparison`] | all traces and workloads through all allocators |
//! | [`curves`] | the held memory over the time of a trace |
//! | [`table`] | `MEMORY.md`: written, and verified |

pub mod allocators;
pub mod comparison;
pub mod curves;
pub mod d3d12ma;
pub mod devices;
pub mod meter;
pub mod ours;
pub mod peers;
pub mod prices;
pub mod table;
pub mod vulkan_device;
