//! The memory types that D3D12's heaps use.

use ash::vk;

use crate::ddi::{Architecture, CpuPageProperty, MemoryPool};

/// The memory types of a device, for each kind of heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryTypes {
    pub(super) architecture: Architecture,
    /// Video memory without CPU access: heap type DEFAULT.
    pub(super) video: u32,
    /// System memory that the CPU writes: heap type UPLOAD.
    pub(super) upload: u32,
    /// System memory that the CPU reads, cached: heap type READBACK.
    pub(super) readback: u32,
    /// Video memory that the CPU accesses: heap type GPU_UPLOAD.
    pub(super) gpu_upload: Option<u32>,
}

impl MemoryTypes {
    /// Chooses the memory types among those that `usable` has a bit for. Returns `None` if the CPU cannot access any
    /// coherent memory.
    pub(super) fn of(memory: &vk::PhysicalDeviceMemoryProperties, is_uma: bool, usable: u32) -> Option<Self> {
        use vk::MemoryPropertyFlags as Flags;
        let host = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let choose = |required, unwanted| choose((memory, usable), required, unwanted);
        let unwanted_local = if is_uma { Flags::empty() } else { Flags::DEVICE_LOCAL };
        let upload = choose(host, unwanted_local | Flags::HOST_CACHED)?;
        let readback = choose(host | Flags::HOST_CACHED, unwanted_local).unwrap_or(upload);
        let video = choose(Flags::DEVICE_LOCAL, Flags::HOST_VISIBLE).unwrap_or(upload);
        let gpu_upload = choose(host | Flags::DEVICE_LOCAL, Flags::HOST_CACHED);
        let is_coherent = is_uma && choose(host | Flags::HOST_CACHED, Flags::empty()).is_some();
        Some(Self {
            architecture: match (is_uma, is_coherent) {
                (false, _) => Architecture::Discrete,
                (true, false) => Architecture::Uma,
                (true, true) => Architecture::CacheCoherentUma,
            },
            video,
            upload,
            readback,
            gpu_upload,
        })
    }

    /// Returns whether the CPU can access all of video memory: the memory type for GPU upload heaps is in the same
    /// memory heap as the one for default heaps.
    pub(super) fn video_is_cpu_accessible(&self, memory: &vk::PhysicalDeviceMemoryProperties) -> bool {
        self.gpu_upload.is_some_and(|gpu_upload| heap_of(memory, gpu_upload) == heap_of(memory, self.video))
    }

    /// Returns the memory type of a heap.
    pub(super) fn of_heap(&self, pool: MemoryPool, page: CpuPageProperty) -> u32 {
        match (pool, page) {
            (_, CpuPageProperty::NotAvailable) => self.video,
            (MemoryPool::L0, CpuPageProperty::WriteCombine) => self.upload,
            (MemoryPool::L0, CpuPageProperty::WriteBack) => self.readback,
            // The runtime allows such heaps only where GPU upload heaps exist.
            (MemoryPool::L1, _) => self.gpu_upload.unwrap_or(self.upload),
        }
    }
}

/// Returns the index of the memory heap of a memory type.
pub(super) fn heap_of(memory: &vk::PhysicalDeviceMemoryProperties, memory_type: u32) -> usize {
    let types = memory.memory_types_as_slice();
    let heap = usize::try_from(memory_type).ok().and_then(|index| types.get(index)).map(|own| own.heap_index);
    heap.and_then(|heap| usize::try_from(heap).ok()).unwrap_or(0)
}

/// Returns the memory type that has all of `required` and the fewest of `unwanted`, in the largest memory heap; of
/// several, the first. Types with special rules (protected, lazily allocated, uncached by the device) are excluded.
fn choose(
    (memory, usable): (&vk::PhysicalDeviceMemoryProperties, u32),
    required: vk::MemoryPropertyFlags,
    unwanted: vk::MemoryPropertyFlags,
) -> Option<u32> {
    use vk::MemoryPropertyFlags as Flags;
    let usual = Flags::DEVICE_LOCAL | Flags::HOST_VISIBLE | Flags::HOST_COHERENT | Flags::HOST_CACHED;
    let types = (0..).zip(memory.memory_types_as_slice());
    let types = types.filter(|(index, _)| usable.checked_shr(*index).unwrap_or(0) & 1 != 0);
    let fitting = types
        .filter(|(_, own)| own.property_flags.contains(required) && (own.property_flags & !usual).is_empty());
    let size = |heap: u32| {
        usize::try_from(heap)
            .ok()
            .and_then(|heap| memory.memory_heaps_as_slice().get(heap))
            .map_or(0, |h| h.size)
    };
    fitting
        .min_by_key(|(index, own)| {
            let surplus = (own.property_flags & unwanted).as_raw().count_ones();
            (surplus, std::cmp::Reverse(size(own.heap_index)), *index)
        })
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests;
