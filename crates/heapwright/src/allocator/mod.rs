//! The resource allocator: resources placed in heaps that it creates, shares and gives back.
//!
//! * `desc`: what the allocator and an allocation are asked for.
//! * `allocation`: what the user holds.
//! * `mapping`: the CPU's view of an allocation.
//! * `resource_class`: which resources share heaps.
//! * `heaps`: the heaps of one heap type and class, and how they grow.
//!
//! One allocation, from call to memory: the description is checked and given tight alignment where that is legal; the
//! device says what the resource takes; the heaps of the heap type find or make room ([`HeapSet`]); the device places
//! the resource there. Each step that takes something holds it in a value whose drop gives it back.
//!
//! [`HeapSet`]: heapwright_core::placement::HeapSet

mod allocation;
mod desc;
mod heaps;
mod mapping;
mod resource_class;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

pub use self::allocation::ResourceAllocation;
pub use self::desc::{HeapType, ResourceAllocationDesc, ResourceAllocatorDesc, buffer_desc};
use self::heaps::{HeapKind, TypedHeaps};
pub use self::mapping::Mapping;
use self::resource_class::ResourceClass;
use crate::caps::allocation_info;
use crate::{DeviceCaps, Error, VideoMemoryInfo};

/// Allocates resources of one device.
///
/// Cloning gives another handle to the same allocator. Allocations keep what they need alive: the allocator may be
/// dropped before them.
///
/// # Threads
///
/// `Send` and `Sync`. Each heap type has a lock, which is held for the O(1) bookkeeping and never while the device
/// creates or destroys anything.
#[derive(Debug, Clone)]
pub struct ResourceAllocator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    device: ID3D12Device,
    adapter: Option<IDXGIAdapter3>,
    caps: DeviceCaps,
    heaps: [TypedHeaps; HeapKind::COUNT],
    heaps_created: AtomicU64,
}

/// What an allocator holds, over all heap types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAllocatorStats {
    /// Bytes of live allocations, as the device sizes them.
    pub used: ByteSize,
    /// Bytes of heaps.
    pub reserved: ByteSize,
    /// Live allocations.
    pub allocation_count: u64,
    /// Heaps.
    pub heap_count: u64,
    /// Heaps that nothing is in; see [`ResourceAllocator::release_empty_heaps`].
    pub empty_heap_count: u64,
    /// Heaps that the device was made to create since the allocator exists.
    pub heaps_created: u64,
}

