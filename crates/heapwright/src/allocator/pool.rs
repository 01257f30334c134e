//! Custom pools: heaps apart from the allocator's own.

use std::sync::{Arc, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapPooling, HeapRetention, HeapSetTotals};
use heapwright_d3d12::*;

use super::desc::{PoolDesc, ResourceKind, SuballocationAlgorithm};
use super::engine::engine_desc;
use super::heap_source::Terms;
use super::notes::next_number;
use super::typed_heaps::{Kin, Recycling, SpareHeaps, TypedHeaps, TypedHeapsDesc};
use super::{HeapType, Inner};
use crate::Error;
use crate::heap_family::{GrantedHeaps, HeapFamily};
use crate::requirements::ResourceClass;

/// Heaps of one kind, apart from the allocator's own (D3D12MA's pool). Cloning gives another handle to the same pool.
///
/// Allocations keep their heaps alive: the pool may be dropped before them. Its empty heaps go when the last handle and the
/// last allocation are gone.
///
/// ```
/// use heapwright::{ByteSize, HeapType, PoolDesc, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
/// # use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
/// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
/// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
/// let pool = allocator.create_pool(PoolDesc {
///     name: "vertices".into(),
///     heap_size: ByteSize::from_mib(1),
///     min_heap_count: 1,
///     ..Default::default()
/// })?;
/// let desc = ResourceAllocationDesc { pool: Some(&pool), ..Default::default() };
/// let buffer = allocator.create_resource(&desc, &buffer_desc(ByteSize::from_kib(4)), D3D12_RESOURCE_STATE_COMMON, None)?;
/// assert_eq!(pool.totals().used, buffer.size());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pool {
    heaps: Arc<TypedHeaps>,
    granted: GrantedHeaps,
    resources: ResourceKind,
    multisampled: bool,
    resource_heap_tier: u8,
    allocator: Weak<Inner>,
}

impl Pool {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.heaps.desc.pool.as_deref().unwrap_or_default()
    }

    /// The kind of its heaps.
    #[must_use]
    pub fn heap_type(&self) -> HeapType {
        self.heaps.desc.heap_type
    }

    /// What it holds. O(1).
    #[must_use]
    pub fn totals(&self) -> HeapSetTotals {
        self.heaps.totals()
    }

    /// Gives empty heaps beyond the least number back to the device, and answers how many bytes that were.
    pub fn release_empty_heaps(&self) -> ByteSize {
        self.heaps.release(ByteSize::MAX)
    }

    pub(super) fn heaps(&self) -> &Arc<TypedHeaps> {
        &self.heaps
    }

    pub(super) fn granted(&self) -> GrantedHeaps {
        self.granted
    }

    pub(super) fn is_of(&self, allocator: &Inner) -> bool {
        std::ptr::eq(self.allocator.as_ptr(), allocator)
    }

    /// Whether resources of a class may be in its heaps.
    pub(super) fn check_holds(&self, class: ResourceClass) -> Result<(), Error> {
        let holds = match (self.resources, class) {
            (_, ResourceClass::Multisampled) if !self.multisampled => false,
            (ResourceKind::Any, _) | (ResourceKind::Buffers, ResourceClass::Buffer) => true,
            (ResourceKind::Textures, ResourceClass::Texture) => true,
            (ResourceKind::RenderTargets, ResourceClass::RenderTarget | ResourceClass::Multisampled) => true,
            // On tier 2 the class does not tell them apart; the device does when the resource is placed.
            (ResourceKind::RenderTargets, ResourceClass::Texture) => self.resource_heap_tier >= 2,
            (ResourceKind::Textures, ResourceClass::Multisampled) => self.resource_heap_tier >= 2,
            _ => false,
        };
        if holds {
            return Ok(());
        }
        let rule =
            format!("pool \"{}\" is for {:?}, and the resource is of {class:?}", self.name(), self.resources);
        Err(Error::invalid_argument("ResourceAllocationDesc::pool", rule))
    }
}

impl Inner {
    /// The heaps that a pool is asked for, if the device has them.
    fn pool_heaps(&self, desc: &PoolDesc) -> Result<GrantedHeaps, Error> {
        let family = match desc.custom_heap {
            None => self
                .heap_families
                .of(desc.heap_type, true)
                .ok_or_else(|| Error::unsupported(format!("{} heaps on this device", desc.heap_type)))?,
            Some((cpu_page_property, memory_pool)) => {
                let properties = D3D12_HEAP_PROPERTIES {
                    Type: D3D12_HEAP_TYPE_CUSTOM,
                    CPUPageProperty: cpu_page_property,
                    MemoryPoolPreference: memory_pool,
                    ..Default::default()
                };
                let (family, _) = HeapFamily::try_from_d3d12(&properties)?;
                family.check(&self.caps)?;
                return Ok(self.heap_families.granted(family));
            }
        };
        Ok(GrantedHeaps { heap_type: desc.heap_type, ..self.heap_families.granted(family) })
    }

