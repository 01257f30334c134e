//! The memory of a heap, and its way between the device and the host.
//!
//! ```text
//!                    begin_return              end_return
//!            ┌────────────────────► Arriving ─────────────┐
//!            │                         │                  ▼
//!  ──────► Away ◄──────────────────────┘                Here
//!   new      ▲          begin_leaving                   │  ▲
//!            │                                          │  │ begin_return
//!            └──────────────────── Leaving ◄────────────┘  │
//!                     end_leaving    │   begin_leaving     │
//!                                    └─────────────────────┘
//! ```
//!
//! A transition that fails leaves the heap in the state before. When the device is lost, each heap is away without its
//! bytes.

use std::ptr::NonNull;
use std::sync::Arc;

use ash::vk::Handle as _;
use heapwright_core::ByteSize;

use super::device_addresses::Claim;
use super::host_memory::HostPart;
use super::memory::{Buffer, DeviceAddress};
use super::paging_engine::{Direction, PagingEngine};
use crate::ddi::DriverError;
use crate::drivers::heap::{HeapMemory, NORMAL_PRIORITY, Usable};

/// The memory that a heap has, or would have.
pub(super) struct MemoryArgs {
    pub(super) memory_type: u32,
    pub(super) size: ByteSize,
    /// Its addresses on the device, if it has any.
    pub(super) claim: Option<Claim>,
    /// Whether new memory is filled with zeros.
    pub(super) zeroed: bool,
    /// Whether the CPU accesses the memory. It has pointers to it, so such memory is created with the heap and stays.
    pub(super) cpu_accessible: bool,
}

impl MemoryArgs {
    /// Returns the address of the heap's buffers.
    pub(super) fn address(&self) -> DeviceAddress {
        self.claim.as_ref().map_or(DeviceAddress::None, Claim::address)
    }
}

/// The memory of a heap.
///
/// # Invariants
///
/// The paging engine uses the buffer and the copies in host memory only until `work` is done. Queues use the buffer
/// only while the heap is here, and the caller of a transition has waited for them.
pub(super) struct VulkanMemory {
    paging: Paging,
    /// Dropped after the buffer.
    args: MemoryArgs,
    priority: f32,
    /// The value of the engine's timeline at which its work on the heap is done.
    work: u64,
    engine: Arc<PagingEngine>,
}

/// Where the bytes of a heap are.
enum Paging {
    /// In host memory, or nowhere before the heap is resident for the first time.
    Away(Vec<HostPart>),
    /// In host memory, from which the GPU is to copy them to the buffer; or zeros to be written there. Nothing else
    /// writes to it.
    Arriving(Buffer, Vec<HostPart>),
    /// In device memory.
    Here(Buffer),
    /// In device memory, from which the GPU is to copy them to host memory.
    Leaving(Buffer, Vec<HostPart>),
    /// In memory that the CPU has pointers to, which stays.
    Pinned { buffer: Buffer, is_evicted: bool },
}

impl VulkanMemory {
    /// Creates the memory of a heap: at once if the heap is to be resident or the CPU accesses it, and nowhere yet
    /// otherwise.
    pub(super) fn create(
        args: MemoryArgs,
        is_resident: bool,
        engine: &Arc<PagingEngine>,
    ) -> Result<Self, DriverError> {
        let (paging, engine) = (Paging::Away(Vec::new()), Arc::clone(engine));
        let has_memory = is_resident || args.cpu_accessible;
        let mut created = Self { args, paging, priority: NORMAL_PRIORITY, work: 0, engine };
        if has_memory {
            created.begin_return()?;
            // Queues wait for the zeros by themselves.
            created.arrive();
        }
        Ok(created)
    }

    /// Creates the buffer of a heap that is away, and has the GPU fill it.
    fn bring(&mut self, copy: &[HostPart]) -> Result<Buffer, DriverError> {
        let MemoryArgs { memory_type, size, zeroed, .. } = self.args;
        let address = self.args.address();
        let buffer = self.engine.create_memory(size.get(), memory_type, self.priority, address)?;
        if !copy.is_empty() {
            self.work = self.engine.copy(&buffer, copy, size.get(), Direction::ToDevice)?;
        } else if zeroed {
            self.work = self.engine.zero(buffer.handle(), 0, size.get())?;
        }
        Ok(buffer)
    }

    /// Ends the arrival, if there is one.
    fn arrive(&mut self) {
        self.paging = match self.take() {
            Paging::Arriving(buffer, _) if self.args.cpu_accessible => {
                Paging::Pinned { buffer, is_evicted: false }
            }
            Paging::Arriving(buffer, _copy) => Paging::Here(buffer),
            other => other,
        };
    }

    /// Has the GPU copy the bytes of a heap that is here to host memory.
    fn send(&mut self, buffer: &Buffer) -> Result<Vec<HostPart>, DriverError> {
        let size = self.args.size.get();
        let copy = self.engine.host_memory(size)?;
        self.work = self.engine.copy(buffer, &copy, size, Direction::ToHost)?;
        Ok(copy)
    }

    fn finish_work(&mut self) -> Result<(), DriverError> {
        // The only reason is the loss of the device.
        self.engine.wait(self.work).inspect_err(|_| self.lose())
    }

    /// Frees the memory of a lost device, which does not use it any more.
    fn lose(&mut self) {
        let _ = self.engine.wait(self.work);
        if !self.args.cpu_accessible {
            self.paging = Paging::Away(Vec::new());
        }
    }

