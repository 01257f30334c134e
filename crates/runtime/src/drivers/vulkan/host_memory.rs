//! Host memory for the bytes of evicted heaps.
//!
//! A driver allocates host memory ten times as slowly as the GPU fills it, on one thread at a time. So the memory is this
//! process's own, which several threads have the operating system provide in huge pages, and which the driver imports. Where
//! it does not, it allocates.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use ash::vk;
use heapwright_core::ByteSize;

use super::available_memory::available_memory;
use super::hardware::heap_size;
use super::kept_memory::{Kept, KeptMemory};
use super::logical_device::LogicalDevice;
use super::memory::{Binding, Buffer, Memory, NORMAL_PRIORITY};
use super::memory_types::heap_of;
use crate::ddi::DriverError;
use crate::drivers::reservation::{Pages, Reservation};

/// Sizes of host memory: powers of two from the first to the second. It is reused, and a small number of sizes lets that of
/// one heap serve another.
pub(super) const SIZES: (u64, u64) = (1 << 20, 64 << 20);

/// Memory without contents that is kept for the next eviction: the fraction of all host memory, and for how long.
const KEPT: (u64, Duration) = (8, Duration::from_secs(1));

/// The most that is kept. The host memory that Vulkan reports may be more than this process can have.
const MOST_KEPT: u64 = 8 << 30;

/// Number of available bytes that are left: their number is an estimate, and other threads allocate, too.
const LEFT: u64 = 64 << 20;

/// Number of bytes that a thread has provided at a time.
const STEP: u64 = 8 << 20;

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

/// Host memory for bytes of an evicted heap. Once dropped, it may serve the next eviction; the GPU must be done with it.
pub(super) struct HostPart {
    /// Present until dropped.
    buffer: Option<HostBuffer>,
    kept: Arc<KeptMemory<HostBuffer>>,
}

/// Host memory with a buffer across it.
struct HostBuffer {
    // Dropped in this order.
    buffer: Buffer,
    _memory: Memory,
    _own: Option<Arc<OwnPages>>,
}

/// Memory of this process.
struct OwnPages {
    reservation: Reservation,
    /// The offset of the first byte in the reservation.
    offset: u64,
    size: u64,
}

/// Memory that is to be created.
struct Job {
    /// The caller's number of it.
    index: usize,
    size: u64,
    /// The pages to import. `None` once all steps are done.
    own: Mutex<Option<Arc<OwnPages>>>,
    /// Number of steps that are not done.
    left: AtomicUsize,
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

