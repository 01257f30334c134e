//! Safe calls to create heaps, make them resident and evict them, for programs that simulate paging.

use heapwright_core::{ByteSize, GpuVirtualAddress};
use heapwright_d3d12::*;

use super::Instance;
use crate::api::device::Device;
use crate::ddi::{Eviction, SegmentGroup};

impl Instance {
    /// Creates a heap in a segment group: of type DEFAULT in the local group, of type UPLOAD in the non-local group.
    ///
    /// A heap that is not resident is not charged to a segment group until it is [made resident](Self::make_resident).
    /// Its memory is only address space of the host until it is accessed.
    ///
    /// # Errors
    ///
    /// Returns the errors of `CreateHeap`: E_INVALIDARG for a size of zero, E_OUTOFMEMORY if the segment group or the
    /// host's address space has no room, DXGI_ERROR_DEVICE_REMOVED if the device is removed.
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_runtime::SegmentGroup;
    /// use heapwright_runtime::{HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// let heap = gpu.create_heap(ByteSize::from_gib(1), SegmentGroup::Local, false)?;
    /// assert_eq!(gpu.current_usage(SegmentGroup::Local), ByteSize::ZERO);
    /// let heap = [Some(heap.into())];
    /// gpu.make_resident(&heap)?;
    /// assert_eq!(gpu.current_usage(SegmentGroup::Local), ByteSize::from_gib(1));
    /// gpu.evict(&heap)?;
    /// assert_eq!(gpu.current_usage(SegmentGroup::Local), ByteSize::ZERO);
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    pub fn create_heap(
        &self,
        size: ByteSize,
        group: SegmentGroup,
        is_resident: bool,
    ) -> windows_core::Result<ID3D12Heap> {
        let heap_type = match group {
            SegmentGroup::Local => D3D12_HEAP_TYPE_DEFAULT,
            SegmentGroup::NonLocal => D3D12_HEAP_TYPE_UPLOAD,
        };
        let residency = if is_resident { D3D12_HEAP_FLAG_NONE } else { D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT };
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: size.get(),
            Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
            Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | residency,
            ..Default::default()
        };
        let mut heap: Option<ID3D12Heap> = None;
        // SAFETY: the device is a live COM object, the description readable and the heap writable.
        unsafe { self.device.CreateHeap(&desc, &mut heap) }?;
        heap.ok_or_else(|| E_FAIL.into())
    }

    /// Calls `MakeResident`: increments the residency count of each object, or of none of them.
    ///
    /// # Errors
    ///
    /// Returns the errors of the device: E_OUTOFMEMORY, E_INVALIDARG for an object that is null or of another device,
    /// DXGI_ERROR_DEVICE_REMOVED. Returns E_INVALIDARG if [`device`](Self::device) was replaced with a device of
    /// another D3D12 implementation.
    pub fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> windows_core::Result<()> {
        // SAFETY: every element that is not null is a live COM object; the device checks everything else.
        unsafe { self.checking_device()?.MakeResident(objects) }.ok()
    }

    /// Calls `Evict`: decrements the residency count of each object, or of none of them.
    ///
    /// # Errors
    ///
    /// Returns the errors of the device: E_INVALIDARG for an object that is already evicted, null or of another device.
    /// Returns E_INVALIDARG if [`device`](Self::device) was replaced with a device of another D3D12 implementation.
    pub fn evict(&self, objects: &[Option<ID3D12Pageable>]) -> windows_core::Result<()> {
        // SAFETY: every element that is not null is a live COM object; the device checks everything else and detects if
        // the GPU uses evicted memory.
        unsafe { self.checking_device()?.Evict(objects) }.ok()
    }

    /// Returns what [`evict`](Self::evict) does with the memory of heaps that the CPU cannot access.
    ///
    /// ```
    /// use heapwright_runtime::{Eviction, HostProfile, Instance};
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// assert_eq!(gpu.eviction(), Eviction::Frees);
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    #[must_use]
    pub fn eviction(&self) -> Eviction {
        self.gpu.caps().eviction
    }

    /// Returns the device if it belongs to this runtime, which validates what other implementations require of their
    /// callers.
    fn checking_device(&self) -> windows_core::Result<&ID3D12Device> {
        Device::behind(&self.device).map(|_| &self.device).ok_or_else(|| E_INVALIDARG.into())
    }

    /// Returns the process's usage of a segment group, as reported by the adapter. O(1).
    #[must_use]
    pub fn current_usage(&self, group: SegmentGroup) -> ByteSize {
        self.gpu.video_memory(group).current_usage
    }

    /// Returns whether memory that is resident is mapped to a GPU virtual address. O(log n) for n ranges of addresses.
    ///
    /// After a heap has been destroyed, no memory is mapped to its addresses until they are used again.
    #[must_use]
    pub fn has_memory_at(&self, address: GpuVirtualAddress) -> bool {
        self.gpu.has_memory_at(address)
    }

    /// Returns the size of a heap in bytes, as given in its description.
    #[must_use]
    pub fn heap_size(&self, heap: &ID3D12Heap) -> ByteSize {
        // SAFETY: the heap is a live COM object.
        ByteSize::new(unsafe { heap.GetDesc() }.SizeInBytes)
    }
}