impl ResourceAllocator {
    /// An allocator for `device`.
    ///
    /// The adapter is the device's own; without it, error messages lack budgets, and nothing else changes.
    ///
    /// # Errors
    ///
    /// When the device does not answer to what every device knows, or the description contradicts itself (the message
    /// names the field).
    pub fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
    ) -> Result<Self, Error> {
        desc.check()?;
        let caps = DeviceCaps::query(device)?;
        let heaps = HeapKind::all().map(|kind| TypedHeaps::new(kind, &desc));
        let inner = Inner {
            device: device.clone(),
            adapter: adapter.cloned(),
            caps,
            heaps,
            heaps_created: AtomicU64::new(0),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the device supports, as found when the allocator was made.
    #[must_use]
    pub fn caps(&self) -> &DeviceCaps {
        &self.inner.caps
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &ID3D12Device {
        &self.inner.device
    }

    /// Creates a resource and places it.
    ///
    /// A buffer gets tight alignment where the device has it, unless the description asks for an alignment. It shares a
    /// heap with others unless it is very large ([`HeapSizing::own_heap_from`](crate::HeapSizing::own_heap_from)).
    /// Textures get the smallest alignment that the device takes, and share heaps with other textures; multisampled ones
    /// with their like.
    ///
    /// Cost: O(1), two calls of the device (`GetResourceAllocationInfo`, `CreatePlacedResource`), and a third
    /// (`CreateHeap`) when no heap has room.
    ///
    /// # Errors
    ///
    /// * out of memory: the device refused a heap even after all empty heaps were given back;
    /// * invalid argument: the device finds the description, the state or the clear value invalid, or the buffer is
    ///   larger than it can address;
    /// * unsupported: a GPU upload heap where the device has none;
    /// * whatever else the device answers.
    ///
    /// Nothing is held after an error.
    pub fn create_resource(
        &self,
        allocation: &ResourceAllocationDesc,
        resource: &D3D12_RESOURCE_DESC,
        initial_state: D3D12_RESOURCE_STATES,
        clear_value: Option<&D3D12_CLEAR_VALUE>,
    ) -> Result<ResourceAllocation, Error> {
        self.check(allocation, resource)?;
        let caps = &self.inner.caps;
        let (desc, size, alignment) = tightest(&self.inner.device, caps, resource).ok_or_else(|| {
            Error::invalid_argument(
                "D3D12_RESOURCE_DESC",
                "the device finds the description invalid (GetResourceAllocationInfo)",
            )
        })?;
        let kind = HeapKind { heap_type: allocation.heap_type, class: ResourceClass::of(&desc, caps) };
        let (range, heap) = Inner::place(&self.inner, kind, size, alignment)?;
        let clear_value = clear_value.map(std::ptr::from_ref);
        let mut placed: Option<ID3D12Resource> = None;
        // SAFETY: device and heap are live COM objects, the description and the clear value outlive the call, and the
        // result is written to a variable of the interface that is asked for. The range is this allocation's alone.
        let created = unsafe {
            let offset = range.range().start().get();
            self.inner.device.CreatePlacedResource(
                &heap,
                offset,
                &desc,
                initial_state,
                clear_value,
                &mut placed,
            )
        };
        let call = "ID3D12Device::CreatePlacedResource";
        match (created, placed) {
            (Ok(()), Some(resource)) => Ok(ResourceAllocation::new(resource, heap, range, &desc)),
            (Ok(()), None) => Err(Error::device(call, E_POINTER)),
            (Err(error), _) if error.code() == E_INVALIDARG => Err(Error::invalid_argument(
                "initial_state or clear_value",
                format!("{call} answered E_INVALIDARG"),
            )),
            (Err(error), _) => Err(Error::device(call, error.code())),
        }
    }

    /// What the allocator holds. O(1); each number is exact, and they belong to one moment unless other threads
    /// allocate meanwhile.
    #[must_use]
    pub fn stats(&self) -> ResourceAllocatorStats {
        let heaps_created = self.inner.heaps_created.load(Ordering::Relaxed);
        let mut stats = ResourceAllocatorStats { heaps_created, ..Default::default() };
        for heaps in &self.inner.heaps {
            let totals = heaps.totals();
            stats.used = stats.used.saturating_add(totals.used);
            stats.reserved = stats.reserved.saturating_add(totals.reserved);
            stats.allocation_count += totals.allocation_count;
            stats.heap_count += totals.heap_count;
            stats.empty_heap_count += totals.empty_heap_count;
        }
        stats
    }

    /// Gives all empty heaps back to the device, and answers how many bytes that were. O(empty heaps).
    ///
    /// The allocator keeps some empty heaps for what comes next ([`HeapRetention`](crate::HeapRetention)) and gives them
    /// back by itself when the device runs out of memory.
    pub fn release_empty_heaps(&self) -> ByteSize {
        self.inner.release_empty_heaps()
    }

    /// Checks that the allocator's books agree with each other. O(heaps + allocations); for tests.
    ///
    /// # Errors
    ///
    /// What disagrees, as text for people.
    pub fn audit(&self) -> Result<(), String> {
        self.inner.heaps.iter().try_for_each(TypedHeaps::audit)
    }

    /// The rules that need no answer from the device, and the description it will be asked with.
    fn check(
        &self,
        allocation: &ResourceAllocationDesc,
        resource: &D3D12_RESOURCE_DESC,
    ) -> Result<(), Error> {
        let caps = &self.inner.caps;
        if allocation.heap_type == HeapType::GpuUpload && !caps.gpu_upload_heaps {
            return Err(Error::unsupported("a GPU upload heap on this device"));
        }
        let is_buffer = resource.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
        if is_buffer && resource.Width > caps.max_resource_size().get() {
            return Err(Error::invalid_argument(
                "D3D12_RESOURCE_DESC::Width",
                format!(
                    "{} is above the {} that the device can address",
                    ByteSize::new(resource.Width),
                    caps.max_resource_size()
                ),
            ));
        }
        Ok(())
    }
}

/// The description with the least alignment that the device takes, and what the resource takes then.
///
/// With tight alignment the device finds it. Without, small textures may be placed at 4 KiB and small multisampled ones at
/// 64 KiB, if that is asked for and the device finds them small.
fn tightest(
    device: &ID3D12Device,
    caps: &DeviceCaps,
    resource: &D3D12_RESOURCE_DESC,
) -> Option<(D3D12_RESOURCE_DESC, ByteSize, Alignment)> {
    let with = |desc: D3D12_RESOURCE_DESC| {
        allocation_info(device, &desc).map(|(size, alignment)| (desc, size, alignment))
    };
    let tight = caps.with_tight_alignment(resource);
    if tight.Flags != resource.Flags || !may_be_small(resource) {
        return with(tight);
    }
    let small = if resource.SampleDesc.Count > 1 {
        D3D12_SMALL_MSAA_RESOURCE_PLACEMENT_ALIGNMENT
    } else {
        D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT
    };
    let asked = D3D12_RESOURCE_DESC { Alignment: small.cast_unsigned().into(), ..*resource };
    with(asked).filter(|&(_, _, found)| found.get() == asked.Alignment).or_else(|| with(*resource))
}

/// Whether the small alignments could apply at all: the device decides by the size.
fn may_be_small(resource: &D3D12_RESOURCE_DESC) -> bool {
    let is_texture = resource.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER;
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let is_plain = resource.Flags & target == 0 || resource.SampleDesc.Count > 1;
    is_texture && is_plain && resource.Alignment == 0 && resource.Layout == D3D12_TEXTURE_LAYOUT_UNKNOWN
}

impl Inner {
    fn heaps(&self, kind: HeapKind) -> &TypedHeaps {
        &self.heaps[kind.index()]
    }

    fn release_empty_heaps(&self) -> ByteSize {
        let released = self.heaps.iter().map(TypedHeaps::release_empty);
        released.fold(ByteSize::ZERO, ByteSize::saturating_add)
    }

    /// Usage and budget of the segment group that a heap type is charged to.
    fn video_memory(&self, heap_type: HeapType) -> Option<(ByteSize, ByteSize)> {
        let info = VideoMemoryInfo::query(self.adapter.as_ref()?, self.caps.segment_group(heap_type)).ok()?;
        Some((info.current_usage, info.budget))
    }
}
