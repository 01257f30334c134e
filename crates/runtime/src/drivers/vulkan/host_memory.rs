//! Host memory for the bytes of evicted heaps.
//!
//! A driver allocates host memory ten times as slowly as the GPU fills it, on one thread at a time. So the memory is
//! this process's own, which several threads have the operating system provide in huge pages, and which the driver
//! imports. Where it does not, it allocates.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ash::vk;
use heapwright_core::ByteSize;

use super::available_memory::available_memory;
use super::hardware::heap_size;
use super::kept_memory::{Kept, KeptMemory};
use super::logical_device::LogicalDevice;
use super::memory::{Buffer, DeviceAddress};
use super::memory_types::heap_of;
use crate::ddi::DriverError;
use crate::drivers::heap::NORMAL_PRIORITY;
use crate::drivers::reservation::{Pages, Reservation};

/// Sizes of parts of host memory: powers of two from the first to the second. Memory is reused, and a small number of
/// sizes lets that of one heap serve another; several threads have the parts of one heap provided.
const SIZES: (u64, u64) = (1 << 20, 16 << 20);

/// Memory without contents that is kept for the next eviction: the fraction of all host memory, and for how long.
const KEPT: (u64, Duration) = (8, Duration::from_secs(1));

/// The most that is kept. The host memory that Vulkan reports may be more than this process can have.
const MOST_KEPT: u64 = 8 << 30;

/// Number of available bytes that are left: their number is an estimate, and other threads allocate, too.
const LEFT: u64 = 64 << 20;

/// Number of threads at most.
const THREADS: usize = 8;

/// The usual size of a huge page. Memory of that size and more consists of aligned ones.
const HUGE_PAGE: u64 = 2 << 20;

/// The smallest size of a page.
const SMALL_PAGE: usize = 4096;

/// The host memory of a device's evicted heaps.
pub(super) struct HostMemory {
    device: Arc<LogicalDevice>,
    /// The memory type of what the driver allocates.
    memory_type: u32,
    /// The memory type of what it imports, and its alignment, if it can import.
    import: Option<(u32, u64)>,
    /// Whether it refused to import memory, of which it then allocated as much.
    refuses: AtomicBool,
    kept: Arc<KeptMemory<HostBuffer>>,
    /// Returns the number of bytes that this process can still have, if known.
    available: fn() -> Option<u64>,
}

/// Host memory for bytes of an evicted heap. Once dropped, it may serve the next eviction; the GPU must be done with
/// it.
pub(super) struct HostPart {
    /// Present until dropped.
    buffer: Option<HostBuffer>,
    kept: Arc<KeptMemory<HostBuffer>>,
}

/// Host memory with a buffer across it.
struct HostBuffer {
    // Dropped in this order.
    buffer: Buffer,
    _own: Option<OwnPages>,
}

/// Memory of this process.
struct OwnPages {
    reservation: Reservation,
    /// The offset of the first byte in the reservation.
    offset: u64,
    size: u64,
}

impl HostMemory {
    pub(super) fn new(device: &Arc<LogicalDevice>, memory_type: u32) -> Self {
        let memory = &device.hardware().memory;
        let all = heap_size(memory, heap_of(memory, memory_type)).get();
        Self {
            device: Arc::clone(device),
            memory_type,
            import: importable_type(device, memory_type),
            refuses: AtomicBool::new(false),
            kept: KeptMemory::new((all / KEPT.0).min(MOST_KEPT), KEPT.1),
            available: available_memory,
        }
    }

    /// The memory type of what the driver allocates.
    pub(super) fn memory_type(&self) -> u32 {
        self.memory_type
    }

    /// Frees the memory that is kept.
    pub(super) fn free_kept(&self) {
        self.kept.free();
    }

    /// Provides memory for `size` bytes, in parts of any order. Several threads create what is not kept. Too little for
    /// all of it is an error before any is created.
    pub(super) fn provide(&self, size: u64) -> Result<Vec<HostPart>, DriverError> {
        let (mut parts, mut new) = (Vec::new(), Vec::new());
        for size in part_sizes(size) {
            match self.kept.take(size) {
                Some(buffer) => parts.push(self.part(buffer)),
                None => new.push(size),
            }
        }
        self.check_available(new.iter().sum())?;
        let (next, made) = (AtomicUsize::new(0), Mutex::new(Ok(parts)));
        let work = || {
            while let Some(&size) = new.get(next.fetch_add(1, Ordering::Relaxed)) {
                let created = self.create(size);
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                match (created, &mut *made) {
                    (Ok(buffer), Ok(parts)) => parts.push(self.part(buffer)),
                    (Err(error), Ok(_)) => *made = Err(error),
                    (_, Err(_)) => return,
                }
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 1..new.len().min(cores).min(THREADS) {
                // Without a thread, the others do its part.
                let builder = thread::Builder::new().name("heapwright pages".to_owned());
                let _ = builder.spawn_scoped(scope, work);
            }
            work();
        });
        made.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&self, buffer: HostBuffer) -> HostPart {
        HostPart { buffer: Some(buffer), kept: Arc::clone(&self.kept) }
    }

    fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    /// Checks that there is memory for `size` bytes that are to be imported, after what is kept was freed if necessary.
    /// Some operating systems end a process that uses more than there is.
    fn check_available(&self, size: u64) -> Result<(), DriverError> {
        if size == 0 || self.import.is_none() || self.refuses() {
            return Ok(());
        }
        let suffices = || (self.available)().is_none_or(|available| size.saturating_add(LEFT) <= available);
        if suffices() {
            return Ok(());
        }
        self.free_kept();
        suffices().then_some(()).ok_or(DriverError::HostOutOfMemory { requested: ByteSize::new(size) })
    }

