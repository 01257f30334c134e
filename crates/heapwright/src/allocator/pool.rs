//! Custom pools: heaps apart from the allocator's own.

use std::fmt;
use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapSetTotals;
use heapwright_trace::session::Action;

use crate::desc::ResourceKind;
use crate::heaps::{Striped, TypedHeaps};
use crate::recording::{Recorded, Recording};
use crate::request::{GrantedHeaps, ResourceClass};
use crate::source::HeapSource;
use crate::{Error, HeapType};

/// Heaps of one kind, apart from the allocator's own (D3D12MA's pool). Cloning returns another handle to the same pool.
///
/// Allocations keep their heaps alive, so the pool may be dropped before them. Its empty heaps are released when the
/// last handle and the last allocation are dropped.
///
/// ```
/// use heapwright::{ByteSize, HeapType, PoolDesc, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
/// # use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
/// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
/// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
/// let pool = allocator.create_pool(PoolDesc {
///     name: "vertices".into(),
///     heap_size: Some(ByteSize::from_mib(1)),
///     min_heap_count: 1,
///     ..Default::default()
/// })?;
/// let desc = ResourceAllocationDesc { pool: Some(&pool), ..Default::default() };
/// let resource = buffer_desc(ByteSize::from_kib(4));
/// let buffer = allocator.create_resource(&desc, &resource, D3D12_RESOURCE_STATE_COMMON, None)?;
/// assert_eq!(pool.totals().used, buffer.size());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    pub(crate) heaps: Arc<Striped<TypedHeaps>>,
    pub(crate) granted: GrantedHeaps,
    pub(crate) resources: ResourceKind,
    pub(crate) multisampled: bool,
    pub(crate) resource_heap_tier: u8,
    /// The pool in the allocator's recording.
    pub(crate) recorded: Option<Arc<Recorded>>,
}

// By hand: derived, it would be code for all of the state.
impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("name", &self.name())
            .field("heap_type", &self.heap_type())
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.heaps.desc.pool.as_deref().unwrap_or_default()
    }

    /// Returns the type of its heaps.
    #[must_use]
    pub fn heap_type(&self) -> HeapType {
        self.heaps.desc.heap_type
    }

    /// Returns the pool's totals. O(1).
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        self.heaps.totals()
    }

    /// Releases the empty heaps beyond the minimum number, and returns their size in bytes.
    pub fn release_empty_heaps(&self) -> ByteSize {
        if let Some(recorded) = &self.recorded {
            recorded.recording().act(Action::ReleasePool { pool: recorded.id() });
        }
        let _alone = self.heaps.source.release_alone();
        let recording = self.heaps.source.recording.as_deref();
        Recording::timed(recording, "Pool.ReleaseEmptyHeaps", || self.heaps.release(ByteSize::MAX))
    }

    pub(crate) fn is_of(&self, source: &Arc<HeapSource>) -> bool {
        Arc::ptr_eq(&self.heaps.source, source)
    }

    /// Checks that resources of a class may be placed in the pool's heaps.
    pub(crate) fn check_holds(&self, class: ResourceClass) -> Result<(), Error> {
        let holds = match (self.resources, class) {
            (_, ResourceClass::Multisampled) if !self.multisampled => false,
            (ResourceKind::Any, _) | (ResourceKind::Buffers, ResourceClass::Buffer) => true,
            (ResourceKind::Textures, ResourceClass::Texture) => true,
            (ResourceKind::RenderTargets, ResourceClass::RenderTarget | ResourceClass::Multisampled) => true,
            // On tier 2 the class does not distinguish these resources; the device does when one is placed.
            (ResourceKind::RenderTargets, ResourceClass::Texture) => self.resource_heap_tier >= 2,
            (ResourceKind::Textures, ResourceClass::Multisampled) => self.resource_heap_tier >= 2,
            _ => false,
        };
        if holds {
            return Ok(());
        }
        let rule = format!(
            "pool \"{}\" only accepts {:?}; the resource is of class {class:?}",
            self.name(),
            self.resources
        );
        Err(Error::invalid_argument("ResourceAllocationDesc::pool", rule))
    }
}
