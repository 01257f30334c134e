//! The description of a custom pool.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::flags::SuballocationAlgorithm;
use crate::{Error, HeapType, NodeMasks};

/// The resources that a pool's heaps may hold, which `D3D12_HEAP_FLAGS` expresses by ALLOW and DENY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResourceKind {
    /// Buffers.
    #[default]
    Buffers,
    /// Textures that are neither render targets nor depth-stencils.
    Textures,
    /// Render targets and depth-stencils.
    RenderTargets,
    /// All resources; requires resource heap tier 2. Where buffers are tightly aligned, every texture takes whole
    /// ranges of 64 KiB: a buffer cannot be used together with a small texture of the same 64 KiB (Microsoft's *Memory
    /// Aliasing and Data Inheritance*).
    Any,
}

impl ResourceKind {
    /// Returns the kind of a resource, which is not `Any`.
    #[must_use]
    #[doc(hidden)]
    pub fn of(resource: &D3D12_RESOURCE_DESC) -> Self {
        let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        match (resource.Dimension, resource.Flags & targets) {
            (D3D12_RESOURCE_DIMENSION_BUFFER, _) => Self::Buffers,
            (_, 0) => Self::Textures,
            _ => Self::RenderTargets,
        }
    }
}

/// The description of a custom pool: heaps of one kind, apart from the allocator's own. D3D12MA's `POOL_DESC`.
#[derive(Debug, Clone)]
pub struct PoolDesc {
    /// Name of the pool, in reports and errors.
    pub name: String,
    /// Heap type.
    pub heap_type: HeapType,
    /// Uses CUSTOM heaps with these properties. `heap_type` must name the closest standard type.
    pub custom_heap: Option<(D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL)>,
    /// The resources that the heaps may hold.
    pub resources: ResourceKind,
    /// Heap flags in addition to those that `resources` implies: SHARED, ALLOW_WRITE_WATCH, CREATE_NOT_ZEROED and
    /// others. CREATE_NOT_ZEROED is a hint, ignored on devices without `ID3D12Device8`; CREATE_NOT_RESIDENT is
    /// unsupported there.
    pub extra_heap_flags: D3D12_HEAP_FLAGS,
    /// The algorithm that divides the heaps.
    pub algorithm: SuballocationAlgorithm,
    /// Size of each heap, in bytes: a multiple of 64 KiB; with a buddy system, a power of two. With `None` the
    /// allocator chooses a size for each request; linear heaps then have 64 MiB, unless the allocator has a preferred
    /// size. Must be `None` with dedicated heaps.
    pub heap_size: Option<ByteSize>,
    /// Number of heaps of `heap_size` bytes that are created with the pool and kept.
    pub min_heap_count: u32,
    /// Maximum number of heaps at one time, except those that are being released; `None` is no maximum. A call may fail
    /// because of it while another thread frees the last allocation of a heap, or releases empty heaps.
    pub max_heap_count: Option<u32>,
    /// Minimum alignment of every placed allocation, at most 4 MiB.
    pub min_alignment: Alignment,
    /// Priority for the residency manager, and for `SetResidencyPriority` where the device supports it; `None` sets
    /// none.
    pub residency_priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// Sets `D3D12_HEAP_DESC::Alignment` to 4 MiB, as multisampled textures require.
    pub multisampled: bool,
    /// Node masks of the adapter's GPUs; `None` is the allocator's.
    pub nodes: Option<NodeMasks>,
    /// Protected session in which the heaps are created; requires `ID3D12Device4`.
    pub protected_session: Option<ID3D12ProtectedResourceSession>,
}

impl Default for PoolDesc {
    fn default() -> Self {
        Self {
            name: String::new(),
            heap_type: HeapType::Default,
            custom_heap: None,
            resources: ResourceKind::Buffers,
            extra_heap_flags: D3D12_HEAP_FLAG_NONE,
            algorithm: SuballocationAlgorithm::Default,
            heap_size: None,
            min_heap_count: 0,
            max_heap_count: None,
            min_alignment: Alignment::ONE,
            residency_priority: None,
            multisampled: false,
            nodes: None,
            protected_session: None,
        }
    }
}

impl PoolDesc {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let error = |field, rule: String| Err(Error::invalid_argument(field, rule));
        if self.min_heap_count > 0 && self.heap_size.is_none() {
            return error("PoolDesc::min_heap_count", "requires heap_size".into());
        }
        let least = self.min_heap_count;
        if let Some(most) = self.max_heap_count.filter(|&most| most < least.max(1)) {
            return error(
                "PoolDesc::max_heap_count",
                format!("{most} is too small; must be at least 1 and at least min_heap_count, {least}"),
            );
        }
        let is_whole =
            |size: ByteSize| !size.is_zero() && size.is_aligned(super::allocator::HEAP_GRANULARITY);
        if let Some(size) = self.heap_size.filter(|&size| !is_whole(size)) {
            return error("PoolDesc::heap_size", format!("{size} is not a nonzero multiple of 64 KiB"));
        }
        match (self.algorithm, self.heap_size) {
            (SuballocationAlgorithm::BuddySystem, Some(size)) if !size.get().is_power_of_two() => {
                let rule = format!("{size} is not a power of two, which BuddySystem requires");
                return error("PoolDesc::heap_size", rule);
            }
            (SuballocationAlgorithm::Dedicated, Some(_)) => {
                return error("PoolDesc::heap_size", "must be None for the Dedicated algorithm".into());
            }
            _ => {}
        }
        let kinds = D3D12_HEAP_FLAG_DENY_BUFFERS
            | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
            | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;
        if self.extra_heap_flags & kinds != 0 {
            return error(
                "PoolDesc::extra_heap_flags",
                "DENY_* flags are not allowed; use `resources`".into(),
            );
        }
        if self.min_alignment.get() > 4 << 20 {
            return error(
                "PoolDesc::min_alignment",
                format!("{} exceeds the maximum of 4 MiB", self.min_alignment.get()),
            );
        }
        let levels = [
            D3D12_RESIDENCY_PRIORITY_MINIMUM,
            D3D12_RESIDENCY_PRIORITY_LOW,
            D3D12_RESIDENCY_PRIORITY_NORMAL,
            D3D12_RESIDENCY_PRIORITY_HIGH,
            D3D12_RESIDENCY_PRIORITY_MAXIMUM,
        ];
        // The lower half ranks within a level.
        let is_priority = |priority| levels.iter().any(|level| level >> 16 == priority >> 16);
        if let Some(other) = self.residency_priority.filter(|&priority| !is_priority(priority)) {
            let rule = format!("{other:#x} is not a D3D12_RESIDENCY_PRIORITY value");
            return error("PoolDesc::residency_priority", rule);
        }
        if self.multisampled && self.resources == ResourceKind::Buffers {
            return error("PoolDesc::multisampled", "must be false for pools of buffers".into());
        }
        Ok(())
    }
}
