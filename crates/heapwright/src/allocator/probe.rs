//! Prediction of an allocation.

use heapwright_core::{Alignment, ByteSize};

use super::create::WITHIN;
use super::inner::Inner;
use super::recorded::call_args;
use super::request::{ResourceAllocationDesc, ResourceRequest};
use super::resource_allocator::ResourceAllocator;
use crate::desc::ResourceDesc;
use crate::error::Refusal;
use crate::heaps::PredictedMemory;
use crate::request::{Placement, PlacementDecision, ResourceRequirements};
use crate::{Error, HeapType, SegmentGroup};

/// The predicted result of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction {
    /// How the resource would be placed, and why.
    pub decision: PlacementDecision,
    /// The heap type that would be granted.
    pub heap_type: HeapType,
    /// The segment group that the memory would be charged to.
    pub segment_group: SegmentGroup,
    /// Bytes that the allocation would take, including padding.
    pub size: ByteSize,
    /// Alignment of its offset, in bytes.
    pub alignment: Alignment,
    /// The source of the memory.
    pub memory: PredictedMemory,
}

impl ResourceAllocator {
    /// Predicts the result of [`create`](Self::create): placement, size, and whether a heap would be created. Changes
    /// nothing.
    ///
    /// It tells what existing heaps have room for and what the limits leave, without anything that `create` would
    /// release first. If nothing else uses the allocator in between, the next `create` with the same arguments does
    /// what `probe` predicted, with three exceptions:
    ///
    /// * Near a limit or the budget, `create` may succeed where `probe` fails, or with memory or a placement that is
    ///   tried before the predicted one (a shared heap instead of one of its own or a committed resource; with
    ///   PREFER_COMMITTED, a committed resource instead of a heap). It releases empty heaps, also of other allocators
    ///   of the process, uses the memory of unused slabs and backing buffers and free ranges that only an exhaustive
    ///   search finds, and frees the allocations given to [`free_after`](Self::free_after) whose fence value is
    ///   reached.
    /// * `create` may fail where `probe` predicted a new heap, because only the device knows whether it has the memory.
    /// * With [`ALLOW_SUBALLOCATE_WITHIN_RESOURCE`], `create` may reuse memory where `probe` predicted a new heap.
    ///   Before it adds a backing buffer, it releases unused ones, whose memory may suffice for the new buffer.
    ///
    /// Cost: O(1), and one call of the device for the resource's size.
    ///
    /// [`ALLOW_SUBALLOCATE_WITHIN_RESOURCE`]: crate::ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE
    ///
    /// # Errors
    ///
    /// Those of `create` that do not depend on the device's memory.
    ///
    /// ```
    /// use heapwright::{ByteSize, PredictedMemory, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let prediction = allocator.probe(&Default::default(), buffer_desc(ByteSize::from_mib(3)))?;
    /// assert_eq!(prediction.memory, PredictedMemory::NewHeap(ByteSize::from_mib(3)));
    /// assert_eq!(allocator.reserved(), ByteSize::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn probe<'a>(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: impl Into<ResourceDesc<'a>>,
    ) -> Result<Prediction, Error> {
        let (inner, resource) = (self.inner(), resource.into());
        let probe = |allocation: &ResourceAllocationDesc<'_>| {
            let request = inner.request(allocation, &resource, None)?;
            let probed = inner.probe_in(&request).or_else(|refusal| {
                inner.in_other_heaps(&request, refusal, |request| inner.probe_in(request))
            });
            probed.map_err(|refusal| inner.error_of(&request, refusal))
        };
        let args = || call_args(allocation, &resource);
        inner.traced("ResourceAllocator.Probe", args, || inner.in_custom_heaps(allocation, &resource, probe))
    }
}

impl Inner {
    /// Predicts the result of [`create_in`](Self::create_in).
    #[inline]
    fn probe_in(&self, request: &ResourceRequest<'_>) -> Result<Prediction, Refusal> {
        let granted = &request.granted;
        let probe = |decision, size, alignment, memory| Prediction {
            decision,
            heap_type: granted.heap_type,
            segment_group: granted.segment_group,
            size,
            alignment,
            memory,
        };
        if let Some((size, alignment)) = self.part_of(request) {
            let buffers = self.buffers.of(granted);
            let permitted = self.check_asked(request, size);
            match permitted.and_then(|()| buffers.probe(size, alignment, &self.backing(request))) {
                Ok(memory) => return Ok(probe(WITHIN, size, alignment, memory)),
                Err(refusal) if refusal.fatal.is_none() => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let resolved = self.resolve(request)?;
        self.check_asked(request, resolved.placed.size)?;
        self.in_order(&resolved, |decision, &ResourceRequirements { size, alignment, .. }| {
            if decision.placement == Placement::Committed {
                let flags = request.allocation.extra_required_heap_flags;
                self.heaps.may_commit(resolved.heaps, size, flags, request.allocation.flags)?;
                return Ok(probe(decision, size, alignment, PredictedMemory::NewHeap(size)));
            }
            let is_alone = decision.placement == Placement::OwnHeap;
            let asked = if is_alone { resolved.alone() } else { resolved.shared };
            let memory = self.heaps.probe(resolved.heaps, &asked, request.allocation.flags)?;
            Ok(probe(decision, asked.size, asked.alignment, memory))
        })
    }
}