    /// Takes the state, to be replaced.
    fn take(&mut self) -> Paging {
        std::mem::replace(&mut self.paging, Paging::Away(Vec::new()))
    }
}

impl HeapMemory for VulkanMemory {
    fn usable(&self) -> Option<Usable> {
        match &self.paging {
            Paging::Here(buffer) | Paging::Pinned { buffer, .. } => {
                Some(Usable { handle: buffer.handle().as_raw(), offset: 0, from: self.work })
            }
            Paging::Away(_) | Paging::Arriving(..) | Paging::Leaving(..) => None,
        }
    }

    fn is_charged(&self) -> bool {
        !matches!(self.paging, Paging::Away(_))
    }

    fn map(&self, offset: u64, _size: u64) -> Result<NonNull<u8>, DriverError> {
        let Paging::Pinned { buffer, .. } = &self.paging else { return Err(DriverError::NotCpuAccessible) };
        // The memory may not be zero yet.
        self.engine.wait(self.work)?;
        let outside = DriverError::HostOutOfMemory { requested: self.args.size };
        let within = usize::try_from(offset).ok().filter(|_| offset < buffer.size()).ok_or(outside)?;
        // SAFETY: the offset is within the memory, all of which is mapped.
        Ok(unsafe { buffer.map()?.add(within) })
    }

    /// Allocates the memory, and has the GPU copy the bytes, or write zeros to a new heap.
    fn begin_return(&mut self) -> Result<(), DriverError> {
        let (begun, paging) = match self.take() {
            // The bytes are still there.
            Paging::Leaving(buffer, _copy) => match self.engine.wait(self.work) {
                Ok(()) => (Ok(()), Paging::Here(buffer)),
                Err(lost) => (Err(lost), Paging::Away(Vec::new())),
            },
            Paging::Away(copy) => match self.bring(&copy) {
                Ok(buffer) => (Ok(()), Paging::Arriving(buffer, copy)),
                Err(error) => (Err(error), Paging::Away(copy)),
            },
            Paging::Pinned { buffer, .. } => {
                buffer.set_priority(self.priority);
                (Ok(()), Paging::Pinned { buffer, is_evicted: false })
            }
            here @ (Paging::Arriving(..) | Paging::Here(_)) => (Ok(()), here),
        };
        self.paging = paging;
        begun
    }

    fn end_return(&mut self) -> Result<(), DriverError> {
        self.finish_work()?;
        self.arrive();
        Ok(())
    }

    /// Has the GPU copy the bytes to host memory. Memory that stays gets the lowest priority instead, so that the
    /// operating system takes it first.
    fn begin_leaving(&mut self) -> Result<(), DriverError> {
        // A lost device needs no copies, whose allocation may fail for another reason.
        if let Err(lost) = self.engine.check_present() {
            self.lose();
            return Err(lost);
        }
        let (begun, paging) = match self.take() {
            Paging::Here(buffer) => match self.send(&buffer) {
                Ok(copy) => (Ok(()), Paging::Leaving(buffer, copy)),
                Err(error) => (Err(error), Paging::Here(buffer)),
            },
            // The bytes are in host memory as well.
            Paging::Arriving(buffer, copy) => match self.engine.wait(self.work) {
                Ok(()) => (Ok(()), Paging::Away(copy)),
                Err(lost) => {
                    drop(buffer);
                    (Err(lost), Paging::Away(Vec::new()))
                }
            },
            Paging::Pinned { buffer, .. } => {
                buffer.set_priority(LOWEST_PRIORITY);
                (Ok(()), Paging::Pinned { buffer, is_evicted: true })
            }
            away @ (Paging::Away(_) | Paging::Leaving(..)) => (Ok(()), away),
        };
        self.paging = paging;
        begun.inspect_err(|error| {
            if matches!(error, DriverError::DeviceLost { .. }) {
                self.lose();
            }
        })
    }

    fn end_leaving(&mut self) -> Result<(), DriverError> {
        self.finish_work()?;
        self.paging = match self.take() {
            Paging::Leaving(_buffer, copy) => Paging::Away(copy),
            other => other,
        };
        Ok(())
    }

    fn set_priority(&mut self, priority: f32) {
        self.priority = priority;
        match &self.paging {
            // The return sets it.
            Paging::Away(_) | Paging::Pinned { is_evicted: true, .. } => {}
            Paging::Arriving(buffer, _)
            | Paging::Here(buffer)
            | Paging::Leaving(buffer, _)
            | Paging::Pinned { buffer, .. } => buffer.set_priority(priority),
        }
    }

    #[cfg(test)]
    fn is_at_its_address(&self) -> bool {
        match (&self.paging, self.args.address()) {
            (Paging::Away(_), _) | (_, DeviceAddress::None | DeviceAddress::Any) => true,
            (
                Paging::Arriving(buffer, _)
                | Paging::Here(buffer)
                | Paging::Leaving(buffer, _)
                | Paging::Pinned { buffer, .. },
                DeviceAddress::At(at),
            ) => buffer.address() == at,
        }
    }
}

impl Drop for VulkanMemory {
    fn drop(&mut self) {
        // If the device is lost, nothing is in execution.
        let _ = self.engine.wait(self.work);
    }
}

/// The priority of memory that is evicted but cannot be freed.
const LOWEST_PRIORITY: f32 = 0.0;

#[cfg(test)]
mod tests;
