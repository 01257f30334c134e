//! Measurements of the time that an allocator takes with more and more live buffers, on this machine.
//!
//! heapwright is on the simulated GPU, whose `CreatePlacedResource` is part of its time; VMA and gpu-allocator are on
//! the Vulkan device of [`memory::vulkan_device`](crate::memory::vulkan_device), whose functions do nearly nothing.
//!
//! | module | contents |
//! |---|---|
//! | [`replacement`] | a buffer is freed and another one is created |
//! | [`defragmentation`] | the longest step of a defragmentation |

pub mod defragmentation;
pub mod replacement;

use heapwright_core::ByteSize;

use crate::random::Random;

/// The unit of the buffers' sizes: the alignment of buffers on both devices.
const UNIT: ByteSize = ByteSize::new(256);
/// The largest buffer has so many units: 64 KiB.
const MOST_UNITS: u32 = 256;

/// A time that was measured with a number of live buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Name of the allocator.
    pub allocator: &'static str,
    /// Number of live buffers.
    pub live: usize,
    /// The time, in microseconds.
    pub microseconds: f64,
}

/// Returns a random index of a list that is not empty.
fn index_in<T>(list: &[T], random: &mut Random) -> usize {
    random.below(u32::try_from(list.len()).unwrap_or(u32::MAX)) as usize
}