    pub(super) fn create_pool(self: &Arc<Self>, desc: PoolDesc) -> Result<Pool, Error> {
        desc.check()?;
        if desc.heap_size > self.max_heap_size {
            let rule = format!("{} is above the largest heap, {}", desc.heap_size, self.max_heap_size);
            return Err(Error::invalid_argument("PoolDesc::heap_size", rule));
        }
        if desc.resources == ResourceKind::Any && self.effective_caps.resource_heap_tier < 2 {
            return Err(Error::unsupported("PoolDesc::resources: Any, on resource heap tier 1,"));
        }
        if desc.protected_session.is_some() && self.devices.device4.is_none() {
            return Err(Error::unsupported("PoolDesc::protected_session on this device (ID3D12Device4)"));
        }
        self.devices.check_heap_flags(desc.extra_heap_flags, "PoolDesc::extra_heap_flags")?;
        let granted = self.pool_heaps(&desc)?;
        let mut properties = self.heap_families.properties(granted.family);
        if let Some(nodes) = desc.nodes {
            nodes.check(self.caps.node_count)?;
            (properties.CreationNodeMask, properties.VisibleNodeMask) = (nodes.creation, nodes.visible);
        }
        let flags = match desc.resources {
            ResourceKind::Buffers => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
            ResourceKind::Textures => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
            ResourceKind::RenderTargets => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
            ResourceKind::Any => D3D12_HEAP_FLAG_NONE,
        };
        let alignment = if desc.multisampled { ResourceClass::Multisampled.heap_alignment() } else { 0 };
        let class = match desc.resources {
            ResourceKind::Buffers | ResourceKind::Any => ResourceClass::Buffer,
            ResourceKind::Textures => ResourceClass::Texture,
            ResourceKind::RenderTargets => ResourceClass::RenderTarget,
        };
        let heap = D3D12_HEAP_DESC {
            SizeInBytes: 0,
            Properties: properties,
            Alignment: alignment,
            Flags: flags | self.devices.known_heap_flags(desc.extra_heap_flags),
        };
        let engine = engine_desc(
            &self.desc,
            HeapRetention::default(),
            self.max_heap_size,
            desc.algorithm,
            alignment,
            desc.heap_size,
            u64::from(desc.max_heap_count),
        );
        let typed = TypedHeapsDesc {
            number: next_number(),
            pool: Some(Arc::from(desc.name.as_str())),
            pool_sums: Some(Arc::clone(&self.pool_sums)),
            heap_type: granted.heap_type,
            segment_group: granted.segment_group,
            class,
            holds_everything: desc.resources == ResourceKind::Any,
            heap,
            protected_session: desc.protected_session,
            residency_priority: desc.residency_priority,
            heap_size: if desc.algorithm == SuballocationAlgorithm::Dedicated {
                ByteSize::ZERO
            } else {
                desc.heap_size
            },
            max_heap_size: self.max_heap_size,
            min_heap_count: u64::from(desc.min_heap_count),
            max_heap_count: u64::from(desc.max_heap_count),
            min_alignment: desc.min_alignment,
            recycling: Recycling::Never,
            engine,
        };
        let spare = SpareHeaps::new(HeapPooling::None, &self.accounts);
        let heaps = TypedHeaps::new(
            typed,
            spare,
            Arc::<Kin>::default(),
            Arc::clone(&self.accounts),
            self.residency.clone(),
            Arc::downgrade(self),
        );
        let within_budget = self.is_always_in_budget();
        let terms = Terms { may_create_heap: true, within_budget, never_resident: false };
        for _ in 0..desc.min_heap_count {
            let made = self.new_empty_heap(&heaps, desc.heap_size, terms);
            made.map_err(|refusal| self.refused(desc.heap_type, desc.heap_size, refusal, false))?;
        }
        self.add_pool(&heaps);
        Ok(Pool {
            heaps,
            granted,
            resources: desc.resources,
            multisampled: desc.multisampled,
            resource_heap_tier: self.effective_caps.resource_heap_tier,
            allocator: Arc::downgrade(self),
        })
    }
}