    /// Provides memory for each of several sizes, at most the largest of [`SIZES`]: passes it to `each`, in any order, together
    /// with the caller's number of it. Memory that has to be allocated is, while `each` runs for other memory; if there is too
    /// little, `make_room` is called and the allocation repeated. Too little for all of them is an error before any is allocated.
    ///
    /// Ends with the first error, of `each` or of an allocation.
    pub(super) fn provide(
        &self,
        sizes: impl IntoIterator<Item = (usize, u64)>,
        make_room: &(dyn Fn() + Sync),
        mut each: impl FnMut(usize, HostPart) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let (mut kept, mut new) = (Vec::new(), Vec::new());
        for (index, size) in sizes {
            let size = rounded(size);
            match self.kept.take(size) {
                Some(buffer) => kept.push((index, self.part(buffer))),
                None => new.push((index, size)),
            }
        }
        self.check_available(new.iter().map(|&(_, size)| size).sum(), make_room)?;
        let jobs: Vec<_> = new.into_iter().map(|(index, size)| self.job(index, size)).collect();
        let steps: Vec<_> = jobs.iter().flat_map(|job| job.steps().map(move |step| (job, step))).collect();
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, made) = mpsc::channel();
        let work = |sender: mpsc::Sender<_>| {
            while let Some((job, step)) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(own) = job.pages().filter(|_| !self.refuses()) {
                    own.have_provided(step.clone());
                }
                if job.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    let made = self.create(job, make_room).map(|buffer| self.part(buffer));
                    // Nobody receives after an error.
                    let _ = sender.send((job.index, made));
                }
            }
        };
        thread::scope(|scope| {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            let most = match steps.len() {
                0 | 1 => 0,
                // The driver does its own allocations one at a time.
                _ if jobs.iter().all(|job| job.pages().is_none()) => 1,
                count => count.min(cores).min(THREADS),
            };
            let spawned = (0..most).filter(|_| {
                let sender = sender.clone();
                let builder = thread::Builder::new().name("heapwright pages".to_owned());
                builder.spawn_scoped(scope, || work(sender)).is_ok()
            });
            if spawned.count() == 0 {
                work(sender.clone());
            }
            drop(sender);
            let kept = kept.into_iter().map(|(index, part)| (index, Ok(part)));
            let ended = kept.chain(made).try_for_each(|(index, part)| each(index, part?));
            is_over.store(true, Ordering::Relaxed);
            ended
        })
    }

    fn part(&self, buffer: HostBuffer) -> HostPart {
        HostPart { buffer: Some(buffer), kept: Arc::clone(&self.kept) }
    }

    fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    /// Checks that there is memory for `size` bytes that are to be imported, after `make_room` if necessary. Some operating systems
    /// end a process that uses more than there is.
    fn check_available(&self, size: u64, make_room: &dyn Fn()) -> Result<(), DriverError> {
        if size == 0 || self.import.is_none() || self.refuses() {
            return Ok(());
        }
        let suffices = || (self.available)().is_none_or(|available| size.saturating_add(LEFT) <= available);
        if suffices() {
            return Ok(());
        }
        make_room();
        suffices().then_some(()).ok_or(DriverError::HostOutOfMemory { requested: ByteSize::new(size) })
    }

    /// Prepares the creation of memory.
    fn job(&self, index: usize, size: u64) -> Job {
        let import = self.import.filter(|_| !self.refuses());
        let own = import.and_then(|(_, alignment)| OwnPages::new(size, alignment)).map(Arc::new);
        let mut job = Job { index, size, own: Mutex::new(own), left: AtomicUsize::new(0) };
        job.left = AtomicUsize::new(job.steps().count());
        job
    }

    /// Creates the memory of a job whose steps are done.
    fn create(&self, job: &Job, make_room: &(dyn Fn() + Sync)) -> Result<HostBuffer, DriverError> {
        let own = job.lock().take().filter(|_| !self.refuses());
        let imported = self.import.zip(own).map(|((kind, _), own)| import(&self.device, own, kind));
        let is_refused = match imported {
            Some(Ok(Some(buffer))) => return Ok(buffer),
            Some(Ok(None)) => true,
            Some(Err(error @ DriverError::DeviceLost { .. })) => return Err(error),
            // For lack of memory, which may be over for the next.
            Some(Err(_)) | None => false,
        };
        match self.allocate(job.size) {
            Ok(buffer) => {
                if is_refused && !self.refuses.swap(true, Ordering::Relaxed) {
                    tracing::warn!(size = job.size, "the driver does not import memory of this process");
                }
                Ok(buffer)
            }
            Err(error @ DriverError::DeviceLost { .. }) => Err(error),
            Err(_) => {
                make_room();
                self.allocate(job.size)
            }
        }
    }

    fn allocate(&self, size: u64) -> Result<HostBuffer, DriverError> {
        let buffer = Buffer::create(&self.device, size, Binding::Whole)?;
        let memory = buffer.allocate(self.memory_type, NORMAL_PRIORITY)?;
        Ok(HostBuffer { buffer, _memory: memory, _own: None })
    }
}

