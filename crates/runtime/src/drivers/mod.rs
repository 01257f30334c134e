//! Drivers, which implement the [`ddi`](crate::ddi).
//!
//! * [`host`]: a simulated GPU whose memory is the host's.
#![cfg_attr(feature = "vulkan", doc = "* [`vulkan`]: GPUs with a Vulkan driver.")]
//!
//! The drivers share what does not depend on where memory is:
//!
//! * [`layout`]: the layout of textures.
//! * `free_addresses`, `address_owners`, `address_space`: GPU virtual addresses: free ones, their owners, and what they mean.
//! * `resource`, `tiles`, `reserved`: resources, the tiles of reserved ones, and their addresses.
//! * `segment`: usage of the segment groups, with capacity and budget.
//! * `queue`: queues' threads.
//! * `reservation`: address space of the host.
//! * `execute`, `texels`: execution of commands, by means of a driver's `gpu_memory`.
//! * `page_fault`: accesses that the GPU could not perform.

mod address_owners;
mod address_space;
mod execute;
mod free_addresses;
pub(crate) mod gpu_memory;
pub(crate) mod host;
pub(crate) mod layout;
mod page_fault;
pub(crate) mod queue;
mod reservation;
mod reserved;
pub(crate) mod resource;
mod segment;
mod texels;
pub(crate) mod tiles;
#[cfg(feature = "vulkan")]
pub(crate) mod vulkan;

use heapwright_core::Alignment;

/// The alignment of buffers without tight alignment, and the granularity of explicit heaps.
const KIB_64: Alignment = alignment(64 * 1024);

/// VidMm's granularity, to which committed resources with tight alignment are aligned.
const KIB_4: Alignment = alignment(4 * 1024);

const fn alignment(bytes: u64) -> Alignment {
    match Alignment::new(bytes) {
        Some(alignment) => alignment,
        None => panic!("not a power of two"),
    }
}