    /// Creates memory of this process if the driver imports it, and has the driver allocate it otherwise.
    fn create(&self, size: u64) -> Result<HostBuffer, DriverError> {
        let import = self.import.filter(|_| !self.refuses());
        let own = import.and_then(|(kind, alignment)| Some((OwnPages::new(size, alignment)?, kind)));
        let is_refused = match own.map(|(own, kind)| own.import(&self.device, kind)) {
            Some(Ok(Some(buffer))) => return Ok(buffer),
            Some(Err(error @ DriverError::DeviceLost { .. })) => return Err(error),
            Some(Ok(None)) => true,
            // For lack of memory, which may be over for the next.
            Some(Err(_)) | None => false,
        };
        let (kind, none) = (self.memory_type, DeviceAddress::None);
        let allocate = || Buffer::create(&self.device, size, kind, NORMAL_PRIORITY, none);
        let buffer = match allocate() {
            Err(error) if !matches!(error, DriverError::DeviceLost { .. }) => {
                self.free_kept();
                allocate()
            }
            allocated => {
                if is_refused && allocated.is_ok() && !self.refuses.swap(true, Ordering::Relaxed) {
                    tracing::warn!(size, "the driver does not import memory of this process");
                }
                allocated
            }
        };
        Ok(HostBuffer { buffer: buffer?, _own: None })
    }
}

/// Returns the memory type of imported memory and its alignment, if the driver imports: `wanted`, or else any that is
/// coherent.
fn importable_type(device: &Arc<LogicalDevice>, wanted: u32) -> Option<(u32, u64)> {
    let alignment = device.hardware().import_alignment?;
    let own = OwnPages::new(SIZES.0, alignment)?;
    let types = device.types_to_import(own.start()?)? & Buffer::import_types(device, SIZES.0)?;
    let memory_type = choose_type(device.hardware().memory.memory_types_as_slice(), types, wanted)?;
    // Some drivers refuse each import.
    own.import(device, memory_type).ok()??;
    Some((memory_type, alignment))
}

/// Chooses one of the memory types whose bits are set: `wanted`, or else the first that is coherent, as nothing is
/// flushed.
fn choose_type(types: &[vk::MemoryType], bits: u32, wanted: u32) -> Option<u32> {
    let is_set = |index: &u32| bits.checked_shr(*index).unwrap_or(0) & 1 != 0;
    let coherent = (0..)
        .zip(types)
        .filter(|(_, kind)| kind.property_flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT))
        .map(|(index, _)| index);
    Some(wanted).filter(is_set).or_else(|| coherent.into_iter().find(is_set))
}

impl OwnPages {
    fn new(size: u64, alignment: u64) -> Option<Self> {
        if !size.is_multiple_of(alignment) {
            return None;
        }
        // In a huge page, less than its size would take all of it.
        let (pages, alignment) = if size < HUGE_PAGE {
            (Pages::Small, alignment)
        } else {
            (Pages::Huge, alignment.max(HUGE_PAGE))
        };
        let reservation = Reservation::new(ByteSize::new(size.checked_add(alignment)?), pages)?;
        reservation.keep_from_children();
        let base = u64::try_from(reservation.commit(0, 0)?.addr().get()).ok()?;
        let offset = base.checked_next_multiple_of(alignment)? - base;
        let own = Self { reservation, offset, size };
        let start = own.start()?;
        // The operating system provides pages when they are written to.
        for at in (0..usize::try_from(size).ok()?).step_by(SMALL_PAGE) {
            // SAFETY: within the reservation, and committed.
            unsafe { start.add(at).write_volatile(0) };
        }
        Some(own)
    }

    fn start(&self) -> Option<NonNull<u8>> {
        self.reservation.commit(self.offset, self.size)
    }

    /// Creates a buffer in this memory. Returns `None` if the driver does not import it.
    fn import(
        self,
        device: &Arc<LogicalDevice>,
        memory_type: u32,
    ) -> Result<Option<HostBuffer>, DriverError> {
        let Some(start) = self.start() else { return Ok(None) };
        // SAFETY: these bytes are mapped and aligned, the result keeps them until the memory is freed, and nothing else
        // accesses them.
        let imported = unsafe { Buffer::import(device, start, self.size, memory_type) }?;
        Ok(imported.map(|buffer| HostBuffer { buffer, _own: Some(self) }))
    }
}

impl HostPart {
    pub(super) fn handle(&self) -> vk::Buffer {
        self.buffer.as_ref().map_or(vk::Buffer::null(), |own| own.buffer.handle())
    }

    /// The number of bytes.
    pub(super) fn size(&self) -> u64 {
        self.buffer.as_ref().map_or(0, Kept::size)
    }
}

impl Drop for HostPart {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.kept.give_back(buffer);
        }
    }
}

impl Kept for HostBuffer {
    fn size(&self) -> u64 {
        self.buffer.size()
    }
}

/// Returns the sizes of the parts for `size` bytes.
fn part_sizes(size: u64) -> impl Iterator<Item = u64> {
    let (least, most) = SIZES;
    let rest = Some(size % most).filter(|&rest| rest > 0).map(|rest| rest.next_power_of_two().max(least));
    (0..size / most).map(move |_| most).chain(rest)
}

#[cfg(test)]
mod tests;