/// Creates a buffer in memory of this process. Returns `None` if the driver does not import that.
fn import(
    device: &Arc<LogicalDevice>,
    own: Arc<OwnPages>,
    memory_type: u32,
) -> Result<Option<HostBuffer>, DriverError> {
    let Some(start) = own.start() else { return Ok(None) };
    let buffer = Buffer::create(device, own.size, Binding::Imported)?;
    let requirements = buffer.requirements();
    let is_usable = requirements.memory_type_bits.checked_shr(memory_type).unwrap_or(0) & 1 != 0;
    if !is_usable || requirements.size > own.size {
        return Ok(None);
    }
    // SAFETY: these bytes are mapped and aligned, and the result keeps them until the memory is freed. Threads that wrote
    // to them are done, and nothing else accesses them.
    let Some(memory) = unsafe { Memory::import(device, start, own.size, memory_type) }? else {
        return Ok(None);
    };
    buffer.bind(&memory)?;
    Ok(Some(HostBuffer { buffer, _memory: memory, _own: Some(own) }))
}

/// Returns the memory type of imported memory and its alignment, if the driver imports: `wanted`, or else any that is coherent.
fn importable_type(device: &Arc<LogicalDevice>, wanted: u32) -> Option<(u32, u64)> {
    let alignment = device.hardware().import_alignment?;
    let size = SIZES.0;
    let own = OwnPages::new(size, alignment)?;
    own.have_provided(0..size);
    let types = device.types_to_import(own.start()?)?;
    let types = types & Buffer::create(device, size, Binding::Imported).ok()?.requirements().memory_type_bits;
    let memory_type = choose_type(device.hardware().memory.memory_types_as_slice(), types, wanted)?;
    // Some drivers refuse each import.
    import(device, Arc::new(own), memory_type).ok()??;
    Some((memory_type, alignment))
}

/// Chooses one of the memory types whose bits are set: `wanted`, or else the first that is coherent, as nothing is flushed.
fn choose_type(types: &[vk::MemoryType], bits: u32, wanted: u32) -> Option<u32> {
    let is_set = |index: &u32| bits.checked_shr(*index).unwrap_or(0) & 1 != 0;
    let coherent = (0..)
        .zip(types)
        .filter(|(_, kind)| kind.property_flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT))
        .map(|(index, _)| index);
    Some(wanted).filter(is_set).or_else(|| coherent.into_iter().find(is_set))
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<OwnPages>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pages(&self) -> Option<Arc<OwnPages>> {
        self.lock().clone()
    }

    /// The ranges that are provided one at a time; one even if the driver allocates.
    fn steps(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let (size, step) = (self.size, if self.lock().is_some() { STEP } else { u64::MAX });
        (0..size.div_ceil(step)).map(move |index| index * step..size.min((index + 1).saturating_mul(step)))
    }
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
        reservation.commit(offset, size)?;
        Some(Self { reservation, offset, size })
    }

    fn start(&self) -> Option<NonNull<u8>> {
        self.reservation.commit(self.offset, self.size)
    }

    /// Has the operating system provide the pages of a range, by writing to them. No other thread does that for the same range.
    fn have_provided(&self, range: Range<u64>) {
        let size = range.end.saturating_sub(range.start).min(self.size.saturating_sub(range.start));
        let start = self.reservation.commit(self.offset + range.start, size);
        let (Some(start), Ok(size)) = (start, usize::try_from(size)) else { return };
        for at in (0..size).step_by(SMALL_PAGE) {
            // SAFETY: within the reservation, and committed. Nothing else accesses the bytes before they are imported.
            unsafe { start.add(at).write_volatile(0) };
        }
    }
}

impl HostPart {
    pub(super) fn handle(&self) -> vk::Buffer {
        self.buffer.as_ref().map_or(vk::Buffer::null(), |own| own.buffer.handle())
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

/// Returns the size of the host memory for `size` bytes.
fn rounded(size: u64) -> u64 {
    let (least, most) = SIZES;
    size.checked_next_power_of_two().unwrap_or(most).clamp(least, most)
}

#[cfg(test)]
mod tests;
