//! Places a resource in heaps of one kind.

use std::sync::Arc;

use heapwright_core::HeapOffset;
use heapwright_core::placement::PlacementRequest;
use heapwright_d3d12::*;

use super::device_resource::create_placed;
use super::heap_kinds::HeapKinds;
use super::heap_request::{HeapRequest, PredictedMemory};
use super::managed::place_resident;
use super::placed_range::PlacedRange;
use super::refusal::Refusal;
use super::striped::Striped;
use super::typed_heaps::{Sharing, TypedHeaps};
use crate::Error;
use crate::desc::ResourceDesc;
use crate::error::{MemorySource, Obstacle};
use crate::plan::{ResourceRequest, foreign_heap_flags};
use crate::requirements::ResourceRequirements;

impl HeapKinds {
    /// Places a resource in a shared heap or in one of its own.
    pub(crate) fn place(
        &self,
        heaps: &Arc<TypedHeaps>,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
        own_heap: bool,
    ) -> Result<(ID3D12Resource, PlacedRange), Refusal> {
        let (sharing, placement) = self.placement(heaps, request, placed, own_heap)?;
        let constraints = request.constraints;
        let range =
            HeapRequest { kinds: self, heaps, sharing, placement: &placement, constraints }.place()?;
        self.prefetch_after(heaps, sharing, &placement, request.flags);
        let resource = range.create_resource(request.resource, placed)?;
        Ok((resource, range))
    }

    /// Places a plain resource in a shared heap, usually in a range that is found at once.
    #[inline(always)]
    pub(crate) fn place_at_hand(
        &self,
        heaps: &Striped<TypedHeaps>,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
    ) -> Result<(ID3D12Resource, PlacedRange), Refusal> {
        let sharing = Sharing::Shared;
        let placement = request.placement(placed, heaps.desc.min_alignment, false)?;
        let range = match heaps.find_room_at_hand(&placement) {
            Some(range) => range,
            None => {
                let constraints = request.constraints;
                HeapRequest { kinds: self, heaps, sharing, placement: &placement, constraints }.place()?
            }
        };
        self.prefetch_after(heaps, sharing, &placement, request.flags);
        let resource = range.create_resource(request.resource, placed)?;
        Ok((resource, range))
    }

    /// Returns the request of [`place`](Self::place) to the heaps, and the predicted source of the memory.
    pub(crate) fn probe(
        &self,
        heaps: &Arc<TypedHeaps>,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
        own_heap: bool,
    ) -> Result<(PlacementRequest, PredictedMemory), Refusal> {
        let (sharing, placement) = self.placement(heaps, request, placed, own_heap)?;
        let constraints = request.constraints;
        let memory =
            HeapRequest { kinds: self, heaps, sharing, placement: &placement, constraints }.probe()?;
        Ok((placement, memory))
    }

    fn placement(
        &self,
        heaps: &TypedHeaps,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
        own_heap: bool,
    ) -> Result<(Sharing, PlacementRequest), Refusal> {
        let foreign = foreign_heap_flags(request.heap_flags, heaps.desc.heap.Flags);
        if foreign != 0 {
            // Occurs only with a pool; otherwise the resource would be committed.
            let rule = format!("flags {foreign:#x} are not set on the pool's heaps");
            let field = "ResourceAllocationDesc::extra_required_heap_flags";
            return Err(Error::invalid_argument(field, rule).into());
        }
        let sharing = match own_heap {
            _ if request.constraints.never_resident && self.source.residency.is_some() => Sharing::Unmanaged,
            true => Sharing::Own,
            false => Sharing::Shared,
        };
        Ok((sharing, request.placement(placed, heaps.desc.min_alignment, sharing != Sharing::Shared)?))
    }
}

impl PlacedRange {
    /// Creates a resource at the start of the range.
    #[inline]
    pub(crate) fn create_resource(
        &self,
        resource: &ResourceDesc<'_>,
        placed: &ResourceRequirements,
    ) -> Result<ID3D12Resource, Refusal> {
        self.create_resource_at(HeapOffset::ZERO, resource, placed)
    }

    /// Creates a resource in the range, at an offset from its start.
    ///
    /// The caller makes sure that it lies in the range, which other resources may use, too.
    #[inline]
    pub(crate) fn create_resource_at(
        &self,
        offset: HeapOffset,
        resource: &ResourceDesc<'_>,
        placed: &ResourceRequirements,
    ) -> Result<ID3D12Resource, Refusal> {
        let (heap, heaps) = (self.heap(), self.heaps());
        let (devices, heap_type) = (&heaps.source.devices, heaps.desc.heap.Properties.Type);
        let offset = HeapOffset::new(self.range().start().get() + offset.get());
        let desc = &placed.desc;
        let place = || create_placed(devices, heap_type, heap.d3d12(), offset, resource, desc);
        place_resident(heap, place).map_err(|refused| {
            if refused.hresult == E_OUTOFMEMORY {
                return Refusal::of(MemorySource::Placing, Obstacle::Device(refused.hresult));
            }
            refused.into_error().into()
        })
    }
}
