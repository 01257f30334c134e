//! Resources with memory of their own: committed ones, with an implicit heap, and imported ones.

use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::heap_kinds::HeapKinds;
use super::typed_heaps::TypedHeaps;
use crate::desc::{ResourceAllocationFlags, ResourceDesc};
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::request::ResourceRequirements;
use crate::source::{Charge, Charged, HeapSource, NewMemory, OwnHeap, create_committed};

/// The flags that say which resources a heap may hold. An implicit heap holds the resource that it is created with.
const RESOURCE_KINDS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_DENY_BUFFERS
    | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
    | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;

/// A resource that is not in a heap of the allocator.
pub(crate) struct OwnResource {
    /// Declared before the residency heap, which releases the last reference.
    pub(crate) resource: ID3D12Resource,
    pub(crate) residency: Option<OwnHeap>,
    pub(crate) size: ByteSize,
    pub(crate) alignment: Alignment,
    /// Held for its drop.
    pub(crate) _charge: Charge,
    pub(crate) source: Arc<HeapSource>,
}

impl HeapKinds {
    /// Checks the flags of a committed resource that do not depend on released memory.
    fn check_committed(
        &self,
        size: ByteSize,
        allocation_flags: ResourceAllocationFlags,
    ) -> Result<(), Refusal> {
        let limit = self.source.max_heap_size;
        let obstacle = if allocation_flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            Obstacle::NoRoom
        } else if size > limit {
            Obstacle::HeapSize { limit }
        } else {
            return Ok(());
        };
        Err(Refusal::of(MemorySource::Committed(size), obstacle))
    }

    /// Returns the flags with which the implicit heap of a committed resource is created, beside `heaps` of the same
    /// memory.
    fn committed_flags(&self, heaps: &TypedHeaps, extra_flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
        let of_heaps = heaps.desc.heap.Flags & !RESOURCE_KINDS;
        let flags = self.source.devices.known_heap_flags(extra_flags) | of_heaps;
        if flags & D3D12_HEAP_FLAG_SHARED == 0 {
            return flags;
        }
        // Other processes can see a shared heap's first bytes, so D3D12 zeroes it and keeps it resident.
        flags & !(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT)
    }

    /// Checks whether a committed resource of a given size may be created, in addition to `heaps` of the same memory.
    pub(crate) fn may_commit(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        extra_flags: D3D12_HEAP_FLAGS,
        allocation_flags: ResourceAllocationFlags,
    ) -> Result<(), Refusal> {
        self.check_committed(size, allocation_flags)?;
        let new = self.new_committed(heaps, size, Charged::Committed, extra_flags, allocation_flags);
        self.source.check(&new).map_err(|row| new.refused(row))
    }

    /// Returns the memory of a committed resource beside `heaps` of the same memory.
    fn new_committed(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        what: Charged,
        extra_flags: D3D12_HEAP_FLAGS,
        allocation_flags: ResourceAllocationFlags,
    ) -> NewMemory {
        let flags = self.committed_flags(heaps, extra_flags);
        NewMemory { what, flags, ..heaps.new_memory(size, allocation_flags) }
    }

    /// Creates a committed resource, charged like `heaps` of the same memory: as a committed resource, or as a heap if
    /// others are within it.
    pub(crate) fn commit(
        &self,
        heaps: &TypedHeaps,
        resource: &ResourceDesc<'_>,
        requirements: &ResourceRequirements,
        what: Charged,
        extra_flags: D3D12_HEAP_FLAGS,
        allocation_flags: ResourceAllocationFlags,
    ) -> Result<OwnResource, Refusal> {
        let source = &self.source;
        let &ResourceRequirements { desc, size, alignment } = requirements;
        self.check_committed(size, allocation_flags)?;
        let committed = MemorySource::Committed(size);
        let properties = heaps.desc.heap.Properties;
        let new = self.new_committed(heaps, size, what, extra_flags, allocation_flags);
        let protected_session = resource.protected_session.or(heaps.desc.protected_session.as_ref());
        let resource = &ResourceDesc { protected_session, ..*resource };
        let create = || {
            source.make(&new, || {
                let call = || create_committed(&source.devices, &properties, new.flags, resource, &desc);
                let made = source.timers.of(new.account.heap_type).time(call);
                let (made, _) = made.map_err(|refused| refused.into_refusal(committed))?;
                heaps.set_priority(&made);
                Ok(made)
            })
        };
        let (resource, residency, charge) = self.with_room(heaps, &new, create)?;
        if what == Charged::Heap {
            source.ledger.count_created_heap();
        }
        let residency = residency.map(|heap| source.own_memory.enter(&resource, heap)).transpose()?;
        let source = Arc::clone(source);
        Ok(OwnResource { residency, resource, size, alignment, _charge: charge, source })
    }
}
