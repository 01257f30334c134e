//! The driver of an adapter, which is the same over all memory, and the memory of GPUs.
//!
//! * `driver`: adapters and devices, over a `Backend`: what GPUs differ in; `GpuMemory`: a queue's access to memory.
//! * `heap`: heaps and their residency, over `HeapMemory`. `paging_work`: what is left to do when a call has counted.
//! * `free_addresses`, `address_owners`, `address_space`: GPU virtual addresses: free ones, their owners, and what they
//!   mean.
//! * `segment`: usage of the segment groups, with capacity and budget.
//! * `resource`, `tiles`, `reserved`: resources, the tiles of reserved ones, and their addresses.
//! * [`layout`]: the layout of textures.
//! * `command`: commands and other work for queues. `queue`: queues' threads.
//! * `execute`, `texels`: execution of commands, by means of a GPU's `GpuMemory`.
//! * `noise`: undefined bytes, which are written when they are read.
//! * `page_fault`: accesses that the GPU could not perform. `removal_sink`: who hears that the device is lost.
//! * `reservation`: address space of the host.
//!
//! The backends:
//!
//! * [`host`]: a simulated GPU whose memory is the host's.
#![cfg_attr(feature = "vulkan", doc = "* [`vulkan`]: GPUs with a Vulkan driver.")]

mod address_owners;
mod address_space;
pub(crate) mod command;
pub(crate) mod driver;
mod execute;
mod free_addresses;
pub(crate) mod heap;
pub(crate) mod host;
pub(crate) mod layout;
mod noise;
mod page_fault;
pub(crate) mod paging_work;
pub(crate) mod queue;
pub(crate) mod removal_sink;
mod reservation;
pub(crate) mod reserved;
pub(crate) mod resource;
mod segment;
pub(crate) mod texels;
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
