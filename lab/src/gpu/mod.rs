//! Measures the runtime's Vulkan driver on a GPU, beside plain Vulkan and VMA on the same device.
//!
//! | module | contents |
//! |---|---|
//! | [`queue`] | a D3D12 queue with a list, and the calls on it |
//! | [`plain`] | plain Vulkan: memory, mapping, copies |
//! | [`bandwidth`] | CPU writes, copies, eviction and return |
//! | [`cost`] | the time to create placed buffers and allocations |
//! | [`residency`] | a working set of four times the budget |
//! | [`traces`] | the recorded traces, beside VMA |
//! | [`table`] | the table |

pub mod bandwidth;
pub mod cost;
pub mod plain;
pub mod queue;
pub mod residency;
pub mod table;
pub mod traces;

/// Any error ends a measurement, and is written in its row.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes of a GiB.
pub const GIB: u64 = 1 << 30;
