//! Heaps that come and go, in safe calls: for programs that simulate paging.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::Instance;
use crate::api::device::Device;
use crate::ddi::{Driver, SegmentGroup};

impl Instance {
    /// Creates a heap in a segment group: of type DEFAULT in the local one, of type UPLOAD in the non-local one.
    ///
    /// What is not resident counts in no segment group until it is [made resident](Self::make_resident). The memory behind it is
    /// address space of the host alone, as long as nothing touches it.
    ///
    /// # Errors
    ///
    /// What `CreateHeap` answers: E_INVALIDARG to a size of zero, E_OUTOFMEMORY when the segment group or the host's address space
    /// has no room, DXGI_ERROR_DEVICE_REMOVED.
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

    /// `MakeResident`: counts one more reason to be resident for each object, or for none of them.
    ///
    /// # Errors
    ///
    /// What the device answers: E_OUTOFMEMORY, E_INVALIDARG to an object that is null or another device's,
    /// DXGI_ERROR_DEVICE_REMOVED. E_INVALIDARG if [`device`](Self::device) was replaced by a device of another D3D12.
    pub fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> windows_core::Result<()> {
        // SAFETY: every element that is not null is a live COM object; the device checks the rest.
        unsafe { self.checking_device()?.MakeResident(objects) }.ok()
    }

    /// `Evict`: takes one reason to be resident away from each object, or from none of them.
    ///
    /// # Errors
    ///
    /// What the device answers: E_INVALIDARG to an object that is evicted already, is null or another device's. E_INVALIDARG if
    /// [`device`](Self::device) was replaced by a device of another D3D12.
    pub fn evict(&self, objects: &[Option<ID3D12Pageable>]) -> windows_core::Result<()> {
        // SAFETY: every element that is not null is a live COM object; the device checks the rest, and finds out when the GPU
        // uses what is evicted.
        unsafe { self.checking_device()?.Evict(objects) }.ok()
    }

    /// The device, if it is one of this runtime, which checks what other implementations trust their callers for.
    fn checking_device(&self) -> windows_core::Result<&ID3D12Device> {
        Device::behind(&self.device).map(|_| &self.device).ok_or_else(|| E_INVALIDARG.into())
    }

    /// What the adapter says that the process uses of a segment group. O(1).
    #[must_use]
    pub fn current_usage(&self, group: SegmentGroup) -> ByteSize {
        self.gpu.video_memory(group).current_usage
    }

    /// How many bytes a heap has, as it was described.
    #[must_use]
    pub fn heap_size(&self, heap: &ID3D12Heap) -> ByteSize {
        // SAFETY: the heap is a live COM object.
        ByteSize::new(unsafe { heap.GetDesc() }.SizeInBytes)
    }
}
